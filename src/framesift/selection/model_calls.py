"""Calls of a model by a selector: what it is asked, how often, and what is known about the question.

A selector that asks a model has the keyword options

    model: Model | None = None        what it asks; a server's address is resolved by the pipeline (`--set model=URL`)
    captioner: Model | None = None    what describes single frames, where that may be another model
    calls: int = …                    the most calls for one question
    context: QuestionContext | None   the question; the pipeline provides it

and asks through `ModelCalls(method, model, calls)`. `parse_json` reads the replies.
"""

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from framesift.errors import InputError, OptionError
from framesift.selection.validation import check_whole
from framesift.types import Evidence, Question
from framesift.types.vectors import Array, UnitRows

SERVER_OPTIONS = ("model", "captioner")  # options of selectors that may be the address of a server
Part = str | Array  # text, or a uint8 RGB image (height, width, 3)
Model = Callable[[Sequence[Part]], str]  # from the parts of one message to the reply


@dataclass(frozen=True)
class QuestionContext:
    """What a selector can use about one question beyond its evidence.

    encode_texts: texts → (K, D) text vectors in the space of the frames. score_events: texts → (K, E) cosines with the
    events that were given to the evidence, by the events' own encoder if they have one.
    """

    question: Question
    encode_texts: Callable[[Sequence[str]], ArrayLike] | None = None
    score_events: Callable[[Sequence[str]], ArrayLike] | None = None

    def score_frames(self, evidence: Evidence, texts: Sequence[str]) -> Array:
        """(K, N) cosines of each text with each frame."""
        if self.encode_texts is None:
            raise InputError("the context has no encode_texts; expected a function from texts to (K, D) vectors")
        vectors = UnitRows(np.asarray(self.encode_texts(list(texts))), "encode_texts", dim=evidence.vectors.dim)
        return np.ascontiguousarray(evidence.vectors.products(vectors.exact()).T)

    def score_remaining_events(self, evidence: Evidence, texts: Sequence[str]) -> Array:
        """(K, E) cosines of each text with each event inside the video."""
        if not evidence.events:
            return np.zeros((len(texts), 0))
        if self.score_events is None:
            raise InputError("the context has no score_events; expected a function from texts to (K, E) cosines")
        return np.asarray(self.score_events(list(texts)), dtype=np.float64)[:, list(evidence.event_positions)]


class ModelCalls:
    """One selector's calls of a model for one question; one more than `limit` is an error."""

    def __init__(self, method: str, model: Model | None, limit: int) -> None:
        self._method, self._model = method, require_model(method, model)
        self._limit = check_whole("calls", limit, low=1)
        self.made = 0

    def require(self, count: int) -> None:
        """Raise an OptionError unless this many more calls are within the limit, before any of them is made."""
        if self.made + count > self._limit:
            raise OptionError(
                f"{self._method} needs {self.made + count} model calls for this question, more than calls = "
                f"{self._limit}; allow more (--set calls={self.made + count})"
            )

    @property
    def left(self) -> int:
        return self._limit - self.made

    def ask(self, *parts: Part, model: Model | None = None) -> str:
        """The model's reply to one message. model: another one, whose calls count as well."""
        self.require(1)
        self.made += 1
        reply = (self._model if model is None else require_model(self._method, model))(parts)
        if not isinstance(reply, str):
            raise InputError(f"the model returned {type(reply).__name__}; expected a text")
        return reply


def require_model(method: str, model: Model | None) -> Model:
    """Return the model, or raise an InputError that says how to pass one."""
    if model is None:
        raise InputError(
            f"{method} asks a model: pass model='http://HOST:PORT/v1' (--set model=http://HOST:PORT/v1), or a function "
            "from a list of texts and images to the reply"
        )
    if not callable(model):
        raise InputError(f"model is {model!r}; expected an address, or a function from parts to the reply")
    return model


def require_question(method: str, context: QuestionContext | None) -> QuestionContext:
    """Return the context, or raise an InputError that says how to pass one."""
    if not isinstance(context, QuestionContext):
        raise InputError(f"{method} needs the question's words: pass context=QuestionContext(Question(…))")
    return context


def model_name(model: Model | None) -> str | None:
    """The name for a trace; None without a model."""
    return None if model is None else str(getattr(model, "name", getattr(model, "__name__", type(model).__name__)))


MAX_JSON_STARTS = 100  # brackets tried as the start of a reply's JSON, so that the work stays linear


def parse_json(reply: str, kind: type | tuple[type, ...] = (dict, list)) -> Any:
    """The first JSON object or array in a reply, of the given types; None if there is none that can be read."""
    decoder = json.JSONDecoder()
    for start in islice(re.finditer(r"[{\[]", reply), MAX_JSON_STARTS):
        try:
            value = decoder.raw_decode(reply, start.start())[0]
        except ValueError:
            continue
        except RecursionError:  # so is the rest of the reply
            break
        if isinstance(value, kind):
            return value
    return None
