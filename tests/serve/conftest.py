import pytest

for package in ("fastapi", "uvicorn", "httpx"):
    pytest.importorskip(package, reason="the page's tests need framesift[serve]")

from serving import make_film, serve  # noqa: E402 (after what it needs)


@pytest.fixture(scope="session")
def films(tmp_path_factory):
    """A folder with a video that has words, one without, one that is broken, and something that is no video."""
    folder = tmp_path_factory.mktemp("films")
    film = make_film(folder / "boat.mp4")
    make_film(folder / "talks" / "silent.mp4", said=False)
    (folder / "broken.mp4").write_bytes(film.read_bytes()[:900])
    (folder / "secret.txt").write_text("not for the page")
    return folder


@pytest.fixture(scope="session")
def home(films, tmp_path_factory):
    """One server for all tests that only look; boat.mp4 is ready."""
    pytest.importorskip("torch", reason="the server runs the offline encoder: pip install 'framesift[offline]'")
    with serve(films, tmp_path_factory.mktemp("home")) as served:
        served.boat = served.make_ready("boat.mp4")
        yield served
