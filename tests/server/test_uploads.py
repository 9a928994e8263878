"""Videos and subtitles that come over HTTP: checked, named, kept beside one another, and gone together."""

import socket
import threading
import time
from pathlib import Path

import pytest

from helpers.running_server import make_film, serve, until

CUES = "1\n00:00:01,000 --> 00:00:03,000\nBecause of the wind.\n"


def test_a_video_called_like_a_subtitle_file_stays_a_video(own, tmp_path):
    data = make_film(tmp_path / "clip.mp4", 4, said=False).read_bytes()
    video = own.post("/api/uploads", params={"name": "clip.vtt"}, content=data).json()
    assert video["name"] == "clip" and own.get(f"/api/videos/{video['id']}").status_code == 200


def test_subtitles_join_an_upload_and_leave_with_it(own, tmp_path):
    data = make_film(tmp_path / "clip.mp4", 4, said=False).read_bytes()
    video = own.post("/api/uploads", params={"name": "My clip.mp4"}, content=data).json()["id"]
    reply = own.post(f"/api/videos/{video}/subtitles", params={"name": "whatever.EN.srt"}, content=CUES)
    assert reply.status_code == 200
    until(lambda: own.get(f"/api/videos/{video}").json()["job"]["state"] == "done")
    words = own.get(f"/api/videos/{video}").json()["words"]
    assert words["events"] == 1 and words["sources"][0]["name"] == "My clip.en.srt"
    assert own.client.delete(f"/api/videos/{video}").status_code == 204
    assert list(own.settings.uploads_folder.iterdir()) == []


@pytest.mark.parametrize(
    ("name", "data", "words"),
    [
        ("a.srt", b"", "'a.srt' contains no events"),
        ("a.srt", b"nothing of the kind", "'a.srt'"),
        ("a.srt", CUES.replace("00:00", "07:00").encode(), "are outside the video"),
        ("a.exe", CUES.encode(), "'a.exe' is no subtitle file"),
    ],
)
def test_what_is_no_subtitle_file_is_a_sentence_and_leaves_nothing_behind(own, tmp_path, name, data, words):
    film = make_film(tmp_path / "clip.mp4", 4, said=False).read_bytes()
    video = own.post("/api/uploads", params={"name": "clip.mp4"}, content=film).json()["id"]
    reply = own.post(f"/api/videos/{video}/subtitles", params={"name": name}, content=data)
    assert reply.status_code == 400 and words in reply.json()["detail"] and str(tmp_path) not in reply.text
    assert [path.name for path in own.settings.uploads_folder.iterdir()] == ["clip.mp4"]


def test_subtitles_of_a_video_in_the_folder_are_left_to_its_owner(home):
    reply = home.post(f"/api/videos/{home.boat}/subtitles", params={"name": "a.srt"}, content=CUES)
    assert reply.status_code == 400 and "beside it" in reply.json()["detail"]


def test_an_upload_is_checked_named_and_queued(own, tmp_path):
    data = make_film(tmp_path / "clip.mp4", 4, said=False).read_bytes()
    reply = own.post("/api/uploads", params={"name": "../../<b>étude</b>.mp4"}, content=data)
    video = reply.json()
    assert reply.status_code == 200 and video["name"] == "b_.mp4" and video["uploaded"]
    until(lambda: own.get(f"/api/videos/{video['id']}").json()["ready"])
    words = own.get(f"/api/videos/{video['id']}").json()["words"]
    assert words["events"] == 0 and words["notes"]
    assert own.client.delete(f"/api/videos/{video['id']}").status_code == 204
    assert own.get("/api/videos").json()["videos"] == []


@pytest.mark.parametrize(
    "data", [b"", b"no video at all", b"#EXTM3U\nfile:///etc/passwd\n", b"\x89PNG\r\n\x1a\n" + b"0" * 99]
)
def test_what_is_no_video_leaves_nothing_behind(own, data):
    reply = own.post("/api/uploads", params={"name": "film.mp4"}, content=data)
    assert reply.status_code == 400 and "'film.mp4'" in reply.json()["detail"]
    assert list(own.settings.uploads_folder.iterdir()) == []


def test_an_upload_beyond_the_limit_is_refused(tmp_path):
    with serve(None, tmp_path, upload_bytes=10_000) as served:
        assert served.post("/api/uploads", params={"name": "a.mp4"}, content=b"0" * 10_001).status_code == 413
        parts = (b"0" * 1000 for _ in range(11))
        assert served.post("/api/uploads", params={"name": "a.mp4"}, content=parts).status_code == 413
        assert list(served.settings.uploads_folder.iterdir()) == []


def test_a_subtitle_file_put_beside_the_video_later_is_seen(tmp_path):
    film = make_film(tmp_path / "films" / "film.mp4", 8, said=False)
    with serve(film.parent, tmp_path) as served:
        video = served.make_ready("film.mp4")
        ask = {"question": "Why?", "budget": 4}
        assert served.post(f"/api/videos/{video}/view", json=ask).json()["events"] == []
        film.with_suffix(".srt").write_text("1\n00:00:02,000 --> 00:00:03,000\nBecause of the wind.\n")
        assert len(served.post(f"/api/videos/{video}/view", json=ask).json()["events"]) == 1
        assert served.video("film.mp4")["words"]["events"] == 1


def test_subtitles_that_come_while_speech_is_listened_to_are_taken_instead(own, tmp_path, monkeypatch):
    from framesift.store.events import search_events

    listening = threading.Event()

    def slow(video, *, progress, **given):
        if not list(Path(video).parent.glob("*.srt")):
            while True:
                listening.set()
                progress("speech recognition", 1, 2)
                time.sleep(0.01)
        return search_events(video, progress=progress, **given)

    monkeypatch.setattr("framesift.server.catalog.search_events", slow)
    data = make_film(tmp_path / "clip.mp4", 4, said=False).read_bytes()
    video = own.post("/api/uploads", params={"name": "clip.mp4"}, content=data).json()["id"]
    assert listening.wait(30)
    own.post(f"/api/videos/{video}/subtitles", params={"name": "clip.srt"}, content=CUES)
    until(lambda: own.get(f"/api/videos/{video}").json()["ready"])
    assert own.get(f"/api/videos/{video}").json()["words"]["sources"][0]["name"] == "clip.srt"


def test_an_upload_that_stands_still_gives_up_its_place(own, monkeypatch):
    monkeypatch.setattr("framesift.server.routes.library.SILENT_S", 0.2)
    head = f"POST /api/uploads?name=a.mp4 HTTP/1.1\r\nHost: 127.0.0.1:{own.port}\r\nContent-Length: 999\r\n\r\nx"
    with socket.create_connection(("127.0.0.1", own.port), timeout=30) as line:
        line.sendall(head.encode())
        assert line.recv(4096).startswith(b"HTTP/1.1 408")
    until(lambda: own.house.uploading == 0)
    assert list(own.settings.uploads_folder.iterdir()) == []


@pytest.mark.parametrize("name", ["x.srt/", "..srt", ".srt", "a.en.srt/../..", "../../x.srt", "." * 50 + "en.srt"])
def test_no_name_of_a_subtitle_file_touches_the_video(own, tmp_path, name):
    data = make_film(tmp_path / "clip.mp4", 4, said=False).read_bytes()
    video = own.post("/api/uploads", params={"name": "bare"}, content=data).json()["id"]
    reply = own.post(f"/api/videos/{video}/subtitles", params={"name": name}, content=CUES)
    assert reply.status_code in (200, 400)
    assert (own.settings.uploads_folder / "bare").read_bytes() == data
    others = {path.name for path in own.settings.uploads_folder.iterdir()} - {"bare"}
    assert others <= {"bare.srt", "bare.en.srt"} and len(others) == (reply.status_code == 200)


def test_a_subtitle_file_with_a_hundred_tags_keeps_a_few(own, tmp_path):
    data = make_film(tmp_path / "clip.mp4", 4, said=False).read_bytes()
    video = own.post("/api/uploads", params={"name": "clip.mp4"}, content=data).json()["id"]
    reply = own.post(f"/api/videos/{video}/subtitles", params={"name": f"a{'.en' * 150}.srt"}, content=CUES)
    assert reply.json()["beside"] == ["clip.en.srt"]


def test_two_uploads_of_one_name_do_not_share_their_subtitles(own, tmp_path):
    data = make_film(tmp_path / "clip.mp4", 4, said=False).read_bytes()
    first = own.post("/api/uploads", params={"name": "film.mp4"}, content=data).json()
    second = own.post("/api/uploads", params={"name": "Film.mkv"}, content=data).json()
    assert second["name"] == "Film (2).mkv"
    own.post(f"/api/videos/{first['id']}/subtitles", params={"name": "a.srt"}, content=CUES)
    assert own.get(f"/api/videos/{first['id']}").json()["beside"] == ["film.srt"]
    assert own.get(f"/api/videos/{second['id']}").json()["beside"] == []
