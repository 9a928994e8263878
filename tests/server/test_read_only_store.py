"""A server on a store that can't be written: videos that are indexed in it can be asked about."""

import framesift as fs
from helpers.read_only import make_read_only
from helpers.running_server import make_video, run_server


def test_indexed_video_can_be_asked_about(tmp_path, monkeypatch):
    clip = make_video(tmp_path / "videos" / "boat.mp4", 4)
    store = tmp_path / "state" / "store"
    fs.index(clip, "offline", store=store)
    before = sorted(store.rglob("*"))
    make_read_only(monkeypatch, store)
    with run_server(clip.parent, tmp_path / "state") as server:
        video = server.index("boat.mp4")
        reply = server.post(f"/api/videos/{video}/select", json={"question": "Where is the boat?", "budget": 2})
        assert reply.status_code == 200 and len(reply.json()["slots"]) == 2
        state = server.services.config.state
        assert not state.is_relative_to(store)
    assert sorted(store.rglob("*")) == before
