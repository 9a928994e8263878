"""Questions about several videos at once, over HTTP and on the page."""

import pytest

import framesift as fs
from framesift.readers import base as reader_base
from framesift.server.routes import search
from helpers.running_server import QUESTION, make_video, run_server


class CitingReader:
    """Cites the first frame and the last one."""

    def answer(self, exhibit, question, text_mode):
        first, last = exhibit.times_s[0], exhibit.times_s[-1]
        text = f"It starts at [{exhibit.label(first)}] and ends at [{exhibit.label(last)}]."
        return fs.Answer(text, raw=text, times_s=tuple(exhibit.times_s), reader="citing")


@pytest.fixture(scope="module")
def several(tmp_path_factory):
    folder = tmp_path_factory.mktemp("several")
    make_video(folder / "boat.mp4")
    for name in ("a harbour.mp4", "talks/silent.mp4"):
        make_video(folder / name, subtitles=False)
    with run_server(folder, tmp_path_factory.mktemp("state"), readers=["http://localhost:9/v1#m"]) as server:
        for video in server.get("/api/videos").json()["videos"]:
            server.index(video["name"])
        yield server


def ask(server, **more):
    return server.post("/api/ask", json={"question": QUESTION["question"], "budget": 6} | more)


def test_all_videos_share_the_frames_and_cited_ones_are_marked(several, monkeypatch):
    monkeypatch.setattr(reader_base, "get_reader", lambda *_, **__: CitingReader())
    asked = ask(several, reader="http://localhost:9/v1#m").json()
    frames = asked["frames"]
    assert len(asked["videos"]) == 3 and len(frames) == 6 and len({frame["video"] for frame in frames}) > 1
    assert [frame["cited"] for frame in frames] == [True, False, False, False, False, True]
    best = max(frames, key=lambda frame: frame["strength"])
    assert (best["name"], best["event"]["text"]) == ("boat.mp4", "The wind put off the launch.")
    assert best["event"]["start_s"] == 9 and best["start_s"] <= best["time_s"] <= best["end_s"] <= 24.2
    assert all(several.get(frame["image"]).status_code == 200 for frame in frames)


def test_some_videos_are_asked_about_without_a_reader(several):
    silent = several.video("talks/silent.mp4")["id"]
    asked = ask(several, videos=[silent]).json()
    assert asked["videos"] == [silent] and {frame["name"] for frame in asked["frames"]} == {"talks/silent.mp4"}
    assert asked["answer"] is None and all(frame["why"] for frame in asked["frames"])


def test_some_videos_are_searched(several):
    ids = [several.video(name)["id"] for name in ("a harbour.mp4", "talks/silent.mp4")]
    hits = several.get("/api/search", params={"text": "a red boat", "video": ids}).json()
    assert {hit["video"] for hit in hits} == set(ids)


def test_of_many_videos_those_with_the_best_moments_are_asked_about(several, visit, monkeypatch):
    monkeypatch.setattr(search, "MAX_ASKED", 1)
    asked = ask(several).json()
    assert asked["videos"] == [several.video("boat.mp4")["id"]] and asked["left_out"] == 2
    tab = visit(several, "/?ask=Why+was+the+launch+put+off%3F")
    tab.shows_text("#found", "Asked about the 1 video with the best moments; 2 left out.")


@pytest.mark.parametrize(
    ("more", "status", "words"),
    [
        ({"videos": ["0" * 16]}, 404, "no such video"),
        ({"from_s": 2.0}, 400, "expected one video"),
        ({"pinned_s": [2.0]}, 400, "expected one video"),
        ({"reader": "http://127.0.0.1:9/v1"}, 400, "No reader"),
    ],
)
def test_what_cannot_be_asked_is_one_sentence(several, more, status, words):
    reply = ask(several, **more)
    assert reply.status_code == status and words in reply.json()["detail"]


def test_library_without_an_index_is_a_conflict(empty_server):
    assert "no video is indexed" in ask(empty_server).json()["detail"].lower()


def test_answer_on_the_library_page_has_links_that_open_the_moments_cited(several, visit, monkeypatch):
    monkeypatch.setattr(reader_base, "get_reader", lambda *_, **__: CitingReader())
    tab = visit(several, permissions=["clipboard-read", "clipboard-write"])
    assert tab.settles(tab.page.locator("#search-box").is_visible)
    tab.page.fill("#search-text", QUESTION["question"])
    tab.page.click("#ask-all")
    tab.shows_text(".answer-text", "It starts at")
    assert tab.page.locator(".hits li").count() == 6 and tab.page.locator("#moments > li").count() > 1
    tab.page.click(".answer button:text-is('Copy')")
    assert tab.settles(lambda: tab.page.locator(".answer button:text-is('Copied')").count() == 1)
    copied, cited = tab.page.evaluate("navigator.clipboard.readText()"), tab.page.locator(".cited a")
    assert cited.count() == 2 and all(link.get_attribute("href") in copied for link in cited.all())
    place = cited.last.text_content()
    cited.last.click()
    tab.arrives("?t=")
    tab.shows_text("h1", place.rpartition(" ")[0])
    assert tab.complaints == []


def test_marked_videos_alone_are_asked_about_and_kept_in_the_address(several, visit, monkeypatch):
    monkeypatch.setattr(reader_base, "get_reader", lambda *_, **__: CitingReader())
    tab = visit(several)
    silent = several.video("talks/silent.mp4")["id"]
    assert tab.settles(tab.page.locator("#search-box").is_visible)
    tab.page.check(f"[data-video='{silent}'] input")
    tab.shows_text("#search-scope", "1 marked video")
    tab.page.fill("#search-text", "Where is the red house?")
    tab.page.click("#ask-all")
    tab.shows_text(".answer-text", "It starts at")
    tab.page.reload()
    tab.shows_text("#search-status", "of 1 video")
    assert tab.page.locator("#moments h3").text_content() == "talks/silent.mp4"
    assert tab.page.is_checked(f"[data-video='{silent}'] input")
    assert tab.page.locator(".answer").count() == 0  # a reload asks no model
    tab.page.click("#ask-model")
    tab.shows_text(".answer-text", "It starts at")
