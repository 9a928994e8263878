"""The similarity reader: needs no model but the index's own encoder. Weak, as the note of every answer says.

It exists so that every command, benchmark and test runs from end to end on any machine.
"""

import time
from typing import TYPE_CHECKING

import numpy as np

from framesift._utils.credentials import SIMILARITY
from framesift.encoders.base import Encoder, encode_long_texts
from framesift.encoders.registry import get_encoder, identify
from framesift.errors import OptionError
from framesift.readers.prompts import check_text_mode, event_texts
from framesift.types import Answer, Question
from framesift.types.question import option_letter
from framesift.types.vectors import Array

if TYPE_CHECKING:
    from framesift.rendering.exhibit import Exhibit

NOTE = "a weak answer: the similarity reader only compares the cosines of text and frames"
CACHED_FRAMES = 4096


class SimilarityReader:
    """Chooses the option that, together with the question, is most similar to the frames and their events.

    An option's score is the mean of its `best` largest cosines with the frames, plus the same for the events' texts if
    the text mode shows text. encoder: by default the one the frames were selected with.
    """

    name = SIMILARITY
    concurrency = 1

    def __init__(self, *, best: int = 3, encoder: str = "") -> None:
        if isinstance(best, bool) or not isinstance(best, int) or best < 1:
            raise OptionError(f"best is {best!r}; expected the number of cosines to average, at least 1")
        self._best = best
        self._encoder_name = encoder
        self._vectors: dict[tuple[object, ...], Array] = {}

    def check(self) -> None:
        """Check that the given encoder can be used; the default one has made the index."""
        if self._encoder_name:
            identify(self._encoder_name)

    def answer(self, exhibit: "Exhibit", question: Question, text_mode: str) -> Answer:
        started = time.perf_counter()
        mode = check_text_mode(text_mode)
        model = self._encoder_for(exhibit)
        texts = [] if mode in ("none", "blank") else [text for text in event_texts(exhibit) if text]
        choices = question.choices
        candidates = [f"{question.text.strip()} {option}" for option in choices.values()] or [question.text.strip()]
        queries = encode_long_texts(model, candidates).astype(np.float64)
        frames = self._frames(exhibit, model).astype(np.float64)
        to_frames = queries @ frames.T
        scores = self._mean_of_largest(to_frames)
        if texts:
            scores = scores + self._mean_of_largest(queries @ encode_long_texts(model, texts).astype(np.float64).T)
        if choices:
            text, choice, raw = _best_option(choices, scores)
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

    def _encoder_for(self, exhibit: "Exhibit") -> Encoder:
        basis = exhibit.selection.basis
        return get_encoder(self._encoder_name or (basis.encoder if basis else "") or "auto")

    def _frames(self, exhibit: "Exhibit", model: Encoder) -> Array:
        """(n, D) vectors of the frames without overlay, cached for other selections of the same video."""
        places = {time_s: exhibit.place(time_s) for time_s in exhibit.selection.times_s}
        keys = {time_s: (model.name, str(video.path), exhibit.size, own_s) for time_s, (video, own_s) in places.items()}
        vectors = {time_s: self._vectors[key] for time_s, key in keys.items() if key in self._vectors}
        new = [time_s for time_s in keys if time_s not in vectors]
        if new:
            rows = model.encode_images([image for _, image in exhibit.bare_pictures(new)])
            vectors |= zip(new, rows, strict=True)
            self._vectors |= {keys[time_s]: vectors[time_s] for time_s in new}
            for key in list(self._vectors)[:-CACHED_FRAMES]:
                del self._vectors[key]
        return np.stack([vectors[time_s] for time_s in keys])

    def _mean_of_largest(self, cosines: Array) -> Array:
        """(Q,) mean of the largest values of each row."""
        count = min(self._best, cosines.shape[1])
        means: Array = np.sort(cosines, axis=1)[:, -count:].mean(axis=1)
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
    return f"The frame nearest to the question is at [{exhibit.label(exhibit.selection.times_s[index])}]{quotation}."
