"""Budgets in tokens: what is counted is what the readers send, and what is chosen fits."""

from dataclasses import replace

import pytest
import transformers
from PIL import Image

import framesift as fs
from framesift.errors import FramesiftError, OptionError
from framesift.readers.token_budget import FrameLimits, estimate_text_tokens, frame_tokens, token_counter

QUESTION = fs.Question("Why was the launch put off?", ["The rain", "The wind", "A strike"])


@pytest.fixture
def hour(exhibit):
    return replace(exhibit.info, width=1280, height=720, duration_s=3600.0)


def counter(reader, video, mode="aligned", **options):
    return token_counter(reader, options, videos=[video], questions=[QUESTION], text_mode=mode)


def test_frames_of_qwen_and_gemma_are_counted_as_their_processors_count():
    for size in ((320, 180), (160, 96), (90, 160), (333, 77), (1280, 720)):
        image = Image.new("RGB", size)
        for model, unit, least in (("Qwen2.5-VL", 14, 3136), ("qwen3-vl-8b", 16, 65536)):
            processor = transformers.Qwen2VLImageProcessorPil(
                patch_size=unit, size={"shortest_edge": least, "longest_edge": 602_112}
            )
            patches = processor(images=[image])["image_grid_thw"][0]
            assert frame_tokens(model, size, FrameLimits(602_112)) == int(patches.prod()) // 4 + 2, (model, size)
        for most in (70, 280):
            processor = transformers.Gemma4ImageProcessorPil(max_soft_tokens=most)
            expected = int(processor(images=[image])["num_soft_tokens_per_image"][0]) + 2
            assert frame_tokens("gemma4-e4b", size, FrameLimits(tokens=most)) == expected, (most, size)


def test_published_token_counts():
    counts = {
        ("OpenGVLab/InternVL3_5-8B-HF", True): 256 + 2,
        ("SmolVLM2-2.2B-Instruct", True): 81 + 3,
        ("SmolVLM2-500M-Video-Instruct", True): 64 + 3,
        ("LLaVA-Video-7B-Qwen2", True): 210,
        ("llava-onevision-qwen2-7b-ov-hf", True): 196,
        ("llava-onevision-qwen2-7b-ov-hf", False): 731,
    }
    for (name, is_local), expected in counts.items():
        limits = FrameLimits(602_112, 70, is_video=True) if is_local else FrameLimits()
        assert frame_tokens(name, (1280, 720), limits) == expected, name
    assert estimate_text_tokens("<12.3 seconds>") == 8  # without a tokenizer each digit and
    assert estimate_text_tokens("为什么") == 6  # letters of other scripts count more


def test_chosen_frames_fit_and_one_more_would_not(hour):
    for reader in ("local:qwen3-vl-8b", "local:llava-video-7b"):
        for most in (2_000, 32_000):
            model = counter(reader, hour)
            frames = model.most_frames(most, 360)
            assert model.most_frames(100, None) == 0
            assert model.count(frames, 360).total <= most < model.count(frames + 1, 360).total, (reader, most)


@pytest.mark.parametrize(
    ("reader", "prefer", "given", "expected"),
    [
        ("local:qwen3-vl-8b", "auto", None, 405),  # 22 × 13 of 32 × 32 pixels: 288 of 578 tokens
        ("local:qwen3-vl-8b", "auto", 720, 720),
        ("local:qwen3-vl-8b", "frames", 360, 242),  # 13 × 8: 106 of 222
        ("local:qwen3-vl-8b", "pixels", None, None),
        ("local:internvl3-8b", "frames", None, None),  # as many tokens at any size
    ],
)
def test_preferred_frames_take_half_the_tokens(hour, reader, prefer, given, expected):
    model = counter(reader, hour)
    size = model.preferred_size(prefer, given)
    assert size == expected
    if size != given:
        assert 2 * model.count(1, size).frame_tokens <= model.count(1, given).frame_tokens
        assert 2 * model.count(1, size + 1).frame_tokens > model.count(1, given).frame_tokens


def test_small_frames_keep_their_pixels_unless_frames_are_preferred(hour):
    model = counter("local:qwen3-vl-8b", replace(hour, width=640, height=360))
    assert model.preferred_size("auto", None) is None and model.preferred_size("frames", None) < 360


def test_frames_on_a_server_are_shrunk_before_they_are_counted_for_its_model(server, hour):
    with pytest.raises(FramesiftError, match="is not known; expected the name of a Qwen2.5-VL"):
        counter(server.url, hour).count(1, None)
    address = "http://127.0.0.1:9/v1#Qwen/Qwen3-VL-8B-Instruct"
    assert counter(address, hour).count(1, None).frame_tokens == 32 * 18 + 2  # 1024 × 576
    assert counter(address, hour, longest_side=512).count(1, None).frame_tokens == 16 * 9 + 2


@pytest.mark.parametrize(
    ("reader", "mode", "message"),
    [
        ("similarity", "aligned", "'similarity', which takes no tokens"),
        ("local:qwen3-vl-8b", "tagged", "text_mode is 'tagged', whose text depends on the frames"),
    ],
)
def test_reader_or_text_that_can_not_be_counted_is_an_error(hour, reader, mode, message):
    with pytest.raises(OptionError, match=message):
        counter(reader, hour, mode)


def test_several_videos_count_the_dearest_frame_and_the_longest_name(hour):
    wide = replace(hour, path="a-name-of-many-letters.mp4", width=640, height=270)
    several = token_counter("local:qwen3-vl-8b", {}, videos=[hour, wide], questions=[QUESTION], text_mode="aligned")
    alone = [counter("local:qwen3-vl-8b", video).count(8, 240) for video in (hour, wide)]
    assert several.count(8, 240).frame_tokens == max(one.frame_tokens for one in alone) == alone[1].frame_tokens
    assert several.count(8, 240).text_tokens > alone[0].text_tokens
