"""Inputs of a selector beyond arrays, as one `Lookup` for each question.

`framesift.encoders` implements Detector and TemporalEncoder, `framesift.indexing.video_frames` FrameSource, and
`framesift.selection.looking.object_names` extracts Objects from a question; `framesift.pipeline.inputs` puts them
together.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple, Protocol, get_args

import numpy as np
from numpy.typing import ArrayLike

from framesift.errors import InputError
from framesift.types.evidence import Evidence
from framesift.types.question import Question
from framesift.types.vectors import Array, UnitRows

RelationKind = Literal["spatial", "attribute", "temporal", "causal"]
RELATION_KINDS: tuple[RelationKind, ...] = get_args(RelationKind)


class Relation(NamedTuple):
    """A relation between two objects of a question."""

    first: str
    kind: RelationKind
    second: str


@dataclass(frozen=True)
class Objects:
    """The objects a question names: targets that answer it, cues that lead to them, and relations between them."""

    targets: tuple[str, ...]
    cues: tuple[str, ...] = ()
    relations: tuple[Relation, ...] = ()

    def __post_init__(self) -> None:
        if isinstance(self.targets, str) or isinstance(self.cues, str):
            raise InputError("targets or cues is a string; expected a list of phrases, as in ('red car',)")
        object.__setattr__(self, "targets", tuple(self.targets))
        object.__setattr__(self, "cues", tuple(self.cues))
        object.__setattr__(self, "relations", tuple(Relation(*relation) for relation in self.relations))
        for relation in self.relations:
            if relation.kind not in RELATION_KINDS:
                raise InputError(
                    f"the kind of a relation is {relation.kind!r}; expected one of {', '.join(RELATION_KINDS)}"
                )

    @property
    def phrases(self) -> tuple[str, ...]:
        """Every object once, targets first."""
        related = (phrase for relation in self.relations for phrase in (relation.first, relation.second))
        return tuple(dict.fromkeys((*self.targets, *self.cues, *related)))


class Box(NamedTuple):
    """A detected object: its phrase, the confidence, and its place in the image (pixels)."""

    phrase: str
    score: float
    left: float
    top: float
    right: float
    bottom: float


class Detector(Protocol):
    """An open-vocabulary object detector."""

    name: str

    def detect(self, images: Sequence[Array], phrases: Sequence[str], /) -> Sequence[Sequence[Box]]:
        """For each uint8 RGB image (height, width, 3), the boxes of any of the phrases."""


class FrameSource(Protocol):
    """Scores and decoded frames on request, for selectors that need them for few candidates.

    Optional: `size`, the width and height of the video's frames, so that they can be scaled in proportion.
    """

    def scores(self, indices: Sequence[int]) -> ArrayLike:
        """(K,) relevance of these candidates."""

    def images(self, indices: Sequence[int], *, size: tuple[int, int]) -> Sequence[Array]:
        """These candidates as uint8 RGB (height, width, 3), scaled to `size` = (width, height)."""


class TemporalEncoder(Protocol):
    """A network that maps frame vectors to vectors in their temporal context."""

    name: str

    def embed(self, frames: Array) -> Array:
        """(N, D) CLIP's image vectors, not normalised → (N, D), not normalised."""


Part = str | Array  # text, or a uint8 RGB image (height, width, 3)
Model = Callable[[Sequence[Part]], str]  # from the parts of one message to the reply

SERVER_OPTIONS = ("model", "captioner")  # parts of a Lookup that may be the address of a server
GIVEN_PARTS = ("detector", "network", *SERVER_OPTIONS)  # those that are options of a selector

# What is missing, and how to pass it.
_MISSING = {
    "frames": "needs decoded frames: pass lookup=Lookup(frames=…), or select from an indexed video whose file exists",
    "detector": "needs an object detector: pass detector='owlv2' (--set detector=owlv2), a "
    "checkpoint's folder, or any object with detect(images, phrases)",
    "network": "needs its trained weights: pass network='FILE' (--set network=FILE), a safetensors file, or "
    "use bin-max, which needs none",
    "model": "asks a model: pass model='http://HOST:PORT/v1' (--set model=http://HOST:PORT/v1), or a function from a "
    "list of texts and images to the reply",
    "objects": "searches for objects, and none are named: pass lookup=Lookup(objects=Objects(targets))",
    "question": "needs the question's words: pass lookup=Lookup(question=Question(…))",
    "encode_texts": "compares texts with frames: pass lookup=Lookup(encode_texts=…), from texts to (K, D) vectors",
    "score_events": "compares texts with events: pass lookup=Lookup(score_events=…), from texts to (K, E) cosines",
}


@dataclass(frozen=True, eq=False, kw_only=True)
class Lookup:
    """What a selector may look at, detect or ask about one question beyond its evidence; all of it is optional.

    frames: the candidates, decoded or scored on request. detector, and the objects to detect. network: of `tspo`.
    model: what is asked; captioner: what describes single frames, by default the model. encode_texts: texts → (K, D)
    text vectors in the space of the frames. score_events: texts → (K, E) cosines with the events that were given to the
    evidence, by the events' own encoder if they have one. method: the selector that uses it, for errors.
    """

    frames: FrameSource | None = None
    detector: Detector | None = None
    objects: Objects | None = None
    network: TemporalEncoder | None = None
    model: Model | None = None
    captioner: Model | None = None
    question: Question | None = None
    encode_texts: Callable[[Sequence[str]], ArrayLike] | None = None
    score_events: Callable[[Sequence[str]], ArrayLike] | None = None
    method: str = "this selector"

    def __post_init__(self) -> None:
        if self.detector is not None and not hasattr(self.detector, "detect"):
            raise InputError(f"detector is {self.detector!r}; expected an object with detect(images, phrases)")
        for name in SERVER_OPTIONS:
            if not callable(getattr(self, name) or str):
                raise InputError(
                    f"{name} is {getattr(self, name)!r}; expected an address, or a function from parts to the reply"
                )

    def require(self, part: str) -> Any:
        """The part of this name, or an InputError that says how to pass one."""
        value = getattr(self, part)
        if value is None or (part == "objects" and not value.phrases):
            raise InputError(f"{self.method} {_MISSING[part]}")
        return value

    def among(self, kept: Sequence[int]) -> "Lookup":
        """The same for evidence with these candidates only."""
        return self if self.frames is None else replace(self, frames=SomeFrames(self.frames, kept))

    def score_frames(self, evidence: Evidence, texts: Sequence[str]) -> Array:
        """(K, N) cosines of each text with each frame."""
        rows = np.asarray(self.require("encode_texts")(list(texts)))
        vectors = UnitRows(rows, "encode_texts", dim=evidence.vectors.dim)
        return np.ascontiguousarray(evidence.vectors.products(vectors.exact()).T)

    def score_remaining_events(self, evidence: Evidence, texts: Sequence[str]) -> Array:
        """(K, E) cosines of each text with each event inside the video."""
        if not evidence.events:
            return np.zeros((len(texts), 0))
        scores = np.asarray(self.require("score_events")(list(texts)), dtype=np.float64)
        return scores[:, np.array(evidence.event_positions)]


@dataclass(frozen=True)
class SomeFrames:
    """A source of some of the candidates of another one."""

    source: FrameSource
    kept: Sequence[int]

    @property
    def size(self) -> tuple[int, int]:
        return getattr(self.source, "size", (0, 0))

    def scores(self, indices: Sequence[int]) -> ArrayLike:
        return self.source.scores([int(self.kept[index]) for index in indices])

    def images(self, indices: Sequence[int], *, size: tuple[int, int]) -> Sequence[Array]:
        return self.source.images([int(self.kept[index]) for index in indices], size=size)
