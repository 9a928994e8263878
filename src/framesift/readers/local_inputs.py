"""A prompt as a local model's inputs, by the processor of its checkpoint; every frame is an image after its time."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from framesift._utils.plugins import reason
from framesift.errors import InputError, MissingExtra
from framesift.readers.prompts import Prompt

EXTRA = "readers"
USER_TEXT = "framesift-user-text"  # replaced by the prompt in what a chat template writes
# By the type of a model: what its processor is given with the frames, each of which is one tile, as those of a video.
SETTINGS: Mapping[str, Mapping[str, Any]] = {
    "internvl": {"crop_to_patches": False},
    "smolvlm": {"do_image_splitting": False},
    "gemma4": {"max_soft_tokens": 70},
}
AFTER_FRAMES = {"internvl": "\n", "smolvlm": "\n\n"}  # as after the frames of a video
# SmolVLM's own class needs a package that spells numbers; this one writes images alike.
SAME_PROCESSOR = {"smolvlm": "Idefics3Processor"}


class ProcessorInputs:
    """Builds the inputs of a model. limits: the settings `frame_max_pixels` (Qwen) and `frame_tokens` (Gemma 4)."""

    frames_as = "images"

    def __init__(self, transformers: Any, folder: Path, kind: str, limits: tuple[int, int]) -> None:
        self._processor = _load_processor(transformers, folder, kind)
        self.tokenizer = self._processor.tokenizer
        self._settings = dict(SETTINGS.get(kind, {}))
        if kind.startswith("qwen"):
            least = self._processor.image_processor.size["shortest_edge"]  # like the other, a number of pixels
            self._settings["size"] = {"shortest_edge": least, "longest_edge": max(limits[0], least)}
        elif kind == "gemma4":
            self._settings["max_soft_tokens"] = limits[1]
        self._after_frames = AFTER_FRAMES.get(kind, "")
        self._before, self._image, self._after = self._chat_format(folder)

    def build(self, prompt: Prompt) -> dict[str, Any]:
        """The inputs by name; special tokens inside a text are broken up."""
        frames = "".join(f"{self._plain(caption)}{self._image}" for caption in prompt.captions)
        written = f"{self._before}{frames}{self._after_frames}{self._plain(prompt.text_after_images)}{self._after}"
        images = [image.convert("RGB") for image in prompt.images]
        settings = {**self._settings, "add_special_tokens": False, "return_tensors": "pt"}
        return dict(self._processor(text=[written], images=images, **settings))

    def _plain(self, text: str) -> str:
        return break_special_tokens(text, self.tokenizer)

    def _chat_format(self, folder: Path) -> tuple[str, str, str]:
        """What the chat template writes before a prompt, for an image inside it, and after it."""
        text, image = {"type": "text", "text": USER_TEXT}, {"type": "image"}
        template = self._processor.chat_template or self.tokenizer.chat_template
        if not template:
            raise InputError(f"{folder} has no chat template; expected all files of a model tuned on instructions")

        def write(*content: dict[str, str]) -> tuple[str, str, str]:
            message = {"role": "user", "content": list(content)}
            written: str = self.tokenizer.apply_chat_template(
                [message], chat_template=template, tokenize=False, add_generation_prompt=True
            )
            return written.partition(USER_TEXT)

        try:
            before, _, after = write(text)
            shown = write(text, image)[2].removesuffix(after).strip()
        except Exception as error:  # a template is a program of the checkpoint's, which may fail in any way
            raise InputError(f"{folder} has a chat template that can't be used ({reason(error)})") from error
        # A template that moves images before all texts writes none here.
        return before, shown or self._processor.image_token, after


def break_special_tokens(text: str, tokenizer: Any) -> str:
    """Break up the special tokens inside a text: subtitles are data and may contain anything."""
    for token in sorted(tokenizer.get_added_vocab(), key=len, reverse=True):
        text = text.replace(token, f"{token[:1]} {token[1:]}")
    return text


def _load_processor(transformers: Any, folder: Path, kind: str) -> Any:
    """The processor of a checkpoint without its part for videos, which needs torchvision."""
    kinds = transformers.CONFIG_MAPPING
    config = kinds[kind] if kind in kinds else None  # noqa: SIM401 (its get() finds nothing that is not imported yet)
    if config not in transformers.MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING:
        raise InputError(
            f"{folder} has a model of type {kind!r}; expected one of images and text that transformers "
            f"{transformers.__version__} reads: pip install -U transformers, or serve the model and give its address"
        )
    name = SAME_PROCESSOR.get(kind) or transformers.PROCESSOR_MAPPING[config].__name__
    # transformers would reject None in the place of a part.
    bases, changed = (getattr(transformers, name),), {"check_argument_for_proper_class": lambda *_: None}
    processor: Any = type(name, bases, changed)
    local = {"local_files_only": True, "trust_remote_code": False}
    try:
        settings, _ = processor.get_processor_dict(folder, local_files_only=True)
        parts = {
            "image_processor": transformers.AutoImageProcessor.from_pretrained(folder, backend="pil", **local),
            "tokenizer": transformers.AutoTokenizer.from_pretrained(folder, **local),
        }
        loaded = processor.from_args_and_dict([parts.get(part) for part in processor.get_attributes()], settings)
    except ImportError as error:
        needed = f"more packages ({reason(error)}): pip install 'framesift[{EXTRA}]'"
        raise MissingExtra(f"the processor of this model needs {needed}") from error
    except (OSError, ValueError, AttributeError) as error:
        raise InputError(f"{folder} has no processor that can be read ({reason(error)}); download it again") from error
    return loaded
