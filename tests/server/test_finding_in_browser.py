"""Finding one's way: searching the library, links to moments, parts chosen on the timeline, keys."""

import pytest

from framesift.types.selection import NOTHING_MATCHES
from helpers.page_visits import ASKED

pytest.importorskip("onnxruntime", reason="the server runs the offline encoder: pip install 'framesift[offline]'")


def test_search_finds_a_moment_whose_link_opens_the_player_there(shared_server, visit):
    tab = visit(shared_server)
    assert tab.settles(tab.page.locator("#search-box").is_visible)
    tab.page.select_option("#search-by", "events")
    tab.page.fill("#search-text", "the wind put off the launch")
    tab.page.press("#search-text", "Enter")
    first = tab.page.locator("#moments .video-card").first
    assert tab.settles(lambda: first.count() == 1 and "The wind put off" in first.text_content())
    assert tab.settles(lambda: first.locator("img").evaluate("one => one.naturalWidth") == 96)
    first.locator("a").click()
    tab.arrives("?t=9.0")
    assert tab.settles(lambda: tab.at_s() == 9)
    assert tab.page.input_value("#question") == "the wind put off the launch" and tab.cards() == 0
    assert tab.complaints == []


def test_videos_stay_in_view_beside_what_was_found(shared_server, visit):
    hit = shared_server.get("/api/search", params={"text": "wind", "limit": 1}).json()[0]
    tab = visit(shared_server, "/assets/roles.css")
    hits = [hit | {"time_s": float(k)} for k in range(24)]
    tab.page.route("**/api/search?*", lambda route: route.fulfill(json=hits))
    tab.page.goto(f"{shared_server.url}/?find=wind")
    found, more = tab.page.locator("#moments li:visible"), tab.page.locator("#all-moments")
    assert tab.settles(lambda: found.count() == 6 and tab.page.locator("#video-list h3").count() == 3)
    assert tab.page.locator("#videos-title").bounding_box()["y"] < tab.page.viewport_size["height"]
    more.click()
    assert found.count() == 24 and more.text_content() == "Show fewer"
    tab.page.click("#close-search")
    assert found.count() == 0 and tab.page.input_value("#search-text") == "" and "find=" not in tab.page.url


def test_search_that_nothing_matches_is_reported(shared_server, visit):
    tab = visit(shared_server, "/?find=giraffe+soup")
    note, weak = tab.page.locator("#search-note"), tab.page.locator("#moments").get_by_text("weak match")
    assert tab.settles(lambda: note.is_visible() and weak.count() == tab.page.locator("#moments li").count() > 0)
    assert note.text_content() == NOTHING_MATCHES
    tab.page.fill("#search-text", "wind")
    tab.page.press("#search-text", "Enter")
    assert tab.settles(lambda: note.is_hidden() and "wind" in tab.page.locator("#moments li").first.text_content())


def test_search_is_restricted_to_the_library_and_may_find_nothing(empty_server):
    assert empty_server.get("/api/search", params={"text": "boat"}).json() == []


def test_library_is_filtered_sorted_and_indexed_as_a_whole(shared_server, visit):
    tab = visit(shared_server)
    names = tab.page.locator("#video-list h3")
    assert tab.settles(lambda: names.count() == 3 and tab.page.locator("#index-all").is_visible())
    tab.page.select_option("#sort", "ready")
    assert names.first.text_content() == "boat.mp4"
    tab.page.fill("#filter", "SILENT")
    assert names.all_text_contents() == ["talks/silent.mp4"]


def test_dragging_on_the_timeline_chooses_a_part(shared_server, visit):
    tab = visit(shared_server, f"/video/{shared_server.boat}{ASKED}")
    assert tab.settles(lambda: tab.cards() == 6)
    box = tab.page.locator(".tl-svg").bounding_box()
    tab.page.mouse.move(box["x"] + box["width"] / 4, box["y"] + 60)
    tab.page.mouse.down()
    tab.page.mouse.move(box["x"] + box["width"] / 2, box["y"] + 60, steps=4)
    tab.page.mouse.up()
    assert tab.settles(lambda: tab.page.locator(".tl-shade").count() == 2)
    assert tab.settles(lambda: "from=" in tab.page.url) and tab.at_s() == 0
    tab.page.click("#whole-video")
    assert tab.settles(lambda: tab.page.locator(".tl-shade").count() == 0)


def test_keys_move_the_player_and_reach_the_question(shared_server, visit):
    tab = visit(shared_server, f"/video/{shared_server.boat}{ASKED}")
    assert tab.settles(lambda: tab.cards() == 6)
    assert tab.settles(lambda: tab.page.evaluate("document.getElementById('video').readyState") >= 1)
    tab.page.keyboard.press("l")
    tab.page.keyboard.press("ArrowLeft")
    assert tab.settles(lambda: tab.at_s() == 5)
    tab.page.keyboard.press("/")
    tab.page.keyboard.press("l")
    assert tab.page.input_value("#question") == "l" and tab.at_s() == 5


def test_keys_move_the_player_after_a_click_on_a_card(shared_server, visit):
    tab = visit(shared_server, f"/video/{shared_server.boat}{ASKED}")
    assert tab.settles(lambda: tab.cards() == 6)
    tab.page.locator(".card .open").first.click()
    is_paused = "document.getElementById('video').paused"
    assert tab.settles(lambda: tab.at_s() > 5 and not tab.page.evaluate(is_paused))
    tab.page.keyboard.press("Space")
    assert tab.settles(lambda: tab.page.evaluate(is_paused))
    at_s = tab.at_s()
    tab.page.keyboard.press("j")
    tab.page.keyboard.press("ArrowRight")
    assert tab.settles(lambda: abs(tab.at_s() - (at_s - 5)) < 0.01)
    tab.page.locator(".reasons summary").first.focus()
    tab.page.keyboard.press("Space")  # of a control reached by keyboard
    assert tab.settles(lambda: tab.page.locator(".reasons[open]").count() == 1)
    assert tab.page.evaluate(is_paused)


def test_card_is_visible_on_a_small_screen_without_scrolling(shared_server, visit):
    asked = "?q=What+put+off+the+launch%3F&n=6"  # no other test has kept an answer to this
    tab = visit(shared_server, f"/video/{shared_server.boat}{asked}", viewport={"width": 1024, "height": 768})
    assert tab.settles(lambda: tab.cards() == 6)
    assert tab.page.locator(".card").first.bounding_box()["y"] < 700
    assert tab.page.locator("#legend-roles .role").first.bounding_box()["y"] < 700
    assert tab.page.locator("h1").count() == 1


def test_unknown_video_is_not_found(shared_server):
    reply = shared_server.get("/video/x", headers={"accept": "text/html"})
    assert reply.status_code == 404 and "Page not found" in reply.text and "no such video" in reply.text
