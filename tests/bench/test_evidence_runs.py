import json

import pytest

import framesift as fs
from framesift.batch.results import read_results
from framesift.bench.evidence_runs import not_runnable, run_evidence_set, score_table
from framesift.bench.evidence_sets import read_evidence_set
from framesift.bench.plan import make_plan
from framesift.errors import InputError
from framesift.indexing.index import build_index
from helpers.clips import make_clip
from helpers.encoders import GridEncoder
from helpers.published_annotations import write

SENTENCES = ["aaa", "bbb", "ccc", "ddd", "eee", "fff"]


@pytest.fixture
def config(tmp_path):
    return fs.PipelineConfig(encoder=GridEncoder(), store=tmp_path / "store")


@pytest.fixture
def clip(tmp_path):
    make_clip(tmp_path / "clip.mp4", seconds=12)
    return tmp_path / "clip.mp4"


def transcripts(tmp_path, **video):
    value = {"sentences": SENTENCES, **video} if video else SENTENCES
    questions = [{"video": "v", "question": text, "first": k} for k, text in enumerate(SENTENCES)]
    return read_evidence_set(write(tmp_path / "words.json", {"videos": {"v": value}, "questions": questions}))


def moments(tmp_path, **fields):
    row = {"query": "aaa", "curve": [0, 0, 0, 5, 0, 0], "windows": [[6, 8], [0, 1]], **fields}
    return read_evidence_set(write(tmp_path / "curves.jsonl", json.dumps(row)))


def choices(methods, budgets="2", **settings):
    return make_plan({"methods": methods, "budgets": budgets, "text_modes": "none", **settings}).choices


def numbers(table):
    return {row[0].text: [cell.number for cell in row[1:]] for row in table.rows}


def test_words_are_found_by_text_and_never_by_uniform(tmp_path, config, clip):
    data = transcripts(tmp_path)
    table = score_table(data, run_evidence_set(data, choices("text,uniform"), config, substitute=clip))
    assert table.columns == ("Method", "Words", "Frames", "n", "Videos")
    assert numbers(table)["text"] == [100.0, 100.0, 6, 1] and numbers(table)["uniform"][0] == 0.0


def test_windows_hit_are_those_with_a_frame_inside(tmp_path, config, clip):
    data = moments(tmp_path)
    table = score_table(data, run_evidence_set(data, choices("topk", "1,6"), config, substitute=clip))
    assert table.head == (("", 1), ("1 frame", 1), ("6 frames", 1), ("", 1), ("", 1))
    assert numbers(table) == {"topk": [50.0, 100.0, 1, 1]}


def test_curve_becomes_cosines_up_to_a_fifth(tmp_path, config, clip, monkeypatch):
    seen = []

    def record(evidence, **_):
        seen.append(evidence)
        return fs.select_frames(evidence, budget=1, method="topk")

    monkeypatch.setattr("framesift.bench.evidence_runs.select_frames", record)
    run_evidence_set(moments(tmp_path), choices("topk"), config, substitute=clip)
    assert seen[0].relevance == pytest.approx([0, 0, 0, 0.2, 0, 0])
    assert list(seen[0].times_s) == [1, 3, 5, 7, 9, 11] and seen[0].visual_demand == 0.8


def test_set_without_frames_needs_a_video(tmp_path, config):
    with pytest.raises(InputError, match="has videos without frames; give a video"):
        run_evidence_set(transcripts(tmp_path), choices("uniform"), config)


def test_own_video_file_gives_the_candidates(tmp_path, config, clip):
    data = transcripts(tmp_path, file="clip.mp4")
    (row, *_) = run_evidence_set(data, choices("uniform", "64"), config).rows
    assert list(row.times_s) == list(build_index(clip, config.index).times_s)[: len(row.times_s)]


def test_second_run_takes_its_rows_from_the_folder(tmp_path, config, clip, monkeypatch):
    data = transcripts(tmp_path)
    first = run_evidence_set(data, choices("text"), config, substitute=clip, folder=tmp_path / "rows")
    assert len(read_results(tmp_path / "rows").rows) == 6
    monkeypatch.setattr("framesift.bench.evidence_runs.select_many", None)
    again = run_evidence_set(data, choices("text"), config, substitute=clip, folder=tmp_path / "rows")
    assert numbers(score_table(data, again)) == numbers(score_table(data, first))


def test_rows_of_other_frames_are_not_used_again(tmp_path, config, clip):
    data = transcripts(tmp_path)
    run_evidence_set(data, choices("topk"), config, substitute=clip, folder=tmp_path / "rows")
    make_clip(tmp_path / "other.mp4", seconds=12, seed=5)
    run_evidence_set(data, choices("topk"), config, substitute=tmp_path / "other.mp4", folder=tmp_path / "rows")
    assert len({row.run for row in read_results(tmp_path / "rows").rows}) == 1


def test_options_make_lines_of_their_own(tmp_path, config, clip):
    data = transcripts(tmp_path)
    plan = choices("gcr", sweep=["alpha_ground=1/2"])
    table = score_table(data, run_evidence_set(data, plan, config, substitute=clip))
    assert list(numbers(table)) == ["gcr", "gcr alpha_ground=0.5"]


def test_selectors_that_need_more_than_arrays_are_left_out_with_a_reason():
    left_out = not_runnable(fs.selectors())
    assert not {"gcr", "text", "uniform"} & set(left_out)
    assert left_out["t-star"] == "needs the decoded frames, an open-vocabulary detector, the objects a question names"
