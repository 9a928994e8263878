"""Uploads of videos and subtitles: checked, named, stored together and removed together."""

import socket
import threading
import time
from pathlib import Path

import pytest

from framesift.text.subtitles import search_sidecars
from helpers.running_server import make_video, run_server, until

CUES = "1\n00:00:01,000 --> 00:00:03,000\nBecause of the wind.\n"


def test_video_named_like_a_subtitle_file_is_stored_as_a_video(empty_server, tmp_path):
    data = make_video(tmp_path / "clip.mp4", 4, subtitles=False).read_bytes()
    video = empty_server.post("/api/uploads", params={"name": "clip.vtt"}, content=data).json()
    assert video["name"] == "clip" and empty_server.get(f"/api/videos/{video['id']}").status_code == 200


def test_subtitles_are_stored_and_removed_with_their_upload(empty_server, tmp_path):
    data = make_video(tmp_path / "clip.mp4", 4, subtitles=False).read_bytes()
    video = empty_server.post("/api/uploads", params={"name": "My clip.mp4"}, content=data).json()["id"]
    reply = empty_server.post(f"/api/videos/{video}/subtitles", params={"name": "whatever.EN.srt"}, content=CUES)
    assert reply.status_code == 200
    until(lambda: empty_server.get(f"/api/videos/{video}").json()["job"]["state"] == "done")
    words = empty_server.get(f"/api/videos/{video}").json()["words"]
    assert words["events"] == 1 and words["sources"][0]["name"] == "My clip.en.srt"
    assert empty_server.client.delete(f"/api/videos/{video}").status_code == 204
    assert list(empty_server.services.files.uploads.iterdir()) == []


@pytest.mark.parametrize(
    ("name", "data", "words"),
    [
        ("a.srt", b"", "'a.srt'"),
        ("a.srt", b"nothing of the kind", "'a.srt'"),
        ("a.srt", CUES.replace("00:00", "07:00").encode(), "are outside the video"),
        ("a.exe", CUES.encode(), "'a.exe' is not a subtitle file"),
    ],
)
def test_rejected_subtitles_leave_no_file(empty_server, tmp_path, name, data, words):
    clip = make_video(tmp_path / "clip.mp4", 4, subtitles=False).read_bytes()
    video = empty_server.post("/api/uploads", params={"name": "clip.mp4"}, content=clip).json()["id"]
    reply = empty_server.post(f"/api/videos/{video}/subtitles", params={"name": name}, content=data)
    assert reply.status_code == 400 and words in reply.json()["detail"] and str(tmp_path) not in reply.text
    assert [path.name for path in empty_server.services.files.uploads.iterdir()] == ["clip.mp4"]


def test_subtitles_for_a_video_in_the_directory_are_refused(shared_server):
    reply = shared_server.post(f"/api/videos/{shared_server.boat}/subtitles", params={"name": "a.srt"}, content=CUES)
    assert reply.status_code == 400 and "beside it" in reply.json()["detail"]


def test_upload_is_checked_renamed_and_queued(empty_server, tmp_path):
    data = make_video(tmp_path / "clip.mp4", 4, subtitles=False).read_bytes()
    reply = empty_server.post("/api/uploads", params={"name": "../../<b>étude</b>.mp4"}, content=data)
    video = reply.json()
    assert reply.status_code == 200 and video["name"] == "b_.mp4" and video["uploaded"]
    until(lambda: empty_server.get(f"/api/videos/{video['id']}").json()["ready"])
    words = empty_server.get(f"/api/videos/{video['id']}").json()["words"]
    assert words["events"] == 0 and words["notes"]
    assert empty_server.client.delete(f"/api/videos/{video['id']}").status_code == 204
    assert empty_server.get("/api/videos").json()["videos"] == []


@pytest.mark.parametrize(
    "data", [b"", b"no video at all", b"#EXTM3U\nfile:///etc/passwd\n", b"\x89PNG\r\n\x1a\n" + b"0" * 99]
)
def test_rejected_video_leaves_no_file(empty_server, data):
    reply = empty_server.post("/api/uploads", params={"name": "video.mp4"}, content=data)
    assert reply.status_code == 400 and "'video.mp4'" in reply.json()["detail"]
    assert list(empty_server.services.files.uploads.iterdir()) == []


def test_file_of_a_form_is_stored_as_it_is(empty_server, tmp_path):
    data = make_video(tmp_path / "clip.mp4", 4, subtitles=False).read_bytes()
    fields = {"note": (None, b"text"), "file": ("my <clip>.mp4", data), "other": ("b.mp4", b"ignored")}
    video = empty_server.post("/api/uploads", files=fields).json()
    assert video["name"] == "my _clip_.mp4"
    assert (empty_server.services.files.uploads / video["name"]).read_bytes() == data


@pytest.mark.parametrize("kind", ["multipart/form-data", "multipart/form-data; boundary=x", "text/plain"])
def test_upload_that_is_no_form_and_has_no_name_is_refused(empty_server, kind):
    reply = empty_server.post("/api/uploads", content=b"--x\r\nno form", headers={"content-type": kind})
    assert reply.status_code == 400 and "form" in reply.json()["detail"]
    assert list(empty_server.services.files.uploads.iterdir()) == []


def test_upload_beyond_the_limit_is_refused(tmp_path):
    with run_server(None, tmp_path, upload_bytes=10_000) as server:
        assert server.post("/api/uploads", params={"name": "a.mp4"}, content=b"0" * 10_001).status_code == 413
        parts = (b"0" * 1000 for _ in range(11))
        assert server.post("/api/uploads", params={"name": "a.mp4"}, content=parts).status_code == 413
        assert list(server.services.files.uploads.iterdir()) == []


def test_subtitle_file_added_later_is_used(tmp_path):
    clip = make_video(tmp_path / "videos" / "video.mp4", 8, subtitles=False)
    with run_server(clip.parent, tmp_path) as server:
        video = server.index("video.mp4")
        ask = {"question": "Why?", "budget": 4}
        assert server.post(f"/api/videos/{video}/view", json=ask).json()["events"] == []
        clip.with_suffix(".srt").write_text("1\n00:00:02,000 --> 00:00:03,000\nBecause of the wind.\n")
        assert len(server.post(f"/api/videos/{video}/view", json=ask).json()["events"]) == 1
        assert server.video("video.mp4")["words"]["events"] == 1


def test_subtitles_arriving_during_speech_recognition_replace_it(empty_server, tmp_path, monkeypatch):
    from framesift.text.finding import search_events

    listening = threading.Event()

    def slow(video, *given, progress):
        if not list(Path(video).parent.glob("*.srt")):
            while True:
                listening.set()
                progress("speech recognition", 1, 2)
                time.sleep(0.01)
        return search_events(video, *given, progress=progress)

    monkeypatch.setattr("framesift.pipeline.pipeline.search_events", slow)
    data = make_video(tmp_path / "clip.mp4", 4, subtitles=False).read_bytes()
    video = empty_server.post("/api/uploads", params={"name": "clip.mp4"}, content=data).json()["id"]
    assert listening.wait(60)
    empty_server.post(f"/api/videos/{video}/subtitles", params={"name": "clip.srt"}, content=CUES)
    until(lambda: empty_server.get(f"/api/videos/{video}").json()["ready"])
    assert empty_server.get(f"/api/videos/{video}").json()["words"]["sources"][0]["name"] == "clip.srt"


def test_stalled_upload_loses_its_slot(empty_server, monkeypatch):
    monkeypatch.setattr("framesift.server.security.UPLOAD_STALLED_S", 0.2)
    head = (
        f"POST /api/uploads?name=a.mp4 HTTP/1.1\r\nHost: 127.0.0.1:{empty_server.port}\r\nContent-Length: 999\r\n\r\nx"
    )
    with socket.create_connection(("127.0.0.1", empty_server.port), timeout=60) as line:
        line.sendall(head.encode())
        assert line.recv(4096).startswith(b"HTTP/1.1 408")
    until(lambda: empty_server.services.active_uploads == 0)
    assert list(empty_server.services.files.uploads.iterdir()) == []


@pytest.mark.parametrize("name", ["x.srt/", "..srt", ".srt", "a.en.srt/../..", "../../x.srt", "." * 50 + "en.srt"])
def test_no_subtitle_file_name_overwrites_the_video(empty_server, tmp_path, name):
    data = make_video(tmp_path / "clip.mp4", 4, subtitles=False).read_bytes()
    video = empty_server.post("/api/uploads", params={"name": "bare"}, content=data).json()["id"]
    reply = empty_server.post(f"/api/videos/{video}/subtitles", params={"name": name}, content=CUES)
    assert reply.status_code in (200, 400)
    assert (empty_server.services.files.uploads / "bare").read_bytes() == data
    others = {path.name for path in empty_server.services.files.uploads.iterdir()} - {"bare"}
    assert others <= {"bare.srt", "bare.en.srt"} and len(others) == (reply.status_code == 200)


def test_subtitles_named_after_a_language_keep_it(empty_server, tmp_path):
    data = make_video(tmp_path / "clip.mp4", 4, subtitles=False).read_bytes()
    video = empty_server.post("/api/uploads", params={"name": "clip.mp4"}, content=data).json()["id"]
    for name in ("english.srt", "clip_ja.srt"):
        reply = empty_server.post(f"/api/videos/{video}/subtitles", params={"name": name}, content=CUES)
    assert reply.json()["beside"] == ["clip.english.srt", "clip.ja.srt"]
    found = search_sidecars(empty_server.services.files.uploads / "clip.mp4").found
    assert [sidecar.language for sidecar in found] == ["en", "ja"]


def test_subtitle_file_name_keeps_few_tags(empty_server, tmp_path):
    data = make_video(tmp_path / "clip.mp4", 4, subtitles=False).read_bytes()
    video = empty_server.post("/api/uploads", params={"name": "clip.mp4"}, content=data).json()["id"]
    reply = empty_server.post(f"/api/videos/{video}/subtitles", params={"name": f"a{'.en' * 150}.srt"}, content=CUES)
    assert reply.json()["beside"] == ["clip.en.srt"]


def test_uploads_of_one_name_do_not_share_subtitles(empty_server, tmp_path):
    data = make_video(tmp_path / "clip.mp4", 4, subtitles=False).read_bytes()
    first = empty_server.post("/api/uploads", params={"name": "video.mp4"}, content=data).json()
    second = empty_server.post("/api/uploads", params={"name": "Video.mkv"}, content=data).json()
    assert second["name"] == "Video (2).mkv"
    empty_server.post(f"/api/videos/{first['id']}/subtitles", params={"name": "a.srt"}, content=CUES)
    assert empty_server.get(f"/api/videos/{first['id']}").json()["beside"] == ["video.srt"]
    assert empty_server.get(f"/api/videos/{second['id']}").json()["beside"] == []
