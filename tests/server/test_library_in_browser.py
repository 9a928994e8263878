"""The library page: uploading, indexing, cancelling, searching."""

import pytest

from framesift.types.selection import NOTHING_MATCHES
from helpers.page_visits import HeldReply
from helpers.running_server import hold_jobs, until, video_bytes
from helpers.short_story import short_story


def file(name, content):
    """A file for a file input."""
    return {"name": name, "mimeType": "", "buffer": content if isinstance(content, bytes) else content.encode()}


def subtitles(name, text):
    return file(name, f"1\n00:00:01,000 --> 00:00:03,000\n{text}\n")


def test_uploaded_video_is_indexed_and_answers_a_question(empty_server, visit):
    tab = visit(empty_server)
    assert tab.page.locator("h1").text_content() == "Drop a video, ask a question"
    assert tab.page.locator("#videos").is_hidden()
    tab.page.set_input_files("#file", file("My video.mp4", video_bytes(8)))
    tab.arrives("/video/")  # straight to the question
    tab.ask()  # before it is indexed
    assert tab.settles(lambda: tab.cards() == 32 and tab.page.locator("#partial").is_hidden())
    tab.shows_text("#text-info", "No subtitles or speech found")
    assert tab.complaints == []


def test_upload_of_another_file_is_an_error_message(empty_server, visit):
    tab = visit(empty_server)
    tab.page.set_input_files("#file", file("video.mp4", "no video"))
    tab.shows_text("#uploads .problem", "'video.mp4' can't be opened as a video")


def test_reload_during_indexing_shows_its_progress(empty_server, visit):
    release = hold_jobs(empty_server)
    empty_server.upload()
    tab = visit(empty_server)
    tab.shows_text(".job", "40 %")
    tab.page.reload()
    tab.shows_text(".job", "40 %")
    release.set()
    assert tab.settles(lambda: tab.page.locator(".ready").count() == 1)


@pytest.mark.parametrize("page", ["/", pytest.param("/video/{}", marks=pytest.mark.slow)])
def test_press_on_cancel_is_taken_while_progress_is_shown(empty_server, visit, page):
    jobs = hold_jobs(empty_server)
    tab = visit(empty_server, page.format(empty_server.upload()["id"]))
    cancel = tab.page.locator(".job .link:visible")
    tab.shows_text(".job-status", "40 %")
    held = []
    tab.page.route("**/api/jobs/*", lambda route: held.append(route))
    cancel.hover()
    before = cancel.bounding_box()
    tab.page.mouse.down()
    jobs.percent = 100.0
    tab.shows_text(".job-status", "100 %")
    assert cancel.bounding_box() == before
    tab.page.mouse.up()
    assert tab.settles(lambda: len(held) == 1)
    assert cancel.text_content() == "Cancelling …" and cancel.get_attribute("aria-disabled") == "true"
    jobs.percent = 41
    tab.shows_text(".job-status", "41 %")
    assert tab.page.evaluate("document.activeElement.textContent") == "Cancelling …"
    held[0].continue_()
    assert tab.settles(tab.page.get_by_role("button", name="Resume indexing").is_visible)
    assert tab.page.evaluate("document.activeElement !== document.body")
    jobs.set()


def test_broken_video_is_reported_on_both_pages(shared_server, visit):
    tab = visit(shared_server)
    tab.shows_text(".video-card.unusable:has-text('broken.mp4')", "can't be opened")
    tab.page.goto(f"{shared_server.url}/video/{shared_server.video('broken.mp4')['id']}")
    tab.shows_text("#state", "can't be used")
    assert tab.page.locator("#ask").is_hidden()


def test_subtitles_uploaded_with_a_video_are_used(empty_server, visit):
    tab = visit(empty_server)
    assert tab.settles(lambda: ".srt" in tab.page.get_attribute("#file", "accept"))
    words = subtitles("any name.srt", "Because of the wind.")
    tab.page.set_input_files("#file", [file("My video.mp4", video_bytes()), words])
    tab.arrives("/video/")
    tab.ask()
    tab.shows_text("#text-info", "1 line of text from \u2068My video.srt")


def test_subtitles_of_several_videos_are_matched_by_name(empty_server, visit):
    tab = visit(empty_server)
    assert tab.settles(lambda: ".srt" in tab.page.get_attribute("#file", "accept"))
    videos = [file(f"{name}.mp4", video_bytes()) for name in ("ep1", "ep10", "ep2")]
    words = [subtitles(f"{name}.srt", f"This is {name}.") for name in ("ep1.en", "ep10", "ep3")]
    tab.page.set_input_files("#file", [*videos, *words])
    ready = tab.page.locator(".ready")
    named = [(True, False), (False, True), (False, False)]
    assert tab.settles(
        lambda: [("ep1.en.srt" in line, "ep10.srt" in line) for line in ready.all_text_contents()] == named
    )
    tab.shows_text("#uploads", "No uploaded video has this name")
    assert "ep3.srt" in tab.page.text_content("#uploads")


@pytest.mark.slow
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
    tab.shows_text("h1", "The third attempt (sample).mp4")
    tab.page.click("#examples button:text-is('Why was the launch put off?')")
    assert tab.settles(lambda: tab.cards() > 0 and tab.page.locator("#examples").is_hidden())
    tab.page.goto(empty_server.url)
    tab.page.click("#sample")  # the same one again
    tab.arrives("/video/")


def test_video_deleted_in_another_browser_leaves_both_pages(empty_server, visit):
    video = empty_server.upload()["id"]
    library, page = visit(empty_server), visit(empty_server, f"/video/{video}")
    assert library.settles(lambda: library.page.locator(".video-card").count() == 1)
    page.shows_text("h1", "video.mp4")
    assert empty_server.client.delete(f"/api/videos/{video}").status_code == 204
    assert library.settles(lambda: library.page.locator(".video-card").count() == 0)
    page.shows_text("#error", "There is no such video")


def test_late_reply_replaces_nothing_newer(empty_server, visit):
    tab = visit(empty_server, "/assets/roles.css")
    late = HeldReply(tab, "**/api/videos")
    tab.page.goto(empty_server.url)
    assert tab.settles(lambda: late.is_held)
    empty_server.upload()
    cards = tab.page.locator(".video-card")
    assert tab.settles(lambda: cards.count() == 1)
    late.send()
    assert cards.count() == 1


def test_library_is_filtered_and_sorted(shared_server, visit):
    tab = visit(shared_server)
    names = tab.page.locator("#video-list h3")
    assert tab.settles(lambda: names.count() == 3 and tab.page.locator("#index-all").is_visible())
    tab.page.select_option("#sort", "ready")
    assert tab.settles(lambda: names.first.text_content() == "boat.mp4")
    tab.page.fill("#filter", "SILENT")
    assert tab.settles(lambda: names.all_text_contents() == ["talks/silent.mp4"])


def test_search_finds_a_moment_whose_link_opens_the_player_there(shared_server, visit):
    tab = visit(shared_server)
    assert tab.settles(tab.page.locator("#search-box").is_visible)
    tab.page.select_option("#search-by", "events")
    tab.page.fill("#search-text", "the wind put off the launch")
    tab.page.press("#search-text", "Enter")
    tab.shows_text("#moments .video-card", "The wind put off")
    tab.shows_image("#moments .video-card img")
    tab.page.locator("#moments .video-card a").first.click()
    tab.arrives("?t=9.0")
    assert tab.settles(lambda: tab.at_s() == 9)
    assert tab.page.input_value("#question") == "the wind put off the launch" and tab.cards() == 0
    assert tab.complaints == []


def test_search_is_offered_when_it_has_been_loaded(shared_server, visit):
    tab, held = visit(shared_server, "/assets/roles.css"), []
    tab.page.route("**/api/choices", lambda route: held.append(route))
    tab.page.goto(shared_server.url)
    assert tab.settles(lambda: held and tab.page.locator(".ready").count() == 1)
    assert tab.page.locator("#search-box").is_hidden()
    held[0].continue_()
    assert tab.settles(tab.page.locator("#search-box").is_visible)


def test_videos_stay_in_view_beside_what_was_found(shared_server, visit):
    hit = shared_server.get("/api/search", params={"text": "wind", "limit": 1}).json()[0]
    tab = visit(shared_server, "/assets/roles.css")
    hits = [hit | {"time_s": float(k)} for k in range(24)]
    tab.page.route("**/api/search?*", lambda route: route.fulfill(json=hits))
    tab.page.goto(f"{shared_server.url}/?find=wind")
    found, more = tab.page.locator(".hits li:visible"), tab.page.locator("#all-moments")
    assert tab.settles(lambda: found.count() == 6 and tab.page.locator("#video-list h3").count() == 3)
    title = tab.page.locator("#videos-title")
    assert tab.settles(lambda: title.bounding_box()["y"] < tab.page.viewport_size["height"])
    more.click()
    assert tab.settles(lambda: found.count() == 24 and more.text_content() == "Show fewer")
    tab.page.click("#close-search")
    assert tab.settles(lambda: found.count() == 0 and "find=" not in tab.page.url)
    assert tab.page.input_value("#search-text") == ""


def test_search_that_nothing_matches_is_reported(shared_server, visit):
    tab = visit(shared_server, "/?find=giraffe+soup")
    note, weak = tab.page.locator("#search-note"), tab.page.locator("#moments").get_by_text("weak match")
    assert tab.settles(lambda: note.is_visible() and weak.count() == tab.page.locator(".hits li").count() > 0)
    assert note.text_content() == NOTHING_MATCHES
    tab.page.fill("#search-text", "wind")
    tab.page.press("#search-text", "Enter")
    assert tab.settles(lambda: note.is_hidden() and "wind" in tab.page.locator(".hits li").first.text_content())


def test_image_finds_frames_like_it_and_a_slider_hides_the_weak(shared_server, visit):
    first = shared_server.get("/api/search", params={"text": "boat", "limit": 1}).json()[0]
    tab = visit(shared_server)
    assert tab.settles(tab.page.locator("#search-box").is_visible)
    image = {"name": "red.jpg", "mimeType": "image/jpeg", "buffer": shared_server.get(first["image"]).content}
    tab.page.set_input_files("#search-image", image)
    tab.shows_text("#search-status", "0 moments like red.jpg, best first; 2 weaker hidden")
    tab.page.locator("#least").fill("0")
    hits = tab.page.locator(".hits li")
    assert tab.settles(lambda: hits.get_by_text("weak match").count() == hits.count() == 2)
    hits.first.get_by_text("More like this").click()
    tab.shows_text("#search-status", "like the frame at 0:00:")
    assert tab.settles(lambda: "like=" in tab.page.url)
