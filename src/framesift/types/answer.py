"""The answer of a reader."""

from dataclasses import dataclass, field, fields
from typing import Any

from framesift._utils.templates import render_notebook
from framesift.types.question import option_letter


@dataclass(frozen=True)
class Answer:
    """The answer of a reader to one question.

    Attributes:
        text: The words of the chosen option, or the free answer.
        choice: The position of the option that the reply names, from 0; None where it names none, or several.
        raw: The unmodified reply, which is untrusted text.
        parsed: Whether the reply was understood.
        times_s: Of the frames given to the reader.
        tokens: Of prompt and reply together.
        seconds: How long it took.
        frames: The numbers of those frames in the video, from 0.
        reader: Its name.
        text_mode: How the events' text was shown.
        note: One sentence for the user: a problem with the reply, or a limit of the reader.
        time_format: How the frames' times were written; empty for a reader that does not say.
        frames_as: "video" or "images"; empty for a reader that does not say.
        videos: Of several videos, the name of each frame's; `times_s` are on their joint timeline.
        video_times_s: Of several videos, each frame's time in its own.
        exhibit: The frames given to the reader.

    Example:
        >>> import framesift as fs
        >>> fs.Answer("The wind", choice=1).letter
        'B'
    """

    text: str
    choice: int | None = None
    raw: str = ""
    parsed: bool = True
    times_s: tuple[float, ...] = ()  # of the frames given to the reader
    tokens: int | None = None  # prompt and reply together
    seconds: float | None = None
    frames: tuple[int, ...] = ()  # numbers of those frames in the video, from 0
    reader: str = ""
    text_mode: str = ""
    note: str = ""  # one sentence for the user: a problem with the reply, or a limit of the reader
    time_format: str = ""  # how the frames' times were written; empty for a reader that does not say
    frames_as: str = ""  # "video" or "images"; empty for a reader that does not say
    videos: tuple[str, ...] = ()  # of several videos, the name of each frame's; times_s are on their joint timeline
    video_times_s: tuple[float, ...] = ()  # of several videos, each frame's time in its own

    exhibit: Any = field(default=None, repr=False, compare=False)  # the frames given to the reader

    @property
    def letter(self) -> str | None:
        """The letter of the chosen option."""
        return None if self.choice is None else option_letter(self.choice)

    def to_dict(self) -> dict[str, Any]:
        """JSON values only."""
        names = [f.name for f in fields(self) if f.name != "exhibit"]
        return {"letter": self.letter} | {name: getattr(self, name) for name in names}

    def _repr_html_(self) -> str:
        return render_notebook(answer=self, strips=[] if self.exhibit is None else [self.exhibit.strip()])
