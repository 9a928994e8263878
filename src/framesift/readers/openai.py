"""Readers behind an OpenAI-type server (vLLM, SGLang, llama.cpp, Ollama, a paid API), through the openai package.

Neither key nor picture nor reply is logged, unless `log_replies` asks for the words.
"""

import base64
import io
import logging
import os
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from hashlib import blake2b
from threading import Lock
from typing import TYPE_CHECKING, Any

from framesift._utils.optional import require
from framesift.errors import InputError, OptionError, ReaderError
from framesift.readers import failures
from framesift.readers.address import CredentialFilter, parse_address, public_address
from framesift.readers.base import settle
from framesift.readers.prompts import Prompt, compose
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
CLIENT_LOGGERS = ("httpx", "httpx2", "openai._base_client")  # they log the URL of every request

_FILTER = CredentialFilter()
log = logging.getLogger(__name__)


@dataclass(eq=False, repr=False)
class OpenAIReader:
    """Asks a model behind `address`, "http://host:8000/v1" or "http://host:8000/v1#model".

    model: may stand behind "#" too; where the server has just one, it need not be named. key_variable: the environment
    variable that holds the key; by default FRAMESIFT_API_KEY, and for api.openai.com alone also OPENAI_API_KEY.
    quality, longest_side: of the JPEG pictures (1 to 95; pixels, None for their own size). timeout_s: for one try;
    retries: after 429, 5xx or a lost connection, each after a longer wait. max_tokens: of the reply; by default 32 with
    options, 512 without. picture_ids: send vLLM's `uuid` with each picture, so that it is prepared once; None asks the
    server whether it is vLLM. preset, times: see `prompts`. concurrency: questions at once in `ask_many`.
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
    concurrency: int = 8
    log_replies: bool = False
    _unwanted: set[str] = field(default_factory=set, init=False, repr=False)  # parameters this server refused
    _models: dict[str, str] | None = field(default=None, init=False, repr=False)  # names and owners
    _asking: Any = field(default_factory=Lock, init=False, repr=False)

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
        self.model = self.model or parts.model
        self._parts = parts
        self._server = parts.server
        if not self.key_variable:
            is_openai = parts.server == OPENAI_SERVER and KEY_VARIABLE not in os.environ
            self.key_variable = OPENAI_KEY_VARIABLE if is_openai else KEY_VARIABLE

    @property
    def name(self) -> str:
        return f"{self._server}#{self.model}"

    def __repr__(self) -> str:
        return f"OpenAIReader({self.name!r})"

    def answer(self, exhibit: "Exhibit", question: Question, text_mode: str = "aligned") -> Answer:
        started = time.perf_counter()
        self._find_model()
        prompt = compose(exhibit, question, text_mode, preset=self.preset, times=self.times)
        limit = self.max_tokens or (LETTER_TOKENS if question.choices else FREE_TOKENS)
        reply = self._send(prompt, limit)
        choice = reply.choices[0]
        words = choice.message.content or ""
        if self.log_replies:
            log.info("%s was asked: %s", self.name, prompt.words)
            log.info("%s replied: %s", self.name, words)
        answer = settle(
            question,
            words,
            times_s=tuple(exhibit.selection.times_s),
            tokens=reply.usage.total_tokens if reply.usage else None,
            seconds=time.perf_counter() - started,
            frames=tuple(exhibit.numbers),
            reader=self.name,
            text_mode=text_mode,
        )
        # A letter that came before the end of the space is a letter all the same.
        if choice.finish_reason == "length" and not (question.choices and answer.parsed):
            return replace(answer, note=failures.cut_off(limit))
        return answer

    def complete(self, words: str) -> str:
        """The model's reply to words alone."""
        self._find_model()
        reply = self._send(Prompt((), (), words, ""), self.max_tokens or FREE_TOKENS)
        return reply.choices[0].message.content or ""

    def _send(self, prompt: Prompt, limit: int) -> Any:
        """One request; again without a parameter that this server refuses."""
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
                # Some proxies put a refusal into a reply that says it went well.
                refusal = getattr(reply, "error", None)
                if not refusal:
                    raise ReaderError(failures.no_completion(self._server))
                message = str(refusal.get("message")) if isinstance(refusal, Mapping) else str(refusal)
                message = self._redact(message)
                raise ReaderError(failures.explain(200, message, self._sent(prompt), self._listed()))
            # The library's own errors are not chained: their messages hold the address with its query.
            except openai.APITimeoutError:
                raise ReaderError(failures.too_slow(self._sent(prompt))) from None
            except openai.APIConnectionError:
                raise ReaderError(failures.server_down(self._server)) from None
            except openai.APIStatusError as error:
                message = self._redact(_words(error))
                if not self._learn(error.status_code, message):
                    sent = self._sent(prompt)
                    raise ReaderError(failures.explain(error.status_code, message, sent, self._listed())) from None
            except (openai.OpenAIError, ValueError):
                raise ReaderError(failures.no_completion(self._server)) from None

    def _redact(self, message: str) -> str:
        return self._parts.redact(message, os.environ.get(self.key_variable, ""))

    def _settings(self, limit: int) -> dict[str, Any]:
        """The reply's limit under the name this server knows, and the temperature where it may be set."""
        name = "max_completion_tokens" if "max_tokens" in self._unwanted else "max_tokens"
        settings: dict[str, Any] = {name: limit}
        if self.temperature is not None and "temperature" not in self._unwanted:
            settings["temperature"] = self.temperature
        return settings

    def _learn(self, status: int, message: str) -> bool:
        """Whether a refusal was about a parameter that can be left out, which is then done from now on."""
        for parameter in ("max_tokens", "temperature", "uuid"):
            refused = f"'{parameter}'" in message or f"`{parameter}`" in message or f'"{parameter}"' in message
            if status in (400, 422) and refused and parameter not in self._unwanted:
                log.info("%s does not take %s; asking without", self._server, parameter)
                self._unwanted.add(parameter)
                return True
        return False

    def _content(self, prompt: Prompt) -> list[dict[str, Any]]:
        content: list[dict[str, Any]] = []
        for part in prompt.interleaved():
            if isinstance(part, str):
                content.append({"type": "text", "text": part})
                continue
            picture = _jpeg(part, quality=self.quality, longest_side=self.longest_side)
            url = f"data:image/jpeg;base64,{_base64(picture)}"
            content.append({"type": "image_url", "image_url": {"url": url}})
            if self._sends_ids:
                content[-1]["uuid"] = blake2b(picture, digest_size=16).hexdigest()
        return content

    @property
    def _sends_ids(self) -> bool:
        if "uuid" in self._unwanted:
            return False
        is_vllm = (self._models or {}).get(self.model) == "vllm"
        return is_vllm if self.picture_ids is None else self.picture_ids

    @cached_property
    def _client(self) -> Any:
        openai = require("openai", EXTRA)
        # Some versions of the package write whole requests, pictures included, to their log at this level.
        if not self.log_replies and not os.environ.get("OPENAI_LOG"):
            library = logging.getLogger("openai")
            library.setLevel(max(library.level, logging.INFO))
        for name in CLIENT_LOGGERS:
            logging.getLogger(name).addFilter(_FILTER)
        key = os.environ.get(self.key_variable, "")
        login = f"{self._parts.user}:{self._parts.password}"
        return openai.OpenAI(
            base_url=self._parts.url,
            # The package refuses to start without a key, and servers of one's own often have none.
            api_key=key or "none",
            # Not in the URL, which the libraries log and put into their errors.
            default_headers=None if login == ":" else {"Authorization": f"Basic {_base64(login.encode())}"},
            default_query=dict(self._parts.query),
            timeout=self.timeout_s,
            max_retries=self.retries,
        )

    def _find_model(self) -> None:
        """Once: what the server has, and its only model where none was named."""
        with self._asking:
            if self._models is None:
                self._models = self._survey()
            if not self.model:
                if len(self._models) != 1:
                    raise ReaderError(failures.name_a_model(self._server, sorted(self._models)))
                self.model = next(iter(self._models))
                log.info("%s has one model: %s", self._server, self.model)

    def _survey(self) -> dict[str, str]:
        """The server's models and whose they are. Some servers have no such list: then it is empty."""
        openai = require("openai", EXTRA)
        try:
            return {model.id: str(getattr(model, "owned_by", "")) for model in self._client.models.list()}
        except openai.APIConnectionError:
            raise ReaderError(failures.server_down(self._server)) from None
        except openai.APIStatusError as error:
            if error.status_code in (401, 403):
                raise ReaderError(failures.refused_key(self._sent(None))) from None
            return {}
        except openai.OpenAIError:
            return {}

    def _listed(self) -> list[str]:
        return sorted(self._models or {})

    def _sent(self, prompt: Prompt | None) -> failures.Sent:
        pictures = len(prompt.pictures) if prompt else 0
        has_key = bool(os.environ.get(self.key_variable))
        return failures.Sent(self._server, self.model, pictures, self.key_variable, has_key, self.timeout_s)


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode("ascii")


def _jpeg(picture: "Image", *, quality: int, longest_side: int | None) -> bytes:
    """The picture as JPEG, shrunk where it is larger, never enlarged. All colour is kept: small text needs it."""
    from PIL import Image as Pillow

    scale = 1.0 if longest_side is None else min(1.0, longest_side / max(picture.size))
    if scale < 1.0:
        size = max(1, round(picture.width * scale)), max(1, round(picture.height * scale))
        picture = picture.resize(size, Pillow.Resampling.LANCZOS)
    file = io.BytesIO()
    picture.convert("RGB").save(file, "JPEG", quality=quality, subsampling=0)
    return file.getvalue()


def _words(error: Any) -> str:
    """What the server said, wherever it put it."""
    body = error.body
    if isinstance(body, Mapping):
        inner = body.get("error", body)
        said = inner.get("message") or inner.get("detail") if isinstance(inner, Mapping) else inner
        kind = inner.get("type") or inner.get("code") if isinstance(inner, Mapping) else ""
        if said:
            return f"{said} ({kind})" if isinstance(kind, str) and kind else str(said)
    return str(error.message)
