"""Answers of readers as tasks of the server: they go on when a page is reloaded, and end when they are cancelled."""

import secrets
import threading
import time
from contextlib import suppress
from dataclasses import dataclass, field, replace

from framesift.errors import FramesiftError
from framesift.library.files import LibraryVideo, public_message
from framesift.readers.stopping import StopEvent
from framesift.server.answering import Abandoned, Answering
from framesift.server.frame_images import ServerBusy
from framesift.server.history import History, KeptAnswer, KeptQuestion, NothingKept
from framesift.server.models import AskRequest

SAVE_INTERVAL_S = 2.0  # of the text so far, which survives the server's death
MAX_TASKS = 8


@dataclass
class _RunningAnswer:
    """A running answer."""

    video: LibraryVideo
    question_id: str
    answer: KeptAnswer
    cancelled: StopEvent = field(default_factory=StopEvent)
    lock: threading.Lock = field(default_factory=threading.Lock)


class AnswerTasks:
    """Starts, follows and cancels answers; their text is kept in the history while it grows."""

    def __init__(self, answering: Answering, history: History) -> None:
        self._answering, self._history = answering, history
        self._tasks: dict[str, _RunningAnswer] = {}
        self._lock = threading.Lock()

    def start(self, video: LibraryVideo, question: KeptQuestion, request: AskRequest) -> KeptAnswer:
        """Ask a reader in the background; the answer that is kept meanwhile."""
        self._answering.readers.resolve(request.reader)
        answer = KeptAnswer(secrets.token_hex(8), request.method, request.reader, time.time())
        task = _RunningAnswer(video, question.id, answer)
        with self._lock:
            if len(self._tasks) >= MAX_TASKS:
                raise ServerBusy(f"{MAX_TASKS} answers are being written already; try again when one is done")
            self._tasks[answer.id] = task
        try:
            self._history.put_answer(video, question.id, answer)
        except FramesiftError:
            with self._lock:
                del self._tasks[answer.id]
            raise
        threading.Thread(target=self._run, args=(task, request), name="framesift-answer", daemon=True).start()
        return answer

    def cancel(self, answer_id: str) -> bool:
        """Stop a running answer; its text so far is kept. False if it is not running."""
        with self._lock:
            task = self._tasks.get(answer_id)
        if task is None:
            return False
        self._set(task, state="cancelled")
        task.cancelled.set()
        self._finish(task)  # now: a reader on this machine may take long to notice
        return True

    def current(self, answer_id: str) -> KeptAnswer | None:
        """A running answer as far as it is written; None for any other."""
        with self._lock:
            task = self._tasks.get(answer_id)
        return None if task is None else task.answer

    def save(self) -> None:
        """Keep the text of the running answers as far as it is written, before the server stops."""
        with self._lock:
            tasks = list(self._tasks.values())
        for task in tasks:
            with suppress(FramesiftError):
                self._history.put_answer(task.video, task.question_id, task.answer)

    def _run(self, task: _RunningAnswer, request: AskRequest) -> None:
        video = task.video
        saved_s, text = time.monotonic(), ""
        try:
            for piece in self._answering.answer_in_pieces(video, request, task.cancelled):
                if isinstance(piece, dict):
                    self._set(task, state="done", answer=piece)
                    break
                text += piece
                self._set(task, text=text)
                if time.monotonic() - saved_s > SAVE_INTERVAL_S:
                    saved_s = time.monotonic()
                    self._history.put_answer(video, task.question_id, task.answer)
        except Abandoned:
            self._set(task, state="cancelled")
        except NothingKept:  # the question was deleted meanwhile
            task.cancelled.set()
        except Exception as error:  # whatever a reader raises is the answer's error
            is_known = isinstance(error, FramesiftError)
            reason = str(error) if is_known else f"the reader failed ({type(error).__name__})"
            self._set(task, state="failed", error=public_message(reason, video))
        finally:
            self._finish(task)

    def _finish(self, task: _RunningAnswer) -> None:
        """Keep the answer as it ended; once, because a cancelled one may have been deleted since."""
        with self._lock:
            is_first = self._tasks.pop(task.answer.id, None) is not None
        if is_first:
            with suppress(FramesiftError):  # the question was deleted meanwhile
                self._history.put_answer(task.video, task.question_id, task.answer)

    def _set(self, task: _RunningAnswer, **changes: object) -> None:
        with task.lock:
            if task.answer.state == "running":
                task.answer = replace(task.answer, **changes)  # type: ignore[arg-type]  # its own fields
