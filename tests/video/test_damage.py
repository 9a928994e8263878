"""Damaged frames are listed with their times, and files that are cut short are recognised."""

import re
import struct

import av
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from framesift.video.bitstream import PacketParser
from framesift.video.frames import fetch, probe, sample
from framesift.video.timeline import read_timeline
from helpers.clips import BITEXACT, Clip, decode_all, keep_parts, packet_places

X264 = {"crf": "20", "preset": "veryfast", "bf": "2", "g": "50"}
X265 = {"x265-params": "keyint=50:bframes=3:log-level=none", "preset": "ultrafast"}


def decode_intact(path):
    """The frames by their times in ticks of 1/90,000 s from the first one's."""
    frames = decode_all(path)
    return {round(float(time - frames[0][0]) * 90_000): image for time, image in frames}


def times_of_wrong_frames(run, intact):
    wrong = ((time, np.abs(image.astype(int) - intact[round(time * 90_000)]).mean() > 0.5) for time, image in run)
    return {time for time, is_wrong in wrong if is_wrong}


@pytest.mark.parametrize(
    ("name", "codec", "options", "length"),
    [
        ("zeros.mp4", "libx264", X264, 0.5),
        ("zeros.mkv", "libx264", X264, 1),
        ("zeros-hevc.mp4", "libx265", X265, 0.5),
        ("zeros.avi", "mpeg4", {"g": "50"}, 0.5),
        ("zeros-vp9.mp4", "libvpx-vp9", {"g": "50", "deadline": "realtime", "cpu-used": "8"}, 1),
    ],
)
def test_frames_after_zeros_are_damaged_up_to_the_next_keyframe(tmp_path, name, codec, options, length):
    path = Clip(codec, options, ticks=range(120)).write(tmp_path / name)
    intact = decode_intact(path)
    at, size = packet_places(path)[70]
    with path.open("r+b") as file:
        file.seek(at + size // 3)
        file.write(bytes(int(size * length)))
    run = sample(path, 25.0)
    wrong = times_of_wrong_frames(run, intact)
    assert wrong or run.missed_s
    assert wrong <= set(run.damaged_s)
    assert all(2.5 < time < 4.0 for time in run.damaged_s), run.damaged_s
    assert any("0:00:02." in warning for warning in run.warnings), run.warnings
    times = [time for time, _ in sample(path, 5.0)]
    assert [time for time, _ in fetch(path, times)] == times


@pytest.mark.parametrize(("codec", "options"), [("libx264", X264), ("mpeg2video", {"g": "50", "bf": "2"})])
def test_lost_packets_of_a_transport_stream_damage_what_follows(tmp_path, codec, options):
    path = Clip(codec, options, ticks=range(120)).write(tmp_path / "lossy.ts")
    intact = decode_intact(path)
    content = path.read_bytes()
    at = packet_places(path)[70][0] // 188 * 188
    path.write_bytes(content[: at + 188] + content[at + 4 * 188 :])
    run = sample(path, 25.0)
    wrong = times_of_wrong_frames(run, intact)
    assert wrong and wrong <= set(run.damaged_s)
    assert all(2.0 < time < 4.1 for time in run.damaged_s)


def test_intact_files_have_no_damage(tmp_path):
    open_gop = {**X264, "x264-params": "open-gop=1:keyint=30:min-keyint=30:scenecut=0", "bf": "3"}
    whole = Clip(options=X264, ticks=range(150)).write(tmp_path / "whole.mp4")
    paths = [
        whole,
        keep_parts(whole, tmp_path / "segments.ts", range(3)),
        Clip(options=open_gop).write(tmp_path / "open.ts"),
        Clip("libx265", X265).write(tmp_path / "hevc.ts"),
        Clip("mpeg4", {"g": "30", "bf": "2"}).write(tmp_path / "b.avi"),
        Clip("libvpx", {"g": "30", "deadline": "realtime", "cpu-used": "-8"}).write(tmp_path / "vp8.webm"),
        Clip(options={**X264, "x264-params": "intra-refresh=1:keyint=30:bframes=0"}).write(tmp_path / "refresh.mkv"),
    ]
    for path in paths:
        for mode in ("exact", "fast", "keyframes"):
            run = sample(path, 10.0, mode)
            assert list(run), path
            assert (run.damaged_s, run.missed_s, run.warnings) == ([], [], []), path


def test_long_runs_of_zeros_in_vp8_are_no_damage(tmp_path):
    noise = np.random.default_rng(0).integers(14, 19, (4, 192, 320, 3), dtype=np.uint8)
    options = {"deadline": "realtime", "cpu-used": "8", "qmin": "0", "qmax": "0", "b": "50000000"}
    path = Clip("libvpx", options, range(8), size=(320, 192), pictures=noise).write(tmp_path / "dark.webm")
    with av.open(str(path)) as container:
        assert any(bytes(40) in bytes(packet) for packet in container.demux(video=0))
    run = sample(path, 25.0)
    assert (len(list(run)), run.warnings) == (8, [])


def test_zeros_at_the_end_of_a_unit_are_padding(tmp_path):
    def pad(data):
        (length,) = struct.unpack(">I", data[:4])
        assert len(data) == 4 + length
        return struct.pack(">I", length + 64) + data[4:] + bytes(64)

    path = Clip(ticks=range(50), options=X264 | {"x264-params": "sliced-threads=0"}).write(tmp_path / "clip.mp4")
    change_packets(path, tmp_path / "padded.mp4", lambda number, data: pad(data) if number else data)
    run = sample(tmp_path / "padded.mp4", 25.0)
    assert (len(list(run)), run.warnings) == (50, [])


# Files that are cut short


@pytest.mark.parametrize("sound_s", [0.0, 6.0])
@pytest.mark.parametrize(
    ("name", "container"),
    [
        ("cut.mp4", {"movflags": "faststart"}),
        ("fragments.mp4", {"movflags": "frag_keyframe+empty_moov"}),
        ("cut.mkv", {}),
        ("cut.ts", {}),
        ("cut.avi", {}),
        ("cut.flv", {}),
    ],
)
def test_truncated_file_is_reported(tmp_path, name, container, sound_s):
    codec, options = ("mpeg4", {}) if name.endswith("avi") else ("libx264", X264)
    path = Clip(codec, options, ticks=range(150), sound_s=sound_s, container=container).write(tmp_path / name)
    content = path.read_bytes()
    # Within a packet of 188 bytes: a transport stream that ends with a whole packet may be complete.
    path.write_bytes(content[: len(content) * 6 // 10 // 188 * 188 + 94])
    run = sample(path)
    assert run.info == probe(path)
    assert any("cut short" in warning for warning in run.warnings), run.warnings


@pytest.mark.parametrize("name", ["long.mkv", "long.mp4", "long.ts"])
def test_audio_after_the_last_frame_is_not_a_truncated_file(tmp_path, name):
    path = Clip(options={**X264, "bf": "0"}, ticks=range(100), sound_s=9.0).write(tmp_path / name)
    (warning,) = sample(path).warnings
    assert re.search(r"the last frame ends at 4\.[01] s, but the audio continues until 9\.", warning)


def test_audio_that_ends_a_little_later_is_usual(tmp_path):
    assert sample(Clip(options=X264, sound_s=5.5).write(tmp_path / "little.mp4")).warnings == []


def test_missing_frames_that_no_other_references_are_no_damage(tmp_path):
    path = Clip(options=X264 | {"x264-params": "b-pyramid=0"}).write(tmp_path / "whole.mp4")
    lost = np.flatnonzero(~read_timeline(path).is_needed)[10:14]
    change_packets(path, tmp_path / "lossy.mp4", lambda number, data: None if number in lost else data)
    run = sample(tmp_path / "lossy.mp4", 25.0)
    assert (len(list(run)), run.damaged_s) == (96, [])


@given(
    st.sampled_from(["h264", "hevc", "vp9", "mpeg4"]),
    st.binary(max_size=40),
    st.lists(st.binary(min_size=1, max_size=60), max_size=8),
    st.booleans(),
)
def test_packets_of_any_bytes_are_classified(codec, setup, packets, is_key):
    for start in (setup, b"\1" + setup):
        parser = PacketParser(codec, start)
        for data in packets:
            parser.parse(data, is_key)
            parser.parse(b"\0\0\1" + data + bytes(32) + data, is_key)


def change_packets(path, target, change):
    """Copy a video with the data that `change` returns for each packet's number and data; None leaves it out."""
    with av.open(str(path)) as source, av.open(str(target), "w", container_options=BITEXACT) as copy:
        stream = copy.add_stream_from_template(source.streams.video[0])
        for number, packet in enumerate(p for p in source.demux(video=0) if p.size):
            data = change(number, bytes(packet))
            if data is not None:
                changed = av.Packet(data)
                changed.pts, changed.dts, changed.duration = packet.pts, packet.dts, packet.duration
                changed.time_base, changed.is_keyframe, changed.stream = packet.time_base, packet.is_keyframe, stream
                copy.mux(changed)
