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


def test_named_file_takes_precedence(video, tmp_path):
    (tmp_path / "video.srt").write_text(srt("beside"))
    (tmp_path / "other.srt").write_text(srt("named"))
    found = search_events(video, subtitles=tmp_path / "other.srt", store=tmp_path / "store")
    assert [event.text for event in found.events] == ["named"]
    assert found.sources[0].name.endswith("other.srt")


def test_unreadable_sidecar_is_skipped_with_a_warning(video, tmp_path):
    (tmp_path / "video.srt").write_text("nothing of the kind")
    found = search_events(video, recognise_speech=False, store=tmp_path / "store")
    assert found.events == ()
    assert any("skipped" in warning and "video.srt" in warning for warning in found.warnings)


def test_notes_list_the_sources_tried_whatever_the_language(video, tmp_path):
    found = search_events(video, language="ja", store=tmp_path / "store")
    assert found.events == ()
    expected = ("no subtitle file beside", "no embedded text track", "no audio", "screen_text=true")
    assert all(part in " ".join(found.notes) for part in expected)


def test_none_ignores_subtitles(video, tmp_path):
    (tmp_path / "video.srt").write_text(srt("beside"))
    assert search_events(video, subtitles="none", recognise_speech=False, store=tmp_path / "store").events == ()


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


def put(folder, **texts):
    for name, text in texts.items():
        path = folder / name.replace("__", "/").replace("_", ".")
        path.parent.mkdir(exist_ok=True)
        path.write_text(srt(text), encoding="utf-8")


def test_choice_among_several_files_names_the_others(video, tmp_path):
    put(tmp_path, video_en_srt="english", video_de_srt="deutsch", french_srt="français", Subs__ja_srt="日本語")
    found = search_events(video, store=tmp_path / "store")
    assert [event.text for event in found.events] == ["english"]
    (warning,) = found.warnings
    assert warning.startswith("video.en.srt (en) was used; also found: video.de.srt (de), french.srt (fr), ")
    assert warning.endswith("; choose with --subtitles or --set language=CODE")


def test_requested_language_is_no_choice_to_warn_of(video, tmp_path):
    put(tmp_path, video_en_srt="english", video_de_srt="deutsch", video_srt="unstated")
    found = search_events(video, language="de", store=tmp_path / "store")
    assert ([event.text for event in found.events], found.warnings) == (["deutsch"], ())


def test_language_that_is_not_there_is_an_error_that_lists_what_is(video, tmp_path):
    put(tmp_path, video_en_srt="english", video_de_srt="deutsch", video_srt="unstated")
    (tmp_path / "subtitles.vtt").write_text("WEBVTT\nLanguage: fr\n\n00:01.000 --> 00:02.000\nbonjour\n")
    expected = r"video.mp4 has no text in 'ja', only video.srt \(another script\), subtitles.vtt \(fr\), "
    with pytest.raises(fs.InputError, match=expected + r"video.en.srt \(en\), video.de.srt \(de\); choose"):
        search_events(video, language="ja", store=tmp_path / "store")


def test_file_without_a_language_is_used_if_its_script_fits(video, tmp_path):
    put(tmp_path, video_srt="どこへ行くの")
    found = search_events(video, language="ja", store=tmp_path / "store")
    assert [event.text for event in found.events] == ["どこへ行くの"]
    assert found.warnings == ("video.srt does not state its language; it is taken for 'ja'",)


def test_named_file_that_states_other_languages_is_an_error(video, tmp_path):
    (tmp_path / "a.vtt").write_text("WEBVTT\nLanguage: fr\n\n00:01.000 --> 00:02.000\nbonjour\n")
    with pytest.raises(fs.InputError, match=r"a\.vtt has no text in 'ja'; it states fr"):
        search_events(video, subtitles=tmp_path / "a.vtt", language="ja", store=tmp_path / "store")


def test_language_file_beside_several_videos_is_noted_but_not_used(video, tmp_path):
    shutil.copy(video, tmp_path / "other.mp4")
    put(tmp_path, english_srt="hello")
    found = search_events(video, recognise_speech=False, store=tmp_path / "store")
    assert found.events == ()
    assert any(note.startswith("english.srt: not used, since there are several videos") for note in found.notes)


def test_speech_replaces_subtitles_in_other_languages_only_with_an_engine_that_supports_it(video, tmp_path, speak):
    put(tmp_path, video_en_srt="english")
    speak("moonshine", "音声")
    with pytest.raises(fs.InputError, match=r"only video\.en\.srt"):
        search_events(video, language="ja", store=tmp_path / "store")
    speak("whisper:small", "音声")
    found = search_events(video, language="ja", store=tmp_path / "store")
    assert [event.text for event in found.events] == ["音声"]
    heard, missing = found.warnings
    assert heard == "the text is speech recognised by whisper:small"
    assert missing == "there are no subtitles in 'ja', only video.en.srt (en)"
