"""The pages on a phone, with a screen reader, and with hostile input."""

import pytest

from helpers.page_visits import ASKED, PHONE
from helpers.running_server import make_video, run_server


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
        tab.shows(4)
        assert "owned'" in tab.page.title() and tab.page.title() != "owned"
        assert tab.page.locator("#lanes script, #lanes img[src=x], .video-card img[src=x]").count() == 0


def test_no_page_scrolls_sideways_on_a_phone(shared_server, visit):
    tab = visit(shared_server, viewport=PHONE)
    for path, ready in (("/", ".video-card"), ("/api/docs", ".call"), ("/video/{}" + ASKED + "&and=uniform", ".card")):
        tab.page.goto(shared_server.url + path.format(shared_server.boat))
        tab.page.locator(ready).first.wait_for()
        for scheme in ("light", "dark"):
            tab.page.emulate_media(color_scheme=scheme)
            assert not tab.spills(), (path, scheme)
    assert tab.complaints == []


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
HEARD = {  # and what is shown last on each page
    "/": ".video-card",
    "/?find=boat": "#moments .video-card",
    "/?ask=boat": "#moments .video-card",
    "/video/{}": "#method option",
    "/video/{}" + ASKED + "&o=a&o=b&and=uniform": ".card",
    "/api/docs": ".call",
    "/video/x": "h1",
}


def test_every_page_can_be_heard(shared_server, visit):
    tab = visit(shared_server, "/assets/roles.css")
    for path, ready in HEARD.items():
        tab.page.goto(shared_server.url + path.format(shared_server.boat))
        tab.page.locator(ready).first.wait_for(state="attached")
        tab.page.evaluate("for (const one of document.querySelectorAll('details')) one.open = true")
        assert tab.settles(lambda ready=ready: ready != ".card" or tab.page.locator(".why").count() > 0)
        assert tab.page.evaluate(FAULTS) == [], path
