"""Whether a question matches a video better than questions that have nothing to do with it."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from framesift.types import Array
from framesift.types.selection import Chance

# Of the best scores of the unrelated questions: what chance reaches. The rest of them may be about the video after all.
HIGH_PERCENTILE = 95.0
LOW_PERCENTILE = 5.0  # of all scores of the unrelated questions
LEXICAL_WEIGHT = 0.3  # of shared words beside the cosine

# Everyday subjects that few videos have in common.
UNRELATED = (
    "How is cheese made from milk?",
    "What is the capital of Peru?",
    "Which team won the football match?",
    "Why did the price of oil rise?",
    "How many violins are in the orchestra?",
    "What does the dentist say about the tooth?",
    "Where do penguins lay their eggs?",
    "How is a tax return filled in?",
    "What colour is the bride's dress?",
    "When was the cathedral built?",
    "How deep is the ocean here?",
    "What breed is the dog on the sofa?",
    "Which spices go into the curry?",
    "Why is the train late?",
    "How does a diesel engine work?",
    "What is the weather like in the mountains?",
    "Who painted the portrait in the museum?",
    "How do bees make honey?",
    "What is written on the blackboard?",
    "How much does the used car cost?",
    "Where is the cat sleeping?",
    "Which bones are broken on the X-ray?",
    "How is a tent put up?",
    "What does the judge decide?",
    "Why are the leaves turning brown?",
    "How long should pasta be cooked?",
    "What kind of boat is in the harbour?",
    "How is a baby bathed?",
    "Which chess piece is moved first?",
    "What is planted in the garden?",
    "How do you tie a bow tie?",
    "What is sold at the market stall?",
)


@dataclass(frozen=True)
class ChanceLevels:
    """What unrelated questions score in one video. low, high: of frames; words: of the best event, -inf without any."""

    low: float
    high: float
    words: float


def word_scores(cosines: Array, lexical: Array) -> Array:
    """The scores of events for a question, from their cosines and shared words, of the same shape."""
    return cosines + LEXICAL_WEIGHT * lexical


def best_level(scores: Array) -> float:
    """What chance reaches, from the scores (n, K) of the K unrelated questions; -inf without any."""
    return float(np.percentile(scores.max(axis=0), HIGH_PERCENTILE)) if len(scores) else -np.inf


def chance_levels(frames: Array, words: Array) -> ChanceLevels:
    """The levels from the scores of the unrelated questions: frames (N, K) and words (E, K)."""
    return ChanceLevels(float(np.percentile(frames, LOW_PERCENTILE)), best_level(frames), best_level(words))


def above_chance(scores: Array, level: float, quoting: Sequence[int] = ()) -> Array:
    """(n,) bool: which scores are above the level, or belong to events that contain every word of the question."""
    above: Array = scores > level
    above[list(quoting)] = True
    return above


def compare_with_chance(levels: ChanceLevels, frames: Array, words: Array, quoting: Sequence[int] = ()) -> Chance:
    """Compare a question's scores, frames (N,) and words (E,), with the levels. quoting: as in `above_chance`."""
    is_above = above_chance(frames, levels.high).any() or above_chance(words, levels.words, quoting).any()
    return Chance(levels.low, levels.high, stands_out=bool(is_above))
