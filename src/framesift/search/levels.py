"""What unrelated questions score at best in the searched videos together: the level that a match exceeds.

    STORE/corpus/chance-<encoder>-<its fingerprint>-<kind>.json    the best score of each unrelated question, by source

The rule is that for one video, applied to all of them as if they were one: with a level for each video, every further
video would be another chance for a text that matches nothing.
"""

import json
import math
from collections.abc import Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from framesift._utils.files import write_text
from framesift._utils.json import check_digest, load_json, with_digest
from framesift._utils.records import read_record
from framesift.encoders.base import Encoder
from framesift.errors import FramesiftError, InputError
from framesift.search.sources import EventVectors, FrameVectors
from framesift.selection.chance import UNRELATED, best_level
from framesift.store.manifests import CHANCE_RULES
from framesift.store.store import log_unwritable
from framesift.store.text_vectors import cached_text_vectors
from framesift.types.vectors import Array


@dataclass(frozen=True)
class _BestScores:
    """rules, questions: how the scores were computed. scores: of each question, by source."""

    rules: int
    questions: tuple[str, ...]
    scores: dict[str, tuple[float, ...]]


def library_level(
    file: Path, sources: Sequence[FrameVectors | EventVectors], model: Encoder, videos: Collection[str] | None
) -> float:
    """The level of the sources of these videos, by fingerprint, or of all. The file gets what it lacks."""
    stored = _load(file)
    scores = {source.owner: stored[source.owner] for source in sources if source.owner in stored}
    missing = [source for source in sources if source.owner not in scores]
    if missing:
        scores |= _compute(missing, cached_text_vectors(model, UNRELATED, file.parent.parent))
    if scores.keys() != stored.keys():
        _save(file, scores)
    return best_level(np.array([row for owner, row in scores.items() if is_among(owner, videos)]))


def _compute(sources: Sequence[FrameVectors | EventVectors], queries: Array) -> dict[str, tuple[float, ...]]:
    """The best score of each unrelated question, whose vectors are queries (K, D), by source."""
    scores = {}
    for source in sources:
        with suppress(FramesiftError, OSError, ValueError, KeyError):  # reported where it is searched
            best = source.unrelated_scores(queries).max(axis=0)
            scores[source.owner] = tuple(round(float(score), 6) for score in best)
    return scores


def is_among(owner: str, videos: Collection[str] | None) -> bool:
    """Whether a source is one of these videos, given by fingerprint; None stands for all."""
    return videos is None or owner.partition("/")[0] in videos


def _load(file: Path) -> dict[str, tuple[float, ...]]:
    """The stored scores; none if the file is missing, damaged or from a version that scores otherwise."""
    try:
        record = load_json(file.read_bytes(), file.name, "the scores of unrelated questions")
        best = read_record(_BestScores, record, file.name)
        check_digest(record, file.name)
    except (InputError, OSError):
        return {}
    if (best.rules, best.questions) != (CHANCE_RULES, UNRELATED):
        return {}
    usable = (len(row) == len(UNRELATED) and all(map(math.isfinite, row)) for row in best.scores.values())
    return best.scores if all(usable) else {}


def _save(file: Path, scores: dict[str, tuple[float, ...]]) -> None:
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        record = {"rules": CHANCE_RULES, "questions": UNRELATED, "scores": scores}
        write_text(file, json.dumps(with_digest(record)))
    except OSError as error:
        log_unwritable(file.parent.parent, error)
