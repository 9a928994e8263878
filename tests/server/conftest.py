import pytest

from helpers.browser import open_browser
from helpers.page_visits import ASKED, Visit
from helpers.running_server import make_video, run_server


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    """A directory with a video that has subtitles, one without, a broken one, and a text file."""
    folder = tmp_path_factory.mktemp("videos")
    clip = make_video(folder / "boat.mp4")
    make_video(folder / "talks" / "silent.mp4", subtitles=False)
    (folder / "broken.mp4").write_bytes(clip.read_bytes()[:900])
    (folder / "secret.txt").write_text("not for the page")
    return folder


@pytest.fixture(scope="session")
def shared_server(folder, tmp_path_factory):
    """One server for all tests that change nothing; boat.mp4 is indexed."""
    with run_server(folder, tmp_path_factory.mktemp("shared_server")) as server:
        server.boat = server.index("boat.mp4")
        yield server


@pytest.fixture
def empty_server(tmp_path):
    """A server without videos, for one test."""
    with run_server(None, tmp_path / "own") as server:
        yield server


@pytest.fixture(scope="package")
def browser():
    with open_browser() as chromium:
        yield chromium


@pytest.fixture
def visit(browser):
    """Open a page of a server in a tab; at the end no other host may have been contacted."""
    tabs = []

    def go(server, path="/", **context):
        tabs.append(Visit(browser, server.url, **context))
        tabs[-1].page.goto(server.url + path)
        return tabs[-1]

    yield go
    for tab in tabs:
        if not tab.page.is_closed():
            tab.page.unroute_all(behavior="ignoreErrors")
        assert tab.outside == []
        tab.context.close()


@pytest.fixture
def open_boat(shared_server, visit):
    """Open the page of boat.mp4 with a question; wait until nothing on it will move."""

    def go(more="", **context):
        tab = visit(shared_server, f"/video/{shared_server.boat}{ASKED}{more}", **context)
        assert tab.settles(tab.is_complete)
        return tab

    return go


@pytest.fixture
def boat(open_boat):
    return open_boat()
