"""The three 7B models of the paper at full size with random weights: tokens, memory and seconds for 8, 32, 64 frames.

Nothing is downloaded: models are created from their configs, with a byte-level tokenizer. Needs a GPU with 40 GiB.

    python benchmarks/readers.py             measure tokens, memory and latency
    python benchmarks/readers.py --check     compare with transformers' video processors (needs torchvision)
"""

import argparse
import time

import numpy as np
import torch
import transformers
from PIL import Image

from framesift.readers.llava_next_layout import with_pooling
from framesift.readers.local import LocalReader
from framesift.readers.pixel_values import LlavaFrames, QwenFrames
from framesift.readers.prompts import Prompt

BUDGETS = (8, 32, 64)
SIZE = (1280, 720)
RUNS = 3
WORDS = (
    "What stands on the launch pad?\nA. A rocket\nB. A crane\nC. A plane\nD. A tree\nAnswer with the option's letter."
)
SPECIALS = [
    "<|endoftext|>", "<|im_start|>", "<|im_end|>", "<|vision_start|>", "<|vision_end|>", "<|image_pad|>",
    "<|video_pad|>", "<image>", "<video>",
]  # fmt: skip
QWEN2_7B = {
    "hidden_size": 3584, "intermediate_size": 18944, "num_hidden_layers": 28, "num_attention_heads": 28,
    "num_key_value_heads": 4, "vocab_size": 152064, "max_position_embeddings": 32768, "rms_norm_eps": 1e-6,
}  # fmt: skip
QWEN_VISION = {
    "depth": 32, "hidden_size": 1280, "intermediate_size": 3420, "num_heads": 16, "out_hidden_size": 3584,
    "patch_size": 14, "spatial_merge_size": 2, "temporal_patch_size": 2, "window_size": 112,
    "fullatt_block_indexes": [7, 15, 23, 31], "tokens_per_second": 2,
}  # fmt: skip


class RandomReader(LocalReader):
    """A LocalReader with random weights."""

    def __post_init__(self) -> None:
        self.name, self._torch, self._transformers = self.source, torch, transformers
        self._tokenizer = tokenizer()
        ids = {token: self._tokenizer.convert_tokens_to_ids(token) for token in SPECIALS}
        torch.manual_seed(0)
        torch.set_default_dtype(torch.bfloat16)
        with torch.device("cuda"):
            self._model = MAKE[self.source](ids).eval()
        torch.set_default_dtype(torch.float32)
        if self.source == "qwen2.5-vl-7b":
            self._frames = QwenFrames(self.frame_max_pixels)
        else:
            self._frames = LlavaFrames(newline="grid" if self.source == "llava-video-7b" else "one_token")
            self._model = with_pooling(self._model, self._frames)


def qwen(ids):
    text = QWEN2_7B | {
        "rope_theta": 1e6,
        "rope_scaling": {"type": "mrope", "rope_type": "default", "mrope_section": [16, 24, 24]},
        "max_position_embeddings": 128000,
    }
    config = transformers.Qwen2_5_VLConfig(
        text_config=text,
        vision_config=QWEN_VISION,
        image_token_id=ids["<|image_pad|>"],
        video_token_id=ids["<|video_pad|>"],
        vision_start_token_id=ids["<|vision_start|>"],
        vision_end_token_id=ids["<|vision_end|>"],
    )
    return transformers.Qwen2_5_VLForConditionalGeneration(config)


def llava(ids):
    config = transformers.LlavaOnevisionConfig(
        text_config=QWEN2_7B | {"model_type": "qwen2", "rope_theta": 1e6},
        image_token_index=ids["<image>"],
        video_token_index=ids["<video>"],
    )
    return transformers.LlavaOnevisionForConditionalGeneration(config)


MAKE = {"qwen2.5-vl-7b": qwen, "llava-onevision-7b": llava, "llava-video-7b": llava}


def tokenizer():
    """One token per byte, and the special tokens."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers

    letters = {letter: k for k, letter in enumerate(sorted(pre_tokenizers.ByteLevel.alphabet()))}
    words = Tokenizer(models.BPE(vocab=letters, merges=[]))
    words.pre_tokenizer, words.decoder = pre_tokenizers.ByteLevel(add_prefix_space=False), decoders.ByteLevel()
    return transformers.PreTrainedTokenizerFast(tokenizer_object=words, additional_special_tokens=SPECIALS)


def prompt(count):
    rng = np.random.default_rng(0)
    small = rng.integers(0, 256, (count, 9, 16, 3), dtype=np.uint8)
    images = tuple(Image.fromarray(image).resize(SIZE, Image.Resampling.BICUBIC) for image in small)
    return Prompt(images, ("",) * count, WORDS, "")


def measure(reader, count):
    """Tokens, peak GiB, and seconds of preprocessing and of one generated token."""
    request, times = prompt(count), [60.0 * k for k in range(count)]
    prepare_s, letter_s = [], []
    torch.cuda.reset_peak_memory_stats()
    with torch.inference_mode():
        for _ in range(RUNS + 1):
            start = time.perf_counter()
            inputs = reader.prepare(request, times)
            torch.cuda.synchronize()
            middle = time.perf_counter()
            reader._generate(inputs, 1)
            torch.cuda.synchronize()
            prepare_s.append(middle - start)
            letter_s.append(time.perf_counter() - middle)
    ids = inputs["input_ids"][0]
    pads = sum(int((ids == reader._tokenizer.convert_tokens_to_ids(token)).sum()) for token in reader._frames.kinds)
    return {
        "frames": count,
        "frame_tokens": pads,
        "per_frame": pads / count,
        "prompt_tokens": len(ids),
        "peak_gib": torch.cuda.max_memory_allocated() / 2**30,
        "prepare_s": float(np.median(prepare_s[1:])),
        "letter_s": float(np.median(letter_s[1:])),
    }


def table():
    print("| model | frames as | B | tokens per frame | prompt | GiB at most | frames ready, s | letter, s |")
    print("|---|---|---:|---:|---:|---:|---:|---:|")
    for name in MAKE:
        reader = RandomReader(name)
        weights = torch.cuda.memory_allocated() / 2**30
        for frames_as in ("video", "pictures"):
            reader.frames_as = frames_as
            for count in BUDGETS:
                row = measure(reader, count)
                print(
                    f"| {name} | {frames_as} | {count} | {row['per_frame']:.1f} | {row['prompt_tokens']} | "
                    f"{row['peak_gib']:.1f} | {row['prepare_s']:.2f} | {row['letter_s']:.2f} |",
                    flush=True,
                )
        print(f"<!-- {name}: weights alone {weights:.1f} GiB -->", flush=True)
        del reader
        torch.cuda.empty_cache()


def check():
    """Compare pixels, grids and token counts with transformers' video processors."""
    video = np.stack([np.asarray(image) for image in prompt(8).images])
    size = {"shortest_edge": 128 * 28 * 28, "longest_edge": 602_112}
    qwen_video = transformers.Qwen2VLVideoProcessor(size=size)
    processor = transformers.Qwen2_5_VLProcessor(transformers.Qwen2VLImageProcessor(), tokenizer(), qwen_video)
    theirs = processor(text=["<|video_pad|>"], videos=[video], return_tensors="pt", do_sample_frames=False)
    ours = QwenFrames(602_112).video(prompt(8).images, gap_s=1.0)
    report("qwen2.5-vl", ours.tensors["pixel_values_videos"], theirs["pixel_values_videos"])
    tokens = int((theirs["input_ids"] == processor.video_token_id).sum())
    print("  grid", ours.tensors["video_grid_thw"].tolist(), theirs["video_grid_thw"].tolist())
    print("  tokens", ours.placeholders[0].count("<|video_pad|>"), tokens)
    llava_video = transformers.LlavaOnevisionVideoProcessor(image_mean=[0.5] * 3, image_std=[0.5] * 3)
    processor = transformers.LlavaOnevisionProcessor(
        transformers.LlavaOnevisionImageProcessor(), tokenizer(), llava_video, num_image_tokens=729,
        vision_feature_select_strategy="full",
    )  # fmt: skip
    theirs = processor(text=["<video>"], videos=[video], return_tensors="pt", do_sample_frames=False)
    ours = LlavaFrames().video(prompt(8).images, gap_s=1.0)
    report("llava-onevision", ours.tensors["pixel_values_videos"], theirs["pixel_values_videos"])
    print(
        "  tokens", ours.placeholders[0].count("<video>"), int((theirs["input_ids"] == processor.video_token_id).sum())
    )


def report(name, ours, theirs):
    difference = (ours.float() - theirs.float()).abs()
    print(f"{name}: shapes {tuple(ours.shape)} {tuple(theirs.shape)}")
    print(f"  largest difference {difference.max():.4f}, mean {difference.mean():.5f}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true")
    if parser.parse_args().check:
        check()
    else:
        print(torch.cuda.get_device_name(), "torch", torch.__version__, "transformers", transformers.__version__)
        table()
