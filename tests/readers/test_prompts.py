"""The six ways to show text: the same frames and the same words, only the way differs."""

import numpy as np
import pytest

import framesift as fs
from framesift.errors import InputError, OptionError, UnknownName
from framesift.readers.prompts import TEXT_MODES, ask_for, compose, texts_of

WORDS = ["The launch was put off because of the wind.", "Nobody has been back.", "And a second cup."]


@pytest.fixture(scope="module")
def prompts(exhibit):
    question = fs.Question("Why?", ["The rain", "The wind"])
    return {mode: compose(exhibit, question, mode) for mode in TEXT_MODES}


def pixels(prompt):
    return [np.asarray(picture) for picture in prompt.pictures]


def test_every_way_shows_as_many_pictures_of_the_same_size(prompts):
    assert {tuple(picture.size for picture in prompt.pictures) for prompt in prompts.values()} == {((160, 96),) * 5}


def test_both_overlays_and_both_prompts_hold_the_same_words(exhibit, prompts):
    for mode in ("aligned", "shuffled"):
        drawn = sorted(" ".join(frame.text.split()) for frame in exhibit.with_overlay(mode).frames if frame.text)
        assert drawn == sorted(WORDS)
    for mode in ("prompt", "tagged"):
        lines = prompts[mode].words.split("\nWhy?")[0].splitlines()[1:]
        assert sorted(line.split("]: ")[-1] for line in lines) == sorted(WORDS)


def test_a_blank_band_stands_where_words_would(exhibit, prompts):
    changed = [not np.array_equal(a, b) for a, b in zip(pixels(prompts["none"]), pixels(prompts["blank"]), strict=True)]
    assert changed == [bool(text) for text in texts_of(exhibit)]


def test_words_in_the_prompt_leave_the_pictures_bare(prompts):
    for mode in ("prompt", "tagged"):
        for bare, shown in zip(pixels(prompts["none"]), pixels(prompts[mode]), strict=True):
            np.testing.assert_array_equal(bare, shown)


def test_overlays_leave_the_prompt_as_it_is_without_text(prompts):
    assert len({prompts[mode].words for mode in ("none", "blank", "shuffled", "aligned")}) == 1


def test_shuffled_words_are_on_other_frames(exhibit, prompts):
    for place, text in enumerate(texts_of(exhibit)):
        same = np.array_equal(pixels(prompts["aligned"])[place], pixels(prompts["shuffled"])[place])
        assert same is not bool(text)


def test_one_block_names_no_frame_and_tags_name_theirs(prompts):
    assert prompts["prompt"].words.startswith(f"This video's subtitles are listed below:\n{WORDS[0]}\n")
    assert f"Frame 2 [0:00:03.000]: {WORDS[0]}\nFrame 3 [0:00:07.000]: {WORDS[1]}\n" in prompts["tagged"].words


def test_without_times_frames_are_numbered_alone(exhibit, question):
    prompt = compose(exhibit, question, "tagged", times=False)
    assert "Frame 2: The launch" in prompt.words
    assert prompt.times_line == "" and set(prompt.captions) == {""}


def test_longvideobench_is_asked_as_in_lmms_eval():
    question = fs.Question("Which one?", ["A. red", "B. blue", "N/A"])
    assert ask_for(question, "longvideobench") == (
        "Which one?\nA. red\nB. blue\nAnswer with the option's letter from the given choices directly."
    )


def test_videomme_is_asked_as_in_lmms_eval():
    question = fs.Question("Which one?", ["A. red", "B. blue", "C. green", "D. grey"])
    assert ask_for(question, "videomme") == (
        "Select the best answer to the following multiple-choice question based on the video and the subtitles. "
        "Respond with only the letter (A, B, C, or D) of the correct option.\n"
        "Which one?\nA. red\nB. blue\nC. green\nD. grey\nThe best answer is:"
    )


def test_braces_in_a_question_are_its_own():
    assert "{letters}" in ask_for(fs.Question("What is {letters}?", ["{0}", "y"]), "videomme")


def test_unknown_names_list_the_known_ones(exhibit, question):
    with pytest.raises(UnknownName, match="known are longvideobench, videomme, bare"):
        ask_for(question, "mmlu")
    with pytest.raises(OptionError, match="expected one of none, blank, prompt, tagged, shuffled, aligned"):
        compose(exhibit, question, "sideways")


def test_more_options_than_letters_are_refused():
    with pytest.raises(InputError, match="27 options"):
        ask_for(fs.Question("Which?", [f"number {k}" for k in range(27)]), "bare")
