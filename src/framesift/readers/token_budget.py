"""A budget in tokens: what frames cost by the published arithmetic of the reader's model, and how many fit."""

import math
import re
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from framesift._utils.credentials import LOCAL
from framesift._utils.text import clock
from framesift.errors import InputError, OptionError
from framesift.readers.prompts import check_text_mode, format_question
from framesift.readers.time_formats import mark_times, mark_videos, native_time_format, resolve_time_format
from framesift.types import Question, VideoInfo
from framesift.video.colour import shrunk_size

MODEL_PIXELS = 12_845_056  # of an image, by Qwen's own processor
GEMMA_IMAGE = 280  # tokens at most, by Gemma 4's own processor
MOST_FRAMES = 1024
LEGIBLE_SIDE = 384  # pixels; text on the frames is drawn to be read at this size
CHAT_TOKENS = 32  # at most, of the chat format around a prompt
# Tokens of a text without a tokenizer: one for each digit, sign and started six letters, two for other characters.
_PIECES = re.compile(r"[A-Za-z]{1,6}|[^\sA-Za-z]")
# Families that time formats do not distinguish.
_OTHER_FAMILIES = {"qwen2.5-vl": r"qwen[-_]?2[._]5[-_]?vl", "llava-onevision": r"llava[-_]?onevision"}
WITHOUT_TEXT = ("prompt", "tagged")  # modes whose text depends on the frames that are selected


@dataclass(frozen=True)
class FrameLimits:
    """What limits a frame: its pixels (Qwen), its tokens (Gemma 4), and whether LLaVA's frames are one video."""

    pixels: int = MODEL_PIXELS
    tokens: int = GEMMA_IMAGE
    is_video: bool = False


@dataclass(frozen=True)
class PromptTokens:
    """What a prompt costs. size: of a frame, width and height; frame_tokens: of all frames; text_tokens: estimated."""

    frames: int
    size: tuple[int, int]
    frame_tokens: int
    text_tokens: int

    @property
    def total(self) -> int:
        return self.frame_tokens + self.text_tokens


@dataclass(frozen=True)
class TokenCounter:
    """Counts the tokens of a reader's prompts. longest_side: to which frames are shrunk; options: the reader's."""

    model: str
    limits: FrameLimits
    longest_side: int | None
    options: Mapping[str, Any]
    videos: Sequence[VideoInfo]
    questions: Sequence[Question]

    def count(self, frames: int, short_side: int | None) -> PromptTokens:
        """The tokens of a prompt with so many frames, for the longest of the questions and the dearest video."""
        sizes = [shrunk_size(video.width, video.height, short_side) for video in self.videos]
        cost, size = max((frame_tokens(self.model, self._sent(size), self.limits), size) for size in sizes)
        return PromptTokens(frames, size, frames * cost, self._text_tokens(frames))

    def most_frames(self, most: int, short_side: int | None) -> int:
        """The largest number of frames of this size whose prompt has at most `most` tokens; 0 if none fits."""
        numbers = range(1, MOST_FRAMES + 1)
        return bisect_right(numbers, most, key=lambda frames: self.count(frames, short_side).total)

    def preferred_size(self, prefer: str, short_side: int | None) -> int | None:
        """The shorter side at which frames take half their tokens, so that twice as many fit; or the one given.

        In a paired study, 16 frames at half the tokens beat 8 at full by 2.4 points on LongVideoBench and 3.0 on
        LVBench. prefer: "frames", "pixels", or "auto": "frames" unless a size is given or text could become illegible.
        """
        if prefer == "pixels" or (prefer == "auto" and short_side is not None):
            return short_side
        half = self.count(1, short_side).frame_tokens / 2
        sides = range(1, short_side or max(min(video.width, video.height) for video in self.videos))
        halved = bisect_right(sides, half, key=lambda side: self.count(1, side).frame_tokens)
        return halved if halved >= (LEGIBLE_SIDE if prefer == "auto" else 1) else short_side

    def _sent(self, size: tuple[int, int]) -> tuple[int, int]:
        scale = 1.0 if self.longest_side is None else min(1.0, self.longest_side / max(size))
        return max(1, round(size[0] * scale)), max(1, round(size[1] * scale))

    def _text_tokens(self, frames: int) -> int:
        """Of the longest question with the longest time and name of a video at each frame."""
        duration_s = max(video.duration_s for video in self.videos)
        name = max((Path(video.path).name for video in self.videos), key=len)
        time_format = str(self.options.get("time_format", "auto"))
        resolved = resolve_time_format(time_format, self.model, times=bool(self.options.get("times", True)))
        if len(self.videos) > 1:
            marks = mark_videos([f"{name} {clock(duration_s)}"] * frames, has_times=True)
        else:
            marks = mark_times(resolved, [duration_s] * frames, duration_s)
        captions = marks.captions if any(marks.captions) and not self.limits.is_video else [marks.line]
        preset = str(self.options.get("preset", "longvideobench"))
        texts = [format_question(question, preset, has_times=marks.has_times) for question in self.questions]
        return CHAT_TOKENS + sum(map(estimate_text_tokens, captions)) + max(map(estimate_text_tokens, texts))


def token_counter(
    reader: str,
    options: Mapping[str, Any],
    *,
    videos: Sequence[VideoInfo],
    questions: Sequence[Question],
    text_mode: str,
) -> TokenCounter:
    """The counter for a reader by name: a local model, which need not be on this machine, or one on a server."""
    mode = check_text_mode(text_mode)
    if mode in WITHOUT_TEXT:
        raise OptionError(f"text_mode is {mode!r}, whose text depends on the frames; expected another to count tokens")
    limits, longest_side = FrameLimits(), None
    if reader.startswith(LOCAL):
        from framesift.readers.local import CHECKPOINTS, FRAME_MAX_PIXELS, GEMMA_TOKENS

        source = reader.removeprefix(LOCAL)
        model = CHECKPOINTS.get(source, source)
        pixels = options.get("frame_max_pixels", FRAME_MAX_PIXELS)
        limits = FrameLimits(pixels, options.get("frame_tokens", GEMMA_TOKENS[0]), is_video="llava" in model.lower())
    elif reader.startswith(("http://", "https://")):
        from framesift.readers.base import get_reader

        server: Any = get_reader(reader, **options)
        if not server.model:
            server.check()
        model, longest_side = server.model, server.longest_side
    else:
        raise OptionError(f"the reader is {reader!r}, which takes no tokens; expected local:MODEL or a URL")
    return TokenCounter(model, limits, longest_side, options, videos, questions)


def frame_tokens(model: str, size: tuple[int, int], limits: FrameLimits) -> int:
    """The tokens of one frame of this size (width, height) with those around it, by the name of the model."""
    named = next((name for name, pattern in _OTHER_FAMILIES.items() if re.search(pattern, model, re.I)), None)
    match named or native_time_format(model):
        case "qwen2.5-vl":
            return _qwen_tokens(size, 28, 56 * 56, limits.pixels) + 2
        case "qwen3-vl":
            return _qwen_tokens(size, 32, 256 * 256, limits.pixels) + 2
        case "gemma4":
            return _gemma_tokens(size, limits.tokens) + 2
        case "internvl":
            return 256 + 2
        case "smolvlm":
            return (64 if re.search(r"256m|500m", model, re.I) else 81) + 3
        case "llava-onevision":
            return 14 * 14 if limits.is_video else 27 * 27 + 2
        case "llava-video":
            return 14 * 15 if limits.is_video else 27 * 27 + 2
    raise InputError(
        f"how many tokens {model!r} takes for a frame is not known; expected the name of a Qwen2.5-VL, Qwen3-VL, "
        "Gemma 4, InternVL, SmolVLM, LLaVA-OneVision or LLaVA-Video"
    )


def estimate_text_tokens(text: str) -> int:
    """An estimate of a text's tokens that is rarely too low."""
    return sum(1 if piece.isascii() else 2 for piece in _PIECES.findall(text))


def _qwen_tokens(size: tuple[int, int], unit: int, least: int, most: int) -> int:
    """Squares of `unit` pixels in the nearest size of whole squares within the limits of pixels."""
    columns, rows = (round(side / unit) for side in size)
    if columns * rows * unit**2 > most:
        shrink = math.sqrt(math.prod(size) / most)
        columns, rows = (max(1, math.floor(side / shrink / unit)) for side in size)
    elif columns * rows * unit**2 < least:
        enlarge = math.sqrt(least / math.prod(size))
        columns, rows = (math.ceil(side * enlarge / unit) for side in size)
    return columns * rows


def _gemma_tokens(size: tuple[int, int], most: int) -> int:
    """Squares of the largest size of this aspect ratio that has at most so many."""
    scale = math.sqrt(most / math.prod(size))
    columns, rows = (math.floor(scale * side) for side in size)
    if not rows:
        columns = min(size[0] // size[1], most)
    elif not columns:
        rows = min(size[1] // size[0], most)
    return max(1, columns) * max(1, rows)
