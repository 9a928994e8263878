"""The connection to an OpenAI-type server: the client, its models and version, and one sentence per failure."""

import logging
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from threading import Lock
from typing import Any

from packaging.version import InvalidVersion, Version

from framesift._utils.addresses import CheckedTransport, IpRule
from framesift._utils.credentials import Address
from framesift.errors import FramesiftError, ReaderError
from framesift.readers import failures
from framesift.readers.stopping import is_stoppable, watch_request

CONNECT_TIMEOUT_S = 10.0  # for the first request: at an address without a server
SHORTEST_KEY = 6  # characters; a placeholder such as "none" may be an ordinary word of a message
MESSAGE_CHARACTERS = 4000  # of a server's error that are searched for its reason
VLLM = "vllm"  # the owner of the models in its list
OLDEST_VIDEO = Version("0.20.0")  # of vLLM: before, a video of JPEG frames had no times

log = logging.getLogger(__name__)


class RefusedRequest(Exception):
    """A server's error status and message, without the key and images."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status, self.message = status, message


@dataclass(eq=False, repr=False)
class ServerConnection:
    """A server's client, created at the first use, and what was learned about the server. Thread-safe."""

    address: Address
    key_variable: str
    timeout_s: float
    retries: int
    is_allowed: IpRule | None  # the IP addresses that may be connected to; None: all
    models: dict[str, str] | None = None  # name → owner, once listed
    _lock: Any = field(default_factory=Lock)

    @property
    def key(self) -> str:
        return os.environ.get(self.key_variable, "")

    @property
    def client(self) -> Any:
        """The client; of a request that may be stopped one without kept connections, which are hard to identify."""
        return self._stoppable_client if is_stoppable() else self._client

    @cached_property
    def _stoppable_client(self) -> Any:
        return self._client.with_options(http_client=self._http_client(event_hooks={"request": [watch_request]}))

    @cached_property
    def _client(self) -> Any:
        import openai  # here and below: when first needed, as it takes a second

        # At the debug level, some versions of the package log whole requests, images included.
        if not os.environ.get("OPENAI_LOG"):
            library = logging.getLogger("openai")
            library.setLevel(max(library.level, logging.INFO))
        return openai.OpenAI(
            base_url=self.address.url,
            # The package requires a key, and self-hosted servers often have none.
            api_key=self.key or "none",
            default_query=dict(self.address.query),
            timeout=self.timeout_s,
            max_retries=self.retries,
            http_client=None if self.is_allowed is None else self._http_client(),
        )

    def _http_client(self, **options: Any) -> Any:
        import openai

        if self.is_allowed is not None:
            options["transport"] = CheckedTransport(self.is_allowed, "not an address that may be called")
        return openai.DefaultHttpxClient(**options)

    def resolve_model(self, model: str, *, retries: int | None = None) -> str:
        """List the server's models once; the given name, or that of the only one if it is empty."""
        with self._lock:
            if self.models is None:
                self.models = self._list_models(self.retries if retries is None else retries)
            if model:
                return model
            if len(self.models) != 1:
                raise ReaderError(failures.no_model_named(self.address.server, sorted(self.models)))
            log.info("%s has one model, %s", self.address.server, next(iter(self.models)))
            return next(iter(self.models))

    def why_no_video(self, model: str) -> str:
        """Why frames with times can't be sent as one video; empty if they can."""
        if (self.models or {}).get(model) != VLLM:
            return "it is not vLLM"
        try:
            is_new = Version(self._version) >= OLDEST_VIDEO
        except InvalidVersion:
            return "the version of vLLM is unknown"
        return "" if is_new else f"it is vLLM {self._version}, and videos with times need {OLDEST_VIDEO}"

    @cached_property
    def _version(self) -> str:
        """The version of vLLM, which reports it beside the API; empty for a proxy that lacks or changes this page."""
        root = self.address.url.removesuffix("/v1")
        try:
            client = self.client.with_options(base_url=f"{root}/", max_retries=0)
            return str(client.get("version", cast_to=object)["version"])
        except Exception:
            return ""

    @contextmanager
    def explained(self, request: failures.RequestInfo, *, streaming: bool = False) -> Iterator[None]:
        """Raise a ReaderError in place of the library's errors, and a RefusedRequest for what the server reports.

        The errors are not chained: they hold the request, with the key and the images.
        """
        import openai

        server = self.address.server
        try:
            yield
        except FramesiftError:
            raise
        except openai.APITimeoutError:
            raise ReaderError(failures.timed_out(request)) from None
        except openai.APIConnectionError:
            explain = failures.lost_connection if streaming else failures.unreachable
            raise ReaderError(explain(server)) from None
        except openai.APIError as error:  # inside a stream without a status
            raise RefusedRequest(getattr(error, "status_code", 200), self.redact(_error_message(error))) from None
        except ValueError:
            raise ReaderError(failures.not_a_completion(server)) from None
        except Exception:  # older versions of the package do not replace the errors of their HTTP library in a stream
            if not streaming:
                raise
            raise ReaderError(failures.lost_connection(server)) from None

    def redact(self, message: str) -> str:
        """A server's error without the key and images; the rest of a very long one is dropped."""
        text = failures.remove_images(message)[:MESSAGE_CHARACTERS]
        return text.replace(self.key, "…") if len(self.key) >= SHORTEST_KEY else text

    def request_info(self, model: str, images: int = 0) -> failures.RequestInfo:
        has_key, server = bool(self.key), self.address.server
        return failures.RequestInfo(server, model, images, self.key_variable, has_key, self.timeout_s)

    def _list_models(self, retries: int) -> dict[str, str]:
        """The server's models and their owners; empty for servers without such a list."""
        import openai

        try:
            timeout = openai.Timeout(self.timeout_s, connect=min(self.timeout_s, CONNECT_TIMEOUT_S))
            client = self.client.with_options(timeout=timeout, max_retries=retries)
            return {model.id: str(getattr(model, "owned_by", "")) for model in client.models.list()}
        except openai.APIConnectionError:
            raise ReaderError(failures.unreachable(self.address.server)) from None
        except openai.OpenAIError as error:
            if getattr(error, "status_code", None) in (401, 403):
                raise ReaderError(failures.refused_key(self.request_info(""))) from None
            return {}


def _error_message(error: Any) -> str:
    """The server's message, wherever the body has it."""
    body = error.body if isinstance(error.body, Mapping) else {}  # what is under "error", where the server has that
    message, kind = body.get("message") or body.get("detail"), body.get("type") or body.get("code")
    return str(message or error.message) + (f" ({kind})" if message and isinstance(kind, str) else "")
