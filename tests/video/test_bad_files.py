"""Files that are not videos, damaged ones, and ones that refer to others: one sentence describes the error."""

import wave

import av
import numpy as np
import pytest
from PIL import Image

from framesift.errors import InputError
from framesift.video import container, parallel
from framesift.video.frames import fetch, frame_numbers, probe, sample
from helpers.clips import Clip, read_number, spoil_packets

X264 = {"crf": "20", "preset": "veryfast", "bf": "2", "g": "25"}


def refused(path, words):
    for call in (probe, sample, lambda path: fetch(path, [0.0]), lambda path: frame_numbers(path, [0.0])):
        with pytest.raises(InputError) as caught:
            call(path)
        text = str(caught.value)
        assert str(path) in text and "\n" not in text and words in text, text


def test_missing_file_and_directory_are_refused(tmp_path):
    refused(tmp_path / "gone.mp4", "does not exist")
    refused(tmp_path, "directory")


def test_file_that_is_no_video_is_refused_and_opens_no_other(tmp_path):
    Clip(ticks=range(25), options=X264).write(tmp_path / "secret.ts")
    subtitles = b"1\n00:00:01,000 --> 00:00:02,000\nnothing to see\n" * 50
    for name, content, words in (
        ("empty.mp4", b"", "empty"),
        ("notes.mp4", subtitles, "MP4"),
        ("notes.srt", subtitles, "MP4"),
        ("noise.mp4", np.random.default_rng(0).bytes(50_000), "MP4"),
        ("list.mp4", b"#EXTM3U\n#EXT-X-TARGETDURATION:1\n#EXTINF:1,\nsecret.ts\n#EXT-X-ENDLIST\n", "MP4"),
        ("list.ffconcat", b"ffconcat version 1.0\nfile secret.ts\n", "MP4"),
    ):
        (tmp_path / name).write_bytes(content)
        refused(tmp_path / name, words)


def test_audio_file_is_refused(tmp_path):
    path = tmp_path / "sound.wav"
    with wave.open(str(path), "wb") as out:
        out.setparams((1, 2, 8000, 0, "NONE", ""))
        out.writeframes(bytes(16000))
    refused(path, "no video stream")


def test_still_image_is_refused(tmp_path):
    for name in ("still.png", "still.mp4"):
        Image.new("RGB", (8, 8)).save(tmp_path / name, "PNG")
        refused(tmp_path / name, "still image")
    refused(Clip("gif", ticks=range(1), pix_fmt="rgb8").write(tmp_path / "still.gif"), "still image")


def test_animated_gif_is_a_video(tmp_path):
    path = tmp_path / "moving.gif"
    Clip("gif", ticks=range(30), time_base=Clip().time_base * 5, pix_fmt="rgb8").write(path)
    assert len(list(sample(path))) > 3


def test_cover_art_is_refused(tmp_path):
    path = tmp_path / "song.mp4"
    with av.open(str(path), "w") as out:
        sound = out.add_stream("aac", rate=16000)
        cover = out.add_stream("mjpeg", rate=1)
        cover.width, cover.height, cover.pix_fmt = 64, 64, "yuvj420p"
        cover.disposition = av.stream.Disposition.attached_pic
        out.mux(cover.encode(av.VideoFrame.from_ndarray(np.zeros((64, 64, 3), np.uint8), "rgb24")))
        out.mux(cover.encode(None))
        tone = av.AudioFrame.from_ndarray(np.zeros((1, 1024), np.float32), "fltp", "mono")
        tone.sample_rate, tone.pts = 16000, 0
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
        for stream in streams:
            image = np.full((stream.height, stream.width, 3), 40, np.uint8)
            out.mux(stream.encode(av.VideoFrame.from_ndarray(image, "rgb24")))
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
    got = [read_number(image) for _, image in sample(path)]
    assert 4 <= len(got) <= 8 and got[:4] == [0, 25, 50, 75]


@pytest.mark.parametrize("cores", [1, 16])
def test_warning_counts_the_lost_candidates(tmp_path, monkeypatch, cores):
    for module in (container, parallel):
        monkeypatch.setattr(module, "usable_cores", lambda: cores)
    path = Clip(ticks=range(300), options={**X264, "bf": "0"}).write(tmp_path / "lost.mp4")
    spoil_packets(path, range(100, 150))
    run = sample(path)
    times = [time for time, _ in run]
    assert any("of 12 candidates" in warning and "0:00:04" in warning for warning in run.warnings), run.warnings
    assert run.missed_s
    assert {0.0, 1.0, 2.0, 3.0, 7.0, 11.0} <= set(times)


def test_fetching_an_undecodable_frame_names_its_time(tmp_path):
    path = Clip(ticks=range(300), options={**X264, "bf": "0"}).write(tmp_path / "lost.mp4")
    spoil_packets(path, range(100, 150))
    with pytest.raises(InputError, match=r"4\.400 s can't be decoded"):
        list(fetch(path, [4.4]))


def test_file_without_decodable_frames_is_refused(tmp_path):
    path = Clip(ticks=range(50), options=X264).write(tmp_path / "hopeless.mp4")
    spoil_packets(path, range(50))
    with pytest.raises(InputError, match="none of its frames can be decoded"):
        list(sample(path))


def test_packets_end_where_pyav_fails_to_flush_a_later_stream():
    class Container:
        def demux(self, stream):
            yield from ("first", "last")
            raise IndexError

    assert list(container.read_packets(Container(), None)) == ["first", "last"]
