"""Rows of `corpus` and of the benchmarks: one finds those of the other."""

import json

import pytest

import framesift as fs
from framesift.batch.results import read_results
from framesift.bench.datasets import load_dataset
from framesift.bench.plan import make_plan
from framesift.bench.runner import run_benchmark
from framesift.errors import InputError
from helpers.batch_videos import make_video


@pytest.fixture
def questions(tmp_path):
    rows = []
    for k in range(2):
        make_video(tmp_path / f"v{k}.mp4", seed=k)
        (tmp_path / f"v{k}.srt").write_text("1\n00:00:01,000 --> 00:00:02,000\nred\n")
        question = {"video": f"v{k}.mp4", "subtitles": f"v{k}.srt", "question": "Which?", "options": ["red", "blue"]}
        rows.append({**question, "id": f"q{k}", "answer": "B"})
    file = tmp_path / "q.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return file


@pytest.fixture
def corpus(questions, encoder, tmp_path):
    def run(**arguments):
        arguments = {
            "reader": "similarity",
            "engine": "inline",
            "fps": 1.0,
            "method": "gcr",
            "budget": 4,
            "blank_frames": "keep",
            "unchanged_frames": "encode",
            **arguments,
        }
        return fs.corpus.ask(questions, results=tmp_path / "r", encoder=encoder, store=tmp_path / "s", **arguments)

    return run


@pytest.fixture
def bench(questions, encoder, tmp_path):
    def run(**settings):
        settings = {"methods": "gcr", "budgets": "4", "readers": "similarity", "encoder": encoder, **settings}
        settings["store"] = tmp_path / "s"
        return run_benchmark(load_dataset(str(questions)), make_plan(settings), tmp_path / "r")

    return run


def test_bench_finds_the_rows_of_corpus(corpus, bench):
    assert corpus().done == 2
    assert (bench().done, bench().skipped) == (0, 2)


def test_corpus_finds_the_rows_of_bench(corpus, bench):
    assert bench().done == 2
    assert (corpus().done, corpus().skipped) == (0, 2)


def test_rows_of_both_hold_the_same(corpus, bench, tmp_path):
    corpus()
    (tmp_path / "r").rename(tmp_path / "first")
    bench()
    ours, theirs = read_results(tmp_path / "first").rows, read_results(tmp_path / "r").rows
    for a, b in zip(ours, theirs, strict=True):
        for name in (
            "key",
            "prompt",
            "parsed",
            "rendered",
            "choice",
            "reply",
            "times_s",
            "frame_numbers",
            "candidates",
        ):
            assert getattr(a, name) == getattr(b, name)
        assert set(a.seconds) == set(b.seconds) == {"decode", "features", "score", "select", "read"}


def test_a_seed_is_the_same_setting_for_both(corpus, bench):
    assert corpus(method="focus", options={"seed": 3}).done == 2
    assert bench(methods="focus", seed=3).skipped == 2


def test_both_take_visual_demand_and_event_encoder_as_settings_of_their_own(corpus, bench, tmp_path):
    corpus()
    assert corpus(visual_demand=0.25).done == 2
    assert bench(visual_demand="0.25").skipped == 2
    assert {row.config["visual_demand"] for row in read_results(tmp_path / "r").rows} == {"rules", 0.25}


def test_rows_with_reused_vectors_are_jobs_of_their_own(corpus, bench):
    corpus(unchanged_frames="reuse")
    assert (bench().done, bench().skipped) == (2, 2)
    assert bench(unchanged_frames="reuse").skipped == 2


def test_rows_with_and_without_blank_frames_are_different_jobs(corpus, bench):
    corpus()
    assert corpus(blank_frames="skip").done == 2
    assert bench(blank_frames="skip").skipped == 2


def test_addresses_with_credentials_are_rejected_before_anything_is_written(corpus, tmp_path):
    address = "http://me:secret@host/v1#qwen"
    for settings in (
        {"namer": address},
        {"method": "himu", "options": {"model": address, "tree": '{"op": "LEAF"}'}},
        {"reader": "http://host/v1?key=secret#qwen"},
    ):
        with pytest.raises(InputError, match="contains a user, a password or query parameters") as error:
            corpus(**settings)
        assert "secret" not in str(error.value) and not (tmp_path / "r").exists()
