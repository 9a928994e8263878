"""The timeline in a browser: zooming, panning, its scale, and a tip that hides nothing it explains."""

import json

import pytest

from framesift._utils.templates import read_asset
from framesift.rendering.report.page import ASSETS, SCRIPTS
from helpers.browser import Tab
from helpers.report_views import image_url

HOUR_S = 3600.0
ROLES = ("ground", "visual", "context", "refined")


class Line(Tab):
    """A page with nothing but a timeline, of an hour by default; `calls` are its seeks and chosen windows."""

    def __init__(self, browser, *, size=(1024, 768), above=120, touch=False, **data):
        super().__init__(browser, viewport={"width": size[0], "height": size[1]}, has_touch=touch)
        data = self.sample() | data
        start = (
            "addEventListener('pointermove', (e) => { window.pointed = `${e.clientX} ${e.clientY}` });"
            "window.calls = []; window.line = framesift.drawTimeline(document.getElementById('here'), {"
            f"...{json.dumps(data)}, onSeek: (t) => calls.push(t), onWindow: (a, b) => calls.push([a, b]),"
            "onFrame: (id) => calls.push(id),"
            "imageNear: (t) => ({url: '" + image_url(3, 320, 180) + "', width: 320, height: 180})});"
        )
        scripts = [*(read_asset(f"{ASSETS}/{name}") for name in SCRIPTS if name != "report.js"), start]
        modules = "".join(f"<script type=module>{text}</script>" for text in scripts)
        style = read_asset(f"{ASSETS}/timeline.css") + f"body {{ margin: 0 }} #here {{ margin: {above}px 20px 0 }}"
        self.page.set_content(f"<style>{style}</style><div id=here></div>{modules}")
        self.page.wait_for_selector(".tl-axis", state="attached")

    @staticmethod
    def sample():
        times_s = [float(second) for second in range(0, 3601, 2)]
        frames = [
            {"id": f"f{k}", "number": k + 1, "time_s": 180.0 * k + 90, "role": ROLES[k % 4], "text": f"Text {k}"}
            for k in range(20)
        ]
        return {
            "duration_s": HOUR_S,
            "curve": {
                "times_s": times_s,
                "relevance": [0.1 + 0.1 * (t % 600) / 600 for t in times_s],
                "chance": [0.1, 0.2],
            },
            "events": [{"start_s": t, "end_s": t + 30, "text": f"Line at {t}"} for t in range(0, 3600, 60)],
            "lanes": [{"name": "sift", "caption": "sift", "frames": frames}],
        }

    def ticks(self):
        return self.page.locator(".tl-axis text").all_text_contents()

    def markers(self):
        return self.page.locator(".tl-marker").count()

    def box(self, selector=".tl-svg"):
        return self.page.locator(selector).first.bounding_box()

    def range_s(self):
        """The visible part, in seconds."""
        low, high = (self.page.locator(".tl-overview").get_attribute("aria-valuetext")).split(" to ")
        return tuple(sum(60**k * int(part) for k, part in enumerate(reversed(one.split(":")))) for one in (low, high))

    def click(self, name):
        self.page.get_by_role("button", name=name, exact=True).click()

    def zoom_in(self, times, under_s):
        """Press the button until less than this many seconds are visible."""
        for _ in range(times):
            self.click("Zoom in")
        assert self.settles(lambda: self.range_s()[1] - self.range_s()[0] < under_s)

    def shows_s(self, low, high):
        """Whether exactly this part becomes visible."""
        return self.settles(lambda: self.range_s() == (low, high))

    def press(self, key, times=1):
        for _ in range(times):
            self.page.keyboard.press(key)

    def point(self, share, y):
        """Move the pointer there, and wait until the page has noticed."""
        box = self.box()
        x, y = round(box["x"] + 10 + share * (box["width"] - 20)), round(box["y"] + y)
        self.page.evaluate("window.pointed = ''")
        self.page.mouse.move(x, y)
        assert self.settles(lambda: self.page.evaluate("pointed") == f"{x} {y}")


@pytest.fixture
def draw(browser):
    opened = []

    def go(**given):
        opened.append(Line(browser, **given))
        return opened[-1]

    yield go
    for one in opened:
        one.context.close()


def test_buttons_zoom_in_and_out_and_back_to_the_whole_video(draw):
    line = draw()
    assert line.range_s() == (0, 3600) and line.markers() == 20
    whole = line.page.get_by_role("button", name="Zoom out to the whole video")
    assert not whole.is_visible()
    line.zoom_in(3, 900)
    assert line.markers() < 7 and line.ticks()[0] > "0:20:00"
    line.click("Zoom out")
    assert line.settles(lambda: line.range_s()[1] - line.range_s()[0] > 1000)
    whole.click()
    assert line.shows_s(0, 3600)
    assert line.page.evaluate("document.activeElement.getAttribute('aria-label')") == "Zoom in"


def test_short_video_has_no_zoom(draw):
    line = draw(duration_s=90.0, curve={}, events=[], lanes=[])
    assert not line.page.locator(".tl-zoom").is_visible() and not line.page.locator(".tl-overview").is_visible()
    line.page.evaluate("line.zoom('in')")
    assert line.range_s() == (0, 90)


def test_ctrl_and_wheel_zoom_around_the_pointer_and_a_sideways_wheel_pans(draw):
    line = draw()
    line.point(0.25, 60)
    line.page.keyboard.down("Control")
    for _ in range(5):  # a busy page would take several turns of the wheel for one
        before = line.range_s()
        line.page.mouse.wheel(0, -100)
        assert line.settles(lambda before=before: line.range_s() != before)
    line.page.keyboard.up("Control")
    low, high = line.range_s()
    assert high - low < 500
    assert (890 - low) / (high - low) == pytest.approx(0.25, abs=0.03)  # what was under the pointer stays there
    line.page.mouse.wheel(200, 0)
    assert line.settles(lambda: line.range_s()[0] > low + 50)
    before = line.range_s()
    line.page.evaluate("addEventListener('wheel', () => { window.wheeled = true })")
    line.page.mouse.wheel(0, 100)  # without Ctrl the page scrolls
    assert line.settles(lambda: line.page.evaluate("window.wheeled"))
    assert line.range_s() == before


def test_keys_zoom_and_pan(draw):
    line = draw()
    line.page.get_by_role("button", name="Zoom in").focus()
    line.press("+", 4)
    assert line.settles(lambda: line.range_s()[1] - line.range_s()[0] < 600)
    bar = line.page.get_by_role("slider", name="Visible part of the video")
    bar.focus()
    low, _ = line.range_s()
    line.press("ArrowRight")
    assert line.settles(lambda: line.range_s()[0] > low)
    line.press("Home")
    assert line.settles(lambda: line.range_s()[0] == 0)
    line.press("End")
    assert line.settles(lambda: line.range_s()[1] == 3600)
    line.press("0")
    assert line.shows_s(0, 3600)


def test_arrow_keys_reach_markers_and_events_that_are_not_visible(draw):
    line = draw()
    line.page.locator(".tl-marker").first.focus()
    line.press("+", 5)
    assert line.settles(lambda: line.markers() == 2)
    line.press("ArrowRight", 4)
    assert line.page.evaluate("document.activeElement.dataset.frame") == "f4"
    assert line.range_s()[0] < 810 < line.range_s()[1]
    events = line.page.locator(".tl-events")
    events.focus()
    first = events.get_attribute("aria-valuetext")
    line.press("ArrowRight", 12)
    assert line.page.locator(".tl-events").get_attribute("aria-valuetext") > first
    assert line.page.evaluate("document.activeElement.getAttribute('class')") == "tl-events"


def test_dragging_the_axis_or_the_overview_pans(draw):
    line = draw()
    line.zoom_in(4, 600)
    (low, high), box = line.range_s(), line.box()
    line.point(0.7, box["height"] - 10)
    line.page.mouse.down()
    line.point(0.2, box["height"] - 10)
    line.page.mouse.up()
    assert line.settles(lambda: line.range_s()[0] == pytest.approx(low + 0.5 * (high - low), abs=12))
    bar = line.box(".tl-overview")
    line.page.mouse.move(bar["x"] + 0.9 * bar["width"], bar["y"] + 12)
    line.page.mouse.down()
    line.page.mouse.up()
    assert line.settles(lambda: line.range_s()[0] < 3240 < line.range_s()[1])
    assert line.page.evaluate("calls") == []


def test_dragging_chooses_a_part_of_what_is_visible_and_a_click_seeks_there(draw):
    line = draw()
    line.zoom_in(2, 1500)
    low, high = line.range_s()
    line.point(0.25, 60)
    line.page.mouse.down()
    line.point(0.5, 60)
    assert line.box(".tl-chosen")["width"] > 100
    line.page.mouse.up()
    chosen = line.page.evaluate("calls.pop()")
    assert chosen == pytest.approx([low + 0.25 * (high - low), low + 0.5 * (high - low)], abs=0.02 * (high - low))
    line.page.mouse.down()
    line.page.mouse.up()
    assert line.page.evaluate("calls.pop()") == pytest.approx(chosen[1], abs=1)


def test_curve_marks_window_and_playhead_are_drawn_in_the_zoomed_range(draw):
    line = draw(window=[1700.0, 1900.0])
    line.page.evaluate("line.playing(1800)")
    line.zoom_in(4, 600)
    (low, high), svg = line.range_s(), line.box()
    x = lambda time_s: svg["x"] + 10 + (time_s - low) / (high - low) * (svg["width"] - 20)  # noqa: E731
    assert line.box(".tl-playhead")["x"] == pytest.approx(x(1800), abs=3)
    edges = [box["x"] for box in (line.page.locator(".tl-edge").nth(k).bounding_box() for k in range(2))]
    assert edges == pytest.approx([x(1700), x(1900)], abs=3)
    marker = line.box(".tl-marker[data-frame=f9]")
    assert marker["x"] + marker["width"] / 2 == pytest.approx(x(1710), abs=3)
    curve = line.box(".tl-line")
    assert curve["x"] >= svg["x"] + 9 and curve["width"] == pytest.approx(svg["width"] - 20, abs=3)


def test_playhead_stays_in_view_while_playing_unless_it_was_panned_away(draw):
    line = draw()
    line.page.evaluate("line.playing(1800)")
    line.zoom_in(6, 300)
    high = line.range_s()[1]
    line.page.evaluate(f"line.playing({high} - 1); line.playing({high} + 1)")
    assert line.range_s()[0] < high + 1 < line.range_s()[1]
    line.page.locator(".tl-overview").focus()
    line.press("Home")
    assert line.settles(lambda: line.range_s()[0] == 0)
    line.page.evaluate(f"line.playing({high} + 1.25)")
    assert line.range_s()[0] == 0
    line.page.evaluate("line.playing(2400)")  # moved by the viewer
    assert line.range_s()[0] < 2400 < line.range_s()[1]


def test_two_fingers_zoom_on_a_phone(draw):
    line = draw(size=(390, 844), touch=True)
    box = line.box()
    session = line.context.new_cdp_session(line.page)

    def touch(kind, *xs):
        points = [{"x": box["x"] + x, "y": box["y"] + 60, "id": k} for k, x in enumerate(xs)]
        session.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})

    touch("touchStart", 150)
    touch("touchStart", 150, 200)
    for apart in (20, 40, 60, 80):
        touch("touchMove", 150 - apart, 200 + apart)
    touch("touchEnd")
    assert line.settles(lambda: line.range_s()[1] - line.range_s()[0] < 1100)
    low, high = line.range_s()
    assert low < 1800 < high and line.page.evaluate("calls") == []


def test_scale_is_fixed_and_what_exceeds_it_is_cut_off_and_marked(draw):
    times_s = [float(second) for second in range(0, 3601, 10)]
    low, high = [0.12] * len(times_s), [0.12] * len(times_s)
    high[100] = 0.9
    line = draw(curve={"times_s": times_s, "relevance": low, "chance": [0.1, 0.2]})
    chance = line.box(".tl-chance")["y"]
    assert line.page.locator(".tl-over").count() == 0
    line.page.evaluate("(curve) => line.update({curve})", {"times_s": times_s, "relevance": high, "chance": [0.1, 0.2]})
    assert line.box(".tl-chance")["y"] == chance
    assert line.page.locator(".tl-over").count() == 1
    line.point(1000 / 3600, 60)
    assert line.settles(lambda: "above the end of the scale (0.300)" in line.page.text_content(".tl-tip"))


@pytest.mark.parametrize("above", [40, 514])
def test_tip_covers_nothing_under_the_pointer_and_stays_in_the_window(draw, above):
    line = draw(size=(390, 844), above=above)
    for name in (".tl-curve", ".tl-events", ".tl-markers"):
        row = line.box(name)
        for share in (0, 0.5, 1):
            line.point(share, row["y"] + row["height"] / 2 - line.box()["y"])
            tip = line.box(".tl-tip")
            assert 0 <= tip["y"] <= 844 - tip["height"] and 0 <= tip["x"] <= 390 - tip["width"], (name, share)
            assert tip["y"] + tip["height"] <= row["y"] or tip["y"] >= row["y"] + row["height"], (name, share)


def test_tip_beside_the_pointer_in_a_low_window(draw):
    line = draw(size=(640, 150), above=8)
    for share in (0.3, 0.7):
        line.point(share, 60)
        tip, svg = line.box(".tl-tip"), line.box()
        at = svg["x"] + 10 + share * (svg["width"] - 20)
        assert tip["x"] > at if share < 0.5 else tip["x"] + tip["width"] < at
        assert tip["y"] >= 0 and tip["y"] + tip["height"] <= 150


def test_curve_keeps_a_peak_of_one_candidate_in_fifteen_thousand(draw):
    relevance = [float(k == 7_777) for k in range(15_000)]
    line = draw(curve={"times_s": [0.24 * k for k in range(15_000)], "relevance": relevance, "chance": None})
    assert line.box(".tl-line")["height"] > 60


def test_drawn_data_can_be_replaced_and_everything_removed(draw):
    line = draw(curve={}, events=[], lanes=[])
    frame = {"id": "a", "number": 1, "time_s": 1800, "role": "visual"}
    line.page.evaluate("(lanes) => line.update({lanes})", [{"name": "live", "frames": [frame]}])
    line.page.locator(".tl-marker").click()
    assert line.page.evaluate("calls") == ["a"]
    line.page.evaluate("line.destroy()")
    assert line.page.locator(".tl").count() == 0
