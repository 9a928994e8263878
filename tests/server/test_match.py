"""What the page says when nothing in a video matches the question."""

import pytest

from framesift.library.catalog import RecentCache
from framesift.types.selection import NOTHING_MATCHES
from helpers.page_visits import ASKED

pytest.importorskip("onnxruntime", reason="the server runs the offline encoder: pip install 'framesift[offline]'")


def test_question_that_nothing_matches_is_reported_and_chance_is_marked(shared_server, visit):
    tab = visit(shared_server, f"/video/{shared_server.boat}{ASKED}")
    assert tab.settles(lambda: tab.cards() == 6)
    assert tab.page.locator("#match").is_hidden() and tab.page.locator(".tl-chance").count() == 1
    tab.ask("Does a giraffe eat soup?")
    assert tab.settles(lambda: tab.page.locator("#match").text_content() == NOTHING_MATCHES)
    with tab.page.expect_download() as waiting:
        tab.page.click("[data-format=report]")
    assert NOTHING_MATCHES in waiting.value.path().read_text(encoding="utf-8")


def test_chance_is_computed_once_for_a_video(shared_server, monkeypatch):
    url, body = f"/api/videos/{shared_server.boat}/select", {"question": "Is there a boat?"}
    first = shared_server.post(url, json=body).json()["basis"]["chance"]
    monkeypatch.setattr(shared_server.services.catalog, "_prepared", RecentCache(1))
    monkeypatch.setattr("framesift.pipeline.inputs.chance_levels", lambda *_: pytest.fail("computed again"))
    assert shared_server.post(url, json=body).json()["basis"]["chance"] == first
