import pytest

from helpers.batch_videos import make_video


@pytest.fixture(scope="session")
def four(tmp_path_factory):
    """Four valid videos."""
    folder = tmp_path_factory.mktemp("four")
    for k in range(4):
        make_video(folder / f"v{k}.mp4", seconds=2 + k, seed=k)
    return folder
