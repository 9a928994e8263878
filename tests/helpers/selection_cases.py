"""Cases for selectors: random ones that resemble video, and degenerate ones full of ties."""

from dataclasses import dataclass, field

import numpy as np
import pytest
from hypothesis import strategies as st

import framesift as fs


@dataclass
class Case:
    times: list[float]
    duration: float
    frames: np.ndarray
    query: np.ndarray
    events: list[tuple[float, float]]
    event_vectors: np.ndarray
    demand: float
    budget: int
    options: dict = field(default_factory=dict)

    def evidence(self, dtype=np.float64, **more) -> fs.Evidence:
        return fs.Evidence(
            times_s=np.asarray(self.times),
            duration_s=self.duration,
            frames=self.frames.astype(dtype),
            query=self.query.astype(dtype),
            events=[fs.Event(start, end, f"event {k}") for k, (start, end) in enumerate(self.events)],
            event_features=self.event_vectors.astype(dtype) if self.events else None,
            visual_demand=self.demand,
            **more,
        )

    def select(self, **kwargs) -> fs.Selection:
        return fs.select_frames(self.evidence(**kwargs), budget=self.budget, method="gcr", **self.options)


def vectors(rng, count, dim, style):
    """Rows of small integers (many ties), shots of similar frames, noise, or rows as an index holds; none is zero."""
    if style == "held":  # stored in half precision, then normalised in float32: lengths of 1 ± 6e-8
        rows = vectors(rng, count, dim, "shots").astype(np.float16).astype(np.float64)
        return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32).astype(np.float64)
    if style == "whole":
        rows = rng.integers(-1, 3, (count, dim)).astype(float)
        rows[~rows.any(axis=1), 0] = 1.0
        return rows
    if style == "constant":
        return np.ones((count, dim))
    rows = rng.standard_normal((count, dim))
    if style == "shots" and count:
        shot = np.sort(rng.integers(0, max(1, count // 4), count))
        rows = rows[shot] + rng.choice([0.0, 0.05]) * rng.standard_normal((count, dim))
    # Numbers that float32 represents exactly, so that both types give the same input.
    return rows.astype(np.float32).astype(np.float64)


def entries(value, at=()):
    """Path → value of everything in a record, but the sentences with numbers that follow from the others."""
    if not isinstance(value, dict | list | tuple):
        return {at: value}
    items = value.items() if isinstance(value, dict) else enumerate(value)
    parts = (entries(part, (*at, key)) for key, part in items if key != "reasons")
    return {at: len(value)} | {path: v for part in parts for path, v in part.items()}


def assert_same(selection, expected):
    """The same frames, roles, events and decisions; numbers may differ by what another order of summation changes."""
    found, wanted = entries(selection.to_dict()), entries(expected.to_dict())
    assert found.keys() == wanted.keys()
    for path, value in found.items():
        assert value == (pytest.approx(wanted[path], abs=1e-6) if isinstance(value, float) else wanted[path]), path


@st.composite
def cases(draw, max_frames=24):
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    count = draw(st.integers(1, max_frames))
    dim = draw(st.integers(2, 6))
    style = draw(st.sampled_from(["whole", "shots", "noise", "constant", "held"]))
    uneven = draw(st.booleans())
    times = np.cumsum(rng.choice([0.5, 1.0, 1.0, 7.0], count)) if uneven else np.arange(count) * 1.0
    duration = float(times[-1] + draw(st.sampled_from([0.25, 1.0, 20.0])))
    event_count = draw(st.integers(0, 2 * count))
    starts = rng.choice(np.arange(0, duration + 0.1, 0.25), event_count)
    lengths = rng.choice([0.0, 0.25, 1.0, 3.0, 10.0], event_count)
    events = [(float(a), float(min(a + length, duration))) for a, length in zip(starts, lengths, strict=True)]
    share = st.sampled_from([0.0, 0.125, 0.25, 0.3, 0.5, 1.0])
    names = ("alpha_ground", "alpha_visual", "alpha_refine", "gate", "mmr_weight")
    options = {name: draw(share) for name in names if draw(st.booleans())}
    options["visual_gap_s"] = draw(st.sampled_from([0.0, 1.0, 2.5]))
    options["top_mean"] = draw(st.integers(1, 4))
    return Case(
        times=times.tolist(),
        duration=duration,
        frames=vectors(rng, count, dim, style),
        query=vectors(rng, 1, dim, "whole" if style == "constant" else style)[0],
        events=events,
        event_vectors=vectors(rng, event_count, dim, style),
        demand=draw(st.sampled_from([0.0, 0.2, 0.5, 0.8, 1.0])),
        budget=draw(st.one_of(st.integers(1, 12), st.just(count), st.just(count + 5))),
        options=options,
    )
