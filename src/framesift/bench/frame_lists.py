"""Frame lists as other tools publish them, read as times in seconds by question.

[{"id": "a_0", "times_s": [1.5, 9.0]}, …]   rows, also as JSON Lines; the names of the fields are in the tables below
{"a_0": [36, 216], …}                       frame numbers by question, as QCA publishes them
[[36, 216], …]                              frame numbers of every question in the annotation's order, as AKS does
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from framesift._utils.files import StrPath
from framesift._utils.json import load_json
from framesift._utils.records import Name, Seconds, read_field, read_value
from framesift._utils.tables import read_bytes
from framesift.bench.items import FILE, Item, read_rows
from framesift.errors import InputError
from framesift.video.timeline import read_timeline

IDS = ("id", "question_id", "q_uid", "uid")
TIMES = ("times_s", "frame_timestamps", "timestamps_used")  # ours, KFS-Bench, ToolMerge
NUMBERS = ("keyframe_indices", "frame_idx")  # WFS-SB, TSPO
# Annotated durations are rounded, and the last frame may begin a little past them.
PAST_END_S = 1.0
MAX_FPS = 1000.0
# AKS takes every int(fps)-th frame, so that its numbers have this step in common; the rates of broadcast video are
# not whole numbers.
_BROADCAST_FPS = {23: 23.976, 29: 29.97, 59: 59.94}
_PLAUSIBLE_STEPS = range(10, 61)

FrameRates = float | Mapping[str, float]


@dataclass(frozen=True)
class _Entry:
    """The fields of one question's entry."""

    location: str
    row: Mapping[str, Any]

    def first(self, names: Sequence[str], kind: Any) -> Any:
        """The first of these fields that the entry has; None without any."""
        values = (read_field(self.row, name, kind, self.location) for name in names if self.row.get(name) is not None)
        return next(values, None)

    @property
    def numbers(self) -> tuple[int, ...]:
        numbers: tuple[int, ...] | None = self.first(NUMBERS, tuple[int, ...])
        if numbers is None:
            raise InputError(f"{self.location} has no frames; expected one of {', '.join(TIMES + NUMBERS)}")
        return numbers


def read_selections(
    path: StrPath,
    items: Sequence[Item],
    *,
    fps: FrameRates | None = None,
    ids: Sequence[str] | None = None,
) -> dict[str, list[float]]:
    """Read frame times by question from a published file.

    Frame numbers are converted by the entry's `fps`, else by `fps` (one rate, which must not place a frame after the
    end of its video, or one per video id), else by the timestamps of the video file, which is always exact. ids: all
    questions of the annotation in its order, for lists without names; by default those of `items`.
    """
    by_id = {item.id: item for item in items}
    entries = _read_entries(Path(path), [item.id for item in items] if ids is None else ids)
    times_of = {name: _times(entry, by_id[name], fps) for name, entry in entries.items() if name in by_id}
    if not times_of:
        raise InputError(f"none of the {len(entries)} entries of {path} is one of the selected questions")
    return times_of


def read_frame_rates(path: StrPath, items: Sequence[Item]) -> dict[str, float]:
    """Read frames per second by video id: {"VIDEO": 25, …}.

    Or AKS's published list for all questions of an annotation, whose numbers have a common step in each video: the
    whole part of the rate.
    """
    value = _read_json(Path(path))
    if isinstance(value, list):
        return _rates_from_steps(_read_entries(Path(path), [item.id for item in items]), items)
    rates: dict[str, float] = read_value(dict[str, Seconds], value, str(path))
    known = {item.video_id for item in items}
    if not known & set(rates):
        raise InputError(f"none of the {len(rates)} entries of {path} is a video of the annotation")
    return {video: _checked_rate(rate, f"{path}: {video}") for video, rate in rates.items() if video in known}


def count_past_end(items: Iterable[Item], times_s: Mapping[str, Sequence[float]]) -> int:
    """The questions with a frame after the annotated end of their video: a sign of wrong frame rates."""
    return sum(
        item.duration_s is not None and max(times_s.get(item.id) or [0.0]) > item.duration_s + PAST_END_S
        for item in items
    )


def frame_times(video: StrPath, numbers: Sequence[int], *, fps: float | None = None) -> list[float]:
    """Presentation times of the frames with these numbers, from 0 in presentation order."""
    if any(number < 0 for number in numbers):
        raise InputError(f"{video}: a frame number is {min(numbers)}; expected numbers from 0")
    if fps is not None:
        rate = _checked_rate(fps, str(video))
        return [number / rate for number in numbers]
    timeline = read_timeline(video)
    if numbers and max(numbers) >= len(timeline):
        raise InputError(f"{video} has {len(timeline)} frames; got frame number {max(numbers)}")
    return [timeline.time_s(int(timeline.shown[number])) for number in numbers]


def _times(entry: _Entry, item: Item, fps: FrameRates | None) -> list[float]:
    times_s = entry.first(TIMES, tuple[Seconds, ...])
    if times_s is not None:
        return list(times_s)
    own = entry.first(("fps",), float)
    rate = own if own is not None else fps.get(item.video_id) if isinstance(fps, Mapping) else fps
    numbers = entry.numbers
    if rate is None and not item.video.is_file():
        raise InputError(
            f"{entry.location} has frame numbers and no frame rate, and {item.video} does not exist; "
            "give the rate of each video with --fps-from, or get the video"
        )
    times = frame_times(item.video, numbers, fps=rate)
    is_one_for_all = own is None and isinstance(fps, int | float)
    if is_one_for_all and item.duration_s is not None and max(times, default=0.0) > item.duration_s + PAST_END_S:
        raise InputError(
            f"{entry.location}: at {rate:g} frames per second frame {max(numbers)} is at {max(times):.1f} s, "
            f"after the end of {item.video_id} at {item.duration_s:.1f} s; give the rate of each video with --fps-from"
        )
    return times


def _read_entries(path: Path, ids: Sequence[str]) -> dict[str, _Entry]:
    """The entries of a file by question."""
    value = _read_json(path)
    names: Sequence[str | None] = [None] * len(value)
    rows = value
    if isinstance(value, Mapping):
        names, rows = list(value), value.values()
    elif all(isinstance(part, list) for part in value):
        names = ids
    if len(names) != len(rows):
        raise InputError(
            f"{path} has {len(rows)} lists of frames without ids for {len(ids)} questions; expected one for each, "
            "in the annotation's order"
        )
    entries = {}
    for k, (key, row) in enumerate(zip(names, rows, strict=True), 1):
        entry = _Entry(f"{path}, entry {k}", row if isinstance(row, Mapping) else {NUMBERS[0]: row})
        name = entry.first(IDS, Name) or key
        if name is None or name in entries:
            problem = f"has no id of {', '.join(IDS)}" if name is None else f"repeats the id {name!r}"
            raise InputError(f"{entry.location} {problem}; expected one entry per question")
        entries[name] = entry
    return entries


def _read_json(path: Path) -> Any:
    """A list or an object of a JSON file; the rows of any other annotation file."""
    if path.suffix.lower() != ".json":
        return read_rows(path)[0]
    value = load_json(read_bytes(path, FILE), str(path), "a list or an object")
    if not isinstance(value, list | Mapping):
        raise InputError(f"{path} has no list of frames; expected a list or an object")
    return value


def _rates_from_steps(entries: Mapping[str, _Entry], items: Sequence[Item]) -> dict[str, float]:
    steps: dict[str, int] = {}
    for item in items:
        steps[item.video_id] = math.gcd(steps.get(item.video_id, 0), *entries[item.id].numbers)
    return {video: _BROADCAST_FPS.get(step, float(step)) for video, step in steps.items() if step in _PLAUSIBLE_STEPS}


def _checked_rate(fps: float, location: str) -> float:
    if not 0 < fps <= MAX_FPS:
        raise InputError(f"{location}: fps is {fps}; expected frames per second, above 0")
    return fps
