"""A video's page as a stranger uses it: a question, its evidence, and the knobs."""

import pytest
from serving import make_film, serve
from visiting import ASKED, ATTENDED

pytest.importorskip("torch", reason="the server runs the offline encoder: pip install 'framesift[offline]'")

pytestmark = ATTENDED


def test_the_best_words_come_first_and_a_click_plays_from_them(home, visit):
    tab = visit(home, f"/video/{home.boat}{ASKED}")
    assert tab.settles(lambda: tab.cards() == 6)
    first = tab.page.locator(".card").first
    assert first.locator(".band").text_content() == "The wind put off the launch."
    assert tab.settles(lambda: first.locator("img").evaluate("one => one.naturalWidth") == 96)
    first.locator(".open").click()
    assert tab.settles(lambda: 9 <= tab.at_s() <= 13)
    assert "now" in first.get_attribute("class") and tab.page.locator(".tl-marked").count() == 1
    assert tab.complaints == []


def test_the_timeline_shows_a_frame_under_the_pointer_and_plays_it(home, visit):
    tab = visit(home, f"/video/{home.boat}{ASKED}")
    assert tab.settles(lambda: tab.page.locator(".tl-marker").count() == 6)
    tab.page.locator(".tl-marker").last.hover(force=True)
    picture = tab.page.locator(".tl-tip-picture")
    assert tab.settles(lambda: picture.is_visible() and picture.evaluate("one => one.naturalWidth") == 96)
    tab.page.locator(".tl-marker").last.click(force=True)
    assert tab.settles(lambda: tab.at_s() > 5)


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


def test_subtitles_added_later_redraw_the_evidence(own, visit, tmp_path):
    data = make_film(tmp_path / "film.mp4", 8, said=False).read_bytes()
    video = own.post("/api/uploads", params={"name": "film.mp4"}, content=data).json()["id"]
    tab = visit(own, f"/video/{video}{ASKED}")
    assert tab.settles(lambda: tab.cards() == 6)
    assert tab.page.locator(".band").count() == 0
    words = tmp_path / "words.srt"
    words.write_text("not subtitles")
    tab.page.set_input_files("#words input", words)
    assert tab.settles(lambda: "'words.srt'" in tab.page.text_content("#words-failed"))
    words.write_text("1\n00:00:02,000 --> 00:00:04,000\nThe wind put off the launch.\n")
    tab.page.set_input_files("#words input", words)
    assert tab.settles(lambda: tab.page.locator(".band").count() == 1)
    assert tab.page.locator("#words-failed").is_hidden()


def test_the_picture_under_the_pointer_is_shown_wherever_it_is(home, visit):
    tab = visit(home, f"/video/{home.boat}{ASKED}")
    assert tab.settles(lambda: tab.page.locator(".tl-marker").count() == 6)
    box = tab.page.locator(".tl-curve").bounding_box()
    tab.page.mouse.move(box["x"] + box["width"] / 2, box["y"] + 20)
    picture = tab.page.locator(".tl-tip-picture")
    assert tab.settles(lambda: picture.evaluate("one => one.naturalWidth") == 96)
    assert "/near/12.000.jpg" in picture.get_attribute("src") or "/near/11." in picture.get_attribute("src")


def test_the_timeline_shows_where_the_video_plays(home, visit):
    tab = visit(home, f"/video/{home.boat}{ASKED}")
    assert tab.settles(lambda: tab.page.locator(".tl-marker").count() == 6)
    place = tab.page.locator(".tl-playhead")
    assert place.get_attribute("d") == "M0 0"
    assert tab.settles(lambda: tab.page.evaluate("document.getElementById('film').readyState") >= 1)
    tab.page.evaluate("document.getElementById('film').currentTime = 12")
    plot = tab.page.locator(".tl-svg").bounding_box()
    assert tab.settles(lambda: abs(place.bounding_box()["x"] - plot["x"] - plot["width"] / 2) < 3)


def test_a_large_budget_can_be_typed_and_nonsense_is_ignored(home, visit):
    tab = visit(home, f"/video/{home.boat}{ASKED}")
    assert tab.settles(lambda: tab.cards() == 6)
    tab.page.fill("#budget-number", "100")
    assert tab.settles(lambda: tab.cards() > 64)
    assert tab.page.input_value("#budget") == "100"
    tab.page.fill("#budget-number", "0")
    tab.page.press("#budget-number", "Tab")
    assert tab.page.input_value("#budget-number") == "100" and tab.cards() > 64
