"""The HTTP API: the same records as the Python API, and errors as sentences."""

import io
import json
import os
import threading
import zipfile

import httpx
import pytest
from PIL import Image

import framesift as fs
from framesift.cli import main
from framesift.server import answering as evidence
from helpers.running_server import make_film, serve, until

QUESTION = {"question": "Why was the launch put off?", "options": ["The wind", "The rain"], "budget": 6}


def asked(**more):
    return QUESTION | more


def test_the_library_tells_each_video_with_what_is_known_of_it(home):
    boat = home.video("boat.mp4")
    assert boat["ready"] and boat["duration_s"] == 24 and boat["words"]["events"] == 3
    assert boat["words"]["sources"][0]["name"] == "boat.srt"
    until(lambda: home.video("broken.mp4")["known"])
    broken = home.video("broken.mp4")
    assert "'broken.mp4' can't be opened as a video" in broken["problem"]
    assert home.video("talks/silent.mp4")["words"] is None


def test_no_answer_tells_where_the_files_lie(home, films):
    texts = [home.get(path).text for path in ("/api/videos", "/api/jobs", f"/api/videos/{home.boat}")]
    texts.append(home.post(f"/api/videos/{home.video('broken.mp4')['id']}/index").text)
    assert not any(str(films) in text for text in texts)


def test_the_selection_is_the_one_of_the_command_line_and_of_python(home, films, capsys):
    told = home.post(f"/api/videos/{home.boat}/select", json=asked(method="gcr")).json()
    film, store = films / "boat.mp4", str(home.settings.store)
    line = ["select", str(film), "-q", QUESTION["question"], "-o", "The wind", "-o", "The rain", "--budget", "6"]
    assert main([*line, "--json", "--no-exhibit", "--store", store, "--encoder", "offline"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert fs.Selection.from_dict(told) == fs.Selection.from_dict(printed)
    index = fs.index(film, "offline", store=store)
    question = fs.Question(QUESTION["question"], QUESTION["options"])
    assert fs.select(index, question, events=fs.find_events(film), budget=6) == fs.Selection.from_dict(told)


def test_options_inside_the_question_count(home):
    told = home.post(f"/api/videos/{home.boat}/select", json={"question": "Why? A) Wind B) Rain", "budget": 4}).json()
    assert told["basis"]["question"] == {"text": "Why?", "options": ["Wind", "Rain"]}


def test_the_view_has_a_lane_per_method_with_reasons_and_addresses(home):
    view = home.post(f"/api/videos/{home.boat}/view", json=asked(methods=["gcr", "uniform"])).json()
    assert [lane["method"] for lane in view["lanes"]] == ["gcr", "uniform"]
    first = min(view["lanes"][0]["frames"], key=lambda frame: frame["rank"])
    assert first["role"] == "ground" and first["text"] == "The wind put off the launch." and first["why"]
    assert sorted(frame["rank"] for frame in view["lanes"][0]["frames"]) == [1, 2, 3, 4, 5, 6]
    reply = home.get(first["picture"])
    assert Image.open(io.BytesIO(reply.content)).size == (first["width"], first["height"])
    assert home.get(first["nearly"][0]["picture"]).status_code == 200


def test_every_selector_offered_can_be_used(home):
    choices = home.get("/api/choices").json()
    for method in (method for method in choices["methods"] if method["available"]):
        reply = home.post(f"/api/videos/{home.boat}/view", json=asked(methods=[method["name"]]))
        assert reply.status_code == 200, (method["name"], reply.text)
    refused = [method for method in choices["methods"] if not method["available"]]
    assert refused and all(method["why_not"] for method in refused)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"methods": ["no-such"]}, "no selector 'no-such'"),
        ({"methods": ["t-star"]}, "needs a detector"),
        ({"settings": {"gcr": {"no_such": 1}}}, "no option 'no_such'"),
        ({"settings": {"gcr": {"store": "/etc"}}}, "no option 'store'"),
        ({"settings": {"gcr": {"encoder": "/etc"}}}, "no option 'encoder'"),
        ({"settings": {"gcr": {"gate": "wide"}}}, "expected a number"),
        ({"settings": {"gcr": {"top_mean": True}}}, "expected a whole number"),
        ({"question": "  "}, "question is empty"),
    ],
)
def test_wrong_knobs_are_sentences(home, change, words):
    reply = home.post(f"/api/videos/{home.boat}/view", json=asked(**change))
    assert reply.status_code == 400 and words in reply.json()["detail"]


@pytest.mark.parametrize(
    "change", [{"budget": 0}, {"budget": 10**9}, {"methods": []}, {"nonsense": 1}, {"question": ""}]
)
def test_requests_out_of_bounds_are_sentences_too(home, change):
    reply = home.post(f"/api/videos/{home.boat}/view", json=asked(**change))
    assert reply.status_code == 422 and isinstance(reply.json()["detail"], str)


def test_a_video_that_is_not_indexed_says_so(home):
    video = home.video("talks/silent.mp4")["id"]
    reply = home.post(f"/api/videos/{video}/view", json=QUESTION)
    assert reply.status_code == 409 and "not indexed yet" in reply.json()["detail"]


def test_a_reader_answers_and_only_configured_ones_are_asked(home):
    answer = home.post(f"/api/videos/{home.boat}/ask", json=asked(reader="similarity")).json()
    assert answer["letter"] in "AB" and len(answer["times_s"]) == 6 and answer["reader"] == "similarity"
    reply = home.post(f"/api/videos/{home.boat}/ask", json=asked(reader="http://127.0.0.1:9/v1"))
    assert reply.status_code == 400 and "no reader" in reply.json()["detail"]


def test_the_video_is_served_in_ranges(home, films):
    whole = (films / "boat.mp4").read_bytes()
    reply = home.get(f"/api/videos/{home.boat}/file", headers={"range": "bytes=100-199"})
    assert reply.status_code == 206 and reply.content == whole[100:200]
    assert home.get(f"/api/videos/{home.boat}/file", headers={"range": "bytes=-50"}).content == whole[-50:]
    past = home.get(f"/api/videos/{home.boat}/file", headers={"range": f"bytes={10**9}-"})
    assert past.status_code == 416 and past.headers["content-range"] == f"bytes */{len(whole)}"
    assert past.json()["detail"] == f"The video ends at byte {len(whole)}"


@pytest.mark.parametrize("asked", ["bytes=9-5", "bytes=", "lines=1-2", "bytes=0-1,5-9", "nonsense"])
def test_what_is_no_single_range_is_ignored(home, films, asked):
    reply = home.get(f"/api/videos/{home.boat}/file", headers={"range": asked})
    assert reply.status_code == 200 and reply.content == (films / "boat.mp4").read_bytes()


def test_a_file_that_is_no_video_can_be_added_neither_nor_fetched(home):
    reply = home.post("/api/videos", json={"path": "secret.txt"})
    assert reply.status_code == 400 and "'secret.txt' can't be opened as a video" in reply.json()["detail"]
    assert "secret.txt" not in home.get("/api/videos").text
    hidden = home.house.shelf.inside("secret.txt").id
    assert home.get(f"/api/videos/{hidden}/file").status_code == 404


def test_a_name_that_is_no_utf8_does_not_take_the_library_down(tmp_path):
    film = make_film(tmp_path / "films" / "film.mp4", 8, said=False)
    film.rename(film.with_name(os.fsdecode(b"caf\xe9.mp4")))
    with serve(film.parent, tmp_path) as served:
        video = served.make_ready("caf\ufffd.mp4")
        view = served.post(f"/api/videos/{video}/view", json={"question": "Why?", "budget": 4})
        assert len(view.json()["lanes"][0]["frames"]) == 4
        for form in ("zip", "json", "report"):
            given = {"question": "Why?", "budget": 2, "format": form}
            assert served.get(f"/api/videos/{video}/export", params=given).status_code == 200


def test_pictures_of_a_replaced_file_are_not_taken_for_those_of_the_new_one(tmp_path):
    film = make_film(tmp_path / "films" / "film.mp4", 8, said=False)
    with serve(film.parent, tmp_path) as served:
        video, ask = served.make_ready("film.mp4"), {"question": "Why?", "budget": 2}
        before = served.post(f"/api/videos/{video}/view", json=ask).json()["lanes"][0]["frames"][0]["picture"]
        assert "immutable" in served.get(before).headers["cache-control"]
        assert served.get(before.split("?")[0]).headers["cache-control"] == "no-store"
        make_film(tmp_path / "another film.mp4", 8, said=False).replace(film)
        assert "has been replaced" in served.get(before).json()["detail"]
        served.make_ready("film.mp4")
        after = served.post(f"/api/videos/{video}/view", json=ask).json()["lanes"][0]["frames"][0]["picture"]
        assert after != before and served.get(after).status_code == 200


def test_readers_that_are_silent_keep_no_question_waiting(home, monkeypatch):
    go_on = threading.Event()

    class Silent:
        def answer(self, *_):
            go_on.wait(60)
            raise fs.FramesiftError("it never spoke")

    monkeypatch.setattr("framesift.server.answering.get_reader", lambda _: Silent())
    asking = [
        threading.Thread(target=httpx.post, args=(f"{home.url}/api/videos/{home.boat}/ask",), kwargs={"json": QUESTION})
        for _ in range(evidence.READERS_AT_ONCE)
    ]
    for one in asking:
        one.start()
    until(lambda: home.house.desk._readers._value == 0)
    try:
        assert home.post(f"/api/videos/{home.boat}/view", json=QUESTION).status_code == 200
        refused = home.post(f"/api/videos/{home.boat}/ask", json=QUESTION)
        assert refused.status_code == 503 and "with readers already" in refused.json()["detail"]
    finally:
        go_on.set()
        for one in asking:
            one.join()


def test_a_silent_reader_does_not_keep_the_server_from_ending(films, tmp_path, monkeypatch):
    go_on, replies = threading.Event(), []
    with serve(films, tmp_path) as served:
        boat = served.make_ready("boat.mp4")
        asked = threading.Event()

        class Silent:
            def answer(self, *_):
                asked.set()
                go_on.wait(60)

        monkeypatch.setattr("framesift.server.answering.get_reader", lambda _: Silent())
        ask = f"{served.url}/api/videos/{boat}/ask"
        asking = threading.Thread(target=lambda: replies.append(httpx.post(ask, json=QUESTION, timeout=60)))
        asking.start()
        assert asked.wait(30)
    asking.join(timeout=30)
    assert not asking.is_alive() and replies[0].status_code == 503 and "closing" in replies[0].json()["detail"]
    go_on.set()


def test_too_long_a_line_of_questions_is_told_at_once(home, monkeypatch):
    monkeypatch.setattr(home.house.desk, "_line", threading.BoundedSemaphore(1))
    assert home.house.desk._line.acquire()
    reply = home.post(f"/api/videos/{home.boat}/view", json=QUESTION)
    assert reply.status_code == 503 and "busy" in reply.json()["detail"]


def test_a_problem_that_was_mended_is_forgotten(tmp_path, monkeypatch):
    make_film(tmp_path / "films" / "film.mp4", 4, said=False)

    def refuse(path):
        raise fs.InputError(f"{str(path)!r} may not be read; change its permissions")

    with monkeypatch.context() as broken:
        broken.setattr("framesift.server.catalog.probe", refuse)
        with serve(tmp_path / "films", tmp_path) as served:
            video = served.video("film.mp4")["id"]
            reply = served.post(f"/api/videos/{video}/index")
            assert reply.status_code == 400 and reply.json()["detail"].startswith("'film.mp4' may not be read")
    with serve(tmp_path / "films", tmp_path) as served:
        assert served.get(f"/api/videos/{video}").json()["problem"] == ""


def test_a_long_name_can_be_exported(tmp_path):
    film = make_film(tmp_path / "films" / f"{'n' * 245}.mp4", 4, said=False)
    with serve(film.parent, tmp_path) as served:
        video = served.make_ready(film.name)
        for form in ("zip", "report"):
            given = {"question": "Why?", "budget": 2, "format": form}
            assert served.get(f"/api/videos/{video}/export", params=given).status_code == 200


def test_no_error_tells_where_a_damaged_file_lies(tmp_path):
    film = make_film(tmp_path / "films" / "film.mp4", 4, said=False)
    with serve(film.parent, tmp_path) as served:
        video = served.make_ready("film.mp4")
        status = film.stat()
        film.write_bytes(b"0" * status.st_size)
        os.utime(film, ns=(status.st_atime_ns, status.st_mtime_ns))
        for path in ("ask", "view"):
            reply = served.post(f"/api/videos/{video}/{path}", json={"question": "Why?", "budget": 2})
            assert str(tmp_path) not in reply.text
        assert str(tmp_path) not in served.get(f"/api/videos/{video}/thumbnail.jpg").text


def test_exports_are_what_the_command_line_writes(home):
    given = {"question": QUESTION["question"], "option": QUESTION["options"], "budget": 6}
    reply = home.get(f"/api/videos/{home.boat}/export", params=given)
    assert "boat-evidence.zip" in reply.headers["content-disposition"]
    names = zipfile.ZipFile(io.BytesIO(reply.content)).namelist()
    assert "boat-evidence/report.html" in names and sum(name.endswith(".jpg") for name in names) == 7
    told = home.get(f"/api/videos/{home.boat}/export", params=given | {"format": "json"}).json()
    assert len(fs.Selection.from_dict(told)) == 6 and told["video"]["name"] == "boat.mp4"
    both = given | {"format": "report", "method": ["gcr", "uniform"]}
    report = home.get(f"/api/videos/{home.boat}/export", params=both)
    assert report.headers["content-disposition"].startswith("attachment") and "uniform" in report.text


def test_exports_leave_no_folder_behind(home, tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    given = {"question": "Why?", "format": "json"}
    assert home.get(f"/api/videos/{home.boat}/export", params=given).status_code == 200
    assert home.get(f"/api/videos/{home.boat}/export", params=given | {"method": "no"}).status_code == 400
    until(lambda: not list(tmp_path.iterdir()))


def test_the_stream_tells_jobs_and_their_progress(films, tmp_path):
    with serve(films, tmp_path) as served, httpx.stream("GET", f"{served.url}/api/stream", timeout=60) as stream:
        video = served.video("boat.mp4")["id"]
        served.post(f"/api/videos/{video}/index")
        seen = []
        for line in stream.iter_lines():
            if line.startswith("data: ") and (jobs := json.loads(line[6:])):
                seen.append((jobs[0]["state"], jobs[0]["phase"]))
                if jobs[0]["state"] == "done":
                    break
        assert ("done", "") in seen and any(state in ("waiting", "running") for state, _ in seen)


def test_a_cancelled_job_goes_on_when_queued_again(films, tmp_path, monkeypatch):
    monkeypatch.setattr("framesift.store.indexing.PART_SIZE", 16)
    with serve(films, tmp_path) as served:
        video = served.video("boat.mp4")["id"]
        work = served.house.queue._work

        def cancel_midway(job, report):
            def watch(phase, done, total):
                if done >= 32:
                    served.house.queue.cancel(job.id)
                report(phase, done, total)

            work(job, watch)

        served.house.queue._work = cancel_midway
        served.post(f"/api/videos/{video}/index")
        until(lambda: served.house.queue.of(video).state == "cancelled")
        assert not served.video("boat.mp4")["indexed"]
        done = []
        served.house.queue._work = lambda job, report: work(job, lambda *told: done.append(told) or report(*told))
        served.make_ready("boat.mp4")
        assert served.video("boat.mp4")["ready"]
        assert min(count for phase, count, _ in done if phase == "indexing") > 16  # not from the start


def test_the_server_keeps_itself_out_of_the_library_listing(home, capsys):
    assert main(["library", "--store", str(home.settings.store), "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["indexes"]
    assert rows and not any(".serve" in row["folder"] for row in rows)


def test_too_much_at_once_is_refused_with_a_sentence(home, monkeypatch):
    monkeypatch.setattr(home.house, "uploading", 99)
    reply = home.post("/api/uploads", params={"name": "a.mp4"}, content=b"0")
    assert reply.status_code == 503 and "uploads are under way" in reply.json()["detail"]
    monkeypatch.setattr(home.house, "streams", 99)
    assert home.get("/api/stream").status_code == 503


def test_ranks_put_the_best_words_and_the_best_picture_first(home):
    told = fs.Selection.from_dict(home.post(f"/api/videos/{home.boat}/select", json=asked(budget=16)).json())
    rank = evidence.ranks(told)
    roles = [next(s.role for s in told.slots if s.index == index) for index in sorted(rank, key=rank.get)]
    assert roles[:2] == ["ground", "visual"] and roles[-1] == "context"


def test_the_frame_nearest_to_any_time_is_a_picture(home):
    near = home.get(f"/api/videos/{home.boat}/near/11.93.jpg")
    view = home.get(f"/api/videos/{home.boat}/frames/12.000000.jpg")
    assert near.status_code == 200 and near.content == view.content
    assert home.get(f"/api/videos/{home.video('talks/silent.mp4')['id']}/near/1.jpg").status_code == 409


def test_a_head_request_tells_the_size_of_the_file(home, films):
    reply = home.client.head(f"/api/videos/{home.boat}/file")
    assert reply.status_code == 200 and int(reply.headers["content-length"]) == (films / "boat.mp4").stat().st_size


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (b"{", "The body can't be read as JSON"),
        (b'{"question": "a\\u0000b"}', "Question holds characters that it may not hold"),
        (b'{"question": "why", "settings": {"gcr": {"gate": [1]}}}', "settings.gcr.gate can't be read"),
    ],
)
def test_requests_that_cannot_be_read_are_sentences_for_people(home, body, words):
    reply = home.post(f"/api/videos/{home.boat}/view", content=body, headers={"content-type": "application/json"})
    assert reply.status_code == 422 and reply.json()["detail"].startswith(words)
