"""Descriptions of single frames by a captioning model, for selectors that reason about a video in text."""

from collections.abc import Mapping, Sequence

from framesift._utils.text import clock, printable
from framesift.selection.frame_access import FrameAccess
from framesift.selection.model_calls import Model, ModelCalls, QuestionContext
from framesift.types import Evidence
from framesift.types.question import option_letter

PROMPT = "Describe this frame of a video in one sentence: who or what is visible, what happens, and any legible text."
LONGEST_SIDE = 448  # of the frames that are described, in pixels
MAX_CHARACTERS = 400  # of a description; a model that rambles must not fill the next prompt


class FrameCaptions:
    """The descriptions of the frames requested so far; each frame is described once, by one call."""

    def __init__(self, evidence: Evidence, access: FrameAccess, calls: ModelCalls, captioner: Model | None) -> None:
        """captioner: the model that describes; None for the model of `calls`."""
        self._times_s, self._access, self._calls, self._captioner = evidence.times_s, access, calls, captioner
        self.texts: dict[int, str] = {}

    def add(self, indices: Sequence[int]) -> None:
        """Describe the frames that have no description yet."""
        new = [index for index in dict.fromkeys(indices) if index not in self.texts]
        images = self._access.images(new, size=self._access.picture_size(LONGEST_SIDE)) if new else []
        for index, image in zip(new, images, strict=True):
            self.texts[index] = printable(self._calls.ask(PROMPT, image, model=self._captioner))[:MAX_CHARACTERS]

    def listed(self, indices: Sequence[int]) -> str:
        """The descriptions of these frames, one a line, each with its number and its time."""
        return "\n".join(
            f"{k}. [{clock(float(self._times_s[index]))}] {self.texts[index]}"
            for k, index in enumerate(indices, start=1)
        )


def question_lines(context: QuestionContext) -> str:
    """The question and its options by letter, as prompts state them."""
    choices: Mapping[int, str] = context.question.choices
    return "\n".join(
        [f"Question: {context.question.text.strip()}", *(f"{option_letter(k)}. {text}" for k, text in choices.items())]
    )
