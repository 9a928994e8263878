"""Export the stored vectors of all videos as one Parquet file, which databases and data frames read."""

from pathlib import Path

import numpy as np

from framesift._utils.credentials import public_url
from framesift._utils.files import StrPath, atomic_path, output_error
from framesift._utils.requirements import require
from framesift._utils.text import readable
from framesift.encoders.base import Encoder
from framesift.errors import InputError
from framesift.indexing.index import IndexSettings
from framesift.progress import Progress, as_progress
from framesift.search.search import encoder_indexes
from framesift.store.store import PART, Store, StoredCandidates, events_from, read_manifest, read_payload
from framesift.types import Event
from framesift.types.vectors import Array

ENDING = ".parquet"
_REPEATED = "fingerprint", "video"  # columns with the same text in all rows of a video


def export(
    path: StrPath,
    *,
    encoder: "str | Encoder" = IndexSettings.encoder,
    store: StrPath | None = IndexSettings.store,
    force: bool = False,
    progress: Progress | None = None,
) -> int:
    """Write a row per candidate of each index by an encoder, and return their number.

    The columns: fingerprint and video, its path; time_s; vector, a list of D float16; text, that of all events at this
    time; is_blank and is_damaged. One video is in memory at a time. force: replace a file.
    """
    arrow, parquet = require("pyarrow", "corpus"), require("pyarrow.parquet", "corpus")
    path = Path(path)
    if path.suffix != ENDING:
        raise InputError(f"{str(path)!r} is not a name for a Parquet file; expected one that ends in {ENDING}")
    if path.exists() and not force:
        raise InputError(f"{path} already exists; choose another name, or replace it with --force (force=True)")
    opened, report = Store(store), as_progress(progress)
    folders = [folder for folder in encoder_indexes(opened, encoder)[1] if not folder.name.endswith(PART)]
    rows = 0
    try:
        with atomic_path(path) as temporary:
            writer = None
            for number, folder in enumerate(folders, 1):
                manifest = read_manifest(folder)
                candidates = StoredCandidates.unpack(read_payload(folder, "index", manifest))
                count, dim = candidates.frames.shape
                vectors = arrow.FixedSizeListArray.from_arrays(arrow.array(candidates.frames.ravel()), dim)
                video = public_url(str(manifest.get("video", {}).get("path", "")))
                columns = {
                    "fingerprint": arrow.array([folder.parent.name] * count, arrow.string()),
                    "video": arrow.array([readable(video)] * count, arrow.string()),
                    "time_s": arrow.array(candidates.times_s),
                    "vector": vectors,
                    "text": arrow.array(_texts(folder.parent, candidates.times_s), arrow.string()),
                    "is_blank": arrow.array(candidates.is_blank),
                    "is_damaged": arrow.array(candidates.is_damaged),
                }
                table = arrow.table(columns)
                if writer is None:
                    writer = parquet.ParquetWriter(temporary, table.schema, use_dictionary=list(_REPEATED))
                writer.write_table(table)
                rows += count
                report("exporting", number, len(folders))
            if writer is not None:
                writer.close()
    except OSError as error:
        raise output_error(path, error, "free some space and run the command again") from error
    return rows


def _texts(video: Path, times_s: Array) -> list[str]:
    """The text of the video's stored events at each time, a line each."""
    events: dict[Event, None] = {}
    for folder in sorted(video.glob("events-*")):
        events |= dict.fromkeys(events_from(read_payload(folder, "events", read_manifest(folder))))
    lines: list[list[str]] = [[] for _ in times_s]
    for event in sorted(events, key=lambda event: event.start_s):
        first, end = np.searchsorted(times_s, event.start_s), np.searchsorted(times_s, event.end_s, side="right")
        for line in lines[first:end]:
            line.append(readable(event.text))
    return ["\n".join(line) for line in lines]
