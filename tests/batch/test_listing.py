"""The videos of a list, a directory or a pattern."""

import json

import pyarrow as arrow
import pyarrow.parquet as parquet
import pytest

from framesift.batch.listing import list_videos
from framesift.errors import InputError


@pytest.fixture
def folder(tmp_path):
    for name in ("b.mp4", "a.mkv", "notes.txt.bak"):
        (tmp_path / name).touch()
    return tmp_path


def test_directory_and_pattern_give_absolute_paths(folder):
    both = [str(folder / "a.mkv"), str(folder / "b.mp4")]
    assert list(list_videos(folder)) == both
    assert list(list_videos([str(folder / "*.mp4"), folder])) == both[::-1]


def test_list_formats_are_equivalent(folder):
    rows = [
        {"path": "a.mkv", "subtitles": "a.srt"},
        {"path": "s3://bucket/b.mp4", "subtitles": None},
        {"path": (folder / "b.mp4").as_uri(), "subtitles": ""},
    ]
    wanted = {str(folder / "a.mkv"): str(folder / "a.srt"), "s3://bucket/b.mp4": "", str(folder / "b.mp4"): ""}
    (folder / "l.csv").write_text("path,subtitles\n" + "".join(f"{r['path']},{r['subtitles'] or ''}\n" for r in rows))
    (folder / "l.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    parquet.write_table(arrow.Table.from_pylist(rows), folder / "l.parquet")
    for name in ("l.csv", "l.jsonl", "l.parquet"):
        assert list_videos(folder / name) == wanted
    (folder / "l.txt").write_text("# mine\n\n" + "".join(f"{row['path']}\n" for row in rows))
    assert list(list_videos(folder / "l.txt")) == list(wanted)


def test_unusable_list_is_one_sentence(tmp_path):
    for name, text, message in (
        ("l.csv", "title\nx\n", "row 1 has no video, only title"),
        ("l.csv", 'path\n""\n', "row 1 has no video"),
        ("l.csv", "path\nfilm\xe9.mp4\n", "as UTF-8 text"),
        ("l.jsonl", "{", "line 1 is not JSON"),
        ("l.jsonl", "[1]", "expected a path"),
        ("l.txt", "# nothing\n", "lists no video"),
        ("l.parquet", "no table", "is not a Parquet file"),
    ):
        (tmp_path / name).write_text(text, encoding="latin-1")
        with pytest.raises(InputError, match=message) as error:
            list_videos(tmp_path / name)
        assert "\n" not in str(error.value)


def test_missing_list_is_an_input_error(tmp_path):
    with pytest.raises(InputError, match="can't be read"):
        list_videos(tmp_path / "none.csv")
