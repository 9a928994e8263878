"""A prompt as a local model's inputs: token ids and tensors, by its family's layout or by its own processor."""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from framesift._utils.plugins import reason
from framesift.errors import FramesiftError, InputError, MissingExtra
from framesift.readers.families import FAMILIES, ChatFormat, Config, Family
from framesift.readers.frame_layouts import FrameLayout, FramesAs, PreparedFrames
from framesift.readers.llava_next_layout import ARCHITECTURE
from framesift.readers.prompts import Prompt

if TYPE_CHECKING:
    from PIL.Image import Image

READERS_EXTRA = "readers"
USER_TEXT = "framesift-user-text"  # replaced by the prompt in what a chat template writes


class FamilyInputs:
    """Builds the inputs of a model of a known family. ends: the tokens that end a reply."""

    def __init__(self, tokenizer: Any, family: Family, chat: ChatFormat, layout: FrameLayout) -> None:
        self.tokenizer, self.layout = tokenizer, layout
        self._family, self._chat = family, chat
        self._specials = sorted(tokenizer.get_added_vocab(), key=len, reverse=True)
        self.ends = [int(tokenizer.convert_tokens_to_ids(chat.end))]

    def frames_as(self, prompt: Prompt, wanted: FramesAs) -> FramesAs:
        """How a prompt's frames are passed: grids of frames, and frames of several videos, are no video."""
        return wanted if prompt.can_be_video else "pictures"

    def build(self, prompt: Prompt, frames_as: FramesAs, *, gap_s: float) -> dict[str, Any]:
        """The inputs by name."""
        import torch

        if self.frames_as(prompt, frames_as) == "video":
            prepared = self.layout.video(prompt.images, gap_s=gap_s)
        else:
            prepared = self.layout.images(prompt.images)
        ids = self.encode(prompt, frames_as, prepared)
        numbers = {self.tokenizer.convert_tokens_to_ids(token): kind for token, kind in self.layout.kinds.items()}
        return {
            "input_ids": torch.tensor([ids]),
            "attention_mask": torch.ones(1, len(ids), dtype=torch.long),
            "mm_token_type_ids": torch.tensor([[numbers.get(number, 0) for number in ids]]),
            **prepared.tensors,
        }

    def encode(self, prompt: Prompt, frames_as: FramesAs, prepared: PreparedFrames) -> list[int]:
        """Token ids of one turn; special tokens inside a text are broken up."""
        is_video = self.frames_as(prompt, frames_as) == "video"
        if is_video and not self.layout.is_marked:
            parts: list[str | list[str]] = [prepared.placeholders[0], prompt.text_after_video]
        else:
            parts = list(_interleave(prompt, prepared, self._family.after_frames))
        ids: list[int] = []
        text = self._chat.before
        # A text is encoded with the text beside it, as the model's own processor does.
        for part in parts:
            if isinstance(part, str):
                text += break_special_tokens(part, self._specials)
            else:
                ids_of = {token: self._ids(token) for token in set(part)}
                ids += [*self._ids(text), *(number for token in part for number in ids_of[token])]
                text = ""
        return [*ids, *self._ids(text + self._chat.after)]

    def _ids(self, text: str) -> list[int]:
        ids: list[int] = self.tokenizer(text, add_special_tokens=False)["input_ids"]
        return ids


class ProcessorInputs:
    """Builds the inputs of any other model by its own processor and chat template; frames are images."""

    layout = None

    def __init__(self, processor: Any) -> None:
        self._processor, self.tokenizer = processor, processor.tokenizer
        self._specials = sorted(self.tokenizer.get_added_vocab(), key=len, reverse=True)
        self.ends = [self.tokenizer.eos_token_id]

    def frames_as(self, prompt: Prompt, wanted: FramesAs) -> FramesAs:  # noqa: ARG002 (images in any case)
        return "pictures"

    def build(self, prompt: Prompt, frames_as: FramesAs, *, gap_s: float) -> dict[str, Any]:  # noqa: ARG002 (as above)
        """The inputs by name, as the processor returns them."""
        content = [self._part(part) for part in prompt.interleaved()]
        try:
            return dict(
                self._processor.apply_chat_template(
                    [{"role": "user", "content": content}],
                    add_generation_prompt=True,
                    tokenize=True,
                    return_dict=True,
                    return_tensors="pt",
                )
            )
        except ImportError as error:
            raise _needs_packages(error) from error

    def _part(self, part: "str | Image") -> dict[str, Any]:
        if isinstance(part, str):
            return {"type": "text", "text": break_special_tokens(part, self._specials)}
        return {"type": "image", "image": part.convert("RGB")}


def load_processor(transformers: Any, folder: Path, config: Config) -> Any:
    """The processor of a checkpoint that transformers reads as a model of images and text."""
    kind = config.get("model_type")
    from transformers.models.auto.modeling_auto import MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING_NAMES as KINDS

    if kind not in KINDS:
        known = ", ".join([*FAMILIES, ARCHITECTURE])
        raise InputError(
            f"{folder} has a model of type {kind!r}; expected one of {known}, or another that transformers reads as a "
            "model of images and text; serve others and give their address"
        )
    try:
        processor = transformers.AutoProcessor.from_pretrained(folder, local_files_only=True, trust_remote_code=False)
    except ImportError as error:
        raise _needs_packages(error) from error
    except (OSError, ValueError) as error:
        raise InputError(f"{folder} has no processor that can be read ({reason(error)}); download it again") from error
    if not getattr(processor, "chat_template", None) or not hasattr(processor, "tokenizer"):
        raise InputError(f"{folder} has no chat template; expected a model tuned on instructions")
    return processor


def load_tokenizer(transformers: Any, folder: Path, family: Family, layout: FrameLayout) -> Any:
    """A checkpoint's tokenizer with the tokens of frames."""
    if family.has_own_chat:
        loader = transformers.AutoTokenizer
    else:
        # The paper's models have Qwen2's tokenizer; AutoTokenizer fails on LLaVA-Video's published files.
        loader = getattr(transformers, "Qwen2TokenizerFast", None) or transformers.Qwen2Tokenizer
    loaded = loader.from_pretrained(folder, local_files_only=True)
    missing = [token for token in layout.specials if token not in loaded.get_vocab()]
    if missing and family.has_own_chat:
        raise InputError(f"{folder} has a tokenizer without {missing[0]}; expected that of the published checkpoint")
    if missing:
        loaded.add_tokens(missing, special_tokens=True)
    return loaded


def chat_format(family: Family, tokenizer: Any, folder: Path) -> ChatFormat:
    """The text around a prompt: by the checkpoint's template where the family takes it, else the family's own."""
    template = tokenizer.chat_template or _processor_template(folder)
    if not family.has_own_chat or not template:
        return family.chat
    message = {"role": "user", "content": [{"type": "text", "text": USER_TEXT}]}
    try:
        written = tokenizer.apply_chat_template(
            [message], chat_template=template, tokenize=False, add_generation_prompt=True
        )
    except Exception as error:  # a template is a program of the checkpoint's, which may fail in any way
        raise InputError(f"{folder} has a chat template that can't be used ({reason(error)})") from error
    before, found, after = written.partition(USER_TEXT)
    return ChatFormat(before, after, family.chat.end) if found else family.chat


def break_special_tokens(text: str, specials: Sequence[str]) -> str:
    """Break up the special tokens inside a text: subtitles are data and may contain anything."""
    for token in specials:
        text = text.replace(token, f"{token[:1]} {token[1:]}")
    return text


def _processor_template(folder: Path) -> str | None:
    """The template that older checkpoints have in a file of the processor."""
    try:
        template = json.loads((folder / "chat_template.json").read_text(encoding="utf-8"))["chat_template"]
    except (OSError, ValueError, LookupError, TypeError):
        return None
    return template if isinstance(template, str) else None


def _interleave(prompt: Prompt, prepared: PreparedFrames, after_frames: str) -> Iterator[str | list[str]]:
    left = list(reversed(prepared.placeholders))
    for part in prompt.interleaved():
        if isinstance(part, str):
            yield part
        else:
            yield left.pop()
            if not left:
                yield after_frames


def _needs_packages(error: ImportError) -> FramesiftError:
    return MissingExtra(
        f"the processor of this model needs more packages ({reason(error)}): pip install 'framesift[{READERS_EXTRA}]'"
    )
