"""Small pictures: one pass for many, and nobody waits for ever."""

import io

import pytest
from PIL import Image

from framesift.errors import InputError
from framesift.server import frame_images as module
from framesift.server.files import Film
from framesift.server.frame_images import Pictures
from helpers.running_server import make_film


@pytest.fixture(scope="module")
def film(tmp_path_factory):
    path = make_film(tmp_path_factory.mktemp("film") / "film.mp4", said=False)
    return Film("0" * 16, path, path.name, uploaded=False)


@pytest.fixture
def passes(monkeypatch):
    """The times of each pass over the file."""
    seen = []
    real = module.fetch
    monkeypatch.setattr(module, "fetch", lambda path, times, **k: seen.append(list(times)) or real(path, times, **k))
    return seen


@pytest.fixture
def made(tmp_path):
    pictures = Pictures(tmp_path / "pictures")
    yield pictures
    pictures.stop()


def test_all_that_is_asked_for_comes_from_one_pass(made, film, passes):
    times = [k * 0.2 for k in range(0, 64, 2)]
    waiting = [made.ask(film, "f", time_s) for time_s in reversed(times)]
    made.start()
    sizes = {Image.open(io.BytesIO(one.result(timeout=20))).size for one in waiting}
    assert sizes == {(96, 64)} and passes == [times]
    assert made.ask(film, "f", times[3]).done() and len(passes) == 1  # kept


def test_a_wrong_time_spoils_no_other_picture(made, film):
    good, bad, more = (made.ask(film, "f", time_s) for time_s in (0.0, 0.05, 1.0))
    made.start()
    assert good.result(timeout=20) and more.result(timeout=20)
    with pytest.raises(InputError, match="nearest one"):
        bad.result(timeout=20)


def test_a_new_selection_lets_go_of_what_nobody_waits_for(made, film, passes):
    made.announce(film, "f", [0.0, 1.0, 2.0])
    waiting = made.ask(film, "f", 1.0)
    made.announce(film, "f", [5.0])
    last = made.ask(film, "f", 5.0)
    made.start()
    assert waiting.result(timeout=20) and last.result(timeout=20)
    assert passes == [[1.0, 5.0]]


def test_times_that_are_none_are_refused(made, film):
    for time_s in (float("nan"), -1.0, float("inf")):
        with pytest.raises(InputError):
            made.ask(film, "f", time_s)


def test_the_folder_of_pictures_stays_small(made, film, tmp_path, monkeypatch):
    monkeypatch.setattr(module, "KEPT_BYTES", 100)
    folder = tmp_path / "pictures" / "f"
    folder.mkdir(parents=True)
    for k in range(5):
        (folder / f"{k}.jpg").write_bytes(b"x" * 40)
    made.start()
    assert len(list(folder.glob("*.jpg"))) == 2


def test_a_thumbnail_needs_no_index(made, film):
    assert Image.open(io.BytesIO(made.thumbnail(film, "f", 24.0))).size == (96, 64)
