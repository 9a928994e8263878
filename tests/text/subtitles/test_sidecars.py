"""Subtitle files beside a video, in order of preference."""

import pytest

from framesift.errors import InputError
from framesift.text.subtitles import find_sidecars, sidecar_tags
from helpers.subtitle_files import FILES, put


def write_files(folder, *names):
    for name in names:
        path = folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(FILES["SubRip"])


def relative(paths, folder):
    return [path.relative_to(folder).as_posix() for path in paths]


def test_sidecars_are_sorted_best_first(tmp_path):
    names = ["film.mp4", "film.srt", "film.vtt", "film.en.forced.srt", "film.eng.srt", "film.de.srt", "film.pt-BR.vtt"]
    others = ["film.trailer.srt", "film 2.srt", "filmed.srt", "film.mp4.ass", "film.txt", "Subs/film.fr.srt"]
    write_files(tmp_path, *names, *others)
    expected = ["film.srt", "film.vtt", "film.mp4.ass", "film.eng.srt", "film.de.srt", "Subs/film.fr.srt"]
    expected += ["film.pt-BR.vtt", "film.en.forced.srt"]
    assert relative(find_sidecars(tmp_path / "film.mp4"), tmp_path) == expected


def test_sidecars_in_the_requested_language_come_first(tmp_path):
    write_files(tmp_path, "film.srt", "film.en.srt", "film.ger.srt", "subtitles/film.deu.forced.srt")
    sidecars = relative(find_sidecars(tmp_path / "film.mkv", language="de"), tmp_path)
    assert sidecars == ["film.ger.srt", "subtitles/film.deu.forced.srt", "film.srt", "film.en.srt"]


def test_file_with_a_shared_ending_counts_only_if_it_holds_subtitles(tmp_path):
    put(tmp_path, '{"title": "my film"}', "film.json")
    put(tmp_path, "<movie/>", "film.xml")
    put(tmp_path, b"\0\0\1\xba" * 99, "film.sub")
    assert find_sidecars(tmp_path / "film.mp4") == []
    put(tmp_path, FILES["JSON"], "film.json")
    assert relative(find_sidecars(tmp_path / "film.mp4"), tmp_path) == ["film.json"]


def test_missing_directory_is_an_input_error(tmp_path):
    with pytest.raises(InputError, match="is unreadable"):
        find_sidecars(tmp_path / "no" / "film.mp4")


def test_tags_are_the_last_parts_of_a_name():
    for stem, tags in [("My.film.en.forced", ["en", "forced"]), ("My.film", []), ("en", [])]:
        assert sidecar_tags(stem) == tags
