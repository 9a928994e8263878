"""Files that are not videos, damaged ones, and ones that refer to others: one sentence describes the error."""

import struct
import wave
import zlib

import av
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from framesift.errors import InputError
from framesift.video import container, parallel
from framesift.video.frames import fetch, frame_numbers, probe, sample
from helpers.clips import Clip, read_number

X264 = {"crf": "20", "preset": "veryfast", "bf": "2", "g": "25"}


def every_call(path):
    return [
        lambda: probe(path),
        lambda: list(sample(path)),
        lambda: list(fetch(path, [0.0])),
        lambda: frame_numbers(path, [0.0]),
    ]


def refused(path, *words):
    for call in every_call(path):
        with pytest.raises(InputError) as caught:
            call()
        text = str(caught.value)
        assert str(path) in text and "\n" not in text
        assert all(word in text for word in words), text


def test_missing_file_is_refused(tmp_path):
    refused(tmp_path / "gone.mp4", "does not exist")


def test_directory_is_refused(tmp_path):
    refused(tmp_path, "directory")


def test_empty_file_is_refused(tmp_path):
    path = tmp_path / "empty.mp4"
    path.touch()
    refused(path, "empty")


@pytest.mark.parametrize("name", ["notes.txt", "notes.mp4", "notes.mkv", "notes.srt"])
def test_text_file_is_refused(tmp_path, name):
    path = tmp_path / name
    path.write_text("1\n00:00:01,000 --> 00:00:02,000\nnothing to see\n" * 50)
    refused(path, "MP4")


@pytest.mark.parametrize("seed", range(5))
def test_random_bytes_are_refused(tmp_path, seed):
    path = tmp_path / "noise.mp4"
    path.write_bytes(np.random.default_rng(seed).bytes(50_000))
    refused(path, "MP4")


def test_audio_file_is_refused(tmp_path):
    path = tmp_path / "sound.wav"
    with wave.open(str(path), "wb") as out:
        out.setnchannels(1)
        out.setsampwidth(2)
        out.setframerate(8000)
        out.writeframes(bytes(16000))
    refused(path, "no video stream")


def test_still_image_is_refused(tmp_path):
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", 8, 8, 8, 2, 0, 0, 0)
    rows = zlib.compress((b"\0" + bytes(24)) * 8)
    path = tmp_path / "still.png"
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", rows) + chunk(b"IEND", b""))
    refused(path, "still image")
    path.rename(tmp_path / "still.mp4")
    refused(tmp_path / "still.mp4", "still image")


def test_animated_gif_is_a_video(tmp_path):
    path = tmp_path / "moving.gif"
    Clip("gif", ticks=range(30), time_base=Clip().time_base * 5, pix_fmt="rgb8").write(path)
    assert len(list(sample(path))) > 3


def test_gif_of_one_frame_is_refused(tmp_path):
    refused(Clip("gif", ticks=range(1), pix_fmt="rgb8").write(tmp_path / "still.gif"), "still image")


@pytest.mark.parametrize("name", ["list.m3u8", "list.mp4", "list.ffconcat"])
def test_playlist_opens_no_other_file(tmp_path, name):
    Clip(ticks=range(25), options=X264).write(tmp_path / "secret.ts")
    path = tmp_path / name
    if name.endswith("ffconcat"):
        path.write_text("ffconcat version 1.0\nfile secret.ts\n")
    else:
        path.write_text("#EXTM3U\n#EXT-X-TARGETDURATION:1\n#EXTINF:1,\nsecret.ts\n#EXT-X-ENDLIST\n")
    refused(path, "MP4")


def test_cover_art_is_refused(tmp_path):
    path = tmp_path / "song.mp4"
    with av.open(str(path), "w") as out:
        sound = out.add_stream("aac", rate=16000)
        cover = out.add_stream("mjpeg", rate=1)
        cover.width, cover.height, cover.pix_fmt = 64, 64, "yuvj420p"
        cover.disposition = av.stream.Disposition.attached_pic
        frame = av.VideoFrame.from_ndarray(np.zeros((64, 64, 3), np.uint8), "rgb24")
        out.mux(cover.encode(frame))
        out.mux(cover.encode(None))
        for start in range(0, 16000, 1024):
            tone = av.AudioFrame.from_ndarray(np.zeros((1, 1024), np.float32), "fltp", "mono")
            tone.sample_rate, tone.pts = 16000, start
            out.mux(sound.encode(tone))
        out.mux(sound.encode(None))
    with pytest.raises(InputError, match="expected a video"):
        probe(path)


def test_default_stream_is_used(tmp_path):
    path = tmp_path / "two.mkv"
    with av.open(str(path), "w") as out:
        streams = []
        for size, disposition in (((160, 96), av.stream.Disposition(0)), ((80, 48), av.stream.Disposition.default)):
            stream = out.add_stream("libx264", rate=25, options=X264)
            stream.width, stream.height, stream.pix_fmt = *size, "yuv420p"
            stream.disposition = disposition
            streams.append(stream)
        for number in range(30):
            for stream in streams:
                image = np.full((stream.height, stream.width, 3), 40 + number, np.uint8)
                out.mux(stream.encode(av.VideoFrame.from_ndarray(image, "rgb24")))
        for stream in streams:
            out.mux(stream.encode(None))
    assert (probe(path).width, probe(path).height) == (80, 48)
    assert next(sample(path))[1].shape == (48, 80, 3)


# Damage


def test_truncated_mp4_without_index_is_refused(tmp_path):
    path = Clip(options=X264).write(tmp_path / "cut.mp4")
    path.write_bytes(path.read_bytes()[: path.stat().st_size * 2 // 3])
    refused(path, "truncated")


@pytest.mark.parametrize("name", ["cut.mkv", "cut.ts", "index-first.mp4"])
def test_rest_of_a_truncated_file_is_used(tmp_path, name):
    container = {"movflags": "faststart"} if name.endswith("mp4") else {}
    path = Clip(ticks=range(250), options=X264, container=container).write(tmp_path / name)
    path.write_bytes(path.read_bytes()[: path.stat().st_size * 6 // 10])
    run = sample(path)
    got = list(run)
    assert 4 <= len(got) <= 8
    assert [read_number(image) for _, image in got][:4] == [0, 25, 50, 75]
    if not name.endswith("ts"):  # which never says how long it was meant to be
        assert any("missing" in warning for warning in run.warnings), run.warnings


@pytest.mark.parametrize("name", ["holes.mkv", "holes.mp4", "holes.ts"])
def test_damage_affects_only_the_frames_around_it(tmp_path, name):
    path = Clip(ticks=range(300), options=X264).write(tmp_path / name)
    data = bytearray(path.read_bytes())
    middle = len(data) // 2
    data[middle : middle + len(data) // 10] = np.random.default_rng(1).bytes(len(data) // 10)
    path.write_bytes(data)
    times = []
    for time, image in sample(path):
        times.append(time)
        assert image.shape == (96, 160, 3)
    assert times == sorted(set(times))
    assert len(times) >= 8


@pytest.mark.parametrize("cores", [1, 16])
def test_warning_counts_the_lost_candidates(tmp_path, monkeypatch, cores):
    for module in (container, parallel):
        monkeypatch.setattr(module, "usable_cores", lambda: cores)
    path = Clip(ticks=range(300), options={**X264, "bf": "0"}).write(tmp_path / "lost.mp4")
    _spoil_packets(path, range(100, 150))
    run = sample(path)
    times = [time for time, _ in run]
    assert any("of 12 candidates" in warning and "0:00:04" in warning for warning in run.warnings), run.warnings
    assert run.missed_s
    assert {0.0, 1.0, 2.0, 3.0, 7.0, 11.0} <= set(times)


def test_fetching_an_undecodable_frame_names_its_time(tmp_path):
    path = Clip(ticks=range(300), options={**X264, "bf": "0"}).write(tmp_path / "lost.mp4")
    _spoil_packets(path, range(100, 150))
    with pytest.raises(InputError, match=r"4\.400 s can't be decoded"):
        list(fetch(path, [4.4]))


def test_file_without_decodable_frames_is_refused(tmp_path):
    path = Clip(ticks=range(50), options=X264).write(tmp_path / "hopeless.mp4")
    _spoil_packets(path, range(50))
    with pytest.raises(InputError, match="none of its frames can be decoded"):
        list(sample(path))


def _spoil_packets(path, numbers):
    """Overwrite these packets where they lie in the file."""
    with av.open(str(path)) as container:
        places = [(packet.pos, packet.size) for packet in container.demux(video=0) if packet.size]
    data = bytearray(path.read_bytes())
    for number in numbers:
        at, size = places[number]
        data[at : at + size] = b"\xff" * size
    path.write_bytes(data)


@pytest.fixture(scope="session")
def healthy(tmp_path_factory):
    folder = tmp_path_factory.mktemp("healthy")
    names = ["clip.mp4", "clip.mkv", "clip.ts", "clip.avi"]
    return [Clip(ticks=range(40), options=X264).write(folder / name) for name in names]


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_any_damage_raises_input_error_only(healthy, data):
    path = data.draw(st.sampled_from(healthy))
    content = bytearray(path.read_bytes())
    for _ in range(data.draw(st.integers(1, 12))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    if data.draw(st.booleans()):
        del content[data.draw(st.integers(1, len(content))) :]
    spoilt = path.with_name(f"spoilt{path.suffix}")
    spoilt.write_bytes(content)
    try:
        times = [time for time, _ in sample(spoilt, 5.0)]
        probe(spoilt)
    except InputError:
        return
    assert times == sorted(set(times))


def test_packets_end_where_pyav_fails_to_flush_a_later_stream():
    from framesift.video.container import read_packets

    class Container:
        def demux(self, stream):
            yield from ("first", "last")
            raise IndexError

    assert list(read_packets(Container(), None)) == ["first", "last"]
