"""Locks between processes, and what happens where there are none."""

import errno
import os

from framesift._utils import locks
from framesift._utils.locks import file_lock
from helpers.read_only import make_read_only


def fail():
    raise AssertionError("it waited")


def test_lock_of_a_process_that_was_killed_is_free(tmp_path):
    (tmp_path / "lock").touch()
    with file_lock(tmp_path / "lock", fail):
        assert (tmp_path / "lock").exists()
    assert list(tmp_path.iterdir()) == []


def test_new_folder_is_removed_unless_something_was_stored(tmp_path):
    with file_lock(tmp_path / "store" / "lock", fail):
        assert (tmp_path / "store").is_dir()
    assert list(tmp_path.iterdir()) == []


def test_folder_that_cannot_be_written_has_no_locks(tmp_path, monkeypatch):
    make_read_only(monkeypatch, tmp_path)
    with file_lock(tmp_path / "lock", fail), file_lock(tmp_path / "lock", fail):
        assert list(tmp_path.iterdir()) == []


def test_file_system_without_locks_has_none(tmp_path, monkeypatch):
    def refuse(_):
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr(locks, "lock_open_file", refuse)
    with file_lock(tmp_path / "lock", fail), file_lock(tmp_path / "lock", fail):
        assert list(tmp_path.iterdir()) == []
