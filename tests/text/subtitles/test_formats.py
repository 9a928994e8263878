"""Detection and parsing of each subtitle format, and round trips through pysubs2."""

import json

import pysubs2
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from framesift.text.subtitles import read_events, read_report
from helpers.examples import examples
from helpers.subtitle_files import FILES, TWO, YOUTUBE_HEAD, put, triples


def test_format_is_detected_by_content_alone(tmp_path):
    for kind, content in FILES.items():
        events, report = read_report(put(tmp_path, content))
        first_end_s = 2.52 if kind == "MicroDVD" else 2.5
        assert triples(events) == [(1.0, first_end_s, TWO[0][2]), TWO[1]], kind
        assert (report.format, report.cues, report.encoding, report.repairs) == (kind, 2, "utf-8", {})


JSON_OF_TOOLS = [
    {"text": "all", "segments": [{"start": 1, "end": 2.5, "text": " Hello there, you", "words": []}]},
    {"segments": [{"start": 1, "end": 2.5, "words": [{"word": "Hello "}, {"word": "there,"}, {"text": "you"}]}]},
    {"chunks": [{"timestamp": [1.0, 2.5], "text": "Hello there, you"}]},
    {"transcription": [{"timestamps": {"from": "00:00:01,000", "to": "00:00:02,500"}, "text": "Hello there, you"}]},
    {"body": [{"from": 1, "to": 2.5, "content": "Hello there, you"}]},
    [{"start": 1, "duration": 1.5, "text": "Hello there, you"}],
    {"start": "1.0", "end": "2,5", "text": "Hello there, you"},
]


def test_json_of_every_tool_gives_the_same_event(tmp_path):
    for data in JSON_OF_TOOLS:
        assert triples(read_events(put(tmp_path, json.dumps(data)))) == [TWO[0]], data


def test_damaged_lines_of_json_lines_are_counted(tmp_path):
    lines = '{"start": 1, "end": 2, "text": "a"}\n\n{"start": 2, "end"\n{"start": 3, "end": 4, "text": "b"}\n'
    events, report = read_report(put(tmp_path, lines, "film.jsonl"))
    assert [e.text for e in events] == ["a", "b"]
    assert report.repairs == {"unreadable dropped": 1}


JSON3 = [
    {"tStartMs": 0, "dDurationMs": 9000, "id": 1, "wpWinPosId": 1},
    {"tStartMs": 1000, "dDurationMs": 4000, "segs": [{"utf8": "hello"}, {"utf8": " all", "tOffsetMs": 5}]},
    {"tStartMs": 2990, "dDurationMs": 2000, "wWinId": 1, "aAppend": 1, "segs": [{"utf8": "\n"}]},
    {"tStartMs": 3000, "dDurationMs": 4000, "wWinId": 1, "segs": [{"utf8": "welcome"}]},
]
TIMES_OF_SUBRIP = (
    "0:0:1.000->0:0:2.5",
    "00:00:01:000 --> 00:00:02:500  X1:117 X2:619",
    "00:00:01, 000 -- > 00:00:02, 500",
    "  00:01,000-->00:02,500",
)
SETTINGS_OF_WEBVTT = ("line:40%", "align:start position:0%", "\tline:0", "?!", "X1:100 X2:200")
PARAGRAPH = '<tt><body><div><p begin="1s" end="2s">{}</p></div></body></tt>'
# A rule of a format: a file, and its events.
RULES = {
    "an end that is no number is the next start": (
        '[{"timestamp": [1.0, NaN], "text": "a"}, {"timestamp": [4.0, null], "text": "b"}]',
        [(1.0, 4.0, "a"), (4.0, 6.0, "b")],
    ),
    "segments of JSON3 are joined and end at the next line": (
        json.dumps({"wireMagic": "pb3", "events": JSON3}), [(1.0, 3.0, "hello all"), (3.0, 7.0, "welcome")],
    ),
    "words of srv3 are joined and its times are milliseconds": (
        YOUTUBE_HEAD + '<timedtext format="3"><head><ws id="0"/></head><body>'
        '<p t="1000" d="4000" w="1"><s>hello</s><s t="300"> all</s></p><p t="2990" d="2000" w="1" a="1">\n</p>'
        '<p t="3000" d="4000" w="1">wel&amp;#39;come</p></body></timedtext>',
        [(1.0, 3.0, "hello all"), (3.0, 7.0, "wel'come")],
    ),
    "times of TTML are nested and sequential": (
        '<tt><body begin="1.0s"><div begin="0.5s" end="2.0s"><p>all of it</p><p begin="0.1s">open</p></div>'
        '<div timeContainer="seq" begin="2s"><p dur="0.2s">one</p><p begin="0.1s" dur="0.2s">two</p></div></body></tt>',
        [(1.5, 3.0, "all of it"), (1.6, 3.0, "open"), (3.0, 3.2, "one"), (3.3, 3.5, "two")],
    ),
    "spans of TTML are cues only in a paragraph without time": (
        '<tt><body dur="60s"><div><p><span begin="1s" end="2s">one</span><br/><span begin="2s" end="3s">two</span></p>'
        '<p begin="4s" end="6s"><span begin="0s">ka</span><span begin="1s">raoke</span></p></div></body></tt>',
        [(1.0, 2.0, "one"), (2.0, 3.0, "two"), (4.0, 6.0, "karaoke")],
    ),
    "a time of TTML that is none counts as missing": (
        '<tt><body><p begin="1s" end="soon" dur="2s">one</p></body></tt>', [(1.0, 3.0, "one")],
    ),
    "metadata is no text": (PARAGRAPH.format("<ttm:desc>a door</ttm:desc>Hi"), [(1.0, 2.0, "Hi")]),
    "entities of HTML and bare ampersands are read in XML": (
        PARAGRAPH.format("caf&eacute;&nbsp;R&D &lt;b> A&B;"), [(1.0, 2.0, "café R&D A&B;")],
    ),
    "a block of SAMI lasts until the next": (
        "<sami><body><sync start=1000>one<sync start='2000'>two</body></sami>", [(1.0, 2.0, "one"), (2.0, 9.0, "two")],
    ),
    "a first cue of MicroDVD that is no frame rate is text": (
        "{1}{1}1e9\n{24}{48}One\n", [(0.042, 0.042, "1e9"), (1.001, 2.002, "One")],
    ),
    "voices of WebVTT become speakers and tags are removed": (
        "WEBVTT\n\nSTYLE\n::cue { color: red }\n\nNOTE a remark\nover two lines\n\n00:01.000 --> 00:02.000\n"
        "<v.loud Roger Bing>We <c.yellow>are</c> in <00:01.500>New York\n<v Roger Bing>now</v>\n\n"
        "00:02.000 --> 00:03.000\n<v Ann><i>Really</i>? &lt;i&gt;\n",
        [(1.0, 2.0, "Roger Bing: We are in New York now"), (2.0, 3.0, "Ann: Really? <i>")],
    ),
}  # fmt: skip
HI = [(1.0, 2.5, "Hi")]
RULES |= {times: (f"1\n{times}\nHi\n", HI) for times in TIMES_OF_SUBRIP}
RULES |= {given: (f"WEBVTT\n\n00:01.000-->00:02.500{given}\nHi\n", HI) for given in SETTINGS_OF_WEBVTT}


@pytest.mark.parametrize("rule", RULES)
def test_rule_of_a_format(tmp_path, rule):
    content, expected = RULES[rule]
    duration_s = 9.0 if "SAMI" in rule else None
    assert triples(read_events(put(tmp_path, content), duration_s=duration_s)) == expected


NTSC = 'ttp:frameRate="30" ttp:frameRateMultiplier="1000 1001" ttp:timeBase="smpte"'
# Attributes of <tt>, a time, its seconds.
TTML_TIMES = [
    ('ttp:frameRate="25"', "00:00:02:05", 2.2),
    ('ttp:frameRate="24" ttp:frameRateMultiplier="1000 1001"', "48f", 2.002),
    (NTSC, "00:00:02:00", 2.002),
    (NTSC + ' ttp:dropMode="dropNTSC"', "01:00:00:00", 3599.996),
    ('ttp:tickRate="10000000"', "15000000t", 1.5),
    ("", "1500ms", 1.5),
    ("", "0.5m", 30.0),
    ("", "1:02.5", 62.5),
    ('ttp:frameRate="0" ttp:tickRate="nonsense"', "2t", 2 / 30),
]


def test_ttml_times_follow_the_time_base(tmp_path):
    for attributes, begin, seconds in TTML_TIMES:
        text = f'<tt xmlns:ttp="urn:p" {attributes}><body><div><p begin="{begin}" dur="1s">Hi</p></div></body></tt>'
        assert read_events(put(tmp_path, text))[0].start_s == pytest.approx(seconds, abs=1e-3), (attributes, begin)


@pytest.mark.parametrize(("language", "texts"), [(None, ["Annyeong"]), ("en-GB", ["Hello"]), ("fr", ["Annyeong"])])
def test_one_language_is_read_from_a_file_with_two(tmp_path, language, texts):
    text = (
        "<SAMI><STYLE><!-- .KRCC {lang:ko-KR;} .ENCC {Name:English; lang: en-US;} --></STYLE><BODY>"
        "<SYNC Start=1000><P Class=KRCC>Annyeong<P Class=ENCC>Hello<SYNC Start=2000><P Class=KRCC>&nbsp;"
    )
    events, report = read_report(put(tmp_path, text), language=language)
    assert [e.text for e in events] == texts
    assert report.repairs["other languages left out"] == 1


def test_microdvd_without_a_frame_rate_assumes_and_reports_one(tmp_path):
    events, report = read_report(put(tmp_path, "{24}{48}One\n{72}{}Two\n", "film.sub"))
    assert triples(events) == [(1.001, 2.002, "One"), (3.003, 5.003, "Two")]
    assert report.repairs == {"frame rate assumed": 1, "open ends closed": 1}


def test_subrip_with_missing_and_extra_empty_lines_is_parsed(tmp_path):
    text = (
        "1\n00:00:01,000 --> 00:00:02,000\nOne\n2\n00:00:02,000 --> 00:00:03,000\n\nTwo\n\nstill two\n\n"
        "3\n00:00:03,000 --> 00:00:04,000\n1999\n\n\n4\nno times\n\n5\n00:00:05,000 --> 00:00:0x,000\nbad\n\n"
        "6\n00:00:06,000 --> 00:00:07,000\nSix"
    )
    events, report = read_report(put(tmp_path, text))
    assert [e.text for e in events] == ["One", "Two still two", "1999", "Six"]
    assert report.repairs == {"untimed dropped": 1, "damaged times dropped": 1}


WORDS = st.text(st.characters(categories=("L", "Nd")), min_size=1, max_size=8)
TEXTS = st.lists(WORDS, min_size=1, max_size=5).map(" ".join)


@st.composite
def cue_lists(draw):
    times = draw(st.lists(st.integers(1, 36_000), min_size=2, max_size=12, unique=True))
    times = sorted(times)[: len(times) // 2 * 2]
    texts = draw(st.lists(TEXTS, min_size=len(times) // 2, max_size=len(times) // 2, unique=True))
    # Starting with a letter, so that no text looks like the number of a cue or the start of another format.
    return [(a / 10, b / 10, f"w {text}") for a, b, text in zip(times[::2], times[1::2], texts, strict=True)]


@pytest.mark.parametrize("kind", ["srt", "vtt", "ass", "ssa", "ttml"])
@settings(max_examples=examples(40))
@given(cues=cue_lists())
def test_file_written_by_pysubs2_is_read_back_unchanged(tmp_path_factory, kind, cues):
    subs = pysubs2.SSAFile()
    for start_s, end_s, text in cues:
        subs.append(pysubs2.SSAEvent(round(start_s * 1000), round(end_s * 1000), text.replace(" ", "\\N", 1)))
    path = tmp_path_factory.getbasetemp() / f"round.{kind}"
    subs.save(str(path), encoding="utf-8")
    assert triples(read_events(path)) == [(round(a, 3), round(b, 3), t) for a, b, t in cues]


def test_languages_that_a_file_states_are_reported(tmp_path):
    webvtt = "WEBVTT\nKind: captions\nLanguage: pt-BR\n\n00:01.000 --> 00:02.000\nOi\n"
    whisper = '{"language": "japanese", "segments": [{"start": 1, "end": 2, "text": "a"}]}'
    stated = {webvtt: ("pt",), whisper: ("ja",), FILES["TTML"]: ("en",), FILES["SAMI"]: ("en",), FILES["SubRip"]: ()}
    for content, languages in stated.items():
        assert read_report(put(tmp_path, content))[1].languages == languages


def test_single_words_of_json_lines_are_joined_to_sentences(tmp_path):
    words = "So we have to put it off . The wind is far too strong today .".replace(" .", ".").split()
    rows = [{"text": word, "start_time": 0.4 * k, "end_time": 0.4 * k + 0.3} for k, word in enumerate(words)]
    events, _ = read_report(put(tmp_path, "\n".join(map(json.dumps, rows)), "017.jsonl"))
    assert [event.text for event in events] == ["So we have to put it off.", "The wind is far too strong today."]
    assert events[1].start_s == pytest.approx(2.8)
