"""What a selector may ask for beyond arrays: frames one by one, objects to look for, a detector that finds them.

Protocols and small records only. Those who implement them live in other rooms: `encode.detect` finds objects,
`naming` reads them from a question, `library.frames` decodes and scores the frames asked for.
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
    """How two objects of a question belong together."""

    first: str
    kind: RelationKind
    second: str


@dataclass(frozen=True)
class Objects:
    """What a question says to look for: targets that answer it, cues that lead to them, how they belong together."""

    targets: tuple[str, ...]
    cues: tuple[str, ...] = ()
    relations: tuple[Relation, ...] = ()

    def __post_init__(self) -> None:
        if isinstance(self.targets, str) or isinstance(self.cues, str):
            raise InputError("targets and cues are texts each; expected lists of phrases, as in ('red car',)")
        object.__setattr__(self, "targets", tuple(self.targets))
        object.__setattr__(self, "cues", tuple(self.cues))
        object.__setattr__(self, "relations", tuple(Relation(*relation) for relation in self.relations))
        for relation in self.relations:
            if relation.kind not in RELATION_KINDS:
                raise InputError(f"a relation is {relation.kind!r}; expected one of {', '.join(RELATION_KINDS)}")

    @property
    def phrases(self) -> tuple[str, ...]:
        """Every object once, targets first."""
        related = (phrase for relation in self.relations for phrase in (relation.first, relation.second))
        return tuple(dict.fromkeys((*self.targets, *self.cues, *related)))


class Box(NamedTuple):
    """An object found in a picture: one of the phrases looked for, how sure, and where (pixels)."""

    phrase: str
    score: float
    left: float
    top: float
    right: float
    bottom: float


class Detector(Protocol):
    """Finds what words describe in pictures."""

    name: str

    def detect(self, pictures: Sequence[Array], phrases: Sequence[str]) -> Sequence[Sequence[Box]]:
        """For each uint8 RGB picture (height, width, 3) the boxes of any of the phrases."""


class FrameSource(Protocol):
    """Candidates looked at one by one: what is costly for every frame is made here for those asked for."""

    def scores(self, indices: Sequence[int]) -> ArrayLike:
        """(K,) relevance of these candidates."""

    def pictures(self, indices: Sequence[int], *, size: tuple[int, int]) -> Sequence[Array]:
        """These candidates as uint8 RGB (height, width, 3), scaled to `size` = (width, height)."""
