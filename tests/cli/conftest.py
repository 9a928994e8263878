"""A clip and a store that all tests of commands share, and an empty working directory for each."""

import pytest

import framesift as fs
from helpers.clips import make_clip

SUBTITLES = (
    "1\n00:00:02,000 --> 00:00:04,000\nHello \x1b[31mthere\n\n2\n00:00:08,000 --> 00:00:09,500\nThe coffee is cold\n"
)


@pytest.fixture(scope="session")
def clip(tmp_path_factory):
    """An indexed clip with subtitles; the store lies beside it."""
    path = make_clip(tmp_path_factory.mktemp("shared") / "clip.mp4", seconds=12)
    path.with_suffix(".srt").write_text(SUBTITLES)
    fs.open(path, encoder="offline", store=path.parent / "store")
    return path


@pytest.fixture(autouse=True)
def place(tmp_path, monkeypatch, clip):
    monkeypatch.setenv("FRAMESIFT_STORE", str(clip.parent / "store"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def own_store(tmp_path_factory, monkeypatch):
    """The path of a store of this test alone."""
    folder = tmp_path_factory.mktemp("own") / "store"
    monkeypatch.setenv("FRAMESIFT_STORE", str(folder))
    return folder
