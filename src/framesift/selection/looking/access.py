"""A selector's access to frames and models: what it inspects and asks is counted, and replies are read.

Selectors that use every score read `Evidence.relevance`. Selectors designed to score or decode few frames go through
FrameAccess; those that ask a model go through ModelCalls, at most `calls` times for one question.
"""

import json
import re
from collections.abc import Sequence
from itertools import islice
from typing import Any

import numpy as np

from framesift._utils.text import clock, printable
from framesift.errors import InputError, OptionError
from framesift.selection.validation import check_whole
from framesift.types import Evidence, Question
from framesift.types.lookup import Lookup, Model, Part
from framesift.types.question import option_letter
from framesift.types.vectors import Array, validate_scores

CAPTION_PROMPT = (
    "Describe this frame of a video in one sentence: who or what is visible, what happens, and any legible text."
)
LONGEST_SIDE = 448  # of the frames that are described, in pixels
MAX_CHARACTERS = 400  # of a description; a model that rambles must not fill the next prompt
MAX_JSON_STARTS = 100  # brackets tried as the start of a reply's JSON, so that the work stays linear


class FrameAccess:
    """One selector's access to scores and images; `frames_inspected` counts the distinct frames it requested."""

    def __init__(self, evidence: Evidence, lookup: Lookup) -> None:
        self._evidence, self._lookup = evidence, lookup
        self.known: dict[int, float] = {}  # the scores requested so far
        self._inspected: set[int] = set()

    @property
    def frames_inspected(self) -> int:
        return len(self._inspected)

    def scores(self, indices: Sequence[int]) -> Array:
        """(K,) float64: the relevance of these frames, from the evidence or the source of frames."""
        new = [index for index in dict.fromkeys(indices) if index not in self.known]
        if new:
            if self._evidence.is_scored:
                values = self._evidence.relevance[new]
            else:
                given = self._lookup.require("frames").scores(new)
                values = validate_scores(given, len(new), "the source's scores")
            self.known |= dict(zip(new, values.tolist(), strict=True))
            self._inspected.update(new)
        return np.array([self.known[index] for index in indices])

    def picture_size(self, longest_side: int) -> tuple[int, int]:
        """Width and height of the frames with this longer side; 16 : 9 if the source has no `size`."""
        width, height = getattr(self._lookup.frames, "size", (0, 0))
        if width < 1 or height < 1:
            width, height = 16, 9
        scale = longest_side / max(width, height)
        return max(1, round(width * scale)), max(1, round(height * scale))

    def images(self, indices: Sequence[int], *, size: tuple[int, int]) -> list[Array]:
        """These frames as uint8 RGB arrays (height, width, 3), scaled to `size` = (width, height)."""
        images = [np.asarray(image) for image in self._lookup.require("frames").pictures(indices, size=size)]
        shapes = {image.shape for image in images}
        if len(images) != len(indices) or shapes - {(size[1], size[0], 3)}:
            got = f"{len(images)} images of shapes {sorted(shapes)}"
            raise InputError(f"the source gave {got}; expected {len(indices)} of {(size[1], size[0], 3)}")
        self._inspected.update(indices)
        return images


class ModelCalls:
    """One selector's calls of a model for one question; one more than `limit` is an error."""

    def __init__(self, lookup: Lookup, limit: int) -> None:
        self._lookup, self._limit = lookup, check_whole("calls", limit, low=1)
        self.made = 0

    def require(self, count: int) -> None:
        """Raise an OptionError unless this many more calls are within the limit, before any of them is made."""
        if self.made + count > self._limit:
            raise OptionError(
                f"{self._lookup.method} needs {self.made + count} model calls for this question, more than calls = "
                f"{self._limit}; allow more (--set calls={self.made + count})"
            )

    @property
    def left(self) -> int:
        return self._limit - self.made

    def ask(self, *parts: Part, model: Model | None = None) -> str:
        """The model's reply to one message. model: another one, whose calls count as well."""
        self.require(1)
        self.made += 1
        reply = (model or self._lookup.require("model"))(parts)
        if not isinstance(reply, str):
            raise InputError(f"the model returned {type(reply).__name__}; expected a text")
        return reply


class FrameCaptions:
    """The descriptions of the frames requested so far; each frame is described once, by one call."""

    def __init__(self, evidence: Evidence, lookup: Lookup, access: FrameAccess, calls: ModelCalls) -> None:
        self._times_s, self._access, self._calls, self._captioner = evidence.times_s, access, calls, lookup.captioner
        self.texts: dict[int, str] = {}

    def add(self, indices: Sequence[int]) -> None:
        """Describe the frames that have no description yet."""
        new = [index for index in dict.fromkeys(indices) if index not in self.texts]
        images = self._access.images(new, size=self._access.picture_size(LONGEST_SIDE)) if new else []
        for index, image in zip(new, images, strict=True):
            text = self._calls.ask(CAPTION_PROMPT, image, model=self._captioner)
            self.texts[index] = printable(text)[:MAX_CHARACTERS]

    def listed(self, indices: Sequence[int]) -> str:
        """The descriptions of these frames, one a line, each with its number and its time."""
        return "\n".join(
            f"{k}. [{clock(float(self._times_s[index]))}] {self.texts[index]}"
            for k, index in enumerate(indices, start=1)
        )


def question_lines(question: Question) -> str:
    """The question and its options by letter, as prompts state them."""
    choices = (f"{option_letter(k)}. {text}" for k, text in question.choices.items())
    return "\n".join([f"Question: {question.text.strip()}", *choices])


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


def candidate_rate(evidence: Evidence) -> float:
    """Candidates per second."""
    steps = np.diff(evidence.times_s)
    return 1.0 / float(np.median(steps)) if len(steps) and np.median(steps) > 0 else 1.0
