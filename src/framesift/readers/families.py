"""The families of local models: which layout of frames and which chat format each has, by its configuration or name.

A configuration file is not needed to count tokens: a family's published values are its defaults.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from framesift.errors import InputError, OptionError
from framesift.readers import llava_next_layout
from framesift.readers.frame_layouts import (
    GEMMA_TOKENS,
    FrameLayout,
    GemmaFrames,
    InternFrames,
    LlavaFrames,
    Qwen3Frames,
    QwenFrames,
    SmolFrames,
)
from framesift.readers.time_formats import native_time_format

Config = Mapping[str, Any]


@dataclass(frozen=True)
class FrameLimits:
    """What limits a frame: its pixels (Qwen), its tokens (Gemma 4). None: the model's own."""

    pixels: int = 602_112
    tokens: int | None = None

    def __post_init__(self) -> None:
        if self.tokens is not None and self.tokens not in GEMMA_TOKENS:
            raise OptionError(f"frame_tokens is {self.tokens!r}; expected one of {', '.join(map(str, GEMMA_TOKENS))}")


@dataclass(frozen=True)
class ChatFormat:
    """The text around one turn of the user, and the token that ends a reply."""

    before: str
    after: str
    end: str


@dataclass(frozen=True)
class Family:
    """layout: from the configuration, the model's name and the limits. chat: unless the checkpoint has its own format.

    has_own_chat: whether the checkpoint's template is used where there is one. after_frames: the text after the last
    frame that has a mark.
    """

    layout: Callable[[Config, str, FrameLimits], FrameLayout]
    chat: ChatFormat
    has_own_chat: bool = True
    after_frames: str = ""


# The paper's three models were tuned on this format. Their templates are the same, but put all images first.
PAPER_CHAT = ChatFormat(
    "<|im_start|>system\nYou are a helpful assistant.<|im_end|>\n<|im_start|>user\n",
    "<|im_end|>\n<|im_start|>assistant\n",
    "<|im_end|>",
)
QWEN3_CHAT = ChatFormat("<|im_start|>user\n", "<|im_end|>\n<|im_start|>assistant\n", "<|im_end|>")
GEMMA_CHAT = ChatFormat("<bos><|turn>user\n", "<turn|>\n<|turn>model\n", "<turn|>")
SMOL_CHAT = ChatFormat("<|im_start|>User: ", "<end_of_utterance>\nAssistant:", "<end_of_utterance>")


def _qwen(config: Config, name: str, limits: FrameLimits, kind: type[QwenFrames] = QwenFrames) -> FrameLayout:  # noqa: ARG001
    vision = config.get("vision_config") or {}
    depth = vision.get("temporal_patch_size", 2)
    return kind(limits.pixels, vision.get("patch_size", kind.patch), vision.get("spatial_merge_size", 2), depth)


def _llava(config: Config, name: str, limits: FrameLimits) -> FrameLayout:  # noqa: ARG001 (the signature of all)
    if llava_next_layout.is_original(config):
        return llava_next_layout.frames_of(config)
    vision = config.get("vision_config") or {}
    # LLaVA-Video converted to this architecture differs in the line breaks of a video, which only its name tells.
    newline = "grid" if native_time_format(name) == "llava-video" else "one_token"
    return LlavaFrames(side=vision.get("image_size", 384), patch=vision.get("patch_size", 14), newline=newline)


def _internvl(config: Config, name: str, limits: FrameLimits) -> FrameLayout:  # noqa: ARG001
    side = (config.get("vision_config") or {}).get("image_size", 448)
    return InternFrames(side[0] if isinstance(side, list) else side, config.get("image_seq_length", 256))


def _smolvlm(config: Config, name: str, limits: FrameLimits) -> FrameLayout:  # noqa: ARG001
    if not config and re.search(r"256m|500m", name, re.I):
        return SmolFrames(side=512, frame_tokens=64, longest_edge=512)
    vision = config.get("vision_config") or {}
    side, patch, scale = vision.get("image_size", 384), vision.get("patch_size", 14), config.get("scale_factor", 3)
    return SmolFrames(side, (side // patch) ** 2 // scale**2, side)


def _gemma4(config: Config, name: str, limits: FrameLimits) -> FrameLayout:  # noqa: ARG001
    vision = config.get("vision_config") or {}
    return GemmaFrames(limits.tokens, vision.get("patch_size", 16), vision.get("pooling_kernel_size", 3))


# By the `model_type` of a configuration.
FAMILIES = {
    "qwen2_5_vl": Family(_qwen, PAPER_CHAT, has_own_chat=False),
    "llava_onevision": Family(_llava, PAPER_CHAT, has_own_chat=False),
    "qwen3_vl": Family(partial(_qwen, kind=Qwen3Frames), QWEN3_CHAT),
    "internvl": Family(_internvl, QWEN3_CHAT, after_frames="\n"),
    "gemma4": Family(_gemma4, GEMMA_CHAT),
    "smolvlm": Family(_smolvlm, SMOL_CHAT, after_frames="\n\n"),
}
# Families that time formats do not distinguish.
_NAMES = {
    "qwen2_5_vl": re.compile(r"qwen[-_]?2[._]5[-_]?vl", re.I),
    "llava_onevision": re.compile(r"llava[-_]?(?:onevision|video)", re.I),
}
_BY_TIME_FORMAT = {"qwen3-vl": "qwen3_vl", "gemma4": "gemma4", "internvl": "internvl", "smolvlm": "smolvlm"}


def family_of(config: Config) -> Family | None:
    """The family of a checkpoint by its configuration; None for any other architecture."""
    if llava_next_layout.is_original(config):
        return FAMILIES["llava_onevision"]
    return FAMILIES.get(str(config.get("model_type")))


def family_by_name(name: str) -> Family | None:
    """The family of a model of this name; None if the name tells none."""
    named = next((family for family, pattern in _NAMES.items() if pattern.search(name)), "")
    return FAMILIES.get(named or _BY_TIME_FORMAT.get(str(native_time_format(name)), ""))


def layout_by_name(name: str, limits: FrameLimits) -> FrameLayout:
    """The layout of a model of this name, with its family's published values."""
    family = family_by_name(name)
    if family is None:
        raise unknown_tokens(name)
    return family.layout({}, name, limits)


def unknown_tokens(name: str) -> InputError:
    return InputError(
        f"how many tokens {name!r} takes for a frame is not known; expected a model of one of {', '.join(FAMILIES)}"
    )
