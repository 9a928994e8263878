"""A selector's access to frames, detectors and models: what it inspects and asks is counted, and replies are read.

Selectors that use every score read `Evidence.relevance`. Those designed to score or decode few frames, to detect
objects or to ask a model do so through one Access for each question.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, TypeVar

import numpy as np

from framesift._utils.text import clock, printable
from framesift.errors import OptionError
from framesift.types import Evidence, Selection
from framesift.types.lookup import Box, Lookup, Model, Part
from framesift.types.question import option_letter
from framesift.types.vectors import Array, validate_scores

CAPTION_PROMPT = (
    "Describe this frame of a video in one sentence: who or what is visible, what happens, and any legible text."
)
LONGEST_SIDE = 448  # of the frames that are described, in pixels
MAX_CHARACTERS = 400  # of a description; a model that rambles must not fill the next prompt
MAX_JSON_STARTS = 100  # brackets tried without success as the start of a reply's JSON, so that the work stays linear

# Width and height of one frame in a grid, and of one that is looked at alone, as in T*.
CELL_SIZE = (200, 95)
ALONE_SIZE = (600, 285)

FieldKind = TypeVar("FieldKind")
Detections = Mapping[int, Sequence[Box]]  # frame index → its boxes


class Access:
    """What one selector inspects and asks for one question: at most `limit` calls of models.

    known: frame index → its score; captions: frame index → its description; calls: those made so far.
    """

    def __init__(self, evidence: Evidence, lookup: Lookup, limit: int = 0) -> None:
        self.evidence, self.lookup, self._limit = evidence, lookup, limit
        self._inspected: set[int] = set()
        self.known: dict[int, float] = {}
        self.captions: dict[int, str] = {}
        self.calls = 0

    def select(self, indices: Iterable[int], **about: Any) -> Selection:
        """The selection of these frames; its trace has the number of distinct frames that were inspected."""
        return Selection.of(self.evidence, indices, looked_at=len(self._inspected), **about)

    def scores(self, indices: Sequence[int]) -> dict[int, float]:
        """The relevance of these frames, from the evidence or the source of frames."""
        new = [index for index in dict.fromkeys(indices) if index not in self.known]
        if new:
            is_scored = self.evidence.is_scored
            given = self.evidence.relevance[new] if is_scored else self.lookup.require("frames").scores(new)
            values = validate_scores(given, len(new), "the source's scores")
            self.known |= dict(zip(new, values.tolist(), strict=True))
            self._inspected.update(new)
        return {index: self.known[index] for index in indices}

    def images(self, indices: Sequence[int], size: tuple[int, int] | None = None) -> list[Array]:
        """These frames as uint8 RGB arrays (height, width, 3), scaled to `size` = (width, height).

        Without a size they are as large as for a description, in proportion; 16 : 9 if the source has no size.
        """
        source = self.lookup.require("frames")
        if size is None:
            shape = getattr(source, "size", (0, 0))
            width, height = shape if min(shape) > 0 else (16, 9)
            scale = LONGEST_SIDE / max(width, height)
            size = max(1, round(width * scale)), max(1, round(height * scale))
        self._inspected.update(indices)
        return [np.asarray(image) for image in source.images(indices, size=size)]

    def detect(self, indices: Sequence[int], phrases: Sequence[str], *, side: int) -> dict[int, list[Box]]:
        """Frame index → its boxes, in pixels of its own cell of a grid of side × side frames.

        A box belongs to the cell nearest to its centre.
        """
        width, height = CELL_SIZE
        detections: dict[int, list[Box]] = {index: [] for index in indices}
        for start in range(0, len(indices), side * side):
            batch = list(indices[start : start + side * side])
            grid = tile_images(self.images(batch, CELL_SIZE), side)
            for box in self.lookup.require("detector").detect([grid], phrases)[0]:
                middle = (box.left + box.right) / 2 // width, (box.top + box.bottom) / 2 // height
                column, row = (int(min(max(place, 0), side - 1)) for place in middle)
                cell = row * side + column
                if cell < len(batch):
                    left, top = column * width, row * height
                    inside = (box.left - left, box.top - top, box.right - left, box.bottom - top)
                    detections[batch[cell]].append(Box(box.phrase, float(box.score), *map(float, inside)))
        return detections

    @property
    def left(self) -> int:
        """How many more calls may be made."""
        return self._limit - self.calls

    def require_calls(self, count: int) -> None:
        """Raise an OptionError unless this many more calls are within the limit, before any of them is made."""
        if count > self.left:
            needed = self.calls + count
            raise OptionError(
                f"{self.lookup.method} needs {needed} model calls for this question, more than calls = "
                f"{self._limit}; allow more (--set calls={needed})"
            )

    def ask(self, *parts: Part, model: Model | None = None) -> str:
        """The model's reply to one message. model: another one, whose calls count as well."""
        self.require_calls(1)
        self.calls += 1
        return (model or self.lookup.require("model"))(parts)

    def written(self, given: object, prompt: str) -> object:
        """The JSON object of an option, which may be a text, else of the model's reply; None without either."""
        if given is None and self.lookup.model is not None:
            given = self.ask(prompt)
        return parse_json(given, dict) if isinstance(given, str) else given

    def describe(self, indices: Sequence[int]) -> None:
        """Add the captions of those frames that have none yet, one call for each."""
        new = [index for index in dict.fromkeys(indices) if index not in self.captions]
        for index, image in zip(new, self.images(new) if new else [], strict=True):
            text = self.ask(CAPTION_PROMPT, image, model=self.lookup.captioner)
            self.captions[index] = printable(text)[:MAX_CHARACTERS]

    def listed(self, indices: Sequence[int]) -> str:
        """The captions of these frames, one a line, each with its number and its time."""
        lines = ((clock(float(self.evidence.times_s[index])), self.captions[index]) for index in indices)
        return "\n".join(f"{k}. [{time}] {caption}" for k, (time, caption) in enumerate(lines, 1))

    @cached_property
    def question(self) -> str:
        """The question and its options by letter, as prompts state them."""
        question = self.lookup.require("question")
        choices = (f"{option_letter(k)}. {text}" for k, text in question.choices.items())
        return "\n".join([f"Question: {question.text.strip()}", *choices])


def tile_images(images: Sequence[Array], side: int) -> Array:
    """One image of side × side cells, filled row by row; remaining cells are black."""
    cells = np.zeros((side**2, *images[0].shape), dtype=np.uint8)
    cells[: len(images)] = images
    _, height, width, _ = cells.shape
    return cells.reshape(side, side, height, width, 3).swapaxes(1, 2).reshape(side * height, side * width, 3)


def detected_scores(detections: Detections, weights: Mapping[str, float]) -> Array:
    """(N,) the largest weight × confidence of the boxes of each frame, 0 without any. weights: of the phrases."""
    return np.array([detection_score(boxes, weights) for boxes in detections.values()])


def detection_score(boxes: Sequence[Box], weights: Mapping[str, float]) -> float:
    """A frame's score: the largest weight × confidence of its boxes, 0 without any."""
    return max((weights.get(box.phrase, 0.0) * box.score for box in boxes), default=0.0)


def json_values(reply: str, kind: type | tuple[type, ...]) -> Iterator[Any]:
    """Yield the JSON values of a type in a reply, in order; of one that was cut off, those in it that are complete."""
    decoder, position = json.JSONDecoder(), 0
    for _ in range(MAX_JSON_STARTS):
        while found := re.compile(r"[{\[]").search(reply, position):
            position = found.end()
            try:
                value, end = decoder.raw_decode(reply, found.start())
            except ValueError:
                break
            except RecursionError:  # so is the rest of the reply
                return
            if not isinstance(value, kind):
                break
            position = end
            yield value


def parse_json(reply: str, kind: type | tuple[type, ...] = (dict, list)) -> Any:
    """The first JSON object or array in a reply, of the given types; None if there is none that can be read."""
    return next(json_values(reply, kind), None)


def reply_field(reply: str, name: str) -> Any:
    """The value of this name in a reply's JSON object, or the reply's list; None without either."""
    value = parse_json(reply)
    return value.get(name) if isinstance(value, dict) else value


def field_of(value: object, name: str, kind: type[FieldKind]) -> FieldKind:
    """A field of an object in a reply; without one of this type, an empty one."""
    found = value.get(name) if isinstance(value, Mapping) else None
    return found if isinstance(found, kind) else kind()


def whole_number(value: object) -> int | None:
    """A whole number of a reply, also one that is a text; None for anything else."""
    if isinstance(value, str) and value.strip().isdecimal() and len(value) < 9:
        return int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def candidate_rate(evidence: Evidence) -> float:
    """Candidates per second."""
    return 1.0 / float(np.median(np.diff(evidence.times_s))) if len(evidence) > 1 else 1.0
