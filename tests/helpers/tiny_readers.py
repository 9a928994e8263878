"""Tiny checkpoints of every family, made from configs and saved as the hub would give them."""

import re

from helpers.tiny_checkpoints import write_json

LANGUAGE = {
    "hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4,
    "num_key_value_heads": 2, "vocab_size": 300, "max_position_embeddings": 4096, "rms_norm_eps": 1e-6,
    "tie_word_embeddings": False, "bos_token_id": 256, "eos_token_id": 258,
}  # fmt: skip
TOWER = {
    "hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2, "num_attention_heads": 16,
    "image_size": 70, "patch_size": 14, "vision_use_head": False,
}  # fmt: skip
HEADED = {name: value for name, value in TOWER.items() if name != "vision_use_head"}
VISION = {"hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2, "num_attention_heads": 4}
QWEN_VISION = {
    "depth": 2, "hidden_size": 32, "intermediate_size": 48, "num_heads": 4, "out_hidden_size": 32,
    "spatial_merge_size": 2, "temporal_patch_size": 2,
}  # fmt: skip
SPECIALS = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
QWEN_SPECIALS = ["<|vision_start|>", "<|vision_end|>", "<|image_pad|>", "<|video_pad|>"]
INTERN_SPECIALS = ["<img>", "</img>", "<IMG_CONTEXT>", "<video>"]
SMOL_SPECIALS = ["<fake_token_around_image>", "<global-img>", "<image>", "<end_of_utterance>"]
GEMMA_SPECIALS = ["<bos>", "<|turn>", "<turn|>", "<|image>", "<image|>", "<|image|>", "<|video|>", "<|audio|>"]
# The names under which a processor asks its tokenizer for them.
INTERN_NAMES = ["start_image_token", "end_image_token", "context_image_token", "video_token"]
GEMMA_NAMES = {
    "boi_token": 3, "eoi_token": 4, "image_token": 5, "audio_token": 7, "boa_token": 7, "eoa_token": 7,
}  # fmt: skip
QWEN_IMAGE = "<|vision_start|><|image_pad|><|vision_end|>"
CHAT_TEMPLATE = (
    "{% for message in messages %}<|im_start|>{{ message['role'] }}\n{% for part in message['content'] %}"
    "{% if part['type'] == 'image' %}IMAGE{% else %}{{ part['text'] }}{% endif %}{% endfor %}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)


def save_tokenizer(folder, extra=(), **settings):
    """Bytes for words: each letter is one token, as in the real ones."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    words = Tokenizer(models.BPE(vocab={letter: k for k, letter in enumerate(letters)}, merges=[]))
    words.pre_tokenizer, words.decoder = pre_tokenizers.ByteLevel(add_prefix_space=False), decoders.ByteLevel()
    specials = [*SPECIALS, *extra]
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=words, eos_token=SPECIALS[2], **settings)
    tokenizer.add_tokens(specials, special_tokens=True)
    tokenizer.save_pretrained(folder)
    return {token: tokenizer.convert_tokens_to_ids(token) for token in specials}


def make_model(stem, **config):
    import torch
    import transformers

    torch.manual_seed(0)
    made = getattr(transformers, f"{stem}Config")(**config)
    return getattr(transformers, f"{stem}ForConditionalGeneration")(made)


def save_qwen(folder):
    ids = save_tokenizer(folder, QWEN_SPECIALS, chat_template=CHAT_TEMPLATE.replace("IMAGE", QWEN_IMAGE))
    vision = {"patch_size": 14, "window_size": 56, "fullatt_block_indexes": [1], "tokens_per_second": 2}
    scaling = {"type": "mrope", "rope_type": "default", "mrope_section": [1, 1, 2]}
    text = LANGUAGE | {"rope_scaling": scaling, "rope_theta": 10000.0}
    model = make_model("Qwen2_5_VL", text_config=text, vision_config=QWEN_VISION | vision, **qwen_tokens(ids))
    model.save_pretrained(folder)
    save_image_processor(folder, "Qwen2VLImageProcessorPil")


def qwen_tokens(ids):
    names = ("image_token_id", "video_token_id", "vision_start_token_id", "vision_end_token_id")
    tokens = ("<|image_pad|>", "<|video_pad|>", "<|vision_start|>", "<|vision_end|>")
    return {name: ids[token] for name, token in zip(names, tokens, strict=True)}


def llava(ids):
    text, vision = LANGUAGE | {"model_type": "qwen2"}, TOWER | {"model_type": "siglip_vision_model"}
    tokens = {"image_token_index": ids["<image>"], "video_token_index": ids["<video>"]}
    return make_model("LlavaOnevision", text_config=text, vision_config=vision, **tokens)


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
        "mm_vision_tower": "google/siglip-so400m-patch14-384", "mm_newline_position": "grid",
        "mm_spatial_pool_mode": "bilinear", "mm_spatial_pool_stride": 2,
    }  # fmt: skip
    write_json(folder / "config.json", LANGUAGE | config | settings)


def original_name(name):
    name = name.removeprefix("model.")
    if name.startswith("vision_tower."):
        tail = name.removeprefix("vision_tower.").removeprefix("vision_model.")
        return f"model.vision_tower.vision_tower.vision_model.{tail}"
    for layer in "12":
        name = name.replace(f"multi_modal_projector.linear_{layer}.", f"model.mm_projector.{2 * int(layer) - 2}.")
    return re.sub(r"^language_model\.|^(?=image_newline)", "model.", name)


def save_qwen3(folder):
    ids = save_tokenizer(folder, QWEN_SPECIALS, chat_template=CHAT_TEMPLATE.replace("IMAGE", QWEN_IMAGE))
    vision = {"patch_size": 16, "num_position_embeddings": 64, "deepstack_visual_indexes": [0]}
    rope = {"rope_type": "default", "mrope_section": [2, 1, 1], "mrope_interleaved": True, "rope_theta": 10000.0}
    text = LANGUAGE | {"head_dim": 8, "rope_parameters": rope}
    model = make_model("Qwen3VL", text_config=text, vision_config=QWEN_VISION | vision, **qwen_tokens(ids))
    model.save_pretrained(folder)
    grey = {"image_mean": [0.5] * 3, "image_std": [0.5] * 3}
    save_image_processor(folder, "Qwen2VLImageProcessorPil", patch_size=16, min_pixels=256 * 256, **grey)


def save_internvl(folder):
    named = dict(zip(INTERN_NAMES, INTERN_SPECIALS, strict=True))
    template = CHAT_TEMPLATE.replace("IMAGE", "<IMG_CONTEXT>\n")
    ids = save_tokenizer(folder, INTERN_SPECIALS, chat_template=template, extra_special_tokens=named)
    text = LANGUAGE | {"model_type": "qwen3", "head_dim": 8}
    vision = VISION | {"image_size": [56, 56], "patch_size": [14, 14]}
    tokens = {"image_token_id": ids["<IMG_CONTEXT>"], "image_seq_length": 4}
    make_model("InternVL", text_config=text, vision_config=vision, **tokens).save_pretrained(folder)
    save_image_processor(folder, "GotOcr2ImageProcessorPil", size={"height": 56, "width": 56})
    write_json(folder / "processor_config.json", {"image_seq_length": 4})


def save_smolvlm(folder):
    template = CHAT_TEMPLATE.replace("IMAGE", "<image>").replace("<|im_end|>", "<end_of_utterance>")
    ids = save_tokenizer(folder, SMOL_SPECIALS, chat_template=template)
    text = LANGUAGE | {"model_type": "llama", "pad_token_id": 256}
    tokens = {"scale_factor": 3, "image_token_id": ids["<image>"]}
    make_model("SmolVLM", text_config=text, vision_config=HEADED | {"image_size": 84}, **tokens).save_pretrained(folder)
    edges = {"size": {"longest_edge": 336}, "max_image_size": {"longest_edge": 84}}
    save_image_processor(folder, "SmolVLMImageProcessorPil", **edges)
    write_json(folder / "processor_config.json", {"image_seq_len": 4})


def save_gemma4(folder):
    named = {name: GEMMA_SPECIALS[k] for name, k in GEMMA_NAMES.items()}
    template = "<bos>" + CHAT_TEMPLATE.replace("<|im_end|>", "<turn|>").replace("<|im_start|>", "<|turn>")
    settings = {"chat_template": template.replace("IMAGE", "\n\n<|image|>\n\n"), "pad_token": "<bos>"}
    ids = save_tokenizer(folder, GEMMA_SPECIALS, extra_special_tokens=named, **settings)
    text = {
        "head_dim": 8, "global_head_dim": 8, "sliding_window": 16, "vocab_size_per_layer_input": 300,
        "hidden_size_per_layer_input": 8, "layer_types": ["sliding_attention", "full_attention"], "pad_token_id": 256,
    }  # fmt: skip
    vision = VISION | {"num_key_value_heads": 4, "head_dim": 8, "position_embedding_size": 256}
    names = {"image": "<|image|>", "video": "<|video|>", "boi": "<|image>", "eoi": "<image|>"}
    tokens = {f"{name}_token_id": ids[token] for name, token in names.items()}
    make_model("Gemma4", text_config=LANGUAGE | text, vision_config=vision, **tokens).save_pretrained(folder)
    save_image_processor(folder, "Gemma4ImageProcessorPil")


def save_other(folder):
    """A model of no known family, LLaVA 1.5, with its processor and chat template."""
    import transformers

    ids = save_tokenizer(folder, ["<image>"])
    vision = HEADED | {"projection_dim": 32, "model_type": "clip_vision_model"}
    text = LANGUAGE | {"model_type": "llama"}
    model = make_model("Llava", text_config=text, vision_config=vision, image_token_index=ids["<image>"])
    model.save_pretrained(folder)
    transformers.LlavaProcessor(
        transformers.CLIPImageProcessorPil(size={"shortest_edge": 70}, crop_size={"height": 70, "width": 70}),
        transformers.AutoTokenizer.from_pretrained(folder),
        patch_size=14,
        vision_feature_select_strategy="default",
        num_additional_image_tokens=1,
        chat_template=CHAT_TEMPLATE.replace("IMAGE", "<image>"),
    ).save_pretrained(folder)


def save_image_processor(folder, name, **settings):
    import transformers

    getattr(transformers, name)(**settings).save_pretrained(folder)


SAVE = {
    "qwen2.5-vl": save_qwen, "llava-onevision": save_llava_onevision, "llava-video": save_llava_video,
    "qwen3-vl": save_qwen3, "internvl": save_internvl, "smolvlm": save_smolvlm, "gemma4": save_gemma4,
}  # fmt: skip
