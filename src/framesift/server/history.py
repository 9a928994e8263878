"""What was asked about each video, and answered: one small file per video, so that nothing of it is lost.

Answers are written by threads of the server: they go on when a page is reloaded, and end when they are cancelled.
"""

import secrets
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Literal

from framesift._utils.records import read_record
from framesift.errors import FramesiftError
from framesift.library.files import LibraryVideo, public_message, read_json, write_json
from framesift.readers.stopping import StopEvent
from framesift.server.answering import Answering, answer_record
from framesift.server.models import AskRequest
from framesift.types import Answer

AnswerState = Literal["running", "done", "failed", "cancelled"]
MAX_QUESTIONS = 500  # of one video; the oldest are dropped
MAX_ANSWERS = 50  # of one question
SAVE_INTERVAL_S = 2.0  # of the text so far, which survives the server's death
INTERRUPTED = "The server was stopped during this answer."


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
    answers: tuple[KeptAnswer, ...] = ()

    def answers_by(self, methods: Sequence[str]) -> list[tuple[str, Answer]]:
        """The finished answers about the frames of these methods, each with its method."""
        return [
            (kept.method, read_record(Answer, kept.answer, "the answer"))
            for kept in self.answers
            if kept.answer is not None and kept.method in methods
        ]


class NothingKept(FramesiftError):
    """There is no such question or answer."""


class History:
    """The kept questions by video, the last one first."""

    def __init__(self, folder: Path, answering: Answering, changed: Callable[[], None]) -> None:
        self._folder, self._answering, self._changed = folder, answering, changed
        self.versions: dict[str, str] = {}  # by video: another one after each change, except that an answer grows
        self._lock = threading.RLock()
        self._kept: dict[str, list[KeptQuestion]] = {}
        self._running: dict[str, tuple[LibraryVideo, StopEvent]] = {}  # answers that are being written

    def questions(self, video: LibraryVideo) -> list[KeptQuestion]:
        with self._lock:
            if video.id not in self._kept:
                rows = read_json(self._path(video), tuple[KeptQuestion, ...]) or ()
                self._kept[video.id] = [_without_interrupted(row) for row in rows]
            return list(self._kept[video.id])

    def question(self, video: LibraryVideo, question_id: str) -> KeptQuestion:
        for question in self.questions(video):
            if question.id == question_id:
                return question
        raise NothingKept("there is no such question; it may have been deleted")

    def answer(self, video: LibraryVideo, question_id: str, answer_id: str) -> KeptAnswer:
        for answer in self.question(video, question_id).answers:
            if answer.id == answer_id:
                return answer
        raise NothingKept("there is no such answer; it may have been deleted")

    def keep(self, video: LibraryVideo, request: dict[str, Any]) -> KeptQuestion:
        """Keep a question, or note the settings of one that was asked before."""
        with self._lock:
            kept = self.questions(video)
            asked = ("question", "options")
            same = next((q for q in kept if all(q.request.get(name) == request.get(name) for name in asked)), None)
            question = same or KeptQuestion(secrets.token_hex(8), request, 0.0)
            question = replace(question, request=request, asked_s=time.time())
            others = [q for q in kept if q.id != question.id]
            self._kept[video.id] = [question, *others[: MAX_QUESTIONS - 1]]
            self._save(video)
            return question

    def rename(self, video: LibraryVideo, question_id: str, title: str) -> KeptQuestion:
        with self._lock:
            renamed = replace(self.question(video, question_id), title=title)
            self._replace(video, renamed)
            self._save(video)
            return renamed

    def delete(self, video: LibraryVideo, question_id: str) -> None:
        """Delete a question and its answers."""
        with self._lock:
            deleted = self.question(video, question_id)
            self._stop(*deleted.answers)
            self._kept[video.id].remove(deleted)
            self._save(video)

    def delete_all(self, video: LibraryVideo) -> None:
        """Delete what was asked about a video that is deleted."""
        with self._lock:
            for question in self.questions(video):
                self._stop(*question.answers)
            self._kept[video.id] = []
            self._path(video).unlink(missing_ok=True)
            self._note_change(video)

    def start_answer(self, video: LibraryVideo, question_id: str, request: AskRequest) -> KeptAnswer:
        """Ask a reader in the background; the answer that is kept meanwhile."""
        self._answering.readers.resolve(request.reader)
        answer, stopped = KeptAnswer(secrets.token_hex(8), request.method, request.reader, time.time()), StopEvent()
        with self._lock:
            self._put(video, question_id, answer)
            self._save(video)
            self._running[answer.id] = video, stopped
        work = (video, question_id, answer, request, stopped)
        threading.Thread(target=self._write_answer, args=work, name="framesift-answer", daemon=True).start()
        return answer

    def remove_answer(self, video: LibraryVideo, question_id: str, answer_id: str) -> None:
        """Cancel an answer that is being written, whose text so far is kept; delete any other."""
        with self._lock:
            question, answer = self.question(video, question_id), self.answer(video, question_id, answer_id)
            if answer.state == "running":
                self._stop(answer)  # its thread may take long to notice
                self._put(video, question_id, replace(answer, state="cancelled"))
            else:
                rest = tuple(one for one in question.answers if one.id != answer_id)
                self._replace(video, replace(question, answers=rest))
            self._save(video)

    def save_running(self) -> None:
        """Write the text of the running answers as far as it is there, before the server stops."""
        with self._lock, suppress(FramesiftError):
            for video, _ in self._running.values():
                self._write(video)

    def _write_answer(
        self, video: LibraryVideo, question_id: str, answer: KeptAnswer, request: AskRequest, stopped: StopEvent
    ) -> None:
        """Keep a reader's reply as it arrives, until it is complete or stopped."""
        saved_s = time.monotonic()
        try:
            for piece in self._answering.answer_in_pieces([video], request, stopped):
                if isinstance(piece, Answer):
                    answer = replace(answer, state="done", answer=answer_record(piece))
                    break
                answer = replace(answer, text=answer.text + piece)
                with self._lock:
                    if stopped.is_set():
                        return
                    self._put(video, question_id, answer)
                    if time.monotonic() - saved_s > SAVE_INTERVAL_S:
                        saved_s = time.monotonic()
                        self._write(video)
        except Exception as error:  # whatever a reader raises is the answer's error
            is_known = isinstance(error, FramesiftError)
            reason = str(error) if is_known else f"the reader failed ({type(error).__name__})"
            answer = replace(answer, state="failed", error=public_message(reason, video))
        with self._lock, suppress(FramesiftError):  # of a full disk
            if self._running.pop(answer.id, None) is not None:
                self._put(video, question_id, answer)
                self._save(video)

    def _stop(self, *answers: KeptAnswer) -> None:
        """Stop those of the answers that are being written."""
        for answer in answers:
            if answer.id in self._running:
                _, stopped = self._running.pop(answer.id)
                stopped.set()

    def _put(self, video: LibraryVideo, question_id: str, answer: KeptAnswer) -> None:
        """Add an answer to a question, or replace the one with its id."""
        question = self.question(video, question_id)
        answers = {one.id: one for one in question.answers} | {answer.id: answer}
        self._replace(video, replace(question, answers=tuple(answers.values())[-MAX_ANSWERS:]))

    def _replace(self, video: LibraryVideo, changed: KeptQuestion) -> None:
        self._kept[video.id] = [changed if one.id == changed.id else one for one in self.questions(video)]

    def _save(self, video: LibraryVideo) -> None:
        self._write(video)
        self._note_change(video)

    def _write(self, video: LibraryVideo) -> None:
        try:
            write_json(self._path(video), [asdict(question) for question in self._kept[video.id]])
        except OSError as error:
            raise FramesiftError(
                f"the question can't be kept ({error.strerror or error}); free some space on the server's disk"
            ) from None

    def _note_change(self, video: LibraryVideo) -> None:
        self.versions[video.id] = secrets.token_hex(4)
        self._changed()

    def _path(self, video: LibraryVideo) -> Path:
        return self._folder / f"{video.id}.json"


def _without_interrupted(question: KeptQuestion) -> KeptQuestion:
    """The question, with answers that an earlier process left unfinished marked as such."""
    answers = tuple(
        replace(one, state="failed", error=INTERRUPTED) if one.state == "running" else one for one in question.answers
    )
    return replace(question, answers=answers)
