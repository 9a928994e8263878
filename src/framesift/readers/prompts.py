"""What is put in front of a reader, word for word: the frames, the text in one of six ways, then the question.

Every reader takes its words and pictures from here, so two readers asked the same way see the same.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, get_args

from framesift._utils.text import clock
from framesift.errors import InputError, OptionError, UnknownName
from framesift.types import Question
from framesift.types.question import option_letter

if TYPE_CHECKING:
    from PIL.Image import Image

    from framesift.rendering.exhibit import Exhibit, Overlay

TextMode = Literal["none", "blank", "prompt", "tagged", "shuffled", "aligned"]
TEXT_MODES: tuple[TextMode, ...] = get_args(TextMode)
# What is drawn on the frames in each of the six ways; in the two that put text into the prompt, nothing is.
OVERLAY_OF: "dict[TextMode, Overlay]" = {
    "none": "none",
    "blank": "blank",
    "prompt": "none",
    "tagged": "none",
    "shuffled": "shuffled",
    "aligned": "aligned",
}
SUBTITLES = "This video's subtitles are listed below:"
FREE = (
    "Answer in a few sentences. Where a frame shows what you say, give its time in square brackets, as it stands with "
    "the frame."
)
MOST_OPTIONS = 26


@dataclass(frozen=True)
class Preset:
    """The words around a question with options: `{letters}` is filled with "A, B, C, or D"."""

    before: str
    after: str


PRESETS = {
    # lmms-eval, tasks longvideobench_val_v and _i
    "longvideobench": Preset("", "Answer with the option's letter from the given choices directly."),
    # lmms-eval, task videomme
    "videomme": Preset(
        "Select the best answer to the following multiple-choice question based on the video and the subtitles. "
        "Respond with only the letter ({letters}) of the correct option.",
        "The best answer is:",
    ),
    "bare": Preset("", ""),
}


@dataclass(frozen=True)
class Prompt:
    """The frames with the line that goes before each ("" for none), and the words that come after all of them."""

    pictures: tuple["Image", ...]
    captions: tuple[str, ...]
    words: str
    times_line: str  # all times in one line, for a model that takes the frames as one video; "" for none

    def interleaved(self) -> Iterator["str | Image"]:
        """Each frame after its line, then the words."""
        for caption, picture in zip(self.captions, self.pictures, strict=True):
            if caption:
                yield caption
            yield picture
        if self.words:
            yield self.words

    @property
    def words_after_video(self) -> str:
        return f"{self.times_line}\n{self.words}" if self.times_line else self.words


def compose(
    exhibit: "Exhibit", question: Question, text_mode: str, *, preset: str = "longvideobench", times: bool = True
) -> Prompt:
    """The frames and words for one question. times: say each frame's time."""
    asked = ask_for(question, preset)
    shown = show(exhibit, text_mode, times=times)
    return replace(shown, words="\n".join(filter(None, [shown.words, asked])))


def show(exhibit: "Exhibit", text_mode: str, *, times: bool = True) -> Prompt:
    """The frames and the text that goes with them, for whoever asks in words of their own."""
    mode = checked_mode(text_mode)
    shown = exhibit.with_overlay(OVERLAY_OF[mode])
    marks = [f"[{clock(time_s)}]" for time_s in exhibit.selection.times_s]
    labels = [f"Frame {k} {mark}" if times else f"Frame {k}" for k, mark in enumerate(marks, start=1)]
    block = {"prompt": [text for text in texts_of(exhibit) if text], "tagged": _tagged(labels, texts_of(exhibit))}
    lines = block.get(mode, [])
    return Prompt(
        pictures=tuple(shown.pictures()),
        captions=tuple(f"{label}:" if times else "" for label in labels),
        words="\n".join([SUBTITLES, *lines]) if lines else "",
        times_line=f"The {len(marks)} frames of this video are at {', '.join(marks)}." if times else "",
    )


def texts_of(exhibit: "Exhibit") -> list[str]:
    """The words that belong to each frame, "" for none, in one line each: the same in every way of showing them."""
    return ["" if slot.event is None else " ".join(slot.event.text.split()) for slot in exhibit.selection.slots]


def ask_for(question: Question, preset: str) -> str:
    """The question, its options by letter, and what kind of reply is wanted."""
    if preset not in PRESETS:
        raise UnknownName(f"there is no prompt preset {preset!r}; known are {', '.join(PRESETS)}")
    choices = question.choices
    if not choices:
        return f"{question.text.strip()}\n{FREE}"
    if max(choices) >= MOST_OPTIONS:
        raise InputError(f"the question has {len(question.options)} options; letters reach for {MOST_OPTIONS}")
    letters = [option_letter(k) for k in choices]
    options = [f"{letter}. {text}" for letter, text in zip(letters, choices.values(), strict=True)]
    before, after = (part.format(letters=_listed(letters)) for part in (PRESETS[preset].before, PRESETS[preset].after))
    return "\n".join(filter(None, [before, question.text.strip(), *options, after]))


def checked_mode(text_mode: str) -> TextMode:
    for known in TEXT_MODES:
        if text_mode == known:
            return known
    raise OptionError(f"text_mode is {text_mode!r}; expected one of {', '.join(TEXT_MODES)}")


def _tagged(labels: list[str], texts: list[str]) -> list[str]:
    return [f"{label}: {text}" for label, text in zip(labels, texts, strict=True) if text]


def _listed(letters: list[str]) -> str:
    """ "A, B, C, or D", as lmms-eval writes it."""
    return f"{', '.join(letters[:-1])}, or {letters[-1]}" if len(letters) > 1 else letters[0]
