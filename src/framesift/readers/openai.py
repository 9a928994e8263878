"""The reader for OpenAI-type servers (vLLM, SGLang, llama.cpp, Ollama, a paid API), through the openai package.

Keys and images are never logged; prompts and replies only with `log_replies`.
"""

import base64
import io
import logging
import os
import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from hashlib import blake2b
from threading import Lock
from typing import TYPE_CHECKING, Any

from framesift._utils.optional import require
from framesift.errors import InputError, OptionError, ReaderError
from framesift.readers import failures
from framesift.readers.address import CredentialFilter, hide_secrets, parse_address, public_address, register_secrets
from framesift.readers.answers import answer_from_reply
from framesift.readers.prompts import Prompt, compose
from framesift.readers.time_formats import TimeFormat, check_time_format, resolve_time_format
from framesift.types import Answer, Question

if TYPE_CHECKING:
    from PIL.Image import Image

    from framesift.rendering.exhibit import Exhibit

EXTRA = "openai"
KEY_VARIABLE = "FRAMESIFT_API_KEY"
OPENAI_SERVER = "https://api.openai.com"
OPENAI_KEY_VARIABLE = "OPENAI_API_KEY"
LETTER_TOKENS = 32  # lmms-eval's limit for LongVideoBench
FREE_TOKENS = 512
CONNECT_TIMEOUT_S = 10.0  # for the first request: at an address without a server
CLIENT_LOGGERS = ("httpx", "httpx2", "openai._base_client")  # they log the URL of every request

MESSAGE_CHARACTERS = 4000  # of a server's error that are searched for its reason

_FILTER = CredentialFilter()
_VARIABLE = re.compile(r"[A-Z_][A-Z0-9_]*")
log = logging.getLogger(__name__)


@dataclass(eq=False, repr=False)
class OpenAIReader:
    """Asks a model on the server at `address`, "http://host:8000/v1" or "http://host:8000/v1#model".

    A user and password in the address are sent as basic authentication, its query with every request.
    model: may also follow "#"; not needed if the server has only one. key_variable: the environment variable with the
    key; by default FRAMESIFT_API_KEY, and only for api.openai.com also OPENAI_API_KEY. quality, longest_side: of the
    JPEG images (1 to 95; pixels, None for the original size). timeout_s: per attempt; retries: after 429, 5xx or a lost
    connection, with increasing delay. max_tokens: of the reply; by default 32 with options, 512 without. picture_ids:
    send vLLM's `uuid` with each image, so that it is processed once; None sends it if the server is vLLM. preset: see
    `prompts`; times: whether the frames' times are sent; time_format: see `time_formats`. concurrency: questions at
    once in `ask_many`.
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
    picture_ids: bool | None = None
    preset: str = "longvideobench"
    times: bool = True
    time_format: TimeFormat = "auto"
    concurrency: int = 8
    log_replies: bool = False
    _rejected: set[str] = field(default_factory=set, init=False, repr=False)  # parameters this server does not accept
    _models: dict[str, str] | None = field(default=None, init=False, repr=False)  # name → owner
    _lock: Any = field(default_factory=Lock, init=False, repr=False)

    def __post_init__(self) -> None:
        parts = parse_address(self.address)
        if parts is None or parts.url == parts.server:
            raise InputError(
                f"the reader is {public_address(self.address)!r}; expected an address like http://host:8000/v1"
            )
        if not 1 <= self.quality <= 95:
            raise OptionError(f"quality is {self.quality!r}; expected a JPEG quality from 1 to 95")
        if self.longest_side is not None and self.longest_side < 28:
            raise OptionError(f"longest_side is {self.longest_side!r}; expected at least 28 pixels, or None")
        check_time_format(self.time_format)
        self.model = self.model or parts.model
        self._parts = parts
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
        parts.register()

    @property
    def name(self) -> str:
        return hide_secrets(f"{self._server}#{self.model}")

    def __repr__(self) -> str:
        return f"OpenAIReader({self.name!r})"

    def check(self) -> None:
        """Check that the server can be reached, accepts the key, and has a model to ask."""
        self._resolve_model(retries=0)

    def answer(self, exhibit: "Exhibit", question: Question, text_mode: str = "aligned") -> Answer:
        started = time.perf_counter()
        self._resolve_model()
        time_format = resolve_time_format(self.time_format, self.model, times=self.times)
        prompt = compose(exhibit, question, text_mode, preset=self.preset, time_format=time_format)
        limit = self.max_tokens or (LETTER_TOKENS if question.choices else FREE_TOKENS)
        reply = self._send(prompt, limit)
        choice = reply.choices[0]
        text = hide_secrets(choice.message.content or "")
        if self.log_replies:
            log.info("%s: prompt: %s", self.name, prompt.text)
            log.info("%s: reply: %s", self.name, text)
        answer = answer_from_reply(
            question,
            text,
            times_s=tuple(exhibit.selection.times_s),
            tokens=reply.usage.total_tokens if reply.usage else None,
            seconds=time.perf_counter() - started,
            frames=tuple(exhibit.numbers),
            reader=self.name,
            text_mode=text_mode,
            time_format=time_format,
            frames_as="pictures",
        )
        # A letter before the truncation is still an answer.
        if choice.finish_reason == "length" and not (question.choices and answer.parsed):
            return replace(answer, note=failures.truncated(limit))
        return answer

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
        reply = self._send(Prompt(tuple(images), tuple(captions), text, ""), self.max_tokens or FREE_TOKENS)
        return hide_secrets(reply.choices[0].message.content or "")

    def _send(self, prompt: Prompt, limit: int) -> Any:
        """Send a request, and again without each parameter that this server rejects."""
        openai = require("openai", EXTRA)
        while True:
            try:
                reply = self._client.chat.completions.create(
                    model=self.model,
                    messages=[{"role": "user", "content": self._content(prompt)}],
                    **self._settings(limit),
                )
                if getattr(reply, "choices", None):
                    return reply
                # Some proxies return an error with status 200.
                refusal = getattr(reply, "error", None)
                if not refusal:
                    raise ReaderError(failures.not_a_completion(self._server))
                message = str(refusal.get("message")) if isinstance(refusal, Mapping) else str(refusal)
                raise self._refusal(200, self._redact(message), prompt)
            # The library's own errors are not chained: their messages hold the address with its query.
            except openai.APITimeoutError:
                raise ReaderError(failures.timed_out(self._request_info(prompt))) from None
            except openai.APIConnectionError:
                raise ReaderError(failures.unreachable(self._server)) from None
            except openai.APIStatusError as error:
                message = self._redact(_error_message(error))
                if not self._drop_rejected(error.status_code, message):
                    raise self._refusal(error.status_code, message, prompt) from None
            except (openai.OpenAIError, ValueError):
                raise ReaderError(failures.not_a_completion(self._server)) from None

    def _refusal(self, status: int, message: str, prompt: Prompt) -> ReaderError:
        models = sorted(self._models or {})
        return ReaderError(failures.explain_refusal(status, message, self._request_info(prompt), models))

    def _redact(self, message: str) -> str:
        """A server's error without credentials and images; the rest of a very long one is dropped."""
        return self._parts.redact(failures.remove_images(message)[:MESSAGE_CHARACTERS], self._key)

    @property
    def _key(self) -> str:
        key = os.environ.get(self.key_variable, "")
        register_secrets(key)
        return key

    def _settings(self, limit: int) -> dict[str, Any]:
        """The token limit under the name this server accepts, and the temperature if it may be set."""
        name = "max_completion_tokens" if "max_tokens" in self._rejected else "max_tokens"
        settings: dict[str, Any] = {name: limit}
        if self.temperature is not None and "temperature" not in self._rejected:
            settings["temperature"] = self.temperature
        return settings

    def _drop_rejected(self, status: int, message: str) -> bool:
        """Whether an error is about an optional parameter, which is not sent from now on."""
        for parameter in ("max_tokens", "temperature", "uuid"):
            refused = f"'{parameter}'" in message or f"`{parameter}`" in message or f'"{parameter}"' in message
            if status in (400, 422) and refused and parameter not in self._rejected:
                log.info("%s does not accept %s; sending requests without it", self._server, parameter)
                self._rejected.add(parameter)
                return True
        return False

    def _content(self, prompt: Prompt) -> list[dict[str, Any]]:
        content: list[dict[str, Any]] = []
        for part in prompt.interleaved():
            if isinstance(part, str):
                content.append({"type": "text", "text": part})
                continue
            image = _encode_jpeg(part, quality=self.quality, longest_side=self.longest_side)
            url = f"data:image/jpeg;base64,{_base64(image)}"
            content.append({"type": "image_url", "image_url": {"url": url}})
            if self._sends_ids:
                content[-1]["uuid"] = blake2b(image, digest_size=16).hexdigest()
        return content

    @property
    def _sends_ids(self) -> bool:
        if "uuid" in self._rejected:
            return False
        is_vllm = (self._models or {}).get(self.model) == "vllm"
        return is_vllm if self.picture_ids is None else self.picture_ids

    @cached_property
    def _client(self) -> Any:
        openai = require("openai", EXTRA)
        # At the debug level, some versions of the package log whole requests, images included.
        if not self.log_replies and not os.environ.get("OPENAI_LOG"):
            library = logging.getLogger("openai")
            library.setLevel(max(library.level, logging.INFO))
        for name in CLIENT_LOGGERS:
            logging.getLogger(name).addFilter(_FILTER)
        login = self._parts.login
        return openai.OpenAI(
            base_url=self._parts.url,
            # The package requires a key, and self-hosted servers often have none.
            api_key=self._key or "none",
            # Not in the URL, which the libraries log and put into their errors.
            default_headers={"Authorization": f"Basic {login}"} if login else None,
            default_query=dict(self._parts.query),
            timeout=self.timeout_s,
            max_retries=self.retries,
        )

    def _resolve_model(self, *, retries: int | None = None) -> None:
        """List the server's models once, and choose its only one if none is named."""
        with self._lock:
            if self._models is None:
                self._models = self._list_models(self.retries if retries is None else retries)
            if not self.model:
                if len(self._models) != 1:
                    raise ReaderError(failures.no_model_named(self._server, sorted(self._models)))
                self.model = next(iter(self._models))
                log.info("%s has one model, %s", self._server, self.model)

    def _list_models(self, retries: int) -> dict[str, str]:
        """The server's models and their owners; empty for servers without such a list."""
        openai = require("openai", EXTRA)
        try:
            timeout = openai.Timeout(self.timeout_s, connect=min(self.timeout_s, CONNECT_TIMEOUT_S))
            client = self._client.with_options(timeout=timeout, max_retries=retries)
            return {model.id: str(getattr(model, "owned_by", "")) for model in client.models.list()}
        except openai.APIConnectionError:
            raise ReaderError(failures.unreachable(self._server)) from None
        except openai.APIStatusError as error:
            if error.status_code in (401, 403):
                raise ReaderError(failures.refused_key(self._request_info(None))) from None
            return {}
        except openai.OpenAIError:
            return {}

    def _request_info(self, prompt: Prompt | None) -> failures.RequestInfo:
        images = len(prompt.images) if prompt else 0
        has_key = bool(os.environ.get(self.key_variable))
        return failures.RequestInfo(self._server, self.model, images, self.key_variable, has_key, self.timeout_s)


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode("ascii")


def _encode_jpeg(image: "Image", *, quality: int, longest_side: int | None) -> bytes:
    """Encode as JPEG, downscaled to `longest_side`, never upscaled. No chroma subsampling: it blurs small text."""
    from PIL import Image as Pillow

    scale = 1.0 if longest_side is None else min(1.0, longest_side / max(image.size))
    if scale < 1.0:
        size = max(1, round(image.width * scale)), max(1, round(image.height * scale))
        image = image.resize(size, Pillow.Resampling.LANCZOS)
    file = io.BytesIO()
    image.convert("RGB").save(file, "JPEG", quality=quality, subsampling=0)
    return file.getvalue()


def _error_message(error: Any) -> str:
    """The server's message, wherever the body has it."""
    body = error.body
    if isinstance(body, Mapping):
        inner = body.get("error", body)
        message = inner.get("message") or inner.get("detail") if isinstance(inner, Mapping) else inner
        kind = inner.get("type") or inner.get("code") if isinstance(inner, Mapping) else ""
        if message:
            return f"{message} ({kind})" if isinstance(kind, str) and kind else str(message)
    return str(error.message)
