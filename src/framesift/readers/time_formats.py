"""How the frames' times are written: as the model was trained to read them, or as a clock.

`TIME_FORMATS` lists the formats. "auto" takes the one of the model's family, found in its name or model type, and the
clock for any other model. Each format is that of the family's own code; its source is named beside it.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Literal, get_args

from framesift._utils.records import shown
from framesift._utils.text import clock
from framesift.errors import OptionError

TimeFormat = Literal["auto", "clock", "qwen3-vl", "gemma4", "llava-video", "internvl", "smolvlm", "none"]
TIME_FORMATS: tuple[TimeFormat, ...] = get_args(TimeFormat)

# A model's name as servers list it, its file or folder, or the `model_type` of its configuration.
_FAMILIES: Mapping[TimeFormat, re.Pattern[str]] = {
    "qwen3-vl": re.compile(r"qwen[-_]?3[-_.]?(?:vl|5)(?![a-z0-9])", re.I),  # Qwen3.5 has Qwen3-VL's processor
    "gemma4": re.compile(r"gemma[-_]?4(?![0-9b])", re.I),
    "llava-video": re.compile(r"llava[-_]?video", re.I),
    "internvl": re.compile(r"internvl", re.I),
    "smolvlm": re.compile(r"smolvlm", re.I),
}


@dataclass(frozen=True)
class TimeMarks:
    """The times of frames in one format.

    captions: the text before each frame that is passed as an image. labels: the frames' names in other text. line: all
    times in one sentence, for frames that are passed as one video. Any of them may be empty. has_times: whether the
    format states times, or only numbers the frames.
    """

    captions: tuple[str, ...]
    labels: tuple[str, ...]
    line: str
    has_times: bool = True


def mark_times(time_format: TimeFormat, times_s: Sequence[float], duration_s: float) -> TimeMarks:
    """Write the times of a video's frames in a format other than "auto"."""
    if time_format == "none":
        labels = tuple(f"Frame {k}" for k in range(1, len(times_s) + 1))
        return TimeMarks(("",) * len(labels), labels, "", has_times=False)
    if time_format == "internvl":  # transformers, processing_internvl.py
        labels = tuple(f"Frame{k}" for k in range(1, len(times_s) + 1))
        captions = ["\n" * bool(k) + f"{label}: " for k, label in enumerate(labels)]
        return TimeMarks(tuple(captions), labels, "", has_times=False)
    stamps = [_STAMPS[time_format](time_s) for time_s in times_s]
    labels = tuple(f"Frame {k} {stamp}" for k, stamp in enumerate(stamps, start=1))
    line = f"The {len(stamps)} frames of this video are at {', '.join(stamps)}."
    if time_format == "clock":
        captions = [f"{label}:" for label in labels]
    elif time_format == "gemma4":
        captions = [f"{' ' * bool(k)}{stamp} " for k, stamp in enumerate(stamps)]
    elif time_format == "smolvlm":  # but the number of frames in digits
        intro = (
            f"You are provided the following series of {len(stamps)} frames from a "
            f"{timedelta(seconds=int(duration_s))} [H:MM:SS] video.\n"
        )
        captions = [f"{'' if k else intro}\nFrame from {stamp}:" for k, stamp in enumerate(stamps)]
    elif time_format == "llava-video":
        captions = [""] * len(stamps)
        # Without the original's word "uniformly", which is wrong for selected frames.
        line = (
            f"The video lasts for {duration_s:.2f} seconds, and {len(stamps)} frames are sampled from it. These frames "
            f"are located at {','.join(stamps)}.Please answer the following questions related to this video."
        )
    else:
        captions = stamps
    return TimeMarks(tuple(captions), labels, line)


def mark_videos(labels: Sequence[str], *, has_times: bool) -> TimeMarks:
    """Mark the frames of several videos by these labels: no model was trained on such a format.

    has_times: whether the labels have times, or name the videos only.
    """
    named = tuple(f"Frame {k} [{label}]" for k, label in enumerate(labels, start=1))
    line = f"The {len(labels)} frames are from several videos: {', '.join(f'[{label}]' for label in labels)}."
    return TimeMarks(tuple(f"{name}:" for name in named), named, line, has_times)


def resolve_time_format(time_format: str, *names: str, times: bool = True) -> TimeFormat:
    """The format that "auto" stands for with a model of these names; any other is returned. times: False for none."""
    checked = check_time_format(time_format)
    if not times:
        return "none"
    return native_time_format(*names) or "clock" if checked == "auto" else checked


def native_time_format(*names: str) -> TimeFormat | None:
    """The format of the family that a model belongs to, by its name or model type; None for an unknown family."""
    # A path's last part names the model; the folders above it may name others.
    parts = [part for name in names for part in reversed(re.split(r"[/\\]", name))]
    return next((family for part in parts for family, pattern in _FAMILIES.items() if pattern.search(part)), None)


def check_time_format(time_format: str) -> TimeFormat:
    """Return a valid time format; anything else is an OptionError."""
    if time_format not in TIME_FORMATS:
        raise OptionError(f"time_format is {shown(time_format)}; expected one of {', '.join(TIME_FORMATS)}")
    return time_format


def _minutes(time_s: float) -> str:
    """Minutes and whole seconds, rounded down as the processors do; the minutes may exceed 59."""
    return f"{int(time_s // 60):02d}:{int(time_s % 60):02d}"


_STAMPS: Mapping[TimeFormat, Callable[[float], str]] = {
    "clock": lambda time_s: f"[{clock(time_s)}]",
    "qwen3-vl": lambda time_s: f"<{time_s:.1f} seconds>",  # transformers, processing_qwen3_vl.py
    "gemma4": _minutes,  # transformers, processing_gemma4.py
    "smolvlm": _minutes,  # transformers, processing_smolvlm.py
    "llava-video": lambda time_s: f"{time_s:.2f}s",  # LLaVA-NeXT, llava/train/train.py
}
