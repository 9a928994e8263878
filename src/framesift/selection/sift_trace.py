"""The parts of sift's trace: JSON values that state what was decided, and sentences that say why."""

from collections.abc import Container, Mapping
from typing import Any

from framesift._utils.text import counted, duration_text, ordinal
from framesift.selection.event_match import EventMatch
from framesift.selection.gcr.ground import ANCHORED, NO_FREE_FRAME, NOT_REACHED
from framesift.selection.spread import Choice
from framesift.types import CandidateIndex, Evidence

VISUAL_LEVEL = 0.5  # scaled relevance from which a frame is a visual match, below it context
CARRIED = "on a frame selected for its picture"
BELOW_FLOOR = "does not stand out"


def context_row(choice: Choice) -> dict[str, Any]:
    """The row of a context frame, as in GCR's trace; its redundancy is nearness in time."""
    closest = None if choice.nearest is None else CandidateIndex(choice.nearest)
    return {
        "index": CandidateIndex(choice.item),
        "score": choice.value,
        "redundancy": choice.nearness,
        "closest": closest,
    }


def event_rows(
    evidence: Evidence, match: EventMatch, words: Mapping[int, Choice], shown: Mapping[int, int]
) -> list[dict[str, Any]]:
    """One row per event, as in GCR's trace. shown: frame index → event whose text it carries."""
    frame_of = {event: CandidateIndex(index) for index, event in shown.items()}
    rows = []
    for k, (position, event) in enumerate(zip(evidence.event_positions, evidence.events, strict=True)):
        if k in frame_of:
            outcome = ANCHORED if frame_of[k] in words else CARRIED
        elif all(index in words for index in range(match.lo[k], match.hi[k])):
            outcome = NO_FREE_FRAME
        else:
            outcome = NOT_REACHED if match.stands_out[k] else BELOW_FLOOR
        rows.append(
            {
                "position": position,
                "start_s": event.start_s,
                "end_s": event.end_s,
                "text": event.text,
                "text_relevance": float(match.cosine[k]),
                "shared_words": float(match.lexical[k]),
                "score": float(match.score[k]),
                "outcome": outcome,
                "index": frame_of.get(k),
            }
        )
    return rows


def reasons(
    match: EventMatch,
    words: Mapping[int, Choice],
    pictures: Mapping[int, Choice],
    duplicates: Container[int],
    shown: Mapping[int, int],
    *,
    quota: int,
) -> list[dict[str, Any]]:
    """For each frame in the order chosen, the sentences that say why."""
    size = len(words) + len(pictures)
    rank = {int(event): k for k, event in enumerate(match.order, 1)}

    def text_rank(index: int) -> str:
        event = shown[index]
        return (
            f"{ordinal(rank[event])} of {counted(len(rank), 'text')} for the question (cosine "
            f"{match.cosine[event]:.2f}, shared words {match.lexical[event]:.2f})"
        )

    rows = []
    for index, choice in words.items():
        why = [
            f"Chosen for its words: {text_rank(index)}{_apart(choice, 'text')}.",
            f"The best text stands out by {match.stand_out:.2f}, so up to {quota} of {size} frames are for words.",
        ]
        rows.append({"index": CandidateIndex(index), "sentences": why})
    for index, choice in pictures.items():
        kind = "A visual match" if choice.score >= VISUAL_LEVEL else "Context"
        apart = _apart(choice, "frame")
        why = [f"{kind}: its relevance is {choice.score:.2f} on this video's scale from 0 to 1{apart}."]
        if index in duplicates:
            why.append("It resembles a frame chosen before it; no other candidate was left.")
        if index in shown:
            why.append(f"It shows what is said there: {text_rank(index)}.")
        rows.append({"index": CandidateIndex(index), "sentences": why})
    return rows


def _apart(choice: Choice, kind: str) -> str:
    if choice.nearest is None:
        return ""
    return f", {duration_text(choice.distance_s)} from the nearest {kind} chosen before"
