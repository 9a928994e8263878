"""Subtitle files beside a video, in order of preference."""

from pathlib import Path

import pytest

from framesift.errors import InputError
from framesift.text.subtitles import find_sidecars, search_sidecars, sidecar_tags
from helpers.subtitle_files import FILES, put


def write_files(folder, *names):
    for name in names:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(FILES["SubRip"])


def relative(paths, folder):
    return [path.relative_to(folder).as_posix() for path in paths]


TAGGED = ["film.pt-BR.vtt", "film.en.forced.srt"]
# The files of film.mp4, best first; others beside them; the language that is asked for.
FOUND = {
    "best first": (
        ["film.srt", "film.vtt", "film.mp4.ass", "film.eng.srt", "film.de.srt", "Subs/film.fr.srt", *TAGGED],
        ["film.mp4", "film.trailer.srt", "film 2.srt", "filmed.srt", "film.txt"],
        None,
    ),
    "the language first": (
        ["film.ger.srt", "subtitles/film.deu.forced.srt", "film.srt", "film.en.srt"], [], "de",
    ),
    "complete before those with more tags": (
        ["film.en.srt", "film.en.sdh.srt", "english.srt", "film.en.commentary.srt"], ["film.mp4"], None,
    ),
    "names of other videos are no languages": (
        [], ["film.mp4", "film-no-way.srt", "film 2.en.srt", "film-it takes two.srt", "no-way.srt", "films.srt"], None,
    ),
    "without the video none is named only after a language": ([], ["en.srt"], None),
}  # fmt: skip


@pytest.mark.parametrize("case", FOUND)
def test_sidecars_are_found_and_sorted(tmp_path, case):
    expected, others, language = FOUND[case]
    write_files(tmp_path, *expected[::-1], *others)
    assert relative(find_sidecars(tmp_path / "film.mp4", language), tmp_path) == expected


def test_every_common_spelling_of_a_name_and_language_is_found(tmp_path):
    names = ["film_en.vtt", "film-en.srt", "film - English.srt", "Film (en).srt", "FILM.EN.SRT", "film [eng].ass"]
    names += ["film.en-US.vtt", "film.en-x7Zq2.vtt", "film.English (US).srt", "film.en.2.srt", "film_captions.vtt"]
    for name in [*names, "film.mp3.srt", "film_sdh.srt"]:
        folder = tmp_path / name.replace(".", "")
        write_files(folder, "film.mp4", "film2.mp4", name)
        (found,) = search_sidecars(folder / "film.mp4").found
        assert (found.path.name, found.is_bare) == (name, False)
        assert found.language == ("" if name in ("film_captions.vtt", "film.mp3.srt", "film_sdh.srt") else "en")


def test_file_named_only_after_a_language_belongs_to_the_only_video(tmp_path):
    names = ["english.vtt", "en.srt", "en.sdh.vtt", "pt-BR.srt", "captions.en.vtt", "subtitles.srt"]
    names += ["Subs/2_English.srt", "Subtitles/Latin American.spa.srt", "SUBS/SDH.eng.HI.srt"]
    for name in names:
        folder = tmp_path / name.replace("/", "-")
        write_files(folder, "some film.mkv", name)
        assert relative(find_sidecars(folder / "some film.mkv", None), folder) == [name]


def test_file_named_only_after_a_language_is_ambiguous_beside_several_videos(tmp_path):
    files = ["english.vtt", "Subs/fr.srt", "Subs/a/2_English.srt", "b.de.srt", "notes.srt"]
    write_files(tmp_path, "a.mp4", "b.mkv", *files)
    search = search_sidecars(tmp_path / "a.mp4")
    assert relative([sidecar.path for sidecar in search.found], tmp_path) == ["Subs/a/2_English.srt"]
    assert relative(search.ambiguous, tmp_path) == ["english.vtt", "Subs/fr.srt"]
    assert relative(search.unrelated, tmp_path) == ["notes.srt"]


def test_file_with_a_shared_ending_counts_only_if_it_holds_subtitles(tmp_path):
    put(tmp_path, '{"title": "my film"}', "film.json")
    put(tmp_path, "<movie/>", "film.xml")
    put(tmp_path, b"\0\0\1\xba" * 99, "film.sub")
    assert find_sidecars(tmp_path / "film.mp4", None) == []
    put(tmp_path, FILES["JSON"], "film.json")
    assert relative(find_sidecars(tmp_path / "film.mp4", None), tmp_path) == ["film.json"]


def test_missing_directory_is_an_input_error(tmp_path):
    with pytest.raises(InputError, match="is unreadable"):
        find_sidecars(tmp_path / "no" / "film.mp4", None)


def test_tags_of_a_file_given_for_a_video_are_those_of_the_search_or_the_last_parts_of_its_name():
    tags = {"My.film.en.forced": ["en", "forced"], "2_English": ["english"], "Latin American.spa": ["spa"]}
    tags |= {"film.pt-BR.sdh": ["pt-br", "sdh"], "film.en-" + "x" * 300: ["en"], "My.film": [], "film-no-way": []}
    assert {stem: sidecar_tags(stem, Path("film.mp4")) for stem in tags} == tags
    assert sidecar_tags("english", Path("english.mp4")) == []


def test_entry_that_is_a_loop_of_links_is_skipped(tmp_path):
    write_files(tmp_path, "film.mp4", "film.srt")
    for name in ("film.en.srt", "Subs"):
        (tmp_path / name).symlink_to(tmp_path / name)
    assert relative(find_sidecars(tmp_path / "film.mp4", None), tmp_path) == ["film.srt"]
