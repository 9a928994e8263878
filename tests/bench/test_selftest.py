"""The planted data set is what it says, and the selftest runs on a small one from end to end."""

from itertools import pairwise

import pytest

from framesift.bench.selftest import OTHERS, VARIANTS, run_selftest
from framesift.bench.synthetic import KINDS, NAME, TALK_S, VIDEOS, write_script


@pytest.mark.parametrize("number", range(VIDEOS))
def test_nobody_speaks_over_what_is_seen_or_hidden(number):
    script = write_script(number)
    planted = [question["moments"][0] for question in script.questions if question["group"] != "told"]
    assert all(end < start or begin > stop for begin, end, _ in script.lines for start, stop in planted)


@pytest.mark.parametrize("number", range(VIDEOS))
def test_the_line_that_answers_is_said_once_over_another_picture(number):
    script = write_script(number)
    told, seen, hidden = script.questions
    start, stop = told["moments"][0]
    words = [text for a, b, text in script.lines if (a, b) == (start, stop)]
    assert stop - start == pytest.approx(TALK_S) and len(words) == 1
    assert [text for *_, text in script.lines].count(words[0]) == 1
    starts = [question["moments"][0][0] for question in (seen, hidden)]
    subjects = {shot.photograph for shot in script.shots if shot.start_s in starts}
    over = {s.photograph for s in script.shots if s.start_s < stop and s.start_s + s.seconds > start}
    assert not over & subjects


def test_shots_follow_each_other_and_fill_the_video():
    shots = write_script(3, 200).shots
    assert all(a.start_s + a.seconds == b.start_s for a, b in pairwise(shots))
    assert shots[-1].start_s + shots[-1].seconds == 200


def test_a_script_repeats():
    assert write_script(5) == write_script(5) != write_script(6)


def test_the_selftest_runs_on_a_small_data_set(tmp_path):
    pytest.importorskip("torch", reason="the selftest runs the offline encoder: pip install 'framesift[offline]'")
    outcome = run_selftest(tmp_path, videos=1, seconds=90, budgets=(8,))
    found, accuracy = outcome.tables
    assert [row[0].text for row in found.rows] == list(VARIANTS)
    assert found.columns[2:5] == KINDS and accuracy.rows
    claims = [verdict["claim"] for verdict in outcome.verdicts]
    assert claims[:3] == [f"gcr finds more than {other}" for other in OTHERS] and len(claims) == 6
    assert (tmp_path / "data" / f"{NAME}.jsonl").exists() and (tmp_path / "report" / "report.md").exists()
