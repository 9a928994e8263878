"""The prompt: the frames, the events' text in one of the text modes, then the question.

Every reader takes its text and images from here, so that two readers with the same settings get the same input.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, get_args

from framesift._utils.records import shown
from framesift._utils.text import clock, suggestion
from framesift.errors import InputError, OptionError, UnknownName
from framesift.readers.time_formats import TimeFormat, TimeMarks, mark_times, mark_videos
from framesift.types import Question
from framesift.types.question import option_letter

if TYPE_CHECKING:
    from PIL.Image import Image

    from framesift.rendering.exhibit import Exhibit
    from framesift.rendering.rendered_selection import Overlay

TextMode = Literal["none", "blank", "prompt", "tagged", "shuffled", "aligned"]
TEXT_MODES: tuple[TextMode, ...] = get_args(TextMode)
# What each mode draws on the frames; nothing in the two that put the text into the prompt.
OVERLAY_OF: "dict[TextMode, Overlay]" = {
    "none": "none",
    "blank": "blank",
    "prompt": "none",
    "tagged": "none",
    "shuffled": "shuffled",
    "aligned": "aligned",
}
SUBTITLES = "This video's subtitles are listed below:"
SUBTITLES_OF_SEVERAL = "The subtitles of these videos are listed below:"
FREE = (
    "Answer in a few sentences. Where a frame shows what you say, give its time in square brackets, as it stands with "
    "the frame."
)
FREE_WITHOUT_TIMES = (
    "Answer in a few sentences. Where a frame shows what you say, give its number in square brackets, as in [Frame 3]."
)
MOST_OPTIONS = 26


# The instructions before and after a question with options; `{letters}` becomes "A, B, C, or D".
PRESETS = {
    # lmms-eval, tasks longvideobench_val_v and _i
    "longvideobench": ("", "Answer with the option's letter from the given choices directly."),
    # lmms-eval, task videomme
    "videomme": (
        "Select the best answer to the following multiple-choice question based on the video and the subtitles. "
        "Respond with only the letter ({letters}) of the correct option.",
        "The best answer is:",
    ),
    "bare": ("", ""),
}


@dataclass(frozen=True)
class Prompt:
    """The frames, each with the text before it ("" for none), and the text after all of them."""

    images: tuple["Image", ...]
    captions: tuple[str, ...]
    text: str
    times_line: str  # all times in one line, for a model that gets the frames as one video; "" for none

    def interleaved(self) -> Iterator["str | Image"]:
        """Yield each frame after its caption, then the text; times that are in no caption come before the text."""
        for caption, image in zip(self.captions, self.images, strict=True):
            if caption:
                yield caption
            yield image
        if self.text_after_images:
            yield self.text_after_images

    @property
    def text_after_images(self) -> str:
        return self.text if any(self.captions) else self.text_after_video

    @property
    def text_after_video(self) -> str:
        return f"{self.times_line}\n{self.text}" if self.times_line else self.text


def compose(
    exhibit: "Exhibit",
    question: Question,
    text_mode: str,
    *,
    preset: str = "longvideobench",
    time_format: TimeFormat = "clock",
) -> Prompt:
    """Compose the prompt for one question. time_format: how the frames' times are written; see `time_formats`."""
    marks = _marks(exhibit, time_format)
    instructions = format_question(question, preset, has_times=marks.has_times)
    frames = compose_frames(exhibit, text_mode, time_format=time_format)
    return replace(frames, text="\n".join(filter(None, [frames.text, instructions])))


def compose_frames(exhibit: "Exhibit", text_mode: str, *, time_format: TimeFormat = "clock") -> Prompt:
    """Compose the frames and the events' text without a question, for callers that add their own."""
    mode = check_text_mode(text_mode)
    marks = _marks(exhibit, time_format)
    texts = event_texts(exhibit)
    blocks = {
        "prompt": [text for text in texts if text],
        "tagged": [f"{label}: {text}" for label, text in zip(marks.labels, texts, strict=True) if text],
    }
    lines = blocks.get(mode, [])
    return Prompt(
        images=tuple(exhibit.with_overlay(OVERLAY_OF[mode]).images()),
        captions=marks.captions,
        text="\n".join([SUBTITLES_OF_SEVERAL if exhibit.several else SUBTITLES, *lines]) if lines else "",
        times_line=marks.line,
    )


def _marks(exhibit: "Exhibit", time_format: TimeFormat) -> TimeMarks:
    times_s = exhibit.times_s
    if not exhibit.several:
        return mark_times(time_format, times_s, exhibit.info.duration_s)
    has_times = time_format != "none"
    places = [exhibit.place(time_s) for time_s in times_s]
    labels = [f"{video.name} {clock(own_s)}" if has_times else video.name for video, own_s in places]
    return mark_videos(labels, has_times=has_times)


def event_texts(exhibit: "Exhibit") -> list[str]:
    """The text of each frame's event on one line, "" for none; the same in every text mode."""
    return ["" if slot.event is None else " ".join(slot.event.text.split()) for slot in exhibit.selection.slots]


def format_question(question: Question, preset: str, *, has_times: bool = True) -> str:
    """Format the question, its options by letter, and the instructions for the reply."""
    if preset not in PRESETS:
        raise UnknownName(f"there is no prompt preset {preset!r}; {suggestion(preset, PRESETS)}")
    choices = question.choices
    if not choices:
        return f"{question.text.strip()}\n{FREE if has_times else FREE_WITHOUT_TIMES}"
    if max(choices) >= MOST_OPTIONS:
        raise InputError(f"the question has {len(question.options)} options; letters reach for {MOST_OPTIONS}")
    letters = [option_letter(k) for k in choices]
    options = [f"{letter}. {text}" for letter, text in zip(letters, choices.values(), strict=True)]
    # "A, B, C, or D", as lmms-eval writes it.
    named = f"{', '.join(letters[:-1])}, or {letters[-1]}" if len(letters) > 1 else letters[0]
    before, after = (part.format(letters=named) for part in PRESETS[preset])
    return "\n".join(filter(None, [before, question.text.strip(), *options, after]))


def check_text_mode(text_mode: str) -> TextMode:
    """Return a valid text mode; anything else is an OptionError."""
    if text_mode not in TEXT_MODES:
        raise OptionError(f"text_mode is {shown(text_mode)}; expected one of {', '.join(TEXT_MODES)}")
    return text_mode
