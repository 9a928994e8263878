"""MemoryCard: a model reads the video once into sessions with key frames, the cards; a question draws from them.

Yang et al., "MemoryCard: Topic-Aware Multi-Modal Clue Compression for Long-Video Question Answering", 2026.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np

from framesift._utils.text import clock, printable
from framesift.errors import OptionError
from framesift.selection.baselines import evenly_spaced
from framesift.selection.looking.access import Access, field_of, json_values
from framesift.selection.scores import Ranking
from framesift.selection.selector import Count, Positive, Whole, selector
from framesift.types import Array, Evidence, Lookup, Selection

MAX_TRANSCRIPT = 12_000  # characters
SHORTEST_S = 0.5  # a shorter session of a reply is left out
SHORTEST_REPAIRED_S = 0.1  # after those before it took their time
MAX_PER_SESSION = 16  # key frames
MIN_COVERAGE, MAX_GAP_RATIO = 0.5, 4.0  # of key frames that are spread well enough over their session
DIGITS = 3  # of times, in seconds

PROMPT = """These are {shown} frames of a video of {duration_s:.1f} seconds, each after its time. What is said in it:
{transcript}

Divide the video into {fewest} to {most} consecutive sessions, each about one topic or event, that together cover \
{start_s:g} to
{end_s:.1f} seconds. Choose {pool} key frames in all: more, up to {per_session}, in sessions where much changes on
the screen, at least one in each, spread over the session and different from each other. Reply with JSON only; times
are in seconds, topic and summary have at most 12 words, and the summary is about what is visible:
{{"sessions": [{{"start": 0.0, "end": 12.3, "topic": "…", "summary": "…", "keyframes": [1.5, 8.0]}}]}}"""


@dataclass(frozen=True)
class Session:
    """A part of a video: start_s ≤ time < end_s, what it is about, and the times of its key frames, ascending."""

    start_s: float
    end_s: float
    topic: str = ""
    summary: str = ""
    key_times_s: tuple[float, ...] = ()

    @property
    def length_s(self) -> float:
        return self.end_s - self.start_s

    @property
    def count(self) -> int:
        """How many key frames it has."""
        return len(self.key_times_s)

    def spread(self, count: int) -> "Session":
        """The session with this many key frames at equal distances."""
        step = self.length_s / (count + 1)
        return replace(self, key_times_s=tuple(round(self.start_s + k * step, DIGITS) for k in range(1, count + 1)))


@selector(
    "key frames of the sessions that a model finds in the video",
    paper="Yang et al., 2026",
    parts=("model",),
    needs=("frames", "model"),
)
def memorycard(
    evidence: Evidence,
    budget: int,
    *,
    lookup: Lookup,
    min_sessions: Count = 16,
    max_sessions: Count = 32,
    pool: Count = 128,
    frames: Count = 64,
    temperature: Positive = 0.8,
    seed: Whole = 0,
) -> Selection:
    """Let a model divide the video into sessions with key frames, and draw the question's frames from these.

    Input: relevance, decoded frames, a model, and the events where there are any. Cost: one call of `model` per video,
    with `frames` evenly spaced frames and the text; the next question uses the stored reply. The reply is repaired to
    `min_sessions` to `max_sessions` sessions with `pool` key frames in all; one without any session gives sessions of
    equal length. The budget takes the largest of log softmax(relevance / temperature) + Gumbel noise among the key
    frames. seed: of the noise.

    Differs: the model gets frames instead of the whole video, and the noise is seeded; a key frame is the nearest
    candidate; relevance is a cosine, in place of LongCLIP's product of vectors that are not normalised; the frames
    have one resolution in place of three; a pool smaller than the budget is filled up by
    relevance; a budget for all frames asks nothing.
    """
    if not min_sessions <= max_sessions <= pool <= min_sessions * MAX_PER_SESSION:
        raise OptionError(
            f"min_sessions, max_sessions and pool are {min_sessions}, {max_sessions} and {pool}; expected a pool from "
            f"max_sessions to {MAX_PER_SESSION} × min_sessions"
        )
    access, _ = Access(evidence, lookup, 1), lookup.require("model")
    if budget >= len(evidence):
        return access.select(range(len(evidence)))
    counts = {"fewest": min_sessions, "most": max_sessions, "pool": pool, "per_session": MAX_PER_SESSION}
    shown = evenly_spaced(len(evidence), frames).tolist()
    times = (f"[{clock(float(evidence.times_s[index]))}]" for index in shown)
    parts = [part for pair in zip(times, access.images(shown), strict=True) for part in pair]  # each after its time
    reply = access.ask(*parts, PROMPT.format(**_described(evidence, frames), **counts))
    start_s, end_s = evidence.start_s, evidence.duration_s
    named = read_sessions(reply)
    sessions = repair_sessions(named, end_s, fewest=min_sessions, most=max_sessions, frames=pool, start_s=start_s)
    note = {} if sessions else {"note": "the model's reply names no session: the sessions are of equal length"}
    sessions = sessions or even_sessions(end_s, max_sessions, pool, start_s)
    times_s = [time_s for session in sessions for time_s in session.key_times_s]
    cards = sorted({int(np.abs(evidence.times_s - time_s).argmin()) for time_s in times_s})
    chosen = draw_cards(evidence.relevance, cards, budget, temperature, seed)
    rows = [
        {"start_s": s.start_s, "end_s": s.end_s, "topic": s.topic, "summary": s.summary, "frames": s.count}
        for s in sessions
    ]
    return access.select(Ranking(evidence.relevance).fill(chosen, budget), sessions=rows, cards=len(cards), **note)


def draw_cards(relevance: Array, cards: Sequence[int], size: int, temperature: float, seed: int) -> list[int]:
    """At most `size` of the cards: the largest of log softmax(relevance / temperature) + Gumbel noise."""
    # 1 − u lies in (0, 1]; the smallest positive float keeps the outer logarithm finite.
    uniform = 1.0 - np.random.default_rng(seed).random(len(cards))
    noise = -np.log(np.maximum(-np.log(uniform), np.finfo(np.float64).tiny))
    # The softmax divides all by the same number, which does not change the order.
    return [cards[k] for k in Ranking(relevance[list(cards)] / temperature + noise).order[:size]]


def _described(evidence: Evidence, count: int) -> dict[str, object]:
    lines, length = [], 0
    for event in sorted(evidence.events, key=lambda event: event.start_s):
        lines.append(f"[{event.start_s:.1f}-{event.end_s:.1f}] {printable(event.text)}")
        length += len(lines[-1]) + 1
        if length > MAX_TRANSCRIPT:
            lines[-1] = "… (cut off)"
            break
    transcript = "\n".join(lines) or "(nothing)"
    times = {"start_s": evidence.start_s, "end_s": evidence.duration_s, "duration_s": evidence.length_s}
    return {"shown": min(count, len(evidence)), "transcript": transcript, **times}


def read_sessions(reply: str) -> list[Session]:
    """The sessions of a reply in its order; of one that was cut off, those that are complete."""
    sessions = []
    for value in json_values(reply, dict):
        listed = value.get("sessions")
        for entry in listed if isinstance(listed, list) else [value]:
            if isinstance(entry, dict):
                sessions.append(_session(entry))
    return [session for session in sessions if session.length_s > 0]


def _session(entry: dict[str, Any]) -> Session:
    start_s, end_s = (_number(entry.get(name)) for name in ("start", "end"))
    key_times = map(_number, field_of(entry, "keyframes", list))
    topic, summary = (printable(field_of(entry, name, str)) for name in ("topic", "summary"))
    return Session(start_s, end_s, topic, summary, tuple(time for time in key_times if not math.isnan(time)))


def _number(value: object) -> float:
    """A number, also one that is a text; NaN for anything else."""
    try:
        return float(value) if isinstance(value, int | float | str) and not isinstance(value, bool) else math.nan
    except (ValueError, OverflowError):
        return math.nan


def even_sessions(duration_s: float, count: int, frames: int, start_s: float = 0.0) -> list[Session]:
    """`count` sessions of equal length that share `frames` key frames, the first ones the remainder."""
    step, (each, more) = (duration_s - start_s) / count, divmod(frames, count)
    edges = [*(start_s + k * step for k in range(count)), duration_s]
    return [Session(a, b).spread(max(1, each + (k < more))) for k, (a, b) in enumerate(pairwise(edges))]


def repair_sessions(
    sessions: Sequence[Session], duration_s: float, *, fewest: int, most: int, frames: int, start_s: float = 0.0
) -> list[Session]:
    """Ordered sessions without overlap, from `fewest` to `most`, with `frames` key frames in all, 1 to 16 in each.

    The longest is halved and the shortest neighbours are joined until the number is right. Key frames are removed where
    they are densest and added in the widest gaps. Those of a session that cover less than half of it, or that have very
    unequal gaps, are spread evenly. Empty if no session is long enough.
    """
    parts = _without_overlap(sessions, duration_s, start_s)
    if not parts:
        return []
    while len(parts) < fewest:
        k = max(range(len(parts)), key=lambda k: parts[k].length_s)
        middle_s = (parts[k].start_s + parts[k].end_s) / 2
        parts[k : k + 1] = replace(parts[k], end_s=middle_s), replace(parts[k], start_s=middle_s, key_times_s=())
    while len(parts) > most:
        k = min(range(len(parts) - 1), key=lambda k: parts[k].length_s + parts[k + 1].length_s)
        parts[k : k + 2] = [_joined(parts[k], parts[k + 1])]
    parts = [_with_own_times(part) for part in parts]
    return [_spread_well(part) for part in _with_total(parts, frames)]


def _without_overlap(sessions: Sequence[Session], duration_s: float, first_s: float) -> list[Session]:
    clipped = [replace(s, start_s=max(first_s, s.start_s), end_s=min(duration_s, s.end_s)) for s in sessions]
    kept = sorted((s for s in clipped if s.length_s >= SHORTEST_S), key=lambda s: s.start_s)
    parts: list[Session] = []
    for session in kept:
        start_s = max(parts[-1].end_s if parts else first_s, session.start_s)
        parts.append(replace(session, start_s=start_s, end_s=max(start_s + SHORTEST_REPAIRED_S, session.end_s)))
    if parts and parts[-1].end_s < duration_s - SHORTEST_S:
        parts[-1] = replace(parts[-1], end_s=duration_s)
    return parts


def _joined(a: Session, b: Session) -> Session:
    summary = f"{a.summary} {b.summary}".strip()
    return Session(a.start_s, b.end_s, a.topic or b.topic, summary, (*a.key_times_s, *b.key_times_s))


def _with_own_times(session: Session) -> Session:
    """The session with its key frames that lie inside it, each once, at most 16."""
    times = sorted({round(t, DIGITS) for t in session.key_times_s if session.start_s < t < session.end_s})
    if len(times) > MAX_PER_SESSION:
        times = [times[round(k * (len(times) - 1) / (MAX_PER_SESSION - 1))] for k in range(MAX_PER_SESSION)]
    return replace(session, key_times_s=tuple(times))


def _with_total(parts: list[Session], total: int) -> list[Session]:
    """The sessions with `total` key frames in all; fewer if they are too short for as many different times."""
    requested = [part.count for part in parts]
    parts = [part if part.count else part.spread(1) for part in parts]
    while sum(part.count for part in parts) > total:
        k = max(range(len(parts)), key=lambda k: parts[k].count)
        parts[k] = _without_densest(parts[k])
    full = set()
    while sum(part.count for part in parts) < total:
        open_parts = [k for k, part in enumerate(parts) if part.count < MAX_PER_SESSION and k not in full]
        if not open_parts:
            break
        k = max(open_parts, key=lambda k: (requested[k], parts[k].length_s))
        before, parts[k] = parts[k], _with_one_more(parts[k])
        if parts[k] == before:
            full.add(k)
    return parts


def _without_densest(session: Session) -> Session:
    """The session without the key frame that is nearest to its neighbour, of equal ones the first."""
    times = session.key_times_s
    gaps = [math.inf, *(b - a for a, b in pairwise(times)), math.inf]
    k = min(range(len(times)), key=lambda k: min(gaps[k], gaps[k + 1]))
    return replace(session, key_times_s=times[:k] + times[k + 1 :])


def _with_one_more(session: Session) -> Session:
    """The session with a key frame in the middle of its widest gap, of equal ones the first."""
    bounds = [session.start_s, *session.key_times_s, session.end_s]
    a, b = max(pairwise(bounds), key=lambda gap: gap[1] - gap[0])
    return replace(session, key_times_s=tuple(sorted({*session.key_times_s, round((a + b) / 2, DIGITS)})))


def _spread_well(session: Session) -> Session:
    times = session.key_times_s
    if len(times) < 2:
        return session
    gaps = [b - a for a, b in pairwise(times)]
    covers = (times[-1] - times[0]) / max(session.length_s, 1e-3)
    is_uneven = max(gaps) / max(min(gaps), 1e-3) > MAX_GAP_RATIO
    return session.spread(len(times)) if covers < MIN_COVERAGE or is_uneven else session
