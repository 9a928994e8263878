"""Repairs of cues: scrolling captions, reversed and repeated times, clipping."""

from framesift.text.subtitles import read_events, read_report
from framesift.types import Event
from helpers.subtitle_files import put, subrip, triples


def test_scrolling_captions_give_one_event_per_new_line(tmp_path):
    text = (
        "WEBVTT\nKind: captions\nLanguage: en\n\n"
        "00:00:00.000 --> 00:00:01.990 align:start position:0%\n \nhello<00:00:00.320><c> everyone</c>\n\n"
        "00:00:01.990 --> 00:00:02.000 align:start position:0%\nhello everyone\n \n\n"
        "00:00:02.000 --> 00:00:03.990 align:start position:0%\nhello everyone\nwelcome<00:00:02.500><c> to</c>\n\n"
        "00:00:03.990 --> 00:00:04.000 align:start position:0%\nwelcome to\n \n\n"
        "00:00:04.000 --> 00:00:06.000 align:start position:0%\nwelcome to\nthe<00:00:04.500><c> show</c>\n"
    )
    events, report = read_report(put(tmp_path, text))
    assert triples(events) == [(0.0, 2.0, "hello everyone"), (2.0, 4.0, "welcome to"), (4.0, 6.0, "the show")]
    assert report.repairs == {"rolling lines merged": 4}
    assert report.cues == 5


def test_line_that_grows_word_by_word_is_one_event(tmp_path):
    text = subrip((0, 1, "GOOD"), (1, 2, "GOOD EVENING"), (2, 3, "GOOD EVENING\nTO"), (3, 4, "GOOD EVENING\nTO ALL"))
    assert triples(read_events(put(tmp_path, text))) == [(0.0, 2.0, "GOOD EVENING"), (2.0, 4.0, "TO ALL")]


def test_dialogue_that_repeats_one_line_is_not_scrolling(tmp_path):
    talk = [(k, k + 1, f"line {k}") for k in range(20)]
    talk[5:7] = [(5, 6, "- What?\n- Nothing."), (6, 7, "- Nothing.\n- Sure?")]
    texts = [e.text for e in read_events(put(tmp_path, subrip(*talk)))]
    assert texts[5:7] == ["- What? - Nothing.", "- Nothing. - Sure?"]


def test_times_and_repeats_are_repaired_and_counted(tmp_path):
    swapped = [(a, b, "swapped") for a, b in ((2, 1), (2.05, 3), (2.5, 4), (8, 9))]
    text = subrip((5, 6, "late"), *swapped, (9, 10, "<i></i>"))
    events, report = read_report(put(tmp_path, text))
    assert triples(events) == [(1.0, 4.0, "swapped"), (5.0, 6.0, "late"), (8.0, 9.0, "swapped")]
    assert report.repairs == {"empty dropped": 1, "times swapped": 1, "out of order": 1, "repeats merged": 2}


def test_events_with_the_same_start_keep_file_order(tmp_path):
    text = subrip((1, 2, "b"), (1, 3, "a"), (0.5, 1, "c"))
    assert [e.text for e in read_events(put(tmp_path, text))] == ["c", "b", "a"]


def test_offset_is_added_and_events_are_clipped_to_the_duration(tmp_path):
    path = put(tmp_path, subrip((0, 1, "gone"), (1, 3, "cut"), (4, 9, "cut too"), (12, 13, "gone too")))
    events, report = read_report(path, offset_s=-2.0, duration_s=5.0)
    assert events == [Event(0.0, 1.0, "cut"), Event(2.0, 5.0, "cut too")]
    assert report.repairs == {"outside dropped": 2, "clipped": 2}
