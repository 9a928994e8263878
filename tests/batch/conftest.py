import pytest

from helpers.batch_videos import make_video


@pytest.fixture(scope="session")
def ten(tmp_path_factory):
    """Ten valid videos."""
    folder = tmp_path_factory.mktemp("ten")
    for k in range(10):
        make_video(folder / f"v{k}.mp4", seconds=6 + k, seed=k)
    return folder
