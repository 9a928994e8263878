"""Local readers at full size with random weights: tokens, memory and seconds for 8, 32 and 64 frames of 1280 × 720.

Nothing is downloaded: models are created from their published configs, with a byte-level tokenizer, so that prompts are
longer than real ones by the text around the frames. Needs a GPU with 60 GiB.

    python benchmarks/readers.py [NAME …]
"""

import argparse
import gc
import tempfile
import time
import traceback
from pathlib import Path

import numpy as np
import torch
import transformers
from PIL import Image

from framesift.readers import llava as llava_reader
from framesift.readers.local import LocalReader
from framesift.readers.local_inputs import ProcessorInputs
from framesift.readers.prompts import Prompt
from framesift.readers.time_formats import mark_times, native_time_format

BUDGETS = (8, 32, 64)
SIZE = (1280, 720)
RUNS = 2
WORDS = (
    "What stands on the launch pad?\nA. A rocket\nB. A crane\nC. A plane\nD. A tree\nAnswer with the option's letter."
)
SPECIALS = [
    "<|endoftext|>", "<|im_start|>", "<|im_end|>", "<|vision_start|>", "<|vision_end|>", "<|image_pad|>",
    "<|video_pad|>", "<image>", "<video>", "<img>", "</img>", "<IMG_CONTEXT>", "<fake_token_around_image>",
    "<global-img>", "<end_of_utterance>", "<bos>", "<|turn>", "<turn|>", "<|image>", "<image|>", "<|image|>",
]  # fmt: skip
PADS = ["<|image_pad|>", "<image>", "<video>", "<IMG_CONTEXT>", "<|image|>"]
QWEN2_7B = {
    "hidden_size": 3584, "intermediate_size": 18944, "num_hidden_layers": 28, "num_attention_heads": 28,
    "num_key_value_heads": 4, "vocab_size": 152064, "max_position_embeddings": 32768, "rms_norm_eps": 1e-6,
}  # fmt: skip
QWEN3_8B = {
    "hidden_size": 4096, "intermediate_size": 12288, "num_hidden_layers": 36, "num_attention_heads": 32,
    "num_key_value_heads": 8, "head_dim": 128, "vocab_size": 151936, "max_position_embeddings": 262144,
}  # fmt: skip
QWEN3_2B = QWEN3_8B | {
    "hidden_size": 2048, "intermediate_size": 6144, "num_hidden_layers": 28, "num_attention_heads": 16,
}  # fmt: skip
QWEN_VISION = {
    "depth": 32, "hidden_size": 1280, "intermediate_size": 3420, "num_heads": 16, "out_hidden_size": 3584,
    "patch_size": 14, "spatial_merge_size": 2, "temporal_patch_size": 2, "window_size": 112,
    "fullatt_block_indexes": [7, 15, 23, 31], "tokens_per_second": 2,
}  # fmt: skip
QWEN3_VISION = {
    "depth": 27, "hidden_size": 1152, "intermediate_size": 4304, "num_heads": 16, "patch_size": 16,
    "out_hidden_size": 4096, "num_position_embeddings": 2304, "deepstack_visual_indexes": [8, 16, 24],
}  # fmt: skip
QWEN3_2B_VISION = QWEN3_VISION | {
    "depth": 24, "hidden_size": 1024, "intermediate_size": 4096, "out_hidden_size": 2048,
    "deepstack_visual_indexes": [5, 11, 17],
}  # fmt: skip
GEMMA_E4B = {
    "hidden_size": 2560, "hidden_size_per_layer_input": 256, "intermediate_size": 10240, "num_hidden_layers": 42,
    "num_attention_heads": 8, "num_key_value_heads": 2, "num_kv_shared_layers": 18, "final_logit_softcapping": 30.0,
}  # fmt: skip
SMOLLM2 = {
    "hidden_size": 2048, "intermediate_size": 8192, "num_hidden_layers": 24, "num_attention_heads": 32,
    "num_key_value_heads": 32, "vocab_size": 49280, "max_position_embeddings": 8192, "pad_token_id": 2,
}  # fmt: skip
SO400M = {
    "hidden_size": 1152, "intermediate_size": 4304, "num_hidden_layers": 27, "num_attention_heads": 16,
    "image_size": 384, "patch_size": 14,
}  # fmt: skip


class RandomReader(LocalReader):
    """A LocalReader with random weights."""

    def __post_init__(self) -> None:
        kind, make = MODELS[self.source]
        self.name, self._torch, self._transformers = self.source, torch, transformers
        words = tokenizer(kind)
        torch.manual_seed(0)
        torch.set_default_dtype(torch.bfloat16)
        with torch.device("cuda"):
            self.model = make({token: words.convert_tokens_to_ids(token) for token in SPECIALS}).eval()
        torch.set_default_dtype(torch.float32)
        if kind == llava_reader.KIND:
            if self.source == "llava-video-7b":
                llava_reader.break_rows(self.model)
            self.inputs = llava_reader.LlavaInputs(transformers, words, self.model)
            return
        with tempfile.TemporaryDirectory() as folder:
            words.save_pretrained(folder)
            self.model.config.save_pretrained(folder)
            name, settings = IMAGES[kind]
            getattr(transformers, name)(**settings).save_pretrained(folder)
            (Path(folder) / "processor_config.json").write_text('{"image_seq_len": 81}', encoding="utf-8")
            limits = self.frame_max_pixels, self.frame_tokens
            self.inputs = ProcessorInputs(transformers, Path(folder), kind, limits)


def qwen(ids):
    rope = {"rope_type": "default", "mrope_section": [16, 24, 24], "rope_theta": 1e6}
    text = QWEN2_7B | {"rope_parameters": rope, "max_position_embeddings": 128000}
    config = transformers.Qwen2_5_VLConfig(text_config=text, vision_config=QWEN_VISION, **qwen_ids(ids))
    return transformers.Qwen2_5_VLForConditionalGeneration(config)


def qwen3(text, vision):
    rope = {"rope_type": "default", "mrope_section": [24, 20, 20], "mrope_interleaved": True, "rope_theta": 5e6}

    def make(ids):
        config = transformers.Qwen3VLConfig(
            text_config=text | {"rope_parameters": rope}, vision_config=vision, **qwen_ids(ids)
        )
        return transformers.Qwen3VLForConditionalGeneration(config)

    return make


def qwen_ids(ids):
    return {
        "image_token_id": ids["<|image_pad|>"], "video_token_id": ids["<|video_pad|>"],
        "vision_start_token_id": ids["<|vision_start|>"], "vision_end_token_id": ids["<|vision_end|>"],
    }  # fmt: skip


def llava(ids):
    config = transformers.LlavaOnevisionConfig(
        text_config=QWEN2_7B | {"model_type": "qwen2", "rope_theta": 1e6},
        image_token_index=ids["<image>"],
        video_token_index=ids["<video>"],
    )
    return transformers.LlavaOnevisionForConditionalGeneration(config)


def internvl(text):
    def make(ids):
        config = transformers.InternVLConfig(
            text_config=text, image_token_id=ids["<IMG_CONTEXT>"], tie_word_embeddings=False
        )
        return transformers.InternVLForConditionalGeneration(config)

    return make


def gemma(ids):
    vision = {"use_clipped_linears": True}  # the rest are the defaults
    config = transformers.Gemma4Config(
        text_config=GEMMA_E4B, vision_config=vision, image_token_id=ids["<|image|>"], boi_token_id=ids["<|image>"],
        eoi_token_id=ids["<image|>"],
    )  # fmt: skip
    return transformers.Gemma4ForConditionalGeneration(config)


def smolvlm(ids):
    config = transformers.SmolVLMConfig(
        text_config=SMOLLM2 | {"model_type": "llama"}, vision_config=SO400M, scale_factor=3,
        image_token_id=ids["<image>"],
    )  # fmt: skip
    return transformers.SmolVLMForConditionalGeneration(config)


MODELS = {
    "qwen3-vl-8b": ("qwen3_vl", qwen3(QWEN3_8B, QWEN3_VISION)),
    "qwen3-vl-2b": ("qwen3_vl", qwen3(QWEN3_2B, QWEN3_2B_VISION)),
    "internvl3-8b": ("internvl", internvl(QWEN2_7B | {"model_type": "qwen2", "rope_theta": 1e6})),
    "internvl3.5-8b": ("internvl", internvl(QWEN3_8B | {"model_type": "qwen3", "max_position_embeddings": 40960})),
    "gemma4-e4b": ("gemma4", gemma),
    "smolvlm2-2.2b": ("smolvlm", smolvlm),
    "qwen2.5-vl-7b": ("qwen2_5_vl", qwen),
    "llava-onevision-7b": ("llava_onevision", llava),
    "llava-video-7b": ("llava_onevision", llava),
}


GREY = {"image_mean": [0.5] * 3, "image_std": [0.5] * 3}
IMAGES = {
    "qwen3_vl": ("Qwen2VLImageProcessorPil", {"patch_size": 16, "min_pixels": 256 * 256, **GREY}),
    "qwen2_5_vl": ("Qwen2VLImageProcessorPil", {}),
    "internvl": ("GotOcr2ImageProcessorPil", {"size": {"height": 448, "width": 448}}),
    "gemma4": ("Gemma4ImageProcessorPil", {}),
    "smolvlm": ("SmolVLMImageProcessorPil", {"max_image_size": {"longest_edge": 384}}),
}
# The names under which a processor asks its tokenizer for tokens.
TOKENS = {
    "internvl": {
        "start_image_token": "<img>", "end_image_token": "</img>", "context_image_token": "<IMG_CONTEXT>",
        "video_token": "<video>",
    },
    "gemma4": {
        "boi_token": "<|image>", "eoi_token": "<image|>", "image_token": "<|image|>", "audio_token": "<video>",
        "boa_token": "<video>", "eoa_token": "<video>",
    },
}  # fmt: skip
MARKS = {"internvl": "<IMG_CONTEXT>", "gemma4": "<|image|>", "smolvlm": "<image>"}
TEMPLATE = (
    "<|im_start|>user\n{% for part in messages[0]['content'] %}"
    "{% if part['type'] == 'image' %}IMAGE{% else %}{{ part['text'] }}{% endif %}{% endfor %}"
    "<|im_end|>\n<|im_start|>assistant\n"
)


def tokenizer(kind):
    """One token per byte, and the special tokens."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers

    letters = {letter: k for k, letter in enumerate(sorted(pre_tokenizers.ByteLevel.alphabet()))}
    words = Tokenizer(models.BPE(vocab=letters, merges=[]))
    words.pre_tokenizer, words.decoder = pre_tokenizers.ByteLevel(add_prefix_space=False), decoders.ByteLevel()
    made = transformers.PreTrainedTokenizerFast(
        tokenizer_object=words,
        eos_token="<|im_end|>",  # noqa: S106 (a token of a vocabulary)
        pad_token="<|endoftext|>",  # noqa: S106
        chat_template=TEMPLATE.replace("IMAGE", MARKS.get(kind, "<|vision_start|><|image_pad|><|vision_end|>")),
        extra_special_tokens=TOKENS.get(kind, {}),
    )
    made.add_tokens(SPECIALS, special_tokens=True)
    return made


def pictures(count):
    rng = np.random.default_rng(0)
    small = rng.integers(0, 256, (count, 9, 16, 3), dtype=np.uint8)
    return [Image.fromarray(image).resize(SIZE, Image.Resampling.BICUBIC) for image in small]


def prompt(name, images):
    times = [60.0 * k for k in range(len(images))]
    marks = mark_times(native_time_format(name) or "clock", times, 60.0 * len(images))
    return Prompt(tuple(images), marks.captions, WORDS, marks.line)


def measure(reader, images):
    """Tokens, peak GiB, and seconds of preparing the frames and of one generated token."""
    request = prompt(reader.source, images)
    prepare_s, letter_s = [], []
    torch.cuda.reset_peak_memory_stats()
    with torch.inference_mode():
        for _ in range(RUNS + 1):
            start = time.perf_counter()
            inputs = reader.prepare(request)
            torch.cuda.synchronize()
            middle = time.perf_counter()
            reader._generate(inputs, 1)
            torch.cuda.synchronize()
            prepare_s.append(middle - start)
            letter_s.append(time.perf_counter() - middle)
    ids = inputs["input_ids"][0]
    pads = int(sum((ids == reader._inputs.tokenizer.convert_tokens_to_ids(token)).sum() for token in PADS))
    return {
        "per_frame": pads / len(images),
        "prompt_tokens": len(ids),
        "peak_gib": torch.cuda.max_memory_allocated() / 2**30,
        "prepare_s": min(prepare_s[1:]),
        "letter_s": min(letter_s[1:]),
    }


def table(names):
    print("| model | B | tokens per frame | prompt | GiB at most | ready, s | letter, s |")
    print("|---|---:|---:|---:|---:|---:|---:|")
    images = pictures(max(BUDGETS))
    for name in names:
        start = time.perf_counter()
        try:
            reader = RandomReader(name)
            weights = torch.cuda.memory_allocated() / 2**30
            for count in BUDGETS:
                print_row(name, count, measure(reader, images[:count]))
            print(f"<!-- {name}: weights {weights:.1f} GiB, {time.perf_counter() - start:.0f} s in all -->", flush=True)
        except Exception:
            traceback.print_exc()
        reader = None
        gc.collect()  # models with a changed method refer to themselves
        torch.cuda.empty_cache()


def print_row(name, count, row):
    print(
        f"| {name} | {count} | {row['per_frame']:.1f} | {row['prompt_tokens']} | "
        f"{row['peak_gib']:.1f} | {row['prepare_s']:.3f} | {row['letter_s']:.2f} |",
        flush=True,
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(MODELS)} (default: all)")
    args = parser.parse_args()
    print(torch.cuda.get_device_name(), "torch", torch.__version__, "transformers", transformers.__version__)
    table(args.names or list(MODELS))
