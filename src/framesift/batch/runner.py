"""Run questions: every item with every choice and reader that a result folder does not hold yet, row by row.

`select` and `ask`, for the questions of a file, and the benchmarks call `run_questions`; rows of one are found by the
others.
"""

import hashlib
import os
import platform
import re
import sys
import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from framesift._utils.files import StrPath
from framesift._utils.requirements import installed_version
from framesift.batch.executors import Execution, split_settings
from framesift.batch.executors.base import Executor, Limits, Task, TaskEvent, WorkerSpec
from framesift.batch.items import RunItem, group_by, read_items
from framesift.batch.listing import is_url
from framesift.batch.results import ResultWriter, Run, new_run, read_earlier
from framesift.batch.settings import NO_READER, QuestionSettings, ReaderSpec, SelectionChoice, row_identity
from framesift.encoders.registry import get_encoder
from framesift.errors import OptionError
from framesift.pipeline.config import PipelineConfig
from framesift.readers.base import get_reader
from framesift.readers.prompts import PRESETS
from framesift.selection.registry import get_selector
from framesift.store.store import Store
from framesift.text.finding import NONE

# Questions per task, as a multiple of the reader's width: a reader then never waits for frames.
QUESTIONS_PER_SLOT = 2
PACKAGES = ("framesift", "numpy", "onnxruntime", "torch", "transformers", "av", "pillow", "openai")
_PLAIN = {"namer": None, "visual_demand": "rules"}  # in place of Python objects


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
    seconds: float
    warnings: Mapping[str, tuple[str, ...]]
    failures: tuple[tuple[str, str, str], ...]


def select(
    questions: StrPath,
    *,
    results: StrPath,
    config: PipelineConfig | None = None,
    command: str = "",
    **settings: Any,
) -> RunSummary:
    """Select frames for every question of a file, each on the video its row names; finished questions are skipped.

    questions: as `read_questions` reads them, with a column `video` (a path or URL, relative to the file), and
    optionally `subtitles` and `answer`. results: the folder of result files to append to; any number of runs may share
    it, those of `framesift bench` included. command: stored with the rows. settings: those of `PipelineConfig`, in
    place of the ones in `config`, and those of the run, as in `index`. Speech is not recognised.
    """
    return ask(questions, results=results, config=config, command=command, **settings, reader=None)


def ask(
    questions: StrPath,
    *,
    results: StrPath,
    config: PipelineConfig | None = None,
    command: str = "",
    **settings: Any,
) -> RunSummary:
    """Select frames for every question, as `select` does, and have the setting `reader` answer it.

    concurrency: requests in flight per worker; by default what the reader takes.
    """
    config, execution = split_settings(config, settings)
    selection, reading = config.selection, config.reading
    if not isinstance(selection.method, str):
        name = get_selector(selection.method).name
        raise OptionError(f"method is the function {name}; expected a name of fs.selectors(), which workers can import")
    file = Path(questions)
    items = list(read_items(file))
    digest = hashlib.sha256(file.read_bytes()).hexdigest()[:16]
    options = selection.method_options
    seed = int(options.pop("seed", selection.seed))
    choice = SelectionChoice(
        selection.method, options, selection.most, reading.text_mode, selection.query, reading.size
    )
    readers = []
    if reading.reader is not None:
        readers = [ReaderSpec(reading.reader, reading.reader_options, width=reading.concurrency)]
    return run_questions(
        items,
        [choice],
        readers,
        config.replace(speech=NONE, seed=seed, options={}),
        results,
        execution,
        facts={"dataset": file.stem, "command": command, "data": digest, "annotation": digest},
    )


def run_questions(
    items: Sequence[RunItem],
    choices: Sequence[SelectionChoice],
    readers: Sequence[ReaderSpec],
    config: PipelineConfig,
    results: StrPath,
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
    models = [get_reader(spec.reader, **spec.options) for spec in readers]
    described = tuple(spec.described(model) for spec, model in zip(readers, models, strict=True))
    values = config.values()
    named = ("encoder", *_PLAIN)
    objects = {name: values[name] for name in named if not isinstance(values[name], str | int | float | None)}
    given = {spec.name: model for spec, model in zip(described, models, strict=True) if not spec.reader}
    objects |= {"readers": given} if given else {}
    if objects and executor.isolated:
        names = ", ".join(objects)
        raise OptionError(f"{names} came as Python objects; expected names or addresses where other processes run")
    key = config.index.key("")
    run = new_run(
        **{"items": len(items), **facts},
        encoder=key.encoder,
        encoder_fingerprint=key.encoder_fingerprint,
        versions=package_versions(),
        prompts={spec.prompt: _prompt_text(spec.prompt) for spec in described if spec.prompt in PRESETS},
        readers={spec.name: spec.options for spec in described},
        machine=f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores",
    )
    portable = config.replace(
        encoder=key.encoder,
        store=Store(config.index.store).root.absolute(),
        reader=None,
        reader_options={},
        quick=False,
        **{name: value for name, value in _PLAIN.items() if name in objects},
    )
    settings = QuestionSettings(
        results=os.path.abspath(results),
        run=asdict(run),
        config=portable.to_dict(),
        choices=tuple(choices),
        readers=described or (NO_READER,),
        identity=row_identity(config) | {"encoder": key.encoder},
    )
    part, parts = shard
    shares = [int(hashlib.sha256(item.video_id.encode()).hexdigest(), 16) % parts for item in items]
    mine = [(item, list(settings.jobs(item))) for item, share in zip(items, shares, strict=True) if share == part - 1]
    keys = [job.row.key for _, jobs in mine for job in jobs]
    finished = read_earlier(results).done
    pending = [item for item, jobs in mine if any(job.row.key not in finished for job in jobs)]
    if pending and not executor.isolated and "encoder" not in objects:
        get_encoder(key.encoder, device=config.index.device)  # one error now instead of one for each video
    spec = WorkerSpec("questions", asdict(settings), objects)
    skipped = sum(key in finished for key in keys)
    _run_tasks(pending, Counter(item.video for item in items), settings, executor, spec, execution, skipped)
    rows = read_earlier(results).rows
    own = [row for row in rows if row.run == run.id]
    failures = tuple((row.item_id, row.video_id, row.error) for row in own if row.error)
    warnings: dict[str, tuple[str, ...]] = {}
    wanted = set(keys)
    for row in rows:
        if row.key in wanted and row.warnings:
            warnings[row.video_id] = tuple(dict.fromkeys((*warnings.get(row.video_id, ()), *row.warnings)))
    return RunSummary(
        Path(results),
        run.id,
        done=len(own) - len(failures),
        skipped=skipped,
        failed=len(failures),
        seconds=time.perf_counter() - started,
        warnings=warnings,
        failures=failures,
    )


def _run_tasks(
    items: Sequence[RunItem],
    sharing: Mapping[str, int],
    settings: QuestionSettings,
    executor: Executor,
    spec: WorkerSpec,
    execution: Execution,
    skipped: int,
) -> None:
    """Run the items in tasks, and write rows for those of tasks that failed. sharing: questions by video."""
    size: int | None = QUESTIONS_PER_SLOT * settings.width if settings.readers[0].name else 1
    # In one process the reader is busy across tasks only if there is one task; copies of remote files stay
    # until the end of their task.
    if not executor.isolated and not any(is_url(item.video) for item in items):
        size = None
    groups = _group(items, size)
    if execution.begin is not None:
        execution.begin(len(groups), skipped)

    def run_round(groups: Sequence[Sequence[RunItem]], limits: Limits) -> list[tuple[Sequence[RunItem], str]]:
        """Run these groups; those that failed, with the error of each."""
        by_task = {_title(group): group for group in groups}
        failed = []

        def watch(event: TaskEvent) -> None:
            if event.kind == "failed":
                failed.append((by_task[event.task.name], event.error))
            if execution.watch is not None:
                execution.watch(event)

        tasks = [
            Task(
                name,
                {
                    "items": [item.to_dict() for item in group],
                    "sharing": {item.video: sharing[item.video] for item in group},
                },
            )
            for name, group in by_task.items()
        ]
        if tasks:
            executor.run(spec, tasks, watch, limits=limits, tries={})
        return failed

    # A task of several videos that fails is repeated video by video: only the one at fault loses attempts.
    by_kind = group_by(groups, lambda group: len(group_by(group, _video)) > 1)
    broken = run_round(by_kind.get(True, []), replace(execution.limits, tries=1))
    again = _group([item for group, _ in broken for item in group], 1)
    failures = run_round([*by_kind.get(False, []), *again], execution.limits)
    if failures:
        finished = read_earlier(settings.results).done
        with ResultWriter(settings.results, Run(**settings.run)) as writer:
            for group, error in failures:
                for job in [job for item in group for job in settings.jobs(item)]:
                    if job.row.key not in finished:
                        writer.add(replace(job.row, error=error))


def _group(items: Iterable[RunItem], size: int | None) -> list[list[RunItem]]:
    """Groups of whole videos with at least `size` questions; the last may have fewer. None: one group."""
    groups: list[list[RunItem]] = []
    for own in group_by(items, _video).values():
        if groups and (size is None or len(groups[-1]) < size):
            groups[-1] += own
        else:
            groups.append(own)
    return groups


def _title(group: Sequence[RunItem]) -> str:
    first, *others = group_by(group, _video)
    return f"{first} and {len(others)} more" if others else first


def _video(item: RunItem) -> str:
    return item.video


def parse_shard(text: str) -> tuple[int, int]:
    """ "2/8": the second of eight parts."""
    match = re.fullmatch(r"(\d+)/(\d+)", text.strip())
    if not match or not 1 <= int(match[1]) <= int(match[2]):
        raise OptionError(f"shard is {text!r}; expected one like 2/8, the second of eight parts")
    return int(match[1]), int(match[2])


def package_versions() -> dict[str, str]:
    """Versions of Python, the system, and the installed packages that can change a result."""
    versions = {"python": platform.python_version(), "system": f"{sys.platform} {platform.machine()}"}
    return versions | {name: installed for name in PACKAGES if (installed := installed_version(name))}


def _prompt_text(name: str) -> str:
    before, after = PRESETS[name]
    return "\n".join(filter(None, [before, "{question}", "{options}", after]))
