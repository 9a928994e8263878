"""The page for everyone: by keyboard, on a phone, with a screen reader, and against those who mean harm."""

import pytest

from helpers.page_visits import ASKED, PHONE
from helpers.running_server import make_film, serve

pytest.importorskip("torch", reason="the server runs the offline encoder: pip install 'framesift[offline]'")


def test_hostile_names_and_words_stay_text(tmp_path, visit):
    film = make_film(tmp_path / "films" / "<img src=x onerror=document.title='owned'>.mp4", 8, said=False)
    words = "<script>document.title='owned'</script><img src=x onerror=document.title='owned'>"
    film.with_suffix(".srt").write_text(f"1\n00:00:01,000 --> 00:00:04,000\n{words} & more\n")
    with serve(film.parent, tmp_path) as served:
        video = served.make_ready(film.name)
        tab = visit(served)
        assert tab.settles(lambda: tab.page.locator(".film a").count() == 1)
        tab.page.goto(f"{served.url}/video/{video}?q=<img src=x onerror=document.title='owned'>&n=4&o=<b>x")
        assert tab.settles(lambda: tab.cards() == 4)
        assert "owned'" in tab.page.title() and tab.page.title() != "owned"
        assert tab.page.locator("#lanes script, #lanes img[src=x], .film img[src=x]").count() == 0


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("path", ["/", "/video/{boat}" + ASKED + "&and=uniform", "/api/docs"])
def test_nothing_spills_on_a_phone(home, visit, path, scheme):
    tab = visit(home, path.format(boat=home.boat), viewport=PHONE, color_scheme=scheme)
    ready = {"/": ".film", "/api/docs": ".call"}.get(path, ".card")
    assert tab.settles(lambda: tab.page.locator(ready).count() > 0)
    assert not tab.spills() and tab.complaints == []


def test_all_of_it_works_by_keyboard(home, visit):
    tab = visit(home, f"/video/{home.boat}?n=6")
    focused = "document.activeElement.id"
    assert tab.settles(lambda: tab.page.evaluate(focused) == "question")
    tab.page.keyboard.type("Why was the launch put off?")
    tab.page.keyboard.press("Enter")
    assert tab.settles(lambda: tab.cards() == 6)
    tab.page.focus(".card .open")
    tab.page.keyboard.press("Enter")
    assert tab.settles(lambda: tab.at_s() > 5)


def test_every_control_has_a_name(home, visit):
    tab = visit(home, f"/video/{home.boat}{ASKED}&o=a&o=b")
    assert tab.settles(lambda: tab.cards() == 6)
    nameless = tab.page.evaluate(
        """[...document.querySelectorAll("button, input, select, textarea, a[href], summary, progress")]
        .filter((one) => !(one.textContent.trim() || one.labels?.length || one.getAttribute("aria-label")))
        .map((one) => one.outerHTML)"""
    )
    assert nameless == []
