"""The lmms-eval plug-in: its chat models, with an exhibit in place of every video.

lmms-eval gives a chat model a function from a document to messages. Only that function is wrapped here; tasks, metrics,
generation settings and models are lmms-eval's own. `manifest` is what the entry-point group `lmms_eval.models` names;
the class it refers to is in `lmms_model`, which only lmms-eval imports.
"""

import json
import logging
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from pathlib import Path
from threading import Lock
from typing import Any

from framesift.batch.items import read_clip_events
from framesift.bench.plan import PAPER
from framesift.errors import InputError, OptionError
from framesift.pipeline.config import PipelineConfig
from framesift.pipeline.video import Video
from framesift.pipeline.video import open as open_video
from framesift.readers.prompts import Prompt, compose_frames
from framesift.rendering.exhibit import Exhibit
from framesift.text.questions import parse_question_row
from framesift.text.subtitles import find_sidecars
from framesift.types import Question, Window
from framesift.types.window import read_window
from framesift.video.frames import probe

NAME = "framesift"
AUTO, NONE = "auto", "none"
METHOD_PREFIX = "method_"
# Of PipelineConfig, and of the exhibitor; everything else is an argument of the inner model.
SETTINGS = (
    *("method", "budget", "text_mode", "size", "encoder", "query", "event_encoder", "visual_demand", "namer", "store"),
    *("blank_frames", "unchanged_frames"),
)
OWN_SETTINGS = ("subtitles", "speech", "times", "record")
CACHED_VIDEOS = 8  # with index and events, for further questions on the same video
# LongVideoBench's subtitles count from the original video of a clip; its documents give the clip's start.
CLIP_START, SUBTITLE_FILE = "starting_timestamp_for_subtitles", "subtitle_path"

ChatMessage = Mapping[str, Any]
ContentPart = dict[str, Any]
Document = Mapping[str, Any]
log = logging.getLogger(__name__)


def manifest() -> Any:
    """What lmms-eval registers: a chat model named framesift."""
    from lmms_eval.models.registry_v2 import ModelManifest

    return ModelManifest(model_id=NAME, chat_class_path="framesift.bench.lmms_model.Framesift")


@dataclass(frozen=True)
class Clip:
    """A video file, or the part of one in a window."""

    path: Path
    window: Window | None = None


@dataclass(frozen=True)
class Exhibitor:
    """Selects the frames that replace a video, by one configuration. Thread-safe.

    subtitles: "auto" (a file next to the video, or a track inside it), "none", or a directory with a file for each
    video. times: whether captions have the frames' times. record: a JSON Lines file to which every selection is
    appended.
    """

    config: PipelineConfig
    subtitles: str = AUTO
    times: bool = True
    record: str | None = None
    _lock: Lock = field(default_factory=Lock, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if self.subtitles not in (AUTO, NONE) and not Path(self.subtitles).is_dir():
            raise InputError(f"subtitles is {self.subtitles!r}; expected auto, none, or a directory of subtitle files")

    def __call__(self, clip: Clip, question: Question, doc: Document) -> Prompt:
        """The frames selected for the question, each with its caption, and the text that accompanies them."""
        # One thread at a time: two that meet a new video must not both decode it.
        with self._lock:
            video = self._prepare(clip.path, str(doc.get(SUBTITLE_FILE) or ""), float(doc.get(CLIP_START) or 0.0))
            (exhibit,) = video.select_many([question], windows=[clip.window])
            self._record(exhibit, question)
        return compose_frames(exhibit, self.config.reading.text_mode, time_format="clock" if self.times else "none")

    @cached_property
    def _prepare(self) -> Callable[[Path, str, float], Video]:
        return lru_cache(CACHED_VIDEOS)(self._prepare_uncached)

    def _prepare_uncached(self, path: Path, subtitle_name: str, clip_start_s: float) -> Video:
        """Prepare a video. subtitle_name: its subtitle file's name, if the document gives it."""
        file = self._subtitle_file(path, subtitle_name, clip_start_s)
        events = None
        if file is not None:
            events = read_clip_events(file, offset_s=-clip_start_s, duration_s=probe(path).duration_s)
        video = open_video(path, self.config, events=events)
        for warning in video.warnings:
            log.warning("%s: %s", path.name, warning)
        return video

    def _subtitle_file(self, path: Path, subtitle_name: str, clip_start_s: float) -> Path | None:
        """The file to read here: the pipeline supports neither other directories nor a clip's start."""
        if self.subtitles == NONE or (self.subtitles == AUTO and not clip_start_s):
            return None
        folder = path.parent if self.subtitles == AUTO else Path(self.subtitles)
        if subtitle_name and (folder / subtitle_name).is_file():
            return folder / subtitle_name
        files = find_sidecars(folder / path.name, None)
        if not files:
            log.info("%s: no subtitles in %s", path.name, folder)
        return files[0] if files else None

    def _record(self, exhibit: Exhibit, question: Question) -> None:
        times_s = exhibit.times_s
        log.info("%s: %d frames for %r", exhibit.video.name, len(times_s), question.text[:80])
        if self.record is None:
            return
        config = self.config
        row = {
            "video": os.fspath(exhibit.video),
            "question": question.text,
            "options": list(question.options),
            "method": exhibit.method,
            "budget": config.selection.most,
            "text_mode": config.reading.text_mode,
            "times_s": [float(time_s) for time_s in times_s],
            "frame_numbers": list(exhibit.numbers),
            "texts": [frame.text for frame in exhibit.frames],
            "warnings": list(exhibit.warnings),
        }
        with open(self.record, "a", encoding="utf-8") as file:
            file.write(json.dumps(row, ensure_ascii=False) + "\n")


MakePrompt = Callable[[Clip, Question, Document], Prompt]


def replace_videos(messages: Sequence[ChatMessage], doc: Document, make_prompt: MakePrompt) -> list[ChatMessage]:
    """Replace every video in the messages by frames, each after its caption; all else is unchanged."""
    if not any(part["type"] == "video" for message in messages for part in _parts(message)):
        return list(messages)
    question = question_of(messages, doc)

    def replaced(part: ContentPart) -> list[ContentPart]:
        if part["type"] != "video":
            return [part]
        pieces = make_prompt(clip_of(part), question, doc).interleaved()
        return [
            {"type": "text", "text": piece} if isinstance(piece, str) else {"type": "image", "url": piece}
            for piece in pieces
        ]

    return [
        {**message, "content": [piece for part in parts for piece in replaced(part)]}
        if (parts := _parts(message))
        else message
        for message in messages
    ]


def wrap(doc_to_messages: Callable[..., Any], make_prompt: MakePrompt) -> Callable[..., Any]:
    """Wrap lmms-eval's function from a document to messages, so that videos are replaced.

    In a multi-round task it is called with keywords, and returns a tuple that begins with the messages.
    """

    def messages_of(doc: Document, **rounds: Any) -> Any:
        result = doc_to_messages(doc, **rounds)
        if isinstance(result, tuple):
            messages, *rest = result
            return (None if messages is None else replace_videos(messages, doc, make_prompt), *rest)
        return replace_videos(result, doc, make_prompt)

    return messages_of


def question_of(messages: Sequence[ChatMessage], doc: Document) -> Question:
    """The document's own question if the messages contain it, else the text of the last user message.

    A document separates the question from the task's instructions, which would distort the selection. Options count
    only if the messages contain them: frames are selected by nothing that the model does not see.
    """
    visible = _normalise(" ".join(_text_of(message) for message in messages))
    try:
        question = parse_question_row(dict(doc), "the document").question
    except InputError:
        question = None
    if question is not None and _normalise(question.text) in visible:
        if all(_normalise(option) in visible for option in question.valid_options):
            return question
        return Question(question.text, ())
    text = next(filter(None, (_text_of(each) for each in reversed(messages) if each.get("role") == "user")), "")
    if not text:
        raise InputError("the messages have a video and no text; expected a question to select frames by")
    parsed = Question(text)
    if not parsed.options:
        return parsed
    # Lines after the last option are the task's instruction.
    return replace(parsed, options=(*parsed.options[:-1], parsed.options[-1].splitlines()[0]))


def clip_of(part: ContentPart) -> Clip:
    """The file of a video part: a path, a file:// URL, or lmms-eval's object with a start and an end."""
    url = part["url"]
    given: Mapping[str, Any] = url if isinstance(url, Mapping) else {}
    if given:
        url = given.get("path") or given.get("url") or given.get("video")
    start = given.get("video_start", part.get("start_time"))
    end = given.get("video_end", part.get("end_time"))
    if isinstance(url, str | os.PathLike):
        path = Path(os.fspath(url).removeprefix("file://"))
        if path.is_file():
            return Clip(path, read_window(start, end))
    raise InputError(f"a video of the task is {str(url)[:200]!r}; expected a file on this machine")


def parse_arguments(arguments: Mapping[str, Any]) -> tuple[str, Exhibitor, dict[str, Any]]:
    """Split `--model_args` into the inner model's name, the exhibitor, and the inner model's own arguments."""
    rest = dict(arguments)
    inner = rest.pop("inner", None)
    if not isinstance(inner, str) or not inner or inner == NAME:
        raise OptionError(
            f"inner is {inner!r}; expected the name of a chat model of lmms-eval: --model_args inner=qwen2_5_vl,…"
        )
    settings = {name: rest.pop(name) for name in (*SETTINGS, *OWN_SETTINGS) if name in rest}
    own = [name for name in rest if name.startswith(METHOD_PREFIX)]
    options = {name.removeprefix(METHOD_PREFIX): rest.pop(name) for name in own}
    return inner, make_exhibitor(**settings, options=options), rest


def make_exhibitor(**settings: Any) -> Exhibitor:
    """The exhibitor with these settings: of PipelineConfig, by default the paper's, or its own.

    speech: recognise it if there is no other text.
    """
    own = {name: settings.pop(name) for name in OWN_SETTINGS if name in settings}
    speech = AUTO if own.pop("speech", False) else NONE
    text = {"subtitles": AUTO if own.get("subtitles", AUTO) == AUTO else NONE, "speech": speech}
    paper = {name: PAPER[name] for name in ("blank_frames", "unchanged_frames")}
    return Exhibitor(PipelineConfig(**{"method": "gcr", **paper, **settings, **text}), **own)


def _parts(message: ChatMessage) -> list[ContentPart]:
    content = message.get("content")
    return content if isinstance(content, list) else []


def _text_of(message: ChatMessage) -> str:
    texts = [part["text"] for part in _parts(message) if part["type"] == "text"]
    content = message.get("content")
    return "\n".join([content] if isinstance(content, str) else texts).strip()


def _normalise(text: str) -> str:
    return " ".join(text.split())
