"""Questions and answers that are kept: over reloads and restarts, in exports, and while they are written."""

import json
import threading
import zipfile
from io import BytesIO

import pytest

from framesift.readers import base
from framesift.server.history import History
from framesift.types import Answer
from helpers.page_visits import ASKED, QUESTION, HeldReply
from helpers.running_server import run_server, until

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


@pytest.fixture
def slow_tab(slow_server, visit):
    tab = visit(slow_server, f"/video/{slow_server.boat}{ASKED}")
    assert tab.settles(lambda: tab.cards() == 6 and tab.can_play())
    return tab


def kept(server):
    return server.get(f"/api/videos/{server.boat}/history").json()


def start_answer(server):
    """Ask the reader; the question's id and the answer's address."""
    url = f"/api/videos/{server.boat}/history"
    question = server.post(url, json={"question": QUESTION}).json()["id"]
    body = {"question": QUESTION, "reader": SLOW, "budget": 4}
    answer = server.post(f"{url}/{question}/answers", json=body).json()["id"]
    return question, f"{url}/{question}/answers/{answer}"


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
    _, url = start_answer(slow_server)
    until(lambda: kept(slow_server)[0]["answers"][0]["state"] == "running")
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
    _, url = start_answer(slow_server)
    until(lambda: kept(slow_server)[0]["answers"][0]["text"])
    assert slow_server.client.delete(url).status_code == 204
    assert slow_server.reader.closed.wait(60)
    until(lambda: kept(slow_server)[0]["answers"][0]["state"] == "cancelled")
    assert kept(slow_server)[0]["answers"][0]["text"] == "The **wi"
    assert slow_server.client.delete(url).status_code == 204 and kept(slow_server)[0]["answers"] == []


def test_answer_of_a_server_that_was_killed_is_marked(slow_server):
    question, url = start_answer(slow_server)
    until(lambda: kept(slow_server)[0]["answers"][0]["text"])
    slow_server.services.history.save_running()
    video = slow_server.services.files.get(slow_server.boat)
    again = History(slow_server.config.state / "history", slow_server.services.answering, lambda: None)
    answer = again.answer(video, question, url.rpartition("/")[2])
    assert answer.state == "failed" and answer.text == "The **wi" and "stopped during" in answer.error


def test_export_has_the_answers_and_a_comparison_its_frames(slow_server):
    question, _ = start_answer(slow_server)
    slow_server.reader.release.set()
    until(lambda: kept(slow_server)[0]["answers"][0]["state"] == "done")
    query = {"question": QUESTION, "budget": 3, "kept": question, "method": ["sift", "uniform"]}
    reply = slow_server.get(f"/api/videos/{slow_server.boat}/export", params=query)
    with zipfile.ZipFile(BytesIO(reply.content)) as files:
        (report,) = (files.read(name).decode() for name in files.namelist() if name.endswith("/report.html"))
        names = [name.partition("/")[2] for name in files.namelist()]
    assert "answers.json" in names and sum(name.startswith("frames/uniform/0") for name in names) == 3
    assert "The **wind**, at 0:09." in report and "with the frames of" in report


def test_page_shows_a_streamed_answer_after_a_reload_and_its_times_are_links(slow_server, slow_tab):
    slow_tab.page.click("#ask-reader")
    slow_tab.shows_text(".answer .md", "The **wi")
    slow_tab.page.reload()
    slow_tab.shows_text(".answer .md", "The **wi")
    assert slow_tab.settles(lambda: slow_tab.page.locator("[data-since]").count() == 1)
    slow_server.reader.release.set()
    assert slow_tab.settles(lambda: slow_tab.page.locator(".answer strong").count() == 1)
    slow_tab.page.click(".answer .time-link")
    assert slow_tab.settles(lambda: 8.5 <= slow_tab.at_s() <= 13)
    assert slow_tab.complaints == []


def test_one_press_finds_the_frames_and_the_model_answers(slow_server, visit):
    slow_server.reader.release.set()
    tab = visit(slow_server, f"/video/{slow_server.boat}")
    tab.shows_text("#submit", "Find the frames and answer")
    tab.ask()
    tab.shows_text(".answer", "The wind, at 0:09.")
    tab.page.fill("#budget-number", "5")
    tab.shows(5)  # without another answer
    assert len(kept(slow_server)[0]["answers"]) == 1 and tab.complaints == []


def test_press_on_cancel_is_taken_while_the_answer_grows(slow_server, slow_tab):
    slow_tab.page.click("#ask-reader")
    slow_tab.shows_text(".answer", "The **wi")
    slow_tab.page.get_by_role("button", name="Cancel this answer").hover()
    slow_tab.page.mouse.down()
    slow_server.reader.pieces.append("ld goose")
    slow_tab.shows_text(".answer", "wild goose")
    slow_tab.page.mouse.up()
    assert slow_tab.settles(lambda: slow_tab.page.locator(".answer").get_by_role("button", name="Delete").count() == 1)
    slow_tab.shows_text(".answer", "cancelled")
    assert slow_server.reader.closed.wait(60)


def test_answer_about_other_frames_or_another_question_is_not_passed_off(slow_server, slow_tab):
    slow_server.reader.release.set()
    slow_tab.page.click("#ask-reader")
    slow_tab.shows_text(".answer", "6 frames")
    answer, note = slow_tab.page.locator(".answer"), "About 6 frames of sift selected before, not those shown."
    assert note not in answer.text_content()
    for budget in (4, 6):
        slow_tab.page.locator("#budget").fill(str(budget))
        slow_tab.shows(budget)
        assert slow_tab.settles(lambda budget=budget: (note in answer.text_content()) == (budget == 4))
    slow_tab.page.route("**/history", lambda route: route.abort())
    slow_tab.ask("Who came back?")
    assert slow_tab.settles(lambda: answer.count() == 0)


@pytest.mark.slow
def test_second_browser_sees_what_the_first_asks_is_answered_names_and_deletes(slow_server, visit):
    address = f"/video/{slow_server.boat}{ASKED}"
    first, second = visit(slow_server, address), visit(slow_server, address)
    for tab in (first, second):
        tab.shows(6)
        tab.page.click("#history summary")
    first.page.click("#ask-reader")
    second.shows_text("#answers", "The **wi")
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


def test_list_loaded_before_a_question_was_kept_hides_it_not(shared_server, visit):
    tab = visit(shared_server, "/assets/roles.css")
    late = HeldReply(tab, "**/history")
    tab.page.goto(f"{shared_server.url}/video/{shared_server.boat}?q=Who+keeps+lists%3F&n=6")
    opened = tab.page.locator(".open-question")
    assert tab.settles(lambda: late.is_held and "Who keeps lists?" in opened.all_text_contents())
    late.send()
    assert "Who keeps lists?" in opened.all_text_contents()


def test_kept_question_is_reopened_with_its_settings_after_a_restart(folder, tmp_path, visit):
    with run_server(folder, tmp_path) as server:
        boat = server.index("boat.mp4")
        server.post(f"/api/videos/{boat}/history", json={"question": QUESTION, "budget": 6})
    with run_server(folder, tmp_path) as server:
        tab = visit(server, f"/video/{boat}")
        tab.page.click("#history summary")
        tab.page.click(".open-question")
        tab.shows(6)
        assert tab.settles(lambda: "n=6" in tab.page.url)
