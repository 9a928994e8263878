"""Many videos into one store: listed, those already done passed by, the others indexed by an engine."""

import hashlib
import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from framesift._utils.optional import require
from framesift.batch.executors.base import Begin, Engine, Limits, Report, Task, Watch
from framesift.batch.executors.select import Engines, run_tasks
from framesift.batch.index_worker import Settings
from framesift.batch.journal import FOLDER, History, Lines, Row, Seen, counted, read_journal, row_of, write_manifest
from framesift.batch.listing import Video, list_videos
from framesift.encoders.base import identify
from framesift.store.indexing import Fps, Mode
from framesift.store.store import Store

Sources = str | os.PathLike[str] | Sequence[str | os.PathLike[str]]


@dataclass(frozen=True)
class Indexed:
    """What a run came to: a row per video, as in the Parquet file `manifest`."""

    manifest: Path
    rows: tuple[Row, ...]

    @property
    def counts(self) -> dict[str, int]:
        """How many videos are indexed, kept from before, failed and waiting."""
        return counted(self.rows)

    @property
    def failed(self) -> list[Row]:
        return [row for row in self.rows if row["status"] == "failed"]


def index(
    source: Sources,
    *,
    engine: Engine = "local",
    workers: int | None = None,
    address: str | None = None,
    store: str | os.PathLike[str] | None = None,
    encoder: str = "auto",
    fps: Fps = "auto",
    mode: Mode = "exact",
    device: str = "auto",
    events: bool = True,
    manifest: str | os.PathLike[str] | None = None,
    limits: Limits | None = None,
    skip_failed: bool = False,
    begin: Begin | None = None,
    watch: Watch | None = None,
) -> Indexed:
    """Index every video of a list, a folder or a pattern; what was done before is passed by without opening it.

    engine: "local" (workers: processes; by default as cores and memory allow) or "ray" (address: a cluster's; by
    default this machine). events: keep the text beside or inside each video, for `search`. manifest: the Parquet file
    to write; by default in the store, the same for the same call. limits: what one video may cost. skip_failed: leave
    out what an earlier run gave up. begin is called with how many videos there are to do and how many were passed by,
    watch with every `Report`. Stopped at any moment, the next call goes on.
    """
    engines = Engines(engine, workers, address)
    require("pyarrow", "corpus")
    name, mark = identify(encoder)
    said = Settings(str(Store(store).root.absolute()), name, mark, fps, mode, device, events)
    videos = list_videos(source)
    path = Path(manifest) if manifest is not None else _default_manifest(source, said)
    run = IndexRun(videos, said, path, limits or Limits(), skip_failed=skip_failed)
    if begin is not None:
        begin(len(run.waiting), len(videos) - len(run.waiting))
    try:
        for report in run.go(engines):
            if watch is not None:
                watch(report)
    finally:
        run.close()
        write_manifest(path, run.rows.values())
    return Indexed(path, tuple(run.rows.values()))


class IndexRun:
    """The rows of a run as they stand, and the tasks still open."""

    def __init__(
        self, videos: Sequence[Video], settings: Settings, manifest: Path, limits: Limits, *, skip_failed: bool = False
    ) -> None:
        self.settings, self.limits = settings, limits
        self._seen = Seen(settings)
        self._journal = Lines(manifest.with_suffix(".jsonl"))
        self._videos = {video.path: video for video in videos}
        self.rows: dict[str, Row] = {video.path: row_of(video, settings) for video in videos}
        self._tries: dict[str, int] = {}
        self._running: set[str] = set()
        history = read_journal(self._journal)
        for video in videos:
            self._look_back(video, history.get(video.path, History()), skip_failed=skip_failed)

    @property
    def waiting(self) -> list[Task]:
        open_rows = (row for row in self.rows.values() if row["status"] == "waiting")
        return [Task(row["path"], {"subtitles": row["subtitles"]}) for row in open_rows]

    def go(self, engines: Engines) -> Iterator[Report]:
        """Everything that happens, each written down before it is told."""
        tasks = self.waiting
        reports = run_tasks(engines, "index", asdict(self.settings), tasks, limits=self.limits, tries=self._tries)
        for report in reports:
            self._note(report)
            yield report

    def close(self) -> None:
        """Say of what was under way that it was stopped: such a try does not count."""
        for path in sorted(self._running):
            self._journal.add({"event": "stopped", "path": path})
        self._running.clear()

    def _look_back(self, video: Video, before: History, *, skip_failed: bool) -> None:
        row = self.rows[video.path]
        seen = self._seen.find(video)
        if seen is not None:
            row |= {name: value for name, value in seen.items() if name in row} | {"status": "kept"}
        elif before.error and skip_failed:
            row |= {"status": "failed", "error": before.error, "tries": 0}
        elif before.tries >= self.limits.tries:
            error = f"{video.path}: the run ended {before.tries} times while this video was being indexed"
            row |= {"status": "failed", "error": error, "tries": before.tries}
            self._journal.add({"event": "failed", "path": video.path, "error": error})
        elif before.tries:
            self._tries[video.path] = before.tries

    def _note(self, report: Report) -> None:
        path = report.task.name
        if report.kind == "moved":
            return
        if report.kind == "started":
            self._running.add(path)
        else:
            self._running.discard(path)
        line: Mapping[str, Any] = {"event": report.kind, "path": path, "try": report.tries, "worker": report.worker}
        if report.is_end:
            row = self.rows[path]
            row |= {"seconds": round(report.seconds, 3), "tries": report.tries}
            row |= {name: value for name, value in report.row.items() if name in row}
            if report.kind == "failed":
                row |= {"status": "failed", "error": report.error}
            else:
                self._seen.add({**row, "stamp": report.row["stamp"]})
            line = {**line, **{name: row[name] for name in ("status", "seconds", "error")}}
        elif report.error:
            line = {**line, "error": report.error}
        self._journal.add(line)


def _default_manifest(source: Sources, settings: Settings) -> Path:
    """The same file for the same videos, encoder and sampling, so that a run is gone on with by its own command."""
    names = [source] if isinstance(source, str | os.PathLike) else list(source)
    whole = [os.path.abspath(name) if "://" not in os.fspath(name) else os.fspath(name) for name in names]
    told = json.dumps([whole, asdict(replace(settings, device="", events=True))])
    digest = hashlib.blake2b(told.encode(), digest_size=4).hexdigest()
    stem = re.sub(r"[^A-Za-z0-9]+", "_", Path(names[0]).stem).strip("_")[:40] if names else ""
    return Path(settings.store) / FOLDER / f"manifest-{stem or 'videos'}-{digest}.parquet"
