"""A LLaVA checkpoint of a few kilobytes with random weights, saved in the layout of the hub."""

import json

TEMPLATE = (
    "{% for message in messages %}{{ message['role'] }}: {% for part in message['content'] %}"
    "{% if part['type'] == 'image' %}<image>{% else %}{{ part['text'] }}{% endif %}{% endfor %}{% endfor %} assistant:"
)
LANGUAGE = {
    "model_type": "qwen2", "hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2,
    "num_attention_heads": 4, "num_key_value_heads": 2, "vocab_size": 300, "max_position_embeddings": 4096,
}  # fmt: skip
TOWER = {
    "model_type": "clip_vision_model", "hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2,
    "num_attention_heads": 4, "image_size": 56, "patch_size": 14, "projection_dim": 32,
}  # fmt: skip


def save_llava(folder):
    import torch
    from transformers import CLIPImageProcessorPil, LlavaConfig, LlavaForConditionalGeneration

    torch.manual_seed(0)
    tokenizer = byte_tokenizer()
    tokenizer.save_pretrained(folder)
    image = tokenizer.convert_tokens_to_ids("<image>")
    config = LlavaConfig(text_config=LANGUAGE, vision_config=TOWER, image_token_index=image, image_seq_length=16)
    LlavaForConditionalGeneration(config).save_pretrained(folder)
    side = TOWER["image_size"]
    images = CLIPImageProcessorPil(size={"shortest_edge": side}, crop_size={"height": side, "width": side})
    images.save_pretrained(folder)
    processor = {"processor_class": "LlavaProcessor", "patch_size": TOWER["patch_size"], "image_token": "<image>"}
    processor |= {"vision_feature_select_strategy": "default", "num_additional_image_tokens": 1}
    (folder / "processor_config.json").write_text(json.dumps(processor), encoding="utf-8")
    (folder / "chat_template.jinja").write_text(TEMPLATE, encoding="utf-8")
    return folder


def byte_tokenizer():
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    tokenizer = Tokenizer(models.BPE(vocab={letter: k for k, letter in enumerate(letters)}, merges=[]))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    specials = {"eos_token": "</s>", "pad_token": "<pad>", "extra_special_tokens": {"image_token": "<image>"}}
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, **specials)
