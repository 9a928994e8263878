"""Finding a video's timestamped text: the order of the sources, the notes, and what is stored."""

import shutil

import pytest

import framesift as fs
from framesift.store.store import cached_text_vectors
from framesift.text import finding
from helpers.clips import make_clip
from helpers.encoders import GridEncoder
from helpers.text_search import search_events

SRT = "1\n00:00:0{start},000 --> 00:00:0{end},500\n{text}\n\n"


def srt(*texts):
    return "".join(SRT.format(start=k + 1, end=k + 1, text=text) for k, text in enumerate(texts))


@pytest.fixture(scope="module")
def silent(tmp_path_factory):
    return make_clip(tmp_path_factory.mktemp("clips") / "silent.mp4", seconds=12)


@pytest.fixture
def video(silent, tmp_path):
    return shutil.copy(silent, tmp_path / "video.mp4")


def put(folder, files):
    for name, text in files.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text if "\n" in text else srt(text), encoding="utf-8")


ENGLISH = {"video.en.srt": "english", "video.de.srt": "deutsch"}
FRENCH = "WEBVTT\nLanguage: fr\n\n00:01.000 --> 00:02.000\nbonjour\n"
OTHERS = "video.de.srt (de), french.srt (fr), Subs/ja.srt (ja); choose with --subtitles or --set language=CODE"
STATED = "video.srt does not state its language; it is taken for 'ja'"
# Files, settings: the texts found, and every warning.
CHOICES = {
    "a named file": ({"video.srt": "beside", "other.srt": "named"}, {"subtitles": "other.srt"}, ["named"], []),
    "none": ({"video.srt": "beside"}, {"subtitles": "none"}, [], []),
    "an unreadable file is skipped": ({"video.srt": "nothing of\nthe kind"}, {}, [], ["video.srt is not a"]),
    "one of several": (
        ENGLISH | {"french.srt": "français", "Subs/ja.srt": "日本語"}, {}, ["english"],
        [f"video.en.srt (en) was used; also found: {OTHERS}"],
    ),
    "one in the language": (ENGLISH | {"video.srt": "unstated"}, {"language": "de"}, ["deutsch"], []),
    "one in the language's script": ({"video.srt": "どこへ行くの"}, {"language": "ja"}, ["どこへ行くの"], [STATED]),
}  # fmt: skip


@pytest.mark.parametrize("case", CHOICES)
def test_file_is_chosen_by_name_and_language(video, tmp_path, case):
    files, settings, texts, warnings = CHOICES[case]
    put(tmp_path, files)
    if settings.get("subtitles", "none") != "none":
        settings = {"subtitles": tmp_path / settings["subtitles"]}
    found = search_events(video, recognise_speech=False, store=tmp_path / "store", **settings)
    assert [event.text for event in found.events] == texts
    assert len(found.warnings) == len(warnings)
    assert all(part in warning for part, warning in zip(warnings, found.warnings, strict=True)), found.warnings


@pytest.mark.parametrize(
    ("files", "named", "message"),
    [
        (
            ENGLISH | {"video.srt": "unstated", "subtitles.vtt": FRENCH}, None,
            r"video.mp4 has no text in 'ja', only video.srt \(another script\), subtitles.vtt \(fr\), "
            r"video.en.srt \(en\), video.de.srt \(de\); choose",
        ),
        ({"a.vtt": FRENCH}, "a.vtt", r"a\.vtt has no text in 'ja'; it states fr"),
    ],
)  # fmt: skip
def test_language_that_is_not_there_is_an_error_that_lists_what_is(video, tmp_path, files, named, message):
    put(tmp_path, files)
    with pytest.raises(fs.InputError, match=message):
        search_events(video, subtitles=tmp_path / named if named else "auto", language="ja", store=tmp_path / "store")


def test_language_file_beside_several_videos_is_noted_but_not_used(video, tmp_path):
    shutil.copy(video, tmp_path / "other.mp4")
    put(tmp_path, {"english.srt": "hello"})
    found = search_events(video, recognise_speech=False, store=tmp_path / "store")
    assert found.events == ()
    assert any(note.startswith("english.srt: not used, since there are several videos") for note in found.notes)


def test_notes_list_the_sources_tried_whatever_the_language(video, tmp_path):
    found = search_events(video, language="ja", store=tmp_path / "store")
    assert found.events == ()
    expected = ("no subtitle file beside", "no embedded text track", "no audio", "screen_text=true")
    assert all(part in " ".join(found.notes) for part in expected)


def test_span_is_the_share_between_first_and_last_event(video, tmp_path):
    (tmp_path / "video.srt").write_text(srt("a", "b", "c", "d"))
    assert search_events(video, store=tmp_path / "store").span == pytest.approx(3.5 / 12, abs=0.01)


@pytest.fixture
def speak(video, monkeypatch):
    """Makes an engine recognise these words in the video."""

    def use(engine, words):
        spoken = [fs.Event(1.0, 2.0, words, "speech")]
        monkeypatch.setattr(finding, "probe", lambda _: fs.VideoInfo(str(video), 12.0, has_audio=True))
        monkeypatch.setattr(finding.speech, "engine_name", lambda _: engine)
        monkeypatch.setattr(finding.speech, "recognise", lambda *_: spoken)

    return use


def test_speech_is_recognised_once_by_each_version(video, tmp_path, speak, monkeypatch):
    heard = []
    for version, words in ((1, "first"), (1, "again"), (2, "by a later version")):
        monkeypatch.setattr(finding.speech, "VERSION", version)
        speak("moonshine", words)
        heard += [event.text for event in fs.find_events(video, store=tmp_path / "store")]
    assert heard == ["first", "first", "by a later version"]


def test_quick_waits_for_no_speech_recognition(video, tmp_path, speak):
    speak("moonshine", "what was said")
    settings = {"encoder": GridEncoder(), "store": tmp_path / "store"}
    counts = [len(fs.open(video, quick=quick, **settings).events) for quick in (True, False, True)]
    assert counts == [0, 1, 1]


@pytest.mark.parametrize(("fingerprint", "encoded"), [(GridEncoder.fingerprint, 2), ("unknown", 4)])
def test_text_vectors_are_computed_once_per_distinct_text_if_the_encoder_has_a_fingerprint(
    tmp_path, fingerprint, encoded
):
    encoder = GridEncoder()
    encoder.fingerprint, texts, encode = fingerprint, [], encoder.encode_texts
    encoder.encode_texts = lambda given: texts.extend(given) or encode(given)
    first, again = (cached_text_vectors(encoder, ["a", "b", "a"], tmp_path) for _ in range(2))
    assert len(texts) == encoded
    assert (first == again).all() and (first[0] == first[2]).all()


def test_events_can_be_scored_by_a_sentence_encoder(silent, tmp_path):
    index = fs.index(silent, GridEncoder(), store=tmp_path)
    events = [fs.Event(1.0, 2.0, "the ship sank in the storm"), fs.Event(8.0, 9.0, "a recipe for soup")]
    options = {"budget": 4, "encoder": GridEncoder(), "store": tmp_path}
    selection = fs.select(index, "Why did the boat go down?", events=events, event_encoder="minilm", **options)
    first, second = selection.trace["ground"]["events"]
    assert first["text_relevance"] > second["text_relevance"] + 0.1


def test_speech_replaces_subtitles_in_other_languages_only_with_an_engine_that_supports_it(video, tmp_path, speak):
    put(tmp_path, {"video.en.srt": "english"})
    speak("moonshine", "音声")
    with pytest.raises(fs.InputError, match=r"only video\.en\.srt"):
        search_events(video, language="ja", store=tmp_path / "store")
    speak("whisper:small", "音声")
    found = search_events(video, language="ja", store=tmp_path / "store")
    assert [event.text for event in found.events] == ["音声"]
    heard, missing = found.warnings
    assert heard == "the text is speech recognised by whisper:small"
    assert missing == "there are no subtitles in 'ja', only video.en.srt (en)"
