"""Run questions: every item with every choice and reader that a result folder does not hold yet, row by row.

`corpus.select`, `corpus.ask` and the benchmarks call `run_questions`; rows of one are found by the others.
"""

import hashlib
import os
import platform
import re
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from framesift.batch.executors import Execution
from framesift.batch.executors.base import Executor, Limits, Task, TaskEvent, WorkerSpec
from framesift.batch.items import RunItem
from framesift.batch.listing import is_url
from framesift.batch.results import Result, ResultWriter, Run, new_run, read_results
from framesift.batch.settings import QuestionSettings, ReaderSpec, RunReader, SelectionChoice, row_identity
from framesift.encoders.base import fingerprint_of
from framesift.encoders.registry import get_encoder, identify
from framesift.errors import OptionError
from framesift.pipeline.config import PipelineConfig
from framesift.readers.base import Reader, get_reader
from framesift.readers.prompts import PRESETS
from framesift.store.store import Store

# Questions per task, as a multiple of the reader's width: a reader then never waits for frames.
QUESTIONS_PER_SLOT = 2
PACKAGES = ("framesift", "numpy", "onnxruntime", "torch", "transformers", "av", "pillow", "openai")
_OBJECT_SETTINGS = ("encoder", "namer", "visual_demand")  # of PipelineConfig: may be Python objects
_READER_SETTINGS = ("reader", "reader_options", "concurrency", "options", "budget", "text_mode")


@dataclass(frozen=True)
class RunSummary:
    """The outcome of a run. done: rows without an error; failed: rows with one; skipped: rows of earlier runs.

    warnings: by video, what was lost, guessed or odd in it, in rows of earlier runs as well. failures: of each failed
    row the id, the video and the error.
    """

    results: Path
    run: str
    done: int
    skipped: int
    failed: int
    seconds: float = 0.0
    warnings: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    failures: tuple[tuple[str, str, str], ...] = ()


def run_questions(
    items: Sequence[RunItem],
    choices: Sequence[SelectionChoice],
    readers: Sequence[ReaderSpec],
    config: PipelineConfig,
    results: str | os.PathLike[str],
    execution: Execution,
    *,
    facts: Mapping[str, Any],
    shard: tuple[int, int] = (1, 1),
) -> RunSummary:
    """Produce the rows that `results` does not hold yet; no readers: select frames only.

    config: all settings except those of choices and readers. facts: fields of the `Run`, among them the data set.
    shard: (2, 8) takes the second eighth of the videos; processes and machines may share the folder. A video or
    question that fails becomes a row with its error, which the next run tries again.
    """
    started = time.perf_counter()
    executor = execution.make_executor()
    objects = {name: value for name, value in config.values().items() if name in _OBJECT_SETTINGS and _is_object(value)}
    encoder = config.index.encoder
    name, weights = identify(encoder) if isinstance(encoder, str) else (encoder.name, fingerprint_of(encoder))
    models = [(spec, get_reader(spec.reader, **spec.options)) for spec in readers]
    run_readers = tuple(_describe_reader(spec, model) for spec, model in models) or (RunReader(),)
    objects_by_name = {
        reader.name: model
        for reader, (spec, model) in zip(run_readers, models, strict=False)
        if not isinstance(spec.reader, str)
    }
    if objects_by_name:
        objects["readers"] = objects_by_name
    if objects and executor.isolated:
        given = ", ".join(objects)
        raise OptionError(f"{given} came as Python objects; expected names or addresses where other processes run")
    run = new_run(
        **{"items": len(items), **facts},
        encoder=name,
        encoder_fingerprint=weights,
        versions=package_versions(),
        prompts={reader.prompt: _prompt_text(reader.prompt) for reader in run_readers if reader.prompt in PRESETS},
        readers={reader.name: reader.options for reader in run_readers if reader.name},
        seed=config.selection.seed,
        machine=f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores",
    )
    settings = QuestionSettings(
        results=os.path.abspath(results),
        run=asdict(run),
        config=_portable(config, name, objects),
        choices=tuple(choices),
        readers=run_readers,
        identity=row_identity(config, facts["dataset"], name),
    )
    tasks = QuestionTasks(items, settings, shard)
    if tasks.pending and not executor.isolated and isinstance(encoder, str):
        get_encoder(name, device=config.index.device)  # one error now instead of one for each video
    spec = WorkerSpec("questions", asdict(settings), objects)
    done, failed = tasks.run(executor, spec, execution)
    seconds = time.perf_counter() - started
    failures = tuple((row.item_id, row.video_id, row.error) for row in tasks.read_own_rows() if row.error)
    return RunSummary(Path(results), run.id, done, tasks.skipped, failed, seconds, tasks.read_warnings(), failures)


class QuestionTasks:
    """The pending items of a run, grouped into tasks."""

    def __init__(self, items: Sequence[RunItem], settings: QuestionSettings, shard: tuple[int, int]) -> None:
        self.settings = settings
        self._per_video: dict[str, int] = {}
        for item in items:
            self._per_video[item.video] = self._per_video.get(item.video, 0) + 1
        finished = self._finished_keys()
        mine = [item for item in items if _in_shard(item.video_id, shard)]
        jobs = {id(item): list(settings.jobs(item)) for item in mine}
        pending = {id(item): sum(job.row.key not in finished for job in jobs[id(item)]) for item in mine}
        self.pending = [item for item in mine if pending[id(item)]]
        self._keys = {job.row.key for own in jobs.values() for job in own}
        self.skipped = sum(map(len, jobs.values())) - sum(pending.values())

    def run(
        self,
        executor: Executor,
        spec: WorkerSpec,
        execution: Execution,
    ) -> tuple[int, int]:
        """Run the tasks; returns the numbers of rows without and with an error."""
        width = max(reader.width for reader in self.settings.readers)
        size: int | None = QUESTIONS_PER_SLOT * width if self.settings.readers[0].name else 1
        # In one process the reader is busy across tasks only if there is one task; copies of remote files stay
        # until the end of their task.
        if not executor.isolated and not any(is_url(item.video) for item in self.pending):
            size = None
        groups = self._group(self.pending, size)
        if execution.begin is not None:
            execution.begin(len(groups), self.skipped)
        counts = {"answered": 0, "failed": 0}
        lost_counts = False  # a killed worker has written rows that it did not report

        def run_round(tasks: Sequence[Task], limits: Limits) -> list[tuple[Task, str]]:
            failures: list[tuple[Task, str]] = []

            def watch(event: TaskEvent) -> None:
                nonlocal lost_counts
                if event.kind == "done":
                    for name in counts:
                        counts[name] += event.row[name]
                elif event.kind == "failed":
                    failures.append((event.task, event.error))
                lost_counts = lost_counts or event.kind in ("failed", "retried")
                if execution.watch is not None:
                    execution.watch(event)

            executor.run(spec, tasks, watch, limits=limits, tries={})
            return failures

        # A task of several videos that fails is repeated video by video: only the one at fault loses attempts.
        several = [task for task in groups if len(_videos(task)) > 1]
        broken = run_round(several, replace(execution.limits, tries=1))
        again = [RunItem.from_dict(value) for task, _ in broken for value in task.data["items"]]
        singles = [task for task in groups if len(_videos(task)) == 1] + self._group(again, 1)
        failures = run_round(singles, execution.limits)
        if failures:
            self._write_failures(failures)
        return self._count_rows() if lost_counts else (counts["answered"], counts["failed"])

    def read_warnings(self) -> dict[str, tuple[str, ...]]:
        """The warnings of each video that has some, from all rows of this run's jobs."""
        by_video: dict[str, dict[str, None]] = {}
        for row in self._read_rows():
            if row.key in self._keys and row.warnings:
                by_video.setdefault(row.video_id, {}).update(dict.fromkeys(row.warnings))
        return {video: tuple(warnings) for video, warnings in by_video.items()}

    def _group(self, items: Iterable[RunItem], size: int | None) -> list[Task]:
        """Tasks of whole videos with at least `size` questions; the last may have fewer. None: one task."""
        by_video: dict[str, list[RunItem]] = {}
        for item in items:
            by_video.setdefault(item.video, []).append(item)
        tasks: list[Task] = []
        group: list[RunItem] = []
        for own in by_video.values():
            group += own
            if size is not None and len(group) >= size:
                tasks.append(self._task(group))
                group = []
        return [*tasks, self._task(group)] if group else tasks

    def _task(self, items: Sequence[RunItem]) -> Task:
        videos = list(dict.fromkeys(item.video for item in items))
        more = f" and {len(videos) - 1} more" if len(videos) > 1 else ""
        per_video = {video: self._per_video[video] for video in videos}
        return Task(videos[0] + more, {"items": [item.to_dict() for item in items], "per_video": per_video})

    def _write_failures(self, failures: Iterable[tuple[Task, str]]) -> None:
        finished = self._finished_keys()
        with ResultWriter(self.settings.results, Run(**self.settings.run)) as writer:
            for task, error in failures:
                for item in map(RunItem.from_dict, task.data["items"]):
                    for job in self.settings.jobs(item):
                        if job.row.key not in finished:
                            writer.add(replace(job.row, error=error))

    def read_own_rows(self) -> list[Result]:
        """The rows of this run."""
        return [row for row in self._read_rows() if row.run == self.settings.run["id"]]

    def _count_rows(self) -> tuple[int, int]:
        rows = self.read_own_rows()
        failed = sum(bool(row.error) for row in rows)
        return len(rows) - failed, failed

    def _finished_keys(self) -> set[str]:
        return {row.key for row in self._read_rows() if not row.error}

    def _read_rows(self) -> list[Result]:
        return read_results(self.settings.results).rows if Path(self.settings.results).is_dir() else []


def parse_shard(text: str) -> tuple[int, int]:
    """ "2/8": the second of eight parts."""
    match = re.fullmatch(r"(\d+)/(\d+)", text.strip())
    if not match or not 1 <= int(match[1]) <= int(match[2]):
        raise OptionError(f"shard is {text!r}; expected one like 2/8, the second of eight parts")
    return int(match[1]), int(match[2])


def package_versions() -> dict[str, str]:
    """Versions of Python, the system, and the installed packages that can change a result."""
    versions = {"python": platform.python_version(), "system": f"{sys.platform} {platform.machine()}"}
    for name in PACKAGES:
        try:
            versions[name] = version(name)
        except PackageNotFoundError:
            continue
    return versions


def _describe_reader(spec: ReaderSpec, model: Reader) -> RunReader:
    width = int(getattr(model, "concurrency", 1)) if spec.width is None else spec.width
    if isinstance(width, bool) or width < 1:
        raise OptionError(f"concurrency is {width!r}; expected a whole number of at least 1")
    address = spec.reader if isinstance(spec.reader, str) else ""
    name = spec.name or str(getattr(model, "name", type(model).__name__))
    return RunReader(
        name=name,
        address=address,
        options=dict(spec.options),
        prompt=str(getattr(model, "preset", "")),
        times=bool(getattr(model, "times", True)),
        time_format=str(getattr(model, "time_format", "auto")),
        width=width,
    )


def _portable(config: PipelineConfig, encoder: str, objects: Mapping[str, Any]) -> dict[str, Any]:
    """The configuration as JSON values for workers, with the defaults in place of Python objects."""
    defaults = PipelineConfig()
    values = config.replace(**{name: defaults.values()[name] for name in objects if name in _OBJECT_SETTINGS}).to_dict()
    values = {name: value for name, value in values.items() if name not in _READER_SETTINGS}
    return values | {"encoder": encoder, "store": str(Store(config.index.store).root.absolute())}


def _is_object(value: Any) -> bool:
    return value is not None and not isinstance(value, str | int | float)


def _in_shard(video_id: str, shard: tuple[int, int]) -> bool:
    part, parts = shard
    return int(hashlib.sha256(video_id.encode()).hexdigest(), 16) % parts == part - 1


def _videos(task: Task) -> set[str]:
    return {item["video"] for item in task.data["items"]}


def _prompt_text(name: str) -> str:
    preset = PRESETS[name]
    parts = [preset.before, "{question}", "{options}", preset.after]
    return "\n".join(part for part in parts if part)
