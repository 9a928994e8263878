"""LongVideoBench: DIR/lvb_val.json, videos/{video_path}, subtitles/{subtitle_path}.

The paper's Short is the data set's 15 and 60 together, Medium its 600, Long its 3600. Subtitles count from the original
video, of which some questions show a clip: `starting_timestamp_for_subtitles` is subtracted.
"""

from pathlib import Path

from framesift._utils.records import FilePath, Name, Seconds, read_field
from framesift.bench.datasets.annotations import (
    AnnotationRow,
    find_annotation,
    first_file,
    options_of,
    question_of,
    read_rows,
)
from framesift.bench.items import Dataset, Item, counted, find_missing
from framesift.errors import InputError
from framesift.types.question import resolve_option

NAME = "longvideobench"
GROUPS = {"15": "Short", "60": "Short", "600": "Medium", "3600": "Long"}

# `position` counts frames at 24 a second, whatever the file's own rate: in the validation set the positions reach up to
# 24 × duration and, but for one damaged entry, no further; of 33 scenes that KFS-Bench marked in seconds on its own, 31
# contain a position within 2 s at 24 a second, and none at 25 or 30.
POSITIONS_PER_S = 24.0
# Durations are rounded, and the last frame may begin a little past them.
PAST_END_S = 1.0


def load(folder: Path) -> Dataset:
    path = find_annotation(folder, ["lvb_val.json", "*/lvb_val.json"], "LongVideoBench")
    rows, annotation = read_rows(path)
    root = path.parent
    damaged: list[str] = []
    items = tuple(_item(row, root, f"{path}, question {k}", damaged) for k, row in enumerate(rows, 1))
    outside = f"omitted: {counted(len(damaged), 'moment')} outside the video ({', '.join(damaged)})"
    return Dataset(NAME, items, annotation, find_missing(items), (outside,) if damaged else ())


def _item(row: AnnotationRow, root: Path, location: str, damaged: list[str]) -> Item:
    options = options_of(row, "candidates", location)
    group = read_field(row, "duration_group", Name, location)
    if group not in GROUPS:
        raise InputError(f"{location}: duration_group is {group}; expected one of {', '.join(GROUPS)}")
    duration_s = read_field(row, "duration", Seconds, location)
    name = read_field(row, "id", Name, location)
    moments = [frame / POSITIONS_PER_S for frame in read_field(row, "position", tuple[int, ...], location, ())]
    inside = tuple(sorted({moment for moment in moments if 0 <= moment <= duration_s + PAST_END_S}))
    damaged += [name for moment in moments if not 0 <= moment <= duration_s + PAST_END_S]
    video = read_field(row, "video_path", FilePath, location)
    subtitles = read_field(row, "subtitle_path", FilePath, location)
    return Item(
        dataset=NAME,
        id=name,
        video_id=read_field(row, "video_id", Name, location),
        video=first_file((root / "videos" / video, root / video)),
        question=question_of(row, options, location),
        answer=resolve_option(read_field(row, "correct_choice", int | Name, location), options, location),
        group=GROUPS[group],
        published_group=group,
        categories=(read_field(row, "question_category", Name, location),),
        duration_s=duration_s,
        subtitles=first_file((root / "subtitles" / subtitles, root / subtitles)),
        subtitles_offset_s=-read_field(row, "starting_timestamp_for_subtitles", Seconds, location, 0.0),
        moments_s=inside,
    )
