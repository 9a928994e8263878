"""LLaVA-OneVision and LLaVA-Video: all frames are one video, of pooled tokens, and one line has their times.

Weights that were published for the LLaVA-NeXT code are mapped to transformers' classes, with none left over.
"""

import math
from collections.abc import Mapping
from functools import wraps
from pathlib import Path
from typing import Any

from framesift.errors import InputError
from framesift.readers.local_inputs import break_special_tokens
from framesift.readers.prompts import Prompt

KIND = "llava_onevision"
ARCHITECTURE = "LlavaQwenForCausalLM"  # of the LLaVA-NeXT code
# The chat format that the models were tuned on.
BEFORE = "<|im_start|>system\nYou are a helpful assistant.<|im_end|>\n<|im_start|>user\n"
END = "<|im_end|>"
AFTER = f"{END}\n<|im_start|>assistant\n"
SPECIALS = ["<image>", "<video>"]
LANGUAGE_SETTINGS = (
    "hidden_size", "intermediate_size", "num_hidden_layers", "num_attention_heads", "num_key_value_heads", "vocab_size",
    "max_position_embeddings", "rope_theta", "rope_scaling", "rms_norm_eps", "hidden_act", "tie_word_embeddings",
    "bos_token_id", "eos_token_id",
)  # fmt: skip
TOWER_NAME = "google/siglip-so400m-patch14-384"
# The original code drops the last of 27 layers, and the head; neither is used.
TOWER = {
    "hidden_size": 1152, "intermediate_size": 4304, "num_hidden_layers": 26, "num_attention_heads": 16,
    "image_size": 384, "patch_size": 14, "vision_use_head": False,
}  # fmt: skip
NAMED = 3  # tensors listed in an error, besides their number


class LlavaInputs:
    """Builds the inputs of a model, with as many tokens as its frames have after pooling."""

    frames_as = "video"

    def __init__(self, transformers: Any, tokenizer: Any, model: Any) -> None:
        self.tokenizer = tokenizer
        vision, grey = model.config.vision_config, [0.5] * 3
        size = {"height": vision.image_size, "width": vision.image_size}
        self._images = transformers.SiglipImageProcessorPil(size=size, resample=3, image_mean=grey, image_std=grey)
        self._side = math.ceil(vision.image_size // vision.patch_size / 2)
        self._breaks_rows = hasattr(model, "breaks_rows")

    def build(self, prompt: Prompt) -> dict[str, Any]:
        """The inputs by name; special tokens inside the text are broken up."""
        images = [image.convert("RGB") for image in prompt.images]
        line_breaks = self._side * len(images) if self._breaks_rows else 1
        tokens = self._side**2 * len(images) + line_breaks
        text = break_special_tokens(prompt.text_after_video, self.tokenizer)
        written = f"{BEFORE}{'<video>' * tokens}\n{text}{AFTER}"
        inputs = self.tokenizer(written, add_special_tokens=False, return_tensors="pt")
        return {**inputs, "pixel_values_videos": self._images(images, return_tensors="pt")["pixel_values"][None]}


def is_original(config: Mapping[str, Any]) -> bool:
    """Whether a checkpoint has the names and settings of the LLaVA-NeXT code."""
    return ARCHITECTURE in (config.get("architectures") or [])


def load(
    transformers: Any, folder: Path, config: Mapping[str, Any], *, breaks_rows: bool, options: Mapping[str, Any]
) -> tuple[Any, LlavaInputs]:
    """Load a model and what builds its inputs. breaks_rows: of LLaVA-Video; options: those of `from_pretrained`."""
    # AutoTokenizer fails on the files that LLaVA-Video is published with.
    tokenizer = transformers.Qwen2Tokenizer.from_pretrained(folder, local_files_only=True)
    tokenizer.eos_token = END
    tokenizer.add_tokens([token for token in SPECIALS if token not in tokenizer.get_vocab()], special_tokens=True)
    if is_original(config):
        model = _load_original(transformers, folder, config, tokenizer, options)
        breaks_rows = config.get("mm_newline_position") == "grid"
    else:
        loader = transformers.LlavaOnevisionForConditionalGeneration
        model = loader.from_pretrained(folder, use_safetensors=True, local_files_only=True, **options)
    if breaks_rows:
        break_rows(model)
    return model, LlavaInputs(transformers, tokenizer, model)


def break_rows(model: Any) -> None:
    """Put a line break after every row of every frame, as LLaVA-Video has it, and none at the end of the video."""
    import torch

    inner = model.model
    pool, video_features = inner.apply_pooling, inner.get_video_features

    def apply_pooling(features: Any) -> Any:
        pooled = pool(features)
        frames, tokens, width = pooled.shape
        side = math.isqrt(tokens)
        breaks = inner.image_newline.to(pooled).expand(frames, side, 1, width)
        return torch.cat([pooled.view(frames, side, side, width), breaks], dim=2).flatten(1, 2)

    # transformers inspects this function's parameters to decide what it may compute before generation.
    @wraps(video_features)
    def get_video_features(*args: Any, **kwargs: Any) -> Any:
        features = video_features(*args, **kwargs)
        features.pooler_output = features.pooler_output[:, :-1]
        return features

    inner.apply_pooling, inner.get_video_features = apply_pooling, get_video_features
    model.breaks_rows = True


def _load_original(
    transformers: Any, folder: Path, config: Mapping[str, Any], tokenizer: Any, options: Mapping[str, Any]
) -> Any:
    pool, newline = config.get("mm_spatial_pool_mode", "bilinear"), config.get("mm_newline_position", "one_token")
    stride, tower = config.get("mm_spatial_pool_stride", 2), config.get("mm_vision_tower")
    if (tower, pool, stride) != (TOWER_NAME, "bilinear", 2) or newline not in ("one_token", "grid"):
        raise InputError(
            f"this LLaVA has the vision tower {tower!r}, pools video with {pool!r} by {stride} and has line breaks "
            f"{newline!r}; expected {TOWER_NAME}, bilinear by 2, and one_token or grid"
        )
    language = {"model_type": "qwen2"} | {name: config[name] for name in LANGUAGE_SETTINGS if name in config}
    image, video = tokenizer.convert_tokens_to_ids(SPECIALS)
    settings = transformers.LlavaOnevisionConfig(
        vision_config={"model_type": "siglip_vision_model"} | TOWER,
        text_config=language,
        image_token_index=image,
        video_token_index=video,
        tie_word_embeddings=bool(config.get("tie_word_embeddings", False)),
    )
    logs = transformers.logging
    verbosity = logs.get_verbosity()
    logs.set_verbosity_error()  # no report of tensors, whose problems are an error below
    try:
        model, found = transformers.LlavaOnevisionForConditionalGeneration.from_pretrained(
            folder,
            config=settings,
            key_mapping={
                r"^model\.vision_tower\.vision_tower\.vision_model\.": "model.vision_tower.",
                r"^model\.mm_projector\.0\.": "model.multi_modal_projector.linear_1.",
                r"^model\.mm_projector\.2\.": "model.multi_modal_projector.linear_2.",
                r"^model\.(embed_tokens|layers|norm)\.": r"model.language_model.\1.",
            },
            use_safetensors=True,
            local_files_only=True,
            ignore_mismatched_sizes=True,
            output_loading_info=True,
            **options,
        )
    finally:
        logs.set_verbosity(verbosity)
    problems = {
        "missing": found["missing_keys"],
        # A file may have the head, which is not used.
        "unexpected": [name for name in found["unexpected_keys"] if ".head." not in name],
        "of another shape": [name for name, *_ in found["mismatched_keys"]],
    }
    for problem, names in problems.items():
        if names:
            raise InputError(
                f"{folder} does not match LLaVA-Video: {len(names)} tensors are {problem} "
                f"({', '.join(sorted(names)[:NAMED])}); download it again"
            )
    return model
