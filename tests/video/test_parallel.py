"""Segments decoded in parallel give the images of a sequential decode, also around damage."""

import gc
import sys
import threading

import numpy as np
import pytest

from framesift.video import parallel
from framesift.video.frames import sample
from helpers.clips import Clip, packet_places

X264 = {"crf": "20", "preset": "veryfast", "bf": "2", "g": "12"}
CLIPS = {
    "h264.mp4": Clip(options=X264),
    "open-gop.mp4": Clip(options={**X264, "x264-params": "open-gop=1:keyint=12:min-keyint=12:scenecut=0"}),
    "hevc.mkv": Clip("libx265", {"x265-params": "keyint=12:bframes=3:log-level=none", "preset": "ultrafast"}),
    "vp9.webm": Clip("libvpx-vp9", {"g": "12", "deadline": "realtime", "cpu-used": "8"}),
}


@pytest.fixture(scope="module")
def clips(tmp_path_factory):
    folder = tmp_path_factory.mktemp("segments")
    return [clip.write(folder / name) for name, clip in CLIPS.items()]


@pytest.fixture(autouse=True)
def small_segments(monkeypatch):
    monkeypatch.setattr(parallel, "SEGMENT_FRAMES", 2)
    monkeypatch.setattr(parallel, "KEYS_SEEK_OVER", 5)


@pytest.fixture
def use_cores(monkeypatch):
    return lambda count: monkeypatch.setattr(parallel, "usable_cores", lambda: count)


def running_workers():
    return [thread for thread in threading.enumerate() if thread.name.startswith("framesift-decode-")]


def sampled(path, fps, mode):
    with sample(path, fps, mode) as run:
        images = [(time_s, image.tobytes()) for time_s, image in run]
    return images, run.damaged_s, run.missed_s


def test_parallel_decoding_gives_the_images_and_times_of_a_sequential_one(clips, use_cores):
    for path in clips:
        for fps, mode in ((5.0, "exact"), (25.0, "exact"), (5.0, "fast"), (5.0, "keyframes")):
            use_cores(1)
            expected = sampled(path, fps, mode)
            use_cores(3)
            assert sampled(path, fps, mode) == expected, (path.name, fps, mode)


def test_damage_found_while_decoding_gives_the_result_of_a_sequential_decode(clips, use_cores, tmp_path):
    content, (at, _) = bytearray(clips[0].read_bytes()), packet_places(clips[0])[50]
    content[at + 30 : at + 400] = np.random.default_rng(0).integers(1, 255, 370, dtype=np.uint8).tobytes()
    path = tmp_path / "damaged.mp4"
    path.write_bytes(content)
    use_cores(1)
    expected = sampled(path, 5.0, "exact")
    use_cores(3)
    assert sampled(path, 5.0, "exact") == expected
    assert expected[1] or expected[2]


def test_workers_end_when_the_images_are_no_longer_wanted(clips, use_cores):
    use_cores(3)
    with sample(clips[0], 25.0) as run:
        next(run)
        assert running_workers()
    assert not running_workers()


def test_an_abandoned_run_may_be_collected_in_a_worker(clips, use_cores, monkeypatch):
    abandoned, turn, collected = threading.Event(), threading.Lock(), threading.Event()
    put = parallel._ParallelRun._put

    def put_and_collect(run, segment, item):
        put(run, segment, item)
        abandoned.wait()
        if turn.acquire(blocking=False):
            gc.collect()
            collected.set()

    use_cores(3)
    monkeypatch.setattr(parallel._ParallelRun, "_put", put_and_collect)
    unraisable = []
    monkeypatch.setattr(sys, "unraisablehook", lambda failed: unraisable.append(failed.exc_value))
    gc.disable()
    try:
        cycle = [sample(clips[0], 25.0)]
        cycle.append(cycle)
        next(cycle[0])
        workers = running_workers()
        del cycle
        abandoned.set()
        assert collected.wait(60)
    finally:
        gc.enable()
    for worker in workers:
        worker.join(60)
    assert unraisable == [] and not running_workers()


def test_an_error_of_a_worker_is_raised(clips, use_cores, monkeypatch):
    def fail(*_):
        raise ZeroDivisionError

    use_cores(3)
    monkeypatch.setattr(parallel, "decode_wanted", fail)
    with pytest.raises(ZeroDivisionError):
        list(sample(clips[0], 25.0))
    assert not running_workers()
