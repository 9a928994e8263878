"""What went wrong with a server, in one sentence each, from what vLLM, SGLang, llama.cpp, Ollama and OpenAI reply."""

import re
from dataclasses import dataclass

SERVER_WORDS = 300  # of an unknown error, the most that is passed on

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
_DATA_URL = re.compile(r"data:image/[a-z]+;base64,[A-Za-z0-9+/=]+")


@dataclass(frozen=True)
class Sent:
    """What was sent where: all that a sentence about its failure needs."""

    server: str
    model: str
    pictures: int
    key_variable: str
    has_key: bool
    timeout_s: float


def explain(status: int, message: str, sent: Sent, models: list[str]) -> str:
    """One sentence for a refusal: what the server said no to, and the remedy."""
    limit = _LIMIT.search(message)
    if limit or _TOO_MANY.search(message):
        return too_many_pictures(sent, next((int(n) for n in limit.groups() if n), None) if limit else None)
    if status in (401, 403):
        return refused_key(sent)
    if _TEXT_ONLY.search(message):
        return (
            f"{sent.model} on {sent.server} takes no pictures: serve a vision-language model (with llama.cpp, add its "
            "--mmproj file), or name another with #MODEL"
        )
    if _CONTEXT.search(message):
        return (
            f"{sent.pictures} pictures and the question are longer than the context of {sent.model}: select fewer "
            "frames (--budget), shrink them (--longest-side), or give it more context (vLLM: --max-model-len, "
            f"llama.cpp: --ctx-size). The server said: {quoted(message)}"
        )
    if status == 404 or _NO_MODEL.search(message):
        return wrong_model(sent, models)
    if status == 413:
        return (
            f"{sent.server} takes no request this large: select fewer frames (--budget) or shrink them (--longest-side)"
        )
    if status == 429:
        return f"{sent.server} is still busy after every retry (429): ask fewer questions at once (--concurrency)"
    return f"{sent.server} answered {status}: {quoted(message)}"


def too_many_pictures(sent: Sent, limit: int | None) -> str:
    takes = f"takes {limit} picture{'' if limit == 1 else 's'} in a request" if limit else "takes fewer pictures"
    fewer = f"--budget {limit}" if limit else "a smaller --budget"
    return (
        f"{sent.server} {takes} and got {sent.pictures}: start vLLM with --limit-mm-per-prompt "
        f"'{{\"image\": {sent.pictures}}}', or select with {fewer}"
    )


def refused_key(sent: Sent) -> str:
    if sent.has_key:
        return f"{sent.server} refused the key in {sent.key_variable}: check that it is the right one for this server"
    return f"{sent.server} wants a key and none is set: export {sent.key_variable}=…"


def wrong_model(sent: Sent, models: list[str]) -> str:
    if not models:
        return f"{sent.server} knows no model {sent.model!r}, and lists none: check the address, it should end in /v1"
    return f"{sent.server} knows no model {sent.model!r}; it has {', '.join(models)}: name one with #MODEL"


def name_a_model(server: str, models: list[str]) -> str:
    if not models:
        return f"{server} lists no model: name one with #MODEL behind the address"
    return f"{server} has {len(models)} models: name one with #MODEL behind the address, of {', '.join(models)}"


def server_down(server: str) -> str:
    return f"{server} can't be reached: check that the server is running and that the address and port are right"


def no_completion(server: str) -> str:
    return f"{server} sent something that is no chat completion: check that the address ends in /v1"


def too_slow(sent: Sent) -> str:
    return (
        f"{sent.server} gave no answer within {sent.timeout_s:g} s: raise --timeout, or select fewer frames (--budget)"
    )


def cut_off(limit: int) -> str:
    return f"the reply was cut off after {limit} tokens: raise --max-tokens"


def quoted(message: str) -> str:
    """The server's words on one line, without any picture it sends back."""
    words = " ".join(_DATA_URL.sub("(picture)", message).split())
    return words if len(words) <= SERVER_WORDS else words[: SERVER_WORDS - 1] + "…"
