"""The page as a stranger uses it: in a browser, by mouse and by keyboard."""

import os
import threading

import pytest
from browser_pages import open_browser, settles
from serving import make_film, serve, until

pytest.importorskip("torch", reason="the server runs the offline encoder: pip install 'framesift[offline]'")

DESKTOP = {"width": 1280, "height": 900}
PHONE = {"width": 360, "height": 740}
ASKED = "?q=Why+was+the+launch+put+off%3F&n=6"

# Seen three times in about fifty runs: Chromium's processes spin inside the kernel of a small virtual machine, where
# not even SIGKILL ends them, and no other process gets to run. Nobody is there to restart an unattended machine.
pytestmark = pytest.mark.skipif(
    bool(os.environ.get("CI")),
    reason="Chromium can lock up an unattended virtual machine; run make test without CI set",
)


@pytest.fixture(scope="module")
def browser():
    with open_browser() as found:
        yield found


class Visit:
    """One tab: `outside` lists requests to other places, `complaints` what the page complained of."""

    def __init__(self, browser, url, **context):
        self.context = browser.new_context(**{"viewport": DESKTOP, "accept_downloads": True} | context)
        self.page = self.context.new_page()
        self.page.set_default_timeout(10_000)
        self.outside, self.complaints = [], []
        self.page.on(
            "request", lambda r: None if r.url.startswith((url, "data:", "blob:")) else self.outside.append(r.url)
        )
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("console", lambda message: self.complaints.append(message.text))

    def settles(self, true, seconds=30):
        return settles(self.page, true, seconds)

    def cards(self):
        return self.page.locator(".card").count()

    def spills(self):
        return self.page.evaluate("document.documentElement.scrollWidth > document.documentElement.clientWidth")


@pytest.fixture
def visit(browser):
    made = []

    def go(served, path="/", **context):
        made.append(Visit(browser, served.url, **context))
        made[-1].page.goto(served.url + path)
        return made[-1]

    yield go
    for one in made:
        assert one.outside == []
        one.context.close()


@pytest.fixture
def own(tmp_path):
    with serve(None, tmp_path / "own") as served:
        yield served


def ask(tab, question="Why was the launch put off?"):
    tab.page.fill("#question", question)
    tab.page.press("#question", "Enter")
    assert tab.settles(lambda: tab.cards() > 0)


def test_upload_index_ask(own, visit, tmp_path):
    film = make_film(tmp_path / "My film.mp4", said=False)
    tab = visit(own)
    assert tab.page.locator("h1").text_content() == "Drop a video, ask it a question"
    assert tab.page.locator("#videos").is_hidden()
    tab.page.set_input_files("#file", film)
    tab.page.wait_for_url("**/video/*")  # straight to the question
    ask(tab)  # before it is indexed: the frames come when it is
    assert tab.cards() == 32
    assert "No words were found" in tab.page.locator("#summary").text_content()
    assert tab.complaints == []


def test_a_file_that_is_no_video_is_a_sentence(own, visit, tmp_path):
    (tmp_path / "film.mp4").write_bytes(b"no video")
    tab = visit(own)
    tab.page.set_input_files("#file", tmp_path / "film.mp4")
    problem = tab.page.locator("#uploads .problem")
    assert tab.settles(lambda: problem.count() > 0)
    assert "'film.mp4' can't be opened as a video" in problem.text_content()


def test_the_best_words_come_first_and_a_click_plays_from_them(home, visit):
    tab = visit(home, f"/video/{home.boat}{ASKED}")
    assert tab.settles(lambda: tab.cards() == 6)
    first = tab.page.locator(".card").first
    assert first.locator(".band").text_content() == "The wind put off the launch."
    assert tab.settles(lambda: first.locator("img").evaluate("one => one.naturalWidth") == 96)
    first.locator(".open").click()
    at = "document.getElementById('film').currentTime"
    assert tab.settles(lambda: 9 <= tab.page.evaluate(at) <= 13)
    assert "now" in first.get_attribute("class") and tab.page.locator(".tl-marked").count() == 1
    assert tab.complaints == []


def test_the_timeline_shows_a_frame_under_the_pointer_and_plays_it(home, visit):
    tab = visit(home, f"/video/{home.boat}{ASKED}")
    assert tab.settles(lambda: tab.page.locator(".tl-marker").count() == 6)
    tab.page.locator(".tl-marker").last.hover(force=True)
    picture = tab.page.locator(".tl-tip-picture")
    assert tab.settles(lambda: picture.is_visible() and picture.evaluate("one => one.naturalWidth") == 96)
    tab.page.locator(".tl-marker").last.click(force=True)
    assert tab.settles(lambda: tab.page.evaluate("document.getElementById('film').currentTime") > 5)


def test_changing_the_budget_redraws_and_stays_over_a_reload(home, visit):
    tab = visit(home, f"/video/{home.boat}{ASKED}")
    assert tab.settles(lambda: tab.cards() == 6)
    tab.page.locator("#budget").fill("9")
    assert tab.settles(lambda: tab.cards() == 9 and tab.page.locator(".tl-marker").count() == 9)
    tab.page.reload()
    assert tab.settles(lambda: tab.cards() == 9)
    assert tab.page.input_value("#question") == "Why was the launch put off?"


def test_two_methods_stand_side_by_side(home, visit):
    tab = visit(home, f"/video/{home.boat}{ASKED}")
    assert tab.settles(lambda: tab.cards() == 6)
    tab.page.select_option("#beside", "uniform")
    assert tab.settles(lambda: tab.cards() == 12)
    heads = tab.page.locator(".strip-of > h3")
    assert [heads.nth(k).text_content() for k in range(2)] == ["gcr6 frames", "uniform6 frames"]
    left, right = (tab.page.locator(".strip-of").nth(k).bounding_box() for k in range(2))
    assert left["y"] == right["y"] and left["x"] + left["width"] <= right["x"]
    assert tab.page.locator(".tl-markers").count() == 2


def test_reasons_open_under_a_card(home, visit):
    tab = visit(home, f"/video/{home.boat}{ASKED}")
    assert tab.settles(lambda: tab.cards() == 6)
    tab.page.locator(".why-box summary").first.click()
    assert tab.settles(lambda: tab.page.locator(".why-box").first.locator(".why li").count() > 1)
    assert "1st of 3 events" in tab.page.locator(".why-box .why").first.text_content()


@pytest.mark.parametrize(("form", "ending"), [("zip", "boat-evidence.zip"), ("json", ".json"), ("report", ".html")])
def test_the_evidence_can_be_taken_away(home, visit, form, ending):
    tab = visit(home, f"/video/{home.boat}{ASKED}")
    assert tab.settles(lambda: tab.cards() == 6)
    with tab.page.expect_download() as waiting:
        tab.page.click(f"[data-format={form}]")
    assert waiting.value.suggested_filename.endswith(ending)


def test_a_reader_answers_on_the_page(home, visit):
    tab = visit(home, f"/video/{home.boat}{ASKED}&o=The+wind&o=The+rain")
    assert tab.settles(lambda: tab.cards() == 6)
    tab.page.click("#read")
    assert tab.settles(lambda: tab.page.locator(".answer").count() == 1)
    assert tab.page.locator(".answer .said").text_content()[1:] in ("The wind", "The rain")
    tab.page.goto(f"{home.url}/video/{home.boat}{ASKED}")
    assert tab.settles(lambda: tab.cards() == 6)
    tab.page.click("#read")  # a free answer of this reader names a frame
    assert tab.settles(lambda: tab.page.locator(".answer .chip").count() >= 1)


def hold(served):
    """Keep the next job from coming further than 40 % until the event that is given back is set."""
    work, go_on = served.house.queue._work, threading.Event()

    def slowly(job, report):
        while not go_on.wait(0.01):
            report("indexing", 40, 100)
        work(job, report)

    served.house.queue._work = slowly
    return go_on


def test_a_reload_during_indexing_finds_it_going_on(own, visit, tmp_path):
    go_on = hold(own)
    film = make_film(tmp_path / "film.mp4", 8, said=False)
    own.post("/api/uploads", params={"name": "film.mp4"}, content=film.read_bytes())
    tab = visit(own)
    going = tab.page.locator(".going")
    assert tab.settles(lambda: going.count() == 1 and "%" in going.text_content())
    tab.page.reload()
    assert tab.settles(lambda: going.count() == 1 and "40 %" in going.text_content())
    go_on.set()
    assert tab.settles(lambda: tab.page.locator(".ready").count() == 1)


def test_cancelling_stops_and_indexing_can_be_taken_up_again(own, visit, tmp_path):
    go_on = hold(own)
    film = make_film(tmp_path / "film.mp4", 8, said=False)
    video = own.post("/api/uploads", params={"name": "film.mp4"}, content=film.read_bytes()).json()["id"]
    tab = visit(own, f"/video/{video}")
    assert tab.settles(lambda: tab.page.locator(".going").count() == 1)
    tab.page.click(".going .link")
    again = tab.page.get_by_role("button", name="Go on indexing")
    assert tab.settles(again.is_visible)
    go_on.set()
    ask(tab)


def test_a_broken_video_says_so_on_both_pages(home, visit):
    tab = visit(home)
    card = tab.page.locator(".film.unusable", has_text="broken.mp4").first
    assert tab.settles(lambda: card.count() > 0 and "can't be opened" in card.text_content())
    broken = home.video("broken.mp4")["id"]
    tab.page.goto(f"{home.url}/video/{broken}")
    assert tab.settles(lambda: "can't be used" in tab.page.locator("#state").text_content())
    assert tab.page.locator("#ask").is_hidden()


def test_a_video_the_browser_cannot_play_still_shows_its_frames(tmp_path, visit):
    from clips import make_clip

    (tmp_path / "films").mkdir()
    make_clip(tmp_path / "films" / "old.mp4", seconds=8)  # MPEG-4 part 2
    with serve(tmp_path / "films", tmp_path) as served:
        video = served.make_ready("old.mp4")
        tab = visit(served, f"/video/{video}?q=Where&n=4")
        assert tab.settles(lambda: "can't play the video's format (mpeg4)" in tab.page.text_content("#unplayable"))
        assert tab.settles(lambda: tab.cards() == 4)
        tab.page.locator(".card .open").first.click()
        still = tab.page.locator("#still")
        assert tab.settles(lambda: "/frames/" in still.get_attribute("src") and still.is_visible())


def test_hostile_names_and_words_stay_text(tmp_path, visit):
    film = make_film(tmp_path / "films" / "<img src=x onerror=document.title='owned'>.mp4", 8, said=False)
    words = "<script>document.title='owned'</script><img src=x onerror=document.title='owned'>"
    film.with_suffix(".srt").write_text(f"1\n00:00:01,000 --> 00:00:04,000\n{words} & more\n")
    with serve(film.parent, tmp_path) as served:
        video = served.make_ready(film.name)
        tab = visit(served)
        assert tab.settles(lambda: tab.page.locator(".film a").count() == 1)
        tab.page.goto(f"{served.url}/video/{video}?q=<img src=x onerror=document.title='owned'>&n=4&o=<b>x")
        assert tab.settles(lambda: tab.cards() == 4)
        assert "owned'" in tab.page.title() and tab.page.title() != "owned"
        assert tab.page.locator("#lanes script, #lanes img[src=x], .film img[src=x]").count() == 0


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("path", ["/", "/video/{boat}" + ASKED + "&and=uniform", "/api/docs"])
def test_nothing_spills_on_a_phone(home, visit, path, scheme):
    tab = visit(home, path.format(boat=home.boat), viewport=PHONE, color_scheme=scheme)
    ready = {"/": ".film", "/api/docs": ".call"}.get(path, ".card")
    assert tab.settles(lambda: tab.page.locator(ready).count() > 0)
    assert not tab.spills() and tab.complaints == []


def test_all_of_it_works_by_keyboard(home, visit):
    tab = visit(home, f"/video/{home.boat}?n=6")
    focused = "document.activeElement.id"
    assert tab.settles(lambda: tab.page.evaluate(focused) == "question")
    tab.page.keyboard.type("Why was the launch put off?")
    tab.page.keyboard.press("Enter")
    assert tab.settles(lambda: tab.cards() == 6)
    tab.page.focus(".card .open")
    tab.page.keyboard.press("Enter")
    assert tab.settles(lambda: tab.page.evaluate("document.getElementById('film').currentTime") > 5)


def test_every_control_has_a_name(home, visit):
    tab = visit(home, f"/video/{home.boat}{ASKED}&o=a&o=b")
    assert tab.settles(lambda: tab.cards() == 6)
    nameless = tab.page.evaluate(
        """[...document.querySelectorAll("button, input, select, textarea, a[href], summary, progress")]
        .filter((one) => !(one.textContent.trim() || one.labels?.length || one.getAttribute("aria-label")))
        .map((one) => one.outerHTML)"""
    )
    assert nameless == []


def test_a_server_that_is_gone_is_a_sentence(films, tmp_path, visit):
    with serve(films, tmp_path) as served:
        served.make_ready("boat.mp4")
        tab = visit(served, f"/video/{served.video('boat.mp4')['id']}{ASKED}")
        assert tab.settles(lambda: tab.cards() == 6)
    tab.page.locator("#budget").fill("9")
    assert tab.settles(lambda: "does not answer" in tab.page.text_content("#failed"))


def test_an_unknown_video_is_a_sentence_with_a_way_back(home, visit):
    tab = visit(home, "/video/0123456789abcdef")
    assert tab.settles(lambda: "no such video" in tab.page.text_content("#failed"))
    assert tab.page.get_by_role("link", name="Back to the library").is_visible()


def test_a_restart_resumes_what_was_being_indexed(tmp_path, visit):
    film = make_film(tmp_path / "films" / "film.mp4", 8, said=False)
    with serve(film.parent, tmp_path) as served:
        hold(served)
        served.post(f"/api/videos/{served.video('film.mp4')['id']}/index")
        until(lambda: served.house.queue.jobs()[0].state == "running")
    with serve(film.parent, tmp_path) as served:
        tab = visit(served)
        assert tab.settles(lambda: tab.page.locator(".ready").count() == 1)
