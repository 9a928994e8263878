"""What was asked about each video, and answered: one small file per video, so that nothing of it is lost."""

import logging
import secrets
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import Any, Literal

from framesift._utils.json import load_json
from framesift._utils.records import read_value
from framesift.errors import FramesiftError, InputError
from framesift.library.files import LibraryVideo, write_json
from framesift.types import Answer

AnswerState = Literal["running", "done", "failed", "cancelled"]
MAX_QUESTIONS = 500  # of one video; the oldest are dropped
MAX_ANSWERS = 50  # of one question
INTERRUPTED = "The server was stopped during this answer."

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class KeptAnswer:
    """A reader's answer about the frames of one method. text: the reply so far; answer: the finished record."""

    id: str
    method: str
    reader: str
    asked_s: float
    state: AnswerState = "running"
    text: str = ""
    error: str = ""
    answer: dict[str, Any] | None = None


@dataclass(frozen=True)
class KeptQuestion:
    """A question with the settings it was last asked with. title: the name somebody gave it."""

    id: str
    request: dict[str, Any]
    asked_s: float
    title: str = ""
    answers: tuple[KeptAnswer, ...] = field(default=())

    def answers_by(self, methods: Sequence[str]) -> list[tuple[str, Answer]]:
        """The finished answers about the frames of these methods, each with its method."""
        names = {one.name for one in fields(Answer)}
        return [
            (kept.method, Answer(**{name: value for name, value in kept.answer.items() if name in names}))
            for kept in self.answers
            if kept.answer is not None and kept.method in methods
        ]


class NothingKept(FramesiftError):
    """There is no such question or answer."""


class History:
    """The kept questions by video, the last one first. Every change is written before it is reported."""

    def __init__(self, folder: Path, changed: Callable[[], None] = lambda: None) -> None:
        self._folder, self._changed = folder, changed
        self.versions: dict[str, str] = {}  # by video: another one after each change, except that an answer grows
        self._lock = threading.RLock()
        self._running: set[str] = set()  # answers of this process that are being written

    def questions(self, video: LibraryVideo) -> list[KeptQuestion]:
        with self._lock:
            return [self._without_interrupted(question) for question in self._read(video)]

    def question(self, video: LibraryVideo, question_id: str) -> KeptQuestion:
        for question in self.questions(video):
            if question.id == question_id:
                return question
        raise NothingKept("there is no such question; it may have been deleted")

    def keep(self, video: LibraryVideo, request: dict[str, Any]) -> KeptQuestion:
        """Keep a question, or note the settings of one that was asked before."""
        with self._lock:
            kept = self.questions(video)
            asked = ("question", "options")
            same = next((q for q in kept if all(q.request.get(name) == request.get(name) for name in asked)), None)
            if same is None:
                question = KeptQuestion(secrets.token_hex(8), request, time.time())
            else:
                question = replace(same, request=request, asked_s=time.time())
            self._write(video, [question, *(q for q in kept if q.id != question.id)])
            return question

    def rename(self, video: LibraryVideo, question_id: str, title: str) -> KeptQuestion:
        return self._change(video, question_id, lambda question: replace(question, title=title))

    def delete(self, video: LibraryVideo, question_id: str) -> None:
        with self._lock:
            kept = self.questions(video)
            if all(question.id != question_id for question in kept):
                raise NothingKept("there is no such question; it may have been deleted")
            self._write(video, [question for question in kept if question.id != question_id])

    def delete_all(self, video: LibraryVideo) -> None:
        """Delete what was asked about a video that is deleted."""
        with self._lock:
            self._path(video).unlink(missing_ok=True)
            self._note_change(video)

    def put_answer(self, video: LibraryVideo, question_id: str, answer: KeptAnswer) -> None:
        """Add an answer to a question, or replace the one with its id."""
        with self._lock:
            (self._running.add if answer.state == "running" else self._running.discard)(answer.id)

            def change(question: KeptQuestion) -> KeptQuestion:
                known = {one.id: one for one in question.answers} | {answer.id: answer}
                return replace(question, answers=tuple(known.values())[-MAX_ANSWERS:])

            before = {one.id: one.state for one in self.question(video, question_id).answers}
            self._change(video, question_id, change, is_growth=before.get(answer.id) == answer.state)

    def delete_answer(self, video: LibraryVideo, question_id: str, answer_id: str) -> None:
        def change(question: KeptQuestion) -> KeptQuestion:
            return replace(question, answers=tuple(one for one in question.answers if one.id != answer_id))

        self._change(video, question_id, change)

    def _change(
        self,
        video: LibraryVideo,
        question_id: str,
        change: Callable[[KeptQuestion], KeptQuestion],
        *,
        is_growth: bool = False,
    ) -> KeptQuestion:
        with self._lock:
            changed = change(self.question(video, question_id))
            kept = [changed if q.id == question_id else q for q in self.questions(video)]
            self._write(video, kept, is_growth=is_growth)
            return changed

    def _note_change(self, video: LibraryVideo) -> None:
        self.versions[video.id] = secrets.token_hex(4)
        self._changed()

    def _without_interrupted(self, question: KeptQuestion) -> KeptQuestion:
        """The question, with answers that an earlier process left unfinished marked as such."""
        answers = tuple(
            replace(one, state="failed", error=INTERRUPTED)
            if one.state == "running" and one.id not in self._running
            else one
            for one in question.answers
        )
        return replace(question, answers=answers)

    def _path(self, video: LibraryVideo) -> Path:
        return self._folder / f"{video.id}.json"

    def _read(self, video: LibraryVideo) -> list[KeptQuestion]:
        path = self._path(video)
        try:
            return list(
                read_value(tuple[KeptQuestion, ...], load_json(path.read_bytes(), path.name, "a list"), path.name)
            )
        except FileNotFoundError:
            return []
        except (OSError, InputError) as error:
            log.warning("the history %s can't be read (%s); it is kept as .damaged", path, error)
            try:
                path.replace(path.with_suffix(".damaged"))
            except OSError:
                log.warning("the history %s can't be renamed", path)
            return []

    def _write(self, video: LibraryVideo, questions: list[KeptQuestion], *, is_growth: bool = False) -> None:
        try:
            write_json(self._path(video), [asdict(question) for question in questions[:MAX_QUESTIONS]])
            if not is_growth:
                self._note_change(video)
        except OSError as error:
            raise FramesiftError(
                f"the question can't be kept ({error.strerror or error}); free some space on the server's disk"
            ) from None
