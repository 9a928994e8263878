"""Questions about a video that is still being indexed."""

import threading

import pytest

from helpers.page_visits import ASKED, QUESTION
from helpers.running_server import hold_indexing, make_video, run_server, until


@pytest.fixture
def held(tmp_path, monkeypatch, request):
    """A server whose one video has its keyframes, until the first gate is set, and its text from the second on."""
    monkeypatch.setattr("framesift.indexing.partial.OVERVIEW_FRAMES", getattr(request, "param", 12))
    make_video(tmp_path / "videos" / "boat.mp4")
    with run_server(tmp_path / "videos", tmp_path / "state") as server:
        catalog, frames, text = server.services.catalog, hold_indexing(monkeypatch), threading.Event()
        prepare = catalog.prepare

        def read(video, progress):
            while not text.wait(0.01):
                progress("speech recognition", 1, 100)
            prepare(video, progress)

        monkeypatch.setattr(catalog, "prepare", read)
        video = server.video("boat.mp4")["id"]
        server.post(f"/api/videos/{video}/index")
        until(lambda: server.get(f"/api/videos/{video}").json()["job"]["phase"] == "indexing")
        yield server, video, frames, text
        frames.set()
        text.set()


def test_partial_selection_says_what_it_was_made_from(held):
    server, video, frames, text = held
    body, url = {"question": QUESTION, "budget": 4}, f"/api/videos/{video}"
    assert server.post(f"{url}/select", json=body).status_code == 409
    record = server.post(f"{url}/select", json=body | {"partial": True}).raise_for_status().json()
    assert len(record["slots"]) == 4 and "keyframes spread over the video" in record["warnings"][-1]
    assert any(slot["event"] for slot in record["slots"])  # its subtitles are read early
    frames.set()
    job = f"/api/jobs/{server.services.queue.find(video).id}"
    until(lambda: server.get(job).json()["phase"] == "speech recognition")
    view = server.post(f"{url}/view", json=body | {"partial": True}).json()
    assert view["partial"] == "Selected from all frames."
    text.set()
    until(lambda: server.get(url).json()["ready"])
    view = server.post(f"{url}/view", json=body | {"partial": True}).json()
    assert view["partial"] == "" and view["warnings"] == []


@pytest.mark.parametrize("held", [1], indirect=True, ids=["texts far from any frame"])
def test_what_is_not_indexed_yet_is_no_warning(held):
    server, video, *_ = held
    body = {"question": QUESTION, "partial": True, "budget": 2, "methods": ["sift", "uniform"]}
    view = server.post(f"/api/videos/{video}/view", json=body).json()
    assert any(frame["words"] for lane in view["lanes"] for frame in lane["frames"])
    assert view["warnings"] == [] and view["partial"].startswith("Selected from ")


def test_page_shows_frames_early_and_redraws_them(held, visit):
    server, video, frames, text = held
    tab = visit(server, f"/video/{video}{ASKED}")
    tab.shows(6)
    tab.shows_text("#partial", "keyframes spread over the video")
    assert tab.page.locator(".job").is_visible()
    frames.set()
    text.set()
    assert tab.settles(tab.page.locator("#partial").is_hidden)
    tab.shows_text("#summary", "of 96 frames")
    assert tab.settles(tab.page.locator("#state").is_hidden) and tab.complaints == []
