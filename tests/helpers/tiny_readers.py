"""Tiny checkpoints of the three families, made from configs and saved as the hub would give them."""

import json

LANGUAGE = {
    "hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4,
    "num_key_value_heads": 2, "vocab_size": 300, "max_position_embeddings": 4096, "rms_norm_eps": 1e-6,
    "tie_word_embeddings": False, "bos_token_id": 256, "eos_token_id": 258,
}  # fmt: skip
TOWER = {
    "hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2, "num_attention_heads": 16,
    "image_size": 70, "patch_size": 14, "vision_use_head": False,
}  # fmt: skip
SPECIALS = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
QWEN_SPECIALS = ["<|vision_start|>", "<|vision_end|>", "<|image_pad|>", "<|video_pad|>"]


def save_tokenizer(folder, extra=()):
    """Bytes for words: each letter is one token, as in the real ones."""
    from tokenizers import pre_tokenizers

    specials = [*SPECIALS, *extra]
    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    write_json(folder / "vocab.json", {letter: k for k, letter in enumerate(letters)})
    (folder / "merges.txt").write_text("#version: 0.2\n", encoding="utf-8")
    added = {
        str(len(letters) + k): {
            "content": token, "special": True, "lstrip": False, "rstrip": False, "normalized": False,
            "single_word": False,
        }
        for k, token in enumerate(specials)
    }  # fmt: skip
    settings = {
        "tokenizer_class": "Qwen2Tokenizer", "eos_token": "<|im_end|>", "pad_token": "<|endoftext|>",
        "added_tokens_decoder": added, "additional_special_tokens": specials[1:], "unk_token": None,
    }  # fmt: skip
    write_json(folder / "tokenizer_config.json", settings)
    return {token: len(letters) + k for k, token in enumerate(specials)}


def save_qwen(folder):
    import torch
    from transformers import Qwen2_5_VLConfig, Qwen2_5_VLForConditionalGeneration

    torch.manual_seed(0)
    ids = save_tokenizer(folder, QWEN_SPECIALS)
    vision = {
        "depth": 2, "hidden_size": 32, "intermediate_size": 48, "num_heads": 4, "out_hidden_size": 32,
        "patch_size": 14, "spatial_merge_size": 2, "temporal_patch_size": 2, "window_size": 56,
        "fullatt_block_indexes": [1], "tokens_per_second": 2,
    }  # fmt: skip
    rope = {
        "rope_scaling": {"type": "mrope", "rope_type": "default", "mrope_section": [1, 1, 2]},
        "rope_theta": 10000.0,
    }
    config = Qwen2_5_VLConfig(
        text_config=LANGUAGE | rope,
        vision_config=vision,
        image_token_id=ids["<|image_pad|>"],
        video_token_id=ids["<|video_pad|>"],
        vision_start_token_id=ids["<|vision_start|>"],
        vision_end_token_id=ids["<|vision_end|>"],
    )
    Qwen2_5_VLForConditionalGeneration(config).save_pretrained(folder)


def llava(ids):
    import torch
    from transformers import LlavaOnevisionConfig, LlavaOnevisionForConditionalGeneration

    torch.manual_seed(0)
    config = LlavaOnevisionConfig(
        text_config=LANGUAGE | {"model_type": "qwen2"},
        vision_config=TOWER | {"model_type": "siglip_vision_model"},
        image_token_index=ids["<image>"],
        video_token_index=ids["<video>"],
    )
    return LlavaOnevisionForConditionalGeneration(config)


def save_llava_onevision(folder):
    llava(save_tokenizer(folder, ["<image>", "<video>"])).save_pretrained(folder)


def save_llava_video(folder, **settings):
    """The same model under the names and settings of the LLaVA-NeXT code; its tokenizer has no picture tokens."""
    from safetensors.torch import save_file

    ids = save_tokenizer(folder)
    count = len(ids) + 256
    model = llava({"<image>": count, "<video>": count + 1})
    save_file(
        {original_name(name): t.contiguous() for name, t in model.state_dict().items()}, folder / "model.safetensors"
    )
    config = {
        "architectures": ["LlavaQwenForCausalLM"], "model_type": "llava_qwen",
        "mm_vision_tower": "google/siglip-tiny-patch14-70", "mm_newline_position": "grid",
        "mm_spatial_pool_mode": "bilinear", "mm_spatial_pool_stride": 2,
    }  # fmt: skip
    write_json(folder / "config.json", LANGUAGE | config | settings)


def original_name(name):
    name = name.removeprefix("model.")
    if name.startswith("vision_tower."):
        tail = name.removeprefix("vision_tower.").removeprefix("vision_model.")
        return f"model.vision_tower.vision_tower.vision_model.{tail}"
    for new, old in (
        ("multi_modal_projector.linear_1.", "model.mm_projector.0."),
        ("multi_modal_projector.linear_2.", "model.mm_projector.2."),
        ("language_model.", "model."),
        ("image_newline", "model.image_newline"),
    ):
        if name.startswith(new):
            return old + name.removeprefix(new)
    return name


def write_json(path, value):
    path.write_text(json.dumps(value), encoding="utf-8")


SAVE = {"qwen2.5-vl": save_qwen, "llava-onevision": save_llava_onevision, "llava-video": save_llava_video}
