"""What a format writes, and the moments around the selected frames that many of them list."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from framesift._utils.text import clock, printable
from framesift.progress import Progress, ignore_progress
from framesift.rendering.rendered_selection import Frame, RenderedSelection, ShownVideo
from framesift.types import Event

AROUND_S = 3.0  # of a selected frame on each side
TEXT_REACH_S = 15.0  # how far a moment extends to hold the whole text of its frame
APART_S = 1.0  # nearer moments join


def part_around(time_s: float, event: Event | None) -> tuple[float, float]:
    """The start and end of the moment around a selected frame, which may reach beyond the video."""
    start_s, end_s = time_s - AROUND_S, time_s + AROUND_S
    if event is not None:
        start_s = min(start_s, max(event.start_s, time_s - TEXT_REACH_S))
        end_s = max(end_s, min(event.end_s, time_s + TEXT_REACH_S))
    return start_s, end_s


@dataclass(frozen=True)
class Export:
    """A selection, and the folder that gets its files. row: the question's own row in its data set."""

    exhibit: RenderedSelection
    folder: Path
    row: Mapping[str, Any]
    progress: Progress = ignore_progress

    def write(self, name: str, text: str) -> None:
        (self.folder / name).write_text(text, encoding="utf-8")

    @property
    def moments(self) -> "list[Moment]":
        """The moments around the frames, in order of time: neighbouring ones are one."""
        found: list[Moment] = []
        for frame in self.exhibit.frames:
            video, _ = self.exhibit.place(frame.time_s)
            start_s, end_s = (at_s - video.start_s for at_s in part_around(frame.time_s, frame.slot.event))
            start_s, end_s = max(0.0, start_s), min(video.info.duration_s, end_s)
            last = found[-1] if found else None
            if last is not None and last.video is video and start_s <= last.end_s + APART_S:
                start_s, end_s = min(start_s, last.start_s), max(end_s, last.end_s)
                found[-1] = replace(last, start_s=start_s, end_s=end_s, frames=(*last.frames, frame))
            else:
                found.append(Moment(video, start_s, end_s, (frame,)))
        return found

    def events(self, video: ShownVideo) -> list[Event]:
        """The text of one of the videos, by its own time."""
        events, start_s = self.exhibit.basis.events, video.start_s
        return [replace(event, start_s=event.start_s - start_s, end_s=event.end_s - start_s) for event in events]


@dataclass(frozen=True)
class Moment:
    """The part of a video around selected frames, in seconds of that video."""

    video: ShownVideo
    start_s: float
    end_s: float
    frames: tuple[Frame, ...]

    @property
    def title(self) -> str:
        """What is said there, else why the frames were selected."""
        texts = [frame.slot.text for frame in self.frames if frame.slot.text] or [self.frames[0].reason]
        return " / ".join(dict.fromkeys(map(printable, texts)))

    @property
    def name(self) -> str:
        """Its start and end as part of a file's name."""
        return "_".join(clock(time_s).rjust(12, "0").replace(":", "-") for time_s in (self.start_s, self.end_s))
