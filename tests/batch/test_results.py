import json
from concurrent.futures import ProcessPoolExecutor
from dataclasses import fields
from multiprocessing import get_context

import pytest
from hypothesis import given
from hypothesis import strategies as st

from framesift.batch.results import Result, ResultWriter, new_run, read_results
from framesift.errors import InputError, OutputError
from framesift.types import Window
from helpers.full_disk import largest_file
from helpers.result_rows import RUN, keep, keep_many, row


def test_row_is_read_as_it_was_written(tmp_path):
    one = row(options={"alpha_ground": 0.125}, times_s=(1.0, 2.5), seconds={"decode": 1.5}, reply="B “x”\u2028")
    keep(tmp_path, one)
    (found,) = read_results(tmp_path).rows
    assert found == Result(**{f.name: getattr(one, f.name) for f in fields(one)} | {"finished_s": found.finished_s})


OTHER_VALUES = {
    "dataset": "videomme",
    "item_id": "q1",
    "method": "aks",
    "options": {"gate": 0.2},
    "budget": 32,
    "text_mode": "none",
    "reader": "llava",
    "prompt": "bare",
    "config": {"encoder": "offline"},
    "window": Window(1.0, 2.0),
}


def test_key_depends_on_every_identity_field():
    keys = {row(**{name: value}).key for name, value in OTHER_VALUES.items()}
    assert len(keys | {row().key}) == len(OTHER_VALUES) + 1


def test_key_does_not_depend_on_the_outcome():
    for outcome in ({"choice": 0}, {"run": "r2"}, {"error": "x"}, {"times_s": (1.0,)}):
        assert row().key == row(**outcome).key


values = st.one_of(st.integers(), st.floats(allow_nan=False, allow_infinity=False), st.text(), st.tuples(st.integers()))


@given(st.dictionaries(st.text(max_size=5), values, max_size=4))
def test_key_is_the_same_after_a_json_round_trip_and_in_any_order(options):
    restored = json.loads(json.dumps(options))
    assert row(options=dict(reversed(restored.items()))).key == row(options=options).key


def test_unparsed_reply_is_wrong_even_with_the_correct_choice():
    assert not row(parsed=False).correct


@pytest.mark.parametrize("fields", [{"error": "damaged"}, {"reader": ""}])
def test_row_with_an_error_or_without_a_reader_is_not_an_answer_and_neither_correct_nor_wrong(fields):
    assert not row(**fields).is_answer and row(**fields).to_dict()["correct"] is None


def test_truncated_line_is_skipped_and_counted_and_a_run_resumes_after_it(tmp_path):
    path = keep(tmp_path, row("a"), row("b"))
    path.write_bytes(path.read_bytes()[:-20])
    found = read_results(tmp_path)
    assert [one.item_id for one in found.rows] == ["a"] and found.unreadable == 1
    keep(tmp_path, row("b"), run=new_run(encoder="siglip"))
    assert [one.item_id for one in read_results(tmp_path).rows] == ["a", "b"]


def test_full_disk_leaves_whole_lines(tmp_path):
    with ResultWriter(tmp_path / "some", RUN) as writer:
        writer.add(row("q0"))
        before = writer.path.read_bytes()
        with largest_file(len(before) + 50), pytest.raises(OutputError, match="can't be written"):
            writer.add(row("q1"))
        assert writer.path.read_bytes() == before
        writer.add(row("q1"))
        assert len(read_results(tmp_path / "some").rows) == 2
    with largest_file(50), pytest.raises(OutputError, match="can't be written"):
        ResultWriter(tmp_path / "none", RUN)
    assert not (tmp_path / "none").exists()


def test_last_row_of_a_job_counts_across_files_of_any_name(tmp_path):
    keep(tmp_path, row(choice=0), row(choice=1)).rename(tmp_path / "z.jsonl")
    assert [one.choice for one in read_results(tmp_path).rows] == [1]
    keep(tmp_path, row(choice=0), row("b", error="no video")).rename(tmp_path / "a.jsonl")
    found = read_results(tmp_path)
    assert [one.choice for one in found.rows if not one.error] == [0] and found.done == {row().key}


def test_processes_share_a_folder(tmp_path):
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        list(pool.map(keep_many, [tmp_path] * 2, [0, 50]))
    found = read_results(tmp_path)
    assert len(found.rows) == 100 and found.unreadable == 0


def test_missing_folder_is_named(tmp_path):
    with pytest.raises(InputError, match="nowhere does not exist"):
        read_results(tmp_path / "nowhere")


def test_variant_lists_the_options():
    assert row(options={"gate": 0.125, "a": "x"}).variant == "gcr a=x gate=0.125"
