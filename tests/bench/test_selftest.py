"""The synthetic benchmark, and the self-test on a small one from end to end."""

from itertools import pairwise

import pytest

from framesift.bench.selftest import OTHERS, VARIANTS, run_selftest
from framesift.bench.synthetic import KINDS, NAME, SPEECH_S, SPOKEN, VIDEOS, write_script


def test_shots_follow_each_other_without_speech_over_visual_or_occluded_evidence():
    for number in range(VIDEOS):
        script = write_script(number)
        assert script == write_script(number) != write_script(number + 1)
        assert all(a.start_s + a.seconds == b.start_s for a, b in pairwise(script.shots))
        spans = [question["moments"][0] for question in script.questions if question["group"] != SPOKEN]
        assert all(end < start or begin > stop for begin, end, _ in script.lines for start, stop in spans)


def test_line_that_answers_is_spoken_once_over_unrelated_frames():
    for number in range(VIDEOS):
        script = write_script(number)
        spoken, visual, occluded = script.questions
        start, stop = spoken["moments"][0]
        (line,) = [text for a, b, text in script.lines if (a, b) == (start, stop)]
        assert stop - start == pytest.approx(SPEECH_S)
        assert [text for *_, text in script.lines].count(line) == 1
        starts = [question["moments"][0][0] for question in (visual, occluded)]
        subjects = {shot.photograph for shot in script.shots if shot.start_s in starts}
        shown = {s.photograph for s in script.shots if s.start_s < stop and s.start_s + s.seconds > start}
        assert not shown & subjects


@pytest.mark.slow
def test_selftest_runs_on_a_small_data_set(tmp_path):
    outcome = run_selftest(tmp_path, videos=1, seconds=90, budgets=(8,))
    found, accuracy = outcome.tables
    assert [row[0].text for row in found.rows] == list(VARIANTS)
    assert found.columns[2:5] == KINDS and accuracy.rows
    claims = [verdict["claim"] for verdict in outcome.verdicts]
    assert claims[:3] == [f"gcr finds more than {other}" for other in OTHERS] and len(claims) == 6
    assert (tmp_path / "data" / f"{NAME}.jsonl").exists() and (tmp_path / "report" / "report.md").exists()
