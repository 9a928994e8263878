"""Messy subtitle files: text is cleaned, times are mended, each repair is counted, and nothing fails without a word."""

import json
import os

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from framesift.errors import InputError
from framesift.text.subtitles import read_events, read_report, reading
from framesift.types import Event
from helpers.subtitle_files import FILES, put, triples


def srt(*cues):
    """SubRip of (start, end, text), in seconds below a minute."""
    return "".join(f"{k}\n00:00:{a:06.3f} --> 00:00:{b:06.3f}\n{text}\n\n" for k, (a, b, text) in enumerate(cues, 1))


def outcome(path, **options):
    """The events and "", or none and why."""
    try:
        return read_events(path, **options), ""
    except InputError as error:
        return [], str(error)


def one_text(tmp_path, text, **options):
    return " | ".join(e.text for e in read_events(put(tmp_path, srt((1, 2, text))), **options))


@pytest.mark.parametrize(
    ("raw", "shown"),
    [
        ("<i>Hello</i> <B>you</B><br/>there", "Hello you there"),
        ("{\\an8}Top {\\i1}line{\\i0}\\Nnext\\hone", "Top line next one"),
        ("<laughs> x < y and y > z <3", "<laughs> x < y and y > z <3"),
        ("Tom &amp; Jerry&#39;s &quot;caf&eacute;&quot;&nbsp;&lt;3 AT&T &bogus; &#99999999999;", None),
        ("- Who?\n- Me.", "- Who? - Me."),
        ("MAN: Hi\t\t there  ", "MAN: Hi there"),
        ("a\x00b\x07c\x1b[0m\u200bd\ufeff", "abc[0md"),
        ("\u202eevil\u202c \u2067x\u2069", "evil x"),
        ("שלום \u200fעולם! 5%", "שלום \u200fעולם! 5%"),
        ("می\u200cروم 👨\u200d👩\u200d👧", "می\u200cروم 👨\u200d👩\u200d👧"),
        ("♪ La la ♪ [music]", "♪ La la ♪ [music]"),
    ],
)
def test_text_comes_out_as_a_viewer_reads_it(tmp_path, raw, shown):
    shown = shown or 'Tom & Jerry\'s "café" <3 AT&T &bogus; &#99999999999;'
    assert one_text(tmp_path, raw) == shown


def test_lone_surrogates_never_reach_an_event(tmp_path):
    events = read_events(put(tmp_path, '[{"start": 0, "end": 1, "text": "a\\ud800b"}]'))
    assert events[0].text == "ab"


def test_notes_go_when_asked_but_words_and_speakers_stay(tmp_path):
    text = srt((1, 2, "[door slams]"), (2, 3, "♪ La la ♪"), (3, 4, "(SIGHS)\n- [Ann] Well (maybe)."), (4, 5, "♪♪"))
    events, report = read_report(put(tmp_path, text), keep_notes=False)
    assert [e.text for e in events] == ["La la", "- Well (maybe)."]
    assert report.repairs == {"notes dropped": 4}
    assert len(read_events(put(tmp_path, text))) == 4


def test_scrolling_captions_become_one_event_per_new_line(tmp_path):
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


def test_a_line_that_grows_word_by_word_is_one_event(tmp_path):
    text = srt((0, 1, "GOOD"), (1, 2, "GOOD EVENING"), (2, 3, "GOOD EVENING\nTO"), (3, 4, "GOOD EVENING\nTO ALL"))
    assert triples(read_events(put(tmp_path, text))) == [(0.0, 2.0, "GOOD EVENING"), (2.0, 4.0, "TO ALL")]


def test_dialogue_that_repeats_a_line_once_is_no_scroll(tmp_path):
    talk = [(k, k + 1, f"line {k}") for k in range(20)]
    talk[5:7] = [(5, 6, "- What?\n- Nothing."), (6, 7, "- Nothing.\n- Sure?")]
    assert [e.text for e in read_events(put(tmp_path, srt(*talk)))][5:7] == ["- What? - Nothing.", "- Nothing. - Sure?"]


def test_times_and_repeats_are_mended_and_counted(tmp_path):
    text = srt(
        (5, 6, "late"),
        (2, 1, "swapped"),
        (2.05, 3, "swapped"),
        (2.5, 4, "swapped"),
        (8, 9, "swapped"),
        (9, 10, "<i></i>"),
    )
    events, report = read_report(put(tmp_path, text))
    assert triples(events) == [(1.0, 4.0, "swapped"), (5.0, 6.0, "late"), (8.0, 9.0, "swapped")]
    assert report.repairs == {"empty dropped": 1, "times swapped": 1, "out of order": 1, "repeats merged": 2}


def test_events_at_one_time_keep_the_order_of_the_file(tmp_path):
    text = srt((1, 2, "b"), (1, 3, "a"), (0.5, 1, "c"))
    assert [e.text for e in read_events(put(tmp_path, text))] == ["c", "b", "a"]


def test_offset_is_added_and_the_duration_clips(tmp_path):
    path = put(tmp_path, srt((0, 1, "gone"), (1, 3, "cut"), (4, 9, "cut too"), (12, 13, "gone too")))
    events, report = read_report(path, offset_s=-2.0, duration_s=5.0)
    assert events == [Event(0.0, 1.0, "cut"), Event(2.0, 5.0, "cut too")]
    assert report.repairs == {"outside dropped": 2, "clipped": 2}


LINES = {
    "fr": "Où étais-tu hier soir ?\nÇa va être très drôle, garçon.\nÀ bientôt, mon frère.",
    "pl": "Cześć, jak się masz?\nDziękuję, świetnie.\nWszystko będzie dobrze, proszę pani.",
    "hu": "Nem tudom, hová tűnt.\nJó reggelt, hogy vagy?\nKöszönöm, jól. Ő is jön később.",
    "ru": "Я не знаю, где он.\nНам нужно идти домой.\nДоброе утро, как дела?",
    "el": "Δεν ξέρω πού είναι.\nΠρέπει να φύγουμε τώρα.\nΚαλημέρα, τι κάνεις;",
    "tr": "Nerede olduğunu bilmiyorum.\nŞimdi gitmemiz gerekiyor, çünkü geç oldu.\nİyiyim, teşekkür ederim.",
    "he": "אני לא יודע איפה הוא.\nאנחנו חייבים ללכת עכשיו.\nבוקר טוב, מה שלומך?",
    "ja": "彼がどこにいるか知りません。\nもう行かなければなりません。\nおはようございます、お元気ですか？",
    "zh": "我不知道他在哪里。\n我们现在必须走了。\n早上好，你好吗？谢谢你。",
    "ko": "그가 어디에 있는지 모르겠어요.\n우리는 지금 가야 합니다.\n안녕하세요, 감사합니다.",
}


@pytest.mark.parametrize(
    ("language", "encoding"),
    [
        ("fr", "cp1252"),
        ("pl", "cp1250"),
        ("hu", "cp1250"),
        ("ru", "cp1251"),
        ("ru", "koi8_r"),
        ("el", "cp1253"),
        ("tr", "cp1254"),
        ("he", "cp1255"),
        ("ja", "cp932"),
        ("ja", "euc_jp"),
        ("zh", "gb18030"),
        ("ko", "cp949"),
        *((language, encoding) for language in ("fr", "ru", "ja") for encoding in ("utf-8", "utf-16-le", "utf-16-be")),
    ],
)
@pytest.mark.parametrize("line_end", ["\n", "\r\n", "\r"])
def test_any_encoding_is_found(tmp_path, language, encoding, line_end):
    lines = LINES[language].split("\n")
    text = srt(*((2 * k, 2 * k + 1, line) for k, line in enumerate(lines))).replace("\n", line_end)
    events, report = read_report(put(tmp_path, text.encode(encoding)))
    assert [e.text for e in events] == lines
    assert report.encoding == encoding


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-32"])
def test_a_byte_order_mark_decides(tmp_path, encoding):
    assert read_events(put(tmp_path, FILES["WebVTT"].encode(encoding)))[0].text == "Hello there, you"


def test_a_damaged_byte_does_not_make_utf8_something_else(tmp_path):
    data = srt((0, 1, LINES["ru"].replace("\n", " ")), (1, 2, "да")).encode()
    events, report = read_report(put(tmp_path, data[:-3] + b"\n"))
    assert events[0].text.startswith("Я не знаю")
    assert report.encoding == "utf-8" and report.repairs == {"characters replaced": 1}


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.srt", "", "a.srt contains no events: it is empty"),
        ("a.vtt", "WEBVTT\n", r"a.vtt contains no events: it has no WebVTT cue; first at 'WEBVTT'"),
        (
            "a.srt",
            "x\n1\n00:00:01,000 --> 00:00:02,000\n \n",
            r"contains no events: all its cues \(1\) are empty; first at 'x'",
        ),
        (
            "a.srt",
            "1\n00:00:01,000 --> 00:0x\nHi\n",
            r"the times of its cues are damaged; first at '00:00:01,000 --> 00:0x'",
        ),
        ("a.json", "[]", "a.json contains no events"),
        ("a.srt", "Dear diary,\n", "a.srt is not a subtitle file: its ending is that of SubRip.*'Dear diary,'"),
        ("a.txt", "Dear diary," + "y" * 99, "a.txt is not a subtitle file: .*'Dear diary,y{49}…'"),
        ("a.srt", b"\x00\x01\x02\x03" * 30, "a.srt is not a subtitle file: it is binary"),
        ("a.json", '[{"name": "x"}]', r"""not a subtitle file: it is JSON, but none .*'\[?\{"name": "x"\}\]?'"""),
        ("a.json", '{"title": "x"}', "not a subtitle file: it is JSON, but contains no list of cues; first at 'title'"),
        ("a.json", '[{"start": 1,\n "end" 2}]', "a.json is unreadable: its JSON is damaged at line 2.*'\"end\" 2}]'"),
        ("a.json", "[{" + "[" * 100_000, "is unreadable|is not a subtitle file"),
        ("a.ttml", "<tt><body>\n<p begin='1s'>Hi</q>", "a.ttml is unreadable: its XML is damaged at line 2.*first at"),
        ("a.ttml", "<tt>" + "<div>" * 300, "nested deeper than 200"),
        ("a.smi", "<SAMI><SYNC Begin=1>x</SAMI>", "contains no events.*SYNC Begin=1"),
    ],
)
def test_a_file_without_events_says_which_kind_of_failure_and_where(tmp_path, name, content, message):
    with pytest.raises(InputError, match=message):
        read_events(put(tmp_path, content, name))


@pytest.mark.parametrize("entity", ['<!ENTITY a "ha">', '<!ENTITY a SYSTEM "file:///etc/passwd">', '<!ENTITY % a "x">'])
def test_xml_that_declares_entities_is_refused(tmp_path, entity):
    text = f'<!DOCTYPE tt [{entity}]><tt><body><div><p begin="1s" end="2s">&a;</p></div></body></tt>'
    with pytest.raises(InputError, match="declares XML entities"):
        read_events(put(tmp_path, text))


@pytest.mark.parametrize("bad", ["missing.srt", "folder", "a\0b"])
def test_what_is_no_file_is_unreadable(tmp_path, bad):
    (tmp_path / "folder").mkdir()
    with pytest.raises(InputError, match="is unreadable"):
        read_events(tmp_path / bad)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes here")
def test_a_pipe_is_refused_and_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "pipe.srt")
    with pytest.raises(InputError, match="not a regular file"):
        read_events(tmp_path / "pipe.srt")


def test_a_file_far_too_large_is_refused_unread(tmp_path, monkeypatch):
    monkeypatch.setattr(reading, "MAX_BYTES", 2**20)
    with pytest.raises(InputError, match="it has 2 MiB; expected at most 1 MiB"):
        read_events(put(tmp_path, b" " * 2**21, "a.srt"))


@pytest.mark.parametrize(
    "filler", ["<", "<v ", "{\\", "<!--", "[", "&", "&#9", "\n", "- ", "-->\n", "9", "(", " ", "<sync "]
)
@pytest.mark.parametrize("kind", ["SubRip", "WebVTT", "SAMI", "SubStation", "TTML", "JSON"])
def test_work_stays_linear_on_hostile_text(tmp_path, kind, filler):
    # 300,000 characters: a pattern that looked from each to the end would take minutes.
    text = FILES[kind].replace("Hello", "Hello" + filler * (300_000 // len(filler)))
    events, message = outcome(put(tmp_path, text), keep_notes=False)
    assert events or "film.txt" in message


@pytest.mark.parametrize("options", [{"offset_s": float("nan")}, {"duration_s": 0.0}, {"duration_s": float("inf")}])
def test_options_that_are_no_seconds_are_refused(tmp_path, options):
    with pytest.raises(InputError, match="expected"):
        read_events(put(tmp_path, FILES["SubRip"]), **options)


@st.composite
def mutations(draw):
    data = bytearray(
        draw(st.sampled_from(sorted(FILES.values()))).encode(draw(st.sampled_from(["utf-8", "utf-16", "cp037"])))
    )
    for _ in range(draw(st.integers(1, 8))):
        at = draw(st.integers(0, len(data)))
        data[at : at + draw(st.integers(0, 20))] = draw(
            st.one_of(
                st.binary(max_size=8),
                st.sampled_from([b"<", b"{", b"-->", b"9" * 5000, b'"', b"NaN", b"1e999", b"\r", b"&"]),
            )
        )
    return bytes(data)


@settings(max_examples=400, deadline=None)
@given(
    data=st.one_of(st.binary(max_size=400), mutations()),
    name=st.sampled_from(
        ["a.srt", "a.vtt", "a.ass", "a.ttml", "a.srv3", "a.sbv", "a.smi", "a.sub", "a.json", "a.jsonl", "a"]
    ),
    keep_notes=st.booleans(),
    duration_s=st.sampled_from([None, 3.0]),
)
def test_any_bytes_give_good_events_or_an_input_error(tmp_path_factory, data, name, keep_notes, duration_s):
    path = put(tmp_path_factory.getbasetemp(), data, name)
    events, message = outcome(path, keep_notes=keep_notes, duration_s=duration_s)
    assert events or (name in message and "\n" not in message)
    assert [e.start_s for e in events] == sorted(e.start_s for e in events)
    for event in events:
        assert event.text and event.text == " ".join(event.text.split()) and event.text.encode()
        assert event.start_s >= 0 and (duration_s is None or event.end_s <= duration_s)


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.sampled_from(["1", "00:00:02.0", "-3", "x", ""]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["start", "end", "text", "timestamp", "segments", "events", "tStartMs", "segs", "words", "line"]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@settings(max_examples=300, deadline=None)
@given(data=JSON_VALUES)
def test_any_json_gives_good_events_or_an_input_error(tmp_path_factory, data):
    path = put(tmp_path_factory.getbasetemp(), json.dumps(data), "a.json")
    events, message = outcome(path)
    assert events or "a.json" in message
