"""The timeline of the page: markers, previews, a chosen part, zoom, and the keys of the player."""

import pytest


def test_marker_shows_its_frame_and_plays_it(boat):
    marker = boat.page.locator(".tl-marker").last
    marker.hover(force=True)
    boat.shows_image(".tl-tip-image")
    marker.click(force=True)
    assert boat.settles(lambda: boat.at_s() > 5)


def test_press_on_a_marker_is_taken_while_the_frames_are_redrawn(boat):
    boat.page.locator(".tl-marker").last.hover(force=True)
    boat.page.mouse.down()
    change = "(box) => { box.value = 9; box.dispatchEvent(new Event('change')); }"
    boat.page.locator("#budget").evaluate(change)
    boat.shows(9)
    boat.page.mouse.up()
    assert boat.settles(lambda: boat.at_s() > 5 and boat.page.locator(".tl-marker").count() == 9)


def test_one_marker_can_be_reached_by_keyboard_after_a_redraw(boat):
    boat.page.locator(".tl-marker").last.click(force=True)
    boat.page.locator("#budget").fill("3")
    assert boat.settles(lambda: boat.page.locator(".tl-marker").count() == 3)
    assert boat.page.locator(".tl-marker[tabindex='0']").count() == 1


def test_frame_under_the_pointer_is_shown(boat):
    curve = boat.page.locator(".tl-curve")
    curve.hover(position={"x": curve.bounding_box()["width"] / 2, "y": 20}, force=True)
    boat.shows_image(".tl-tip-image")
    address = boat.page.get_attribute(".tl-tip-image", "src")
    assert "/frames/12.000.jpg" in address or "/frames/11." in address


def test_playback_position_is_shown(boat):
    place = boat.page.locator(".tl-playhead")
    assert place.get_attribute("d") == "M0 0"
    boat.page.evaluate("document.getElementById('video').currentTime = 12")

    def is_in_the_middle():
        plot = boat.page.locator(".tl-svg").bounding_box()
        return abs(place.bounding_box()["x"] - plot["x"] - plot["width"] / 2) < 3

    assert boat.settles(is_in_the_middle)


def test_click_on_an_event_keeps_its_text_shown(boat):
    events = boat.page.locator(".tl-events")
    events.click(position={"x": events.bounding_box()["width"] - 3, "y": 5}, force=True)
    boat.shows_text(".tl-tip", "Nobody came")
    assert boat.page.locator(".tl-tip").is_visible()


def test_dragging_chooses_a_part(boat):
    boat.drag(0.25, 0.5)
    assert boat.settles(lambda: boat.page.locator(".tl-shade").count() == 2 and "from=" in boat.page.url)
    assert boat.at_s() == 0
    boat.page.click("#whole-video")
    assert boat.settles(lambda: boat.page.locator(".tl-shade").count() == 0)


def test_keys_move_the_player_and_reach_the_question(boat):
    boat.page.keyboard.press("l")
    boat.page.keyboard.press("ArrowLeft")
    assert boat.settles(lambda: boat.at_s() == 5)
    boat.page.keyboard.press("/")
    boat.page.keyboard.press("l")
    assert boat.page.input_value("#question") == "l" and boat.at_s() == 5


def test_list_of_keys_opens_by_its_key_outside_text_fields_and_keeps_them_from_the_player(boat):
    boat.page.focus("#question")
    boat.page.keyboard.press("?")
    assert boat.page.input_value("#question").endswith("?") and boat.page.locator("dialog").is_hidden()
    boat.page.focus(".card .open")
    boat.page.keyboard.press("?")
    boat.shows_text("dialog.help[open] dl", "play or pause")
    assert boat.page.get_by_role("dialog", name="Keys").is_visible()
    boat.page.keyboard.press("l")
    boat.page.keyboard.press("Escape")
    assert boat.settles(lambda: boat.page.locator("dialog").is_hidden() and boat.at_s() == 0)
    boat.page.click("#help-button")
    assert boat.settles(boat.page.locator("dialog").is_visible)


def test_keys_move_the_player_after_a_click_on_a_card(boat):
    boat.page.locator(".card .open").first.click()
    assert boat.settles(lambda: boat.at_s() > 5 and not boat.is_paused())
    boat.page.keyboard.press("Space")
    assert boat.settles(boat.is_paused)
    at_s = boat.at_s()
    boat.page.keyboard.press("j")
    boat.page.keyboard.press("ArrowRight")
    assert boat.settles(lambda: abs(boat.at_s() - (at_s - 5)) < 0.5)
    boat.page.locator(".reasons summary").first.focus()
    boat.page.keyboard.press("Space")  # of a control reached by keyboard
    assert boat.settles(lambda: boat.page.locator(".reasons[open]").count() == 1)
    assert boat.is_paused()


@pytest.mark.parametrize("more", ["", "&and=uniform"])
def test_timeline_fits_a_laptop_window(open_boat, more):
    tab = open_boat(more)
    for height in (650, 720, 800):
        tab.page.set_viewport_size({"width": 1280, "height": height})
        tab.page.evaluate("scrollTo({top: 300, behavior: 'instant'})")

        def fits(height=height):
            box = tab.page.locator("#timeline").bounding_box()
            return box["y"] >= 0 and box["y"] + box["height"] <= height

        assert tab.settles(fits)
