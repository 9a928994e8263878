"""Subtitle files where they lie: beside a video, and the messy ones of the world."""

from pathlib import Path

import pytest

from framesift.errors import InputError
from framesift.text.subtitles import find_sidecars, read_events, read_report
from helpers.subtitle_files import FILES, put

DATA = Path(__file__).parents[3] / "shared" / "data"
real_files = pytest.mark.skipif(not (DATA / "subtitles").exists(), reason="the sample files are not here")


def touch(folder, *names):
    for name in names:
        path = folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(FILES["SubRip"])


def names_of(paths, folder):
    return [path.relative_to(folder).as_posix() for path in paths]


def test_sidecars_come_best_first(tmp_path):
    touch(
        tmp_path,
        "film.mp4",
        "film.srt",
        "film.vtt",
        "film.en.forced.srt",
        "film.eng.srt",
        "film.de.srt",
        "film.pt-BR.vtt",
    )
    touch(tmp_path, "film.trailer.srt", "film 2.srt", "filmed.srt", "film.mp4.ass", "film.txt", "Subs/film.fr.srt")
    expected = ["film.srt", "film.vtt", "film.mp4.ass", "film.eng.srt", "film.de.srt", "Subs/film.fr.srt"]
    expected += ["film.pt-BR.vtt", "film.en.forced.srt"]
    assert names_of(find_sidecars(tmp_path / "film.mp4"), tmp_path) == expected


def test_sidecars_in_the_language_asked_for_come_first(tmp_path):
    touch(tmp_path, "film.srt", "film.en.srt", "film.ger.srt", "subtitles/film.deu.forced.srt")
    found = names_of(find_sidecars(tmp_path / "film.mkv", language="de"), tmp_path)
    assert found == ["film.ger.srt", "subtitles/film.deu.forced.srt", "film.srt", "film.en.srt"]


def test_a_json_or_xml_beside_the_video_counts_only_if_it_holds_subtitles(tmp_path):
    put(tmp_path, '{"title": "my film"}', "film.json")
    put(tmp_path, "<movie/>", "film.xml")
    put(tmp_path, b"\0\0\1\xba" * 99, "film.sub")
    assert find_sidecars(tmp_path / "film.mp4") == []
    put(tmp_path, FILES["JSON"], "film.json")
    assert names_of(find_sidecars(tmp_path / "film.mp4"), tmp_path) == ["film.json"]


def test_sidecars_of_a_folder_that_is_not_there(tmp_path):
    with pytest.raises(InputError, match="is unreadable"):
        find_sidecars(tmp_path / "no" / "film.mp4")


@real_files
@pytest.mark.parametrize(
    ("name", "count", "first", "last", "repairs"),
    [
        ("webvtt/netflix_chicas_del_cable.vtt", 865, "[Alba] En 1928,", "Alba.", {}),
        ("webvtt/youtube_dl.vtt", 3, "yeah", "this will happen is I'm telling", {"rolling lines merged": 2}),
        ("webvtt/cue_tags.vtt", 3, "When the moon hits your eye", "That's amore", {}),
        ("webvtt/comments.vtt", 3, "- Ta en kopp varmt te. - Det är inte varmt.", "- Ta en kopp", {}),
        ("webvtt/styles.vtt", 1, "- Hello world.", "- Hello world.", {}),
        ("webvtt/invalid_timeframe.vtt", 6, "Caption text #1", "Caption text #7", {"damaged times dropped": 1}),
        ("webvtt/invalid_timeframe_in_cue_text.vtt", 3, "Caption text #1", "Caption text #3", {"empty dropped": 1}),
        ("webvtt/missing_timeframe.srt", 4, "Caption text #1", "Caption text #5", {"untimed dropped": 1}),
        ("webvtt/missing_caption_text.srt", 4, "Caption text #1", "Caption text #5", {"empty dropped": 1}),
        ("webvtt/sample.sbv", 5, "Caption text #1", "Caption text #5", {"times swapped": 1}),
        ("ttml_example.ttml", 11, "It seems a paradox, does it not,", "How truly delightful!", {}),
        ("ttml_example2.ttml", 10, "TOP SAMPLE TEXT", "into the Pacific Ocean.", {}),
        ("ttml_example_apple.ttml", 38, "When you were here be fore", "I don't be long here", {}),
        (
            "whisper/radio_short.mp3.words.json",
            43,
            "What are you telling me, guys?",
            "What are you telling me, dude?",
            {"repeats merged": 20},
        ),
        ("elephantsdream/docs/examples/elephantsdream/captions.ja.vtt", 77, "左に見えるのは…", "…あるって", {}),
        (
            "elephantsdream/docs/examples/elephantsdream/captions.ru.vtt",
            84,
            "Слева мы видим...",
            "...она есть... есть...",
            {},
        ),
        (
            "../film/tears_of_steel_426.srt",
            91,
            "We have main engine start, 4, 3, 2, 1, go!",
            "To be continued...",
            None,
        ),
    ],
)
def test_real_files(name, count, first, last, repairs):
    events, report = read_report(DATA / "subtitles" / name)
    assert (len(events), events[0].text, events[-1].text) == (count, first, last)
    assert report.repairs == ({"repeats merged": 8} if repairs is None else repairs)


@real_files
def test_real_lyrics_keep_apples_absolute_times():
    events = read_events(DATA / "subtitles" / "ttml_example_apple.ttml")
    assert (events[0].start_s, events[0].end_s) == (19.764, 21.9)
    assert events[-1].end_s == pytest.approx(230.693)


@real_files
@pytest.mark.parametrize("name", ["empty.vtt", "no_captions.vtt", "invalid_format2.srt", "invalid_format4.srt"])
def test_real_files_without_events(name):
    with pytest.raises(InputError, match=name):
        read_events(DATA / "subtitles" / "webvtt" / name)
