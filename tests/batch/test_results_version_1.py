"""Result rows of version 1: they are read, keep their keys, and count as done."""

import hashlib
import json

import pytest

import framesift as fs
from framesift.batch.results import Result, read_results
from framesift.bench.report import make_tables
from helpers.batch_videos import make_video
from helpers.result_rows import row

IDENTITY = [
    "dataset",
    "item_id",
    "method",
    "budget",
    "options",
    "text_mode",
    "reader",
    "prompt",
    "encoder",
    "events",
    "fps",
    "seed",
]


def write_version_1(folder, *rows):
    folder.mkdir(exist_ok=True)
    lines = [json.dumps({"schema": "framesift.result/1", **values}) for values in rows]
    (folder / "old.jsonl").write_text("\n".join(lines) + "\n")


def corpus_row(**values):
    """A row as `corpus ask` of version 0.1 wrote it."""
    default = {
        "dataset": "q",
        "item_id": "1",
        "method": "gcr",
        "budget": 4,
        "options": {},
        "text_mode": "aligned",
        "reader": "http://host:8000/v1#qwen",
        "prompt": "",
        "encoder": "offline",
        "events": "subtitles",
        "fps": "auto",
        "seed": 0,
        "truth": 1,
        "choice": 1,
        "parsed": True,
        "times_s": [1.0],
        "seconds": {"features": 9.0, "select": 1.0, "read": 2.0},
    }
    return default | values


def test_key_of_a_row_with_default_settings_is_that_of_version_1():
    one = row(options={"alpha_ground": 0.125})
    text = json.dumps([getattr(one, name) for name in IDENTITY], sort_keys=True, ensure_ascii=False)
    assert one.key == hashlib.sha256(text.encode()).hexdigest()[:24]


def test_settings_of_version_2_change_the_key_where_they_are_not_the_default():
    changed = [{"event_encoder": "minilm"}, {"visual_demand": "0.5"}, {"namer": "http://host/v1"}]
    changed += [{"blank_frames": "skip"}, {"unchanged_frames": "reuse"}]
    assert len({row(**values).key for values in [{}, *changed]}) == 6


def test_fields_that_corpus_filled_differently_are_converted(tmp_path):
    write_version_1(tmp_path, corpus_row(choice=None, options={"seed": 3, "lambda_mmr": 0.7}, seed=3, method="gcr"))
    (read,) = read_results(tmp_path).rows
    assert (read.prompt, read.parsed, dict(read.seconds)) == ("longvideobench", False, {"read": 2.0})
    assert "seed" not in read.options


def test_report_has_corpus_rows_in_its_main_table(tmp_path):
    write_version_1(tmp_path, *(corpus_row(item_id=str(k), options={"seed": 3}, seed=3) for k in range(4)))
    tables = {table.name: table for table in make_tables(read_results(tmp_path))}
    assert tables["main"].rows and not [name for name in tables if name.startswith("efficiency")]


def test_rows_of_a_benchmark_stay_as_they_were(tmp_path):
    seconds = {"decode": 2.0, "features": 1.0, "score": 0.25, "select": 0.25}
    one = row(options={"alpha_ground": 0.125}, seconds=seconds, finished_s=5.0)
    values = {**one.to_dict(), "schema": "framesift.result/1"}
    write_version_1(tmp_path, {k: v for k, v in values.items() if k not in ("event_encoder", "visual_demand", "namer")})
    assert read_results(tmp_path).rows == [one]


def test_corpus_resumes_rows_of_version_1(encoder, tmp_path):
    make_video(tmp_path / "v.mp4")
    question = {"id": "1", "video": "v.mp4", "question": "Which colour?", "options": ["red", "blue"], "answer": "B"}
    (tmp_path / "q.jsonl").write_text(json.dumps(question))
    old = corpus_row(encoder=encoder, reader="similarity", options={"alpha_ground": 0.5})
    write_version_1(tmp_path / "r", old, corpus_row(encoder=encoder, reader="", text_mode="none"))
    arguments = {
        "results": tmp_path / "r",
        "encoder": encoder,
        "store": tmp_path / "s",
        "method": "gcr",
        "budget": 4,
        "engine": "inline",
        "blank_frames": "keep",
        "unchanged_frames": "encode",
    }
    asked = fs.corpus.ask(tmp_path / "q.jsonl", reader="similarity", options={"alpha_ground": 0.5}, **arguments)
    selected = fs.corpus.select(tmp_path / "q.jsonl", **arguments)
    assert [(one.done, one.skipped) for one in (asked, selected)] == [(0, 1), (0, 1)]


@pytest.mark.parametrize("values", [{"method": "no such method"}, {"options": {"unknown": 1}}])
def test_rows_of_unknown_methods_and_options_are_read(tmp_path, values):
    write_version_1(tmp_path, corpus_row(**values))
    (read,) = read_results(tmp_path).rows
    assert isinstance(read, Result)
