"""Error messages for a server's failures, matched to what vLLM, SGLang, llama.cpp, Ollama and OpenAI reply."""

import re
from dataclasses import dataclass

from framesift._utils.text import counted, shortened

MESSAGE_CHARACTERS = 300  # quoted of an error that is not recognised

_LIMIT = re.compile(
    r"at most (\d+) image|image=(\d+) [^.]*limit-mm-per-prompt"
    r"|max(?:imum)? (?:\w+ )*(\d+) images?|images[^.]*\. max is (\d+)",
    re.I,
)
_TOO_MANY = re.compile(r"too many images", re.I)
_CONTEXT = re.compile(
    r"context[ _](?:length|size|window)|longer than the model|prompt is too long|max_model_len|maximum context", re.I
)
_TEXT_ONLY = re.compile(
    r"not a multimodal|image input is not supported|support(?:s|ing)? (?:for )?(?:image|vision)|by certain models"
    r"|missing data required for image|mmproj|(?:unknown|unsupported)[^.]*image_url",
    re.I,
)
_NO_MODEL = re.compile(r"model\b.*\b(?:not exist|not found|no such|unknown|not available)", re.I | re.DOTALL)
_VIDEO = re.compile(r"video|frames_indices|total_num_frames|media_io_kwargs", re.I)
_DATA_URL = re.compile(r"data:(?:image|video)/[a-z]+;base64,[A-Za-z0-9+/=,]+")


@dataclass(frozen=True)
class RequestInfo:
    """What was sent to which server, as far as an error message needs it."""

    server: str
    model: str
    images: int
    key_variable: str
    has_key: bool
    timeout_s: float


def explain_refusal(status: int, message: str, request: RequestInfo, models: list[str]) -> str:
    """One sentence for an error status: what the server refused, and the remedy."""
    limit = _LIMIT.search(message)
    if limit or _TOO_MANY.search(message):
        return too_many_images(request, next((int(n) for n in limit.groups() if n), None) if limit else None)
    if status in (401, 403):
        return refused_key(request)
    if _TEXT_ONLY.search(message):
        return (
            f"{request.model} on {request.server} does not accept images: serve a vision-language model (with "
            "llama.cpp, add its --mmproj file), or name another with #MODEL"
        )
    if _CONTEXT.search(message):
        return (
            f"{request.images} images and the question exceed the context of {request.model}: select fewer frames "
            "(--budget), downscale them (--set longest_side=N), or increase the context (vLLM: --max-model-len, "
            f"llama.cpp: --ctx-size). The server's message: {quote_message(message)}"
        )
    if status == 404 or _NO_MODEL.search(message):
        return unknown_model(request, models)
    if status == 413:
        return (
            f"{request.server} rejects a request of this size: select fewer frames (--budget) or downscale them "
            "(--set longest_side=N)"
        )
    if status == 429:
        remedy = "send fewer questions at once (--set concurrency=N)"
        return f"{request.server} is still busy after every retry (429): {remedy}"
    return f"{request.server} returned {status}: {quote_message(message)}"


def refuses_video(status: int, message: str) -> bool:
    """Whether an error is about frames that were sent as one video, so that images may be accepted."""
    is_too_long = _CONTEXT.search(message) is not None
    return status in (200, 400, 415, 422, 500, 501) and not is_too_long and _VIDEO.search(message) is not None


def too_many_images(request: RequestInfo, limit: int | None) -> str:
    accepts = f"accepts {counted(limit, 'image')} per request" if limit else "accepts fewer images"
    remedy = f"--budget {limit}" if limit else "a smaller --budget"
    return (
        f"{request.server} {accepts} and got {request.images}: start vLLM with --limit-mm-per-prompt "
        f"'{{\"image\": {request.images}}}', or select with {remedy}"
    )


def refused_key(request: RequestInfo) -> str:
    if request.has_key:
        return f"{request.server} rejected the key in {request.key_variable}: check that it belongs to this server"
    return f"{request.server} requires a key and none is set: export {request.key_variable}=…"


def unknown_model(request: RequestInfo, models: list[str]) -> str:
    if not models:
        return f"{request.server} has no model {request.model!r} and lists none: check that the address ends in /v1"
    return f"{request.server} has no model {request.model!r}; it has {', '.join(models)}: name one with #MODEL"


def no_model_named(server: str, models: list[str]) -> str:
    if not models:
        return f"{server} lists no model: name one with #MODEL after the address"
    return f"{server} has {len(models)} models: name one with #MODEL after the address, of {', '.join(models)}"


def unreachable(server: str) -> str:
    return f"{server} can't be reached: check that the server is running and that the address and port are right"


def not_a_completion(server: str) -> str:
    return f"{server} did not return a chat completion: check that the address ends in /v1"


def lost_connection(server: str) -> str:
    return f"the connection to {server} was lost during the reply: ask again, or check the server's log"


def incomplete(server: str) -> str:
    return f"the reply is incomplete: {server} ended it early; ask again"


def timed_out(request: RequestInfo) -> str:
    return (
        f"{request.server} did not answer within {request.timeout_s:g} s: raise timeout_s (--set timeout_s=N), or "
        "select fewer frames (--budget)"
    )


def truncated(limit: int) -> str:
    return f"the reply was truncated after {limit} tokens: raise max_tokens (--set max_tokens=N)"


def quote_message(message: str) -> str:
    """The server's message on one line, shortened, without the images it sends back."""
    return shortened(remove_images(message), MESSAGE_CHARACTERS)


def remove_images(message: str) -> str:
    """The message without the images it sends back."""
    return _DATA_URL.sub("(image)", message)
