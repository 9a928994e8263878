"""The reader protocol, readers by name or address, and the calls that ask any of them.

To add a reader from another package, name a callable in the entry-point group `framesift.readers`: it is called with
the reader's options and returns an object with `answer(exhibit, question, text_mode) → Answer`.
"""

import inspect
import re
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from dataclasses import is_dataclass, replace
from functools import wraps
from threading import Lock
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, get_type_hints, runtime_checkable

from framesift._utils.credentials import LOCAL, SIMILARITY, check_reader_address
from framesift._utils.plugins import Plugin, find_plugins, reason
from framesift._utils.records import read_value
from framesift._utils.text import suggestion
from framesift.errors import FramesiftError, InputError, OptionError, PluginError, ReaderError, UnknownName
from framesift.readers.prompts import check_text_mode
from framesift.types import Answer, Question

if TYPE_CHECKING:
    from framesift.rendering.exhibit import Exhibit

InputT = TypeVar("InputT")
OutputT = TypeVar("OutputT")

KIND = "reader"  # entry points of the group framesift.readers
_SECRET_OPTION = re.compile(r"(?:^|_)(?:key|token|password|secret)$")
_cache: dict[tuple[str, str], "Reader"] = {}
_cache_lock = Lock()


@runtime_checkable
class Reader(Protocol):
    """Looks at an exhibit and answers a question.

    Optional: `name`; `concurrency`, the number of questions it accepts at once (default 1); `check()`, which raises a
    ReaderError if the reader can't be used, before frames are selected for it; and `stream(exhibit, question,
    text_mode)`, which yields the reply in pieces of text that are safe to show, then the Answer.
    """

    def answer(self, exhibit: "Exhibit", question: Question, text_mode: str) -> Answer:
        """Answer one question. text_mode: one of `TEXT_MODES`, the ways to show the events' text."""


def stream_answer(
    exhibit: "Exhibit",
    question: Question | str | None = None,
    *,
    reader: "str | Reader",
    text_mode: str,
    stream: bool = True,
    **options: object,
) -> Iterator[str | Answer]:
    """Yield the reply to a question in pieces as they arrive, then the Answer; arguments as in `framesift.ask`.

    A reader that can't stream yields the Answer only, as do all with `stream=False`. Closing the iterator ends the
    request.
    """
    if isinstance(question, str):
        question = Question(question)
    asked = exhibit.question if question is None else question
    if asked is None:
        raise InputError("no question was given and the selection has none; pass one to ask")
    check_text_mode(text_mode)
    model = get_reader(reader, **options)
    in_pieces = getattr(model, "stream", None) if stream else None
    try:
        if in_pieces is None:
            yield _checked(model, exhibit, model.answer(exhibit, asked, text_mode))
            return
        with closing(in_pieces(exhibit, asked, text_mode)) as pieces:
            for piece in pieces:
                yield piece if isinstance(piece, str) else _checked(model, exhibit, piece)
    except FramesiftError:
        raise
    except Exception as error:
        raise ReaderError(f"the reader {_name(model)} failed ({reason(error)})") from error


def get_reader(reader: "str | Reader", **options: object) -> Reader:
    """Return the reader of an address or name, created once per set of options; an object is returned unchanged."""
    if not isinstance(reader, str):
        if not isinstance(reader, Reader):
            raise InputError(f"the reader is of type {type(reader).__name__}; expected a name, a URL or a Reader")
        if options:
            raise OptionError(
                f"options ({', '.join(options)}) were given with a reader object; pass them when creating it"
            )
        return reader
    key = reader, repr(sorted(options.items()))
    with _cache_lock:
        if key not in _cache:
            factory, arguments = _find_factory(reader)
            _check_options(reader, factory, arguments, options)
            _cache[key] = factory(*arguments, **_typed(factory, options))
        return _cache[key]


def check_reader(reader: "str | Reader", **options: object) -> None:
    """Raise the error that an answer would meet for sure: a bad address or option, a missing package, no server."""
    check = getattr(get_reader(reader, **options), "check", None)
    if callable(check):
        check()


def readers() -> dict[str, str]:
    """List the readers.

    Returns:
        What to pass as `reader`, and a line of description.

    Example:
        >>> import framesift as fs
        >>> fs.readers()["similarity"]
        "weak: the index's own encoder compares options with frames; needs no model"
    """
    from framesift.readers.local import CHECKPOINTS

    listed = {"http://HOST:PORT/v1[#MODEL]": "an OpenAI-type server: vLLM, SGLang, llama.cpp, Ollama, a paid API"}
    listed |= {f"{LOCAL}{name}": f"{hub} on this machine's GPU" for name, hub in CHECKPOINTS.items()}
    listed[SIMILARITY] = "weak: the index's own encoder compares options with frames; needs no model"
    for plugin in plugins():
        listed.setdefault(
            plugin.name, f"can't be used: {plugin.problem}" if plugin.problem else f"from {plugin.package}"
        )
    return listed


def plugins() -> list[Plugin]:
    """The readers that other packages register, each with its problem if it can't be used."""
    checked = []
    for plugin in find_plugins(KIND, {SIMILARITY}):
        try:
            _factory_of(plugin)
        except FramesiftError as error:
            plugin = replace(plugin, problem=str(error))
        checked.append(plugin)
    return checked


def map_in_order(function: Callable[[InputT], OutputT], inputs: Iterable[InputT], width: int) -> Iterator[OutputT]:
    """Apply a function in `width` threads and yield the results in order; `inputs` is consumed only slightly ahead.

    After an error, the running calls are waited for; after Ctrl-C they are not, because a server may be silent.
    """
    pool, pending = ThreadPoolExecutor(width, "framesift-ask"), deque[Future[OutputT]]()
    try:
        for value in inputs:
            pending.append(pool.submit(function, value))
            if len(pending) >= 2 * width:
                yield pending.popleft().result()
        while pending:
            yield pending.popleft().result()
    except Exception:
        pool.shutdown(cancel_futures=True)
        raise
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


def _checked(model: Reader, exhibit: "Exhibit", answer: object) -> Answer:
    """The answer of a reader; frames of several videos are named in it."""
    if not isinstance(answer, Answer):
        raise ReaderError(f"the reader {_name(model)} returned a {type(answer).__name__}; expected an Answer")
    answer = replace(answer, exhibit=replace(exhibit, _decoded={}))
    if not exhibit.several:
        return answer
    places = [exhibit.place(time_s) for time_s in answer.times_s]
    return replace(
        answer,
        videos=tuple(video.name for video, _ in places),
        video_times_s=tuple(own_s for _, own_s in places),
    )


def _name(model: Reader) -> str:
    return str(getattr(model, "name", type(model).__name__))


def _find_factory(reader: str) -> tuple[Callable[..., Reader], tuple[str, ...]]:
    """The callable that creates the reader of this name, and its positional arguments."""
    check_reader_address(reader)
    if reader.startswith(("http://", "https://")):
        from framesift.readers.openai import OpenAIReader

        return OpenAIReader, (reader,)
    if reader.startswith(LOCAL):
        from framesift.readers.local import LocalReader

        return LocalReader, (reader.removeprefix(LOCAL),)
    if reader == SIMILARITY:
        from framesift.readers.similarity import SimilarityReader

        return SimilarityReader, ()
    others = find_plugins(KIND, {SIMILARITY})
    for plugin in others:  # of equal names the first
        if plugin.name == reader:
            return _factory_of(plugin), ()
    known = ["http://HOST:PORT/v1[#MODEL]", "local:MODEL", SIMILARITY, *dict.fromkeys(plugin.name for plugin in others)]
    address = f"did you mean http://{reader}?" if ":" in reader else ""
    raise UnknownName(f"there is no reader {reader!r}; {suggestion(reader, known, address)}")


def _factory_of(plugin: Plugin) -> Callable[..., Reader]:
    """What creates the reader, with the signature that the package gave it; failures are a PluginError."""
    factory = plugin.load("a class or function that takes its options")

    @wraps(factory)
    def create(**options: object) -> Any:
        reader = plugin.create(factory, **options)
        if not callable(getattr(reader, "answer", None)):
            raise PluginError(f"{plugin.title} has no answer(exhibit, question, text_mode); expected this method")
        return reader

    return create


def _typed(factory: Callable[..., Reader], options: Mapping[str, object]) -> dict[str, object]:
    """The options by the types of a reader's own fields; functions, which settings can't be, as they are."""
    kinds: dict[str, Any] = get_type_hints(factory) if is_dataclass(factory) else {}
    return {
        name: read_value(kinds[name], value, name) if name in kinds and not callable(value) else value
        for name, value in options.items()
    }


def option_names(reader: str) -> list[str]:
    """The options of the reader of this name or address."""
    return [p.name for p in _parameters(*_find_factory(reader)) if p.kind is not p.VAR_KEYWORD]


def check_reader_options(reader: str, options: Mapping[str, object]) -> None:
    """Reject options that the reader of this name or address does not have, and secrets."""
    _check_options(reader, *_find_factory(reader), options)


def _parameters(factory: Callable[..., Reader], positional: tuple[str, ...]) -> list[inspect.Parameter]:
    return list(inspect.signature(factory).parameters.values())[len(positional) :]


def _check_options(
    reader: str, factory: Callable[..., Reader], positional: tuple[str, ...], options: Mapping[str, object]
) -> None:
    secret = next((name for name in options if _SECRET_OPTION.search(name)), None)
    if secret:
        raise OptionError(
            f"{secret} is given as an option of {reader}, and options are stored; use an environment variable instead"
        )
    parameters = _parameters(factory, positional)
    if any(p.kind is p.VAR_KEYWORD for p in parameters):
        return
    unknown = sorted(set(options) - {p.name for p in parameters})
    if unknown:
        listed = ", ".join(f"{p.name} = {p.default!r}" for p in parameters) or "none"
        expected = suggestion(unknown[0], [p.name for p in parameters], f"its options are {listed}")
        raise OptionError(f"{reader} has no option {unknown[0]!r}; {expected}")
