"""The similarity reader: needs no model but the index's own encoder. Weak, as the note of every answer says.

It exists so that every command, benchmark and test runs from end to end on any machine.
"""

import time
from typing import TYPE_CHECKING

import numpy as np

from framesift._utils.credentials import SIMILARITY
from framesift.encoders.base import encode_long_texts
from framesift.encoders.registry import get_encoder
from framesift.readers.prompts import check_text_mode, event_texts
from framesift.types import Answer, Question
from framesift.types.question import option_letter
from framesift.types.vectors import Array

if TYPE_CHECKING:
    from framesift.rendering.exhibit import Exhibit

NOTE = "a weak answer: the similarity reader only compares the cosines of text and frames"
BEST = 3  # cosines


class SimilarityReader:
    """Chooses the option that, together with the question, is most similar to the frames and their events.

    An option's score is the mean of its BEST largest cosines with the frames, plus the same for the events' texts if
    the text mode shows text. The encoder is the one the frames were selected with.
    """

    name = SIMILARITY
    concurrency = 1

    def answer(self, exhibit: "Exhibit", question: Question, text_mode: str) -> Answer:
        started = time.perf_counter()
        mode = check_text_mode(text_mode)
        model = get_encoder(exhibit.basis.encoder or "auto")
        texts = [] if mode in ("none", "blank") else [text for text in event_texts(exhibit) if text]
        choices = question.choices
        candidates = [f"{question.text.strip()} {option}" for option in choices.values()] or [question.text.strip()]
        queries = encode_long_texts(model, candidates).astype(np.float64)
        images = [image for _, image in exhibit.bare_images(exhibit.times_s)]
        frames = model.encode_images(images).astype(np.float64)
        to_frames = queries @ frames.T
        scores = _mean_of_largest(to_frames)
        if texts:
            scores = scores + _mean_of_largest(queries @ encode_long_texts(model, texts).astype(np.float64).T)
        if choices:
            text, choice, raw = _best_option(choices, scores)
        else:
            text, choice, raw = _nearest(exhibit, to_frames[0]), None, f"{scores[0]:.4f}"
        return Answer(
            text,
            choice,
            raw,
            parsed=choice is not None or not choices,
            times_s=tuple(exhibit.times_s),
            seconds=time.perf_counter() - started,
            frames=tuple(exhibit.numbers),
            reader=self.name,
            text_mode=mode,
            note=NOTE,
        )


def _mean_of_largest(cosines: Array) -> Array:
    """(Q,) mean of the largest values of each row."""
    means: Array = np.sort(cosines, axis=1)[:, -BEST:].mean(axis=1)
    return means


def _best_option(choices: dict[int, str], scores: Array) -> tuple[str, int | None, str]:
    raw = ", ".join(f"{option_letter(k)} {score:.4f}" for k, score in zip(choices, scores, strict=True))
    best = np.flatnonzero(scores == scores.max())
    if len(best) > 1:
        return "", None, raw
    choice = list(choices)[int(best[0])]
    return choices[choice], choice, raw


def _nearest(exhibit: "Exhibit", cosines: Array) -> str:
    """A free answer: the frame most similar to the question, with its text."""
    index = int(np.argmax(cosines))
    text = event_texts(exhibit)[index]
    quotation = f": “{text}”" if text else ""
    return f"The frame nearest to the question is at [{exhibit.label(exhibit.times_s[index])}]{quotation}."
