"""Mutated files of every kind: a command ends normally or with one sentence, never with another error."""

import pytest

from helpers.file_uses import file_uses, try_mutations
from helpers.mutations import KINDS

SEED = 17
COUNT = 5
# Uses that run a whole command, or copy a store.
SLOW = ("evidence", "scenes", "results", "own questions", "plan run", "selection.json, exhibited", "store")


@pytest.fixture(scope="module")
def uses(tmp_path_factory):
    return list(file_uses(tmp_path_factory.mktemp("files")))


def test_mutated_files_raise_no_other_error(uses):
    for file in uses:
        count = 1 if file.name.startswith(SLOW) else COUNT
        try_mutations(file, count, SEED)


def test_every_kind_of_file_is_mutated(uses):
    assert {file.kind for file in uses} == set(KINDS)


def test_valid_files_are_accepted(uses):
    for file in uses:
        if file.name != "plan run":
            file.use(file.path)
