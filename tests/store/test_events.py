"""Finding a video's timestamped text: the order of places, what is said of each, and what is kept."""

import shutil

import pytest

import framesift as fs
from framesift.store import events as library_events
from framesift.store.events import search_events
from framesift.store.text_vectors import cached_text_vectors
from helpers.clips import GridEncoder, make_clip

SRT = "1\n00:00:0{start},000 --> 00:00:0{end},500\n{text}\n\n"


def srt(*texts):
    return "".join(SRT.format(start=k + 1, end=k + 1, text=text) for k, text in enumerate(texts))


@pytest.fixture(scope="module")
def silent(tmp_path_factory):
    return make_clip(tmp_path_factory.mktemp("clips") / "silent.mp4", seconds=12)


@pytest.fixture
def video(silent, tmp_path):
    return shutil.copy(silent, tmp_path / "film.mp4")


def test_named_file_comes_before_all_others(video, tmp_path):
    (tmp_path / "film.srt").write_text(srt("beside"))
    (tmp_path / "other.srt").write_text(srt("named"))
    found = search_events(video, subtitles=tmp_path / "other.srt", store=tmp_path / "store")
    assert [event.text for event in found.events] == ["named"]
    assert found.sources[0].name.endswith("other.srt")


def test_sidecar_is_found_by_the_videos_name(video, tmp_path):
    (tmp_path / "film.en.srt").write_text(srt("hello", "there"))
    assert [event.text for event in fs.find_events(video, store=tmp_path / "store")] == ["hello", "there"]


def test_named_file_that_is_bad_is_an_error(video, tmp_path):
    (tmp_path / "bad.srt").write_text("nothing of the kind")
    with pytest.raises(fs.InputError, match=r"bad\.srt"):
        search_events(video, subtitles=tmp_path / "bad.srt")


def test_sidecar_that_is_bad_is_passed_by_with_a_word(video, tmp_path):
    (tmp_path / "film.srt").write_text("nothing of the kind")
    found = search_events(video, recognise_speech=False, store=tmp_path / "store")
    assert found.events == ()
    assert any("passed by" in note and "film.srt" in note for note in found.notes)


def test_nothing_at_all_says_where_it_looked(video, tmp_path):
    found = search_events(video, store=tmp_path / "store")
    assert found.events == ()
    notes = " ".join(found.notes)
    assert "no subtitle file lies beside" in notes
    assert "no text track" in notes
    assert "no sound" in notes
    assert "--screen-text" in notes


def test_none_looks_for_no_subtitles(video, tmp_path):
    (tmp_path / "film.srt").write_text(srt("beside"))
    assert search_events(video, subtitles="none", recognise_speech=False, store=tmp_path / "store").events == ()


def test_text_of_another_video_is_noticed(video, tmp_path):
    late = "1\n00:10:00,000 --> 00:10:01,000\nlate\n\n2\n00:20:00,000 --> 00:20:01,000\nlater\n\n"
    (tmp_path / "film.vtt").write_text("WEBVTT\n\n" + late.replace(",", "."))
    found = search_events(video, store=tmp_path / "store")
    assert any("can't belong to this video" in note for note in found.notes)


def test_span_is_the_share_of_the_video_the_text_reaches_over(video, tmp_path):
    (tmp_path / "film.srt").write_text(srt("a", "b", "c", "d"))
    assert search_events(video, store=tmp_path / "store").span == pytest.approx(3.5 / 12, abs=0.01)


def test_speech_is_recognised_once(video, tmp_path, monkeypatch):
    calls = []

    def recognise(path, **_):
        calls.append(path)
        return [fs.Event(1.0, 2.0, "spoken", "speech")]

    monkeypatch.setattr(library_events.speech, "recognise", recognise)
    monkeypatch.setattr(library_events.speech, "available", lambda: (True, ""))
    monkeypatch.setattr(library_events.speech, "engine_name", lambda engine="auto": "moonshine")
    info = fs.VideoInfo(str(video), 12.0, has_audio=True)
    monkeypatch.setattr(library_events, "probe", lambda _: info)
    for _ in range(2):
        assert [event.text for event in fs.find_events(video, store=tmp_path / "store")] == ["spoken"]
    assert len(calls) == 1


def test_vectors_of_events_are_computed_once_and_equal_texts_cost_one(tmp_path):
    class Counting(GridEncoder):
        texts = 0

        def encode_texts(self, texts):
            self.texts += len(texts)
            return super().encode_texts(texts)

    encoder = Counting()
    first = cached_text_vectors(encoder, ["a", "b", "a"], tmp_path)
    again = cached_text_vectors(encoder, ["a", "b", "a"], tmp_path)
    assert encoder.texts == 2
    assert (first == again).all() and (first[0] == first[2]).all()


def test_vectors_of_an_encoder_without_a_fingerprint_are_not_kept(tmp_path):
    class Nameless(GridEncoder):
        fingerprint = "unknown"

    cached_text_vectors(Nameless(), ["a"], tmp_path)
    assert not list(tmp_path.rglob("*.safetensors"))


def test_events_can_be_scored_by_a_sentence_encoder(silent, tmp_path):
    pytest.importorskip("torch", reason="minilm needs the extra offline")
    index = fs.index(silent, GridEncoder(), store=tmp_path)
    events = [fs.Event(1.0, 2.0, "the ship sank in the storm"), fs.Event(8.0, 9.0, "a recipe for soup")]
    options = {"budget": 4, "encoder": GridEncoder(), "store": tmp_path, "visual_demand": 0.0}
    selection = fs.select(index, "Why did the boat go down?", events=events, event_encoder="minilm", **options)
    first, second = selection.trace["ground"]["events"]
    assert first["text_relevance"] > second["text_relevance"] + 0.1
