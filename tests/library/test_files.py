"""Which files the server lists and opens, and under which names."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from framesift.errors import InputError
from framesift.library.files import MAX_NAME_BYTES, SharedFolders, VideoFiles, safe_name


@pytest.fixture
def files(tmp_path):
    folder = tmp_path / "videos"
    (folder / "sub").mkdir(parents=True)
    for name in ("b.mp4", "sub/a.MKV", ".hidden.mp4", "notes.txt", "odd.bin"):
        (folder / name).write_bytes(b"x")
    (tmp_path / "outside.mp4").write_bytes(b"x")
    (folder / "link.mp4").symlink_to(tmp_path / "outside.mp4")
    (folder / "linked").symlink_to(tmp_path)
    return VideoFiles(folder, tmp_path / "state")


def test_videos_are_listed_but_links_out_of_the_directory_are_not(files):
    assert [video.name for video in files.list_videos()] == ["b.mp4", "sub/a.MKV"]


OUTSIDE = ["../outside.mp4", "/etc/passwd", "link.mp4", "linked/outside.mp4"]


@pytest.mark.parametrize("name", [*OUTSIDE, ".hidden.mp4", "sub", "", "a\0b", "x" * 5000])
def test_paths_outside_the_directory_are_not_found(files, tmp_path, name):
    assert SharedFolders((tmp_path / "videos",)).find_path(name) is None


def test_file_is_found_by_its_path_inside_the_directory_whatever_its_suffix(files, tmp_path):
    found = SharedFolders((tmp_path / "videos",)).find_path("sub/../odd.bin")
    assert found.name == "odd.bin" and files.get(found.id) is None


def test_ids_are_stable_and_those_of_missing_files_return_none(files, tmp_path):
    again = VideoFiles(tmp_path / "videos", tmp_path / "state")
    assert [video.id for video in again.list_videos()] == [video.id for video in files.list_videos()]
    assert files.get("0" * 16) is None
    deleted, linked = files.list_videos()
    deleted.path.unlink()
    linked.path.unlink()
    linked.path.symlink_to(tmp_path / "outside.mp4")
    assert files.get(deleted.id) is files.get(linked.id) is None


def test_uploads_of_one_name_are_numbered(files):
    names = []
    for k in range(3):
        partial = files.partial_path(str(k))
        partial.write_bytes(b"x")
        names.append(files.store_upload(partial, "video.mp4").name)
    assert names == ["video.mp4", "video (2).mp4", "video (3).mp4"]


def test_partial_uploads_are_deleted_at_the_start(files, tmp_path):
    files.partial_path("left").write_bytes(b"x")
    VideoFiles(None, tmp_path / "state")
    assert not files.partial_path("left").exists()


def test_only_uploads_can_be_removed(files):
    with pytest.raises(InputError, match="delete it there"):
        files.remove(files.list_videos()[0])

    files.partial_path("1").write_bytes(b"x")
    video = files.store_upload(files.partial_path("1"), "video.mp4")
    files.remove(video)
    assert files.get(video.id) is None and not video.path.exists()


@given(st.text(max_size=400))
def test_any_text_becomes_a_safe_file_name(name):
    safe = safe_name(name)
    assert safe and len(safe.encode()) <= MAX_NAME_BYTES + 5
    assert not set(safe) & set('/\\\0\n:*?"<>|') and not safe.startswith(".") and safe == safe.strip()


def test_safe_name_of_common_cases():
    names = ("../../etc/passwd", "C:\\videos\\x.mp4", "..", "фильм №1.mkv")
    assert [safe_name(name) for name in names] == ["passwd", "x.mp4", "video", "фильм №1.mkv"]
