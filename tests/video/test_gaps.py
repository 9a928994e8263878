"""Discontinuous timestamps and stretches without frames."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from framesift.video.audio import open_audio
from framesift.video.clock import LONGEST_GAP_S, repair
from framesift.video.frames import probe, sample
from helpers.clips import Clip, keep_parts, read_number

HOUR = 3600 * 90_000  # ticks of a transport stream
X264 = {"crf": "20", "preset": "veryfast", "bf": "2", "g": "25", "sc_threshold": "0"}
KEPT = [0, 1, 2, 15, 16, 17, 18, 19, 31, 32, 33, 34, 35]  # gaps of 12 and 11 s


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    clip = Clip(ticks=range(5 * 36), time_base=Fraction(1, 5), options=X264 | {"g": "5"})
    return clip.write(tmp_path_factory.mktemp("whole") / "whole.mp4")


@pytest.mark.parametrize("name", ["gaps.ts", "gaps.mkv", "gaps.mp4", "gaps.mov", "gaps.flv"])
def test_frames_after_a_gap_keep_their_times(tmp_path, whole, name):
    path = keep_parts(whole, tmp_path / name, KEPT)
    run = sample(path)
    got = list(run)
    on_screen = sorted([5 * k for k in KEPT] + [14, 99])  # the frames before the gaps as well
    assert [time for time, _ in got] == pytest.approx([n / 5 for n in on_screen], abs=0.002)
    assert [read_number(image) for _, image in got] == on_screen
    assert run.info.duration_s == probe(path).duration_s == pytest.approx(36, abs=0.1)
    (warning,) = run.warnings
    assert warning.endswith("2 stretches without frames, 23.0 s in all: 0:00:03-0:00:15, 0:00:20-0:00:31")


def test_many_gaps_are_counted(tmp_path):
    ticks = [25 * 60 * k + n for k in range(9) for n in range(50)]
    (warning,) = sample(Clip(ticks=ticks, options=X264).write(tmp_path / "many.mkv")).warnings
    assert "8 stretches" in warning and "and 3 more places" in warning


def test_slide_show_has_no_gaps(tmp_path):
    path = Clip(ticks=range(20), time_base=Fraction(10), options=X264).write(tmp_path / "slides.mkv")
    assert sample(path).warnings == []


def joined(tmp_path, *starts, sound_s=0.0):
    """Recordings of two seconds one after the other, whose clocks start at these ticks."""
    data = b""
    for start in starts:
        ticks = [start + 3600 * n for n in range(50)]
        clip = Clip(ticks=ticks, time_base=Fraction(1, 90_000), options=X264, sound_s=sound_s)
        data += clip.write(tmp_path / "part.ts").read_bytes()
    path = tmp_path / "joined.ts"
    path.write_bytes(data)
    return path


@pytest.mark.parametrize("second", [HOUR // 5, HOUR, 14 * HOUR])
def test_time_continues_after_a_step_back_or_an_absurd_one(tmp_path, second):
    run = sample(joined(tmp_path, HOUR, second))
    assert [time for time, _ in run] == pytest.approx([0, 1, 2, 3], abs=0.1)
    assert any("discontinuous once, at 0:00:02;" in warning for warning in run.warnings), run.warnings


def test_clock_that_steps_aside_for_a_moment_is_followed_afterwards(tmp_path):
    run = sample(joined(tmp_path, HOUR, 2 * HOUR, HOUR + 4 * 90_000))
    assert [time for time, _ in run] == pytest.approx(range(6), abs=0.1)
    assert run.info.duration_s == pytest.approx(6, abs=0.1)


def test_audio_follows_the_clock_of_the_video(tmp_path):
    path = joined(tmp_path, 0, 0, sound_s=2.0)
    with open_audio(path) as track:
        blocks = list(track.blocks(60.0))
    starts = [block.start_s for block in blocks]
    assert starts == sorted(starts)
    assert blocks[-1].end_s == pytest.approx(sample(path).info.duration_s, abs=0.2)


@given(st.lists(st.integers(-(10**6), 10**6), min_size=1, max_size=40))
def test_repaired_times_never_step_back(starts):
    stored = [start * 1000 + 40 * n for start in starts for n in range(3)]
    offsets, _ = repair(np.array(stored), np.full(len(stored), 40), Fraction(1, 1000), steps_back=True)
    steps = np.diff(np.array(stored) + offsets)
    assert (steps >= 0).all() and (steps <= LONGEST_GAP_S * 1000 + 40).all()


@given(st.lists(st.integers(1, LONGEST_GAP_S * 1000), min_size=1, max_size=40))
def test_ascending_times_are_kept(steps):
    stored = np.cumsum(steps)
    offsets, jumps = repair(stored, np.ones(len(stored), dtype=int), Fraction(1, 1000), steps_back=True)
    assert not offsets.any() and not jumps
