"""Folders of output: what a run replaces, what stays, and what an interrupted one leaves."""

import json
import os

import pytest

from framesift._utils.output_folder import LIST, add_file, is_unused, output_folder
from framesift.errors import InputError, OutputError
from helpers.full_disk import contents, fail_at_each_write, kill_at_each_write


def write(folder, *names, text="new", keep=False):
    with output_folder(folder, keep=keep) as new:
        for name in names:
            (new / name).parent.mkdir(exist_ok=True)
            (new / name).write_text(text)


def names(folder):
    return {name for name, content in contents(folder).items() if content is not None} - {LIST}


def test_files_of_the_run_before_are_replaced_and_others_stay(tmp_path):
    write(tmp_path / "x", "a.txt", "old/b.txt", text="old")
    (tmp_path / "x" / "note.txt").write_text("dear")
    write(tmp_path / "x", "a.txt", "c/d.txt")
    assert contents(tmp_path / "x").keys() == {LIST, "a.txt", "c", "c/d.txt", "note.txt"}
    assert (tmp_path / "x" / "a.txt").read_text() == "new"
    assert json.loads((tmp_path / "x" / LIST).read_text())["files"] == ["a.txt", "c/d.txt"]


def test_folder_with_a_file_of_others_stays(tmp_path):
    write(tmp_path / "x", "sub/a.txt", "sub/b/c.txt")
    (tmp_path / "x" / "sub" / "mine.txt").write_text("")
    write(tmp_path / "x", "d.txt")
    assert names(tmp_path / "x") == {"d.txt", "sub/mine.txt"} and not (tmp_path / "x" / "sub" / "b").exists()


@pytest.mark.parametrize("kind", ["file", "folder", "link", "link to a folder", "file for a folder"])
def test_name_in_use_by_something_else_is_an_error_and_stays(tmp_path, kind):
    write(tmp_path / "x", "z.txt", text="old")
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "a.txt").write_text("dear")
    taken = tmp_path / "x" / ("sub" if kind.endswith("folder") and kind != "folder" else "sub/a.txt")
    taken.parent.mkdir(exist_ok=True)
    if kind == "folder":
        taken.mkdir()
    elif kind == "link":
        taken.symlink_to(tmp_path / "elsewhere" / "a.txt")
    elif kind == "link to a folder":
        taken.symlink_to(tmp_path / "elsewhere")
    else:
        taken.write_text("dear")
    before = contents(tmp_path)
    with pytest.raises(InputError, match=f"{taken} was not written by framesift"):
        write(tmp_path / "x", "sub/a.txt", "z.txt")
    assert contents(tmp_path) == before


def test_listed_names_count_only_inside_the_folder(tmp_path):
    """The list is untrusted: it can't remove anything else."""
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "a.txt").write_text("dear")
    (tmp_path / "b.txt").write_text("dear")
    write(tmp_path / "x", "z.txt")
    (tmp_path / "x" / "link").symlink_to(tmp_path / "other")
    (tmp_path / "x" / "c.txt").symlink_to(tmp_path / "b.txt")
    (tmp_path / "x" / "folder").mkdir()
    listed = ["../b.txt", "x/../../b.txt", str(tmp_path / "b.txt"), "link/a.txt", "c.txt", "folder", ".", "", "/", LIST]
    listed += ["./z.txt", "folder/../z.txt", str(tmp_path / "x" / "z.txt"), "no\0name", "\udcff", "x" * 5000]
    (tmp_path / "x" / LIST).write_text(json.dumps({"files": listed}))
    before = contents(tmp_path)
    write(tmp_path / "x", "new.txt")
    after = contents(tmp_path)
    assert after.pop("x/new.txt") == b"new" and after.pop("x/" + LIST) != before.pop("x/" + LIST)
    assert after == before


@pytest.mark.parametrize("content", ["", "no JSON", "[]", '{"files": 3}', '{"files": [3]}', "[" * 10**5, "\xff"])
def test_unreadable_list_counts_as_none(tmp_path, content):
    write(tmp_path / "x", "known.txt", "other.txt", text="old")
    (tmp_path / "x" / LIST).write_bytes(content.encode("latin-1"))
    write(tmp_path / "x", "new.txt")
    assert names(tmp_path / "x") == {"known.txt", "new.txt", "other.txt"}


def test_list_that_is_a_link_is_not_followed(tmp_path):
    (tmp_path / "x").mkdir()
    (tmp_path / "elsewhere").write_text("dear")
    (tmp_path / "x" / LIST).symlink_to(tmp_path / "elsewhere")
    write(tmp_path / "x", "a.txt")
    assert (tmp_path / "elsewhere").read_text() == "dear"


def test_added_file_belongs_to_the_output(tmp_path):
    write(tmp_path / "x", "a.txt")
    add_file(tmp_path / "x", "b.txt", "1")
    add_file(tmp_path / "x", "b.txt", "2")
    assert names(tmp_path / "x") == {"a.txt", "b.txt"}
    write(tmp_path / "x", "c.txt")
    assert names(tmp_path / "x") == {"c.txt"}


def test_link_to_a_folder_given_by_the_user_is_followed(tmp_path):
    write(tmp_path / "x", "a.txt", text="old")
    (tmp_path / "link").symlink_to(tmp_path / "x")
    write(tmp_path / "link", "a.txt")
    assert (tmp_path / "link").is_symlink() and (tmp_path / "x" / "a.txt").read_text() == "new"


def test_names_that_are_not_utf8_are_listed(tmp_path):
    name = os.fsdecode(b"caf\xe9.txt")
    write(tmp_path / "x", name)
    write(tmp_path / "x", "a.txt")
    assert names(tmp_path / "x") == {"a.txt"}


@pytest.fixture
def again(tmp_path):
    """Restores the output of a run before, with a file of others; the next run replaces it."""

    def write_old():
        write(tmp_path / "x", "a.txt", "old/b.txt", text="old")
        (tmp_path / "x" / "note.txt").write_text("dear")
        assert names(tmp_path / "x") == {"a.txt", "old/b.txt", "note.txt"}
        return contents(tmp_path)

    return write_old


def replace_old(folder):
    write(folder, "a.txt", "c/d.txt")


def test_failed_write_leaves_the_folder_as_it_was_and_a_failed_move_what_the_next_run_replaces(tmp_path, again):
    before = again()
    unchanged = changed = 0
    for error in fail_at_each_write(lambda: replace_old(tmp_path / "x")):
        assert isinstance(error, OutputError) and "No space left" in str(error)
        if contents(tmp_path) == before:
            unchanged += 1
        else:
            changed += 1
            before = again()
    assert unchanged > 5 and changed and names(tmp_path / "x") == {"a.txt", "c/d.txt", "note.txt"}


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_killed_process_leaves_the_old_or_the_new_file_and_the_next_run_cleans_up(tmp_path, again):
    again()
    seen = set()
    for _ in kill_at_each_write(lambda: replace_old(tmp_path / "x")):
        report = (tmp_path / "x" / "a.txt").read_text()
        seen.add(report)
        assert (tmp_path / "x" / ("old/b.txt" if report == "old" else "c/d.txt")).exists()
        again()
    assert seen == {"old", "new"}


def test_folder_with_remains_of_a_killed_process_is_unused(tmp_path):
    assert is_unused(tmp_path)
    (tmp_path / ".tmp-1-abcd").mkdir()
    assert is_unused(tmp_path)
    (tmp_path / "a").touch()
    assert not is_unused(tmp_path)
