"""Uploads of videos and subtitles: checked, named, stored together and removed together."""

import threading
from pathlib import Path

import pytest

from framesift.text.finding import search_events
from helpers.running_server import make_video, run_server, until, video_bytes

CUES = "1\n00:00:01,000 --> 00:00:03,000\nBecause of the wind.\n"


def add_subtitles(server, video, name, content=CUES):
    return server.post(f"/api/videos/{video}/subtitles", params={"name": name}, content=content)


def stored(server):
    return sorted(path.name for path in server.services.files.uploads.iterdir())


def test_upload_is_checked_renamed_and_queued(empty_server):
    video = empty_server.upload("../../<b>étude</b>.mp4")
    assert video["name"] == "b_.mp4" and video["uploaded"]
    until(lambda: empty_server.get(f"/api/videos/{video['id']}").json()["ready"])
    words = empty_server.get(f"/api/videos/{video['id']}").json()["words"]
    assert words["events"] == 0 and words["notes"]
    assert empty_server.client.delete(f"/api/videos/{video['id']}").status_code == 204
    assert empty_server.get("/api/videos").json()["videos"] == []


def test_video_named_like_a_subtitle_file_is_stored_as_a_video(empty_server):
    video = empty_server.upload("clip.vtt")
    assert video["name"] == "clip" and empty_server.get(f"/api/videos/{video['id']}").status_code == 200


@pytest.mark.parametrize(
    "data", [b"", b"no video at all", b"#EXTM3U\nfile:///etc/passwd\n", b"\x89PNG\r\n\x1a\n" + b"0" * 99]
)
def test_rejected_video_leaves_no_file(empty_server, data):
    reply = empty_server.post("/api/uploads", params={"name": "video.mp4"}, content=data)
    assert reply.status_code == 400 and "'video.mp4'" in reply.json()["detail"]
    assert stored(empty_server) == []


def test_form_in_place_of_the_file_is_refused(empty_server):
    reply = empty_server.post("/api/uploads", params={"name": "a.mp4"}, files={"file": ("a.mp4", video_bytes())})
    assert reply.status_code == 400 and "the body is a form" in reply.json()["detail"].lower()
    assert stored(empty_server) == []


def test_upload_beyond_the_limit_is_refused(tmp_path):
    with run_server(None, tmp_path, upload_bytes=10_000) as server:
        for content in (b"0" * 10_001, (b"0" * 1000 for _ in range(11))):
            assert server.post("/api/uploads", params={"name": "a.mp4"}, content=content).status_code == 413
        assert stored(server) == []


def test_subtitles_are_stored_and_removed_with_their_upload(empty_server):
    video = empty_server.upload("My clip.mp4")["id"]
    assert add_subtitles(empty_server, video, "whatever.EN.srt").status_code == 200
    until(lambda: empty_server.get(f"/api/videos/{video}").json()["job"]["state"] == "done")
    words = empty_server.get(f"/api/videos/{video}").json()["words"]
    assert words["events"] == 1 and words["sources"][0]["name"] == "My clip.en.srt"
    assert empty_server.client.delete(f"/api/videos/{video}").status_code == 204
    assert stored(empty_server) == []


@pytest.mark.parametrize(
    ("name", "data", "words"),
    [
        ("a.srt", "", "'a.srt'"),
        ("a.srt", "nothing of the kind", "'a.srt'"),
        ("a.srt", CUES.replace("00:00", "07:00"), "are outside the video"),
        ("a.exe", CUES, "'a.exe' is not a subtitle file"),
    ],
)
def test_rejected_subtitles_leave_no_file(empty_server, tmp_path, name, data, words):
    reply = add_subtitles(empty_server, empty_server.upload()["id"], name, data)
    assert reply.status_code == 400 and words in reply.json()["detail"] and str(tmp_path) not in reply.text
    assert stored(empty_server) == ["video.mp4"]


def test_subtitles_for_a_video_in_the_directory_are_refused(shared_server):
    reply = add_subtitles(shared_server, shared_server.boat, "a.srt")
    assert reply.status_code == 400 and "beside it" in reply.json()["detail"]


def test_no_subtitle_file_name_overwrites_the_video(empty_server):
    video = empty_server.upload("bare")["id"]
    for name in ("x.srt/", "..srt", ".srt", "a.en.srt/../..", "../../x.srt", "." * 50 + "en.srt"):
        assert add_subtitles(empty_server, video, name).status_code in (200, 400)
        assert (empty_server.services.files.uploads / "bare").read_bytes() == video_bytes()
        assert set(stored(empty_server)) <= {"bare", "bare.srt", "bare.en.srt"}


def test_uploads_of_one_name_do_not_share_subtitles(empty_server):
    first, second = empty_server.upload("video.mp4"), empty_server.upload("Video.mkv")
    assert second["name"] == "Video (2).mkv"
    add_subtitles(empty_server, first["id"], "a.srt")
    assert empty_server.get(f"/api/videos/{first['id']}").json()["beside"] == ["video.srt"]
    assert empty_server.get(f"/api/videos/{second['id']}").json()["beside"] == []


def test_subtitle_file_added_later_is_used(tmp_path):
    clip = make_video(tmp_path / "videos" / "video.mp4", 4, subtitles=False)
    with run_server(clip.parent, tmp_path) as server:
        video, ask = server.index("video.mp4"), {"question": "Why?", "budget": 4}
        assert server.post(f"/api/videos/{video}/view", json=ask).json()["events"] == []
        clip.with_suffix(".srt").write_text(CUES)
        assert len(server.post(f"/api/videos/{video}/view", json=ask).json()["events"]) == 1
        assert server.video("video.mp4")["words"]["events"] == 1


def test_subtitles_arriving_during_speech_recognition_replace_it(empty_server, monkeypatch):
    listening = threading.Event()

    def slow(video, *given, progress):
        if not list(Path(video).parent.glob("*.srt")):
            while True:
                listening.set()
                progress("speech recognition", 1, 2)
        return search_events(video, *given, progress=progress)

    monkeypatch.setattr("framesift.pipeline.video.search_events", slow)
    video = empty_server.upload()["id"]
    assert listening.wait(60)
    add_subtitles(empty_server, video, "clip.srt")
    until(lambda: empty_server.get(f"/api/videos/{video}").json()["ready"])
    assert empty_server.get(f"/api/videos/{video}").json()["words"]["sources"][0]["name"] == "video.srt"
