"""Indexing several videos in a row."""

from framesift.batch.index_files import index_videos
from helpers.clips import make_clip
from helpers.encoders import GridEncoder


def test_bad_file_does_not_stop_the_others(tmp_path, monkeypatch):
    clip = make_clip(tmp_path / "clip.mp4", seconds=20)
    monkeypatch.setattr("framesift.store.indexing.get_encoder", lambda *_, **__: GridEncoder())
    monkeypatch.setattr("framesift.store.indexing.identify", lambda _: ("grid", GridEncoder.fingerprint))
    monkeypatch.setattr("framesift.batch.index_files.identify", lambda _: ("grid", GridEncoder.fingerprint))
    bad = tmp_path / "bad.mp4"
    bad.write_text("no video")
    rows = list(index_videos([clip, bad, tmp_path / "none.mp4", clip], fps=1.0, store=tmp_path / "store"))
    assert [bool(row["error"]) for row in rows] == [False, True, True, False]
    assert [row.get("cached") for row in rows] == [False, None, None, True]
    assert "bad.mp4" in rows[1]["error"]
