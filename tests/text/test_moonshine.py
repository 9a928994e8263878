"""The speech engine moonshine with its real model: words, times and child processes."""

import os
import subprocess
import sys
from contextlib import closing

import numpy as np
import pytest

from framesift.errors import FramesiftError, InputError
from framesift.text import moonshine
from framesift.text.speech import recognise
from framesift.video.audio import RATE, AudioBlock, open_audio
from helpers.sounds import FILM, music, needs_moonshine, noise, write_sound


@needs_moonshine
def test_moonshine_recognises_the_words(spoken):
    text = " ".join(event.text for event in spoken).lower()
    assert "tried" in text and "no matter" in text and "try again" in text
    assert {event.source for event in spoken} == {"speech"}


@needs_moonshine
def test_events_are_sentence_like_and_within_the_clip(spoken):
    assert len(spoken) >= 5
    assert all(0 <= event.start_s < event.end_s <= 10.0 and event.end_s - event.start_s <= 7.5 for event in spoken)


@needs_moonshine
def test_times_include_the_start_of_the_audio_stream(spoken, beckett, tmp_path):
    late = recognise(
        write_sound(tmp_path / "late.mkv", beckett, start_s=20.0, pictures_s=31.0, codec="aac"), engine="moonshine"
    )
    assert late[0].start_s == pytest.approx(spoken[0].start_s + 20.0, abs=0.5)


@needs_moonshine
def test_sentence_after_a_pause_starts_where_it_is_audible(beckett, tmp_path):
    phrase = beckett[: int(1.5 * RATE)]
    samples = np.concatenate([phrase, np.zeros(6 * RATE), phrase])
    events = recognise(write_sound(tmp_path / "pause.wav", samples), engine="moonshine")
    loud = np.flatnonzero(np.abs(phrase) > 0.1 * np.abs(phrase).max())[0] / RATE
    assert [event.start_s for event in events] == pytest.approx([loud, 7.5 + loud], abs=0.5)


@needs_moonshine
@pytest.mark.parametrize(
    "samples", [np.zeros(8 * RATE), noise(8), noise(8, 0.005), music(8)], ids=["silence", "noise", "hiss", "music"]
)
def test_audio_without_speech_gives_no_events(samples, tmp_path):
    assert recognise(write_sound(tmp_path / "empty.wav", samples), engine="moonshine") == []


@needs_moonshine
def test_progress_ends_at_the_duration(tmp_path):
    calls = []
    path = write_sound(tmp_path / "quiet.wav", np.zeros(70 * RATE))
    recognise(path, engine="moonshine", progress=lambda stage, done, total: calls.append((done, total)))
    assert [done for done, _ in calls] == sorted(done for done, _ in calls)
    assert calls[-1] == pytest.approx((70.0, 70.0), abs=0.1)


@needs_moonshine
def test_moonshine_works_without_an_audio_device_library(beckett, tmp_path):
    path = write_sound(tmp_path / "voice.wav", beckett)
    (tmp_path / "sounddevice.py").write_text("raise OSError('PortAudio library not found')")
    code = (
        "import sys; from framesift.text.speech import recognise\n"
        "print(len(recognise(sys.argv[1], engine='moonshine')))"
    )
    command = [sys.executable, "-c", code, str(path)]
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    assert int(done.stdout) >= 5


@pytest.mark.slow
@needs_moonshine
def test_recognition_does_not_depend_on_earlier_blocks(beckett):
    block = AudioBlock(0.0, beckett.astype(np.float32))
    with closing(moonshine.Moonshine(moonshine.model_folder())) as engine:
        first, second, third = (list(engine.words(block)) for _ in range(3))
    assert first and first == second == third


@needs_moonshine
def test_no_child_process_is_left_running(beckett, tmp_path, monkeypatch):
    started = []
    start = moonshine.Moonshine._start_process
    monkeypatch.setattr(moonshine.Moonshine, "_start_process", lambda self: started.append(start(self)) or started[-1])
    recognise(write_sound(tmp_path / "voice.wav", beckett), engine="moonshine")
    assert started and all(child.poll() is not None for child in started)


@needs_moonshine
def test_crash_of_moonshine_is_an_error(beckett, tmp_path, monkeypatch):
    path = write_sound(tmp_path / "voice.wav", beckett)
    monkeypatch.setattr(moonshine.sys, "executable", "false" if os.name == "posix" else sys.executable)
    with pytest.raises(FramesiftError, match="the speech engine moonshine stopped"):
        recognise(path, engine="moonshine")


@needs_moonshine
def test_moonshine_rejects_languages_other_than_english(tmp_path):
    with pytest.raises(InputError, match="supports only English"):
        recognise(write_sound(tmp_path / "a.wav", np.zeros(RATE)), engine="moonshine", language="de")


@pytest.mark.slow
@needs_moonshine
@pytest.mark.sample_data
def test_words_of_a_movie_are_recognised_near_their_subtitles(tmp_path):
    with open_audio(FILM) as sound:
        first = next(sound.blocks(60.0)).samples
    events = recognise(write_sound(tmp_path / "film.wav", first), engine="moonshine")
    passions = next(event for event in events if "passions" in event.text.lower())
    assert 22.0 <= passions.start_s <= 26.0 and 25.0 <= passions.end_s <= 29.0
