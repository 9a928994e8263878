"""The HTTP API: the records of the Python API, and readable error messages."""

import io
import json
import os
import zipfile

import av
import httpx
import pytest
from PIL import Image

import framesift as fs
from framesift.cli import main
from framesift.library.catalog import RecentCache
from framesift.library.files import make_id
from framesift.selection.explainer import PINNED
from helpers.running_server import QUESTION, asked, hold_jobs, make_cut_video, make_video, run_server, until


def test_library_lists_each_video_with_its_facts(shared_server):
    boat = shared_server.video("boat.mp4")
    assert boat["ready"] and boat["duration_s"] == 24 and boat["words"]["events"] == 3
    assert boat["words"]["sources"][0]["name"] == "boat.srt"
    until(lambda: shared_server.video("broken.mp4")["known"])
    broken = shared_server.video("broken.mp4")
    assert "'broken.mp4' can't be opened as a video" in broken["problem"]
    assert shared_server.video("talks/silent.mp4")["words"] is None


def test_responses_contain_no_directory_of_the_server(shared_server, folder):
    texts = [shared_server.get(path).text for path in ("/api/videos", "/api/jobs", f"/api/videos/{shared_server.boat}")]
    texts.append(shared_server.post(f"/api/videos/{shared_server.video('broken.mp4')['id']}/index").text)
    assert not any(str(folder) in text for text in texts)


def test_selection_equals_that_of_the_command_line_and_of_python(shared_server, folder, capsys):
    record = shared_server.post(f"/api/videos/{shared_server.boat}/select", json=asked(trace=True)).json()
    clip, store = folder / "boat.mp4", str(shared_server.config.pipeline.index.store)
    line = ["select", str(clip), "-q", QUESTION["question"], "-o", "The wind", "-o", "The rain", "--budget", "6"]
    assert main([*line, "--json", "--no-exhibit", "--set", f"store={store}", "--encoder", "offline"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert fs.Selection.from_dict(record) == fs.Selection.from_dict(printed)
    index = fs.index(clip, "offline", store=store)
    question = fs.Question(QUESTION["question"], QUESTION["options"])
    selection = fs.select(index, question, events=fs.find_events(clip, store=store), budget=6, store=store)
    assert selection == fs.Selection.from_dict(record)


def test_warnings_of_the_video_are_in_every_record_without_its_directory(tmp_path):
    make_cut_video(tmp_path / "videos" / "cut.mkv")
    (tmp_path / "videos" / "cut.srt").write_text("no subtitles")
    with run_server(tmp_path / "videos", tmp_path / "state") as server:
        video = server.index("cut.mkv")
        warnings = server.get(f"/api/videos/{video}").json()["warnings"]
        assert "are missing" in warnings[0] and warnings[1].startswith("skipped: ") and "cut.srt" in warnings[1]
        replies = [server.post(f"/api/videos/{video}/{kind}", json=asked()) for kind in ("select", "view", "ask")]
        replies.append(server.get(f"/api/videos/{video}/export", params=asked(format="json")))
        assert [reply.json()["warnings"] for reply in replies] == [warnings] * 4
        report = server.get(f"/api/videos/{video}/export", params=asked(format="report")).text
        assert "Warnings about this video" in report
        assert not any(str(tmp_path) in text for text in [report, *(reply.text for reply in replies), *warnings])


def test_view_has_a_lane_per_method_with_reasons_and_image_urls(shared_server):
    body = asked(methods=["gcr", "uniform"], visual_demand=0.7)  # which uniform does not use
    view = shared_server.post(f"/api/videos/{shared_server.boat}/view", json=body).json()
    assert [lane["method"] for lane in view["lanes"]] == ["gcr", "uniform"]
    frames = view["lanes"][0]["frames"]
    assert all(0 <= frame["strength"] <= 1 and frame["why"] and frame["details"] for frame in frames)
    reply = shared_server.get(frames[0]["image"])
    assert Image.open(io.BytesIO(reply.content)).size == (frames[0]["width"], frames[0]["height"])
    assert shared_server.get(frames[0]["nearly"][0]["image"]).status_code == 200


def test_every_available_selector_works(shared_server):
    methods = shared_server.get("/api/choices").json()["methods"]
    available = [method["name"] for method in methods if method["available"]]
    for k in range(0, len(available), 3):
        reply = shared_server.post(f"/api/videos/{shared_server.boat}/view", json=asked(methods=available[k : k + 3]))
        assert reply.status_code == 200, (available[k : k + 3], reply.text)
    refused = [method for method in methods if not method["available"]]
    assert refused and all(method["why_not"] for method in refused)


@pytest.mark.parametrize(
    ("change", "status", "words"),
    [
        ({"methods": ["no-such"]}, 400, "no selector 'no-such'"),
        ({"methods": ["t-star"]}, 400, "needs a detector"),
        ({"settings": {"sift": {"no_such": 1}}}, 400, "no option 'no_such'"),
        ({"settings": {"sift": {"store": "/etc"}}}, 400, "no option 'store'"),
        ({"settings": {"sift": {"floor": "wide"}}}, 400, "expected a number"),
        ({"methods": ["dig"], "settings": {"dig": {"model": "http://127.0.0.1:9/v1"}}}, 400, "model can't be set"),
        ({"methods": ["himu"], "settings": {"himu": {"detector": "x"}}}, 400, "detector can't be set"),
        ({"methods": ["sift"], "visual_demand": 0.7}, 400, "visual_demand is 0.7, which sift does not use"),
        ({"question": "  "}, 400, "question is empty"),
        ({"methods": ["sift"], "from_s": 6, "to_s": 2}, 400, "expected an end after"),
        ({"methods": ["sift"], "from_s": 900}, 400, "outside the video"),
        ({"removed_s": list(range(25))}, 400, "every frame of the video is near"),
        ({"budget": 0}, 422, "budget"),
        ({"budget": 10**9}, 422, "budget"),
        ({"methods": []}, 422, "methods"),
        ({"nonsense": 1}, 422, "nonsense"),
        ({"question": ""}, 422, "question"),
    ],
)
def test_invalid_settings_are_error_messages(shared_server, change, status, words):
    reply = shared_server.post(f"/api/videos/{shared_server.boat}/view", json=asked(**change))
    assert reply.status_code == status and words in reply.json()["detail"].lower()


def test_question_about_a_video_not_indexed_is_a_conflict(shared_server):
    video = shared_server.video("talks/silent.mp4")["id"]
    reply = shared_server.post(f"/api/videos/{video}/view", json=QUESTION)
    assert reply.status_code == 409 and "not indexed yet" in reply.json()["detail"]


def test_video_is_served_in_ranges(shared_server, folder):
    whole, url = (folder / "boat.mp4").read_bytes(), f"/api/videos/{shared_server.boat}/file"
    reply = shared_server.get(url, headers={"range": "bytes=100-199"})
    assert reply.status_code == 206 and reply.content == whole[100:200]
    assert int(shared_server.client.head(url).headers["content-length"]) == len(whole)


def test_file_that_is_not_a_video_can_not_be_downloaded(shared_server, folder):
    assert "secret.txt" not in shared_server.get("/api/videos").text
    hidden = make_id("path", str((folder / "secret.txt").resolve()))
    assert shared_server.get(f"/api/videos/{hidden}/file").status_code == 404


@pytest.mark.parametrize("name", [os.fsdecode(b"caf\xe9.mp4"), f"{'n' * 245}.mp4"], ids=["not utf-8", "long"])
def test_video_of_any_file_name_can_be_used(tmp_path, name):
    clip = make_video(tmp_path / "videos" / "video.mp4", 4, subtitles=False)
    clip.rename(clip.with_name(name))
    with run_server(clip.parent, tmp_path) as server:
        video = server.index(name.replace("\udce9", "\ufffd"))
        for form in ("zip", "json", "report"):
            given = {"question": "Why?", "budget": 2, "format": form}
            assert server.get(f"/api/videos/{video}/export", params=given).status_code == 200


def test_images_of_a_replaced_file_are_not_served(tmp_path):
    clip = make_video(tmp_path / "videos" / "video.mp4", 4, subtitles=False)
    with run_server(clip.parent, tmp_path) as server:
        video, ask = server.index("video.mp4"), {"question": "Why?", "budget": 2}
        before = server.post(f"/api/videos/{video}/view", json=ask).json()["lanes"][0]["frames"][0]["image"]
        assert "immutable" in server.get(before).headers["cache-control"]
        assert server.get(before.split("?")[0]).headers["cache-control"] == "no-store"
        make_video(tmp_path / "another video.mp4", 4, subtitles=False).replace(clip)
        assert "has been replaced" in server.get(before).json()["detail"]
        server.index("video.mp4")
        after = server.post(f"/api/videos/{video}/view", json=ask).json()["lanes"][0]["frames"][0]["image"]
        assert after != before and server.get(after).status_code == 200


@pytest.mark.parametrize("path", ["", "/chapters"])
def test_video_deleted_during_the_request_is_not_found(tmp_path, monkeypatch, path):
    clip = make_video(tmp_path / "videos" / "video.mp4", 4, subtitles=False)
    with run_server(clip.parent, tmp_path) as server:
        video, facts = server.video("video.mp4")["id"], server.services.catalog.facts

        def delete_first(*given, **options):
            clip.unlink(missing_ok=True)
            return facts(*given, **options)

        monkeypatch.setattr(server.services.catalog, "facts", delete_first)
        reply = server.get(f"/api/videos/{video}{path}")
    assert reply.status_code == 404 and "There is no such video" in reply.text


def test_errors_about_a_damaged_file_contain_no_directory(tmp_path):
    clip = make_video(tmp_path / "videos" / "video.mp4", 4, subtitles=False)
    with run_server(clip.parent, tmp_path) as server:
        video = server.index("video.mp4")
        status = clip.stat()
        clip.write_bytes(b"0" * status.st_size)
        os.utime(clip, ns=(status.st_atime_ns, status.st_mtime_ns))
        for path in ("ask", "view"):
            reply = server.post(f"/api/videos/{video}/{path}", json={"question": "Why?", "budget": 2})
            assert str(tmp_path) not in reply.text
        assert str(tmp_path) not in server.get(f"/api/videos/{video}/thumbnail.jpg").text


def test_exports_are_what_the_command_line_writes(shared_server):
    given = {"question": QUESTION["question"], "option": QUESTION["options"], "budget": 6}
    reply = shared_server.get(f"/api/videos/{shared_server.boat}/export", params=given)
    assert "boat-evidence.zip" in reply.headers["content-disposition"]
    names = zipfile.ZipFile(io.BytesIO(reply.content)).namelist()
    assert "boat-evidence/report.html" in names and sum(name.endswith(".jpg") for name in names) == 7
    record = shared_server.get(f"/api/videos/{shared_server.boat}/export", params=given | {"format": "json"}).json()
    assert len(fs.Selection.from_dict(record)) == 6 and record["video"]["name"] == "boat.mp4"
    both = given | {"format": "report", "method": ["gcr", "uniform"]}
    report = shared_server.get(f"/api/videos/{shared_server.boat}/export", params=both)
    assert report.headers["content-disposition"].startswith("attachment") and "uniform" in report.text


def test_clip_is_a_part_of_the_video_with_its_text(shared_server, tmp_path):
    path = f"/api/videos/{shared_server.boat}/clip"
    reply = shared_server.get(path, params={"from_s": 2, "to_s": 5, "cut": "exact"})
    assert reply.headers["content-type"] == "video/mp4" and "boat-2-5.mp4" in reply.headers["content-disposition"]
    (tmp_path / "clip.mp4").write_bytes(reply.content)
    with av.open(str(tmp_path / "clip.mp4")) as container:
        assert {"video", "subtitle"} <= {stream.type for stream in container.streams}
        assert container.duration / 1e6 == pytest.approx(3, abs=0.1)
    for given in ({"from_s": 5, "to_s": 5}, {"from_s": 0, "to_s": 601}, {"from_s": 9e5, "to_s": 9e5 + 1}):
        assert shared_server.get(path, params=given).status_code in (400, 422)


def test_exports_leave_no_temporary_directory(shared_server, tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    for method, status in (("sift", 200), ("no", 400)):
        given = {"question": "Why?", "format": "json", "method": method}
        assert shared_server.get(f"/api/videos/{shared_server.boat}/export", params=given).status_code == status
    until(lambda: not list(tmp_path.iterdir()))


def test_stream_sends_jobs_until_they_are_done(folder, tmp_path):
    with run_server(folder, tmp_path) as server, httpx.stream("GET", f"{server.url}/api/stream", timeout=60) as stream:
        release = hold_jobs(server)
        video = server.video("boat.mp4")["id"]
        server.post(f"/api/videos/{video}/index")
        seen = []
        for line in stream.iter_lines():
            if line.startswith("data: ") and (jobs := json.loads(line[6:])):
                seen.append((jobs[0]["state"], jobs[0]["phase"]))
                if jobs[0]["state"] == "done":
                    break
                release.set()
        assert ("done", "") in seen and any(state in ("waiting", "running") for state, _ in seen)


def test_server_state_is_not_listed_as_an_index(shared_server, capsys):
    assert main(["library", "--store", str(shared_server.config.pipeline.index.store), "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["indexes"]
    assert rows and not any(".serve" in row["folder"] for row in rows)


def test_uploads_beyond_the_limit_are_refused(shared_server, monkeypatch):
    monkeypatch.setattr(shared_server.services, "active_uploads", 99)
    reply = shared_server.post("/api/uploads", params={"name": "a.mp4"}, content=b"0")
    assert reply.status_code == 503 and "uploads are in progress" in reply.json()["detail"]


@pytest.mark.parametrize(
    ("body", "kind", "words"),
    [
        (b"{", "application/json", "The body can't be read as JSON"),
        (b'{"question": "a\\u0000b"}', "application/json", "Question contains characters that are not allowed"),
        (b'{"question": "Who?"}', "", "The header content-type is missing; expected application/json"),
    ],
)
def test_malformed_requests_are_error_messages(shared_server, body, kind, words):
    headers = {"content-type": kind} if kind else {}
    reply = shared_server.post(f"/api/videos/{shared_server.boat}/view", content=body, headers=headers)
    assert reply.status_code == 422 and reply.json()["detail"].startswith(words)


def test_window_is_considered_alone(shared_server):
    body = asked(methods=["sift", "uniform"], from_s=2, to_s=6)
    view = shared_server.post(f"/api/videos/{shared_server.boat}/view", json=body).json()
    assert view["window"] == [2, 6]
    assert all(2 <= frame["time_s"] <= 6 for lane in view["lanes"] for frame in lane["frames"])
    query = {"question": QUESTION["question"], "format": "json", "from_s": 2, "to_s": 6}
    record = shared_server.get(f"/api/videos/{shared_server.boat}/export", params=query).json()
    assert record["basis"]["window"] == {"from_s": 2, "to_s": 6}


def test_pinned_frames_are_kept_within_the_budget_and_removed_ones_left_out(shared_server):
    url, methods = f"/api/videos/{shared_server.boat}/view", ["sift", "gcr", "uniform"]
    shown = shared_server.post(url, json=asked(methods=methods)).json()["lanes"]
    pinned_s = next(time_s for time_s in range(24) if all(time_s not in times_of(lane) for lane in shown))
    removed_s = shown[0]["frames"][2]["time_s"]
    edits = {"pinned_s": [pinned_s], "removed_s": [removed_s]}
    for lane in shared_server.post(url, json=asked(methods=methods, **edits)).json()["lanes"]:
        assert pinned_s in times_of(lane) and len(lane["frames"]) == 6
        assert all(abs(time_s - removed_s) > 2 for time_s in times_of(lane) if time_s != pinned_s)
        pinned = lane["frames"][times_of(lane).index(pinned_s)]
        assert pinned["why"][0] == PINNED or lane["method"] == "uniform"
    answer = shared_server.post(f"/api/videos/{shared_server.boat}/ask", json=asked(**edits)).json()
    assert pinned_s in answer["times_s"] and removed_s not in answer["times_s"]
    query = {"question": QUESTION["question"], "format": "json", "pinned_s": [pinned_s], "budget": 2}
    record = shared_server.get(f"/api/videos/{shared_server.boat}/export", params=query).json()
    assert pinned_s in [slot["time_s"] for slot in record["slots"]] and len(record["slots"]) == 2


def times_of(lane):
    return [frame["time_s"] for frame in lane["frames"]]


def test_chance_is_computed_once_for_a_video(shared_server, monkeypatch):
    url, body = f"/api/videos/{shared_server.boat}/select", {"question": "Is there a boat?"}
    first = shared_server.post(url, json=body).json()["basis"]["chance"]
    monkeypatch.setattr(shared_server.services.catalog, "_prepared", RecentCache(1))
    monkeypatch.setattr("framesift.pipeline.inputs.chance_levels", lambda *_: pytest.fail("computed again"))
    assert shared_server.post(url, json=body).json()["basis"]["chance"] == first


def test_frames_like_another_or_like_an_image_are_found(shared_server):
    video = next(one for one in shared_server.get("/api/videos").json()["videos"] if one["indexed"])
    query = {"like": video["id"], "at_s": 5.0, "video": video["id"], "limit": 1}
    (hit,) = shared_server.get("/api/search", params=query).json()
    assert hit["video"] == video["id"] and hit["start_s"] <= hit["time_s"] <= hit["end_s"] and hit["strength"] == 1
    image = shared_server.get(hit["image"]).content
    (same,) = shared_server.post("/api/search", params={"limit": 1}, content=image).json()
    assert abs(same["time_s"] - hit["time_s"]) <= 2
    refused = shared_server.post("/api/search", content=b"notes")
    assert refused.status_code == 400 and "can't be read as an image" in refused.json()["detail"]


def test_search_of_an_empty_library_finds_nothing(empty_server):
    assert empty_server.get("/api/search", params={"text": "boat"}).json() == []


def test_trace_is_returned_when_asked_for(shared_server):
    url, body = f"/api/videos/{shared_server.boat}/select", {"question": "Who?", "budget": 2}
    short, long = shared_server.post(url, json=body).json(), shared_server.post(url, json=body | {"trace": True}).json()
    assert short["trace"] == {} and long["trace"] and short["frames"] == long["frames"]


def test_full_size_frame_is_as_large_as_the_video(shared_server):
    url, body = f"/api/videos/{shared_server.boat}/select", {"question": "Who?", "budget": 1}
    (frame,) = shared_server.post(url, json=body).json()["frames"]
    video = shared_server.get(f"/api/videos/{shared_server.boat}").json()
    image = Image.open(io.BytesIO(shared_server.get(frame["full_image"]).content))
    assert image.size == (video["width"], video["height"])
