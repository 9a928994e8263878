"""Run a plan on a data set: its items and choices go to the batch runner, its rows to a folder of results."""

from dataclasses import replace
from pathlib import Path

from framesift._utils.credentials import LOCAL
from framesift._utils.files import StrPath
from framesift.batch.executors import Execution
from framesift.batch.executors.base import OnEvent, TaskEvent
from framesift.batch.items import RunItem
from framesift.batch.runner import RunSummary, run_questions
from framesift.batch.settings import ReaderSpec
from framesift.batch.workers import QUESTIONS
from framesift.bench.items import Dataset, Item
from framesift.bench.plan import BenchmarkPlan
from framesift.progress import Progress
from framesift.text.finding import NONE

PROMPT_OF = {"videomme": "videomme"}  # data sets with a prompt of their own; the others use LongVideoBench's


def run_benchmark(
    dataset: Dataset,
    plan: BenchmarkPlan,
    folder: StrPath,
    *,
    shard: tuple[int, int] = (1, 1),
    command: str = "",
    progress: Progress | None = None,
) -> RunSummary:
    """Produce the rows of the plan that the folder of results does not hold yet.

    shard: (2, 8) takes the second eighth of the videos; processes and machines may share the folder. A
    video or a question that fails becomes a row with its error, which the next run tries again.
    """
    return run_questions(
        [run_item(item) for item in dataset.items],
        plan.choices,
        [with_prompt(reader, dataset.name, times=plan.times) for reader in plan.readers],
        plan.config,
        folder,
        Execution("inline", watch=None if progress is None else _watch_with(progress)),
        facts={
            "dataset": dataset.name,
            "data": dataset.fingerprint,
            "annotation": dataset.annotation,
            "command": command,
            "skipped": len(dataset.skipped),
            "notes": dataset.notes,
            "missing": (dataset.missing,) if dataset.missing else (),
        },
        shard=shard,
    )


def run_item(item: Item) -> RunItem:
    """A question of a data set for the batch runner; without subtitles of its own it has no text."""
    subtitles = item.subtitles
    return RunItem(
        id=item.id,
        video=str(item.video),
        question=item.question,
        subtitles=str(subtitles) if isinstance(subtitles, Path) else NONE,
        subtitles_offset_s=item.subtitles_offset_s,
        events=subtitles if isinstance(subtitles, tuple) else None,
        window=item.window,
        facts={
            "video_id": item.video_id,
            "group": item.group,
            "published_group": item.published_group,
            "categories": item.categories,
            "truth": item.answer,
            "duration_s": item.duration_s,
        },
    )


def with_prompt(spec: ReaderSpec, dataset: str, *, times: bool = True) -> ReaderSpec:
    """The reader with the data set's prompt and the plan's choice of times, unless it has options of its own."""
    if not isinstance(spec.reader, str) or not spec.reader.startswith(("http://", "https://", LOCAL)):
        return spec
    options = {"preset": PROMPT_OF.get(dataset, "longvideobench"), "times": times, **spec.options}
    return replace(spec, options=options)


def _watch_with(progress: Progress) -> OnEvent:
    """Report the events of a run as the current step, rows done and rows in total."""
    done = total = 0.0

    def watch(event: TaskEvent) -> None:
        nonlocal done, total
        if event.kind == "moved":
            is_answer = event.stage == QUESTIONS
            done, total = (event.done, event.expected) if is_answer else (done, total)
            progress("" if is_answer else event.stage, done, total)

    return watch
