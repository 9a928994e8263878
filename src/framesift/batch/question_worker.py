"""The questions on some videos, inside a worker: selected, put to a reader if there is one, and written down."""

import time
from collections import deque
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from framesift.batch.executors.base import Task
from framesift.batch.remote_files import local_file
from framesift.batch.results import Result, ResultWriter, Run, read_results
from framesift.errors import FramesiftError
from framesift.progress import Progress
from framesift.readers.address import public_address, scrub
from framesift.rendering.exhibit import Exhibit, events_for, exhibit
from framesift.store.events import AUTO, NONE, search_events
from framesift.store.indexing import Fps, Mode, index
from framesift.types import Answer, Event, Question, Selection, VideoIndex

DRAWN = ("aligned", "shuffled")  # the text modes that put words on frames


@dataclass(frozen=True)
class Asking:
    """How every question of a run is put. reader: empty if frames are selected and nobody is asked."""

    store: str
    results: str
    run: Mapping[str, Any]
    encoder: str
    fps: Fps = "auto"
    mode: Mode = "exact"
    device: str = "auto"
    method: str = "gcr"
    budget: int = 32
    options: Mapping[str, Any] = field(default_factory=dict)
    subtitles: str = AUTO
    reader: str = ""
    reader_options: Mapping[str, Any] = field(default_factory=dict)
    text_mode: str = "aligned"
    concurrency: int = 1

    def row(self, asked: Mapping[str, Any]) -> Result:
        """The row this question will have: all that identifies it, and nothing that came of it."""
        return Result(
            dataset=str(self.run["dataset"]),
            item_id=asked["id"],
            method=self.method,
            budget=self.budget,
            options=dict(self.options),
            text_mode=self.text_mode if self.reader else "none",
            reader=public_address(self.reader),
            prompt=str(self.reader_options.get("preset", "")),
            encoder=self.encoder,
            events="none" if self.subtitles == NONE else "subtitles",
            fps=self.fps if isinstance(self.fps, str) else f"{self.fps:g}",
            seed=int(self.options.get("seed", 0)),
            video_id=asked["video"],
            truth=asked["truth"],
        )


class AskWork:
    """Answers the questions of a few videos at a time, so that many are on their way to the reader at once."""

    def __init__(self, settings: dict[str, Any]) -> None:
        self.said = Asking(**settings)
        self._writer = ResultWriter(self.said.results, Run(**self.said.run))
        # A worker that was killed wrote down what it had finished.
        self._done = read_results(self.said.results).done

    def __call__(self, task: Task, progress: Progress) -> dict[str, Any]:
        questions = [q for q in task.data["questions"] if self.said.row(q).key not in self._done]
        by_video: dict[str, list[dict[str, Any]]] = {}
        for question in questions:
            by_video.setdefault(question["video"], []).append(question)
        failed = done = 0
        with ExitStack() as files:
            for row in self._rows(by_video, files, progress):
                self._writer.add(row)
                failed += bool(row.error)
                done += 1
                progress("questions", done, len(questions))
        return {"answered": done - failed, "failed": failed}

    def _rows(
        self, by_video: Mapping[str, list[dict[str, Any]]], files: ExitStack, progress: Progress
    ) -> Iterator[Result]:
        said = self.said
        if not said.reader:
            for video, questions in by_video.items():
                yield from (row for row, _ in self._shown(video, questions, files, progress))
            return
        from framesift.readers.base import ask_many

        waiting: deque[Result] = deque()
        broken: list[Result] = []

        def pairs() -> Iterator[tuple[Exhibit, Question | str | None]]:
            for video, questions in by_video.items():
                for (row, shown), asked in zip(self._shown(video, questions, files, progress), questions, strict=True):
                    if isinstance(shown, str):
                        broken.append(row)
                    else:
                        waiting.append(row)
                        yield shown, _question(asked)

        answers = ask_many(
            pairs(),
            reader=said.reader,
            text_mode=said.text_mode,
            concurrency=said.concurrency,
            on_error="keep",
            **said.reader_options,
        )
        for answer in answers:
            yield _answered(waiting.popleft(), answer)
        yield from broken

    def _shown(
        self, video: str, questions: list[dict[str, Any]], files: ExitStack, progress: Progress
    ) -> Iterator[tuple[Result, Exhibit | str]]:
        """Each question's row with its frames, and the exhibit; or what was wrong with the video."""
        from framesift.pipeline import select_many

        said = self.said
        started = time.perf_counter()
        done = 0
        try:
            file = files.enter_context(local_file(video, progress))
            made = index(
                file,
                said.encoder,
                said.fps,
                said.mode,
                progress=lambda done, total: progress("index", done, total),
                store=said.store,
                device=said.device,
            )
            events = self._events(file, questions[0]["subtitles"], files, progress)
            asked = [_question(question) for question in questions]
            began = time.perf_counter()
            selections = select_many(
                made,
                asked,
                events=events,
                budget=said.budget,
                method=said.method,
                store=said.store,
                **said.options,
            )
            shares = {"features": began - started, "select": time.perf_counter() - began}
            seconds = {stage: round(spent / len(questions), 6) for stage, spent in shares.items()}
            for question, selection in zip(questions, selections, strict=True):
                shown = exhibit(file, events_for(selection, events))
                row = self._row(question, made, selection, shown, seconds)
                done += 1
                yield row, shown
        except FramesiftError as error:
            for question in questions[done:]:
                yield replace(said.row(question), error=str(error)), str(error)

    def _row(
        self,
        question: Mapping[str, Any],
        made: VideoIndex,
        selection: Selection,
        shown: Exhibit,
        seconds: dict[str, float],
    ) -> Result:
        drawn = self.said.text_mode in DRAWN and bool(self.said.reader)
        return replace(
            self.said.row(question),
            times_s=tuple(float(time_s) for time_s in selection.times_s),
            frame_numbers=shown.numbers,
            rendered=sum(1 for frame in shown.frames if frame.text) if drawn else 0,
            candidates=len(made),
            looked_at=int(selection.trace.get("looked_at", 0) or 0),
            duration_s=made.info.duration_s,
            seconds=seconds,
        )

    def _events(self, file: Path, subtitles: str, files: ExitStack, progress: Progress) -> tuple[Event, ...]:
        if self.said.subtitles == NONE:
            return ()
        named = files.enter_context(local_file(subtitles, progress)) if subtitles else self.said.subtitles
        return search_events(file, subtitles=named, recognise_speech=False, store=self.said.store).events


def _question(asked: Mapping[str, Any]) -> Question:
    return Question(asked["text"], tuple(asked["options"]))


def _answered(row: Result, answer: Answer) -> Result:
    if answer.note and not answer.reader:
        return replace(row, error=scrub(answer.note))
    seconds = {**row.seconds, **({"read": answer.seconds} if answer.seconds is not None else {})}
    return replace(
        row, choice=answer.choice, parsed=answer.parsed, reply=answer.raw, tokens=answer.tokens, seconds=seconds
    )
