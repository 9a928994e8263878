"""`framesift bench` as a new user types it, with the offline encoder and the similarity reader."""

import json

import pytest

from framesift.batch.results import read_results
from framesift.cli import main
from helpers.published_annotations import cgbench_row
from helpers.small_dataset import make_dataset


@pytest.fixture(scope="module")
def prepared(tmp_path_factory):
    folder = tmp_path_factory.mktemp("prepared")
    make_dataset(folder)
    return folder


@pytest.fixture
def bench(prepared, monkeypatch):
    monkeypatch.setenv("FRAMESIFT_STORE", str(prepared / "store"))
    return lambda *words: main(["bench", *words])


@pytest.fixture
def ran(bench, prepared):
    def go(*words):
        flags = ("--budgets", "4", "--readers", "similarity", "--encoder", "offline", "--out", "results")
        return bench(str(prepared / "small.jsonl"), *flags, *words)

    return go


def test_a_data_set_of_ones_own_runs_once_and_its_tables_are_printed(ran, place, capsys):
    assert ran("--methods", "gcr,uniform", "--ablate", "cover") == 0
    out = capsys.readouterr().out
    assert "### Accuracy (%)" in out and "similarity + gcr" in out and "### Evidence without a reader" in out
    assert "12 answers in" in out
    (run,) = read_results(place / "results").runs.values()
    assert run.command.startswith("framesift bench own ") and "--ablate cover" in run.command
    assert ran("--methods", "gcr,uniform", "--limit", "2", "--json") == 0
    output = json.loads(capsys.readouterr().out)
    assert [(run["done"], run["before"]) for run in output["runs"]] == [(0, 4)]
    assert output["tables"][0]["columns"][0] == "Reader and method"


def test_a_yaml_plan_is_run_and_narrowed(bench, prepared, place, capsys):
    plan = f"datasets: ['{prepared / 'small.jsonl'}']\nmethods: [gcr, uniform]\nbudgets: [2, 4]\nencoder: offline\n"
    (place / "plan.yaml").write_text(plan)
    assert bench("run", "plan.yaml", "--methods", "uniform", "--budgets", "2", "--out", "results") == 0
    assert {(row.method, row.budget) for row in read_results(place / "results").rows} == {("uniform", 2)}


def test_a_report_is_written_and_does_not_disturb_the_next(ran, bench, place, capsys):
    ran("--methods", "gcr,uniform")
    assert bench("report", "results") == 0
    assert (place / "results" / "report" / "report.md").exists() and "Paired differences" in capsys.readouterr().out
    assert bench("report", "results", "--json") == 0


def test_frames_chosen_by_others_are_scored(bench, prepared, place, capsys):
    (place / "theirs.json").write_text(json.dumps([{"id": "0-A", "times_s": [3.0]}, {"id": "1-A", "times_s": [9.0]}]))
    assert bench("evidence", str(prepared / "small.jsonl"), "--selections", "theirs.json", "--json") == 0
    output = json.loads(capsys.readouterr().out)
    assert output["rows"][0][0]["text"] == "theirs" and output["rows"][0][1]["number"] == 50.0


@pytest.fixture
def sets(place):
    questions = [{"video": "v", "question": "a red bus", "first": 0}, {"video": "v", "question": "cheese", "first": 1}]
    value = {"videos": {"v": ["There is a red bus.", "Cheese is made of milk."]}, "questions": questions}
    (place / "words.json").write_text(json.dumps(value))
    row = {"id": "m", "curve": [0, 0, 1, 0], "windows": [[4, 6]]}
    (place / "moments.jsonl").write_text(json.dumps(row))


def test_selectors_run_on_evidence_sets(bench, prepared, sets, capsys):
    flags = ("--video", str(prepared / "0.mp4"), "--encoder", "offline", "--budgets", "1", "--methods", "text,topk")
    assert bench("evidence", "words.json", "moments.jsonl", *flags, "--json") == 0
    words, moments = json.loads(capsys.readouterr().out)["tables"]
    assert [cell["number"] for cell in words["rows"][0][1:]] == [100.0, 100.0, 2, 1]
    assert [cell["number"] for cell in moments["rows"][1][1:]] == [100.0, 1, 1]
    assert bench("evidence", "words.json", *flags) == 0
    assert "| text | **100.00** (0.0 … 100.0) |" in capsys.readouterr().out


def test_all_selectors_run_by_default_and_the_others_are_named(bench, prepared, sets, capsys):
    assert bench("evidence", "moments.jsonl", "--video", str(prepared / "0.mp4"), "--encoder", "offline") == 0
    captured = capsys.readouterr()
    assert "| gcr |" in captured.out and "left out: t-star: needs the decoded frames" in captured.err


def test_uniform_frames_are_scored_by_the_annotation_alone(bench, place, capsys):
    # Clues of 3 s, and half a second on both sides, at every half second: the share that holds the middle of a part.
    starts = [0.25 + 0.5 * k for k in range(96)]
    (place / "cgbench_mini.json").write_text(
        json.dumps([cgbench_row(k, clue=[s + 0.5, s + 3.5]) for k, s in enumerate(starts)])
    )
    assert bench("evidence", "cgbench", "--data", ".", "--budgets", "4,8,16", "--json") == 0
    output = json.loads(capsys.readouterr().out)
    hits = {line[0]["text"]: line[output["columns"].index("Hit")]["number"] for line in output["rows"]}
    assert hits == {"uniform, 4 frames": 25.0, "uniform, 8 frames": 50.0, "uniform, 16 frames": 100.0}
    assert "uniform: the middles of equal parts of the annotated duration" in output["notes"]
