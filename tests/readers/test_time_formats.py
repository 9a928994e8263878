"""The formats of times: each as its family's own code writes it, and found by the model's name."""

import pytest

import framesift as fs
from framesift.errors import OptionError
from framesift.readers.prompts import compose
from framesift.readers.time_formats import mark_times, resolve_time_format

TIMES_S = (0.0, 12.34, 3725.96)
DURATION_S = 4000.5


# The captions of three frames, with IMAGE in place of the frames.
CAPTIONS = {
    "qwen3-vl": "<0.0 seconds>IMAGE<12.3 seconds>IMAGE<3726.0 seconds>",
    "gemma4": "00:00 IMAGE 00:12 IMAGE 62:05 ",
    "llava-video": "IMAGEIMAGE",
    "internvl": "Frame1: IMAGE\nFrame2: IMAGE\nFrame3: ",
    "smolvlm": "You are provided the following series of 3 frames from a 1:06:40 [H:MM:SS] video.\n"
    "\nFrame from 00:00:IMAGE\nFrame from 00:12:IMAGE\nFrame from 62:05:",
}


@pytest.mark.parametrize("time_format", CAPTIONS)
def test_times_are_written_as_the_family_was_trained_with(time_format):
    written = mark_times(time_format, TIMES_S, DURATION_S)
    assert "IMAGE".join(written.captions) == CAPTIONS[time_format]
    assert written.has_times is (time_format != "internvl")
    assert len(set(written.labels)) == 3


def test_llava_video_has_the_times_in_one_sentence():
    assert mark_times("llava-video", TIMES_S, DURATION_S).line == (
        "The video lasts for 4000.50 seconds, and 3 frames are sampled from it. These frames are located at "
        "0.00s,12.34s,3725.96s.Please answer the following questions related to this video."
    )


def test_auto_finds_the_family_in_names_paths_and_model_types():
    families = {
        "qwen3-vl": ["Qwen/Qwen3-VL-8B", "qwen3-vl:8b", "Qwen3VL-2B-Q4_K_M.gguf", "/internvl/qwen3_vl", "Qwen3.5-9B"],
        "gemma4": ["google/gemma-4-E4B-it", "gemma4:e4b", "/models/gemma-4-31B/"],
        "llava-video": ["lmms-lab/LLaVA-Video-7B-Qwen2", "llava-video-7b"],
        "internvl": ["OpenGVLab/InternVL3_5-8B", "internvl", "InternVL3-2B-hf"],
        "smolvlm": ["HuggingFaceTB/SmolVLM2-2.2B-Instruct", "smolvlm"],
    }  # fmt: skip
    for family, names in families.items():
        assert {resolve_time_format("auto", name) for name in names} == {family}


def test_auto_is_the_clock_for_any_other_model():
    for name in ("", "Qwen/Qwen2.5-VL-7B-Instruct", "Qwen3-8B", "google/gemma-3-4b-it", "llava-next-video", "gpt-5"):
        assert resolve_time_format("auto", name) == "clock"


def test_a_named_format_is_used_for_any_model_and_none_without_times():
    assert resolve_time_format("clock", "Qwen3-VL-8B") == "clock"
    assert resolve_time_format("clock", "Qwen3-VL-8B", times=False) == "none"
    with pytest.raises(OptionError, match="time_format is 'iso'; expected one of auto, clock, qwen3-vl"):
        resolve_time_format("iso")


def test_times_without_captions_precede_the_question(exhibit, question):
    *frames, text = compose(exhibit, question, "none", time_format="llava-video").interleaved()
    assert len(frames) == 5 and not any(isinstance(part, str) for part in frames)
    assert text.startswith("The video lasts for") and "\nWhy was the launch put off?" in text


@pytest.mark.parametrize(
    ("time_format", "tagged", "asked"),
    [
        ("qwen3-vl", "Frame 2 <3.0 seconds>: The launch", "its time in square brackets"),
        ("internvl", "Frame2: The launch", "as in [Frame 3]"),
    ],
)
def test_texts_and_free_questions_name_frames_as_they_are_marked(exhibit, time_format, tagged, asked):
    text = compose(exhibit, fs.Question("When does he leave?"), "tagged", time_format=time_format).text
    assert tagged in text and asked in text
