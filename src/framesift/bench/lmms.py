"""lmms-eval's chat models, shown our exhibit where a task has a video.

lmms-eval gives a chat model a function from a document to messages. That function is all that is wrapped here: tasks,
metrics, generation settings and the models themselves stay its own. `manifest` is what the entry-point group
`lmms_eval.models` names; the class it points to is in `lmms_model`, which only lmms-eval imports.
"""

import json
import logging
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property, lru_cache
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any

import numpy as np

from framesift.errors import InputError, OptionError
from framesift.text.questions import parse_question, parse_question_row
from framesift.types import Event, Question, VideoIndex

if TYPE_CHECKING:
    from framesift.encoders.base import Encoder
    from framesift.readers.prompts import Prompt
    from framesift.rendering.exhibit import Exhibit

NAME = "framesift"
AUTO, NONE = "auto", "none"
METHOD_PREFIX = "method_"
VIDEOS_KEPT = 8  # with index and events, for the next question on the same video
# LongVideoBench's subtitles count from the film that its clip was cut from; its documents say where the clip begins.
CLIP_START, SUBTITLE_FILE = "starting_timestamp_for_subtitles", "subtitle_path"

ChatMessage = Mapping[str, Any]
ContentPart = dict[str, Any]
Document = Mapping[str, Any]
log = logging.getLogger(__name__)


def manifest() -> Any:
    """What lmms-eval registers: a chat model called framesift."""
    from lmms_eval.models.registry_v2 import ModelManifest

    return ModelManifest(model_id=NAME, chat_class_path="framesift.bench.lmms_model.Framesift")


@dataclass(frozen=True)
class Clip:
    """A video file, or a stretch of one, in seconds."""

    path: Path
    start_s: float | None = None
    end_s: float | None = None


@dataclass(frozen=True)
class Exhibitor:
    """Chooses what stands in a video's place. May be called from several threads.

    subtitles: "auto" (a file beside the video, or a track inside it), "none", or a folder with a file for each video.
    speech: recognise it where there is no other text. options: of the method. record: a JSON Lines file to which every
    choice is added. The rest as in `select`, `index` and `exhibit`.
    """

    method: str = "gcr"
    budget: int = 32
    text_mode: str = "aligned"
    times: bool = True
    size: int | None = None
    subtitles: str = AUTO
    speech: bool = False
    encoder: "str | Encoder" = "auto"
    event_encoder: str | None = None
    store: str | None = None
    record: str | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    _choosing: Lock = field(default_factory=Lock, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        from framesift.readers.prompts import check_text_mode
        from framesift.selection.registry import check_budget, check_options, get_selector

        check_budget(self.budget)
        check_text_mode(self.text_mode)
        check_options(self.method, self.options, get_selector(self.method).options)
        if self.subtitles not in (AUTO, NONE) and not Path(self.subtitles).is_dir():
            raise InputError(f"subtitles is {self.subtitles!r}; expected auto, none, or a folder of subtitle files")

    def __call__(self, clip: Clip, question: Question, doc: Document) -> "Prompt":
        """The frames chosen for the question, each with the line before it, and what text goes with them."""
        from framesift.readers.prompts import compose_frames

        # Indexing and encoding take their turn: two threads that meet a new video must not both decode it.
        with self._choosing:
            chosen = self._choose(clip, question, doc)
            self._note(chosen, question)
        return compose_frames(chosen, self.text_mode, times=self.times)

    def _choose(self, clip: Clip, question: Question, doc: Document) -> "Exhibit":
        from framesift.pipeline import select
        from framesift.rendering.exhibit import events_for, exhibit

        start = doc.get(CLIP_START)
        index, events = self._known(clip.path, str(doc.get(SUBTITLE_FILE) or ""), float(start or 0.0))
        index, events = within(clip, index, events)
        selection = select(
            index,
            question,
            events=events,
            budget=self.budget,
            method=self.method,
            encoder=None if isinstance(self.encoder, str) else self.encoder,
            event_encoder=self.event_encoder,
            store=self.store,
            **self.options,
        )
        return exhibit(clip.path, events_for(selection, events), self.size)

    @cached_property
    def _known(self) -> "Callable[[Path, str, float], tuple[VideoIndex, tuple[Event, ...]]]":
        return lru_cache(VIDEOS_KEPT)(self._look)

    def _look(self, video: Path, named: str, clip_start_s: float) -> tuple[VideoIndex, tuple[Event, ...]]:
        """The video's index and events. named: its subtitle file's name, where the document tells it."""
        from framesift.batch.items import read_clip_events
        from framesift.store.events import find_events
        from framesift.store.indexing import index

        indexed = index(video, self.encoder, store=self.store)
        file = self._subtitle_file(video, named, clip_start_s)
        if file is not None:
            length = indexed.info.duration_s
            return indexed, tuple(read_clip_events(file, offset_s=-clip_start_s, duration_s=length))
        elsewhere = AUTO if self.subtitles == AUTO else NONE
        found = find_events(video, subtitles=elsewhere, recognise_speech=self.speech, store=self.store)
        return indexed, tuple(found)

    def _subtitle_file(self, video: Path, named: str, clip_start_s: float) -> Path | None:
        """The file to read here and not by `find_events`, which knows neither other folders nor a clip's start."""
        from framesift.text.subtitles import find_sidecars

        if self.subtitles == NONE or (self.subtitles == AUTO and not clip_start_s):
            return None
        folder = video.parent if self.subtitles == AUTO else Path(self.subtitles)
        if named and (folder / named).is_file():
            return folder / named
        files = find_sidecars(folder / video.name)
        if not files:
            log.info("%s: %s holds no subtitles for it", video.name, folder)
        return files[0] if files else None

    def _note(self, chosen: "Exhibit", question: Question) -> None:
        times = chosen.selection.times_s
        log.info("%s: %d frames for %r", chosen.video.name, len(times), question.text[:80])
        if self.record is None:
            return
        row = {
            "video": os.fspath(chosen.video),
            "question": question.text,
            "options": list(question.options),
            "method": self.method,
            "budget": self.budget,
            "text_mode": self.text_mode,
            "times_s": [float(time_s) for time_s in times],
            "frame_numbers": list(chosen.numbers),
            "texts": [frame.text for frame in chosen.frames],
        }
        with open(self.record, "a", encoding="utf-8") as file:
            file.write(json.dumps(row, ensure_ascii=False) + "\n")


Show = Callable[[Clip, Question, Document], "Prompt"]


def with_exhibits(messages: Sequence[ChatMessage], doc: Document, show: Show) -> list[ChatMessage]:
    """The messages with frames, each after its line, in place of every video; all else as it was."""
    if not any(part["type"] == "video" for message in messages for part in _parts(message)):
        return list(messages)
    question = question_of(messages, doc)

    def shown(part: ContentPart) -> list[ContentPart]:
        if part["type"] != "video":
            return [part]
        pieces = show(clip_of(part), question, doc).interleaved()
        return [
            {"type": "text", "text": piece} if isinstance(piece, str) else {"type": "image", "url": piece}
            for piece in pieces
        ]

    return [
        {**message, "content": [piece for part in _parts(message) for piece in shown(part)]}
        if _parts(message)
        else message
        for message in messages
    ]


def wrapped(doc_to_messages: Callable[..., Any], show: Show) -> Callable[..., Any]:
    """lmms-eval's function from a document to messages, with exhibits in them.

    In a talk of several rounds it is asked for each with keywords, and gives a tuple that begins with the messages.
    """

    def messages_of(doc: Document, **rounds: Any) -> Any:
        made = doc_to_messages(doc, **rounds)
        if isinstance(made, tuple):
            messages, *rest = made
            return (None if messages is None else with_exhibits(messages, doc, show), *rest)
        return with_exhibits(made, doc, show)

    return messages_of


def question_of(messages: Sequence[ChatMessage], doc: Document) -> Question:
    """What is asked: the document's own question, if the messages hold its words, else those of the last user message.

    A document keeps the question apart from the task's instructions, which would only blur what frames are chosen by.
    Options count only if the messages hold them: frames are chosen by nothing that the model isn't told.
    """
    told = _squeezed(" ".join(_words(message) for message in messages))
    try:
        question = parse_question_row(dict(doc), "the document").question
    except InputError:
        question = None
    if question is not None and _squeezed(question.text) in told:
        if all(_squeezed(option) in told for option in question.valid_options):
            return question
        return Question(question.text)
    asked = next((words for message in reversed(messages) if (words := _words(message)) and _is_user(message)), "")
    if not asked:
        raise InputError("the messages hold a video and no words; expected a question to choose frames by")
    parsed = parse_question(asked)
    if not parsed.options:
        return parsed
    # What stands below the last option is the task's instruction.
    return replace(parsed, options=(*parsed.options[:-1], parsed.options[-1].splitlines()[0]))


def clip_of(part: ContentPart) -> Clip:
    """The file a video part names: a path, a file:// address, or lmms-eval's object with a stretch of time."""
    url = part["url"]
    given: Mapping[str, Any] = url if isinstance(url, Mapping) else {}
    if given:
        url = given.get("path") or given.get("url") or given.get("video")
    start = given.get("video_start", part.get("start_time"))
    end = given.get("video_end", part.get("end_time"))
    if isinstance(url, str | os.PathLike):
        path = Path(os.fspath(url).removeprefix("file://"))
        if path.is_file():
            return Clip(path, None if start is None else float(start), None if end is None else float(end))
    raise InputError(f"a video of the task is {str(url)[:200]!r}; expected a file on this machine")


def within(clip: Clip, index: VideoIndex, events: Sequence[Event]) -> tuple[VideoIndex, tuple[Event, ...]]:
    """The candidates and events of the clip's stretch, on the video's own clock."""
    if clip.start_s is None and clip.end_s is None:
        return index, tuple(events)
    start_s = clip.start_s or 0.0
    end_s = index.info.duration_s if clip.end_s is None else clip.end_s
    inside = np.flatnonzero((index.times_s >= start_s) & (index.times_s <= end_s))
    if not len(inside):
        raise InputError(
            f"{clip.path.name} has no candidate between {start_s} and {end_s} s; expected a longer stretch"
        )
    kept = tuple(event for event in events if event.start_s <= end_s and event.end_s >= start_s)
    return replace(index, times_s=index.times_s[inside], frames=index.frames[inside]), kept


def parse_arguments(given: Mapping[str, Any]) -> tuple[str, Exhibitor, dict[str, Any]]:
    """The inner model's name, the exhibitor, and the inner model's own arguments, of what `--model_args` held."""
    rest = dict(given)
    inner = rest.pop("inner", None)
    if not isinstance(inner, str) or not inner or inner == NAME:
        raise OptionError(
            f"inner is {inner!r}; expected the name of a chat model of lmms-eval: --model_args inner=qwen2_5_vl,…"
        )
    own = {f.name for f in fields(Exhibitor) if f.init and f.name != "options"}
    settings = {name: rest.pop(name) for name in own & set(rest)}
    options = {
        name.removeprefix(METHOD_PREFIX): rest.pop(name) for name in list(rest) if name.startswith(METHOD_PREFIX)
    }
    return inner, Exhibitor(**settings, options=options), rest


def _parts(message: ChatMessage) -> list[ContentPart]:
    content = message.get("content")
    return content if isinstance(content, list) else []


def _words(message: ChatMessage) -> str:
    texts = [part["text"] for part in _parts(message) if part["type"] == "text"]
    content = message.get("content")
    return "\n".join([content] if isinstance(content, str) else texts).strip()


def _is_user(message: ChatMessage) -> bool:
    return message.get("role") == "user"


def _squeezed(text: str) -> str:
    return " ".join(text.split())
