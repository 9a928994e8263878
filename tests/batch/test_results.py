import json
from concurrent.futures import ProcessPoolExecutor
from dataclasses import fields
from multiprocessing import get_context

import pytest
from hypothesis import given
from hypothesis import strategies as st

from framesift.batch.results import Result, new_run, read_results
from framesift.errors import InputError
from helpers.result_rows import RUN, keep, keep_many, row


def test_a_row_comes_back_as_it_was_kept(tmp_path):
    one = row(options={"alpha_ground": 0.125}, times_s=(1.0, 2.5), seconds={"decode": 1.5}, reply="B “x”\u2028")
    keep(tmp_path, one)
    (found,) = read_results(tmp_path).rows
    assert found == Result(**{f.name: getattr(one, f.name) for f in fields(one)} | {"finished_s": found.finished_s})


@pytest.mark.parametrize(
    "said",
    [
        {"dataset": "videomme"},
        {"item_id": "q1"},
        {"method": "aks"},
        {"options": {"gate": 0.2}},
        {"budget": 32},
        {"text_mode": "none"},
        {"reader": "llava"},
        {"prompt": "bare"},
        {"encoder": "offline"},
        {"events": "speech"},
        {"fps": "auto"},
        {"seed": 1},
    ],
    ids=lambda said: next(iter(said)),
)
def test_the_key_tells_every_job_from_another(said):
    assert row().key != row(**said).key


@pytest.mark.parametrize("said", [{"choice": 0}, {"run": "r2"}, {"error": "x"}, {"times_s": (1.0,)}])
def test_the_key_is_the_job_and_not_its_outcome(said):
    assert row().key == row(**said).key


def test_the_key_does_not_depend_on_the_order_of_options():
    assert row(options={"a": 1, "b": 2}).key == row(options={"b": 2, "a": 1}).key


values = st.one_of(st.integers(), st.floats(allow_nan=False, allow_infinity=False), st.text(), st.tuples(st.integers()))


@given(st.dictionaries(st.text(max_size=5), values, max_size=4))
def test_the_key_survives_json(options):
    assert row(options=json.loads(json.dumps(options))).key == row(options=options).key


def test_an_unparsed_reply_is_wrong_even_if_it_named_the_truth():
    assert not row(parsed=False).correct


def test_a_row_with_an_error_is_no_answer():
    assert not row(error="damaged").is_answer


def test_a_row_without_a_reader_is_no_answer():
    assert not row(reader="").is_answer


def test_a_torn_last_line_is_passed_over_and_counted(tmp_path):
    path = keep(tmp_path, row("a"), row("b"))
    path.write_bytes(path.read_bytes()[:-20])
    found = read_results(tmp_path)
    assert [one.item_id for one in found.rows] == ["a"] and found.unreadable == 1


def test_a_run_goes_on_after_a_torn_line(tmp_path):
    path = keep(tmp_path, row("a"), row("b"))
    path.write_bytes(path.read_bytes()[:-20])
    keep(tmp_path, row("b"), run=new_run())
    assert [one.item_id for one in read_results(tmp_path).rows] == ["a", "b"]


def test_of_two_rows_for_one_job_the_last_counts(tmp_path):
    keep(tmp_path, row(choice=0), row(choice=1))
    assert [one.choice for one in read_results(tmp_path).rows] == [1]


def test_the_last_counts_across_files_whatever_their_names(tmp_path):
    late = keep(tmp_path, row(choice=0))
    late.rename(tmp_path / "z.jsonl")
    keep(tmp_path, row(choice=1)).rename(tmp_path / "a.jsonl")
    assert [one.choice for one in read_results(tmp_path).rows] == [1]


def test_a_failed_job_is_not_done(tmp_path):
    keep(tmp_path, row("a"), row("b", error="no video"))
    assert read_results(tmp_path).done == {row("a").key}


def test_processes_share_a_folder(tmp_path):
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        list(pool.map(keep_many, [tmp_path] * 2, [0, 50]))
    found = read_results(tmp_path)
    assert len(found.rows) == 100 and found.unreadable == 0


def test_every_row_names_the_run_that_made_it(tmp_path):
    keep(tmp_path, row())
    found = read_results(tmp_path)
    assert found.runs[found.rows[0].run].command == RUN.command


def test_fields_of_a_later_version_are_passed_over(tmp_path):
    path = keep(tmp_path, row())
    path.write_text(path.read_text().replace('"seed"', '"novel": 1, "seed"'))
    assert len(read_results(tmp_path).rows) == 1


def test_a_folder_that_is_not_there_is_named(tmp_path):
    with pytest.raises(InputError, match="nowhere does not exist"):
        read_results(tmp_path / "nowhere")


def test_a_variant_names_the_options_that_were_set():
    assert row(options={"gate": 0.125, "a": "x"}).variant == "gcr a=x gate=0.125"
