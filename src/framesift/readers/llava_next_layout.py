"""LLaVA-Video's published weights, which have the names, settings and video pooling of the LLaVA-NeXT code.

They are mapped to transformers' LlavaOnevision classes, every tensor by name and shape, with none left over.
"""

import re
from collections.abc import Mapping
from functools import wraps
from pathlib import Path
from typing import Any

from framesift.errors import InputError
from framesift.readers.frame_layouts import LlavaFrames

ARCHITECTURE = "LlavaQwenForCausalLM"
VISION_HEADS = 16  # of SigLIP SoViT-400m; not visible in any tensor's shape
LANGUAGE_SETTINGS = (
    "hidden_size", "intermediate_size", "num_hidden_layers", "num_attention_heads", "num_key_value_heads", "vocab_size",
    "max_position_embeddings", "rope_theta", "rope_scaling", "rms_norm_eps", "hidden_act", "tie_word_embeddings",
    "bos_token_id", "eos_token_id",
)  # fmt: skip
# The original code drops the tower's last layer and its head, which are not used; a file may still have the head.
UNUSED = re.compile(r"^model\.vision_tower\.vision_tower\.vision_model\.head\.")
RENAMED = (
    (re.compile(r"^model\.vision_tower\.vision_tower\."), "vision_tower."),
    (re.compile(r"^model\.mm_projector\.0\."), "multi_modal_projector.linear_1."),
    (re.compile(r"^model\.mm_projector\.2\."), "multi_modal_projector.linear_2."),
    (re.compile(r"^model\.image_newline$"), "image_newline"),
    (re.compile(r"^model\.(embed_tokens|layers|norm)\."), r"language_model.\1."),
)
_TOWER = re.compile(r"patch(\d+)-(\d+)$")
NAMED = 3  # tensors listed in an error, besides their number


def is_original(config: Mapping[str, Any]) -> bool:
    return ARCHITECTURE in (config.get("architectures") or [])


def frames_of(config: Mapping[str, Any]) -> LlavaFrames:
    """The frame layout that this checkpoint was trained with."""
    pool, newline = config.get("mm_spatial_pool_mode", "bilinear"), config.get("mm_newline_position", "one_token")
    stride = config.get("mm_spatial_pool_stride", 2)
    if stride != 2 or pool not in ("bilinear", "average") or newline not in ("one_token", "grid"):
        raise InputError(
            f"this LLaVA pools video with {pool!r} by {stride} and line breaks {newline!r}; "
            "expected bilinear or average by 2, and one_token or grid"
        )
    patch, side = _tower(config)
    return LlavaFrames(side=side, patch=patch, newline=newline, pool=pool)


def load(folder: Path, config: Mapping[str, Any], tokenizer: Any, options: Mapping[str, Any]) -> Any:
    """Load the model. options: those of `from_pretrained`, such as the precision."""
    import torch
    from safetensors.torch import load_file
    from transformers import LlavaOnevisionForConditionalGeneration as LlavaOnevision

    files = sorted(folder.glob("*.safetensors"))
    shapes = _read_shapes(files)
    settings = _settings(config, tokenizer, shapes)
    with torch.device("meta"):
        expected = {name: tuple(tensor.shape) for name, tensor in LlavaOnevision(settings).state_dict().items()}
    names = _map_names(shapes, expected)
    _check_shapes(shapes, names, expected, folder)
    weights: dict[str, Any] = {}
    for file in files:
        weights |= {names[name]: tensor for name, tensor in load_file(file).items() if name in names}
    model = LlavaOnevision.from_pretrained(None, config=settings, state_dict=weights, **options)
    return with_pooling(model, frames_of(config))


def with_pooling(model: Any, frames: LlavaFrames) -> Any:
    """Change the model's video pooling and line breaks to those of `frames`; transformers supports only one layout."""
    if frames.newline == "one_token" and frames.pool == "bilinear":
        return model
    import torch

    inner = model.model
    pool_bilinear, video_features = inner.apply_pooling, inner.get_video_features

    def apply_pooling(features: Any) -> Any:
        if frames.pool == "bilinear":
            pooled = pool_bilinear(features)
        else:
            count, _, width = features.shape
            side = frames.side // frames.patch
            square = features.view(count, side, side, width).permute(0, 3, 1, 2)
            pooled = torch.nn.functional.avg_pool2d(square, 2).flatten(2).transpose(1, 2)
        if frames.newline == "one_token":
            return pooled
        count, _, width = pooled.shape
        rows = pooled.view(count, frames.tokens_per_side, frames.tokens_per_side, width)
        breaks = inner.image_newline.to(rows).expand(count, frames.tokens_per_side, 1, width)
        return torch.cat([rows, breaks], dim=2).flatten(1, 2)

    # transformers inspects this function's parameters to decide what it may compute before generation.
    @wraps(video_features)
    def get_video_features(*args: Any, **kwargs: Any) -> Any:
        """Drop the last line break: transformers adds one at the end of every video (5 here, 4 a step later)."""
        features = video_features(*args, **kwargs)
        if frames.newline == "one_token":
            return features
        if hasattr(features, "pooler_output"):
            features.pooler_output = features.pooler_output[:, :-1]
            return features
        return features[:, :-1]

    inner.apply_pooling, inner.get_video_features = apply_pooling, get_video_features
    return model


def _read_shapes(files: list[Path]) -> dict[str, tuple[int, ...]]:
    """Read every tensor's shape from the files' headers."""
    from safetensors import safe_open

    shapes: dict[str, tuple[int, ...]] = {}
    for file in files:
        with safe_open(str(file), framework="pt") as opened:
            shapes |= {name: tuple(opened.get_slice(name).get_shape()) for name in opened.keys()}  # noqa: SIM118 (not a dict)
    return {name: shape for name, shape in shapes.items() if not UNUSED.match(name)}


def _settings(config: Mapping[str, Any], tokenizer: Any, shapes: Mapping[str, tuple[int, ...]]) -> Any:
    """transformers' config from the original one; the tower's from the shapes of its tensors."""
    from transformers import LlavaOnevisionConfig

    tower = "model.vision_tower.vision_tower.vision_model."
    layers = {
        name.removeprefix(f"{tower}encoder.layers.").split(".")[0] for name in shapes if ".encoder.layers." in name
    }
    patch, side = _tower(config)
    vision = {
        "model_type": "siglip_vision_model",
        "hidden_size": _shape(shapes, f"{tower}embeddings.patch_embedding.weight")[0],
        "intermediate_size": _shape(shapes, f"{tower}encoder.layers.0.mlp.fc1.weight")[0],
        "num_hidden_layers": len(layers),
        "num_attention_heads": VISION_HEADS,
        "image_size": side,
        "patch_size": patch,
        "vision_use_head": False,
    }
    language = {"model_type": "qwen2"} | {name: config[name] for name in LANGUAGE_SETTINGS if name in config}
    ids = tokenizer.convert_tokens_to_ids(list(LlavaFrames.specials))
    if max(ids) >= language["vocab_size"]:
        raise InputError(f"the tokenizer gives {LlavaFrames.specials} the ids {ids}, beyond the model's vocabulary")
    return LlavaOnevisionConfig(
        vision_config=vision,
        text_config=language,
        image_token_index=ids[0],
        video_token_index=ids[1],
        tie_word_embeddings=bool(config.get("tie_word_embeddings", False)),
    )


def _tower(config: Mapping[str, Any]) -> tuple[int, int]:
    """Patch size and image size in pixels, from the tower's name ("…-patch14-384")."""
    name = str(config.get("mm_vision_tower", ""))
    match = _TOWER.search(name)
    if not match or "siglip" not in name.lower():
        raise InputError(
            f"this LLaVA's vision tower is {name!r}; expected a SigLIP like google/siglip-so400m-patch14-384"
        )
    return int(match.group(1)), int(match.group(2))


def _shape(shapes: Mapping[str, tuple[int, ...]], name: str) -> tuple[int, ...]:
    if name not in shapes:
        raise InputError(
            f"the weights have no tensor {name}; expected all of LLaVA-Video's published safetensors files"
        )
    return shapes[name]


def _map_names(shapes: Mapping[str, Any], expected: Mapping[str, Any]) -> dict[str, str]:
    """Each tensor's name in transformers, whose versions differ in the prefixes."""
    by_suffix = {_suffix(name): name for name in expected}
    names = {}
    for name in shapes:
        renamed = name
        for pattern, replacement in RENAMED:
            renamed = pattern.sub(replacement, renamed)
        names[name] = by_suffix.get(_suffix(renamed), renamed)
    return names


def _suffix(name: str) -> str:
    return name.removeprefix("model.").replace("vision_tower.vision_model.", "vision_tower.").replace(
        "language_model.model.", "language_model."
    ).replace("language_model.lm_head", "lm_head")  # fmt: skip


def _check_shapes(
    shapes: Mapping[str, tuple[int, ...]],
    names: Mapping[str, str],
    expected: Mapping[str, tuple[int, ...]],
    folder: Path,
) -> None:
    """Check that the files have every tensor of the model with its shape, and no other."""
    given = {names[name]: shape for name, shape in shapes.items()}
    tied = {name for name in expected if name.endswith("lm_head.weight")} if "lm_head.weight" not in shapes else set()
    problems = {
        "missing": sorted(set(expected) - set(given) - tied),
        "unexpected": sorted(set(given) - set(expected)),
        "of another shape": sorted(name for name in set(given) & set(expected) if given[name] != expected[name]),
    }
    for problem, names_of in problems.items():
        if names_of:
            listed = ", ".join(names_of[:NAMED])
            raise InputError(
                f"{folder} does not match LLaVA-Video: {len(names_of)} tensors are {problem} ({listed}); "
                "download it again"
            )
