"""Inputs of a selector beyond arrays: frames on request, the objects to detect, and the detector.

Protocols and records only. `framesift.encoders.detectors` implements Detector, `framesift.indexing.video_frames`
implements FrameSource, and `framesift.text.object_names` extracts Objects from a question.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, Protocol, get_args

from numpy.typing import ArrayLike

from framesift.errors import InputError
from framesift.types.vectors import Array

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

    def pictures(self, indices: Sequence[int], *, size: tuple[int, int]) -> Sequence[Array]:
        """These candidates as uint8 RGB (height, width, 3), scaled to `size` = (width, height)."""
