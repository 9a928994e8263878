"""Tiny checkpoints of each family, made from a config and saved as the hub would give them."""

import json

WORDS = ["a", "the", "cat", "dog", "on", "mat", "red", "house", "woman", "walks", "sits", "near", "tree", "who", "what"]
TOWER = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4}


def image_processor(stem):
    import transformers

    return getattr(transformers, f"{stem}Pil", None) or getattr(transformers, stem)


def save_siglip(folder):
    import sentencepiece
    import torch
    from transformers import SiglipConfig, SiglipModel

    torch.manual_seed(0)
    text = folder / "corpus.text"
    text.write_text("\n".join(" ".join(WORDS[k:] + WORDS[:k]) for k in range(len(WORDS))), encoding="utf-8")
    sentencepiece.SentencePieceTrainer.train(
        input=str(text), model_prefix=str(folder / "spiece"), vocab_size=60, hard_vocab_limit=False, minloglevel=2,
        pad_id=0, eos_id=1, unk_id=2, bos_id=-1, pad_piece="<pad>",
    )  # fmt: skip
    tokens = {"tokenizer_class": "SiglipTokenizer", "model_input_names": ["input_ids"], "pad_token": "</s>"}
    write_json(folder / "tokenizer_config.json", tokens | {"model_max_length": 64})
    words = TOWER | {"vocab_size": 80, "max_position_embeddings": 64}
    config = SiglipConfig(text_config=words, vision_config=TOWER | {"image_size": 32, "patch_size": 8})
    SiglipModel(config).save_pretrained(folder, safe_serialization=True)
    image_processor("SiglipImageProcessor")(size={"height": 32, "width": 32}).save_pretrained(folder)


def save_siglip2(folder):
    import torch
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers
    from transformers import PreTrainedTokenizerFast, Siglip2Config, Siglip2Model

    torch.manual_seed(0)
    vocabulary = {word: k for k, word in enumerate(["<pad>", "<unk>", *WORDS])}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="<unk>"))  # noqa: S106 (a token of text)
    tokenizer.normalizer = normalizers.Lowercase()
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    fast = PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, pad_token="<pad>", unk_token="<unk>", model_max_length=64,  # noqa: S106 (tokens of text)
        model_input_names=["input_ids", "attention_mask"],
    )  # fmt: skip
    fast.save_pretrained(folder)
    words = TOWER | {"vocab_size": 80, "max_position_embeddings": 64}
    config = Siglip2Config(text_config=words, vision_config=TOWER | {"num_patches": 16, "patch_size": 8})
    Siglip2Model(config).save_pretrained(folder, safe_serialization=True)
    image_processor("Siglip2ImageProcessor")(patch_size=8, max_num_patches=16).save_pretrained(folder)


def save_clip(folder):
    import torch
    from transformers import CLIPConfig, CLIPModel

    torch.manual_seed(0)
    words = save_clip_tokenizer(folder, model_max_length=77) | {"max_position_embeddings": 77}
    looks = TOWER | {"image_size": 32, "patch_size": 8}
    config = CLIPConfig(text_config=words, vision_config=looks, projection_dim=24)
    CLIPModel(config).save_pretrained(folder, safe_serialization=True)
    processor = image_processor("CLIPImageProcessor")
    processor(size={"shortest_edge": 32}, crop_size={"height": 32, "width": 32}).save_pretrained(folder)


def save_clip_tokenizer(folder, **settings):
    """CLIP's kind of tokenizer; the settings of a text tower for its vocabulary."""
    letters = [chr(code) for code in range(33, 127)]
    pieces = [*letters, *(f"{letter}</w>" for letter in letters), "ca", "th", "<|startoftext|>", "<|endoftext|>"]
    write_json(folder / "vocab.json", {piece: k for k, piece in enumerate(pieces)})
    (folder / "merges.txt").write_text("#version: 0.2\nc a\nt h\n", encoding="utf-8")
    write_json(folder / "tokenizer_config.json", {"tokenizer_class": "CLIPTokenizer"} | settings)
    start, end = len(pieces) - 2, len(pieces) - 1
    return TOWER | {"vocab_size": len(pieces), "bos_token_id": start, "eos_token_id": end, "pad_token_id": end}


def write_json(path, value):
    path.write_text(json.dumps(value), encoding="utf-8")


SAVE = {"siglip": save_siglip, "siglip2": save_siglip2, "clip": save_clip}
