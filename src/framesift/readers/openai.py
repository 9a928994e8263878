"""The reader for OpenAI-type servers (vLLM, SGLang, llama.cpp, Ollama, a paid API), through the openai package.

Keys and images are never logged; prompts and replies only with `log_replies`.
"""

import logging
import os
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal, get_args

from framesift._utils.addresses import IpRule
from framesift._utils.credentials import KEY_VARIABLE, parse_address
from framesift.errors import InputError, OptionError, ReaderError
from framesift.readers import failures
from framesift.readers.answers import answer_from_reply
from framesift.readers.connection import RefusedRequest, ServerConnection
from framesift.readers.message_parts import IdField, encode_jpeg, picture_parts, video_options, video_parts
from framesift.readers.parsing import readable_pieces
from framesift.readers.prompts import Prompt, compose
from framesift.readers.time_formats import (
    TimeFormat,
    check_time_format,
    native_time_format,
    resolve_time_format,
    writes_video_marks,
)
from framesift.types import Answer, Question

if TYPE_CHECKING:
    from PIL.Image import Image

    from framesift.rendering.exhibit import Exhibit

FramesAs = Literal["video", "pictures"]
OPENAI_SERVER = "https://api.openai.com"
OPENAI_KEY_VARIABLE = "OPENAI_API_KEY"
LETTER_TOKENS = 32  # lmms-eval's limit for LongVideoBench
FREE_TOKENS = 512
# Optional parts of a request, which are not sent again after a server has named them in a refusal.
DROPPABLE = ("max_tokens", "temperature", "uuid", "content_hash", "stream_options")

_VARIABLE = re.compile(r"[A-Z_][A-Z0-9_]*")
log = logging.getLogger(__name__)


@dataclass(eq=False, repr=False)
class OpenAIReader:
    """Asks a model on the server at `address`, "http://host:8000/v1" or "http://host:8000/v1#model".

    model: may also follow "#"; not needed if the server has only one. key_variable: the environment variable with the
    key; by default FRAMESIFT_API_KEY, and only for api.openai.com also OPENAI_API_KEY. quality, longest_side: of the
    JPEG images (1 to 95; pixels, None for the original size). timeout_s: per attempt; retries: after 429, 5xx or a lost
    connection, with increasing delay. max_tokens: of the reply; by default 32 with options, 512 without. frames_as:
    "video", one video with the frames' exact times, where the server takes it (vLLM 0.20 or later), else as with
    "pictures", images each after its own time. picture_ids: send vLLM's `uuid` or SGLang's `content_hash` with each
    image, so that it is processed once; None sends it to these servers only. preset: see `prompts`; times: whether the
    frames' times are sent; time_format: see `time_formats`. concurrency: questions in flight at once. is_allowed:
    whether an IP address may be connected to, directly and without a proxy; None: all, by a proxy if one is set.
    """

    address: str
    model: str = ""
    key_variable: str = ""
    quality: int = 90
    longest_side: int | None = 1024
    timeout_s: float = 300.0
    retries: int = 3
    max_tokens: int | None = None
    temperature: float | None = 0.0
    frames_as: FramesAs = "video"
    picture_ids: bool | None = None
    preset: str = "longvideobench"
    times: bool = True
    time_format: TimeFormat = "auto"
    concurrency: int = 8
    log_replies: bool = False
    is_allowed: IpRule | None = None
    _rejected: set[str] = field(default_factory=set, init=False, repr=False)  # what this server does not accept
    _logged: set[str] = field(default_factory=set, init=False, repr=False)

    def __post_init__(self) -> None:
        parts = parse_address(self.address)
        if parts is None or parts.url == parts.server:
            raise InputError(f"the reader is {self.address!r}; expected an address like http://host:8000/v1")
        if not 1 <= self.quality <= 95:
            raise OptionError(f"quality is {self.quality!r}; expected a JPEG quality from 1 to 95")
        if self.longest_side is not None and self.longest_side < 28:
            raise OptionError(f"longest_side is {self.longest_side!r}; expected at least 28 pixels, or None")
        if self.frames_as not in get_args(FramesAs):
            raise OptionError(f"frames_as is {self.frames_as!r}; expected {' or '.join(get_args(FramesAs))}")
        check_time_format(self.time_format)
        self.model = self.model or parts.model
        self._server = parts.server
        if not self.key_variable:
            is_openai = parts.server == OPENAI_SERVER and KEY_VARIABLE not in os.environ
            self.key_variable = OPENAI_KEY_VARIABLE if is_openai else KEY_VARIABLE
        # The value may be the key itself, so that it is not quoted.
        if self.key_variable not in os.environ and not _VARIABLE.fullmatch(self.key_variable):
            raise OptionError(
                "key_variable is not the name of an environment variable; expected a name such as "
                f"{KEY_VARIABLE}, and the key as the value of that variable"
            )
        self._connection = ServerConnection(
            parts, self.key_variable, self.timeout_s, self.retries, self.log_replies, self.is_allowed
        )

    @property
    def name(self) -> str:
        return f"{self._server}#{self.model}"

    def __repr__(self) -> str:
        return f"OpenAIReader({self.name!r})"

    def check(self) -> None:
        """Check that the server can be reached, accepts the key, and has a model to ask."""
        self._resolve_model(retries=0)

    def answer(self, exhibit: "Exhibit", question: Question, text_mode: str = "aligned") -> Answer:
        started = time.perf_counter()
        asked = self._compose(exhibit, question, text_mode)
        reply, frames_as = self._send(asked.prompt, asked.limit, video=asked.video)
        choice = reply.choices[0]
        tokens = reply.usage.total_tokens if reply.usage else None
        answer = self._to_answer(asked, choice.message.content or "", choice.finish_reason)
        return replace(answer, tokens=tokens, seconds=time.perf_counter() - started, frames_as=frames_as)

    def stream(self, exhibit: "Exhibit", question: Question, text_mode: str = "aligned") -> Iterator[str | Answer]:
        """Yield the reply in pieces as it arrives, without the model's reasoning, then the Answer.

        Closing the iterator closes the connection, after which the server stops.
        """
        started = time.perf_counter()
        asked = self._compose(exhibit, question, text_mode)
        chunks, frames_as = self._send(asked.prompt, asked.limit, video=asked.video, stream=True)
        reply: list[str] = []
        finish, tokens, is_stream = None, None, False

        def pieces() -> Iterator[str]:
            nonlocal finish, tokens, is_stream
            for chunk in self._connection.read_stream(chunks, self._request_info(asked.prompt)):
                is_stream = True
                usage = getattr(chunk, "usage", None)
                tokens = usage.total_tokens if usage else tokens
                for choice in (getattr(chunk, "choices", None) or [])[:1]:
                    finish = choice.finish_reason or finish
                    if choice.delta.content:
                        reply.append(choice.delta.content)
                        yield reply[-1]

        try:
            yield from readable_pieces(pieces())
        except RefusedRequest as refused:
            raise self._refusal(refused, asked.prompt) from None
        if not is_stream:  # of a server that ignores the request for a stream
            yield self.answer(exhibit, question, text_mode)
            return
        answer = self._to_answer(asked, "".join(reply), finish)
        if not finish:
            answer = replace(answer, note=failures.incomplete(self._server))
        yield replace(answer, tokens=tokens, seconds=time.perf_counter() - started, frames_as=frames_as)

    def complete(self, text: str) -> str:
        """Return the model's reply to a text-only prompt."""
        return self.reply([text])

    def reply(self, parts: Sequence["str | Image"]) -> str:
        """Return the model's reply to one message of texts and images, in this order."""
        self._resolve_model()
        captions, images, text = [], [], ""
        for part in parts:
            if isinstance(part, str):
                text = f"{text}\n{part}" if text else part
            else:
                captions.append(text)
                images.append(part)
                text = ""
        reply, _ = self._send(Prompt(tuple(images), tuple(captions), text, ""), self.max_tokens or FREE_TOKENS)
        content: str = reply.choices[0].message.content or ""
        return content

    def _compose(self, exhibit: "Exhibit", question: Question, text_mode: str) -> "_Asked":
        self._resolve_model()
        time_format = resolve_time_format(self.time_format, self.model, times=self.times)
        prompt = compose(exhibit, question, text_mode, preset=self.preset, time_format=time_format)
        limit = self.max_tokens or (LETTER_TOKENS if question.choices else FREE_TOKENS)
        video = self._video(exhibit, prompt, time_format)
        return _Asked(exhibit, question, text_mode, time_format, prompt, limit, video)

    def _video(self, exhibit: "Exhibit", prompt: Prompt, time_format: TimeFormat) -> "_Video | None":
        """How the frames are sent as one video; None for pictures."""
        if self.frames_as == "pictures" or "video" in self._rejected:
            return None
        if len(prompt.images) < 2 or exhibit.several:
            return None
        why_not = self._connection.program(self.model).why_no_video
        native = native_time_format(self.model)
        if not why_not and time_format == "none" and native not in (None, "internvl", "llava-video"):
            why_not = f"{self.model} writes the times of a video's frames itself, and none are wanted"
        if not why_not and len({image.size for image in prompt.images}) > 1:
            why_not = "they have several sizes"
        if why_not:
            self._log_once(f"frames are sent as pictures to {self._server}: {why_not}")
            return None
        # Qwen3-VL merges two frames of a video under the mean of their times; selected frames may be minutes apart.
        options = video_options(exhibit, depth=2 if native == "qwen3-vl" else 1)
        is_marked = writes_video_marks(self.model) and time_format == native
        return _Video(options, prompt.text if is_marked else prompt.text_after_video)

    def _to_answer(self, asked: "_Asked", reply: str, finish: str | None) -> Answer:
        if self.log_replies:
            log.info("%s: prompt: %s", self.name, asked.prompt.text)
            log.info("%s: reply: %s", self.name, reply)
        answer = answer_from_reply(
            asked.question,
            reply,
            times_s=tuple(asked.exhibit.selection.times_s),
            frames=tuple(asked.exhibit.numbers),
            reader=self.name,
            text_mode=asked.text_mode,
            time_format=asked.time_format,
        )
        # A letter before the truncation is still an answer.
        if finish == "length" and not (asked.question.choices and answer.parsed):
            return replace(answer, note=failures.truncated(asked.limit))
        return answer

    def _send(
        self, prompt: Prompt, limit: int, *, video: "_Video | None" = None, stream: bool = False
    ) -> tuple[Any, FramesAs]:
        """Send a request, and again without what this server rejects: a parameter, or a video."""
        jpegs = [encode_jpeg(image, quality=self.quality, longest_side=self.longest_side) for image in prompt.images]
        while True:
            try:
                with self._connection.explained(self._request_info(prompt)):
                    reply = self._connection.client.chat.completions.create(
                        model=self.model,
                        messages=[{"role": "user", "content": self._content(prompt, jpegs, video)}],
                        extra_body={"media_io_kwargs": {"video": video.options}} if video else None,
                        **self._settings(limit, stream=stream),
                    )
                    if not stream:
                        self._check_completion(reply)
                return reply, "video" if video else "pictures"
            except RefusedRequest as refused:
                if video and failures.refuses_video(refused.status, refused.message):
                    self._log_once(
                        f"frames are sent as pictures to {self._server}, which refused a video: "
                        f"{failures.quote_message(refused.message)}"
                    )
                    if refused.status < 500:  # an internal error may be of this request only
                        self._rejected.add("video")
                    video = None
                elif not self._drop_rejected(refused.status, refused.message):
                    raise self._refusal(refused, prompt) from None

    def _check_completion(self, reply: Any) -> None:
        if getattr(reply, "choices", None):
            return
        # Some proxies return an error with status 200.
        refusal = getattr(reply, "error", None)
        if not refusal:
            raise ReaderError(failures.not_a_completion(self._server))
        message = str(refusal.get("message")) if isinstance(refusal, Mapping) else str(refusal)
        raise RefusedRequest(200, self._connection.redact(message))

    def _refusal(self, refused: RefusedRequest, prompt: Prompt) -> ReaderError:
        models = sorted(self._connection.models or {})
        info = self._request_info(prompt)
        return ReaderError(failures.explain_refusal(refused.status, refused.message, info, models))

    def _settings(self, limit: int, *, stream: bool) -> dict[str, Any]:
        """The token limit under the name this server accepts, the temperature if it may be set, and the stream."""
        name = "max_completion_tokens" if "max_tokens" in self._rejected else "max_tokens"
        settings: dict[str, Any] = {name: limit}
        if self.temperature is not None and "temperature" not in self._rejected:
            settings["temperature"] = self.temperature
        if stream:
            settings["stream"] = True
            if "stream_options" not in self._rejected:
                settings["stream_options"] = {"include_usage": True}
        return settings

    def _drop_rejected(self, status: int, message: str) -> bool:
        """Whether an error is about an optional parameter, which is not sent from now on."""
        for parameter in DROPPABLE:
            refused = f"'{parameter}'" in message or f"`{parameter}`" in message or f'"{parameter}"' in message
            if status in (400, 422) and refused and parameter not in self._rejected:
                log.info("%s does not accept %s; sending requests without it", self._server, parameter)
                self._rejected.add(parameter)
                return True
        return False

    def _content(self, prompt: Prompt, jpegs: Sequence[bytes], video: "_Video | None") -> list[dict[str, Any]]:
        field_name = self._id_field
        if video is None:
            return list(picture_parts(prompt, jpegs, field_name))
        return video_parts(video.text, jpegs, video.options, has_id=field_name == "uuid")

    @property
    def _id_field(self) -> IdField | None:
        """The field for an image's id; None for a server that has none."""
        if self.picture_ids is False or not self._connection.models:
            known = None
        else:
            known = self._connection.program(self.model).id_field
        name: IdField | None = "uuid" if known is None and self.picture_ids else known
        return None if name in self._rejected else name

    def _log_once(self, message: str) -> None:
        if message and message not in self._logged:
            self._logged.add(message)
            log.info(message)

    def _resolve_model(self, *, retries: int | None = None) -> None:
        self.model = self._connection.resolve_model(self.model, retries=retries)

    def _request_info(self, prompt: Prompt) -> failures.RequestInfo:
        return self._connection.request_info(self.model, len(prompt.images))


@dataclass(frozen=True)
class _Video:
    """Frames sent as one video. options: vLLM's `media_io_kwargs["video"]`; text: of the message after the video."""

    options: Mapping[str, Any]
    text: str


@dataclass(frozen=True)
class _Asked:
    """One question as it is sent, and what its answer records of it."""

    exhibit: "Exhibit"
    question: Question
    text_mode: str
    time_format: TimeFormat
    prompt: Prompt
    limit: int
    video: _Video | None
