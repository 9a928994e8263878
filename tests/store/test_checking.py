"""Checking a store: sound entries pass, and entries that do not belong to their video or are incomplete fail."""

import hashlib
import io
import json
import re
import shutil

import numpy as np
import pytest
from safetensors.numpy import load, save

import framesift as fs
from framesift._utils.json import with_digest
from framesift.cli import main
from framesift.store.checking import find_faults
from framesift.store.fingerprint import fingerprint
from framesift.store.store import INDEX, MANIFEST, PAYLOADS, Store
from helpers.clips import make_clip
from helpers.encoders import GridEncoder

EVENTS = [fs.Event(1.0, 2.0, "a blue wall", source="speech"), fs.Event(3.0, 4.0, "nothing", source="speech")]


@pytest.fixture(scope="module")
def sound(tmp_path_factory):
    """A video, and a store with its index, its events and their vectors."""
    folder = tmp_path_factory.mktemp("sound")
    clip = make_clip(folder / "clip.mp4", seconds=20)
    index = fs.index(clip, GridEncoder(), 2.0, store=folder / "store")
    fs.index(clip, GridEncoder(), 0.2, "keyframes", store=folder / "store")
    Store(folder / "store").save_events(fingerprint(clip), "speech-1-fake", EVENTS, str(clip))
    fs.select(index, "Which wall?", events=EVENTS, encoder=GridEncoder(), store=folder / "store")
    return folder


@pytest.fixture
def place(sound, tmp_path):
    """A copy of the store; the entries name the video of the copy."""
    folder = tmp_path / "copy"
    shutil.copytree(sound, folder)
    for path in folder.rglob(MANIFEST):
        manifest = json.loads(path.read_text().replace(str(sound), str(folder)))
        path.write_text(json.dumps(with_digest(manifest)))
    return folder


def rewrite(place, change_arrays=None, **manifest_changes):
    """Change the index, with a checksum and a digest that match."""
    folder = next((place / "store" / fingerprint(place / "clip.mp4")).glob("*2fps*"))
    arrays = load((folder / INDEX).read_bytes())
    change_entry(folder, INDEX, arrays if change_arrays is None else change_arrays(arrays), **manifest_changes)


def change_entry(folder, name, arrays, **manifest_changes):
    """Replace the arrays of an entry, with a checksum and a digest that match."""
    payload = save(arrays)
    (folder / name).write_bytes(payload)
    manifest = json.loads((folder / MANIFEST).read_text()) | {"sha256": hashlib.sha256(payload).hexdigest()}
    (folder / MANIFEST).write_text(json.dumps(with_digest(manifest | manifest_changes)))


def first_half(arrays):
    rows = len(arrays["times_s"]) // 2
    return {name: a[:rows].copy() if len(a) == 2 * rows else a for name, a in arrays.items()}


def reasons(place):
    return [fault.reason for fault in find_faults(Store(place / "store"))[1]]


def test_sound_store_passes(place):
    assert find_faults(Store(place / "store")) == (5, [])


def test_sound_store_without_its_video_passes(place):
    (place / "clip.mp4").unlink()
    assert reasons(place) == []


def test_index_of_another_video_fails(place):
    other = make_clip(place / "other.mp4", seconds=9, seed=1)
    fs.index(other, GridEncoder(), 2.0, store=place / "store")
    (foreign,) = (path for path in place.rglob(INDEX) if path.parents[1].name == fingerprint(other))
    (own,) = (path for path in place.rglob(INDEX) if path.parent.name.endswith("2fps-exact-reuse") and path != foreign)
    info = json.loads((foreign.parent / MANIFEST).read_text())["video"] | {"path": str(place / "clip.mp4")}
    rewrite(place, lambda _: load(foreign.read_bytes()), video=info, candidates=18, blank=0)
    assert reasons(place) == [f"it is of a video of 9.00 s; {place / 'clip.mp4'} has 20.00 s"]
    assert own.exists()


def test_index_of_half_the_video_fails_with_and_without_the_file(place):
    rewrite(place, first_half, candidates=20)
    assert reasons(place) == [f"its last candidate is at 9.40 s; {place / 'clip.mp4'} has one at 10.00 s"]
    (place / "clip.mp4").unlink()
    assert reasons(place) == ["its last candidate is at 9.40 s of 20.00 s"]


def test_entries_fail_when_their_file_has_another_content(place):
    make_clip(place / "clip.mp4", seconds=20, seed=1)
    assert reasons(place) == [f"{place / 'clip.mp4'} has another content than the video of this entry"] * 4


def test_damaged_payloads_and_manifests_fail(place):
    for path in place.rglob("*.safetensors"):
        path.write_bytes(path.read_bytes()[:-1] + b"?")
    next(place.rglob("events-*/manifest.json")).write_text("{")
    assert len(reasons(place)) == 5
    assert all(reason.startswith("damaged: ") for reason in reasons(place))


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda a: a | {"is_blank": a["is_blank"][:-1]}, "damaged: .*"),
        (lambda a: a | {"is_blank": ~a["is_blank"]}, "it has .* blank candidates; its manifest says .*"),
        (lambda a: a | {"frames": a["frames"][:-1]}, r"damaged: the vectors have shape .*; expected 40 rows"),
        (lambda a: a | {"frames": a["frames"] * np.float16(np.nan)}, "damaged: .*finite.*"),
        (lambda a: a | {"times_s": a["times_s"][::-1].copy()}, "damaged: times_s.*"),
        (lambda a: a | {"times_s": a["times_s"] * 3}, "damaged: times_s.* is outside .*"),
        (first_half, "it has 20 candidates; its manifest says 40"),
    ],
)
def test_inconsistent_index_fails(place, change, reason):
    rewrite(place, change)
    (found,) = reasons(place)
    assert re.fullmatch(reason, found)


def test_recognised_text_after_the_end_of_the_video_fails(place):
    late = fs.Event(100.0, 101.0, "late", source="speech")
    Store(place / "store").save_events(fingerprint(place / "clip.mp4"), "speech-2", [late], str(place / "clip.mp4"))
    assert reasons(place) == [f"it has text at 100.00 s; {place / 'clip.mp4'} ends at 20.00 s"]


def test_timeline_that_is_not_the_one_of_the_video_fails(place):
    folder = next(place.rglob(PAYLOADS["timeline"])).parent
    arrays = load((folder / PAYLOADS["timeline"]).read_bytes())
    change_entry(folder, PAYLOADS["timeline"], arrays | {"sizes": arrays["sizes"] + 1})
    assert reasons(place) == [f"its packets are not those of {place / 'clip.mp4'}"]
    change_entry(folder, PAYLOADS["timeline"], arrays | {"shown": arrays["shown"] - 1})
    assert reasons(place) == ["damaged: its frames are not among its packets"]
    change_entry(folder, PAYLOADS["timeline"], arrays, packets=1)
    assert reasons(place) == ["it has 100 packets; its manifest says 1"]


def test_index_of_version_1_is_checked_too(place):
    rewrite(place, lambda a: {name: a[name] for name in ("times_s", "frames")}, rules=1)
    assert reasons(place) == []
    rewrite(place, lambda a: {name: array[:20] for name, array in a.items()}, rules=1, candidates=20)
    assert reasons(place) == [f"its last candidate is at 9.40 s; {place / 'clip.mp4'} has one at 10.00 s"]


def test_command_leaves_what_fails_until_it_is_told_to_remove_it(place, capsys):
    rewrite(place, first_half, candidates=20)
    store = ["--store", str(place / "store")]
    assert main(["library", "--check", *store]) == 1
    output = capsys.readouterr()
    assert "5 entries checked" in output.out and "1 failed" in output.out and "nothing was removed" in output.out
    assert "remove them with --yes" in output.err
    assert main(["library", "--check", "--json", *store]) == 1
    (failed,) = json.loads(capsys.readouterr().out)["failed"]
    assert failed["kind"] == "index" and failed["removed"] is False and "last candidate" in failed["reason"]
    assert main(["library", "--check", "--yes", *store]) == 1
    assert main(["library", "--check", *store]) == 0
    assert "4 entries checked" in capsys.readouterr().out


@pytest.mark.parametrize(("reply", "left"), [("y\n", 4), ("\n", 5), ("", 5), ("no\n", 5)])
def test_command_asks_on_a_terminal(place, monkeypatch, capsys, reply, left):
    rewrite(place, first_half, candidates=20)
    terminal = io.StringIO(reply)
    terminal.isatty = lambda: True
    monkeypatch.setattr("sys.stdin", terminal)
    assert main(["library", "--check", "--store", str(place / "store")]) == 1
    assert "remove 1 entry? [y/N]" in capsys.readouterr().err
    assert len(list(Store(place / "store").entries())) == left


def test_options_that_do_not_go_together_are_rejected(place, capsys):
    for options in (["--yes"], ["--check", "--prune"], ["--max-size", "5GB"]):
        assert main(["library", *options, "--store", str(place / "store")]) == 2
    assert len(capsys.readouterr().err.splitlines()) == 3
