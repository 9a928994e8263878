"""One small exhibit, and a server, for the tests of this folder."""

import pytest

import framesift as fs
from framesift.readers import llava, local
from framesift.rendering.exhibit import exhibit as make_exhibit
from helpers import tiny_readers
from helpers.clips import make_clip

TEXTS = {3: "The launch was put off\nbecause of the wind.", 7: "Nobody has been back.", 12: "And a second cup."}
QUESTION = fs.Question("Why was the launch put off?", ["The rain", "The wind", "A strike"])


@pytest.fixture(scope="session")
def video(tmp_path_factory):
    return make_clip(tmp_path_factory.mktemp("read") / "clip.mp4", size=(160, 96))


@pytest.fixture(scope="session")
def exhibit(video):
    """Five frames, three of them with words."""
    slots = []
    for second in (1, 3, 7, 12, 16):
        text = TEXTS.get(second)
        event = fs.Event(second, second + 1, text) if text else None
        slots.append(fs.Slot(second, float(second), "ground" if event else "context", 0.1, event))
    return make_exhibit(video, fs.Selection(tuple(slots), "gcr", 5))


@pytest.fixture
def question():
    return QUESTION


@pytest.fixture(scope="session")
def folders(tmp_path_factory):
    """A tiny checkpoint of every family, by the family's name, and one of none."""
    paths = {}
    for name, save in (tiny_readers.SAVE | {"other": tiny_readers.save_other}).items():
        paths[name] = tmp_path_factory.mktemp(name)
        save(paths[name])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(llava, "TOWER", tiny_readers.TOWER)
        yield paths


@pytest.fixture(scope="session")
def loaded():
    return {}


@pytest.fixture
def reader_of(folders, loaded):
    """A reader of a family, by name and options; each model is loaded once."""

    def make(name, **options):
        if name not in loaded:
            loaded[name] = local.LocalReader(str(folders[name]), device="cpu")
        for option, value in ({"max_tokens": 4} | options).items():
            setattr(loaded[name], option, value)
        return loaded[name]

    return make


@pytest.fixture(autouse=True)
def no_keys(monkeypatch):
    for name in ("FRAMESIFT_API_KEY", "OPENAI_API_KEY", "OPENAI_LOG"):
        monkeypatch.delenv(name, raising=False)
