"""Files and folders that appear complete or not at all."""

import pytest

from framesift._utils.files import atomic_folder, atomic_path, is_temporary, write_text


def test_written_file_is_alone_in_its_folder(tmp_path):
    assert write_text(tmp_path / "new" / "a.txt", "ä").read_text(encoding="utf-8") == "ä"
    assert [path.name for path in (tmp_path / "new").iterdir()] == ["a.txt"]


def test_failed_write_keeps_the_previous_file(tmp_path):
    write_text(tmp_path / "a.txt", "before")
    with pytest.raises(FileNotFoundError), atomic_path(tmp_path / "a.txt") as temporary:
        temporary.with_name("missing").read_text()
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [("a.txt", "before")]


def test_temporary_name_keeps_the_suffix_and_is_recognised(tmp_path):
    with atomic_path(tmp_path / ("x" * 200 + ".mp4")) as temporary:
        assert temporary.suffix == ".mp4" and is_temporary(temporary)
        temporary.touch()


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
