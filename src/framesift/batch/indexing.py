"""Index many videos into one store: list them, skip those already done, run the others on an executor."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from framesift._utils.credentials import public_url
from framesift._utils.files import StrPath
from framesift._utils.requirements import require
from framesift.batch.executors import split_settings
from framesift.batch.executors.base import Task, TaskEvent, WorkerSpec
from framesift.batch.journal import (
    COLUMNS,
    FOLDER,
    STATUSES,
    Journal,
    ManifestRow,
    VideoState,
    check_manifest_path,
    write_manifest,
)
from framesift.batch.listing import VideoSources, list_videos, names_of
from framesift.errors import OptionError
from framesift.pipeline.config import PipelineConfig
from framesift.store.store import Store, absolute_source


@dataclass(frozen=True)
class Indexed:
    """The outcome of a run: a row per video, as in the Parquet file `manifest`."""

    manifest: Path
    rows: tuple[ManifestRow, ...]

    @property
    def counts(self) -> dict[str, int]:
        """How many videos were indexed, kept from earlier runs, failed, and are waiting."""
        return {status: sum(row["status"] == status for row in self.rows) for status in STATUSES}

    @property
    def failed(self) -> list[ManifestRow]:
        return [row for row in self.rows if row["status"] == "failed"]


def index(
    source: VideoSources,
    *,
    config: PipelineConfig | None = None,
    events: bool = True,
    manifest: StrPath | None = None,
    skip_failed: bool = False,
    **settings: Any,
) -> Indexed:
    """Index every video of a list, a directory or a pattern; finished videos are skipped without opening them.

    events: store the subtitles beside or inside each video, for `search`. manifest: the Parquet file to write; by
    default in the store, the same for the same call. skip_failed: skip videos that failed in an earlier run. A run that
    was stopped is resumed by the next call. settings: those of `PipelineConfig`, in place of the ones in `config`, and
    those of the run:

    engine: "local" (workers: processes; by default as cores and memory allow), "ray" (address: of a cluster; by default
    this machine) or "inline" (this process). limits: of one video. begin is called with the number of videos to do and
    of those skipped, watch with every `TaskEvent`.
    """
    config, execution = split_settings(config, settings)
    executor = execution.make_executor()
    require("pyarrow", "corpus")
    if not isinstance(config.index.encoder, str):
        raise OptionError("the encoder came as a Python object; expected a name, which other processes can load")
    key = config.index.key("")
    config = PipelineConfig(index=config.index).replace(
        encoder=key.encoder, store=Store(config.index.store).root.absolute(), quick=False
    )
    videos = list_videos(source)
    path = _default_manifest(source, config) if manifest is None else Path(manifest)
    if manifest is not None:
        check_manifest_path(path)
    run = IndexRun(videos, config, execution.limits.tries, skip_failed=skip_failed)
    tasks = [Task(name, {"subtitles": videos[name]}) for name, row in run.rows.items() if row["status"] == "waiting"]
    if execution.begin is not None:
        execution.begin(len(tasks), len(videos) - len(tasks))

    def watch(event: TaskEvent) -> None:
        run.record(event)
        if execution.watch is not None:
            execution.watch(event)

    settings = {"config": config.to_dict(), "weights": key.encoder_fingerprint, "events": events}
    try:
        executor.run(WorkerSpec("index", settings), tasks, watch, limits=execution.limits, tries=run.tries)
    finally:
        run.close()
        write_manifest(path, run.rows.values())
    return Indexed(path, tuple(run.rows.values()))


class IndexRun:
    """The current row of each video of a run, and the attempts that some had in earlier runs."""

    def __init__(
        self, videos: Mapping[str, str], config: PipelineConfig, most_tries: int, *, skip_failed: bool
    ) -> None:
        self.rows: dict[str, ManifestRow] = {}
        self.tries: dict[str, int] = {}
        self._running: set[str] = set()
        self._journal = Journal(config.index)
        for path, subtitles in videos.items():
            name = public_url(path)
            before = self._journal.videos.get(name, VideoState())
            row = self._journal.find(path, subtitles)
            if row is not None:
                row = {**row, "status": "kept"}
            elif before.error and skip_failed:
                row = {"status": "failed", "error": before.error, "tries": 0}
            elif before.tries >= most_tries:
                error = f"{name}: the run ended {before.tries} times while this video was being indexed"
                row = {"status": "failed", "error": error, "tries": before.tries}
                self._journal.append("failed", path, row=row)
            else:
                row = {"status": "waiting"}
                self.tries[path] = before.tries
            texts = {"path": name, "subtitles": public_url(subtitles), "encoder": str(config.index.encoder)}
            self.rows[path] = {**dict.fromkeys(COLUMNS), "warnings": [], **texts, **row}

    def record(self, event: TaskEvent) -> None:
        """Write an event to the journal, and its outcome to the row of its video."""
        if event.kind == "moved":
            return
        path = event.task.name
        outcome = {}
        if event.kind == "started":
            self._running.add(path)
        else:
            self._running.discard(path)
        if event.is_end:
            row = self.rows[path]
            row |= {"seconds": round(event.seconds, 3), "tries": event.tries, **event.row}
            if event.kind == "failed":
                row |= {"status": "failed", "error": event.error}
            outcome = {"row": row, "stamp": row.pop("stamp", None)}
        self._journal.append(event.kind, path, **outcome)

    def close(self) -> None:
        """Record that the running attempts were stopped on purpose: they do not count."""
        for path in sorted(self._running):
            self._journal.append("stopped", path)


def _default_manifest(source: VideoSources, config: PipelineConfig) -> Path:
    """The same file for the same videos, encoder and sampling."""
    paths = [absolute_source(name) for name in names_of(source)]
    identity = json.dumps([paths, config.index.key("").folder.name])
    digest = hashlib.blake2b(identity.encode(), digest_size=8).hexdigest()
    return Path(config.index.store or "") / FOLDER / f"manifest-{digest}.parquet"
