"""The shelf: which files can be reached, under which names."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from framesift.errors import InputError, OptionError
from framesift.server.config import Settings
from framesift.server.files import MARK, MOST_NAME, Shelf, safe_name


@pytest.fixture
def shelf(tmp_path):
    folder = tmp_path / "films"
    (folder / "sub").mkdir(parents=True)
    for name in ("b.mp4", "sub/a.MKV", ".hidden.mp4", "notes.txt", "odd.bin"):
        (folder / name).write_bytes(b"x")
    (tmp_path / "outside.mp4").write_bytes(b"x")
    (folder / "link.mp4").symlink_to(tmp_path / "outside.mp4")
    return Shelf(Settings(folder=folder, store=tmp_path / "store"))


def test_videos_of_the_folder_are_listed_and_links_out_of_it_are_not(shelf):
    assert [film.name for film in shelf.films()] == ["b.mp4", "sub/a.MKV"]


@pytest.mark.parametrize(
    "name", ["../outside.mp4", "/etc/passwd", "link.mp4", ".hidden.mp4", "sub", "", "a\0b", "x" * 5000]
)
def test_paths_outside_the_folder_are_refused(shelf, name):
    with pytest.raises(InputError):
        shelf.inside(name)


def test_a_file_added_by_name_stays_on_the_shelf(shelf, tmp_path):
    film = shelf.inside("sub/../odd.bin")
    assert film.name == "odd.bin" and shelf.get(film.id) is None
    shelf.add(film)
    again = Shelf(Settings(folder=tmp_path / "films", store=tmp_path / "store"))
    assert again.get(film.id) == film


def test_ids_are_the_same_after_a_restart_and_unknown_ones_give_nothing(shelf, tmp_path):
    again = Shelf(Settings(folder=tmp_path / "films", store=tmp_path / "store"))
    assert [film.id for film in again.films()] == [film.id for film in shelf.films()]
    assert shelf.get("0" * 16) is None
    film = shelf.films()[0]
    film.path.unlink()
    assert shelf.get(film.id) is None


def test_a_folder_for_uploads_must_be_empty_or_have_been_one(tmp_path):
    place = tmp_path / "mine"
    place.mkdir()
    Shelf(Settings(store=tmp_path / "store", uploads=place))
    (place / "film.mp4").write_bytes(b"x")
    assert [film.name for film in Shelf(Settings(store=tmp_path / "store", uploads=place)).films()] == ["film.mp4"]
    (place / MARK).unlink()
    with pytest.raises(OptionError, match="holds other files"):
        Shelf(Settings(store=tmp_path / "store", uploads=place))
    with pytest.raises(OptionError, match="can't be kept"):
        Shelf(Settings(store=tmp_path / "store", uploads=place / "film.mp4" / "in"))


def test_uploads_do_not_lie_among_the_videos_of_the_folder(tmp_path):
    for place in (tmp_path, tmp_path / "up"):
        with pytest.raises(OptionError, match="among the videos"):
            Settings(folder=tmp_path, store=tmp_path / "store", uploads=place)
    Settings(folder=tmp_path, store=tmp_path / ".store")


def test_a_link_put_in_a_files_place_leads_nowhere(shelf, tmp_path):
    film = next(film for film in shelf.films() if film.name == "b.mp4")
    film.path.unlink()
    film.path.symlink_to(tmp_path / "outside.mp4")
    assert shelf.get(film.id) is None


def test_a_damaged_list_of_added_files_starts_empty(shelf):
    shelf.add(shelf.inside("odd.bin"))
    shelf._list.write_text("")
    assert [film.name for film in shelf.films()] == ["b.mp4", "sub/a.MKV"]


def test_uploads_never_replace_one_another(shelf):
    shelf.room(1)
    names = []
    for k in range(3):
        partial = shelf.partial(str(k))
        partial.write_bytes(b"x")
        names.append(shelf.keep(partial, "film.mp4").name)
    assert names == ["film.mp4", "film (2).mp4", "film (3).mp4"]


def test_what_an_upload_left_unfinished_is_swept_at_the_start(shelf, tmp_path):
    shelf.room(1)
    shelf.partial("left").write_bytes(b"x")
    Shelf(Settings(store=tmp_path / "store"))
    assert not shelf.partial("left").exists()


def test_only_uploads_can_be_removed(shelf):
    with pytest.raises(InputError, match="delete it there"):
        shelf.remove(shelf.films()[0])
    shelf.room(1)
    shelf.partial("1").write_bytes(b"x")
    film = shelf.keep(shelf.partial("1"), "film.mp4")
    shelf.remove(film)
    assert shelf.get(film.id) is None and not film.path.exists()


@given(st.text(max_size=400))
def test_any_name_becomes_a_plain_file_name(name):
    safe = safe_name(name)
    assert safe and len(safe.encode()) <= MOST_NAME + 5
    assert not set(safe) & set('/\\\0\n:*?"<>|') and not safe.startswith(".") and safe == safe.strip()


@pytest.mark.parametrize(
    ("name", "safe"),
    [("../../etc/passwd", "passwd"), ("C:\\films\\x.mp4", "x.mp4"), ("..", "video"), ("фильм №1.mkv", "фильм №1.mkv")],
)
def test_names_people_try(name, safe):
    assert safe_name(name) == safe
