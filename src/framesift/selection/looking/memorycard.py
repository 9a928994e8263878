"""MemoryCard: a model reads the video once into sessions with key frames, the cards; a question draws from them.

Yang et al., "MemoryCard: Topic-Aware Multi-Modal Clue Compression for Long-Video Question Answering", 2026. What a card
says about its frame is the text mode `memorycard` (`framesift.rendering.cards`).
"""

from collections.abc import Sequence

import numpy as np

from framesift._utils.text import clock, printable
from framesift.errors import OptionError
from framesift.selection.looking.access import LONGEST_SIDE, FrameAccess, ModelCalls
from framesift.selection.looking.sessions import MAX_PER_SESSION, Session, even_sessions, read_sessions, repair_sessions
from framesift.selection.result_builders import add_to_trace, build_selection
from framesift.selection.sampling import fill_by_relevance, gumbel_noise
from framesift.selection.scores import Ranking
from framesift.selection.selector import Selector
from framesift.selection.uniform import evenly_spaced
from framesift.selection.validation import check_positive, check_whole
from framesift.types import Evidence, Selection
from framesift.types.lookup import Lookup, Part
from framesift.types.vectors import Array

MAX_TRANSCRIPT = 12_000  # characters

PROMPT = """These are {shown} frames of a video of {duration_s:.1f} seconds, each after its time. What is said in it:
{transcript}

Divide the video into {fewest} to {most} consecutive sessions, each about one topic or event, that together cover \
{start_s:g} to
{end_s:.1f} seconds. Choose {pool} key frames in all: more, up to {per_session}, in sessions where much changes on
the screen, at least one in each, spread over the session and different from each other. Reply with JSON only; times
are in seconds, topic and summary have at most 12 words, and the summary is about what is visible:
{{"sessions": [{{"start": 0.0, "end": 12.3, "topic": "…", "summary": "…", "keyframes": [1.5, 8.0]}}]}}"""


def memorycard(
    evidence: Evidence,
    budget: int,
    *,
    lookup: Lookup,
    min_sessions: int = 16,
    max_sessions: int = 32,
    pool: int = 128,
    frames: int = 64,
    temperature: float = 0.8,
    seed: int = 0,
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
    fewest, most = check_whole("min_sessions", min_sessions, low=1), check_whole("max_sessions", max_sessions, low=1)
    pool, shown = check_whole("pool", pool, low=1), check_whole("frames", frames, low=1)
    temperature, seed = check_positive("temperature", temperature), check_whole("seed", seed)
    if not fewest <= most <= pool <= fewest * MAX_PER_SESSION:
        raise OptionError(
            f"min_sessions, max_sessions and pool are {fewest}, {most} and {pool}; expected a pool from max_sessions "
            f"to {MAX_PER_SESSION} × min_sessions"
        )
    lookup.require("model")
    access, asked = FrameAccess(evidence, lookup), ModelCalls(lookup, 1)
    if budget >= len(evidence):
        return build_selection(evidence, range(len(evidence)), looked_at=0)
    counts = {"fewest": fewest, "most": most, "pool": pool, "per_session": MAX_PER_SESSION}
    reply = asked.ask(*_video_parts(evidence, access, shown), PROMPT.format(**_described(evidence, shown), **counts))
    start_s, end_s = evidence.start_s, evidence.duration_s
    named = read_sessions(reply, end_s, start_s)
    sessions = repair_sessions(named, end_s, fewest=fewest, most=most, frames=pool, start_s=start_s)
    is_read = bool(sessions)
    sessions = sessions or even_sessions(end_s, most, pool, start_s)
    cards = nearest_candidates(evidence.times_s, [time_s for session in sessions for time_s in session.key_times_s])
    chosen = draw_cards(evidence.relevance, cards, budget, temperature, seed)
    indices = fill_by_relevance(Ranking(evidence.relevance), chosen, budget)
    note = {} if is_read else {"note": "the model's reply names no session: the sessions are of equal length"}
    rows = [_row(session) for session in sessions]
    selection = build_selection(evidence, indices, looked_at=access.frames_inspected, sessions=rows, cards=len(cards))
    return add_to_trace(selection, **note)


def nearest_candidates(times_s: Array, wanted_s: Sequence[float]) -> list[int]:
    """The candidates nearest to these times, ascending, each once; of two equally near the earlier."""
    after = np.searchsorted(times_s, wanted_s).clip(1, max(1, len(times_s) - 1))
    before = after - 1
    after = after.clip(max=len(times_s) - 1)
    nearer = np.where(np.subtract(wanted_s, times_s[before]) <= times_s[after] - wanted_s, before, after)
    return sorted(set(nearer.tolist()))


def draw_cards(relevance: Array, cards: Sequence[int], size: int, temperature: float, seed: int) -> list[int]:
    """At most `size` of the cards: the largest of log softmax(relevance / temperature) + Gumbel noise."""
    noise = gumbel_noise(np.random.default_rng(seed), len(cards))
    # The softmax divides all by the same number, which does not change the order.
    return [cards[k] for k in Ranking(relevance[list(cards)] / temperature + noise).order[:size]]


def _video_parts(evidence: Evidence, access: FrameAccess, count: int) -> list[Part]:
    """Evenly spaced frames, each after its time."""
    indices = evenly_spaced(len(evidence), min(count, len(evidence))).tolist()
    images = access.images(indices, size=access.picture_size(LONGEST_SIDE))
    pairs = zip(indices, images, strict=True)
    return [part for index, image in pairs for part in (f"[{clock(float(evidence.times_s[index]))}]", image)]


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


def _row(session: Session) -> dict[str, object]:
    return {
        "start_s": session.start_s,
        "end_s": session.end_s,
        "topic": session.topic,
        "summary": session.summary,
        "frames": len(session.key_times_s),
    }


SELECTOR = Selector.of(
    "memorycard",
    memorycard,
    "key frames of the sessions that a model finds in the video",
    paper="Yang et al., 2026",
    parts=("model",),
    needs=("pictures", "model"),
)
