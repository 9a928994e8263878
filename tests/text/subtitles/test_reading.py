"""Reading of damaged and untrusted subtitle files: repaired events without markup, or an error with the reason."""

import json
import os
from itertools import product
from time import thread_time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from framesift.errors import InputError
from framesift.text.subtitles import read_events, read_report, reading
from framesift.types import Event
from helpers.examples import examples
from helpers.subtitle_files import FILES, put, subrip, triples


def outcome(path, **options):
    """Return the events and "", or no events and the error message."""
    try:
        return read_events(path, **options), ""
    except InputError as error:
        return [], str(error)


# Raw text of a cue: the text of its event.
CLEANED = {
    "<i>Hello</i> <B>you</B><br/>there": "Hello you there",
    "{\\an8}Top {\\i1}line{\\i0}\\Nnext\\hone": "Top line next one",
    "<laughs> x < y and y > z <3": "<laughs> x < y and y > z <3",
    "Tom &amp; Jerry&#39;s &quot;caf&eacute;&quot;&nbsp;&lt;3 AT&T &bogus; &#99999999999;": (
        'Tom & Jerry\'s "café" <3 AT&T &bogus; &#99999999999;'
    ),
    "- Who?\n- Me.": "- Who? - Me.",
    "MAN: Hi\t\t there  ": "MAN: Hi there",
    "a\x00b\x07c\x1b[0m\u200bd\ufeff": "abc[0md",
    "\u202eevil\u202c \u2067x\u2069": "evil x",
    "שלום \u200fעולם! 5%": "שלום \u200fעולם! 5%",
    "می\u200cروم 👨\u200d👩\u200d👧": "می\u200cروم 👨\u200d👩\u200d👧",
    "♪ La la ♪ [music]": "♪ La la ♪ [music]",
}


def test_markup_and_invisible_characters_are_removed(tmp_path):
    for raw, text in CLEANED.items():
        assert [e.text for e in read_events(put(tmp_path, subrip((1, 2, raw))))] == [text], raw


# File name, content, pattern of the message.
REJECTED = [
    ("a.srt", "", "a.srt contains no events: it is empty"),
    ("a.vtt", "WEBVTT\n", r"a.vtt contains no events: it has no WebVTT cue; first at 'WEBVTT'"),
    ("a.srt", "x\n1\n00:00:01,000 --> 00:00:02,000\n \n", r"no events: all its cues \(1\) are empty; first at 'x'"),
    ("a.srt", "1\n00:00:01,000 --> 00:0x\nHi\n", r"times of its cues are damaged; first at '00:00:01,000 --> 00:0x'"),
    ("a.json", "[]", "a.json contains no events"),
    ("a.srt", "Dear diary,\n", "a.srt is not a subtitle file: its ending is that of SubRip.*'Dear diary,'"),
    ("a.txt", "Dear diary," + "y" * 99, "a.txt is not a subtitle file: .*'Dear diary,y{49}…'"),
    ("a.srt", b"\x00\x01\x02\x03" * 30, "a.srt is not a subtitle file: it is binary"),
    ("a.json", '[{"name": "x"}]', r"""not a subtitle file: it is JSON, but none .*'\[?\{"name": "x"\}\]?'"""),
    ("a.json", '{"title": "x"}', "not a subtitle file: it is JSON, but contains no list of cues; first at 'title'"),
    ("a.json", '[{"start": 1,\n "end" 2}]', "a.json is unreadable: its JSON is damaged at line 2.*'\"end\" 2}]'"),
    ("a.json", "3", "not a subtitle file: it is JSON, but contains no list of cues; first at '3'"),
    ("a.json", "[{" + "[" * 100_000, "is unreadable|is not a subtitle file"),
    ("a.ttml", "<tt><body>\n<p begin='1s'>Hi</q>", "a.ttml is unreadable: its XML is damaged at line 2.*first at"),
    ("a.ttml", "<tt>" + "<div>" * 300, "nested deeper than 200"),
    ("a.smi", "<SAMI><SYNC Begin=1>x</SAMI>", "contains no events.*SYNC Begin=1"),
]


def test_file_without_events_is_rejected_with_reason_and_line(tmp_path):
    for name, content, message in REJECTED:
        with pytest.raises(InputError, match=message):
            read_events(put(tmp_path, content, name))


@pytest.mark.parametrize("entity", ['<!ENTITY a "ha">', '<!ENTITY a SYSTEM "file:///etc/passwd">', '<!ENTITY % a "x">'])
def test_xml_that_declares_entities_is_rejected(tmp_path, entity):
    text = f'<!DOCTYPE tt [{entity}]><tt><body><div><p begin="1s" end="2s">&a;</p></div></body></tt>'
    with pytest.raises(InputError, match="declares XML entities"):
        read_events(put(tmp_path, text))


@pytest.mark.parametrize("bad", ["missing.srt", "folder", "a\0b", "pipe"])
def test_path_that_is_not_a_file_is_rejected_without_reading(tmp_path, bad):
    (tmp_path / "folder").mkdir()
    if bad == "pipe":
        if not hasattr(os, "mkfifo"):
            pytest.skip("this system has no named pipes")
        os.mkfifo(tmp_path / bad)
    with pytest.raises(InputError, match="not a regular file" if bad == "pipe" else "is unreadable"):
        read_events(tmp_path / bad)


def test_file_above_the_size_limit_is_rejected_unread(tmp_path, monkeypatch):
    monkeypatch.setattr(reading, "MAX_BYTES", 2**20)
    with pytest.raises(InputError, match="it has 2 MiB; expected at most 1 MiB"):
        read_events(put(tmp_path, b" " * 2**21, "a.srt"))


def test_work_is_linear_on_hostile_text(tmp_path):
    """Each takes at most some 0.2 s of processor time; one pattern that is quadratic in the length would take 40 s."""
    fillers = ["<", "<v ", "{\\", "<!--", "[", "&", "&#9", "\n", "- ", "-->\n", "9", "(", " ", "<sync "]
    for kind, filler in product(["SubRip", "WebVTT", "SAMI", "SubStation", "TTML", "JSON"], fillers):
        hostile = FILES[kind].replace("Hello", "Hello" + filler * (400_000 // len(filler)))
        started = thread_time()
        events, message = outcome(put(tmp_path, hostile))
        assert events or "film.txt" in message, (kind, filler)
        assert thread_time() - started < 20, (kind, filler)


@pytest.mark.parametrize("options", [{"offset_s": float("nan")}, {"duration_s": 0.0}, {"duration_s": float("inf")}])
def test_options_that_are_not_seconds_are_rejected(tmp_path, options):
    with pytest.raises(InputError, match="expected"):
        read_events(put(tmp_path, FILES["SubRip"]), **options)


@st.composite
def mutations(draw):
    text, encoding = draw(st.sampled_from(sorted(FILES.values()))), draw(st.sampled_from(["utf-8", "utf-16", "cp037"]))
    data = bytearray(text.encode(encoding))
    pieces = st.sampled_from([b"<", b"{", b"-->", b"9" * 5000, b'"', b"NaN", b"1e999", b"\r", b"&"])
    for _ in range(draw(st.integers(1, 8))):
        at = draw(st.integers(0, len(data)))
        data[at : at + draw(st.integers(0, 20))] = draw(st.binary(max_size=8) | pieces)
    return bytes(data)


KEYS = ["start", "end", "text", "timestamp", "segments", "events", "tStartMs", "segs", "words", "line"]
JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.sampled_from(["1", "00:00:02.0", "-3", "x", ""]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=4),
    max_leaves=12,
)


def any_json():
    return JSON_VALUES.map(lambda value: json.dumps(value).encode())


NAMES = ["a.srt", "a.vtt", "a.ass", "a.ttml", "a.srv3", "a.sbv", "a.smi", "a.sub", "a.json", "a.jsonl", "a"]


@settings(max_examples=examples(400))
@given(st.binary(max_size=400) | mutations() | any_json(), st.sampled_from(NAMES), st.sampled_from([None, 3.0]))
def test_any_bytes_give_valid_events_or_an_input_error(tmp_path_factory, data, name, duration_s):
    path = put(tmp_path_factory.getbasetemp(), data, name)
    events, message = outcome(path, duration_s=duration_s)
    assert events or (name in message and "\n" not in message)
    assert [e.start_s for e in events] == sorted(e.start_s for e in events)
    for event in events:
        assert event.text and event.text == " ".join(event.text.split()) and event.text.encode()
        assert event.start_s >= 0 and (duration_s is None or event.end_s <= duration_s)


def test_report_warns_of_what_was_guessed_chosen_or_lost(tmp_path):
    sami = "<SAMI><STYLE>.A {lang:en-US;} .B {lang:fr-FR;}</STYLE><SYNC Start=0><P Class=A>Hi<P Class=B>Salut</SAMI>"
    cases = [
        (subrip((1, 2, "déjà vu à côté")).encode("cp1252"), ["a.srt is not UTF-8; it was read as windows-1252"]),
        (subrip((1, 2, "a")) + "2\n00:00:0x --> 00:00:09\nb\n", ["not all of it could be read: 1 cues with damaged"]),
        (sami, ["a.srt holds en, fr; en was used"]),
        ("{24}{48}a\n", ["a.srt states no frame rate; 23.976 frames per second were assumed"]),
        (subrip((1, 2, "plain")), []),
    ]
    for content, expected in cases:
        warnings = read_report(put(tmp_path, content, "a.srt"))[1].warnings
        assert len(warnings) == len(expected)
        assert all(text in warning for text, warning in zip(expected, warnings, strict=True)), warnings


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


def test_dialogue_that_repeats_one_line_is_not_scrolling(tmp_path):
    talk = [(k, k + 1, f"line {k}") for k in range(20)]
    talk[5:7] = [(5, 6, "- What?\n- Nothing."), (6, 7, "- Nothing.\n- Sure?")]
    texts = [e.text for e in read_events(put(tmp_path, subrip(*talk)))]
    assert texts[5:7] == ["- What? - Nothing.", "- Nothing. - Sure?"]


@pytest.mark.parametrize(
    ("cues", "expected"),
    [
        # A line that grows word by word.
        (
            [(0, 1, "GOOD"), (1, 2, "GOOD EVENING"), (2, 3, "GOOD EVENING\nTO"), (3, 4, "GOOD EVENING\nTO ALL")],
            [(0.0, 2.0, "GOOD EVENING"), (2.0, 4.0, "TO ALL")],
        ),
        # The same start: in the order of the file.
        ([(1, 2, "b"), (1, 3, "a"), (0.5, 1, "c")], [(0.5, 1.0, "c"), (1.0, 2.0, "b"), (1.0, 3.0, "a")]),
    ],
)
def test_growing_lines_are_one_event_and_equal_starts_keep_their_order(tmp_path, cues, expected):
    assert triples(read_events(put(tmp_path, subrip(*cues)))) == expected


def test_times_and_repeats_are_repaired_and_counted(tmp_path):
    swapped = [(a, b, "swapped") for a, b in ((2, 1), (2.05, 3), (2.5, 4), (8, 9))]
    text = subrip((5, 6, "late"), *swapped, (9, 10, "<i></i>"))
    events, report = read_report(put(tmp_path, text))
    assert triples(events) == [(1.0, 4.0, "swapped"), (5.0, 6.0, "late"), (8.0, 9.0, "swapped")]
    assert report.repairs == {"empty dropped": 1, "times swapped": 1, "out of order": 1, "repeats merged": 2}


def test_offset_is_added_and_events_are_clipped_to_the_duration(tmp_path):
    path = put(tmp_path, subrip((0, 1, "gone"), (1, 3, "cut"), (4, 9, "cut too"), (12, 13, "gone too")))
    events, report = read_report(path, offset_s=-2.0, duration_s=5.0)
    assert events == [Event(0.0, 1.0, "cut"), Event(2.0, 5.0, "cut too")]
    assert report.repairs == {"outside dropped": 2, "clipped": 2}
    with pytest.raises(InputError, match=r"all its cues \(4\) are outside the video"):
        read_events(path, offset_s=60.0, duration_s=5.0)
