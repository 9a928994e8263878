"""The report in a browser: opened from disk, used by mouse and by keyboard."""

import numpy as np
import pytest

from framesift.rendering.report.page import ASSETS, SCRIPTS, render_report
from framesift.rendering.templates import read_asset
from helpers.browser import Opened, open_browser
from helpers.clips import write_frames
from helpers.report_views import UNTRUSTED, make_untrusted_view, make_view

PHONE = {"width": 360, "height": 740}
DESKTOP = {"width": 1280, "height": 900}


@pytest.fixture(scope="module")
def browser():
    with open_browser() as chromium:
        yield chromium


@pytest.fixture
def show(browser, tmp_path):
    """Write a view's report to disk and open it."""
    opened = []

    def open_view(view, **context):
        file = tmp_path / "report.html"
        file.write_text(render_report(view), encoding="utf-8")
        opened.append(Opened(browser, file, **{"viewport": DESKTOP} | context))
        return opened[-1]

    yield open_view
    for one in opened:
        one.context.close()


def write_video(path, seconds=40):
    frames = (np.full((64, 64, 3), k % 256, np.uint8) for k in range(seconds * 10))
    write_frames(path, frames, fps=10, codec="libx264")


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
    "one frame": lambda: make_view(frames=1),
    "no events, no curve": lambda: make_view(events=0, candidates=0),
    "no frames": lambda: make_view(frames=0),
    "portrait": lambda: make_view(tall=True),
    "three methods": lambda: make_view(methods=("gcr", "mmr", "uniform")),
    "256 frames": lambda: make_view(frames=256, events=3000, candidates=15_000, duration_s=14_990.0),
    "untrusted": make_untrusted_view,
}


@pytest.mark.parametrize("make", VIEWS.values(), ids=VIEWS.keys())
def test_opens_without_errors_or_requests_and_fits_a_phone(show, make):
    opened = show(make(), viewport=PHONE)
    opened.page.wait_for_selector(".tl-axis", state="attached")
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


def test_marker_opens_its_frame_arrows_step_and_escape_restores_the_focus(show):
    opened = show(make_view())
    page = opened.page
    page.locator(".tl-marker").nth(2).click()
    assert opened.text("#frame-title") == "Frame 3 of 8 · 0:03:23"
    assert "Reason 3 of gcr." in opened.text("dialog > .explanation")
    assert page.locator("dialog .stage img").get_attribute("src") == make_view()["lanes"][0]["frames"][2]["picture"]
    page.keyboard.press("ArrowRight")
    assert opened.text("#frame-title").startswith("Frame 4 of 8") and opened.text("dialog .bar .role") == "refined"
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("ArrowLeft")
    assert opened.text("#frame-title").startswith("Frame 2 of 8")
    page.keyboard.press("Escape")
    assert not page.locator("dialog").is_visible()
    assert opened.settles(lambda: opened.focused() == "0-2")
    assert page.evaluate("Boolean(document.activeElement.closest('svg'))")


def test_card_opens_by_enter_and_stepping_stops_at_the_ends(show):
    opened = show(make_view(frames=2))
    page = opened.page
    page.locator(".open").first.focus()
    page.keyboard.press("Enter")
    assert opened.text("#frame-title").startswith("Frame 1 of 2")
    page.keyboard.press("ArrowLeft")
    assert opened.text("#frame-title").startswith("Frame 1 of 2")
    page.locator("#next").click()
    assert page.locator("#next").is_disabled() and page.locator("#previous").is_enabled()
    page.keyboard.press("ArrowLeft")
    assert opened.text("#frame-title").startswith("Frame 1 of 2")
    page.keyboard.press("Escape")
    assert opened.settles(lambda: opened.focused() == "0-0")


def test_tab_reaches_every_row_of_the_timeline(show):
    opened = show(make_view())
    page = opened.page
    page.locator(".open").last.focus()
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
        "Frame 1, 0:00:40, ground",
    ]
    page.keyboard.press("ArrowRight")
    page.keyboard.press("End")
    assert opened.focused() == "0-7"
    page.keyboard.press("Enter")
    assert opened.text("#frame-title").startswith("Frame 8 of 8")
    page.keyboard.press("Escape")
    assert opened.settles(lambda: opened.focused() == "0-7")


def test_arrow_keys_announce_the_events(show):
    opened = show(make_view())
    opened.page.locator(".tl-events").focus()
    opened.page.keyboard.press("ArrowRight")
    assert opened.page.locator(".tl-events").get_attribute("aria-valuetext") == "0:00:18 – 0:00:29: Event 2."
    assert opened.text(".tl-tip-text") == "Event 2."


def test_pointing_at_an_event_a_swap_or_a_segment_shows_its_text(show):
    opened = show(make_view(events=1))
    page = opened.page
    tips = []
    page.locator(".tl-svg").scroll_into_view_if_needed()
    for selector, share in ((".tl-events path", 0.5), (".tl-arc", 0.5), (".tl-omitted path", 0.085)):
        box = page.locator(selector).first.bounding_box()
        down = 0.1 if selector == ".tl-arc" else 0.5
        page.mouse.move(box["x"] + share * box["width"], box["y"] + down * box["height"])
        tips.append(opened.text(".tl-tip-text"))
    assert tips == ["Event 1.", "Its value is higher.", "Segment 2 has nothing new."]


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
    opened = show(make_view(frames=256))
    page = opened.page
    assert page.locator(".card").count() == page.locator(".tl-marker").count() == 256
    tops = page.evaluate("[...document.querySelectorAll('.card')].map((card) => card.getBoundingClientRect().top)")
    assert len(set(tops)) > 20 and tops.count(tops[0]) >= 4
    last = page.locator(".card .shot img").last
    last.scroll_into_view_if_needed()
    assert opened.settles(lambda: last.evaluate("(img) => img.naturalWidth") == 96)
    page.locator(".tl-marker").nth(255).click()
    assert opened.text("#frame-title").startswith("Frame 256 of 256")


def test_curve_keeps_a_peak_of_one_candidate_in_fifteen_thousand(show):
    view = make_view(candidates=15_000)
    view["curve"]["relevance"] = [0.0] * 15_000
    view["curve"]["relevance"][7_777] = 1.0
    opened = show(view)
    box = opened.page.locator(".tl-line").bounding_box()
    assert box["height"] > 60


def test_methods_share_one_axis_and_up_and_down_change_lanes(show):
    view = make_view(methods=("gcr", "mmr", "uniform"))
    for lane in view["lanes"][1:]:
        lane["frames"][4]["time_s"] = view["lanes"][0]["frames"][4]["time_s"]
    opened = show(view)
    page = opened.page
    assert page.locator(".tl-markers").count() == page.locator(".frames.strip").count() == 3
    assert page.locator(".tl-curve").count() == page.locator(".tl-events").count() == 1
    places = [page.locator(f'.tl-marker[data-frame="{lane}-4"]').bounding_box()["x"] for lane in range(3)]
    assert max(places) - min(places) < 0.5
    page.locator('.tl-marker[data-frame="0-4"]').focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    assert opened.focused() == "2-4"
    page.keyboard.press("Enter")
    assert "Reason 5 of uniform." in opened.text("dialog > .explanation")


def test_image_embedded_once_is_shown_wherever_it_is_used(show):
    view = make_view(methods=("gcr", "mmr"))
    shared = view["lanes"][0]["frames"][2]["picture"]
    view["lanes"][1]["frames"][0]["picture"] = shared
    opened = show(view)
    assert opened.page.locator('.card[data-frame="1-0"] img').get_attribute("src") == shared


CONTRASTS = """(selectors) => {
  const channels = (colour) => (colour.match(/[\\d.]+/g) ?? []).map(Number);
  const light = (rgb) => {
    const [r, g, b] = rgb.map((c) => (c / 255 <= 0.04045 ? c / 255 / 12.92 : ((c / 255 + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const behind = (element) => {
    for (let e = element; e; e = e.parentElement) {
      const [r, g, b, a = 1] = channels(getComputedStyle(e).backgroundColor);
      if (a === 1) return [r, g, b];
    }
  };
  const worst = {};
  for (const selector of selectors)
    for (const element of document.querySelectorAll(selector)) {
      const [one, other] = [channels(getComputedStyle(element).color).slice(0, 3), behind(element)].map(light);
      const ratio = (Math.max(one, other) + 0.05) / (Math.min(one, other) + 0.05);
      worst[selector] = Math.min(worst[selector] ?? 99, ratio);
    }
  return worst;
}"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_has_enough_contrast(show, scheme):
    opened = show(make_view(), color_scheme=scheme)
    opened.page.locator(".open").first.click()
    selectors = [
        "h1",
        ".summary",
        ".legend p",
        ".card .role",
        ".bar .role",
        ".number",
        ".reason",
        ".event-text",
        ".note",
    ]
    selectors += [
        ".notes li",
        ".tl-caption",
        "textarea",
        "dialog h3",
        ".facts dt",
        ".plain",
        "#play",
        "footer",
        "nav a",
    ]
    ratios = opened.page.evaluate(CONTRASTS, selectors)
    assert set(ratios) == set(selectors)
    assert {name: ratio for name, ratio in ratios.items() if ratio < 4.5} == {}
    assert (
        opened.page.evaluate("getComputedStyle(document.body).backgroundColor")
        == {
            "light": "rgb(250, 249, 247)",
            "dark": "rgb(21, 20, 19)",
        }[scheme]
    )


@pytest.mark.parametrize("path", ["film.mp4", "../film.mp4", "odd #1 50%.mp4"])
def test_plays_the_video_beside_the_report_from_the_frame(browser, tmp_path, path):
    folder = tmp_path / "evidence"
    folder.mkdir()
    write_video(folder / path)
    view = make_view(frames=3, duration_s=40.0)
    view["videos"][0]["beside"] = ["film.mp4", "../film.mp4", "odd #1 50%.mp4"]
    (folder / "report.html").write_text(render_report(view), encoding="utf-8")
    opened = Opened(browser, folder / "report.html")
    page = opened.page
    page.locator(".open").nth(2).click()
    assert opened.text("#play") == "Play from 0:00:25"
    assert len(opened.requests) == 1
    page.locator("#play").click()
    playing = "document.querySelector('dialog video')?.currentTime ?? 0"
    assert opened.settles(lambda: page.evaluate(playing) >= 25)
    assert page.evaluate(playing) < 35
    page.get_by_text("Back to the frame").click()
    assert page.locator("dialog .stage img").count() == 1 and page.locator("dialog video").count() == 0
    opened.context.close()


def test_closing_the_dialog_stops_the_video(show, tmp_path):
    write_video(tmp_path / "film.mp4")
    opened = show(make_view(frames=3, duration_s=40.0))
    opened.page.locator(".open").first.click()
    opened.page.locator("#play").click()
    assert opened.settles(lambda: opened.text("#play") == "Back to the frame")
    opened.page.keyboard.press("Escape")
    assert opened.settles(lambda: opened.page.locator("video").count() == 0)


def test_missing_video_is_reported_and_the_image_stays(show):
    opened = show(make_view())
    opened.page.locator(".open").first.click()
    opened.page.locator("#play").click()
    assert opened.settles(lambda: "was not found" in opened.text("#play-status"))
    assert "film.mp4" in opened.text("#play-status") and "folder of this report" in opened.text("#play-status")
    assert opened.page.locator("dialog .stage img").count() == 1


def test_json_is_copied_or_selected_and_the_status_reports_which(show):
    opened = show(make_view())
    opened.page.locator("#copy").click()
    messages = {"Copied.", "The text is selected: press Ctrl+C or ⌘C to copy it."}
    assert opened.settles(lambda: opened.text("#copied") in messages)


def test_copying_without_a_clipboard_selects_the_text(show):
    opened = show(make_view())
    opened.page.evaluate("navigator.clipboard && (navigator.clipboard.writeText = undefined)")
    opened.page.evaluate("document.execCommand = () => false")
    opened.page.locator("#copy").click()
    assert opened.settles(lambda: opened.text("#copied").startswith("The text is selected"))
    assert opened.page.evaluate("getSelection().toString()") == make_view()["json"]


def test_without_script_explanations_unfold_under_the_frames(show):
    opened = show(make_view(), java_script_enabled=False)
    opened.page.locator(".card summary").first.click()
    assert opened.page.get_by_text("Nothing removed it.").first.is_visible()


def test_portrait_images_keep_their_aspect_ratio(show):
    opened = show(make_view(tall=True))
    box = opened.page.locator(".card .shot img").first.bounding_box()
    assert box["height"] / box["width"] == pytest.approx(96 / 54, rel=0.02)


def test_timeline_redraws_when_resized_and_keeps_the_focus(show):
    opened = show(make_view())
    opened.page.locator(".tl-marker").nth(0).focus()
    opened.page.keyboard.press("ArrowRight")
    opened.page.set_viewport_size(PHONE)
    assert opened.settles(lambda: int(opened.page.locator(".tl-svg").get_attribute("width")) < 360)
    assert opened.focused() == "0-1" and not opened.spills()


def test_timeline_works_outside_the_report(browser):
    page = browser.new_page()
    start = "window.calls = []; window.line = framesift.drawTimeline(document.getElementById('here'), "
    start += "{duration_s: 7200, onFrame: (id) => calls.push(id), onSeek: (t) => calls.push(Math.round(t))});"
    texts = [*(read_asset(f"{ASSETS}/{name}") for name in SCRIPTS if name != "report.js"), start]
    scripts = "".join(f"<script type=module>{text}</script>" for text in texts)
    page.set_content(f"<style>{read_asset(f'{ASSETS}/timeline.css')}</style><div id=here></div>{scripts}")
    page.wait_for_function("window.line")
    assert page.locator(".tl-axis text").first.text_content() == "0:00:00"
    page.evaluate(
        "line.update({curve: {times_s: [0, 3600, 7200], relevance: [0, 1, 0]},"
        "lanes: [{name: 'live', frames: [{id: 'a', number: 1, time_s: 3600, role: 'visual'}]}]})"
    )
    page.locator(".tl-marker").click()
    box = page.locator(".tl-curve").bounding_box()
    page.mouse.click(box["x"] + box["width"] / 2, box["y"] + 20)
    calls = page.evaluate("calls")
    assert calls[0] == "a" and calls[1] == pytest.approx(3600, abs=10)
    page.evaluate("line.destroy()")
    assert page.locator(".tl").count() == 0
    page.close()
