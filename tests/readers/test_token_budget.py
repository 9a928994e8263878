"""Budgets in tokens: what is counted is what the readers send, and what is chosen fits."""

from dataclasses import replace

import pytest

import framesift as fs
from framesift.errors import FramesiftError, OptionError
from framesift.readers.prompts import compose
from framesift.readers.time_formats import resolve_time_format
from framesift.readers.token_budget import estimate_text_tokens, token_counter
from framesift.rendering.exhibit import exhibit as make_exhibit
from helpers import tiny_readers

QUESTION = fs.Question("Why was the launch put off?", ["The rain", "The wind", "A strike"])


@pytest.fixture(scope="module")
def late(video):
    """Frames whose times are written with as many digits as the video's duration."""
    slots = [fs.Slot(second, float(second), "context", 0.1, None) for second in (10, 12, 14, 15, 16)]
    return make_exhibit(video, fs.Selection(tuple(slots), "gcr", 5))


@pytest.fixture
def hour(exhibit):
    return replace(exhibit.info, width=1280, height=720, duration_s=3600.0)


def counter(reader, video, mode="aligned", **options):
    return token_counter(reader, options, videos=[video], questions=[QUESTION], text_mode=mode)


@pytest.mark.parametrize("name", list(tiny_readers.SAVE))
def test_counted_tokens_are_those_of_the_prompt(reader_of, folders, late, name):
    pytest.importorskip("transformers")
    for frames_as, mode in (("video", "none"), ("pictures", "none"), ("video", "sheet4")):
        model = reader_of(name, frames_as=frames_as)
        time_format = resolve_time_format("auto", *model._family_names)
        sent = model.prepare(compose(late, QUESTION, mode, time_format=time_format), late.selection.times_s)
        options = {"frames_as": frames_as} | ({"frame_tokens": 70} if name == "gemma4" else {})
        counted = counter(f"local:{folders[name]}", late.info, mode, **options)
        assert counted.is_exact and counted.count(5).total == sent["input_ids"].shape[1], (frames_as, mode)


def test_chosen_frames_fit_and_one_more_would_not(hour):
    for reader in ("local:qwen3-vl-8b", "local:qwen2.5-vl-7b", "local:gemma4-e4b", "local:internvl3-8b"):
        for most in (2_000, 8_000, 32_000):
            model = counter(reader, hour)
            plan = model.fit(most)
            assert plan.tokens.total <= most
            assert model.count(plan.budget + 1, plan.short_side).total > most or plan.options, (reader, most)


def test_frames_shrink_until_the_wanted_number_fits(hour):
    model = counter("local:qwen3-vl-8b", hour)
    sizes = [model.fit(most).tokens.size[1] for most in (4_000, 8_000, 16_000, 32_000)]
    assert sizes == sorted(sizes) and sizes[-1] == 720 and model.fit(8_000).budget >= 32


def test_given_budget_and_size_are_kept(hour):
    model = counter("local:qwen3-vl-8b", hour)
    assert model.fit(8_000, budget=64).budget == 64
    assert model.fit(8_000, short_side=480).short_side == 480


def test_gemma_takes_fewer_tokens_for_each_frame(hour):
    plan = counter("local:gemma4-e4b", hour, frames_as="pictures").fit(3_000)
    assert plan.options["frame_tokens"] == 70 and plan.budget >= 32


def test_too_few_tokens_are_an_error(hour):
    with pytest.raises(OptionError, match="max_tokens_in is 100; 1 frame of .* raise it$"):
        counter("local:qwen3-vl-8b", hour).fit(100)
    with pytest.raises(OptionError, match=r"64 frames of .* or select fewer frames \(--budget\)"):
        counter("local:internvl3-8b", hour).fit(8_000, budget=64)


def test_frames_on_a_server_are_shrunk_before_they_are_counted(hour):
    address = "http://127.0.0.1:9/v1#Qwen/Qwen3-VL-8B-Instruct"
    assert counter(address, hour).count(1).frame_tokens == 32 * 18 + 2  # 1024 × 576
    assert counter(address, hour, longest_side=512).count(1).frame_tokens == 16 * 9 + 2


def test_model_of_a_server_is_asked_for(server, hour):
    with pytest.raises(FramesiftError, match="is not known; expected a model of one of qwen2_5_vl"):
        counter(server.url, hour)


def test_reader_without_tokens_is_an_error(hour):
    with pytest.raises(OptionError, match="'similarity', which takes no tokens"):
        counter("similarity", hour)


def test_text_that_depends_on_the_frames_is_an_error(hour):
    with pytest.raises(OptionError, match="text_mode is 'tagged', whose text depends on the frames"):
        counter("local:qwen3-vl-8b", hour, "tagged")


def test_estimate_without_a_tokenizer_counts_digits_and_other_scripts():
    assert estimate_text_tokens("<12.3 seconds>") == 8
    assert estimate_text_tokens("为什么") == 6


def test_frames_of_several_videos_are_pictures_with_the_names_of_the_videos(hour):
    wide = replace(hour, path="a-name-of-many-letters.mp4", width=640, height=270)
    several = token_counter("local:qwen3-vl-8b", {}, videos=[hour, wide], questions=[QUESTION], text_mode="aligned")
    alone = [counter("local:qwen3-vl-8b", video, frames_as="pictures").count(8, 240) for video in (hour, wide)]
    assert several.count(8, 240).frame_tokens == max(one.frame_tokens for one in alone) == alone[1].frame_tokens
    assert several.frames_as == "pictures" and several.count(8).text_tokens > alone[0].text_tokens
