"""Listing video files."""

import pytest

from framesift.errors import InputError
from framesift.video.files import find_videos


def test_videos_are_found_in_folders_and_by_pattern(tmp_path):
    for name in ("b.mp4", "a.MKV", "notes.txt", "deep/c.webm"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("")
    assert [path.name for path in find_videos([str(tmp_path)])] == ["a.MKV", "b.mp4", "c.webm"]
    assert [path.name for path in find_videos([str(tmp_path / "*.mp4"), str(tmp_path / "b.mp4")])] == ["b.mp4"]
    with pytest.raises(InputError, match="no file matches"):
        find_videos([str(tmp_path / "*.avi")])
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match="contains no video"):
        find_videos([str(tmp_path / "empty")])
