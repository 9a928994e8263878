"""A window of time: the part of a video that a selection considers."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from framesift._utils.records import Seconds, read_field, read_value
from framesift._utils.text import rounded_clock
from framesift.errors import InputError, OptionError
from framesift.types.vectors import Array


@dataclass(frozen=True)
class Window:
    """The part of a video with from_s ≤ time ≤ to_s.

    Attributes:
        from_s: Its start, in seconds or as a text such as "10:00".
        to_s: Its end; None, or any time after the video's end, is that end.

    Raises:
        OptionError: The end is not after the start.

    Example:
        >>> import framesift as fs
        >>> fs.Window("10:00", "11:30").to_s
        690.0
        >>> fs.Window.until(60).from_s  # the causal case: a question at this time about what came before
        0.0
    """

    from_s: float = 0.0
    to_s: float | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "from_s", parse_time(self.from_s, "from_s") or 0.0)
        object.__setattr__(self, "to_s", parse_time(self.to_s, "to_s"))
        if self.to_s is not None and self.from_s >= self.to_s:
            raise OptionError(
                f"the window is from {rounded_clock(self.from_s)} to {rounded_clock(self.to_s)}; expected an end after "
                "its start"
            )

    @classmethod
    def until(cls, time_s: float) -> "Window":
        """The window from the video's start to this time."""
        return cls(0.0, time_s)

    def within(self, duration_s: float) -> tuple[float, float]:
        """The window's start and end in a video of this duration; one that starts after its end is an OptionError."""
        if self.from_s >= duration_s:
            raise OptionError(
                f"the window starts at {rounded_clock(self.from_s)}, outside the video, which ends at "
                f"{rounded_clock(duration_s)}; expected an earlier start"
            )
        return self.from_s, duration_s if self.to_s is None else min(self.to_s, duration_s)


def parse_time(value: object, name: str) -> float | None:
    """Seconds from a number or a text such as 10:00 or 1:02:03.5; None for None."""
    if value is None:
        return None
    time_s: float = read_value(Seconds, value, name)
    if time_s < 0:
        raise OptionError(f"{name} is {value!r}; expected a time in the video, from 0")
    return time_s


def read_window(from_s: object, to_s: object) -> Window | None:
    """The window with these ends; None where neither is given."""
    return None if from_s is None and to_s is None else Window(from_s, to_s)  # type: ignore[arg-type]  # which it reads


def window_of_row(row: Mapping[str, Any], location: str) -> Window | None:
    """The window of a question in a file: its fields from_s, and to_s or until; None where it has none of them."""
    from_s, to_s, until = (read_field(row, name, Seconds, location, None) for name in ("from_s", "to_s", "until"))
    if to_s is not None and until is not None:
        raise InputError(f"{location} has both to_s and until; expected one of them")
    try:
        return read_window(from_s, until if to_s is None else to_s)
    except InputError as error:
        raise InputError(f"{location}: {error}") from None


def candidates_in(times_s: Array, window: tuple[float, float]) -> range:
    """The indices of the candidates from the window's start to its end."""
    from_s, to_s = window
    first, after = np.searchsorted(times_s, from_s, side="left"), np.searchsorted(times_s, to_s, side="right")
    return range(int(first), int(after))
