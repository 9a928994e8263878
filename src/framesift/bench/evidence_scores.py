"""Scores of a selection against annotated moments, without a reader; works for frames of any method.

Key frame rate, scene hit rate and the unified score are those of KFS-Bench (Li et al., WACV 2026), implemented
from its definitions: the geometric mean of the rate of frames inside a scene, of the recall of scenes that have their
fair share of these, and of the balance of the frames over the scenes.
"""

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from framesift._utils.files import StrPath
from framesift._utils.records import Seconds, listed, read_field
from framesift.bench.items import Item, Spans, read_rows
from framesift.bench.statistics import Interval, share_interval
from framesift.errors import InputError
from framesift.types.vectors import Array

NEAR_S = 2.0
MEANS = ("near", "moments_near", "hit", "inside", "scenes_hit")  # scores that are averaged over questions
# KFS-Bench: ends are whole seconds, inclusive.
SCENE_END_S = 1.0
# KFS-Bench: a fair distribution is between equal shares (0) and shares by length (1), in steps of 0.1.
_FAIR_POWERS = np.arange(11) / 10
# KFS-Bench: the minimum of a question in the geometric mean of the unified score.
_LEAST_UNIFIED = 0.01


@dataclass(frozen=True)
class EvidenceScore:
    """The score of one question's frames. None: not defined for its annotation.

    near: a frame is within 2 s of a true moment or scene. moments_near: the share of true moments and scenes with
    one. hit: a frame is inside a true scene. inside: the share of frames inside one. scenes_hit: the share of scenes
    with a frame inside.
    """

    item_id: str
    video_id: str
    frames: int
    near: bool
    moments_near: float
    hit: bool | None = None
    inside: float | None = None
    scenes_hit: float | None = None
    unified: float | None = None


@dataclass(frozen=True)
class EvidenceSummary:
    """Means over questions, with intervals clustered by video; n and n_scenes: numbers of questions."""

    n: int
    n_scenes: int
    unscored: int  # questions without any annotated moment
    frames: float
    near: Interval | None
    moments_near: Interval | None
    hit: Interval | None
    inside: Interval | None
    scenes_hit: Interval | None
    unified: float | None  # the geometric mean, as in KFS-Bench


def score_times(item: Item, times_s: Sequence[float]) -> EvidenceScore | None:
    """Score the frames at these times against the question's moments and scenes; None if it has neither."""
    targets = [((moment, moment),) for moment in item.moments_s] + list(item.scenes)
    if not targets:
        return None
    times = np.asarray(times_s, dtype=np.float64)
    is_near = [bool(_within(times, spans, NEAR_S).any()) for spans in targets]
    scene_scores = _scene_scores(times, item.scenes) if item.scenes else (None, None, None, None)
    return EvidenceScore(item.id, item.video_id, len(times), any(is_near), float(np.mean(is_near)), *scene_scores)


def score_selections(
    items: Iterable[Item], times_s: Mapping[str, Sequence[float]]
) -> tuple[list[EvidenceScore], EvidenceSummary]:
    """Score every question whose frames are given by id, and the means."""
    found = [score_times(item, times_s[item.id]) for item in items if item.id in times_s]
    scores = [score for score in found if score is not None]
    unified = [max(_LEAST_UNIFIED, score.unified) for score in scores if score.unified is not None]
    summary = EvidenceSummary(
        n=len(scores),
        n_scenes=len(unified),
        unscored=len(found) - len(scores),
        frames=sum(score.frames for score in scores) / len(scores) if scores else 0.0,
        unified=math.exp(sum(map(math.log, unified)) / len(unified)) if unified else None,
        **{name: _mean(scores, name) for name in MEANS},
    )
    return scores, summary


def uniform_times(items: Iterable[Item], count: int) -> dict[str, list[float]]:
    """The middles of `count` equal parts of each question's video, by its annotated duration."""
    times = {}
    for item in items:
        if item.duration_s is None:
            raise InputError(f"{item.id} has no duration; expected a data set whose annotation has durations")
        times[item.id] = [(k + 0.5) * item.duration_s / count for k in range(count)]
    return times


def read_scenes(path: StrPath) -> dict[str, tuple[Spans, ...]]:
    """Read scenes by question from a CSV in KFS-Bench's format: id, scene_id, start, end, with a row per span."""
    rows, _ = read_rows(Path(path))
    if not {"id", "scene_id", "start", "end"} <= set(rows[0]):
        raise InputError(f"{path} has {listed(rows[0])}; expected the columns id, scene_id, start, end")
    spans: dict[str, dict[str, list[tuple[float, float]]]] = defaultdict(lambda: defaultdict(list))
    for k, row in enumerate(rows, 2):
        location = f"{path}, line {k}"
        name, scene = (read_field(row, key, str, location) for key in ("id", "scene_id"))
        start_s, end_s = (read_field(row, key, Seconds, location) for key in ("start", "end"))
        spans[name][scene].append((start_s, end_s + SCENE_END_S))
    return {name: tuple(map(tuple, scenes.values())) for name, scenes in spans.items()}


def _within(times: Array, spans: Spans, slack_s: float = 0.0) -> Array:
    """(n,) whether each time is in one of the spans, ends included."""
    ends = np.asarray(spans, dtype=np.float64)
    inside = (times[:, None] >= ends[:, 0] - slack_s) & (times[:, None] <= ends[:, 1] + slack_s)
    return np.asarray(inside.any(axis=1))


def _scene_scores(times: Array, scenes: Sequence[Spans]) -> tuple[bool, float, float, float]:
    """Whether a frame is inside, key frame rate, scene hit rate and unified score."""
    inside = np.array([_within(times, spans) for spans in scenes])  # (scenes, frames)
    counts = inside.sum(axis=1)
    hits = int(inside.any(axis=0).sum())
    rate = hits / len(times) if len(times) else 0.0
    lengths = np.array([sum(end - start for start, end in spans) for spans in scenes])
    share = lengths / lengths.sum() if lengths.sum() > 0 else np.full(len(scenes), 1 / len(scenes))
    due = np.floor(np.minimum(share, 1 / len(scenes)) * hits).clip(min=1)
    recall = float((counts >= due).mean())
    spread = 0.0
    if hits:
        fair = np.power.outer(lengths, _FAIR_POWERS)
        norms = np.linalg.norm(counts) * np.linalg.norm(fair, axis=0)
        spread = float(np.divide(counts @ fair, norms, out=np.zeros(len(norms)), where=norms > 0).max())
    return hits > 0, rate, float((counts > 0).mean()), (rate * recall * spread) ** (1 / 3)


def _mean(scores: Sequence[EvidenceScore], name: str) -> Interval | None:
    """The mean of a score over the questions that have it."""
    known = [(value, score.video_id) for score in scores if (value := getattr(score, name)) is not None]
    return share_interval(*zip(*known, strict=True)) if known else None
