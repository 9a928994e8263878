"""The speech engine moonshine with its real model: words, times and child processes."""

import itertools
import os
import re
import sys
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from framesift.errors import FramesiftError, InputError
from framesift.text import moonshine
from framesift.text.speech import recognise
from framesift.video.audio import RATE
from helpers.sounds import noise, voice, write_sound

TWO_CITIES = """It was the best of times, it was the worst of times, it was the age of wisdom, it was the age of
foolishness, it was the epoch of belief, it was the epoch of incredulity, it was the season of light, it was the
season of darkness, it was the spring of hope, it was the winter of despair, we had everything before us, we had
nothing before us, we were all going direct to heaven, we were all going direct the other way. In short, the period
was so far like the present period, that some of its noisiest authorities insisted on its being received, for good or
for evil, in the superlative degree of comparison only."""


def recognise_samples(folder, samples, *, progress=lambda *_: None, **file):
    path = write_sound(folder / "sound.mkv", samples, **file)
    return recognise(path, engine="moonshine", language=None, progress=progress)


@pytest.fixture(scope="module")
def spoken(tmp_path_factory):
    """Recognition of ten seconds in a video's first block of audio, and of the first four of them in its second.

    The working directory has a module that must not be imported, and the library for microphones can't be.
    """
    folder, voiced = tmp_path_factory.mktemp("sound"), voice()
    (folder / "json.py").write_text("raise SystemExit(1)")
    (folder / "modules").mkdir()
    (folder / "modules" / "sounddevice.py").write_text("raise OSError('PortAudio library not found')")
    samples = np.concatenate([voiced, np.zeros(20 * RATE), voiced[: 4 * RATE]])
    children, calls = [], []
    start = moonshine.Moonshine._start_process
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setenv("PYTHONPATH", str(folder / "modules"), prepend=os.pathsep)
        patch.setattr(moonshine.Moonshine, "_start_process", lambda self: children.append(start(self)) or children[-1])
        events = recognise_samples(
            folder, samples, start_s=20.0, pictures_s=50.0, codec="aac", progress=lambda *call: calls.append(call)
        )
    return SimpleNamespace(events=events, children=children, calls=calls, again_s=20.0 + len(voiced) / RATE + 20.0)


def test_moonshine_recognises_the_words_as_sentence_like_events(spoken):
    first = [event for event in spoken.events if event.start_s < spoken.again_s - 1]
    text = " ".join(event.text for event in first).lower()
    assert "tried" in text and "no matter" in text and "try again" in text
    assert len(first) >= 2 and {event.source for event in first} == {"speech"}
    assert all(event.start_s < event.end_s <= 30.0 and event.end_s - event.start_s <= 7.5 for event in first)


def test_speech_starts_where_it_is_audible_in_the_video(spoken):
    """Also where the audio begins later than the video, and after a pause."""
    voiced = np.abs(voice()[: 4 * RATE])
    loud = np.flatnonzero(voiced > 0.1 * voiced.max())[0] / RATE
    again = next(event for event in spoken.events if event.start_s > spoken.again_s - 1)
    assert [spoken.events[0].start_s, again.start_s] == pytest.approx([20.0 + loud, spoken.again_s + loud], abs=0.5)
    assert "tried" in again.text.lower()


def test_each_block_has_a_process_of_its_own_and_none_is_left_running(spoken):
    assert len(spoken.children) == 3  # of two blocks, and the one that was ready for a third
    assert all(child.poll() is not None for child in spoken.children)


def test_progress_ends_at_the_duration(spoken):
    done = [done for _, done, _ in spoken.calls]
    assert done == sorted(done)
    assert spoken.calls[-1][1:] == pytest.approx((54.0, 54.0), abs=0.2)


def test_crash_of_moonshine_is_an_error(tmp_path, monkeypatch):
    monkeypatch.setattr(moonshine.sys, "executable", "false" if os.name == "posix" else sys.executable)
    with pytest.raises(FramesiftError, match="the speech engine moonshine stopped"):
        recognise_samples(tmp_path, voice())


def test_moonshine_rejects_languages_other_than_english(tmp_path):
    with pytest.raises(InputError, match="supports only English"):
        recognise(write_sound(tmp_path / "a.wav", np.zeros(RATE)), engine="moonshine", language="de")


MINUTE = noise(60)


@settings(max_examples=40)
@given(st.lists(st.tuples(st.floats(0, 58), st.floats(0.1, 40)), max_size=8))
def test_pieces_contain_every_sample_of_the_segments_once(segments):
    ordered = sorted((a, a + b) for a, b in segments)
    heard, expected = np.zeros((2, len(MINUTE)), int)
    for first, last in moonshine.speech_pieces(ordered, MINUTE):
        assert 0 < last - first <= moonshine.PIECE_S * RATE
        heard[first:last] += 1
    for start_s, end_s in ordered:
        expected[round(start_s * RATE) : round(end_s * RATE)] = 1
    assert np.array_equal(heard, expected)


@pytest.mark.parametrize("segments", [[(0.0, 15.0)], [(0.0, 8.0), (6.5, 15.0)]], ids=["long", "overlapping"])
def test_segments_are_cut_where_they_are_quiet(segments):
    samples = noise(15)
    samples[7 * RATE : int(7.5 * RATE)] = 0
    (_, cut), (again, _) = moonshine.speech_pieces(segments, samples)
    assert cut == again and 7 * RATE < cut < 7.5 * RATE


def test_short_segments_that_adjoin_are_one_piece():
    pieces = moonshine.speech_pieces([(1.0, 3.0), (2.5, 4.0), (6.0, 7.0)], noise(8))
    assert pieces == [(RATE, 4 * RATE), (6 * RATE, 7 * RATE)]


def test_piece_in_which_the_model_loops_is_recognised_in_halves():
    class LoopsOnLongPieces:
        def transcribe_without_streaming(self, samples, rate):
            text = "tho " * 30 if len(samples) > 5 * rate else "It went well."
            return SimpleNamespace(lines=[SimpleNamespace(text=text)])

    first, second = moonshine.recognise_piece(LoopsOnLongPieces(), noise(8), RATE, 8 * RATE)
    assert first[0] == second[0] == "It went well."
    assert first[1] == 1.0 and second[1] == pytest.approx(1.0 + first[2]) and first[2] + second[2] == pytest.approx(7.0)


@pytest.mark.slow
def test_narration_is_recognised_without_repeated_words(tmp_path):
    events = recognise_samples(tmp_path, voice("two_cities.wav"))
    assert all(a.end_s <= b.start_s for a, b in itertools.pairwise(events))
    recognised = re.findall(r"[a-z]+", " ".join(event.text for event in events).lower())
    expected = re.findall(r"[a-z]+", TWO_CITIES.lower())
    assert 0.9 * len(expected) <= len(recognised) <= 1.05 * len(expected)
