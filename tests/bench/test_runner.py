"""A benchmark run: the rows it writes, how it resumes, and how it handles failures."""

from dataclasses import replace
from pathlib import Path

import pytest

from framesift.batch.results import read_results
from framesift.batch.settings import ReaderSpec
from framesift.bench.report import make_tables
from framesift.bench.runner import run_benchmark, with_prompt
from framesift.pipeline.config import read_settings
from helpers.small_dataset import FirstOption, make_dataset, small_plan


@pytest.fixture(scope="module")
def dataset(tmp_path_factory):
    return make_dataset(tmp_path_factory.mktemp("small"))


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    return tmp_path_factory.mktemp("store")


@pytest.fixture
def run(dataset, store, tmp_path):
    def go(plan, folder="results", dataset=dataset, **arguments):
        tally = run_benchmark(
            dataset, replace(plan, config=plan.config.replace(store=store)), tmp_path / folder, **arguments
        )
        return tally, read_results(tmp_path / folder)

    return go


def test_every_question_method_and_mode_becomes_a_row_once(run, dataset):
    reader, lacking = FirstOption(), replace(dataset, missing="1 video missing for 1 question (v.mp4)")
    plan = {"text_modes": "none,aligned"}
    run(small_plan(reader, **plan, methods="gcr"), dataset=lacking)
    tally, results = run(small_plan(reader, **plan), dataset=lacking)
    assert (tally.done, tally.skipped) == (8, 8) and len(results.rows) == reader.asked == 4 * 2 * 2
    kinds = {(row.method, row.text_mode) for row in results.rows}
    assert kinds == {(method, mode) for method in ("gcr", "uniform") for mode in ("none", "aligned")}
    assert [row.correct for row in results.rows].count(True) == 8
    record = next(iter(results.runs.values()))
    assert (record.data, record.annotation, record.items) == (lacking.fingerprint, lacking.annotation, len(lacking))
    assert record.missing == ("1 video missing for 1 question (v.mp4)",)


def test_row_holds_the_question_costs_and_frames(run):
    _, results = run(small_plan(FirstOption()))
    row = next(row for row in results.rows if row.method == "gcr" and row.item_id == "1-B")
    assert (row.video_id, row.group, row.truth) == ("1.mp4", "clips", 1)
    assert {"score", "select", "decode", "features", "read"} == set(row.seconds)
    assert len(row.times_s) == len(row.frame_numbers) == 4 and row.candidates == row.looked_at == 12
    assert not any(row.seconds["decode"] for row in results.rows if row.method == "uniform")  # it needs no index
    assert (row.rendered, row.rendered_words, row.frame_size) == (1, 4, (96, 64))
    assert row.config["query"] == "stem+options" and row.config["size"] is None
    assert row.tokens == 7 and row.peak_memory_bytes > 0 and row.config["encoder"] == "grid"


def test_plan_compares_frames_and_pixels_at_equal_tokens(run, tmp_path):
    class PixelCounter(FirstOption):
        def answer(self, exhibit, question, text_mode="aligned"):
            tokens = sum(frame.image.width * frame.image.height // 784 for frame in exhibit)
            return replace(super().answer(exhibit, question, text_mode), tokens=tokens)

    settings = read_settings(Path(__file__).parents[2] / "benchmarks/paper/equal-tokens.yaml")
    plan = small_plan(PixelCounter(), **settings)
    clips = make_dataset(tmp_path / "clips", videos=1, seconds=16, size=(640, 360))
    _, results = run(plan, dataset=clips)
    shown = {(row.budget, row.frame_size, row.config["size"]) for row in results.rows}
    assert shown == {(8, (640, 360), 360), (16, (448, 252), 252)}
    main = next(make_tables(results))
    labels = [f"first + {method} (size {size})" for size in (360, 252) for method in ("gcr", "uniform")]
    assert [line[0].text for line in main.rows] == labels
    assert {line[3].text for line in main.rows} == {str(8 * 293), str(16 * 144)}
    assert "frames shown: 8 of 640 × 360, 16 of 448 × 252" in main.notes


def test_without_a_reader_text_modes_share_one_row(run):
    tally, results = run(small_plan(text_modes="none,aligned"))
    assert tally.done == len(results.rows) == 8 and not any(row.reader for row in results.rows)


def test_stopped_run_is_resumed(run):
    class Stopped(FirstOption):
        concurrency = 1

        def answer(self, *args):
            if self.asked == 3:
                raise KeyboardInterrupt
            return super().answer(*args)

    with pytest.raises(KeyboardInterrupt):
        run(small_plan(Stopped()))
    reader = FirstOption()
    tally, results = run(small_plan(reader))
    assert tally.skipped == 3 and reader.asked == tally.done == 8 - tally.skipped and len(results.rows) == 8


def test_shards_together_cover_all_rows(run, tmp_path):
    dataset = make_dataset(tmp_path / "data", videos=4)
    parts = [run(small_plan(), dataset=dataset, folder="shared", shard=(k, 3))[0].done for k in (1, 2, 3)]
    _, whole = run(small_plan(), dataset=dataset, folder="whole")
    shared = read_results(tmp_path / "shared")
    assert sum(parts) == len(whole.rows) and max(parts) < len(whole.rows)
    assert {row.key for row in shared.rows} == {row.key for row in whole.rows}


def test_uniform_takes_its_frames_from_the_whole_video_if_the_plan_says_so(run):
    plan = small_plan(FirstOption(), budgets="40", uniform_frames="video")
    _, results = run(plan)
    frames = {(row.method, row.config["uniform_frames"], len(row.times_s)) for row in results.rows}
    assert frames == {("gcr", "candidates", 12), ("uniform", "video", 40)}
    uniform = next(row for row in results.rows if row.method == "uniform")
    assert list(uniform.frame_numbers) == sorted(set(uniform.frame_numbers))
    assert uniform.rendered > 0  # its frames carry the event on screen, as those of candidates do


def test_row_has_the_times_of_the_prompt_as_set_and_as_written(run):
    class Trained(FirstOption):
        time_format, times = "clock", False

        def answer(self, *args):
            return replace(super().answer(*args), time_format="clock", frames_as="images")

    _, results = run(small_plan(Trained(), methods="uniform"))
    row = results.rows[0]
    assert (row.config["time_format"], row.times_written, row.frames_as) == ("clock", "clock", "images")
    assert row.config["prompt_times"] is False
    assert row.key != replace(row, config={**row.config, "time_format": "auto"}).key


def test_plan_chooses_the_times_of_prompts_unless_a_reader_has_its_own():
    spec = with_prompt(ReaderSpec("http://host/v1", {}), "longvideobench", times=False)
    assert spec.options == {"preset": "longvideobench", "times": False}
    own = ReaderSpec("http://host/v1", {"times": True})
    assert with_prompt(own, "videomme", times=False).options == {"preset": "videomme", "times": True}
