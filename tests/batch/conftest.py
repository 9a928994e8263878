import pytest

from helpers.batch_videos import make_video, plant


@pytest.fixture(scope="session")
def planted(tmp_path_factory):
    return plant(tmp_path_factory.mktemp("site"))


@pytest.fixture
def known(planted, monkeypatch):
    """The planted encoder, known to this process and to the workers it starts."""
    monkeypatch.syspath_prepend(str(planted))
    return "planted"


@pytest.fixture(scope="session")
def ten(tmp_path_factory):
    """Ten harmless videos."""
    folder = tmp_path_factory.mktemp("ten")
    for k in range(10):
        make_video(folder / f"v{k}.mp4", seconds=6 + k, seed=k)
    return folder
