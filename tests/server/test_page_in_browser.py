"""A video's page as a stranger uses it: a question, its evidence, and the knobs."""

import json
from pathlib import Path

import pytest

from helpers.page_visits import ASKED, PHONE, QUESTION
from helpers.running_server import hold, make_film, serve

pytest.importorskip("torch", reason="the server runs the offline encoder: pip install 'framesift[offline]'")


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
    picture = tab.page.locator(".tl-tip-image")
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
    from helpers.clips import make_clip

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
    picture = tab.page.locator(".tl-tip-image")
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


def test_a_large_budget_can_be_typed_and_one_out_of_bounds_is_brought_back(home, visit):
    tab = visit(home, f"/video/{home.boat}{ASKED}")
    assert tab.settles(lambda: tab.cards() == 6)
    tab.page.fill("#budget-number", "100")
    assert tab.settles(lambda: tab.cards() > 64)
    assert tab.page.input_value("#budget") == "100"
    tab.page.fill("#budget-number", "0")
    assert tab.cards() > 64
    tab.page.press("#budget-number", "Tab")
    assert tab.settles(lambda: tab.cards() == 1) and tab.page.input_value("#budget-number") == "1"


def test_an_export_holds_what_is_shown_not_what_is_being_typed(home, visit):
    tab = visit(home, f"/video/{home.boat}{ASKED}")
    assert tab.settles(lambda: tab.cards() == 6)
    tab.page.fill("#question", "Something else entirely")
    with tab.page.expect_download() as waiting:
        tab.page.click("[data-format=json]")
    told = json.loads(Path(waiting.value.path()).read_text())
    assert told["basis"]["question"]["text"] == QUESTION
    assert tab.page.evaluate("document.activeElement.dataset.format") == "json"


def test_settings_of_any_size_let_the_next_question_pass(home, visit):
    tab = visit(home, f"/video/{home.boat}{ASKED}&d=0.25")
    assert tab.settles(lambda: tab.cards() == 6)
    tab.ask("Who came back?")
    assert tab.settles(lambda: "Who+came+back" in tab.page.url)
    assert tab.settles(lambda: "asking" not in (tab.page.get_attribute("body", "class") or ""))
    tab.page.go_back()  # a question is a step, a knob is not
    assert tab.settles(lambda: tab.page.input_value("#question") == QUESTION)


def test_odd_values_in_the_address_do_no_harm(home, visit):
    odd = "&n=999&m=no&and=gcr&t=toString&d=&s=%7B%22gcr%22%3A%7B%22nosuch%22%3A1%7D%7D"
    tab = visit(home, f"/video/{home.boat}?q=Why{odd}")
    assert tab.settles(lambda: tab.cards() == 32)
    assert tab.page.input_value("#text-mode") == "aligned" and tab.page.locator("#failed").is_hidden()


def test_answers_are_lettered_anew_when_one_goes(home, visit):
    tab = visit(home, f"/video/{home.boat}{ASKED}&o=one&o=two&o=three")
    assert tab.settles(lambda: tab.cards() == 6)
    tab.page.get_by_role("button", name="Remove answer B").click()
    assert tab.page.get_by_role("textbox", name="Answer B").input_value() == "three"
    assert "o=two" not in tab.page.url
    assert tab.page.evaluate("document.activeElement.getAttribute('aria-label')") == "Answer B"


def test_what_was_cancelled_stays_so_until_it_is_wanted_again(own, visit, tmp_path):
    go_on = hold(own)
    data = make_film(tmp_path / "film.mp4", 8, said=False).read_bytes()
    video = own.post("/api/uploads", params={"name": "film.mp4"}, content=data).json()["id"]
    tab = visit(own, f"/video/{video}{ASKED}")
    assert tab.settles(lambda: tab.page.locator(".going").count() == 1)
    tab.page.click(".going .link")
    again = tab.page.get_by_role("button", name="Go on indexing")
    assert tab.settles(again.is_visible)
    tab.page.locator("#budget").fill("9")
    tab.page.reload()
    assert tab.settles(again.is_visible)
    go_on.set()
    tab.page.click("#go")
    assert tab.settles(lambda: tab.cards() == 9)


@pytest.mark.parametrize("height", [650, 720, 800])
@pytest.mark.parametrize("more", ["", "&and=uniform"])
def test_the_whole_timeline_fits_a_laptops_window(home, visit, height, more):
    tab = visit(home, f"/video/{home.boat}{ASKED}{more}", viewport={"width": 1280, "height": height})
    assert tab.settles(lambda: tab.cards() > 0)
    tab.page.evaluate("scrollTo({top: 300, behavior: 'instant'})")
    box = tab.page.locator("#timeline").bounding_box()
    assert box["y"] >= 0 and box["y"] + box["height"] <= height


def test_words_beside_the_pointer_stay_inside_the_window(home, visit):
    tab = visit(home, f"/video/{home.boat}{ASKED}", viewport={"width": 1280, "height": 640})
    assert tab.settles(lambda: tab.page.locator(".tl-marker").count() == 6)
    tab.page.locator(".tl-marker").last.hover(force=True)
    assert tab.settles(lambda: tab.page.locator(".tl-tip").is_visible())
    box = tab.page.locator(".tl-tip").bounding_box()
    assert box["y"] >= 0 and box["y"] + box["height"] <= 640


def test_a_server_that_is_gone_is_a_sentence_and_one_that_comes_back_is_asked_again(films, tmp_path, visit):
    with serve(films, tmp_path) as served:
        served.make_ready("boat.mp4")
        tab = visit(served, f"/video/{served.video('boat.mp4')['id']}{ASKED}")
        assert tab.settles(lambda: tab.cards() == 6)
    tab.page.locator("#budget").fill("9")
    assert tab.settles(lambda: "does not answer" in tab.page.text_content("#failed"))
    with serve(films, tmp_path, port=served.port):
        assert tab.settles(lambda: tab.cards() == 9)
        assert tab.page.locator("#failed").is_hidden()
        assert tab.settles(lambda: tab.page.locator(".card img").first.evaluate("one => one.naturalWidth") == 96)


def test_a_question_the_offline_encoder_cannot_read_is_told(home, visit):
    tab = visit(home, f"/video/{home.boat}?q=%E4%B8%BA%E4%BB%80%E4%B9%88&n=6")
    assert tab.settles(lambda: tab.cards() == 6)
    assert "reads English" in tab.page.text_content("#language")
    tab.ask("Why was the café closed?")
    assert tab.settles(tab.page.locator("#language").is_hidden)


def test_what_is_half_typed_is_asked_by_nothing_but_the_button(home, visit):
    tab = visit(home, f"/video/{home.boat}{ASKED}")
    assert tab.settles(lambda: tab.cards() == 6)
    tab.page.fill("#question", "Is there a mo")
    tab.page.locator("#budget").fill("9")
    assert tab.settles(lambda: tab.cards() == 9)
    assert "Why+was+the+launch" in tab.page.url and tab.page.input_value("#question") == "Is there a mo"
    tab.page.focus(".skip")
    tab.page.keyboard.press("Enter")
    assert tab.page.input_value("#question") == "Is there a mo"


def test_on_a_phone_the_evidence_comes_into_sight_and_the_player_stays(home, visit):
    tab = visit(home, f"/video/{home.boat}?n=6", viewport=PHONE)
    tab.ask()
    in_sight = "document.getElementById('timeline').getBoundingClientRect().top < innerHeight / 2"
    assert tab.settles(lambda: tab.page.evaluate(in_sight))
    tab.page.locator(".card .open").last.scroll_into_view_if_needed()
    before = tab.page.evaluate("scrollY")
    tab.page.locator(".card .open").last.click()
    assert tab.settles(lambda: tab.at_s() > 0)
    assert tab.page.evaluate("scrollY") == before
    assert tab.page.locator("#player").bounding_box()["y"] >= 0


def test_every_lane_can_be_reached_by_keyboard_after_its_frames_have_changed(home, visit):
    tab = visit(home, f"/video/{home.boat}{ASKED}")
    assert tab.settles(lambda: tab.cards() == 6)
    tab.page.locator(".tl-marker").last.click(force=True)
    tab.page.locator("#budget").fill("3")
    assert tab.settles(lambda: tab.page.locator(".tl-marker").count() == 3)
    assert tab.page.locator(".tl-marker[tabindex='0']").count() == 1


def test_a_click_on_the_words_keeps_showing_those_that_were_clicked(home, visit):
    tab = visit(home, f"/video/{home.boat}{ASKED}")
    assert tab.settles(lambda: tab.cards() == 6)
    box = tab.page.locator(".tl-events").bounding_box()
    tab.page.mouse.move(box["x"] + box["width"] - 3, box["y"] + 5)
    tab.page.mouse.down()
    tab.page.mouse.up()
    assert tab.settles(lambda: "Nobody came" in tab.page.text_content(".tl-tip"))
    assert tab.page.locator(".tl-tip").is_visible()


def test_a_file_replaced_on_the_disk_is_looked_at_again(tmp_path, visit):
    film = make_film(tmp_path / "films" / "film.mp4", 8, said=False)
    with serve(film.parent, tmp_path) as served:
        video = served.make_ready("film.mp4")
        tab = visit(served, f"/video/{video}{ASKED}")
        assert tab.settles(lambda: tab.cards() == 6)
        make_film(tmp_path / "another film.mp4", 12, said=False).replace(film)
        tab.page.locator("#budget").fill("5")
        assert tab.settles(lambda: tab.cards() == 5 and "0:00:12" in tab.page.text_content("#facts"))
        assert tab.page.locator("#failed").is_hidden()


def test_a_slow_answer_shows_that_it_is_on_its_way(home, visit):
    tab = visit(home, f"/video/{home.boat}")
    held = []
    tab.page.route("**/view", lambda route: held.append(route))
    tab.page.fill("#question", QUESTION)
    tab.page.click("#go")
    assert tab.settles(lambda: tab.page.text_content("#looking") == "Looking …")
    held[0].continue_()
    assert tab.settles(lambda: tab.cards() == 32 and tab.page.locator("#looking").is_hidden())
