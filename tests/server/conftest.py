import pytest

for package in ("fastapi", "uvicorn", "httpx"):
    pytest.importorskip(package, reason="the page's tests need framesift[serve]")

from helpers.browser import open_browser  # noqa: E402 (after what they need)
from helpers.page_visits import Visit  # noqa: E402
from helpers.running_server import make_film, serve  # noqa: E402


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


@pytest.fixture
def own(tmp_path):
    """A server whose library a test may change."""
    with serve(None, tmp_path / "own") as served:
        yield served


@pytest.fixture(scope="module")
def browser():
    with open_browser() as found:
        yield found


@pytest.fixture
def visit(browser):
    """Open a page of a server in a tab; afterwards nothing may have been asked of anybody else."""
    made = []

    def go(served, path="/", **context):
        made.append(Visit(browser, served.url, **context))
        made[-1].page.goto(served.url + path)
        return made[-1]

    yield go
    for one in made:
        assert one.outside == []
        one.context.close()
