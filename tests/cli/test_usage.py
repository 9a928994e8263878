"""Mistyped commands: one line on what is wrong, what was meant, and where the help is; exit code 2."""

import pytest

from framesift.cli import main

VIDEO = ("select", "clip.mp4", "-q", "Cold?")


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["selcet"], "there is no command 'selcet'; did you mean select? (see framesift --help)"),
        (["corpus", "indx"], "there is no command 'indx'; did you mean index? (see framesift corpus --help)"),
        (["help", "select"], "there is no command 'help'; did you mean --help? (see framesift --help)"),
        (["version"], "there is no command 'version'; did you mean --version? (see framesift --help)"),
        (["clip.mp4", "Cold?"], "there is no command 'clip.mp4'; for example: framesift select video.mp4 \"Why"),
        (["demo", "x"], "unexpected argument 'x' (see framesift demo --help)"),
        (["select", "clip.mp4"], "there is no question; write the video, then the question: framesift select VIDEO"),
        (["ask", "Cold?", "clip.mp4"], "'Cold?' is not a file; write the video, then the question: framesift ask"),
        (["select", "clip.mp4", ""], "the question is empty; expected a text"),
        (["select", "help"], "'help' is not a file; write the video, then the question: framesift select VIDEO"),
        ([*VIDEO, "--from", "noon"], "--from is 'noon'; expected seconds, or a time such as 1:02"),
        ([*VIDEO, "--reader", "host:80"], "there is no reader 'host:80'; did you mean http://host:80?"),
        (["--jsn"], "there is no flag --jsn (see framesift --help)"),
        ([*VIDEO, "--bugdet", "4"], "there is no flag --bugdet; did you mean --budget? (see framesift select --help)"),
        ([*VIDEO, "--bugdet=4"], "there is no flag --bugdet; did you mean --budget? (see framesift select --help)"),
        (["select", "--hlep"], "there is no flag --hlep; did you mean --help? (see framesift select --help)"),
        ([*VIDEO, "--fps", "2"], "there is no flag --fps; did you mean --set fps=VALUE? (see framesift select --help)"),
        (
            ["bench", "own", "q.csv", "--budget", "4"],
            "there is no flag --budget; did you mean --budgets? (see framesift bench own --help)",
        ),
        (["tools", "--format", "opneai"], "--format is 'opneai'; did you mean openai? (see framesift tools --help)"),
        (
            [*VIDEO, "--budget", "few"],
            "--budget is 'few'; expected a whole number, or auto (see framesift select --help)",
        ),
        (["select"], 'VIDEO is missing; for example: framesift select video.mp4 "Why was the launch put off?"'),
        (
            ["select", "a.mp4", "-q", "Why", "wait?"],
            "'wait?' is not a file; put a text of several words in quotation marks",
        ),
        (["library", "--max-size", "1GBB"], "--max-size: '1GBB' is not a number with a unit; expected for example"),
        (["library", "--max-size", "nanGB"], "--max-size: 'nanGB' is not a number with a unit"),
        (["library", "--max-size=-1G"], "--max-size: '-1G' is not a number with a unit"),
        (["library", "--older-than", "30x"], "--older-than: '30x' is not a number with a unit"),
        (["index", ""], "VIDEO is empty; expected a path (see framesift index --help)"),
        (["serve", ""], "FOLDER is empty; expected a path (see framesift serve --help)"),
        ([*VIDEO, "--out", ""], "--out is empty; expected a path (see framesift select --help)"),
    ],
)
def test_bad_usage_is_one_line(words, expected, capsys):
    assert main(words) == 2
    out, err = capsys.readouterr()
    assert err.startswith(f"framesift: {expected}") and err.count("\n") == 1 and not out


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        (["--method", "sfit"], "sift"),
        (["--set", "flor=1"], "floor"),
        (["--encoder", "offlin"], "offline"),
        (["--set", "speech=wisper"], "whisper"),
        (["--set", "overlay=aligend"], "aligned"),
        (["--set", "bugdet=2"], "budget"),
        (["--config", "settings.json"], "budget"),
    ],
)
def test_mistyped_name_is_suggested(words, meant, place, capsys):
    (place / "clip.mp4").write_text("no video")
    (place / "settings.json").write_text('{"bugdet": 4}')
    assert main([*VIDEO, *words]) == 2
    assert capsys.readouterr().err.endswith(f"; did you mean {meant}?\n")


@pytest.mark.parametrize("words", [[], ["corpus"], ["bench"]])
def test_command_alone_prints_its_commands(words, capsys):
    assert main(words) == 2
    out, err = capsys.readouterr()
    assert out.startswith(("try: framesift demo\n", "example: framesift")) and not err


def test_file_whose_name_begins_with_a_dash_is_not_an_unknown_flag(place, capsys):
    (place / "-clip.mp4").write_text("no video")
    assert main(["index", "-clip.mp4"]) == 2
    assert "'-clip.mp4' begins with - and was read as a flag; write ./-clip.mp4" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["select -q x", "compare -q x", "ask -q x --reader similarity", "index", "events"])
def test_url_is_answered_with_the_remedy(command, place, own_store, capsys):
    name, *flags = command.split()
    assert main([name, "https://host/v.mp4", *flags]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("framesift: 'https://host/v.mp4' is a URL; expected a file: download it first")
    assert not own_store.exists() and list(place.iterdir()) == []
