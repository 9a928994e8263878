"""The reader for OpenAI-type servers (vLLM, SGLang, llama.cpp, Ollama, a paid API), through the openai package.

Keys, images, prompts and replies are never logged.
"""

import base64
import logging
import os
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal, cast

from framesift._utils.addresses import IpRule
from framesift._utils.credentials import KEY_VARIABLE, parse_address
from framesift._utils.settings import check_count
from framesift.errors import InputError, OptionError, ReaderError
from framesift.readers import failures
from framesift.readers.answers import FREE_TOKENS, answer_about, reply_limit
from framesift.readers.connection import RefusedRequest, ServerConnection
from framesift.readers.parsing import readable_pieces
from framesift.readers.prompts import Prompt, compose, compose_frames
from framesift.readers.time_formats import TimeFormat, native_time_format, resolve_time_format
from framesift.rendering.export_formats import content_parts
from framesift.rendering.thumbnails import jpeg, shrink
from framesift.types import Answer, Question

if TYPE_CHECKING:
    from PIL.Image import Image

    from framesift.rendering.exhibit import Exhibit

FramesAs = Literal["video", "images"]
MessagePart = dict[str, Any]
OPENAI_SERVER = "https://api.openai.com"
OPENAI_KEY_VARIABLE = "OPENAI_API_KEY"
# Optional parts of a request, which are not sent again after a server has named them in a refusal.
DROPPABLE = ("max_tokens", "temperature", "stream_options")
MOST_SECONDS = 86_400  # of a timeout: a day

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
    "images", each after its own time. preset: see `prompts`; times: whether the frames' times are sent;
    time_format: see `time_formats`. is_allowed: whether an IP address may be connected to, directly and without a
    proxy; None: all, by a proxy if one is set.
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
    preset: str = "longvideobench"
    times: bool = True
    time_format: TimeFormat = "auto"
    is_allowed: IpRule | None = None
    concurrency = 8
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
        if not 0 < self.timeout_s <= MOST_SECONDS:
            raise OptionError(f"timeout_s is {self.timeout_s!r}; expected seconds above 0, at most {MOST_SECONDS}")
        check_count("retries", self.retries, 0)
        check_count("max_tokens", self.max_tokens)
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
        self._connection = ServerConnection(parts, self.key_variable, self.timeout_s, self.retries, self.is_allowed)

    @property
    def name(self) -> str:
        return f"{self._server}#{self.model}"

    def __repr__(self) -> str:
        return f"OpenAIReader({self.name!r})"

    def check(self) -> None:
        """Check that the server can be reached, accepts the key, and has a model to ask."""
        self._resolve_model(retries=0)

    def answer(self, exhibit: "Exhibit", question: Question, text_mode: str) -> Answer:
        (answer,) = self._ask(exhibit, question, text_mode, stream=False)
        return cast(Answer, answer)

    def stream(self, exhibit: "Exhibit", question: Question, text_mode: str) -> Iterator[str | Answer]:
        """Yield the reply in pieces as it arrives, without the model's reasoning, then the Answer.

        Closing the iterator closes the connection, after which the server stops.
        """
        return self._ask(exhibit, question, text_mode, stream=True)

    def _ask(self, exhibit: "Exhibit", question: Question, text_mode: str, *, stream: bool) -> Iterator[str | Answer]:
        started = time.perf_counter()
        self._resolve_model()
        time_format = resolve_time_format(self.time_format, self.model, times=self.times)
        prompt = compose(exhibit, question, text_mode, preset=self.preset, time_format=time_format)
        limit = reply_limit(question, self.max_tokens)
        video = self._video(exhibit, prompt, time_format)
        received, frames_as = self._send(prompt, limit, video=video, stream=stream)
        reply = _Received()
        if stream:
            yield from readable_pieces(self._pieces(received, prompt, reply))
        if not reply.is_stream:  # also of a server that ignores the request for a stream
            completion, frames_as = self._send(prompt, limit, video=video) if stream else (received, frames_as)
            choice, tokens = completion.choices[0], completion.usage.total_tokens if completion.usage else None
            reply = _Received([choice.message.content or ""], choice.finish_reason, tokens)
        answer = answer_about(
            exhibit,
            question,
            "".join(reply.pieces),
            truncated_after=limit if reply.finish == "length" else None,
            reader=self.name,
            text_mode=text_mode,
            time_format=time_format,
            frames_as=frames_as,
            tokens=reply.tokens,
            seconds=time.perf_counter() - started,
        )
        is_incomplete = reply.is_stream and not reply.finish
        yield replace(answer, note=failures.incomplete(self._server)) if is_incomplete else answer

    def _pieces(self, chunks: Any, prompt: Prompt, reply: "_Received") -> Iterator[str]:
        """The pieces of a streamed reply, which is recorded; the stream is closed in any case."""
        try:
            with self._connection.explained(self._request_info(prompt), streaming=True):
                for chunk in chunks:
                    reply.is_stream = True
                    usage = getattr(chunk, "usage", None)
                    reply.tokens = usage.total_tokens if usage else reply.tokens
                    for choice in (getattr(chunk, "choices", None) or [])[:1]:
                        reply.finish = choice.finish_reason or reply.finish
                        if choice.delta.content:
                            reply.pieces.append(choice.delta.content)
                            yield reply.pieces[-1]
        except RefusedRequest as refused:
            raise self._refusal(refused, prompt) from None
        finally:
            chunks.close()

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

    def message_parts(
        self, exhibit: "Exhibit", text_mode: str, owners: Mapping[str, str], *, as_video: bool
    ) -> tuple[list[MessagePart], dict[str, Any]]:
        """The frames as parts of a message that somebody else sends, and what its request needs besides.

        owners: of the server's models, as its list states them. as_video: unless the server takes images only.
        """
        self._connection.models = dict(owners)
        time_format = resolve_time_format(self.time_format, self.model, times=self.times)
        prompt = compose_frames(exhibit, text_mode, time_format=time_format)
        video = self._video(exhibit, prompt, time_format) if as_video else None
        parts = _message(prompt, [self._encode(image) for image in prompt.images], video)
        return parts, {"media_io_kwargs": {"video": video.options}} if video else {}

    def refuses_video(self, status: int, message: str) -> bool:
        """Whether an error is about frames that were sent as a video; then they are sent as images from now on."""
        if not failures.refuses_video(status, message):
            return False
        quoted = failures.quote_message(message)
        self._log_once(f"frames are sent as images to {self._server}, which refused a video: {quoted}")
        if status < 500:  # an internal error may be of this request only
            self._rejected.add("video")
        return True

    def _video(self, exhibit: "Exhibit", prompt: Prompt, time_format: TimeFormat) -> "_SentVideo | None":
        """How the frames are sent as one video; None for images."""
        if self.frames_as == "images" or "video" in self._rejected:
            return None
        if len(prompt.images) < 2 or exhibit.several:
            return None
        why_not = self._connection.why_no_video(self.model)
        native = native_time_format(self.model)
        if not why_not and time_format == "none" and native not in (None, "internvl", "llava-video"):
            why_not = f"{self.model} writes the times of a video's frames itself, and none are wanted"
        if not why_not and len({image.size for image in prompt.images}) > 1:
            why_not = "they have several sizes"
        if why_not:
            self._log_once(f"frames are sent as images to {self._server}: {why_not}")
            return None
        # Qwen3-VL merges two frames of a video under the mean of their times; selected frames may be minutes apart.
        timing = exhibit.video_timing(depth=2 if native == "qwen3-vl" else 1)
        # Without `num_frames` vLLM keeps the first 32 frames; with `do_sample_frames` it would choose among them again.
        options = {**timing, "do_sample_frames": False, "num_frames": len(timing["frames_indices"])}
        is_marked = time_format == native != "llava-video"  # by the model's own processor
        return _SentVideo(options, prompt.text if is_marked else prompt.text_after_video)

    def _send(
        self, prompt: Prompt, limit: int, *, video: "_SentVideo | None" = None, stream: bool = False
    ) -> tuple[Any, FramesAs]:
        """Send a request, and again without what this server rejects: a parameter, or a video."""
        jpegs = [self._encode(image) for image in prompt.images]
        while True:
            try:
                with self._connection.explained(self._request_info(prompt)):
                    reply = self._connection.client.chat.completions.create(
                        model=self.model,
                        messages=[{"role": "user", "content": _message(prompt, jpegs, video)}],
                        extra_body={"media_io_kwargs": {"video": video.options}} if video else None,
                        **self._settings(limit, stream=stream),
                    )
                if not stream:
                    self._check_completion(reply)
                return reply, "video" if video else "images"
            except RefusedRequest as refused:
                if video and self.refuses_video(refused.status, refused.message):
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

    def _encode(self, image: "Image") -> str:
        """As JPEG in base64, shrunk to the longest side. No chroma subsampling: it blurs small text."""
        small = image if self.longest_side is None else shrink(image, self.longest_side)
        return base64.b64encode(jpeg(small.convert("RGB"), quality=self.quality, subsampling=0)).decode("ascii")

    def _log_once(self, message: str) -> None:
        if message and message not in self._logged:
            self._logged.add(message)
            log.info(message)

    def _resolve_model(self, *, retries: int | None = None) -> None:
        self.model = self._connection.resolve_model(self.model, retries=retries)

    def _request_info(self, prompt: Prompt) -> failures.RequestInfo:
        return self._connection.request_info(self.model, len(prompt.images))


@dataclass(frozen=True)
class _SentVideo:
    """Frames sent as one video. options: vLLM's `media_io_kwargs["video"]`; text: of the message after the video."""

    options: Mapping[str, Any]
    text: str


@dataclass
class _Received:
    """What has arrived of a reply."""

    pieces: list[str] = field(default_factory=list)
    finish: str | None = None
    tokens: int | None = None
    is_stream: bool = False


def _message(prompt: Prompt, jpegs: Sequence[str], video: _SentVideo | None) -> list[MessagePart]:
    """Each frame as an image after its caption, or all as one video; then the text."""
    if video:
        depth = video.options["num_frames"] // len(jpegs)
        frames = ",".join(each for each in jpegs for _ in range(depth))
        url = {"url": f"data:video/jpeg;base64,{frames}"}
        texts = [{"type": "text", "text": video.text}] if video.text else []
        return [{"type": "video_url", "video_url": url}, *texts]
    urls = [f"data:image/jpeg;base64,{each}" for each in jpegs]
    return content_parts(prompt.captions, urls, prompt.text_after_images)
