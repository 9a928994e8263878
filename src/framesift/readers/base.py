"""What a reader is, the readers by name or address, and the one call for all of them.

To add a reader from another package, name a callable in the entry-point group `framesift.readers`: it is called with
the reader's options and returns an object with `answer(exhibit, question, text_mode) → Answer`.
"""

import inspect
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from importlib.metadata import EntryPoint, entry_points
from threading import Lock
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeVar, get_args, runtime_checkable

from framesift.errors import FramesiftError, InputError, OptionError, UnknownName
from framesift.readers.address import public_address
from framesift.readers.parsing import cleaned, parse_choice, without_thinking
from framesift.readers.prompts import checked_mode
from framesift.types import Answer, Question

if TYPE_CHECKING:
    from framesift.rendering.exhibit import Exhibit

ENTRY_POINTS = "framesift.readers"
LOCAL = "local:"
SIMILARITY = "similarity"
OnError = Literal["raise", "keep"]
Task = TypeVar("Task")
Done = TypeVar("Done")

_made: dict[tuple[str, str], "Reader"] = {}
_making = Lock()


@runtime_checkable
class Reader(Protocol):
    """Looks at an exhibit and answers a question.

    Ours also have `name`, and `concurrency`: how many questions they take at once, 1 where it is left out.
    """

    def answer(self, exhibit: "Exhibit", question: Question, text_mode: str = "aligned") -> Answer:
        """text_mode: one of `TEXT_MODES`, the six ways to show the events' text."""


def ask(
    exhibit: "Exhibit",
    question: Question | str | None = None,
    *,
    reader: "str | Reader",
    text_mode: str = "aligned",
    **options: object,
) -> Answer:
    """Put an exhibit in front of a reader and get its answer to a question.

    question: by default the one the frames were selected for. reader: "http://host:8000/v1#model", "local:MODEL",
    "similarity", another package's name, or an object; options: that reader's own. text_mode: "aligned" draws each
    event's text on its own frame; "none", "blank", "prompt", "tagged" and "shuffled" are the controls.
    """
    asked = _question(exhibit, question)
    checked_mode(text_mode)
    return get_reader(reader, **options).answer(exhibit, asked, text_mode)


def ask_many(
    pairs: "Iterable[tuple[Exhibit, Question | str | None]]",
    *,
    reader: "str | Reader",
    text_mode: str = "aligned",
    concurrency: int | None = None,
    on_error: OnError = "raise",
    **options: object,
) -> Iterator[Answer]:
    """The answers to many questions, in their order, as they come; `pairs` is read only a little ahead.

    concurrency: questions at a time; by default what the reader takes. on_error: "keep" gives a question that failed
    an answer with `parsed` False and the reason in `note`, and goes on.
    """
    if on_error not in get_args(OnError):
        raise OptionError(f"on_error is {on_error!r}; expected raise or keep")
    checked_mode(text_mode)
    model = get_reader(reader, **options)
    width = getattr(model, "concurrency", 1) if concurrency is None else concurrency
    if isinstance(width, bool) or not isinstance(width, int) or width < 1:
        raise OptionError(f"concurrency is {width!r}; expected a whole number of at least 1")

    def answer_one(pair: "tuple[Exhibit, Question | str | None]") -> Answer:
        try:
            return model.answer(pair[0], _question(*pair), text_mode)
        except FramesiftError as error:
            if on_error == "raise":
                raise
            return Answer("", parsed=False, text_mode=text_mode, note=str(error))

    return in_order(answer_one, pairs, width)


def get_reader(reader: "str | Reader", **options: object) -> Reader:
    """A reader by its address or name, made once for the same options; an object comes back as it is."""
    if not isinstance(reader, str):
        if not isinstance(reader, Reader):
            raise InputError(f"the reader is of type {type(reader).__name__}; expected a name, a URL or a Reader")
        if options:
            raise OptionError(f"options ({', '.join(options)}) came with a reader already made; give them where it is")
        return reader
    key = reader, repr(sorted(options.items()))
    with _making:
        if key not in _made:
            make, prefix = _maker(reader)
            _check_options(reader, make, options, given=len(prefix))
            _made[key] = make(*prefix, **options)
        return _made[key]


def readers() -> dict[str, str]:
    """What can stand for a reader, each with one line that says what it is."""
    from framesift.readers.local import CHECKPOINTS

    found = {"http://HOST:PORT/v1[#MODEL]": "an OpenAI-type server: vLLM, SGLang, llama.cpp, Ollama, a paid API"}
    found |= {f"{LOCAL}{name}": f"{hub} on this machine's GPU" for name, hub in CHECKPOINTS.items()}
    found[SIMILARITY] = "weak: the index's own encoder compares options with frames; needs no model"
    return found | {name: f"from {entry.value}" for name, entry in _from_other_packages().items()}


def settle(question: Question, reply: str, *, note: str = "", **facts: Any) -> Answer:
    """The Answer for a reply: the option it names, or its words as a free answer. facts: the record's other fields."""
    words = cleaned(without_thinking(reply))
    if not question.choices:
        return Answer(words, raw=reply, parsed=bool(words), note=note, **facts)
    choice = parse_choice(reply, question)
    text = words if choice is None else question.choices[choice]
    return Answer(text, choice, reply, choice is not None, note=note, **facts)


def _question(exhibit: "Exhibit", question: Question | str | None) -> Question:
    if isinstance(question, str):
        return Question(question)
    asked = exhibit.question if question is None else question
    if asked is None:
        raise InputError("no question was given, and the selection has none; give one to ask")
    return asked


def in_order(work: Callable[[Task], Done], tasks: Iterable[Task], width: int) -> Iterator[Done]:
    """What `work` makes of each task, `width` at a time, in their order; `tasks` is read only a little ahead."""
    with ThreadPoolExecutor(width, thread_name_prefix="framesift-ask") as pool:
        waiting: deque[Future[Done]] = deque()
        try:
            for task in tasks:
                waiting.append(pool.submit(work, task))
                if len(waiting) >= 2 * width:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            for future in waiting:
                future.cancel()


def _maker(reader: str) -> tuple[Callable[..., Reader], tuple[str, ...]]:
    """What makes the reader of this name, and what to call it with before the options."""
    if reader.startswith(("http://", "https://")):
        from framesift.readers.openai import OpenAIReader

        return OpenAIReader, (reader,)
    if reader.startswith(LOCAL):
        from framesift.readers.local import LocalReader

        return LocalReader, (reader.removeprefix(LOCAL),)
    if reader == SIMILARITY:
        from framesift.readers.similarity import SimilarityReader

        return SimilarityReader, ()
    others = _from_other_packages()
    if reader in others:
        make: Callable[..., Reader] = others[reader].load()
        return make, ()
    known = ", ".join(["http://HOST:PORT/v1[#MODEL]", "local:MODEL", SIMILARITY, *others])
    raise UnknownName(f"there is no reader {public_address(reader)!r}; known are {known}")


def _from_other_packages() -> dict[str, EntryPoint]:
    entries = sorted(entry_points(group=ENTRY_POINTS), key=lambda entry: entry.name)
    return {entry.name: entry for entry in entries if entry.name != SIMILARITY}


def _check_options(reader: str, make: Callable[..., Reader], options: dict[str, object], *, given: int) -> None:
    parameters = list(inspect.signature(make).parameters.values())[given:]
    if any(p.kind is p.VAR_KEYWORD for p in parameters):
        return
    unknown = sorted(set(options) - {p.name for p in parameters})
    if unknown:
        known = ", ".join(f"{p.name} = {p.default!r}" for p in parameters) or "none"
        raise OptionError(f"{public_address(reader)} has no option {unknown[0]!r}; it knows {known}")
