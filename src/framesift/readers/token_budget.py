"""A budget in tokens: what frames cost by the arithmetic of the reader's model, and how many fit into a prompt.

Frame tokens are exact, those of the model's own processor. Text tokens are counted with the longest times that the
video has, by the model's tokenizer if its files are on this machine; otherwise they are estimated, upwards.
"""

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path
from typing import Any

from framesift._utils.credentials import LOCAL
from framesift._utils.optional import is_installed
from framesift._utils.text import clock, counted
from framesift.encoders.weights import read_config
from framesift.errors import FramesiftError, OptionError
from framesift.readers.families import ChatFormat, Family, FrameLimits, family_by_name, family_of, unknown_tokens
from framesift.readers.frame_layouts import (
    GEMMA_TOKENS,
    FrameLayout,
    FramesAs,
    GemmaFrames,
    PreparedFrames,
    QwenFrames,
)
from framesift.readers.prompts import GRID_COLUMNS, Prompt, TextMode, check_text_mode, format_question, grid_captions
from framesift.readers.time_formats import mark_times, mark_videos, resolve_time_format
from framesift.rendering.frame_grid import grid_size
from framesift.types import Question, VideoInfo
from framesift.video.colour import shrunk_size

MODEL_PIXELS = 12_845_056  # of an image, by Qwen's own processor
MOST_FRAMES = 1024
WANTED_FRAMES = 32  # the default budget: frames are shrunk until so many fit
SMALLEST_SIDE = 224  # of the shorter side of a frame, below which text on it is hard to read
SIDE_STEP = 8
# Tokens of a text without a tokenizer: one for each digit, sign and started six letters, two for other characters.
_PIECES = re.compile(r"[A-Za-z]{1,6}|[^\sA-Za-z]")
_NO_IMAGE: Any = (None,)
WITHOUT_TEXT = ("prompt", "tagged")  # modes whose text depends on the frames that are selected


@dataclass(frozen=True)
class PromptTokens:
    """What a prompt costs. size: of a frame, width and height; frame_tokens: of all frames; text_tokens: at most."""

    frames: int
    size: tuple[int, int]
    frame_tokens: int
    text_tokens: int

    @property
    def total(self) -> int:
        return self.frame_tokens + self.text_tokens


@dataclass(frozen=True)
class TokenPlan:
    """The number and size of frames that fit. short_side: None for the video's own; options: of the reader."""

    budget: int
    short_side: int | None
    options: Mapping[str, Any]
    tokens: PromptTokens


@dataclass(frozen=True)
class TokenCounter:
    """Counts the tokens of a reader's prompts.

    model: the name that the arithmetic is taken from. text_tokens: those of the text around so many frames; is_exact:
    whether by the model's own tokenizer. options: the reader's. longest_side: to which a server's frames are shrunk.
    """

    model: str
    layout: FrameLayout
    frames_as: FramesAs
    text_tokens: Callable[[int], int]
    is_exact: bool
    videos: Sequence[VideoInfo]
    columns: int | None  # of grids of frames
    options: Mapping[str, Any]
    is_local: bool
    longest_side: int | None = None

    def count(self, frames: int, short_side: int | None = None) -> PromptTokens:
        """The tokens of a prompt with so many frames, for the longest of the questions."""
        images = math.ceil(frames / self.columns**2) if self.columns else frames
        costs = [(self._frame_tokens(images, size), size) for size in self._sizes(short_side)]
        frame_tokens, size = max(costs)
        return PromptTokens(frames, size, frame_tokens, self.text_tokens(frames))

    def fit(self, most: int, *, budget: int | None = None, short_side: int | None = None) -> TokenPlan:
        """The frames that fit into `most` tokens. budget, short_side: those that are given stay as they are.

        Frames are as large as possible while as many as wanted fit: the given budget, or WANTED_FRAMES and then as many
        more as there is room for. If too few of the smallest fit, there are fewer.
        """
        wanted = budget or WANTED_FRAMES
        fitting: tuple[int, int | None, TokenCounter] | None = None
        for side, counter in self._levels(short_side):
            count = counter.most_frames(most, side, at_most=budget or MOST_FRAMES)
            if fitting is None or count > fitting[0]:
                fitting = count, side, counter
            if count >= wanted:
                break
        count, side, counter = fitting or (0, short_side, self)
        if not count or (budget and count < budget):
            least = counter.count(budget or 1, side)
            fewer = ", or select fewer frames (--budget)" if budget else ""
            raise OptionError(
                f"max_tokens_in is {most}; {counted(least.frames, 'frame')} of {least.size[0]} × {least.size[1]} with "
                f"the text is {least.total} tokens for {self.model}: raise it{fewer}"
            )
        return TokenPlan(count, side, counter.options, counter.count(count, side))

    def most_frames(self, most: int, short_side: int | None, *, at_most: int) -> int:
        """The largest number of frames of this size whose prompt has at most `most` tokens; 0 if none fits."""
        low, high = 0, at_most
        while low < high:
            middle = (low + high + 1) // 2
            low, high = (middle, high) if self.count(middle, short_side).total <= most else (low, middle - 1)
        return low

    def _levels(self, short_side: int | None) -> Iterator[tuple[int | None, "TokenCounter"]]:
        """Sizes of frames from large to small, each with the counter for it."""
        yield short_side, self
        if isinstance(self.layout, GemmaFrames) and self.layout.frame_tokens is None and self.is_local:
            own = self.layout.video_tokens if self.frames_as == "video" else self.layout.image_tokens
            for tokens in reversed([number for number in GEMMA_TOKENS if number < own]):
                layout, options = replace(self.layout, frame_tokens=tokens), {**self.options, "frame_tokens": tokens}
                yield short_side, replace(self, layout=layout, options=options)
        elif isinstance(self.layout, QwenFrames) and short_side is None:
            full = max(min(video.width, video.height) for video in self.videos)
            for side in range(full - full % SIDE_STEP, SMALLEST_SIDE - 1, -SIDE_STEP):
                yield side, self

    def _sizes(self, short_side: int | None) -> list[tuple[int, int]]:
        return [shrunk_size(video.width, video.height, short_side) for video in self.videos]

    def _frame_tokens(self, images: int, size: tuple[int, int]) -> int:
        pictured = self._sent(grid_size(size, self.columns) if self.columns else size)
        return self.layout.tokens(images, pictured[::-1], self.frames_as)

    def _sent(self, size: tuple[int, int]) -> tuple[int, int]:
        scale = 1.0 if self.longest_side is None else min(1.0, self.longest_side / max(size))
        return (max(1, round(size[0] * scale)), max(1, round(size[1] * scale))) if scale < 1 else size


def token_counter(
    reader: str,
    options: Mapping[str, Any],
    *,
    videos: Sequence[VideoInfo],
    questions: Sequence[Question],
    text_mode: str,
) -> TokenCounter:
    """The counter for a reader by name: a local model, which need not be on this machine, or one on a server.

    videos: the one to ask about, or several: the frame that costs most, the longest time and the longest name count.
    """
    mode = check_text_mode(text_mode)
    if mode in WITHOUT_TEXT:
        raise OptionError(f"text_mode is {mode!r}, whose text depends on the frames; expected another to count tokens")
    pixels = min(int(options.get("max_pixels", MODEL_PIXELS)), int(options.get("frame_max_pixels", FrameLimits.pixels)))
    limits = FrameLimits(pixels, options.get("frame_tokens"))
    longest_side, folder = None, None
    frames_as: FramesAs = "pictures"
    if reader.startswith(LOCAL):
        name, folder = _find_checkpoint(reader.removeprefix(LOCAL))
        if options.get("frames_as", "video") == "video" and mode not in GRID_COLUMNS and len(videos) == 1:
            frames_as = "video"
    elif reader.startswith(("http://", "https://")):
        name, longest_side = _model_on_server(reader, options)
        limits = FrameLimits(MODEL_PIXELS)
    else:
        raise OptionError(f"the reader is {reader!r}, which takes no tokens; expected local:MODEL or a URL")
    duration_s = max(info.duration_s for info in videos)
    several = max((Path(info.path).name for info in videos), key=len) if len(videos) > 1 else ""
    config = read_config(folder / "config.json") if folder else {}
    family = family_of(config) if folder else family_by_name(name)
    if family is None:
        raise unknown_tokens(name)
    layout = family.layout(config, name, limits)
    count, is_exact = _text_counter(folder, family, layout, frames_as)
    names = name, str(config.get("model_type", ""))
    prompt = partial(_longest_prompt, names=names, options=options, duration_s=duration_s, mode=mode, several=several)
    text_tokens = cache(lambda frames: max(count(prompt(question, frames)) for question in questions))
    return TokenCounter(
        model=name,
        layout=layout,
        frames_as=frames_as,
        text_tokens=text_tokens,
        is_exact=is_exact,
        videos=videos,
        columns=GRID_COLUMNS.get(mode),
        options=dict(options),
        is_local=reader.startswith(LOCAL),
        longest_side=longest_side,
    )


def _longest_prompt(
    question: Question,
    frames: int,
    *,
    names: Sequence[str],
    options: Mapping[str, Any],
    duration_s: float,
    mode: TextMode,
    several: str,
) -> Prompt:
    """A prompt whose text is as long as any with so many frames; its images are left out.

    several: the longest name of several videos.
    """
    times = bool(options.get("times", True))
    time_format = resolve_time_format(str(options.get("time_format", "auto")), *names, times=times)
    if several:
        label = f"{several} {clock(duration_s)}" if time_format != "none" else several
        marks = mark_videos([label] * frames, has_times=time_format != "none")
    else:
        marks = mark_times(time_format, [duration_s] * frames, duration_s)
    text = format_question(question, str(options.get("preset", "longvideobench")), has_times=marks.has_times)
    columns = GRID_COLUMNS.get(mode)
    if not columns:
        return Prompt(_NO_IMAGE * frames, marks.captions, text, marks.line)
    captions = grid_captions(marks.labels, columns)
    return Prompt(_NO_IMAGE * len(captions), captions, text, "", columns**2)


def estimate_text_tokens(text: str) -> int:
    """An estimate of a text's tokens that is rarely too low."""
    return sum(1 if piece.isascii() else 2 for piece in _PIECES.findall(text))


def _text_counter(
    folder: Path | None, family: Family, layout: FrameLayout, frames_as: FramesAs
) -> tuple[Callable[[Prompt], int], bool]:
    if folder is not None and is_installed("transformers", "torch"):
        import transformers

        from framesift.readers.model_inputs import FamilyInputs, chat_format, load_tokenizer

        tokenizer = load_tokenizer(transformers, folder, family, layout)
        inputs = FamilyInputs(tokenizer, family, chat_format(family, tokenizer, folder), layout)
        return lambda prompt: len(inputs.encode(prompt, frames_as, _no_frames(prompt))), True
    return lambda prompt: _estimate(prompt, family.chat, layout, frames_as), False


def _no_frames(prompt: Prompt) -> PreparedFrames:
    return PreparedFrames([[] for _ in prompt.images] or [[]])


def _estimate(prompt: Prompt, chat: ChatFormat, layout: FrameLayout, frames_as: FramesAs) -> int:
    is_one_text = frames_as == "video" and not layout.is_marked
    texts = (
        [prompt.text_after_video] if is_one_text else [part for part in prompt.interleaved() if isinstance(part, str)]
    )
    return sum(map(estimate_text_tokens, [chat.before, *texts, chat.after]))


def _find_checkpoint(source: str) -> tuple[str, Path | None]:
    """The name of a local model, and its folder if it is on this machine."""
    from framesift.readers.local import CHECKPOINTS, find_folder

    name = CHECKPOINTS.get(source, source)
    try:
        return name, find_folder(source)
    except FramesiftError:
        if Path(source).is_dir():
            raise
        return name, None


def _model_on_server(reader: str, options: Mapping[str, Any]) -> tuple[str, int | None]:
    from framesift.readers.base import get_reader

    server: Any = get_reader(reader, **options)
    if not server.model:
        server.check()
    return server.model, server.longest_side
