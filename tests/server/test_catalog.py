"""What is known of videos: looked up once, kept no longer than it is true, and never in anybody's way."""

import os
import threading

import pytest

from framesift.server.catalog import Catalog, Recent
from framesift.server.config import Settings
from framesift.server.files import Shelf
from helpers.running_server import make_film


@pytest.fixture
def catalog(tmp_path):
    make_film(tmp_path / "films" / "film.mp4", 4, said=False)
    settings = Settings(folder=tmp_path / "films", store=tmp_path / "store", encoder="offline")
    return Catalog(settings, Shelf(settings), lambda: None)


def test_facts_are_looked_up_once_for_each_state_of_a_file(catalog, monkeypatch):
    film = catalog.shelf.films()[0]
    assert catalog.facts(film) is None  # a listing does not wait
    facts = catalog.facts(film, wait=True)
    monkeypatch.setattr("framesift.server.catalog.probe", lambda _: pytest.fail("looked up again"))
    assert catalog.facts(film, wait=True) == facts and facts.duration_s == 4
    again = Catalog(catalog.settings, catalog.shelf, lambda: None)
    assert again.facts(film) == facts  # kept on the disk


def test_a_file_that_keeps_changing_leaves_no_trail(catalog):
    film = catalog.shelf.films()[0]
    for second in range(5):
        os.utime(film.path, (second, second))
        assert catalog.facts(film, wait=True).duration_s == 4
    assert len(catalog._facts) == 1 and len(list(catalog._folder.iterdir())) == 1


def test_what_was_used_last_is_kept_and_made_once():
    recent, made = Recent(2), []

    def make(key):
        return recent.get(key, lambda: made.append(key) or key)

    assert [make(key) for key in "abac"] == list("abac")
    assert made == ["a", "b", "c"]
    make("a")
    make("b")
    assert made == ["a", "b", "c", "b"]  # b was used longest ago when c came


def test_who_waits_for_one_thing_keeps_nobody_from_another():
    recent, begun, go_on = Recent(4), threading.Event(), threading.Event()
    recent.get("quick", lambda: 1)
    slow = threading.Thread(target=recent.get, args=("slow", lambda: begun.set() or go_on.wait(30)))
    slow.start()
    assert begun.wait(10)
    try:
        assert recent.get("quick", lambda: pytest.fail("made again")) == 1
    finally:
        go_on.set()
        slow.join()


def test_what_failed_is_tried_again():
    recent = Recent(2)
    with pytest.raises(ZeroDivisionError):
        recent.get("a", lambda: 1 / 0)
    assert recent.get("a", lambda: 5) == 5
