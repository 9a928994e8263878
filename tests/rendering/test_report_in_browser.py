"""The report in a browser: opened from disk, used by mouse and by keyboard."""

import re

import numpy as np
import pytest

from framesift.rendering.report.page import SCRIPTS, render_report
from helpers.browser import Opened
from helpers.clips import write_frames
from helpers.report_views import UNTRUSTED, make_untrusted_view, make_view

PHONE = {"width": 360, "height": 740}
DESKTOP = {"width": 1280, "height": 900}


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "evidence").mkdir()
    return tmp_path / "evidence"


@pytest.fixture
def show(browser, folder):
    """Write a view's report to disk and open it."""
    opened = []

    def open_view(view, **context):
        file = folder / "report.html"
        file.write_text(render_report(view), encoding="utf-8")
        opened.append(Opened(browser, file, **{"viewport": DESKTOP} | context))
        opened[-1].page.wait_for_selector(".tl-axis", state="attached")
        return opened[-1]

    yield open_view
    for one in opened:
        one.context.close()


HOSTILE = """# Title
<img src=x onerror=alert(1)> **bold** [x](javascript:alert(1)) at 0:09

- one <script>alert(1)</script>
- `two`

> quoted
> > [y]: http://example.org

```html
<iframe src="http://example.org"></iframe>
```"""


def test_markdown_of_an_answer_is_rendered_without_any_markup_of_its_own(show):
    row = {"reader": "m", "method": "", "note": ""}
    answers = [row | {"text": HOSTILE, "is_markdown": True}, row | {"text": "C: **x**", "is_markdown": False}]
    opened = show(make_view() | {"answers": answers})
    quote = opened.page.locator(".answers > blockquote").first
    tags = quote.evaluate("one => [...new Set([...one.querySelectorAll('*')].map((e) => e.localName))].sort().join()")
    assert tags == "blockquote,br,code,li,p,pre,strong,ul"
    text = quote.text_content()
    assert "<img src=x onerror=alert(1)> bold [x](javascript:alert(1)) at 0:09" in text and "<script>" in text
    assert opened.page.locator(".answers > blockquote").last.text_content() == "C: **x**"
    assert opened.complaints == [] and len(opened.requests) == 1


VIEWS = {
    "plain": make_view,
    "no events, no curve": lambda: make_view(events=0, candidates=0),
    "no frames": lambda: make_view(frames=0),
    "three methods": lambda: make_view(methods=("gcr", "mmr", "uniform")),
    "untrusted": make_untrusted_view,
}


@pytest.mark.parametrize("make", VIEWS.values(), ids=VIEWS.keys())
def test_opens_without_errors_or_requests_and_fits_a_phone(show, make):
    opened = show(make(), viewport=PHONE)
    assert not opened.spills()
    if opened.page.locator(".open").count():
        opened.page.locator(".open").first.click()
        assert not opened.spills()
        assert opened.page.evaluate("(d => d.scrollWidth <= d.clientWidth)(document.querySelector('dialog'))")
    assert len(opened.requests) == 1
    assert opened.complaints == []


def test_link_to_a_frame_opens_it(show):
    opened = show(make_view(methods=("gcr", "mmr")))
    opened.page.goto(opened.page.url + "#frame-3")
    assert opened.settles(lambda: opened.text("#frame-title").startswith("Frame 3 of 8"))
    opened.page.keyboard.press("Escape")
    assert opened.settles(lambda: opened.focused() == "0-2")


def test_marker_opens_its_frame_arrows_step_to_the_ends_and_escape_restores_the_focus(show):
    opened = show(make_view(frames=4))
    page = opened.page
    page.locator(".tl-marker").nth(2).click()
    assert opened.text("#frame-title") == "Frame 3 of 4 · 0:06:07"
    assert "Reason 3 of gcr." in opened.text("dialog > .explanation")
    third = make_view(frames=4)["lanes"][0]["frames"][2]["image"]
    assert page.locator("dialog .stage img").get_attribute("src") == third
    page.locator("#next").click()
    assert opened.text("#frame-title").startswith("Frame 4") and opened.text("dialog .bar .role") == "added"
    assert page.locator("#next").is_disabled() and page.locator("#previous").is_enabled()
    for number in (3, 2, 1, 1):
        page.keyboard.press("ArrowLeft")
        assert opened.text("#frame-title").startswith(f"Frame {number}")
    page.keyboard.press("ArrowRight")
    assert opened.text("#frame-title").startswith("Frame 2")
    page.keyboard.press("Escape")
    assert opened.settles(lambda: opened.focused() == "0-2" and not page.locator("dialog").is_visible())
    assert page.evaluate("Boolean(document.activeElement.closest('svg'))")


def test_frame_opened_before_the_last_one_reports_that_it_closed_stays_shown(show):
    opened = show(make_view())
    reopen = """() => new Promise((done) => {
      document.getElementById("frame").addEventListener("close", done, {once: true});
      document.getElementById("close").click();
      document.querySelector("[data-frame='0-1'] .open").click();
    })"""
    opened.page.locator(".open").first.click()
    opened.page.evaluate(reopen)
    assert opened.text("#frame-title").startswith("Frame 2") and opened.page.locator(".stage img").count() == 1


def test_keys_reach_every_row_of_the_timeline_which_announce_their_items(show):
    opened = show(make_view())
    page = opened.page
    page.locator(".fillers > summary").focus()
    labels = []
    for _ in range(6):
        page.keyboard.press("Tab")
        labels.append(page.evaluate("document.activeElement.getAttribute('aria-label')"))
    assert labels == [
        "Zoom out",
        "Zoom in",
        "Events, arrow keys to browse",
        "gcr: omitted segments, arrow keys to browse",
        "gcr: swaps, arrow keys to browse",
        "Frame 1, 0:00:40, text",
    ]
    page.keyboard.press("ArrowRight")
    page.keyboard.press("End")
    assert opened.focused() == "0-7"
    page.keyboard.press("Enter")
    assert opened.text("#frame-title").startswith("Frame 8 of 8")
    page.keyboard.press("Escape")
    # The browser restores the focus at once; the dialog's close event does so again later, and empties the dialog.
    assert opened.settles(lambda: page.locator(".stage > *").count() == 0) and opened.focused() == "0-7"
    page.locator(".tl-events").focus()
    page.keyboard.press("ArrowRight")
    assert page.locator(".tl-events").get_attribute("aria-valuetext") == "0:00:18 – 0:00:29: Event 2."


def test_tips_show_an_event_a_swap_or_a_segment(show):
    opened = show(make_view(events=1))
    page = opened.page
    page.locator(".tl-svg").scroll_into_view_if_needed()
    for selector, across, down, text in (
        (".tl-events path", 0.5, 0.5, "Event 1."),
        (".tl-arc", 0.5, 0.1, "Its value is higher."),
        (".tl-omitted path", 0.085, 0.5, "Segment 2 has nothing new."),
    ):
        box = page.locator(selector).first.bounding_box()
        page.mouse.move(box["x"] + across * box["width"], box["y"] + down * box["height"])
        assert opened.settles(lambda text=text: opened.text(".tl-tip-text") == text)


def test_untrusted_text_is_shown_literally_and_never_executed(show):
    opened = show(make_untrusted_view())
    page = opened.page
    page.locator(".tl-events").focus()
    shown = []
    for _ in UNTRUSTED:
        shown.append(opened.text(".tl-tip-text"))
        page.keyboard.press("ArrowRight")
    # The browser returns a lone surrogate as U+FFFD.
    assert [text.replace("\ufffd", "\ud800") for text in shown] == list(UNTRUSTED)
    for k in range(len(UNTRUSTED)):
        page.locator(".card .open").nth(k).click()
        page.keyboard.press("Escape")
    assert page.evaluate("window.broken") is None
    assert page.locator("body script").count() == 1 + len(SCRIPTS)
    assert opened.complaints == []


def test_long_question_is_folded_until_the_button_is_pressed(show):
    opened = show(make_view(question="Why? " * 2000))
    folded = opened.page.locator("h1").bounding_box()["height"]
    opened.page.locator("#more").click()
    assert folded < 200 < 2000 < opened.page.locator("h1").bounding_box()["height"]
    assert opened.text("#more") == "Show less"


def test_256_frames_wrap_and_each_has_a_marker(show):
    opened = show(make_view(frames=256, events=3000, candidates=15_000, duration_s=14_990.0))
    page = opened.page
    assert page.locator(".card").count() == page.locator(".tl-marker").count() == 256
    tops = page.evaluate("[...document.querySelectorAll('.card')].map((card) => card.getBoundingClientRect().top)")
    assert len(set(tops)) > 20 and tops.count(tops[0]) >= 4
    assert page.locator(".fillers .card").first.is_hidden()
    page.click(".fillers > summary")
    last = page.locator(".card .shot img").last

    def is_loaded_in_view():
        last.scroll_into_view_if_needed()  # cards that were not in view yet take another height than was estimated
        return last.evaluate("(img) => img.naturalWidth") == 96

    assert opened.settles(is_loaded_in_view)
    page.locator(".tl-marker").nth(255).click()
    assert opened.text("#frame-title").startswith("Frame 256 of 256")


def test_methods_share_one_axis_and_up_and_down_change_lanes(show):
    view = make_view(methods=("gcr", "mmr", "uniform"))
    first = view["lanes"][0]["frames"]
    view["lanes"][1]["frames"][0]["image"] = first[2]["image"]  # in the page once
    for lane in view["lanes"][1:]:
        lane["frames"][4]["time_s"] = first[4]["time_s"]
    opened = show(view)
    page = opened.page
    assert page.locator(".tl-markers").count() == page.locator(".frames.strip").count() == 3
    assert page.locator(".tl-curve").count() == page.locator(".tl-events").count() == 1
    assert page.locator('.card[data-frame="1-0"] img').get_attribute("src") == first[2]["image"]
    places = [page.locator(f'.tl-marker[data-frame="{lane}-4"]').bounding_box()["x"] for lane in range(3)]
    assert places == pytest.approx([places[0]] * 3, abs=0.5)
    page.locator('.tl-marker[data-frame="0-4"]').focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    assert opened.focused() == "2-4"
    page.keyboard.press("Enter")
    assert "Reason 5 of uniform." in opened.text("dialog > .explanation")


COLOURS = """(selector) => [...document.querySelectorAll(selector)].map((element) => {
  let behind = element;
  while (getComputedStyle(behind).backgroundColor.startsWith("rgba(")) behind = behind.parentElement;
  return [element, behind].map((one, k) => getComputedStyle(one)[k ? "backgroundColor" : "color"]);
})"""


def lightness(colour):
    """The relative luminance of "rgb(…)", as WCAG defines it."""
    channels = [float(channel) / 255 for channel in re.findall(r"[\d.]+", colour)[:3]]
    return np.dot(
        [0.2126, 0.7152, 0.0722], [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    )


PARTS = (
    "h1|.summary|.legend p|.card .role|.bar .role|.number|.reason|.event-text|.note|.notes li|.tl-caption|textarea|"
    "dialog h3|.facts dt|.plain|#play|footer|nav a"
)


@pytest.mark.parametrize(("scheme", "paper"), [("light", "rgb(250, 249, 247)"), ("dark", "rgb(21, 20, 19)")])
def test_text_has_enough_contrast(show, scheme, paper):
    opened = show(make_view(), color_scheme=scheme)
    opened.page.locator(".open").first.click()
    for selector in PARTS.split("|"):
        pairs = opened.page.evaluate(COLOURS, selector)
        assert pairs, selector
        for colours in pairs:
            dark, light = sorted(map(lightness, colours))
            assert (light + 0.05) / (dark + 0.05) >= 4.5, (selector, colours)
    assert opened.page.evaluate("getComputedStyle(document.body).backgroundColor") == paper


@pytest.mark.parametrize("path", ["film.mp4", "../film.mp4", "odd #1 50%.mp4"])
def test_plays_the_video_beside_the_report_from_the_frame_until_the_dialog_is_closed(show, folder, path):
    frames = (np.full((64, 64, 3), k, np.uint8) for k in range(80))
    write_frames(folder / path, frames, fps=2, codec="libx264")
    view = make_view(frames=3, duration_s=40.0)
    view["videos"][0]["beside"] = ["film.mp4", "../film.mp4", "odd #1 50%.mp4"]
    opened = show(view)
    page = opened.page
    page.locator(".open").nth(1).click()
    assert opened.text("#play") == "Play from 0:00:15"
    assert len(opened.requests) == 1
    page.locator("#play").click()
    playing = "document.querySelector('dialog video')?.currentTime ?? 0"
    assert opened.settles(lambda: page.evaluate(playing) >= 15)
    assert page.evaluate(playing) < 25
    page.get_by_text("Back to the frame").click()
    assert page.locator("dialog .stage img").count() == 1 and page.locator("dialog video").count() == 0
    page.locator("#play").click()
    assert opened.settles(lambda: page.locator("video").count() == 1 and opened.text("#play") == "Back to the frame")
    page.keyboard.press("Escape")
    assert opened.settles(lambda: page.locator("video").count() == 0)


def test_missing_video_is_reported_and_the_image_stays(show):
    opened = show(make_view())
    opened.page.locator(".open").first.click()
    opened.page.locator("#play").click()
    assert opened.settles(lambda: "was not found" in opened.text("#play-status"))
    assert "film.mp4" in opened.text("#play-status") and "folder of this report" in opened.text("#play-status")
    assert opened.page.locator("dialog .stage img").count() == 1


def test_json_is_copied_or_without_a_clipboard_selected_and_the_status_reports_which(show):
    opened = show(make_view())
    page = opened.page
    page.locator("#copy").click()
    messages = {"Copied.", "The text is selected: press Ctrl+C or ⌘C to copy it."}
    assert opened.settles(lambda: opened.text("#copied") in messages)
    page.evaluate("navigator.clipboard && (navigator.clipboard.writeText = undefined)")
    page.evaluate("document.execCommand = () => false; getSelection().removeAllRanges()")
    page.locator("#copy").click()
    assert opened.settles(lambda: opened.text("#copied").startswith("The text is selected"))
    assert opened.settles(lambda: page.evaluate("getSelection().toString()") == make_view()["json"])


def test_timeline_redraws_when_resized_and_keeps_the_focus(show):
    opened = show(make_view())
    opened.page.locator(".tl-marker").nth(0).focus()
    opened.page.keyboard.press("ArrowRight")
    opened.page.set_viewport_size(PHONE)
    assert opened.settles(lambda: int(opened.page.locator(".tl-svg").get_attribute("width")) < 360)
    assert opened.focused() == "0-1" and not opened.spills()
