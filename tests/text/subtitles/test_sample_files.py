"""Published subtitle files of many tools, some of them damaged."""

import pytest

from framesift.errors import InputError
from framesift.text.subtitles import read_events, read_report
from helpers.sample_data import SAMPLE_DATA

SUBTITLES = SAMPLE_DATA / "subtitles"
ELEPHANTS_DREAM = "elephantsdream/docs/examples/elephantsdream"
pytestmark = pytest.mark.sample_data

# File: number of events, first text, last text, repairs.
EXPECTED = {
    "webvtt/netflix_chicas_del_cable.vtt": (865, "[Alba] En 1928,", "Alba.", {}),
    "webvtt/youtube_dl.vtt": (3, "yeah", "this will happen is I'm telling", {"rolling lines merged": 2}),
    "webvtt/cue_tags.vtt": (3, "When the moon hits your eye", "That's amore", {}),
    "webvtt/comments.vtt": (3, "- Ta en kopp varmt te. - Det är inte varmt.", "- Ta en kopp", {}),
    "webvtt/styles.vtt": (1, "- Hello world.", "- Hello world.", {}),
    "webvtt/invalid_timeframe.vtt": (6, "Caption text #1", "Caption text #7", {"damaged times dropped": 1}),
    "webvtt/invalid_timeframe_in_cue_text.vtt": (3, "Caption text #1", "Caption text #3", {"empty dropped": 1}),
    "webvtt/missing_timeframe.srt": (4, "Caption text #1", "Caption text #5", {"untimed dropped": 1}),
    "webvtt/missing_caption_text.srt": (4, "Caption text #1", "Caption text #5", {"empty dropped": 1}),
    "webvtt/sample.sbv": (5, "Caption text #1", "Caption text #5", {"times swapped": 1}),
    "ttml_example.ttml": (11, "It seems a paradox, does it not,", "How truly delightful!", {}),
    "ttml_example2.ttml": (10, "TOP SAMPLE TEXT", "into the Pacific Ocean.", {}),
    "ttml_example_apple.ttml": (38, "When you were here be fore", "I don't be long here", {}),
    "whisper/radio_short.mp3.words.json": (
        43,
        "What are you telling me, guys?",
        "What are you telling me, dude?",
        {"repeats merged": 20},
    ),
    f"{ELEPHANTS_DREAM}/captions.ja.vtt": (77, "左に見えるのは…", "…あるって", {}),
    f"{ELEPHANTS_DREAM}/captions.ru.vtt": (84, "Слева мы видим...", "...она есть... есть...", {}),
    "../film/tears_of_steel_426.srt": (
        91,
        "We have main engine start, 4, 3, 2, 1, go!",
        "To be continued...",
        {"repeats merged": 8},
    ),
}


def test_sample_files_give_their_events():
    for name, expected in EXPECTED.items():
        events, report = read_report(SUBTITLES / name)
        assert (len(events), events[0].text, events[-1].text, report.repairs) == expected, name


def test_times_of_apples_lyrics_are_absolute():
    events = read_events(SUBTITLES / "ttml_example_apple.ttml")
    assert (events[0].start_s, events[0].end_s) == (19.764, 21.9)
    assert events[-1].end_s == pytest.approx(230.693)


def test_sample_files_without_events_are_rejected():
    for name in ("empty.vtt", "no_captions.vtt", "invalid_format2.srt", "invalid_format4.srt"):
        with pytest.raises(InputError, match=name):
            read_events(SUBTITLES / "webvtt" / name)
