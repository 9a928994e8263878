import pytest

from helpers.batch_videos import install_encoder, make_video


@pytest.fixture(scope="session")
def plugin_folder(tmp_path_factory):
    return install_encoder(tmp_path_factory.mktemp("site"))


@pytest.fixture
def encoder(plugin_folder, monkeypatch):
    """The name of the test encoder, installed for this process and its workers."""
    monkeypatch.syspath_prepend(str(plugin_folder))
    return "test-encoder"


@pytest.fixture(scope="session")
def ten(tmp_path_factory):
    """Ten valid videos."""
    folder = tmp_path_factory.mktemp("ten")
    for k in range(10):
        make_video(folder / f"v{k}.mp4", seconds=6 + k, seed=k)
    return folder
