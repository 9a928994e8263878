"""Files and folders that appear complete or not at all."""

import os
import shutil
import subprocess
import sys

import pytest

from framesift._utils.files import (
    atomic_folder,
    atomic_path,
    is_temporary,
    remove_stale,
    temporary_name,
    write_bytes,
    write_text,
)
from helpers.full_disk import largest_file


def test_failed_write_keeps_the_previous_file(tmp_path):
    write_text(tmp_path / "a.txt", "before")
    with pytest.raises(FileNotFoundError), atomic_path(tmp_path / "a.txt") as temporary:
        temporary.with_name("missing").read_text()
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [("a.txt", "before")]


def test_folder_is_replaced_as_a_whole(tmp_path):
    write_text(tmp_path / "out" / "old.txt", "")
    with atomic_folder(tmp_path / "out", replace=True) as folder:
        write_text(folder / "new.txt", "")
        assert (tmp_path / "out" / "old.txt").exists()
    assert [path.name for path in tmp_path.rglob("*")] == ["out", "new.txt"]


def test_folder_that_exists_is_not_replaced_unasked(tmp_path):
    write_text(tmp_path / "out" / "old.txt", "")
    with pytest.raises(OSError, match="not empty|exist"), atomic_folder(tmp_path / "out"):
        pass
    assert [path.name for path in tmp_path.rglob("*")] == ["out", "old.txt"]


def test_failed_folder_leaves_the_previous_one(tmp_path):
    write_text(tmp_path / "out" / "old.txt", "")
    with pytest.raises(FileNotFoundError), atomic_folder(tmp_path / "out", replace=True) as folder:
        (folder / "missing").read_text()
    assert [path.name for path in tmp_path.rglob("*")] == ["out", "old.txt"]


def test_failed_write_leaves_no_new_folder(tmp_path):
    pytest.importorskip("resource", reason="limits the size of files, as POSIX systems can")
    (tmp_path / "old").mkdir()
    for folder in ("new/inner", "old"):
        with largest_file(0), pytest.raises(OSError, match="too large"):
            write_bytes(tmp_path / folder / "a.txt", b"a")
    assert [path.name for path in tmp_path.rglob("*")] == ["old"]


@pytest.mark.skipif(os.name != "posix", reason="processes are looked up on POSIX systems only")
def test_remains_of_a_killed_process_are_removed_by_the_next_write(tmp_path):
    code = "import sys, os; from pathlib import Path; from framesift._utils.files import atomic_path, atomic_folder\n"
    code += "with atomic_path(Path('a.txt')) as file, atomic_folder(Path('b')) as folder:\n"
    code += "    file.touch(); (folder / 'c').touch(); os.kill(os.getpid(), 9)"
    assert subprocess.run([sys.executable, "-c", code], cwd=tmp_path, check=False).returncode == -9
    assert len(list(tmp_path.iterdir())) == 2
    write_text(tmp_path / "d.txt", "")
    assert [path.name for path in tmp_path.iterdir()] == ["d.txt"]


@pytest.mark.skipif(os.name != "posix", reason="processes are looked up on POSIX systems only")
def test_only_remains_of_this_package_and_of_ended_processes_of_this_machine_are_removed(tmp_path):
    own = temporary_name(tmp_path / "a.txt")
    assert own.suffix == ".txt" and is_temporary(own)
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    stale = own.name.replace(f"-{os.getpid()}-", f"-{ended.pid}-")
    machine = own.name.split("-")[2]
    kept = [own.name, stale.replace(machine, "0" * 8), f".tmp-{ended.pid}-0123abcd.txt", f"{stale[:-4]}x", stale[1:]]
    (tmp_path / "target").mkdir()
    for name in [*kept, stale]:
        (tmp_path / name).touch()
    (tmp_path / stale.replace(".txt", ".link")).symlink_to(tmp_path / "target")
    remove_stale(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([*kept, "target"])
    shutil.rmtree(tmp_path)
    remove_stale(tmp_path)
