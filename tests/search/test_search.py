"""Search: the result of a full scan in float64, whatever the store holds and however it grew."""

import json
import shutil
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image
from safetensors.numpy import load_file

import framesift as fs
from framesift.cli import main
from framesift.errors import InputError
from framesift.search.export import export
from framesift.search.images import named_image
from framesift.search.report import write_report
from framesift.search.search import FrameVectors, Hit, match_note, search
from framesift.store.store import IndexKey, Store, StoredCandidates
from framesift.types import Event
from framesift.types.selection import NOTHING_MATCHES
from helpers.batch_videos import make_video
from helpers.examples import examples


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


def unit(rows):
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


@settings(max_examples=examples(24))
@given(st.integers(0, 10**6), st.integers(1, 40), st.integers(1, 12), st.sampled_from([0.0, 2.0, 50.0]))
def test_best_frames_are_those_of_a_full_scan(tmp_path_factory, seed, count, limit, window_s):
    rng, store = np.random.default_rng(seed), Store(tmp_path_factory.mktemp("store"))
    # Vectors in a narrow cone, as real ones are, and some of them equal.
    centre = rng.normal(size=10)
    for k in range(3):
        save(store, k, unit(centre + 0.03 * rng.normal(size=(count, 10)).round(1)))
    hits = search("one", encoder=ENCODER, store=store.root, limit=limit, by="frames", window_s=window_s)
    wanted: list[tuple[str, float]] = []
    for _, video, time_s in full_scan(store, "one"):
        is_near = any(other == video and abs(at_s - time_s) <= window_s for other, at_s in wanted)
        if len(wanted) < limit and not is_near:
            wanted.append((video, time_s))
    assert [(hit.fingerprint, hit.time_s) for hit in hits] == wanted


@pytest.fixture
def store(tmp_path):
    kept = Store(tmp_path / "store")
    for k in range(3):
        save(kept, k)
    return kept


def save(store, k, frames=None, *, times_s=None, blank=(), **facts):
    """Store video k: random vectors, or these, one per second, or at these times."""
    if frames is None:
        frames = unit(np.random.default_rng(k).normal(size=(40, 10)))
    times_s = np.arange(len(frames)) * 1.0 if times_s is None else np.array(times_s)
    nothing = np.zeros(len(frames), dtype=bool)
    candidates = StoredCandidates(times_s, frames, np.isin(np.arange(len(frames)), blank), nothing, np.zeros(0))
    key = IndexKey(f"{k:032x}", "words", "ab" * 8, "1", "exact", "reuse")
    store.save(key, candidates, {"video": {"path": f"/videos/{k}.mp4", **facts}})


def save_events(store, k, *events):
    store.save_events(f"{k:032x}", "corpus", list(events), f"/videos/{k}.mp4")


def full_scan(store, text):
    """The score in float64, the fingerprint and the time of every stored vector, one a second, the best first."""
    query, rows = ENCODER.encode_texts([text])[0].astype(np.float64), []
    for file in store.root.rglob("index.safetensors"):
        frames = load_file(file)["frames"].astype(np.float64)
        scores = (frames @ query / np.linalg.norm(frames, axis=1)).round(12)
        rows += [(score, file.parts[-3], float(time_s)) for time_s, score in enumerate(scores)]
    return sorted(rows, key=lambda row: (-row[0], *row[1:]))


def hit_of(store, text):
    hit = search(text, encoder=ENCODER, store=store.root, limit=1)[0]
    return hit.fingerprint, hit.time_s


def test_search_follows_a_store_that_grows_and_shrinks(store):
    assert hit_of(store, "one") == full_scan(store, "one")[0][1:]
    for k in range(3, 9):
        save(store, k)
        assert hit_of(store, f"text {k}") == full_scan(store, f"text {k}")[0][1:]
    for entry in list(store.entries())[:7]:
        if entry.manifest.get("kind") == "index":
            store.remove(entry)
    assert hit_of(store, "one") == full_scan(store, "one")[0][1:]


def test_blank_frames_are_not_found(tmp_path):
    for name, blank in (("all", ()), ("some", (3, 8))):
        save(Store(tmp_path / name), 0, blank=blank)
    every, some = (
        [hit.time_s for hit in search("one", encoder=ENCODER, store=tmp_path / name, limit=50, window_s=0)]
        for name in ("all", "some")
    )
    assert some == [time_s for time_s in every if time_s not in (3, 8)] and len(every) == len(some) + 2


def test_events_are_found_and_fused_with_frames_near_them(store):
    every = search("a hedgehog", encoder=ENCODER, store=store.root, limit=50)
    time_s = next(hit.time_s for hit in every if hit.fingerprint == f"{1:032x}")
    save_events(store, 1, Event(time_s, time_s + 2, "a hedgehog eats"), Event(90, 92, "else"))
    hits = search("a hedgehog", encoder=ENCODER, store=store.root, limit=5, by="events")
    assert hits[0].event.text == "a hedgehog eats"
    both = search("a hedgehog", encoder=ENCODER, store=store.root, limit=50)
    assert "a hedgehog eats" in [hit.event.text for hit in both if hit.event and hit.relevance]
    store.remove(next(e for e in store.entries() if e.folder.name == "events-corpus"))
    save_events(store, 1, Event(3, 4, "a whale"))
    assert [h.event.text for h in search("a hedgehog", encoder=ENCODER, store=store.root, by="events")] == ["a whale"]


def test_events_past_the_end_of_the_video_are_not_found(store):
    save(store, 5, duration_s=40.0)
    events = [Event(-2, 3, "first"), Event(38, 50, "last"), Event(41, 44, "a hedgehog")]
    save_events(store, 5, *events)
    for text in ("a hedgehog", "last"):
        hits = search(text, encoder=ENCODER, store=store.root, by="events", window_s=0)
        assert {(hit.time_s, hit.event.end_s, hit.event.text) for hit in hits} == {(0, 3, "first"), (38, 40, "last")}
    assert hits[0].event.text == "last" and hits[0].event_relevance == pytest.approx(1)


def test_event_with_every_word_is_found_whatever_its_cosine(store):
    events = [Event(k, k + 1, f"sentence {k}" if k != 30 else "Then the whales left.") for k in range(40)]
    save_events(store, 1, *events)
    hits = search("the whales", encoder=ENCODER, store=store.root, by="events", window_s=0, limit=3)
    assert (hits[0].event.text, hits[0].stands_out) == ("Then the whales left.", True)
    assert len(hits) == 3


def test_words_of_a_text_come_before_every_frame(tmp_path):
    """Also where the best frame is near another text, which counts for both."""
    store, query = Store(tmp_path), "Then the whales left."
    vectors = ENCODER.encode_texts([query, "a comet"])
    save(store, 0, vectors[[0, 0, 1]], times_s=[0.0, 50.0, 100.0])
    save_events(store, 0, Event(49, 51, "They left."), Event(104, 106, query), Event(110, 112, "Whales!"))
    for text in (query, "whales left", "whales"):
        hits = search(text, encoder=ENCODER, store=store.root, window_s=5.0)
        expected = (110, "Whales!") if text == "whales" else (104, query)
        assert (hits[0].time_s, hits[0].event.text) == expected
        assert sum(hit.time_s in (100, 104) for hit in hits) == 1  # merged


def test_hits_stand_out_where_they_score_more_than_unrelated_questions(tmp_path):
    store, meant = Store(tmp_path), ENCODER.encode_texts(["a comet"])
    frames = np.concatenate([np.eye(10, dtype=np.float32)[[8, 9]], meant])  # no text has anything of the first two
    save(store, 0, frames, times_s=[0.0, 20.0, 40.0])
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
    again = search("one", encoder=ENCODER, store=store.root, videos=some)
    assert [(hit.video, hit.time_s) for hit in again] == [(hit.video, hit.time_s) for hit in first]
    assert computed == [f"{k:032x}" for k in (3, 0, 1, 2, 3)]


def test_search_command_reports_that_nothing_matches(monkeypatch, capsys):
    weak = Hit("/v.mp4", 1.0, 0.1, 0.1, stands_out=False)
    monkeypatch.setattr("framesift.search.search.search", lambda *_, **__: [weak])
    assert main(["corpus", "search", "green"]) == 0
    shown = capsys.readouterr()
    assert shown.err == f"{NOTHING_MATCHES}\n"
    header, row = shown.out.splitlines()
    assert header.split()[3:] == ["time", "stretch", "video"] and row.split()[:2] == ["1?", "0.100"]
    assert main(["corpus", "search", "green", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["note"] == NOTHING_MATCHES


def test_changed_vectors_and_events_are_not_searched(store, caplog):
    save_events(store, 2, Event(1.0, 2.0, "first"))
    first = search("one", encoder=ENCODER, store=store.root, limit=100)
    for name in ("index.safetensors", "events.json"):
        file = min(store.root.rglob(name))
        data = bytearray(file.read_bytes())
        data[-20] ^= 1
        file.write_bytes(data)
        caplog.clear()
        hits = search("one", encoder=ENCODER, store=store.root, limit=100)
        assert "the checksum does not match" in caplog.text
        assert values(hits) < values(first)
        first = hits


def values(hits):
    """What the stored vectors and events contribute to hits, whatever their ranks."""
    relevances = {(hit.fingerprint, hit.time_s, hit.relevance) for hit in hits if hit.relevance is not None}
    return relevances | {(hit.fingerprint, hit.event) for hit in hits if hit.event is not None}


def test_damaged_index_costs_that_video_alone(store, caplog):
    before = search("one", encoder=ENCODER, store=store.root, by="frames", window_s=0)
    best = before[0].fingerprint
    others = [(hit.fingerprint, hit.time_s) for hit in before if hit.fingerprint != best]
    for damage in (b"torn", None):
        (file,) = (store.root / best).rglob("index.safetensors")
        file.write_bytes(damage) if damage else file.unlink()
        caplog.clear()
        hits = search("one", encoder=ENCODER, store=store.root, by="frames", window_s=0)
        found = [(hit.fingerprint, hit.time_s) for hit in hits]
        assert found and best not in dict(found) and found[: len(others)] == others
        assert "can't be searched" in caplog.text


def test_empty_store_and_empty_text_are_input_errors(tmp_path):
    with pytest.raises(InputError, match="has no video indexed with words"):
        search("one", encoder=ENCODER, store=tmp_path)
    with pytest.raises(InputError, match="the text to search for is empty"):
        search(" ", encoder=ENCODER, store=tmp_path)


def test_the_report_embeds_a_thumbnail_and_escapes_all_text(encoder, tmp_path):
    video = make_video(tmp_path / "<b>x.mp4", (0, 200, 0))
    (tmp_path / "<b>x.srt").write_text("1\n00:00:01,100 --> 00:00:02,000\nred & <script>alert(1)</script>\n")
    fs.corpus.index(video, engine="inline", encoder=encoder, store=tmp_path / "s")
    hits = search("red", encoder=encoder, store=tmp_path / "s")
    assert any(hit.event for hit in hits)
    page = write_report("<i>red</i>", hits, tmp_path / "r.html").read_text()
    assert "data:image/jpeg;base64," in page and "<script" not in page and "<i>" not in page and "<b>x" not in page
    video.unlink()
    assert "The video file was not found" in write_report("red", hits, tmp_path / "r.html").read_text()


def test_search_command_prints_a_table_or_json(encoder, tmp_path, capsys):
    fs.corpus.index(make_video(tmp_path / "a.mp4"), engine="inline", encoder=encoder, store=tmp_path / "s")
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


def test_the_export_has_a_row_per_candidate_with_its_text(tmp_path):
    import duckdb  # else it writes at exit that it leaked what is never collected

    store = Store(tmp_path / "store")
    for k in range(2):
        save(store, k, blank=[3])
    save_events(store, 1, Event(2, 4, "A cup."), Event(4, 6, "Of tea."))
    assert export(tmp_path / "v.parquet", encoder=ENCODER, store=store.root) == 80
    rows = duckdb.read_parquet(str(tmp_path / "v.parquet")).fetchnumpy()
    assert rows["fingerprint"].tolist() == [f"{k:032x}" for k in range(2) for _ in range(40)]
    assert rows["video"][40] == "/videos/1.mp4" and rows["time_s"].tolist() == [*range(40)] * 2
    assert rows["text"][42:47].tolist() == ["A cup.", "A cup.", "A cup.\nOf tea.", "Of tea.", "Of tea."]
    assert rows["is_blank"].nonzero()[0].tolist() == [3, 43]
    stored = np.concatenate([load_file(file)["frames"] for file in sorted(store.root.rglob("index.safetensors"))])
    assert np.array_equal(np.stack(rows["vector"]), stored.astype(np.float32))


def test_an_export_replaces_no_file_by_accident(tmp_path, capsys):
    store, file = Store(tmp_path / "store"), tmp_path / "v.parquet"
    save(store, 0)
    file.write_bytes(b"mine")
    with pytest.raises(InputError, match=r"already exists.*--force"):
        export(file, encoder=ENCODER, store=store.root)
    assert export(file, encoder=ENCODER, store=store.root, force=True) == 40
    assert main(["corpus", "export", str(tmp_path / "v.csv"), "--store", str(store.root)]) == 2
    assert "ends in .parquet" in capsys.readouterr().err


def test_lancedb_finds_what_the_scan_finds(tmp_path, monkeypatch):
    pytest.importorskip("lancedb", reason="lancedb is no part of the extra dev")
    from framesift.search import lance

    monkeypatch.setattr(lance, "INDEXED_ROWS", 2000)
    monkeypatch.setattr(lance, "ROWS_PER_PARTITION", 100)
    store, texts = Store(tmp_path), [f"text {k}" for k in range(20)]
    exact, close = (
        partial(search, encoder=ENCODER, store=store.root, by="frames", engine=e) for e in ("exact", "lancedb")
    )
    for k in range(60):
        save(store, k)
    found = [[(hit.fingerprint, hit.time_s) for hit in seek(text)] for seek in (exact, close) for text in texts]
    same = sum(len(set(a) & set(b)) for a, b in zip(found[:20], found[20:], strict=True))
    assert same >= 0.99 * sum(map(len, found[:20]))
    save(store, 60)  # a new video, one that changed, and one that is gone
    shutil.rmtree(store.root / f"{0:032x}")
    save(store, 61, ENCODER.encode_texts(["text 0"]))
    assert [hit.to_dict() for hit in close("text 0")] == [hit.to_dict() for hit in exact("text 0")]
    assert close("text 0")[0].fingerprint == f"{61:032x}"
    assert {hit.fingerprint for hit in close("text 0", videos=[f"{7:032x}"])} == {f"{7:032x}"}


class RandomImageEncoder(RandomTextEncoder):
    """The vector of an image is that of the text "text K" for the brightness K of its first pixel."""

    def encode_images(self, images):
        return self.encode_texts([f"text {image.getpixel((0, 0))[0]}" for image in images])


def test_frames_like_an_image_are_found_with_the_stretch_they_are_in(tmp_path):
    store, encoder = Store(tmp_path), RandomImageEncoder()
    shown = encoder.encode_texts(["text 7"])[0]
    save(store, 0)
    save(store, 1, np.concatenate([unit(np.random.default_rng(1).normal(size=(20, 10))), [shown] * 5]))
    (hit, *others) = search(Image.new("RGB", (4, 4), (7, 7, 7)), encoder=encoder, store=store.root)
    assert (hit.fingerprint, hit.time_s, hit.start_s, hit.end_s) == (f"{1:032x}", 20.0, 20.0, 24.0)
    assert hit.strength == 1.0 and hit.stands_out and not any(other.strength > 0.9 for other in others)


def test_an_image_is_read_from_a_file_or_a_video(tmp_path):
    video = make_video(tmp_path / "clip.mp4")
    Image.new("RGBA", (3000, 20), (9, 9, 9, 255)).save(tmp_path / "wide.png")
    assert named_image(str(tmp_path / "wide.png")).size == (768, 5)
    assert named_image(f"{video}@3").mode == "RGB"


@pytest.mark.parametrize(("name", "message"), [
    ("missing.png", "can't be read"), ("notes.txt", "expected a JPEG"), ("clip.mp4@x", "expected seconds"),
])  # fmt: skip
def test_what_is_no_image_is_one_sentence(tmp_path, monkeypatch, capsys, name, message):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "notes.txt").write_text("notes")
    assert main(["corpus", "search", "--like", name]) == 2
    assert message in capsys.readouterr().err
