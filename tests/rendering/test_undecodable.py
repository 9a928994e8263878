"""Frames that can't be decoded: none of them is a candidate, and nothing is decoded before its image is used."""

import shutil
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import framesift as fs
from framesift.rendering import rendered_selection as exhibits
from framesift.video.frames import fetch_available
from helpers.clips import Clip, packet_places, spoil_packets, two_colours, write_frames
from helpers.encoders import GridEncoder


@pytest.fixture(scope="module")
def video(tmp_path_factory):
    """A clip with a keyframe every second, and one with the packets of seconds 2 and 3 overwritten."""
    folder = tmp_path_factory.mktemp("video")
    colours = np.random.default_rng(0).integers(0, 256, (6, 2, 3), dtype=np.uint8)
    frames = [two_colours(colours[k // 10], k) for k in range(60)]
    options = {"g": "10", "x264-params": "keyint=10:scenecut=0:bframes=0"}
    clip = write_frames(folder / "clip.mp4", frames, fps=10, codec="libx264", **options)
    damaged = Path(shutil.copy(clip, folder / "damaged.mp4"))
    spoil_packets(damaged, range(20, 40), b"\0")
    return clip, damaged


@pytest.fixture(scope="module")
def index(video, tmp_path_factory):
    """The index of the sound clip."""
    return fs.index(video[0], GridEncoder(), 2.0, store=tmp_path_factory.mktemp("store"))


def select(index, budget=12, **options):
    return fs.select(index, "Which colour?", budget=budget, method="uniform", encoder=GridEncoder(), **options)


def test_selected_frame_that_can_not_be_decoded_is_an_error(video, index):
    with pytest.raises(fs.InputError, match=r"damaged\.mp4 can't be decoded at 0:00:02; the file is damaged there"):
        list(fs.exhibit(video[1], select(index)).images())


def test_frames_that_are_decoded_only_after_those_before_are_no_candidates(tmp_path):
    options = {"g": "60", "keyint_min": "60", "deadline": "realtime", "cpu-used": "8", "lag-in-frames": "0"}
    path = Clip("libvpx", options, range(130), Fraction(1), (96, 64)).write(tmp_path / "lost.webm")
    (at, size), data = packet_places(path)[60], bytearray(path.read_bytes())  # a keyframe
    data[at + 20 : at + size] = b"\xff" * (size - 20)
    path.write_bytes(data)
    index = fs.index(path, GridEncoder(), 1.0, store=tmp_path / "store")
    assert index.times_s.tolist() == [*range(60), *range(120, 130)]
    assert index.warnings[-1] == "59 damaged frames are left out of the candidates"
    assert len(list(fs.exhibit(path, select(index)).images())) == 12


def test_alternatives_that_can_not_be_decoded_have_no_image(video, index, tmp_path):
    selection = select(index)
    slots = tuple(slot for slot in selection.slots if slot.time_s in (0.0, 5.5))
    saved = fs.exhibit(video[1], replace(selection, slots=slots)).save(tmp_path / "out")
    assert len(list((saved / "frames").iterdir())) == 2


def test_selected_frames_are_decoded_once_when_their_images_are_used(video, index, tmp_path, monkeypatch):
    fetched_s = []

    def count(path, times_s, **options):
        fetched_s.extend(times_s)
        return fetch_available(path, times_s, **options)

    monkeypatch.setattr(exhibits, "fetch_available", count)
    shown = fs.exhibit(video[0], select(replace(index, warnings=("damaged",)), 4))
    assert fetched_s == []
    shown.save(tmp_path / "out")
    list(shown.with_overlay("blank").images())
    assert [fetched_s.count(time_s) for time_s in shown.selection.times_s] == [1] * 4
