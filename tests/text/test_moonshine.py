"""The speech engine moonshine with its real model: words, times and child processes."""

import itertools
import os
import re
import subprocess
import sys
from contextlib import closing
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from framesift.errors import FramesiftError, InputError
from framesift.text import moonshine
from framesift.text.speech import recognise
from framesift.video.audio import RATE, AudioBlock, open_audio
from helpers.sounds import FILM, music, needs_moonshine, noise, voice, write_sound

TWO_CITIES = """It was the best of times, it was the worst of times, it was the age of wisdom, it was the age of
foolishness, it was the epoch of belief, it was the epoch of incredulity, it was the season of light, it was the
season of darkness, it was the spring of hope, it was the winter of despair, we had everything before us, we had
nothing before us, we were all going direct to heaven, we were all going direct the other way. In short, the period
was so far like the present period, that some of its noisiest authorities insisted on its being received, for good or
for evil, in the superlative degree of comparison only."""


@needs_moonshine
def test_moonshine_recognises_the_words(spoken):
    text = " ".join(event.text for event in spoken).lower()
    assert "tried" in text and "no matter" in text and "try again" in text
    assert {event.source for event in spoken} == {"speech"}


@needs_moonshine
def test_events_are_sentence_like_and_within_the_clip(spoken):
    assert len(spoken) >= 2
    assert all(0 <= event.start_s < event.end_s <= 10.0 and event.end_s - event.start_s <= 7.5 for event in spoken)


@needs_moonshine
def test_times_include_the_start_of_the_audio_stream(spoken, beckett, tmp_path):
    samples = beckett[: 4 * RATE]
    late = recognise(
        write_sound(tmp_path / "late.mkv", samples, start_s=20.0, pictures_s=25.0, codec="aac"),
        engine="moonshine",
        language=None,
    )
    assert late[0].start_s == pytest.approx(spoken[0].start_s + 20.0, abs=0.5)


@needs_moonshine
def test_sentence_after_a_pause_starts_where_it_is_audible(beckett, tmp_path):
    phrase = beckett[: int(1.5 * RATE)]
    samples = np.concatenate([phrase, np.zeros(6 * RATE), phrase])
    events = recognise(write_sound(tmp_path / "pause.wav", samples), engine="moonshine", language=None)
    loud = np.flatnonzero(np.abs(phrase) > 0.1 * np.abs(phrase).max())[0] / RATE
    assert [event.start_s for event in events] == pytest.approx([loud, 7.5 + loud], abs=0.5)


@needs_moonshine
def test_no_module_of_the_working_directory_is_imported(beckett, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "json.py").write_text("raise SystemExit(1)")
    assert recognise(write_sound(tmp_path / "voice.wav", beckett[: 4 * RATE]), engine="moonshine", language=None)


@needs_moonshine
def test_audio_without_speech_gives_no_events(tmp_path):
    silence = np.zeros(4 * RATE)
    samples = np.concatenate([silence, noise(6), silence, noise(6, 0.005), silence, music(6)])
    assert recognise(write_sound(tmp_path / "empty.wav", samples), engine="moonshine", language=None) == []


@needs_moonshine
def test_progress_ends_at_the_duration(tmp_path):
    calls = []
    path = write_sound(tmp_path / "quiet.wav", np.zeros(70 * RATE))
    recognise(path, engine="moonshine", language=None, progress=lambda stage, done, total: calls.append((done, total)))
    assert [done for done, _ in calls] == sorted(done for done, _ in calls)
    assert calls[-1] == pytest.approx((70.0, 70.0), abs=0.1)


@needs_moonshine
def test_moonshine_works_without_an_audio_device_library(beckett, tmp_path):
    path = write_sound(tmp_path / "voice.wav", beckett[: 4 * RATE])
    (tmp_path / "sounddevice.py").write_text("raise OSError('PortAudio library not found')")
    code = (
        "import sys; from framesift.text.speech import recognise\n"
        "print(len(recognise(sys.argv[1], engine='moonshine', language=None)))"
    )
    command = [sys.executable, "-c", code, str(path)]
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    assert int(done.stdout) >= 1


@needs_moonshine
def test_recognition_does_not_depend_on_earlier_blocks(beckett):
    block = AudioBlock(0.0, beckett[: 4 * RATE].astype(np.float32))
    with closing(moonshine.Moonshine(moonshine.model_folder())) as engine:
        first, second = (list(engine.words(block)) for _ in range(2))
    assert first and first == second


@needs_moonshine
def test_no_child_process_is_left_running(beckett, tmp_path, monkeypatch):
    started = []
    start = moonshine.Moonshine._start_process
    monkeypatch.setattr(moonshine.Moonshine, "_start_process", lambda self: started.append(start(self)) or started[-1])
    recognise(write_sound(tmp_path / "voice.wav", beckett[: 4 * RATE]), engine="moonshine", language=None)
    assert started and all(child.poll() is not None for child in started)


@needs_moonshine
def test_crash_of_moonshine_is_an_error(beckett, tmp_path, monkeypatch):
    path = write_sound(tmp_path / "voice.wav", beckett)
    monkeypatch.setattr(moonshine.sys, "executable", "false" if os.name == "posix" else sys.executable)
    with pytest.raises(FramesiftError, match="the speech engine moonshine stopped"):
        recognise(path, engine="moonshine", language=None)


@needs_moonshine
def test_moonshine_rejects_languages_other_than_english(tmp_path):
    with pytest.raises(InputError, match="supports only English"):
        recognise(write_sound(tmp_path / "a.wav", np.zeros(RATE)), engine="moonshine", language="de")


@settings(deadline=None, max_examples=40)
@given(st.lists(st.tuples(st.floats(0, 58), st.floats(0.1, 40)), max_size=8))
def test_pieces_contain_every_sample_of_the_segments_once(segments):
    samples = noise(60)
    heard = np.zeros(len(samples), int)
    for first, last in moonshine.speech_pieces(ordered := sorted((a, a + b) for a, b in segments), samples):
        assert 0 < last - first <= moonshine.PIECE_S * RATE
        heard[first:last] += 1
    expected = np.zeros(len(samples), int)
    for start_s, end_s in ordered:
        expected[round(start_s * RATE) : round(end_s * RATE)] = 1
    assert np.array_equal(heard, expected)


def test_long_segment_is_cut_where_it_is_quiet():
    samples = noise(15)
    samples[8 * RATE : 9 * RATE] = 0
    (_, cut), (again, _) = moonshine.speech_pieces([(0.0, 15.0)], samples)
    assert cut == again and 8 * RATE < cut < 9 * RATE


def test_overlapping_segments_are_cut_where_they_are_quiet():
    samples = noise(15)
    samples[7 * RATE : int(7.5 * RATE)] = 0
    (_, cut), (again, _) = moonshine.speech_pieces([(0.0, 8.0), (6.5, 15.0)], samples)
    assert cut == again and 7 * RATE < cut < 7.5 * RATE


def test_short_segments_that_adjoin_are_one_piece():
    assert moonshine.speech_pieces([(1.0, 3.0), (2.5, 4.0), (6.0, 7.0)], noise(8)) == [
        (RATE, 4 * RATE),
        (6 * RATE, 7 * RATE),
    ]


def test_piece_in_which_the_model_loops_is_recognised_in_halves():
    class LoopsOnLongPieces:
        def transcribe_without_streaming(self, samples, rate):
            text = "tho " * 30 if len(samples) > 5 * rate else "It went well."
            return SimpleNamespace(lines=[SimpleNamespace(text=text)])

    lines = list(moonshine._recognise(LoopsOnLongPieces(), noise(8), RATE, 8 * RATE))
    assert [text for text, _, _ in lines] == ["It went well."] * 2
    assert sum(duration_s for _, _, duration_s in lines) == pytest.approx(7.0)
    assert lines[0][1] == 1.0 and lines[1][1] == pytest.approx(1.0 + lines[0][2])


@pytest.mark.slow
@needs_moonshine
def test_narration_is_recognised_without_repeated_words(tmp_path):
    events = recognise(write_sound(tmp_path / "book.wav", voice("two_cities.wav")), engine="moonshine", language=None)
    assert all(a.end_s <= b.start_s for a, b in itertools.pairwise(events))
    recognised = re.findall(r"[a-z]+", " ".join(event.text for event in events).lower())
    expected = re.findall(r"[a-z]+", TWO_CITIES.lower())
    assert 0.95 * len(expected) <= len(recognised) <= 1.02 * len(expected)


@pytest.fixture(scope="module")
def movie_events(tmp_path_factory):
    """The events of the first half minute."""
    with open_audio(FILM) as sound:
        first = next(sound.blocks(32.0)).samples
    return recognise(
        write_sound(tmp_path_factory.mktemp("movie") / "film.wav", first), engine="moonshine", language=None
    )


@pytest.mark.slow
@needs_moonshine
@pytest.mark.sample_data
def test_events_of_a_movie_do_not_overlap(movie_events):
    assert len(movie_events) >= 4
    assert all(a.end_s <= b.start_s for a, b in itertools.pairwise(movie_events))


@pytest.mark.slow
@needs_moonshine
@pytest.mark.sample_data
def test_words_of_a_movie_are_recognised_near_their_subtitles(movie_events):
    passions = next(event for event in movie_events if "passions" in event.text.lower())
    assert 22.0 <= passions.start_s <= 26.0 and 25.0 <= passions.end_s <= 29.0
