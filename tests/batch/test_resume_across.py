"""Rows of `corpus` and of the benchmarks: one finds those of the other."""

import pytest

import framesift as fs
from framesift.batch.results import read_results
from framesift.bench.datasets import load_dataset
from framesift.bench.plan import make_plan
from framesift.bench.runner import run_benchmark
from helpers.batch_videos import make_video, write_questions


@pytest.fixture
def questions(tmp_path):
    for k in range(2):
        make_video(tmp_path / f"v{k}.mp4", seconds=4, seed=k)
        (tmp_path / f"v{k}.srt").write_text("1\n00:00:01,000 --> 00:00:02,000\nred\n")
    rows = [{"id": f"q{k}", "video": f"v{k}.mp4", "subtitles": f"v{k}.srt"} for k in range(2)]
    return write_questions(tmp_path / "q.jsonl", *rows)


@pytest.fixture
def corpus(questions, encoder, tmp_path):
    def run(**arguments):
        same = {"encoder": encoder, "reader": "similarity", "fps": 1.0, "method": "gcr", "budget": 4}
        same |= {"blank_frames": "keep", "unchanged_frames": "encode", "engine": "inline", "store": tmp_path / "s"}
        return fs.corpus.ask(questions, results=tmp_path / "r", **same | arguments)

    return run


@pytest.fixture
def bench(questions, encoder, tmp_path):
    def run(**settings):
        same = {"methods": "gcr", "budgets": "4", "readers": "similarity", "encoder": encoder, "store": tmp_path / "s"}
        return run_benchmark(load_dataset(str(questions)), make_plan(same | settings), tmp_path / "r")

    return run


def test_rows_of_both_hold_the_same(corpus, bench, tmp_path):
    corpus()
    (tmp_path / "r").rename(tmp_path / "first")
    bench()
    ours, theirs = read_results(tmp_path / "first").rows, read_results(tmp_path / "r").rows
    same = ("key", "prompt", "parsed", "rendered", "choice", "reply", "times_s", "frame_numbers", "candidates")
    for a, b in zip(ours, theirs, strict=True):
        assert {name: getattr(a, name) for name in same} == {name: getattr(b, name) for name in same}
        assert set(a.seconds) == set(b.seconds) == {"decode", "features", "score", "select", "read"}


@pytest.mark.parametrize(
    ("of_corpus", "of_bench"),
    [
        ({"method": "focus", "options": {"seed": 3}}, {"methods": "focus", "seed": 3}),
        ({"visual_demand": 0.25}, {"visual_demand": "0.25"}),
        ({"unchanged_frames": "reuse"}, {"unchanged_frames": "reuse"}),
        ({"blank_frames": "skip"}, {"blank_frames": "skip"}),
    ],
)
def test_each_finds_the_rows_of_the_other_and_of_its_settings_only(corpus, bench, of_corpus, of_bench):
    assert bench().done == 2
    assert (corpus().done, corpus().skipped) == (0, 2)
    assert corpus(**of_corpus).done == 2
    assert (bench(**of_bench).done, bench(**of_bench).skipped) == (0, 2)
