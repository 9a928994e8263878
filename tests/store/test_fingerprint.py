"""A file is known by its content."""

import pytest

import framesift as fs
from framesift.store.fingerprint import BLOCK_BYTES, BLOCKS, fingerprint


def test_fingerprint_ignores_name_and_folder(tmp_path):
    (tmp_path / "a.mp4").write_bytes(b"x" * 100_000)
    (tmp_path / "b.mp4").write_bytes(b"x" * 100_000)
    assert fingerprint(tmp_path / "a.mp4") == fingerprint(tmp_path / "b.mp4")


@pytest.mark.parametrize("size", [1, BLOCK_BYTES, 3 * BLOCK_BYTES + 5])
def test_every_byte_of_a_small_file_matters(tmp_path, size):
    path = tmp_path / "a.mp4"
    for place in (0, size // 2, size - 1):
        data = bytearray(size)
        path.write_bytes(data)
        before = fingerprint(path)
        data[place] = 1
        path.write_bytes(data)
        assert fingerprint(path) != before


def test_size_and_both_ends_of_a_large_file_matter(tmp_path):
    path = tmp_path / "a.mp4"
    size = 2 * BLOCKS * BLOCK_BYTES
    prints = set()
    for place in (None, 0, size - 1, size):
        with path.open("wb") as file:
            file.truncate(size)
            if place is not None:
                file.seek(place)
                file.write(b"x")
        prints.add(fingerprint(path))
    assert len(prints) == 4


def test_missing_file_raises_with_its_path(tmp_path):
    with pytest.raises(fs.InputError, match="nowhere.mp4 can't be read"):
        fingerprint(tmp_path / "nowhere.mp4")
