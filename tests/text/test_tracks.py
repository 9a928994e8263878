"""Text tracks inside generated videos."""

import contextlib
import struct
from fractions import Fraction

import av
import numpy as np
import pytest

from framesift.errors import InputError
from framesift.store.store import Store
from framesift.text.finding import TextSettings, search_events
from framesift.text.tracks import list_tracks, read_track
from framesift.video.frames import probe
from helpers.subtitle_files import triples

MILLISECOND = Fraction(1, 1000)


def mov_text(text):
    data = text.encode()
    return struct.pack(">H", len(data)) + data + b"\0\0\0\x0cstyl\0\0\0\0"


def make_clip(path, *tracks, start_ms=0):
    """Write a clip of two seconds with tracks of (codec, language, disposition, [(start ms, end ms, bytes)])."""
    with av.open(str(path), "w") as out:
        video = out.add_stream("mpeg4", rate=5)
        video.width, video.height, video.pix_fmt = 32, 32, "yuv420p"
        packets = []
        for codec, language, disposition, cues in tracks:
            stream = out.add_mux_stream(codec)
            stream.time_base = MILLISECOND
            stream.metadata["language"] = language
            stream.disposition = disposition
            for start, end, data in cues:
                packet = av.Packet(data)
                packet.stream, packet.time_base = stream, MILLISECOND
                packet.pts = packet.dts = start + start_ms
                packet.duration = end - start
                packets.append(packet)
        image = np.zeros((32, 32, 3), np.uint8)
        for k in range(10):
            frame = av.VideoFrame.from_ndarray(image, format="rgb24")
            frame.pts, frame.time_base = k + start_ms // 200, Fraction(1, 5)
            out.mux(video.encode(frame))
        out.mux(video.encode(None))
        for packet in packets:
            out.mux(packet)
    return path


def read_best(path):
    return read_track(path, list_tracks(path)[0])


@pytest.mark.parametrize(
    ("name", "codec", "first", "second"),
    [
        ("a.mp4", "mov_text", mov_text("Hello\nthere"), mov_text("é, <i>you</i>")),
        ("a.mkv", "subrip", b"<i>Hello</i>\r\nthere", "é, you".encode()),
        ("a.mkv", "ass", b"0,0,Default,,0,0,0,,{\\an8}Hello\\Nthere", "1,0,Default,,0,0,0,,é, you".encode()),
        ("a.mkv", "webvtt", b"Hello\n<c.red>there</c>", "é, <00:00.900>you".encode()),
    ],
)
def test_each_codec_gives_the_same_events(tmp_path, name, codec, first, second):
    path = make_clip(tmp_path / name, (codec, "eng", 1, [(200, 700, first), (800, 1500, second)]))
    events = read_best(path)
    assert triples(events) == [(0.2, 0.7, "Hello there"), (0.8, 1.5, "é, you")]
    assert {e.source for e in events} == {"track"}


def test_times_are_relative_to_the_containers_start(tmp_path):
    path = make_clip(tmp_path / "a.mkv", ("subrip", "eng", 1, [(200, 700, b"Hi")]), start_ms=60_000)
    assert av.open(str(path)).start_time == 60_000_000
    assert triples(read_best(path)) == [(0.2, 0.7, "Hi")]


def tracks_clip(folder):
    return make_clip(
        folder / "a:b.mkv",
        ("subrip", "eng", av.stream.Disposition.forced, [(0, 500, b"forced")]),
        ("subrip", "fre", 0, [(0, 500, "français".encode())]),
        ("subrip", "eng", 0, [(0, 500, b"english")]),
        ("subrip", "ger", av.stream.Disposition.default, [(0, 500, b"deutsch")]),
    )


def test_default_track_comes_first_and_forced_lines_last(tmp_path):
    clip = tracks_clip(tmp_path)
    texts = [read_track(clip, track)[0].text for track in list_tracks(clip)]
    assert texts == ["deutsch", "english", "français", "forced"]
    assert list_tracks(make_clip(tmp_path / "without.mp4")) == []


@pytest.mark.parametrize(("language", "text"), [("en-US", "english"), ("fra", "français"), (None, "deutsch")])
def test_track_in_the_requested_language_is_used(tmp_path, language, text):
    found = search_events(tracks_clip(tmp_path), TextSettings(language=language), Store(tmp_path / "store"))
    assert [event.text for event in found.events] == [text]


def test_subtitles_that_are_pictures_are_named_in_a_warning(tmp_path):
    pictures = ("hdmv_pgs_subtitle", "eng", 1, [(0, 500, b"\x80\0\0")])
    video = make_clip(tmp_path / "video.mkv", pictures)
    (tmp_path / "video.sup").write_bytes(b"pictures")
    found = search_events(video, TextSettings(speech="none"), Store(tmp_path / "store"))
    assert found.events == ()
    in_file, in_video = found.warnings
    assert "video.sup contains pictures, which can't be read; expected subtitles of text" in in_file
    assert "track 1 PGS (eng) is not text and can't be read; pass a file with --subtitles" in in_video
    with pytest.raises(InputError, match="contains pictures, which can't be read"):
        search_events(video, TextSettings(subtitles=tmp_path / "video.sup"), Store(tmp_path / "store"))


def test_track_of_blank_cues_contains_no_events(tmp_path):
    path = make_clip(tmp_path / "a.mkv", ("subrip", "eng", 1, [(0, 500, b" \n"), (600, 900, b"<i></i>")]))
    with pytest.raises(InputError, match="contains no events: its track 1 .* has 2 cues, none with text"):
        read_best(path)


def test_language_that_is_not_utf8_has_replacement_characters(tmp_path):
    path = make_clip(tmp_path / "a.mkv", ("subrip", "Francais", 1, [(0, 500, b"Hi")]))
    path.write_bytes(path.read_bytes().replace(b"Francais", b"Fran\xe7ais"))
    assert [track.language for track in probe(path).subtitle_tracks] == ["Fran�ais"]
    assert [track.name for track in list_tracks(path)] == ["track 1 srt (Fran�ais)"]
    assert triples(read_best(path)) == [(0, 0.5, "Hi")]


def test_damaged_clip_gives_events_or_an_input_error(tmp_path):
    whole = make_clip(tmp_path / "a.mkv", ("subrip", "eng", 1, [(0, 500, b"Hi"), (600, 900, b"Ho")])).read_bytes()
    rng = np.random.default_rng(0)
    for _ in range(60):
        data = bytearray(whole[: rng.integers(100, len(whole))])
        for at in rng.integers(0, len(data), 20):
            data[at] = rng.integers(256)
        (tmp_path / "b.mkv").write_bytes(data)
        with contextlib.suppress(InputError):
            assert all(read_track(tmp_path / "b.mkv", track) for track in list_tracks(tmp_path / "b.mkv"))
