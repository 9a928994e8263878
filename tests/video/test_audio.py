"""Sound in blocks: every sample once, on the right clock, in flat memory."""

import tracemalloc
import wave

import av
import numpy as np
import pytest

from framesift.errors import InputError
from framesift.video.audio import RATE, open_audio, quietest_cut
from helpers.clips import Clip
from helpers.sounds import blocks_of, noise, write_sound


def test_blocks_contain_every_sample_once_in_order(tmp_path):
    samples = noise(25)
    blocks = blocks_of(write_sound(tmp_path / "a.wav", samples), 10.0)
    assert np.allclose(np.concatenate([block.samples for block in blocks]), samples, atol=1e-3)
    assert all(len(block.samples) <= 10 * RATE for block in blocks)
    assert [a.end_s for a in blocks[:-1]] == pytest.approx([b.start_s for b in blocks[1:]])


def test_block_is_cut_at_the_quietest_point():
    samples = noise(9)
    samples[7 * RATE : 8 * RATE] = 0
    assert 7 * RATE < quietest_cut(samples) < 8 * RATE


def test_late_audio_has_late_times(tmp_path):
    path = write_sound(tmp_path / "late.mkv", noise(2), start_s=5.0, pictures_s=8.0)
    assert blocks_of(path)[0].start_s == pytest.approx(5.0, abs=0.05)


def test_container_start_is_zero(tmp_path):
    path = write_sound(tmp_path / "offset.ts", noise(2), start_s=100.0, pictures_s=0.0, codec="mp2")
    with av.open(str(path)) as container:
        assert container.start_time > 50_000_000
    assert blocks_of(path)[0].start_s == pytest.approx(0.0, abs=0.05)


def test_gap_starts_a_new_block(tmp_path):
    path = write_sound(tmp_path / "hole.mkv", noise(4), hole=(2.0, 10.0))
    assert [block.start_s for block in blocks_of(path)] == pytest.approx([0.0, 12.0], abs=0.1)


def test_any_rate_and_layout_becomes_16_khz_mono(tmp_path):
    with wave.open(str(tmp_path / "stereo.wav"), "wb") as out:
        out.setparams((2, 2, 44100, 0, "NONE", ""))
        out.writeframes(bytes(2 * 2 * 44100 * 2))
    (block,) = blocks_of(tmp_path / "stereo.wav")
    assert block.samples.ndim == 1 and block.samples.dtype == np.float32
    assert block.end_s == pytest.approx(2.0, abs=0.1)


def test_memory_does_not_grow_with_length(tmp_path):
    with wave.open(str(tmp_path / "long.wav"), "wb") as out:
        out.setparams((1, 2, RATE, 0, "NONE", ""))
        out.writeframes(bytes(2 * 300 * RATE))
    tracemalloc.start()
    with open_audio(tmp_path / "long.wav") as sound:
        for _ in sound.blocks(30.0):
            pass
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 10_000_000  # the whole would be 19 MB


def test_file_without_audio_is_refused(tmp_path):
    path = Clip(ticks=range(1)).write(tmp_path / "mute.mp4")
    with pytest.raises(InputError, match="has no audio stream"), open_audio(path):
        pass
