"""The command line: what it prints, what it keeps, and its exit codes."""

import json
import sys

import pytest

import framesift as fs
from framesift.cli import main
from framesift.demo import video as demo
from helpers.short_story import short_story


@pytest.fixture
def index(clip, own_store, capsys):
    """Indexes the clip in a store of its own."""
    assert main(["index", str(clip)]) == 0
    return capsys.readouterr().out


@pytest.fixture
def bad(place):
    (place / "bad.mp4").write_text("no video")
    return "bad.mp4"


@pytest.mark.slow
def test_demo_writes_a_report_which_the_next_run_replaces_alone(place, own_store, monkeypatch, capsys):
    monkeypatch.setattr(demo, "SCENES", short_story())
    assert main(["demo", "--budget", "8"]) == 0
    out, err = capsys.readouterr()
    assert "The launch was put off because of the wind" in out and "encoder offline" in err
    folder = place / "framesift-demo"
    assert f"Report: {folder / 'report.html'}" in out and list(place.iterdir()) == [folder]
    assert {f"sample-{demo.VERSION}.mp4", f"sample-{demo.VERSION}.srt"} <= {path.name for path in folder.iterdir()}
    (folder / "note.txt").write_text("dear")
    assert main(["demo", "--json", "--budget", "6", "--method", "uniform"]) == 0
    assert len(fs.Selection.from_json(capsys.readouterr().out)) == 6
    assert (folder / "note.txt").read_text() == "dear"


def test_demo_replaces_nothing_but_a_demo_and_says_so_first(place, capsys):
    (place / "letter.txt").write_text("dear")
    (place / "exhibit").mkdir()
    (place / "exhibit" / "report.html").write_text("of another video")
    for out in (place / "letter.txt", place / "exhibit", place):
        assert main(["demo", "--out", str(out)]) == 2
        assert "already exists; choose another name" in capsys.readouterr().err.splitlines()[0]
    assert {path.name for path in place.rglob("*")} == {"letter.txt", "exhibit", "report.html"}


def test_index_reports_what_it_did_and_reuses_it(index, clip, capsys):
    assert "candidates from 12 s of video, encoder offline" in index
    assert main(["index", str(clip)]) == 0
    assert "already in the store" in capsys.readouterr().out


def test_index_as_json_has_a_row_per_video(clip, bad, capsys):
    assert main(["index", "--json", str(clip), bad]) == 1
    good, failed = json.loads(capsys.readouterr().out)
    assert good["candidates"] >= 60 and good["error"] is None and good["cached"] is True
    assert "bad.mp4" in failed["error"] and failed["warnings"] == []


def test_several_videos_end_with_a_summary(clip, bad, capsys):
    assert main(["index", str(clip), bad]) == 1
    out, err = capsys.readouterr()
    assert "1 of 2 videos indexed, 1 failed" in out
    failure, note = err.splitlines()
    assert failure.startswith("framesift: ") and "bad.mp4" in failure
    assert "note: encoder offline" in note and "framesift pull siglip" in note


def test_library_lists_and_prunes(index, own_store, capsys):
    assert main(["library"]) == 0
    listed = capsys.readouterr().out
    assert listed.count("clip.mp4") == 1 and listed.splitlines()[-1].startswith("1 index, 2 entries in all")
    assert main(["library", "--prune"]) == 0
    kept = capsys.readouterr().err
    assert "nothing was removed" in kept and "--older-than AGE or --max-size SIZE" in kept
    assert main(["library", "--prune", "--older-than", "2W"]) == 0
    assert "none is beyond --older-than and --max-size" in capsys.readouterr().err
    assert main(["library", "--json", "--prune", "--max-size", "0.1kB"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert len(report["removed"]) == 2 and report["indexes"] == []
    assert not list(own_store.rglob("*.safetensors"))


def test_doctor_reports_what_is_installed_and_stored_and_what_auto_means(index, capsys):
    main(["library"])
    counts = capsys.readouterr().out.splitlines()[-1]
    assert main(["doctor"]) == 0
    out = capsys.readouterr().out
    assert "auto means offline" in out and "framesift pull siglip" in out
    assert counts.startswith("1 index, 2 entries in all, ") and f"store: {counts}" in out.splitlines()


def test_doctor_as_json(capsys):
    assert main(["doctor", "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["extras"]["offline"]["missing"] == []
    assert report["auto"]["encoder"] == "offline"


def test_doctor_says_what_fails_when_a_clip_is_decoded(monkeypatch, capsys):
    monkeypatch.setattr("framesift.video.container.FORMATS", "wav")
    assert main(["doctor"]) == 1
    line = next(line for line in capsys.readouterr().out.splitlines() if line.startswith("decoder: "))
    assert "fails on a generated clip (InputError: " in line


@pytest.mark.parametrize(
    ("package", "words", "extra"),
    [
        ("fastapi", ["serve", "."], "serve"),
        ("mcp", ["mcp", "."], "mcp"),
        ("shtab", ["--print-completion", "zsh"], "completion"),
    ],
)
def test_command_without_its_extra_names_it(package, words, extra, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, package, None)
    assert main(words) == 2
    error = capsys.readouterr().err
    assert error.endswith(f"pip install 'framesift[{extra}]'\n") and error.count("\n") == 1


def test_unsuitable_package_is_one_sentence(clip, own_store, monkeypatch, capsys):
    monkeypatch.setattr("framesift._utils.requirements.requires", lambda _: ["av>=999"])
    monkeypatch.setattr("framesift.video.container._METADATA", {"no_such_option": 1})
    assert main(["index", str(clip)]) == 2
    error = capsys.readouterr().err
    assert "framesift needs av>=999 (" in error and "pip install -U framesift" in error and error.count("\n") == 1


def test_selectors_are_listed_with_their_options_paper_and_needs(capsys):
    assert main(["selectors"]) == 0
    out = capsys.readouterr().out
    assert "alpha_ground=0.25" in out and "(Chen et al., CVPR 2026)\n" in out
    assert "needs the frames' vectors, pip install 'framesift[peers]'" in out
    assert main(["selectors", "--json"]) == 0
    rows = {row["name"]: row for row in json.loads(capsys.readouterr().out)}
    assert rows.keys() >= {"gcr", "uniform", "topk", "mmr"}
    assert rows["t-star"]["needs"] == ["frames", "detector", "objects", "peers"]
    assert rows["bolt"]["paper"] == "Liu et al., CVPR 2025"


def test_events_are_shown_with_where_they_came_from(clip, place, capsys):
    (place / "words.srt").write_text("1\n00:00:01,000 --> 00:00:02,000\nHello there\n")
    assert main(["events", str(clip), "--subtitles", "words.srt"]) == 0
    out, err = capsys.readouterr()
    assert out == "0:00:01.000 – 0:00:02.000  Hello there\n"
    assert "1 event from" in err and "words.srt" in err and "it spans 8% of the video's 12 s" in err


def test_version_is_printed(capsys):
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"framesift {fs.__version__}\n"


def test_completion_script_knows_commands_flags_and_choices(capsys):
    assert main(["--print-completion", "bash"]) == 0
    script = capsys.readouterr().out
    assert all(word in script for word in ("selectors", "--engine", "local"))
