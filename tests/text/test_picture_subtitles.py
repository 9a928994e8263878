"""Picture subtitles inside generated videos, recognised by OCR."""

import contextlib

import numpy as np
import pytest

from framesift.errors import InputError
from framesift.text import picture_subtitles
from framesift.text.ocr import ScreenLine, available
from framesift.text.picture_subtitles import (
    can_recognise,
    levels_by_place,
    picture_languages,
    read_picture_file,
    read_pictures,
)
from helpers.picture_subtitles import (
    dvb_packet,
    make_picture_clip,
    pgs_packet,
    sup_file,
    text_picture,
    vobsub_packet,
    write_vobsub,
)

needs_ocr = pytest.mark.skipif(not available()[0], reason="needs the extra screentext")


def triples(events):
    return [(round(e.start_s, 2), round(e.end_s, 2), e.text) for e in events]


@pytest.fixture
def pixel_reader(monkeypatch):
    """Replace OCR by a reader that returns the number of bright pixels, and keep the pictures it was given."""
    pictures = []

    def read(frame):
        pictures.append(frame)
        return [ScreenLine(str(int((frame[:, :, 0] > 200).sum())), 1.0, (0, 0, 1, 1))]

    monkeypatch.setattr(picture_subtitles, "load_ocr", lambda: read)
    return pictures


@needs_ocr
def test_pgs_is_read_until_its_clearing_or_the_next_picture(tmp_path):
    first, second = text_picture("Where are you going?"), text_picture("Home, at last.\nIt is late.")
    packets = [
        (1000, pgs_packet(first)),
        (2500, pgs_packet(None)),
        (3000, pgs_packet(second)),
        (5000, pgs_packet(first)),
    ]
    events, warnings = read_pictures(make_picture_clip(tmp_path / "a.mkv", "hdmv_pgs_subtitle", packets), 1)
    assert triples(events)[:2] == [(1.0, 2.5, "Where are you going?"), (3.0, 5.0, "Home, at last. It is late.")]
    assert (events[2].start_s, events[2].text, events[2].source) == (5.0, "Where are you going?", "track")
    assert warnings == ()


@needs_ocr
def test_vobsub_is_read_with_its_own_end(tmp_path):
    packets = [(1000, vobsub_packet(text_picture("Where are you going?"), 1500))]
    events, _ = read_pictures(make_picture_clip(tmp_path / "a.mkv", "dvd_subtitle", packets), 1)
    assert [event.text for event in events] == ["Where are you going?"]
    assert (events[0].start_s, events[0].end_s) == pytest.approx((1.0, 2.5), abs=0.02)


@needs_ocr
def test_dvb_in_a_transport_stream_is_read_until_its_clearing(tmp_path):
    first, second = text_picture("Where are you going?"), text_picture("Home, at last.")
    shown = [(1000, first), (2500, None), (3000, second), (4500, None)]
    packets = [(start_ms, dvb_packet(picture, k)) for k, (start_ms, picture) in enumerate(shown)]
    events, _ = read_pictures(make_picture_clip(tmp_path / "a.ts", "dvb_subtitle", packets), 1)
    assert triples(events) == [(1.0, 2.5, "Where are you going?"), (3.0, 4.5, "Home, at last.")]


def test_picture_that_is_sent_again_is_one_event(tmp_path, pixel_reader):
    picture = text_picture("Hello")
    packets = [(1000, pgs_packet(picture)), (2000, pgs_packet(picture)), (3000, pgs_packet(None))]
    events, _ = read_pictures(make_picture_clip(tmp_path / "a.mkv", "hdmv_pgs_subtitle", packets), 1)
    assert [(e.start_s, e.end_s) for e in events] == [(1.0, 3.0)]
    assert len(pixel_reader) == 1


def test_letters_contrast_with_the_background_in_any_palette(tmp_path, pixel_reader):
    picture = text_picture("Hello")
    for luma, alpha in [((16, 16, 235), (0, 255, 255)), ((16, 235, 16), (0, 0, 255)), ((16, 235, 16), (255, 255, 255))]:
        packets = [(1000, pgs_packet(picture, luma, alpha)), (2000, pgs_packet(None))]
        read_pictures(make_picture_clip(tmp_path / "a.mkv", "hdmv_pgs_subtitle", packets), 1)
        drawn = pixel_reader[-1][24:-24, 24:-24, 0].astype(int)
        around = picture == (0 if alpha[1] == 0 else 1)
        assert abs(drawn[picture == 2].mean() - drawn[around].mean()) > 180


def test_unknown_palette_makes_letters_brighter_than_their_outline():
    picture = text_picture("Hello")
    for order in ([0, 1, 2], [0, 2, 1], [3, 0, 1]):
        levels = levels_by_place(np.array(order, dtype=np.uint8)[picture])
        brightness, opacity = levels[order].T
        assert brightness[2] > brightness[1] + 200
        assert opacity.tolist() == [0, 255, 255]


def test_pictures_without_text_are_counted_in_a_warning(tmp_path, monkeypatch):
    monkeypatch.setattr(picture_subtitles, "load_ocr", lambda: lambda _: [])
    packets = [(1000, pgs_packet(text_picture("Hello"))), (2000, pgs_packet(None))]
    events, warnings = read_pictures(make_picture_clip(tmp_path / "a.mkv", "hdmv_pgs_subtitle", packets), 1)
    assert (events, warnings) == ([], ("no text was recognised in 1 of 1 subtitle pictures",))


def test_scripts_outside_the_model_can_not_be_recognised():
    assert [can_recognise(code) for code in ("", "en", "fr", "ja", "zh", "ru", "ar", "ko")] == [True] * 5 + [False] * 3


def test_damaged_pictures_give_events_or_an_input_error(tmp_path, pixel_reader):
    rng = np.random.default_rng(0)
    whole = {
        "hdmv_pgs_subtitle": pgs_packet(text_picture("Hello there")),
        "dvd_subtitle": vobsub_packet(text_picture("Hello there"), 1000),
    }
    for codec, packet in whole.items():
        for _ in range(40):
            data = bytearray(packet[: rng.integers(8, len(packet) + 1)])
            for at in rng.integers(0, len(data), 5):
                data[at] = rng.integers(256)
            path = make_picture_clip(tmp_path / "a.mkv", codec, [(500, bytes(data)), (1500, packet)])
            with contextlib.suppress(InputError):
                read_pictures(path, 1)


@needs_ocr
def test_files_of_pictures_are_read(tmp_path):
    picture = text_picture("Where are you going?")
    sup = tmp_path / "a.sup"
    sup.write_bytes(sup_file([(1000, pgs_packet(picture)), (2500, pgs_packet(None))]))
    idx = write_vobsub(tmp_path / "b.idx", [(1000, vobsub_packet(picture, 1500))])
    for path in (sup, idx):
        events, _ = read_picture_file(path)
        assert [(event.text, event.source) for event in events] == [("Where are you going?", "subtitles")]
        assert (events[0].start_s, events[0].end_s) == pytest.approx((1.0, 2.5), abs=0.02)


def test_vobsub_states_its_languages(tmp_path):
    packets = [(1000, vobsub_packet(text_picture("Hello"), 500))]
    assert picture_languages(write_vobsub(tmp_path / "b.idx", packets, language="fr")) == ("fr",)


def test_file_that_holds_no_pictures_is_an_input_error(tmp_path):
    write_vobsub(tmp_path / "alone.idx", [(1000, vobsub_packet(text_picture("Hello"), 500))])
    (tmp_path / "alone.sub").unlink()
    (tmp_path / "a.sup").write_bytes(b"nothing of the kind" * 99)
    (tmp_path / "playlist.idx").write_text("#EXTM3U\n#EXTINF:1,\nfile:///etc/hostname\n")
    for name in ("alone.idx", "a.sup", "playlist.idx"):
        with pytest.raises(InputError, match=f"{name}.* (contains no pictures; expected PGS|can't be read)"):
            read_picture_file(tmp_path / name)
