"""Frame images: decoded in one pass, cached, and always answered."""

import io

import pytest
from PIL import Image

from framesift.errors import InputError
from framesift.library.files import LibraryVideo
from framesift.server import frame_images as module
from framesift.server.frame_images import FrameImages
from helpers.running_server import make_video


@pytest.fixture(scope="module")
def video(tmp_path_factory):
    path = make_video(tmp_path_factory.mktemp("video") / "video.mp4", subtitles=False)
    return LibraryVideo("0" * 16, path, path.name, uploaded=False)


@pytest.fixture
def passes(monkeypatch):
    """The times of each pass over the file."""
    seen = []
    real = module.fetch
    monkeypatch.setattr(module, "fetch", lambda path, times, **k: seen.append(list(times)) or real(path, times, **k))
    return seen


@pytest.fixture
def images(tmp_path):
    frame_images = FrameImages(tmp_path / "frames")
    yield frame_images
    frame_images.stop()


def test_requested_frames_come_from_one_pass(images, video, passes):
    times = [round(k * 0.2, 6) for k in range(0, 64, 2)]
    waiting = [images.request(video, "f", time_s) for time_s in reversed(times)]
    images.start()
    sizes = {Image.open(io.BytesIO(one.result(timeout=60))).size for one in waiting}
    assert sizes == {(96, 64)} and passes == [times]
    assert images.request(video, "f", times[3]).done() and len(passes) == 1  # cached


def test_two_times_of_one_frame_are_decoded_once(images, video, passes):
    images.announce(video, "f", [0.6 + 1e-8, 1.0])
    waiting = [images.request(video, "f", time_s) for time_s in (0.6, 0.6001, 1.0)]
    images.start()
    first, same, _ = [one.result(timeout=60) for one in waiting]
    assert first == same and passes == [[0.6, 0.6001, 1.0]]


def test_wrong_time_fails_alone(images, video):
    good, bad, more = (images.request(video, "f", time_s) for time_s in (0.0, 1e4, 1.0))
    images.start()
    assert good.result(timeout=60) and more.result(timeout=60)
    with pytest.raises(InputError, match="the video.s end"):
        bad.result(timeout=60)


def test_new_selection_drops_frames_no_request_waits_for(images, video, passes):
    images.announce(video, "f", [0.0, 1.0, 2.0])
    waiting = images.request(video, "f", 1.0)
    images.announce(video, "f", [5.0])
    last = images.request(video, "f", 5.0)
    images.start()
    assert waiting.result(timeout=60) and last.result(timeout=60)
    assert passes == [[1.0, 5.0]]


def test_cache_is_pruned_to_its_limit(images, video, tmp_path, monkeypatch):
    monkeypatch.setattr(module, "CACHE_BYTES", 100)
    folder = tmp_path / "frames" / "f"
    folder.mkdir(parents=True)
    for k in range(5):
        (folder / f"{k}.jpg").write_bytes(b"x" * 40)
    images.start()
    assert len(list(folder.glob("*.jpg"))) == 2


def test_thumbnail_needs_no_index(images, video):
    assert Image.open(io.BytesIO(images.thumbnail(video, "f", 24.0))).size == (96, 64)
