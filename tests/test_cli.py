"""The command line: what it prints, and its exit codes."""

import json

import pytest

import framesift as fs
from framesift.cli import main


def test_demo_prints_the_selection_and_why(capsys):
    assert main(["demo"]) == 0
    out = capsys.readouterr().out
    assert "I am leaving because the house was sold." in out
    assert "Refine: the largest gap is" in out


def test_demo_as_json_is_a_selection(capsys):
    assert main(["demo", "--json", "--budget", "8"]) == 0
    assert len(fs.Selection.from_json(capsys.readouterr().out)) == 8


def test_demo_runs_with_any_selector(capsys):
    assert main(["demo", "--method", "uniform"]) == 0
    assert "uniform: 16 frames" in capsys.readouterr().out


@pytest.mark.parametrize("arguments", [["demo", "--budget", "0"], ["demo", "--method", "best"]])
def test_bad_input_is_one_sentence_and_exit_code_2(arguments, capsys):
    assert main(arguments) == 2
    err = capsys.readouterr().err
    assert err.startswith("framesift: ") and len(err.splitlines()) == 1


def test_bad_usage_is_exit_code_2(capsys):
    with pytest.raises(SystemExit) as stopped:
        main(["nonsense"])
    assert stopped.value.code == 2
    assert "nonsense" in capsys.readouterr().err


def test_selectors_are_listed_with_their_options(capsys):
    assert main(["selectors"]) == 0
    assert "alpha_ground = 0.25" in capsys.readouterr().out
    assert main(["selectors", "--json"]) == 0
    assert {row["name"] for row in json.loads(capsys.readouterr().out)} >= {"gcr", "uniform", "topk", "mmr"}
