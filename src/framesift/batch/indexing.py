"""Index many videos into one store: list them, skip those already done, run the others on an executor."""

import hashlib
import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from framesift._utils.credentials import public_url
from framesift._utils.optional import require
from framesift.batch.executors import split_settings
from framesift.batch.executors.base import Executor, Limits, Task, TaskEvent, WorkerSpec
from framesift.batch.journal import (
    FOLDER,
    FinishedVideos,
    JournalEntry,
    ManifestRow,
    check_manifest_path,
    count_by_status,
    find_journal,
    manifest_row,
    read_journal,
    write_manifest,
)
from framesift.batch.listing import VideoEntry, list_videos
from framesift.batch.settings import IndexSpec
from framesift.pipeline.config import PipelineConfig

VideoSources = str | os.PathLike[str] | Sequence[str | os.PathLike[str]]


@dataclass(frozen=True)
class Indexed:
    """The outcome of a run: a row per video, as in the Parquet file `manifest`."""

    manifest: Path
    rows: tuple[ManifestRow, ...]

    @property
    def counts(self) -> dict[str, int]:
        """How many videos were indexed, kept from earlier runs, failed, and are waiting."""
        return count_by_status(self.rows)

    @property
    def failed(self) -> list[ManifestRow]:
        return [row for row in self.rows if row["status"] == "failed"]


def index(
    source: VideoSources,
    *,
    config: PipelineConfig | None = None,
    events: bool = True,
    manifest: str | os.PathLike[str] | None = None,
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
    spec = IndexSpec.of(config.index, events=events)
    videos = list_videos(source)
    path = Path(manifest) if manifest is not None else _default_manifest(source, spec)
    if manifest is not None:
        check_manifest_path(path)
    run = IndexRun(videos, spec, path, execution.limits, skip_failed=skip_failed)
    if execution.begin is not None:
        execution.begin(len(run.pending), len(videos) - len(run.pending))
    try:
        for event in run.execute(executor):
            if execution.watch is not None:
                execution.watch(event)
    finally:
        run.close()
        write_manifest(path, run.rows.values())
    return Indexed(path, tuple(run.rows.values()))


class IndexRun:
    """The current rows of a run and its pending tasks."""

    def __init__(
        self,
        videos: Sequence[VideoEntry],
        settings: IndexSpec,
        manifest: Path,
        limits: Limits,
        *,
        skip_failed: bool = False,
    ) -> None:
        self.settings, self.limits = settings, limits
        self._finished = FinishedVideos(settings)
        self._journal = find_journal(manifest)
        self.rows: dict[str, ManifestRow] = {video.path: manifest_row(video, settings) for video in videos}
        self._tries: dict[str, int] = {}
        self._running: set[str] = set()
        self._videos = videos
        entries = read_journal(self._journal)
        for video in videos:
            self._restore(video, entries.get(public_url(video.path), JournalEntry()), skip_failed=skip_failed)

    @property
    def pending(self) -> list[Task]:
        waiting = (video for video in self._videos if self.rows[video.path]["status"] == "waiting")
        return [Task(video.path, {"subtitles": video.subtitles}) for video in waiting]

    def execute(self, executor: Executor) -> Iterator[TaskEvent]:
        """Run the pending tasks; each event is written to the journal before it is yielded."""
        spec = WorkerSpec("index", asdict(self.settings))
        for event in executor.run(spec, self.pending, limits=self.limits, tries=self._tries):
            self._record(event)
            yield event

    def close(self) -> None:
        """Record that the running attempts were stopped on purpose: they do not count."""
        for path in sorted(self._running):
            self._journal.append({"event": "stopped", "path": public_url(path)})
        self._running.clear()

    def _restore(self, video: VideoEntry, before: JournalEntry, *, skip_failed: bool) -> None:
        """Set the row of a video to what earlier runs left."""
        row = self.rows[video.path]
        finished = self._finished.find(video)
        if finished is not None:
            row |= {name: value for name, value in finished.items() if name in row} | {"status": "kept"}
        elif before.error and skip_failed:
            row |= {"status": "failed", "error": before.error, "tries": 0}
        elif before.tries >= self.limits.tries:
            error = f"{row['path']}: the run ended {before.tries} times while this video was being indexed"
            row |= {"status": "failed", "error": error, "tries": before.tries}
            self._journal.append({"event": "failed", "path": row["path"], "error": error})
        elif before.tries:
            self._tries[video.path] = before.tries

    def _record(self, event: TaskEvent) -> None:
        path, error = event.task.name, event.error
        if event.kind == "moved":
            return
        if event.kind == "started":
            self._running.add(path)
        else:
            self._running.discard(path)
        line: Mapping[str, Any] = {
            "event": event.kind,
            "path": public_url(path),
            "try": event.tries,
            "worker": event.worker,
        }
        if event.is_end:
            row = self.rows[path]
            row |= {"seconds": round(event.seconds, 3), "tries": event.tries}
            row |= {name: value for name, value in event.row.items() if name in row}
            if event.kind == "failed":
                row |= {"status": "failed", "error": error}
            else:
                self._finished.add({**row, "stamp": event.row["stamp"]})
            line = {**line, **{name: row[name] for name in ("status", "seconds", "error")}}
        elif error:
            line = {**line, "error": error}
        self._journal.append(line)


def _default_manifest(source: VideoSources, settings: IndexSpec) -> Path:
    """The same file for the same videos, encoder and sampling, so that the same command resumes its run."""
    names = [source] if isinstance(source, str | os.PathLike) else list(source)
    paths = [os.path.abspath(name) if "://" not in os.fspath(name) else os.fspath(name) for name in names]
    index = settings.index
    identity = json.dumps([paths, os.fspath(index.store or ""), settings.key("").folder.name])
    digest = hashlib.blake2b(identity.encode(), digest_size=4).hexdigest()
    stem = re.sub(r"[^A-Za-z0-9]+", "_", Path(public_url(os.fspath(names[0]))).stem).strip("_")[:40] if names else ""
    return Path(settings.index.store or "") / FOLDER / f"manifest-{stem or 'videos'}-{digest}.parquet"
