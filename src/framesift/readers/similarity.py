"""The similarity reader: no model but the index's own encoder. Weak, and it says so in every answer.

It exists so that every command, benchmark and test runs from end to end on any machine.
"""

import time
from typing import TYPE_CHECKING

import numpy as np

from framesift._utils.text import clock
from framesift.encoders.base import Encoder, encode_long_texts, get_encoder
from framesift.errors import OptionError
from framesift.readers.base import SIMILARITY
from framesift.readers.prompts import checked_mode, texts_of
from framesift.types import Answer, Question
from framesift.types.question import option_letter
from framesift.types.vectors import Array

if TYPE_CHECKING:
    from framesift.rendering.exhibit import Exhibit

NOTE = "from the similarity reader, which compares words with pictures and understands neither: a weak answer"
KEPT_FRAMES = 4096


class SimilarityReader:
    """Chooses the option that, said with the question, is most like the frames and their events.

    An option's score is the mean of its `best` largest cosines with the frames, plus the same for the events' texts
    where the way of asking shows text. encoder: by default the one the frames were selected with.
    """

    name = SIMILARITY
    concurrency = 1

    def __init__(self, *, best: int = 3, encoder: str = "") -> None:
        if isinstance(best, bool) or not isinstance(best, int) or best < 1:
            raise OptionError(f"best is {best!r}; expected how many cosines to average, at least 1")
        self._best = best
        self._encoder = encoder
        self._vectors: dict[tuple[object, ...], Array] = {}

    def answer(self, exhibit: "Exhibit", question: Question, text_mode: str = "aligned") -> Answer:
        started = time.perf_counter()
        mode = checked_mode(text_mode)
        model = self._model(exhibit)
        texts = [] if mode in ("none", "blank") else [text for text in texts_of(exhibit) if text]
        choices = question.choices
        asked = [f"{question.text.strip()} {option}" for option in choices.values()] or [question.text.strip()]
        queries = encode_long_texts(model, asked).astype(np.float64)
        frames = self._frames(exhibit, model).astype(np.float64)
        to_frames = queries @ frames.T
        scores = self._mean_of_best(to_frames)
        if texts:
            scores = scores + self._mean_of_best(queries @ encode_long_texts(model, texts).astype(np.float64).T)
        if choices:
            text, choice, raw = _choose(choices, scores)
        else:
            text, choice, raw = _nearest(exhibit, to_frames[0]), None, f"{scores[0]:.4f}"
        return Answer(
            text,
            choice,
            raw,
            parsed=choice is not None or not choices,
            times_s=tuple(exhibit.selection.times_s),
            seconds=time.perf_counter() - started,
            frames=tuple(exhibit.numbers),
            reader=self.name,
            text_mode=mode,
            note=NOTE,
        )

    def _model(self, exhibit: "Exhibit") -> Encoder:
        basis = exhibit.selection.basis
        return get_encoder(self._encoder or (basis.encoder if basis else "") or "auto")

    def _frames(self, exhibit: "Exhibit", model: Encoder) -> Array:
        """(n, D) vectors of the bare frames; a frame's is kept for the next selection that has it too."""
        keys = {time_s: (model.name, str(exhibit.video), exhibit.size, time_s) for time_s in exhibit.selection.times_s}
        known = {time_s: self._vectors[key] for time_s, key in keys.items() if key in self._vectors}
        new = [time_s for time_s in keys if time_s not in known]
        if new:
            rows = model.encode_images([picture for _, picture in exhibit.bare_pictures(new)])
            known |= zip(new, rows, strict=True)
            self._vectors |= {keys[time_s]: known[time_s] for time_s in new}
            for key in list(self._vectors)[:-KEPT_FRAMES]:
                del self._vectors[key]
        return np.stack([known[time_s] for time_s in keys])

    def _mean_of_best(self, cosines: Array) -> Array:
        """(Q,) means of each row's largest values."""
        few = min(self._best, cosines.shape[1])
        means: Array = np.sort(cosines, axis=1)[:, -few:].mean(axis=1)
        return means


def _choose(choices: dict[int, str], scores: Array) -> tuple[str, int | None, str]:
    raw = ", ".join(f"{option_letter(k)} {score:.4f}" for k, score in zip(choices, scores, strict=True))
    best = np.flatnonzero(scores == scores.max())
    if len(best) > 1:
        return "", None, raw
    choice = list(choices)[int(best[0])]
    return choices[choice], choice, raw


def _nearest(exhibit: "Exhibit", cosines: Array) -> str:
    """A free answer: the frame most like the question, with the words on it."""
    place = int(np.argmax(cosines))
    words = texts_of(exhibit)[place]
    said = f": “{words}”" if words else ""
    return f"The frame nearest to the question is at [{clock(exhibit.selection.times_s[place])}]{said}."
