"""Sampling, fetching and probing, on clips made here in which every frame shows its number."""

import gc
import math
import tracemalloc
import weakref
from fractions import Fraction
from pathlib import Path

import av
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from framesift.errors import InputError, OptionError
from framesift.video import decoding, parallel, timeline
from framesift.video.frames import fetch, frame_numbers, on_screen_times, probe, sample
from framesift.video.timeline import read_timeline
from helpers.clips import Clip, decode_all, grid, make_clip, read_number
from helpers.examples import UNCHECKED

X264 = {"crf": "20", "preset": "veryfast"}
VARIABLE = [0, 1, 2, 30, 31, 90, 91, 92, 93, 200, 201, 330, 331]
CLIPS = {
    "b-pyramid.mp4": Clip(options={**X264, "bf": "3", "g": "40"}),
    "no-b.mp4": Clip(options={**X264, "bf": "0", "g": "35"}),
    "open-gop.mp4": Clip(options={**X264, "bf": "3", "x264-params": "open-gop=1:keyint=30:min-keyint=30:scenecut=0"}),
    "refresh.mkv": Clip(options={**X264, "x264-params": "intra-refresh=1:keyint=30:bframes=0"}),
    "slices.ts": Clip(options={**X264, "bf": "3", "g": "30", "x264-params": "slices=3"}),
    "hevc.mp4": Clip("libx265", {"x265-params": "keyint=30:min-keyint=30:bframes=4:log-level=none", "preset": "fast"}),
    "hevc-layers.mkv": Clip(
        "libx265", {"x265-params": "keyint=40:temporal-layers=3:bframes=4:log-level=none", "preset": "fast"}
    ),
    "vp9.webm": Clip("libvpx-vp9", {"g": "30", "deadline": "realtime", "cpu-used": "8", "auto-alt-ref": "1"}),
    "av1.mkv": Clip("libsvtav1", {"preset": "13", "g": "30", "svtav1-params": "lp=1"}, ticks=range(70)),
    "mpeg2.ts": Clip("mpeg2video", {"bf": "2", "g": "12", "qscale": "3"}),
    "variable.mkv": Clip(options={**X264, "bf": "2"}, ticks=VARIABLE, time_base=Fraction(1, 100)),
    "ten-bit.mkv": Clip(pix_fmt="yuv420p10le", options={**X264, "bf": "2", "g": "30"}),
}


@pytest.fixture(scope="session")
def clips(tmp_path_factory):
    folder = tmp_path_factory.mktemp("clips")
    return {name: clip.write(folder / name) for name, clip in CLIPS.items()}


@pytest.fixture(scope="session")
def decoded(clips):
    return {name: decode_all(path) for name, path in clips.items()}


def numbers(candidates):
    return [read_number(image) for _, image in candidates]


def relative(frames):
    return [float(time - frames[0][0]) for time, _ in frames]


# The grid


@pytest.mark.parametrize("fps", [1.0, 0.4, 7.0, 60.0])
def test_exact_matches_a_full_decode(clips, decoded, fps):
    for name, frames in decoded.items():
        times = [time - frames[0][0] for time, _ in frames]
        end = times[-1] + Fraction(1, 25)
        expected = grid(times, end, Fraction(fps).limit_denominator(1000))
        got = list(sample(clips[name], fps))
        assert [time for time, _ in got] == pytest.approx([float(times[n]) for n in expected], abs=1e-9), name
        assert all(np.array_equal(image, frames[n][1]) for (_, image), n in zip(got, expected, strict=True)), name


@pytest.mark.parametrize("mode", ["exact", "fast", "keyframes"])
def test_end_of_the_video_is_not_a_grid_instant(tmp_path, mode):
    path = Clip(ticks=range(75), options={**X264, "g": "5", "bf": "0"}).write(tmp_path / "three.mp4")
    assert numbers(sample(path, mode=mode)) == [0, 25, 50]


@settings(deadline=None)
@given(
    steps=st.lists(st.integers(1, 3000), min_size=1, max_size=40),
    start=st.integers(-5000, 5000),
    fps=st.fractions(Fraction(1, 4), 60, max_denominator=50),
)
def test_grid_matches_its_definition(steps, start, fps):
    ticks = np.cumsum([start, *steps])
    end = int(ticks[-1]) + 40
    line = _line(ticks, end)
    times = [Fraction(int(tick) - start, 1000) for tick in ticks]
    on_screen = timeline.on_grid(line, np.arange(len(ticks)), fps)
    assert [entry.position for entry in on_screen] == grid(times, Fraction(end - start, 1000), fps)


def _line(ticks, end):
    ones = np.ones(len(ticks), dtype=bool)
    flags = dict.fromkeys(("is_key", "is_fresh", "is_closed", "is_needed"), ones) | {"is_broken": ~ones}
    return timeline.Timeline(
        tick=Fraction(1, 1000),
        origin=Fraction(int(ticks[0])),
        ticks=ticks,
        raw=ticks,
        sizes=np.ones(len(ticks)),
        **flags,
        shown=np.arange(len(ticks)),
        end=end,
        in_order=False,
        is_cut=False,
    )


@pytest.mark.parametrize(
    ("count", "time_base", "fps", "expected"),
    [(20, Fraction(1, 25), 25.0, 20), (100, Fraction(1, 25), 16.0, 64), (70, Fraction(1), 1.0, 70)],
)
def test_auto_doubles_the_rate_until_there_are_64_or_every_frame(tmp_path, count, time_base, fps, expected):
    path = Clip(ticks=range(count), time_base=time_base, options=X264).write(tmp_path / "clip.mp4")
    run = sample(path, "auto")
    assert run.fps == fps and run.expected == len(list(run)) == expected


# Modes


@pytest.mark.parametrize("mode", ["fast", "keyframes"])
def test_every_mode_gives_frames_at_their_true_times(clips, decoded, mode):
    for name, frames in decoded.items():
        times = relative(frames)
        got = list(sample(clips[name], 2.0, mode))
        assert got, name
        for time, image in got:
            n = int(np.argmin([abs(time - other) for other in times]))
            assert time == pytest.approx(times[n], abs=1e-9), name
            assert np.array_equal(image, frames[n][1]), name
        assert [time for time, _ in got] == sorted({time for time, _ in got}), name


def test_fast_decodes_reference_frames_at_most_half_a_second_before_their_instants(clips):
    times = [time for time, _ in sample(clips["b-pyramid.mp4"], 1.0, "fast")]
    assert all(0 <= k - time <= 0.5 for k, time in enumerate(times[:4]))
    line = read_timeline(clips["b-pyramid.mp4"])
    assert line.is_needed[[line.shown[line.find(time)] for time in times]].all() and not line.is_needed.all()


def test_fast_falls_back_to_the_exact_frame(tmp_path):
    ticks = [0, 100, 200, 300, 400, 500, 600, 700, 800, 900]
    options = {**X264, "x264-params": "bframes=3:b-adapt=0:b-pyramid=none:scenecut=0"}
    path = Clip(ticks=ticks, time_base=Fraction(1, 100), options=options).write(tmp_path / "slow-b.mkv")
    assert numbers(sample(path, 1.0, "fast")) == numbers(sample(path, 1.0, "exact"))


def test_keyframes_gives_at_most_one_keyframe_per_step(clips):
    with av.open(str(clips["mpeg2.ts"])) as container:
        keys = [frame.pts * frame.time_base for frame in container.decode(video=0) if frame.key_frame]
        start = Fraction(container.start_time, 1_000_000)
    expected = grid([float(key - start) for key in keys], 4.0, Fraction(1))
    times = [time for time, _ in sample(clips["mpeg2.ts"], 1.0, "keyframes")]
    assert times == pytest.approx([float(keys[n] - keys[0]) for n in expected], abs=1e-4)


# Resuming


@pytest.mark.parametrize("mode", ["exact", "fast", "keyframes"])
def test_resumed_sampling_gives_the_remaining_candidates(clips, mode):
    for name in ("b-pyramid.mp4", "open-gop.mp4", "hevc.mp4", "vp9.webm", "mpeg2.ts", "refresh.mkv"):
        every = list(sample(clips[name], 2.0, mode))
        for done in {1, max(1, len(every) // 2), len(every)}:
            rest = list(sample(clips[name], 2.0, mode, after_s=every[done - 1][0]))
            assert [time for time, _ in rest] == [time for time, _ in every[done:]], name
            assert all(np.array_equal(a[1], b[1]) for a, b in zip(rest, every[done:], strict=True)), name


# Fetching


@pytest.mark.parametrize("seek_over", [decoding.SEEK_OVER, 5])
@settings(suppress_health_check=[*UNCHECKED, HealthCheck.function_scoped_fixture], max_examples=40, deadline=None)
@given(data=st.data(), name=st.sampled_from(sorted(CLIPS)))
def test_fetch_matches_a_full_decode(clips, decoded, data, name, monkeypatch, seek_over):
    monkeypatch.setattr(decoding, "SEEK_OVER", seek_over)
    frames, times = decoded[name], relative(decoded[name])
    chosen = data.draw(st.lists(st.integers(0, len(frames) - 1), max_size=6))
    assert frame_numbers(clips[name], [times[n] for n in chosen]) == chosen
    got = list(fetch(clips[name], [times[n] for n in chosen]))
    assert [time for time, _ in got] == pytest.approx([times[n] for n in sorted(set(chosen))], abs=1e-9)
    assert all(np.array_equal(p, frames[n][1]) for (_, p), n in zip(got, sorted(set(chosen)), strict=True))


def test_a_time_means_the_frame_on_screen(clips):
    times = [0.0, 1.03, 1.0395, 1.04, 1.0404, 1.078, 1.0795, 1.08, 1.5]
    assert frame_numbers(clips["no-b.mp4"], times) == [0, 25, 26, 26, 26, 26, 27, 27, 37]
    assert on_screen_times(clips["no-b.mp4"], [1.03, 1.0395]) == [1.0, 1.04]
    fetched = list(fetch(clips["no-b.mp4"], times))
    assert [time for time, _ in fetched] == times
    assert numbers(fetched) == [0, 25, 26, 26, 26, 26, 27, 27, 37]


@pytest.mark.parametrize("fps", [24, 25, Fraction(30000, 1001)])
def test_times_rounded_or_cut_to_milliseconds_are_those_frames(tmp_path, fps):
    path = Clip(ticks=range(60), time_base=1 / Fraction(fps), options={"g": "12"}).write(tmp_path / "clip.mp4")
    times = [k / float(fps) for k in range(60)]
    assert frame_numbers(path, times) == list(range(60))
    assert frame_numbers(path, [round(time, 3) for time in times]) == list(range(60))
    assert frame_numbers(path, [math.floor(1000 * time) / 1000 for time in times]) == list(range(60))


def test_frames_less_than_a_millisecond_apart_have_their_own_times(tmp_path):
    path = Clip(ticks=[0, 3, 5, 1000], time_base=Fraction(1, 10_000)).write(tmp_path / "dense.mp4")
    line = read_timeline(path)
    assert frame_numbers(path, [line.time_s(packet) for packet in line.shown]) == [0, 1, 2, 3]


@pytest.mark.parametrize("time_s", [-1.0, 4.002, 1e9, float("nan"), float("inf")])
def test_time_outside_the_video_is_an_error(clips, time_s):
    with pytest.raises(InputError, match=r"the time is \S+ s; expected seconds from 0 to 4\.000, the video's end"):
        fetch(clips["no-b.mp4"], [time_s])


def test_late_frame_needs_no_packet_before_its_gop(clips):
    send, _ = decoding.DecodePlan(read_timeline(clips["no-b.mp4"]), [80]).packets()
    assert np.flatnonzero(send).tolist() == list(range(70, 81))


# Clocks


@pytest.mark.parametrize(
    ("first", "start_s"),
    [(90_000 * 3, 3.0), (90_000 * 3600 + 17, 3600 + 17 / 90_000), (2**33 - 90_000 * 3, -3.0)],
    ids=["late", "very late", "before the wrap of the clock"],
)
def test_first_frame_is_time_zero_wherever_the_clock_starts(tmp_path, first, start_s):
    ticks = [first + 3600 * n for n in range(100)]
    path = Clip(ticks=ticks, time_base=Fraction(1, 90_000), options={**X264, "bf": "2"}).write(tmp_path / "late.ts")
    got = list(sample(path))
    assert [time for time, _ in got] == pytest.approx([0, 1, 2, 3], abs=1e-9)
    assert numbers(got) == [0, 25, 50, 75]
    assert probe(path).start_s == pytest.approx(start_s, abs=1e-6)


def test_frames_removed_by_an_edit_list_are_skipped(tmp_path):
    clip = Clip(ticks=range(-30, 50), options={**X264, "bf": "2"}, container={"avoid_negative_ts": "disabled"})
    path = clip.write(tmp_path / "edited.mp4")
    assert numbers(sample(path)) == [30, 55]
    assert probe(path).duration_s == pytest.approx(2.0)


def test_video_that_starts_after_the_audio_keeps_its_times(tmp_path):
    path = Clip(ticks=range(75, 150), options={**X264, "bf": "0"}, sound_s=6.0).write(tmp_path / "late-pictures.mkv")
    run = sample(path)
    got = list(run)
    assert [time for time, _ in got] == pytest.approx([3.0, 4.0, 5.0], abs=0.002)
    assert numbers(got) == [0, 25, 50]
    assert any("0:00:00-0:00:03" in warning for warning in run.warnings)
    assert frame_numbers(path, [0.0, 2.0]) == [0, 0]


def test_files_without_presentation_times_count_frames(tmp_path):
    path = Clip(options={**X264, "bf": "3", "g": "30"}, ticks=range(75)).write(tmp_path / "bare.h264")
    got = list(sample(path))
    assert read_timeline(path).in_order
    assert numbers(got) == [0, 25, 50]
    assert [time for time, _ in got] == pytest.approx([0, 1, 2], abs=0.081)


def test_avi_with_b_frames_has_true_times(tmp_path):
    path = Clip("mpeg4", {"bf": "2", "g": "12", "qscale": "3"}, ticks=range(75)).write(tmp_path / "b.avi")
    got = list(sample(path))
    # The format delays every image by one, to make room for reordering.
    assert [time * 25 - 1 for time, _ in got] == pytest.approx(numbers(got))
    assert numbers(got) == [0, 24, 49, 74]


@pytest.mark.parametrize(("claimed_s", "warns"), [(900.0, True), (1.0, False)])
def test_packets_override_a_wrong_duration(tmp_path, claimed_s, warns):
    path = Clip(options={**X264, "bf": "0"}).write(tmp_path / "clip.mkv")
    element = b"\x44\x89\x88"  # Duration: an eight-byte float in milliseconds
    before, _, after = path.read_bytes().partition(element)
    assert np.frombuffer(after[:8], ">f8")[0] == pytest.approx(4000, abs=50)
    path.write_bytes(before + element + np.array(1000 * claimed_s, ">f8").tobytes() + after[8:])
    run = sample(path)
    assert run.info.duration_s == probe(path).duration_s == pytest.approx(4.0)
    assert numbers(run) == [0, 25, 50, 75]
    assert any("900.0 s" in warning for warning in run.warnings) == warns


# Properties of the samples


def test_probe_describes_the_streams(tmp_path):
    path = Clip(options=X264, sound_s=4.0).write(tmp_path / "film.mp4")
    info = probe(path)
    assert (info.width, info.height, info.fps, info.codec) == (160, 96, 25.0, "h264")
    assert info.duration_s == pytest.approx(4.0) and info.has_audio and info.subtitle_tracks == ()
    assert info.path == str(path)


def test_file_that_was_replaced_is_described_anew(tmp_path):
    path = Clip(options=X264).write(tmp_path / "film.mp4")
    before = probe(path)
    Clip(ticks=range(50), options=X264).write(path)
    assert probe(path).duration_s == pytest.approx(2.0) != before.duration_s


def test_few_frames_are_in_memory_at_once(clips, monkeypatch):
    monkeypatch.setattr(parallel, "usable_cores", lambda: 2)
    alive: list[weakref.ref[np.ndarray]] = []
    for _, image in sample(clips["b-pyramid.mp4"], 25.0):
        alive.append(weakref.ref(image))
        assert sum(ref() is not None for ref in alive) <= 1 + 2  # this one, and the last one of each worker


def test_sampling_closes_its_file(clips):
    with sample(clips["no-b.mp4"]) as run:
        next(run)
    assert list(run) == []


def test_unreferenced_sampling_is_freed_at_once(clips):
    run = sample(clips["no-b.mp4"])
    next(run)
    gone = weakref.ref(run)
    gc.disable()
    try:
        del run
        assert gone() is None
    finally:
        gc.enable()


def test_unknown_modes_and_sizes_are_refused(clips):
    with pytest.raises(OptionError, match="exact, fast, keyframes"):
        sample(clips["no-b.mp4"], mode="quick")
    with pytest.raises(OptionError, match="short_side is 0"):
        sample(clips["no-b.mp4"], short_side=0)


def test_paths_may_be_path_objects_with_colons_and_percents(tmp_path):
    path = Clip(ticks=range(25), options=X264).write(tmp_path / "plain.mp4")
    odd = Path(tmp_path / "http: 100%d é.mp4")
    path.rename(odd)
    assert numbers(sample(odd)) == [0]


def test_scan_holds_few_bytes_per_packet(tmp_path):
    peaks = []
    for seconds in (20, 220):
        clip = make_clip(tmp_path / f"{seconds}.mp4", seconds, size=(16, 16))
        tracemalloc.start()
        timeline.read_timeline(clip)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] - peaks[0] < 1000 * 300
