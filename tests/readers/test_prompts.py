"""The text modes: the same frames and the same text, shown differently."""

import numpy as np
import pytest

import framesift as fs
from framesift.errors import InputError, OptionError, UnknownName
from framesift.readers.prompts import TEXT_MODES, compose, format_question

TEXTS = ["The launch was put off because of the wind.", "Nobody has been back.", "And a second cup."]


@pytest.fixture(scope="module")
def prompts(exhibit):
    question = fs.Question("Why?", ["The rain", "The wind"])
    return {mode: compose(exhibit, question, mode) for mode in TEXT_MODES}


def pixels(prompt):
    return [np.asarray(image) for image in prompt.images]


def test_overlay_and_prompt_modes_have_the_same_text(exhibit, prompts):
    for mode in ("aligned", "shuffled"):
        drawn = sorted(" ".join(frame.text.split()) for frame in exhibit.with_overlay(mode).frames if frame.text)
        assert drawn == sorted(TEXTS)
    for mode in ("prompt", "tagged"):
        lines = prompts[mode].text.split("\nWhy?")[0].splitlines()[1:]
        assert sorted(line.split("]: ")[-1] for line in lines) == sorted(TEXTS)


def test_modes_change_either_the_frames_or_the_prompt_text(prompts):
    for mode in ("prompt", "tagged"):
        np.testing.assert_array_equal(pixels(prompts["none"]), pixels(prompts[mode]))
    assert len({prompts[mode].text for mode in ("none", "blank", "shuffled", "aligned")}) == 1


def test_prompt_mode_names_no_frame_and_tagged_mode_does(prompts):
    assert prompts["prompt"].text.startswith(f"This video's subtitles are listed below:\n{TEXTS[0]}\n")
    assert f"Frame 2 [0:00:03.000]: {TEXTS[0]}\nFrame 3 [0:00:07.000]: {TEXTS[1]}\n" in prompts["tagged"].text


def test_without_times_frames_have_only_numbers(exhibit, question):
    prompt = compose(exhibit, question, "tagged", time_format="none")
    assert "Frame 2: The launch" in prompt.text
    assert prompt.times_line == "" and set(prompt.captions) == {""}


PRESETS = {
    "longvideobench": "{}\nAnswer with the option's letter from the given choices directly.",
    "videomme": "Select the best answer to the following multiple-choice question based on the video and the "
    "subtitles. Respond with only the letter (A, B, C, or D) of the correct option.\n{}\nThe best answer is:",
}


@pytest.mark.parametrize("preset", PRESETS)
def test_presets_are_those_of_lmms_eval(preset):
    question = fs.Question("Which {letters}?", ["A. {0}", "B. blue", "C. green", "D. grey", "N/A"])
    asked = "Which {letters}?\nA. {0}\nB. blue\nC. green\nD. grey"  # braces are no fields
    assert format_question(question, preset) == PRESETS[preset].format(asked)


def test_unknown_names_list_the_valid_ones_and_options_are_limited(exhibit, question):
    with pytest.raises(UnknownName, match="expected one of longvideobench, videomme, bare"):
        format_question(question, "mmlu")
    with pytest.raises(OptionError, match="expected one of none, blank, prompt, tagged, shuffled, aligned"):
        compose(exhibit, question, "sideways")
    with pytest.raises(InputError, match="27 options"):
        format_question(fs.Question("Which?", [f"number {k}" for k in range(27)]), "bare")
