"""Search: the result of a full scan in float64, whatever the store holds and however it grew."""

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import framesift as fs
from framesift.errors import InputError
from framesift.search.report import write_report
from framesift.search.search import FrameVectors, Hit, _ScannedRows, match_note, search
from framesift.store.store import IndexKey, Store, StoredCandidates
from framesift.types import Event
from framesift.types.selection import NOTHING_MATCHES
from helpers.batch_videos import make_video


class RandomTextEncoder:
    """Random text vectors; the last two columns are zero for texts."""

    name, dim, fingerprint = "words", 10, "ab" * 8

    def encode_texts(self, texts):
        rows = np.zeros((len(texts), self.dim), np.float32)
        for row, text in zip(rows, texts, strict=True):
            row[:8] = np.random.default_rng(list(text.encode())).normal(size=8)
        return rows / np.linalg.norm(rows, axis=1, keepdims=True)

    def encode_images(self, pictures):
        raise NotImplementedError


ENCODER = RandomTextEncoder()


@dataclass(frozen=True)
class ArraySource:
    """A source of vectors in an array."""

    video: str
    rows: np.ndarray
    times_s: np.ndarray

    def read(self):
        return self.rows, self.times_s


def unit(rows):
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


def half(rows):
    """As vectors are stored: their length is no longer exactly 1."""
    return unit(rows).astype(np.float16)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 60), st.integers(1, 12), st.sampled_from([0.0, 2.0, 50.0]))
def test_best_rows_are_those_of_a_full_scan(tmp_path_factory, seed, count, limit, window_s):
    rng = np.random.default_rng(seed)
    # Vectors in a narrow cone, as real ones are, and some of them equal.
    centre = rng.normal(size=6)
    sources = [
        ArraySource(f"{k:032x}", half(centre + 0.03 * rng.normal(size=(count, 6)).round(1)), np.arange(count) * 1.0)
        for k in range(3)
    ]
    vector = unit(rng.normal(size=(1, 6)))[0]
    stored = np.concatenate([source.rows for source in sources]).astype(np.float64)
    scores = (stored / np.linalg.norm(stored, axis=1, keepdims=True)) @ vector.astype(np.float64)
    wanted: list[int] = []
    for row in sorted(range(3 * count), key=lambda row: (-scores[row].round(12), row)):
        near = (r for r in wanted if r // count == row // count and abs(r - row) <= window_s)
        if len(wanted) < limit and next(near, None) is None:
            wanted.append(row)
    scan = _ScannedRows.of(sources, vector[None], threads=2)
    assert scan.best(limit, window_s) == wanted


@pytest.fixture
def store(tmp_path):
    kept = Store(tmp_path / "store")
    for k in range(3):
        save(kept, k)
    return kept


def save(store, k, count=40, blank=None, **facts):
    frames = unit(np.random.default_rng(k).normal(size=(count, 10)))
    video = {"path": f"/videos/{k}.mp4", **facts}
    nothing = np.zeros(count, dtype=bool)
    is_blank = nothing if blank is None else np.isin(np.arange(count), blank)
    candidates = StoredCandidates(np.arange(count) * 1.0, frames, is_blank, nothing, np.zeros(0))
    store.save(IndexKey(f"{k:032x}", "words", "ab" * 8, "1", "exact", "reuse"), candidates, {"video": video})


def best_of(store, text):
    query = ENCODER.encode_texts([text])[0].astype(np.float64)
    found = []
    for file in store.root.rglob("index.safetensors"):
        from safetensors.numpy import load_file

        frames = load_file(file)["frames"].astype(np.float64)
        frames /= np.linalg.norm(frames, axis=1, keepdims=True)
        found += [(score, file.parts[-3], time) for time, score in enumerate(frames @ query)]
    return max(found)


def test_search_follows_a_store_that_grows_and_shrinks(store):
    assert hit_of(store, "one") == best_of(store, "one")[1:]
    for k in range(3, 9):
        save(store, k)
        assert hit_of(store, f"text {k}") == best_of(store, f"text {k}")[1:]
    for entry in list(store.entries())[:7]:
        if entry.manifest.get("kind") == "index":
            store.remove(entry)
    assert hit_of(store, "one") == best_of(store, "one")[1:]


def test_blank_frames_are_not_found(tmp_path):
    store = Store(tmp_path / "store")
    save(store, 0)
    best = best_of(store, "one")[2]
    hidden = Store(tmp_path / "other")
    save(hidden, 0, blank=[best])
    hits = search("one", encoder=ENCODER, store=hidden.root, limit=50, window_s=0)
    every = search("one", encoder=ENCODER, store=store.root, limit=50, window_s=0)
    assert [(h.time_s, h.score) for h in hits] == [(h.time_s, h.score) for h in every if h.time_s != best]


def hit_of(store, text):
    hit = search(text, encoder=ENCODER, store=store.root, limit=1)[0]
    return hit.fingerprint, hit.time_s


def test_events_are_found_and_fused_with_frames_near_them(store):
    video = f"{1:032x}"
    time_s = next(
        h.time_s for h in search("a hedgehog", encoder=ENCODER, store=store.root, limit=50) if h.fingerprint == video
    )
    store.save_events(
        video, "corpus", [Event(time_s, time_s + 2, "a hedgehog eats"), Event(90, 92, "else")], "/videos/1.mp4"
    )
    hits = search("a hedgehog", encoder=ENCODER, store=store.root, limit=5, by="events")
    assert hits[0].event.text == "a hedgehog eats"
    both = search("a hedgehog", encoder=ENCODER, store=store.root, limit=50)
    fused = [hit.event.text for hit in both if hit.event and hit.fingerprint == video and hit.relevance]
    assert "a hedgehog eats" in fused
    store.remove(next(e for e in store.entries() if e.folder.name == "events-corpus"))
    store.save_events(video, "corpus", [Event(3, 4, "a whale")], "/videos/1.mp4")
    assert [h.event.text for h in search("a hedgehog", encoder=ENCODER, store=store.root, by="events")] == ["a whale"]


def test_events_past_the_end_of_the_video_are_not_found(store):
    save(store, 5, duration_s=40.0)
    events = [Event(-2, 3, "first"), Event(38, 50, "last"), Event(41, 44, "a hedgehog")]
    store.save_events(f"{5:032x}", "corpus", events, "/videos/5.mp4")
    for text in ("a hedgehog", "last"):
        hits = search(text, encoder=ENCODER, store=store.root, by="events", window_s=0)
        assert {(hit.time_s, hit.event.end_s, hit.event.text) for hit in hits} == {(0, 3, "first"), (38, 40, "last")}
    assert hits[0].event.text == "last" and hits[0].event_relevance == pytest.approx(1)


def test_event_with_every_word_is_found_whatever_its_cosine(store):
    events = [Event(k, k + 1, f"sentence {k}" if k != 30 else "Then the whales left.") for k in range(40)]
    store.save_events(f"{1:032x}", "corpus", events, "/videos/1.mp4")
    hits = search("the whales", encoder=ENCODER, store=store.root, by="events", window_s=0, limit=3)
    assert (hits[0].event.text, hits[0].stands_out) == ("Then the whales left.", True)
    assert len(hits) == 3


def test_words_of_a_text_come_before_every_frame(tmp_path):
    """Also where the best frame is near another text, which counts for both."""
    store, query = Store(tmp_path), "Then the whales left."
    vectors = ENCODER.encode_texts([query, "a comet", "They left."])
    nothing = np.zeros(3, dtype=bool)
    candidates = StoredCandidates(np.array([0.0, 50.0, 100.0]), vectors[[0, 0, 1]], nothing, nothing, np.zeros(0))
    store.save(IndexKey("0" * 32, "words", "ab" * 8, "1", "exact", "reuse"), candidates, {"video": {"path": "/v.mp4"}})
    events = [Event(49, 51, "They left."), Event(104, 106, query), Event(110, 112, "Whales!")]
    store.save_events("0" * 32, "corpus", events, "/v.mp4")
    for text in (query, "whales left", "whales"):
        hits = search(text, encoder=ENCODER, store=store.root, window_s=5.0)
        expected = (110, "Whales!") if text == "whales" else (104, query)
        assert (hits[0].time_s, hits[0].event.text) == expected
        assert sum(hit.time_s in (100, 104) for hit in hits) == 1  # merged


def test_hits_stand_out_where_they_score_more_than_unrelated_questions(tmp_path):
    store, meant = Store(tmp_path), ENCODER.encode_texts(["a comet"])
    frames = np.concatenate([np.eye(10, dtype=np.float32)[[8, 9]], meant])  # no text has anything of the first two
    nothing = np.zeros(3, dtype=bool)
    candidates = StoredCandidates(np.arange(3) * 20.0, frames, nothing, nothing, np.zeros(0))
    store.save(IndexKey("0" * 32, "words", "ab" * 8, "1", "exact", "reuse"), candidates, {"video": {"path": "/v.mp4"}})
    hits = search("a comet", encoder=ENCODER, store=store.root)
    assert [(hit.time_s, hit.stands_out) for hit in hits] == [(40, True), (0, False), (20, False)]
    assert match_note(hits) == match_note([]) == ""
    assert match_note(hits[1:]) == NOTHING_MATCHES


def test_scores_of_unrelated_questions_are_computed_once_per_video(store, monkeypatch, caplog):
    first = search("one", encoder=ENCODER, store=store.root)
    save(store, 3)
    computed = []
    verify = FrameVectors.verify
    monkeypatch.setattr(FrameVectors, "verify", lambda self: computed.append(self.video) or verify(self))
    search("one", encoder=ENCODER, store=store.root)
    (file,) = (store.root / "corpus").glob("chance-*.json")
    file.write_text(file.read_text().replace("0.", "9.", 1))
    some = {f"{k:032x}" for k in range(3)}
    assert search("one", encoder=ENCODER, store=store.root, videos=some) == first
    assert computed == [f"{k:032x}" for k in (3, 0, 1, 2, 3)]


def test_search_command_reports_that_nothing_matches(monkeypatch, capsys):
    from framesift.cli import main

    weak = Hit("/v.mp4", 1.0, 0.1, 0.1, stands_out=False)
    monkeypatch.setattr("framesift.search.search.search", lambda *_, **__: [weak])
    assert main(["corpus", "search", "green"]) == 0
    shown = capsys.readouterr()
    assert shown.err == f"{NOTHING_MATCHES}\n"
    header, row = shown.out.splitlines()
    assert header.split() == ["rank", "frame", "text", "time", "video"] and row.split()[:2] == ["1?", "0.100"]
    assert main(["corpus", "search", "green", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["note"] == NOTHING_MATCHES


def test_changed_vectors_and_events_are_not_searched(store, caplog):
    store.save_events(f"{2:032x}", "corpus", [Event(1.0, 2.0, "first")], "/videos/2.mp4")
    first = search("one", encoder=ENCODER, store=store.root, limit=100)
    for name in ("index.safetensors", "events.json"):
        file = min(store.root.rglob(name))
        file.write_bytes(flip(file.read_bytes(), -20))
        caplog.clear()
        hits = search("one", encoder=ENCODER, store=store.root, limit=100)
        assert "the checksum does not match" in caplog.text
        assert values(hits) < values(first)
        first = hits


def values(hits):
    """What the stored vectors and events contribute to hits, whatever their ranks."""
    relevances = {(hit.fingerprint, hit.time_s, hit.relevance) for hit in hits if hit.relevance is not None}
    return relevances | {(hit.fingerprint, hit.event) for hit in hits if hit.event is not None}


def flip(data, at):
    changed = bytearray(data)
    changed[at] ^= 1
    return bytes(changed)


def test_damaged_index_costs_that_video_alone(store, caplog):
    before = search("one", encoder=ENCODER, store=store.root, by="frames", window_s=0)
    best = before[0].fingerprint
    for damage in (b"torn", None):
        (file,) = (store.root / best).rglob("index.safetensors")
        file.write_bytes(damage) if damage else file.unlink()
        caplog.clear()
        hits = search("one", encoder=ENCODER, store=store.root, by="frames", window_s=0)
        assert hits and best not in {hit.fingerprint for hit in hits}
        assert [hit for hit in before if hit.fingerprint != best] == hits[: sum(h.fingerprint != best for h in before)]
        assert "can't be searched" in caplog.text


def test_empty_store_and_empty_text_are_input_errors(tmp_path):
    with pytest.raises(InputError, match="has no video indexed with words"):
        search("one", encoder=ENCODER, store=tmp_path)
    with pytest.raises(InputError, match="the text to search for is empty"):
        search(" ", encoder=ENCODER, store=tmp_path)


def test_the_report_embeds_a_thumbnail_and_escapes_all_text(encoder, tmp_path):
    video = make_video(tmp_path / "<b>x.mp4", (0, 200, 0))
    (tmp_path / "<b>x.srt").write_text("1\n00:00:01,100 --> 00:00:02,000\nred & <script>alert(1)</script>\n")
    fs.corpus.index(video, encoder=encoder, store=tmp_path / "s")
    hits = search("red", encoder=encoder, store=tmp_path / "s")
    assert any(hit.event for hit in hits)
    page = write_report("<i>red</i>", hits, tmp_path / "r.html").read_text()
    assert "data:image/jpeg;base64," in page and "<script" not in page and "<i>" not in page and "<b>x" not in page
    video.unlink()
    assert "The video file was not found" in write_report("red", hits, tmp_path / "r.html").read_text()


def test_search_command_prints_a_table_or_json(encoder, store, tmp_path, capsys):
    from framesift.cli import main

    fs.corpus.index(make_video(tmp_path / "a.mp4"), encoder=encoder, store=tmp_path / "s")
    arguments = ["corpus", "search", "green", "--encoder", encoder, "--store", str(tmp_path / "s")]
    assert main(arguments) == 0
    assert "a.mp4" in capsys.readouterr().out
    assert main([*arguments, "--json", "--limit", "1"]) == 0
    hits = json.loads(capsys.readouterr().out)["hits"]
    assert [Path(hit["video"]).name for hit in hits] == ["a.mp4"]
    assert main([*arguments[:-1], str(tmp_path / "none")]) == 2


def test_report_replaces_no_other_file(tmp_path):
    (tmp_path / "video.mp4").write_bytes(b"dear")
    for path in (tmp_path / "video.mp4", tmp_path):
        with pytest.raises(InputError, match="choose another"):
            write_report("red", [], path)
    assert (tmp_path / "video.mp4").read_bytes() == b"dear"
    for query in ("red", "blue"):
        assert query in write_report(query, [], tmp_path / "r.html").read_text()
