"""Many questions on many videos: frames for each, answers if a reader is named, in the benchmarks' result files."""

import hashlib
import json
import os
import platform
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from framesift.batch.executors import make_executor
from framesift.batch.executors.base import Engine, Executor, Limits, OnBegin, OnEvent, Task, WorkerSpec
from framesift.batch.listing import PATH_COLUMNS, SUBTITLE_COLUMNS, column_of, resolve
from framesift.batch.question_worker import Asking
from framesift.batch.results import ResultWriter, Run, new_run, read_results
from framesift.encoders.base import identify
from framesift.errors import InputError
from framesift.readers.address import public_address, public_options, scrub
from framesift.store.events import AUTO
from framesift.store.indexing import Fps, Mode
from framesift.store.store import Store
from framesift.text.questions import QuestionRow, read_questions
from framesift.types.question import resolve_option

ANSWER_COLUMNS = ("answer", "truth", "correct", "label", "correct_choice")
GROUP = 2  # times the concurrency: the questions a worker has at hand, so that a reader never waits for frames


@dataclass(frozen=True)
class Answered:
    """What a run came to. skipped: questions that were done before; failed: those that ended with an error."""

    results: Path
    run: str
    done: int
    skipped: int
    failed: int


def select(
    questions: str | os.PathLike[str],
    *,
    results: str | os.PathLike[str],
    method: str = "gcr",
    budget: int = 32,
    options: Mapping[str, Any] | None = None,
    encoder: str = "auto",
    fps: Fps = "auto",
    mode: Mode = "exact",
    device: str = "auto",
    subtitles: str = AUTO,
    store: str | os.PathLike[str] | None = None,
    engine: Engine = "local",
    workers: int | None = None,
    address: str | None = None,
    limits: Limits | None = None,
    begin: OnBegin | None = None,
    watch: OnEvent | None = None,
) -> Answered:
    """Choose frames for every question of a file, each on the video its row names; what is done already is left out.

    questions: as `read_questions` reads them, with a column `video` (a path or URL, relative to the file), and
    `subtitles` and `answer` where there are any. results: the folder of result files to add to; any number of runs may
    at once. options: the method's own. subtitles: "auto" or "none". The rest as in `index`.
    """
    file = Path(questions)
    said = _said(file, results, store, encoder)
    said = _with_choice(said, method, budget, options)
    said = replace(said, fps=fps, mode=mode, device=device, subtitles=subtitles)
    engines = make_executor(engine, workers, address)
    return _run(file, said, engines, limits or Limits(), begin, watch)


def ask(
    questions: str | os.PathLike[str],
    *,
    results: str | os.PathLike[str],
    reader: str,
    text_mode: str = "aligned",
    concurrency: int | None = None,
    reader_options: Mapping[str, Any] | None = None,
    method: str = "gcr",
    budget: int = 32,
    options: Mapping[str, Any] | None = None,
    encoder: str = "auto",
    fps: Fps = "auto",
    mode: Mode = "exact",
    device: str = "auto",
    subtitles: str = AUTO,
    store: str | os.PathLike[str] | None = None,
    engine: Engine = "local",
    workers: int | None = None,
    address: str | None = None,
    limits: Limits | None = None,
    begin: OnBegin | None = None,
    watch: OnEvent | None = None,
) -> Answered:
    """`select`, and every question put to a reader: its name or address, as in `framesift.ask`.

    concurrency: requests in flight per worker; by default what the reader takes.
    """
    from framesift.readers.base import get_reader
    from framesift.readers.prompts import check_text_mode

    check_text_mode(text_mode)
    model = get_reader(reader, **dict(reader_options or {}))
    width = concurrency if concurrency is not None else int(getattr(model, "concurrency", 1))
    file = Path(questions)
    said = _said(file, results, store, encoder)
    said = _with_choice(said, method, budget, options)
    said = replace(said, fps=fps, mode=mode, device=device, subtitles=subtitles, text_mode=text_mode)
    said = replace(said, reader=reader, reader_options=dict(reader_options or {}), concurrency=width)
    engines = make_executor(engine, workers, address)
    return _run(file, said, engines, limits or Limits(), begin, watch)


def _said(file: Path, results: str | os.PathLike[str], store: str | os.PathLike[str] | None, encoder: str) -> Asking:
    name, mark = identify(encoder)
    run = new_run(dataset=None, encoder=name, encoder_fingerprint=mark, machine=platform.node())
    return Asking(
        str(Store(store).root.absolute()), os.path.abspath(results), asdict(replace(run, dataset=file.stem)), name
    )


def _with_choice(said: Asking, method: str, budget: int, options: Mapping[str, Any] | None) -> Asking:
    from framesift.selection.registry import check_budget, check_options, get_selector

    check_budget(budget)
    check_options(method, dict(options or {}), get_selector(method).options)
    return replace(said, method=method, budget=budget, options=dict(options or {}))


def _run(
    file: Path, said: Asking, engines: Executor, limits: Limits, begin: OnBegin | None, watch: OnEvent | None
) -> Answered:
    asked = list(read_asked(file))
    data = hashlib.sha256(file.read_bytes()).hexdigest()[:16]
    readers = {public_address(said.reader): public_options(said.reader_options)} if said.reader else {}
    run = {**said.run, "items": len(asked), "data": data, "annotation": data, "readers": readers}
    said = replace(said, run=run)
    done = _done(said)
    left = [question for question in asked if said.row(question).key not in done]
    groups = _grouped(left, GROUP * said.concurrency if said.reader else 1)
    if begin is not None:
        begin(len(groups), len(asked) - len(left))
    counts = {"answered": 0, "failed": 0}
    # A group that fails is put again video by video: only the one at fault pays.
    several = [task for task in groups if len(_videos(task)) > 1]
    broken = _round(engines, said, several, replace(limits, tries=1), counts, watch)
    again = [question for task, _ in broken for question in task.data["questions"]]
    singles = [task for task in groups if len(_videos(task)) == 1] + _grouped(again, 1)
    failures = _round(engines, said, singles, limits, counts, watch)
    counts["failed"] += _write_failures(said, failures) if failures else 0
    skipped = len(asked) - len(left)
    return Answered(Path(said.results), str(run["id"]), counts["answered"], skipped, counts["failed"])


def _round(
    engines: Executor,
    said: Asking,
    tasks: Sequence[Task],
    limits: Limits,
    counts: dict[str, int],
    watch: OnEvent | None,
) -> list[tuple[Task, str]]:
    """Do these tasks; those that failed, with the reason."""
    failed: list[tuple[Task, str]] = []
    if not tasks:
        return failed
    for report in engines.run(WorkerSpec("questions", asdict(said)), tasks, limits=limits):
        if report.kind == "done":
            for name in counts:
                counts[name] += report.row[name]
        elif report.kind == "failed":
            failed.append((report.task, report.error))
        if watch is not None:
            watch(report)
    return failed


def _write_failures(said: Asking, failures: Iterable[tuple[Task, str]]) -> int:
    done = _done(said)
    count = 0
    with ResultWriter(said.results, Run(**said.run)) as writer:
        for task, error in failures:
            for question in task.data["questions"]:
                row = said.row(question)
                if row.key not in done:
                    writer.add(replace(row, error=scrub(error)))
                    count += 1
    return count


def _done(said: Asking) -> set[str]:
    return read_results(said.results).done if Path(said.results).is_dir() else set()


def read_asked(file: Path) -> Iterator[dict[str, Any]]:
    """Each question of the file as JSON values: id, text, options, video, subtitles, truth."""
    for number, one in enumerate(read_questions(file), 1):
        column = column_of(one.row, PATH_COLUMNS)
        name = one.row[column] if column else None
        if not isinstance(name, str) or not name.strip():
            raise InputError(f"{file}, question {number} names no video; expected a path or URL under `video`")
        beside = column_of(one.row, SUBTITLE_COLUMNS)
        words = one.row[beside] if beside else None
        question = one.question
        told = json.dumps([name, question.text, question.options])
        yield {
            "id": one.id or hashlib.blake2b(told.encode(), digest_size=8).hexdigest(),
            "text": question.text,
            "options": list(question.options),
            "video": resolve(name.strip(), file.parent),
            "subtitles": resolve(words, file.parent) if words else "",
            "truth": _truth(one, f"{file}, question {number}"),
        }


def _truth(one: QuestionRow, place: str) -> int | None:
    """The right option's position, from a letter, a position from 0, or the option's own words."""
    column = column_of(one.row, ANSWER_COLUMNS)
    value = one.row[column] if column else None
    if value in (None, "") or not one.question.options:
        return None
    return resolve_option(value, one.question.options, place)


def _grouped(questions: Iterable[dict[str, Any]], size: int) -> list[Task]:
    """Tasks of whole videos with at least `size` questions together; the last may have fewer."""
    by_video: dict[str, list[dict[str, Any]]] = {}
    for question in questions:
        by_video.setdefault(question["video"], []).append(question)
    tasks: list[Task] = []
    group: list[dict[str, Any]] = []
    for own in by_video.values():
        group += own
        if len(group) >= size:
            tasks.append(_task(group))
            group = []
    return [*tasks, _task(group)] if group else tasks


def _task(questions: list[dict[str, Any]]) -> Task:
    videos = list(dict.fromkeys(question["video"] for question in questions))
    more = f" and {len(videos) - 1} more" if len(videos) > 1 else ""
    return Task(videos[0] + more, {"questions": questions})


def _videos(task: Task) -> set[str]:
    return {question["video"] for question in task.data["questions"]}
