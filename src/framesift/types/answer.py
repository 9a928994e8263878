"""What a reader made of the evidence."""

from dataclasses import asdict, dataclass
from typing import Any

from framesift.types.question import option_letter


@dataclass(frozen=True)
class Answer:
    """What a reader made of the evidence.

    With options: `choice` (the option's position) and `text` (its words) when the reply names exactly one, else None
    and `parsed` False. Without: `text` is the free answer. `raw`: the reply as it came, which is nobody's instruction.
    """

    text: str
    choice: int | None = None
    raw: str = ""
    parsed: bool = True
    times_s: tuple[float, ...] = ()  # of the frames that were shown
    tokens: int | None = None  # prompt and reply together
    seconds: float | None = None
    frames: tuple[int, ...] = ()  # the numbers of the frames that were shown, in the video, from 0
    reader: str = ""
    text_mode: str = ""
    note: str = ""  # one sentence for the user: what was wrong with the reply, or how far to trust it

    @property
    def letter(self) -> str | None:
        return None if self.choice is None else option_letter(self.choice)

    def to_dict(self) -> dict[str, Any]:
        """JSON values only."""
        return {"letter": self.letter, **asdict(self)}
