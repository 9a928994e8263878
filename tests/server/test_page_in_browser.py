"""A video's page: a question, its evidence, and the settings."""

import json
import socket

import pytest

from framesift.types.selection import NOTHING_MATCHES
from helpers.clips import make_clip
from helpers.page_visits import ASKED, QUESTION
from helpers.running_server import hold_jobs, make_cut_video, make_video, run_server


def test_best_spoken_frame_comes_first_and_a_click_plays_it(boat):
    first = boat.page.locator(".card").first
    assert boat.cards() == 6 and first.locator(".band").text_content() == "The wind put off the launch."
    boat.shows_image(".card img")
    first.locator(".open").click()
    assert boat.settles(lambda: 9 <= boat.at_s() <= 13)
    assert boat.settles(lambda: "current" in first.get_attribute("class"))
    assert boat.page.locator(".tl-marked").count() == 1
    assert boat.complaints == []


def test_reasons_open_under_a_card(boat):
    boat.page.locator(".reasons summary").first.click()
    assert boat.settles(lambda: boat.page.locator(".reasons").first.locator(".why li").count() > 0)
    assert "1st of 3" in boat.page.locator(".reasons[open] > .fine").first.text_content()


def test_asking_and_playing_work_by_keyboard(shared_server, visit):
    tab = visit(shared_server, f"/video/{shared_server.boat}?n=6")
    assert tab.settles(lambda: tab.page.evaluate("document.activeElement.id") == "question")
    tab.page.keyboard.type(QUESTION)
    tab.page.keyboard.press("Enter")
    tab.shows(6)
    assert tab.settles(tab.can_play)
    tab.page.focus(".card .open")
    tab.page.keyboard.press("Enter")
    assert tab.settles(lambda: tab.at_s() > 5)


def test_changed_budget_redraws_and_survives_a_reload(boat):
    boat.page.locator("#budget").fill("9")
    boat.shows(9)
    assert boat.settles(lambda: boat.page.locator(".tl-marker").count() == 9 and "n=9" in boat.page.url)
    boat.page.reload()
    boat.shows(9)
    assert boat.page.input_value("#question") == QUESTION


def test_typed_budget_may_be_large_and_is_clamped(boat):
    boat.page.fill("#budget-number", "100")
    assert boat.settles(lambda: boat.cards() > 64)
    assert boat.page.input_value("#budget") == "100"
    boat.page.fill("#budget-number", "0")
    assert boat.cards() > 64
    boat.page.press("#budget-number", "Tab")
    boat.shows(1)
    assert boat.page.input_value("#budget-number") == "1"


def test_two_methods_are_shown_side_by_side(boat):
    boat.page.click("#more > summary")
    boat.page.select_option("#compare", "uniform")
    boat.shows(12)
    assert boat.page.locator(".lane > h3").all_text_contents() == ["sift6 frames", "uniform6 frames"]
    left, right = boat.page.locator(".lane").evaluate_all("all => all.map((x) => x.getBoundingClientRect().toJSON())")
    assert left["top"] == right["top"] and left["right"] <= right["left"]
    assert boat.page.locator(".tl-markers").count() == 2


def test_evidence_can_be_downloaded_for_the_question_shown_not_the_one_typed(boat):
    boat.page.fill("#question", "Something else entirely")
    saved = {}
    for form in ("zip", "report", "json"):
        with boat.page.expect_download() as waiting:
            boat.page.click(f"[data-format={form}]")
        saved[form] = waiting.value
    assert saved["zip"].suggested_filename == "boat-evidence.zip"
    assert QUESTION in saved["report"].path().read_text(encoding="utf-8")
    assert json.loads(saved["json"].path().read_text())["basis"]["question"]["text"] == QUESTION
    assert boat.page.evaluate("document.activeElement.dataset.format") == "json"


def test_question_that_nothing_matches_is_reported_and_chance_is_marked(boat):
    assert boat.page.locator("#match").is_hidden() and boat.page.locator(".tl-chance").count() == 1
    boat.ask("Does a giraffe eat soup?")
    boat.shows_text("#match", NOTHING_MATCHES)


def test_reader_chooses_an_option_on_the_page(shared_server, visit):
    # A question of this test alone: the server keeps the answer, which others would be shown.
    tab = visit(shared_server, f"/video/{shared_server.boat}?q=What+delayed+it%3F&n=6&o=The+wind&o=The+rain")
    tab.shows(6)
    tab.page.click("#ask-reader")
    tab.context.grant_permissions(["clipboard-read", "clipboard-write"])
    tab.page.click(".answer button:text-is('Copy')")  # there when the answer is complete
    chosen = tab.page.locator(".answer .answer-text").text_content()
    assert chosen[1:] in ("The wind", "The rain")
    assert tab.settles(lambda: tab.has_shown("Copied"))
    copied = tab.page.evaluate("navigator.clipboard.readText()")
    assert copied.startswith(f"**What delayed it?**\n\n{chosen[0]}: {chosen[1:]}")


def test_copied_answer_has_links_for_its_times(shared_server, visit):
    tab = visit(shared_server, "/assets/roles.css")
    link = (
        "async () => (await import('/assets/shared.js')).linkTimes('At 0:09, then 1:00:05.', (time_s) => `t=${time_s}`)"
    )
    assert tab.page.evaluate(link) == "At [0:09](t=9), then [1:00:05](t=3605)."


def test_video_the_browser_cannot_play_still_shows_its_frames(tmp_path, visit):
    (tmp_path / "videos").mkdir()
    make_clip(tmp_path / "videos" / "old.mp4", seconds=4)  # MPEG-4 part 2
    with run_server(tmp_path / "videos", tmp_path) as server:
        tab = visit(server, f"/video/{server.index('old.mp4')}?q=Where&n=4")
        tab.shows_text("#unplayable", "can't play the video's format (mpeg4)")
        tab.shows(4)
        tab.page.locator(".card .open").first.click()
        still = tab.page.locator("#still")
        assert tab.settles(lambda: still.is_visible() and "/frames/" in still.get_attribute("src"))


def test_subtitles_added_later_redraw_the_evidence(empty_server, visit):
    tab = visit(empty_server, f"/video/{empty_server.upload()['id']}{ASKED}")
    tab.shows(6)
    assert tab.page.locator(".band").count() == 0
    file = {"name": "words.srt", "mimeType": "text/plain", "buffer": b"not subtitles"}
    tab.page.set_input_files("#text-info input", file)
    tab.shows_text("#subtitles-error", "'words.srt'")
    file["buffer"] = b"1\n00:00:02,000 --> 00:00:04,000\nThe wind put off the launch.\n"
    tab.page.set_input_files("#text-info input", file)
    assert tab.settles(lambda: tab.page.locator(".band").count() == 1)
    assert tab.settles(tab.page.locator("#subtitles-error").is_hidden)


def test_question_is_a_history_step_and_a_setting_is_not(open_boat):
    tab = open_boat("&m=gcr")
    tab.page.locator("#budget").fill("9")
    tab.shows(9)
    tab.ask("Who came back?")
    assert tab.settles(lambda: "Who+came+back" in tab.page.url)
    assert tab.settles(lambda: "selecting" not in (tab.page.get_attribute("body", "class") or ""))
    tab.page.go_back()
    assert tab.settles(lambda: tab.page.input_value("#question") == QUESTION)


def test_invalid_values_in_the_address_are_ignored(shared_server, visit):
    odd = "&n=999&m=no&and=sift&t=toString&d=0.25&s=%7B%22sift%22%3A%7B%22nosuch%22%3A1%7D%7D"
    tab = visit(shared_server, f"/video/{shared_server.boat}?q=Why{odd}")
    tab.shows(32)
    assert tab.page.input_value("#text-mode") == "aligned" and tab.page.locator("#error").is_hidden()
    demand = tab.page.get_by_text("Asks about what is said (0) or seen (1)")
    assert demand.count() == 0  # sift does not use it
    tab.page.select_option("#method", "gcr", force=True)
    assert tab.settles(lambda: demand.count() == 1)


def test_options_are_relettered_when_one_is_removed(open_boat):
    tab = open_boat("&o=one&o=two&o=three")
    tab.page.get_by_role("button", name="Remove option B").click()
    assert tab.page.get_by_role("textbox", name="Option B").input_value() == "three"
    assert tab.settles(lambda: "o=two" not in tab.page.url)
    assert tab.page.evaluate("document.activeElement.getAttribute('aria-label')") == "Option B"


def test_cancelled_indexing_does_not_resume_by_itself(empty_server, visit):
    release = hold_jobs(empty_server)
    tab = visit(empty_server, f"/video/{empty_server.upload()['id']}{ASKED}")
    assert tab.settles(lambda: tab.page.locator(".job").count() == 1)
    tab.page.click(".job .link:visible")
    again = tab.page.get_by_role("button", name="Resume indexing")
    assert tab.settles(again.is_visible)
    tab.page.locator("#budget").fill("9")
    tab.page.reload()
    assert tab.settles(again.is_visible)
    release.set()
    tab.page.click("#submit")
    tab.shows(9)


@pytest.mark.slow
def test_page_recovers_when_the_server_is_back(folder, tmp_path, visit):
    with socket.socket() as reserved:  # its port, which nothing else is given between the two servers
        reserved.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        reserved.bind(("127.0.0.1", 0))
        port = reserved.getsockname()[1]
        with run_server(folder, tmp_path, port=port) as server:
            tab = visit(server, f"/video/{server.index('boat.mp4')}{ASKED}")
            tab.shows(6)
        tab.page.locator("#budget").fill("9")
        tab.shows_text("#error", "does not respond")
        with run_server(folder, tmp_path, port=port):
            tab.shows(9)
            assert tab.settles(tab.page.locator("#error").is_hidden)
            tab.shows_image(".card img")


@pytest.mark.slow
def test_replaced_file_is_indexed_again(tmp_path, visit):
    clip = make_video(tmp_path / "videos" / "video.mp4", 8, subtitles=False)
    with run_server(clip.parent, tmp_path) as server:
        tab = visit(server, f"/video/{server.index('video.mp4')}{ASKED}")
        tab.shows(6)
        make_video(tmp_path / "another video.mp4", 12, subtitles=False).replace(clip)
        tab.page.locator("#budget").fill("5")
        tab.shows(5)
        tab.shows_text("#facts", "0:00:12")
        assert tab.settles(tab.page.locator("#error").is_hidden)


def test_question_not_in_english_is_warned_about(shared_server, visit):
    tab = visit(shared_server, f"/video/{shared_server.boat}?q=%E4%B8%BA%E4%BB%80%E4%B9%88&n=6")
    tab.shows_text("#language", "only understands English")
    tab.ask("Why was the café closed?")
    assert tab.settles(tab.page.locator("#language").is_hidden)


def test_half_typed_question_is_not_asked_by_a_changed_setting(boat):
    boat.page.fill("#question", "Is there a mo")
    boat.page.locator("#budget").fill("9")
    boat.shows(9)
    assert "Why+was+the+launch" in boat.page.url and boat.page.input_value("#question") == "Is there a mo"
    boat.page.focus(".skip")
    boat.page.keyboard.press("Enter")
    assert boat.page.input_value("#question") == "Is there a mo"


def test_slow_response_shows_a_status(shared_server, visit):
    tab = visit(shared_server, f"/video/{shared_server.boat}")
    held = []
    tab.page.route("**/view", lambda route: held.append(route))
    tab.page.fill("#question", QUESTION)
    tab.page.click("#submit")
    assert tab.settles(lambda: held and tab.page.text_content("#status") == "Selecting frames …")
    held[0].continue_()
    tab.shows(32)
    assert tab.settles(tab.page.locator("#status").is_hidden)


def test_warnings_are_under_the_player_and_then_beside_the_selection(tmp_path, visit):
    clip = make_cut_video(tmp_path / "videos" / "cut.mkv")
    with run_server(clip.parent, tmp_path / "state") as server:
        video = server.index("cut.mkv")
        (warning,) = server.video("cut.mkv")["warnings"]
        library = visit(server)
        library.shows_text(".ready .caution", "1 warning")
        tab = visit(server, f"/video/{video}")
        tab.shows_text("#text-info .warnings li", warning)
        tab.ask()
        tab.shows_text("#warnings li", warning)
        assert tab.settles(lambda: tab.page.locator(".warnings").count() == 1)


def test_window_is_typed_shown_on_the_timeline_and_kept_in_the_address(boat):
    boat.page.click("#more > summary")
    boat.page.fill("#from", "0:02")
    boat.page.fill("#to", "5")
    boat.page.locator("#to").blur()
    boat.shows_text("#summary", "from 0:00:02 to 0:00:05")
    assert boat.page.locator(".tl-shade").count() == 2
    assert boat.settles(lambda: "from=2&to=5" in boat.page.url and boat.page.input_value("#from") == "0:00:02")
    boat.page.fill("#to", "soon")
    boat.page.locator("#to").blur()
    assert boat.settles(lambda: boat.page.input_value("#to") == "0:00:05")
    assert boat.complaints == []


def test_frames_like_one_are_stretches_of_this_video_or_all_and_play(boat):
    card = boat.page.locator(".card").first
    card.get_by_text("More like this").click()
    boat.shows_text("#search-status", "like the frame at 0:00:")
    boat.page.locator("#least").fill("0")
    hits = boat.page.locator(".hits li")
    assert boat.settles(lambda: hits.count() > 0)
    hits.first.locator("h4 a").click()
    assert boat.settles(lambda: boat.at_s() > 0 and "/video/" in boat.page.url)
    with boat.page.expect_request("**/api/search?*") as sent:
        boat.page.select_option("#found select", label="all videos")
    assert "video=" not in sent.value.url
    boat.page.click("#close-search")
    assert boat.settles(lambda: boat.page.locator("#found").is_hidden())
    assert boat.page.evaluate("document.activeElement.textContent") == "More like this"


def test_clip_of_a_frame_is_downloaded_and_its_link_copied(open_boat):
    tab = open_boat(permissions=["clipboard-read", "clipboard-write"])
    actions = tab.page.locator(".card").first.locator(".actions")
    with tab.page.expect_download() as waiting:
        actions.get_by_text("Clip").click()
    assert waiting.value.suggested_filename == "boat-9-15.mp4"
    actions.get_by_text("Copy link").click()
    assert tab.settles(lambda: tab.has_shown("Copied"))
    tab.page.goto(tab.page.evaluate("navigator.clipboard.readText()"))
    assert tab.settles(lambda: 9 <= tab.at_s() <= 12)


def test_chapters_are_shown_and_played_before_a_question_and_one_is_asked_about(shared_server, visit):
    chapters = shared_server.get(f"/api/videos/{shared_server.boat}/chapters").json()
    tab = visit(shared_server, f"/video/{shared_server.boat}")
    items = tab.page.locator("#chapter-list li")
    assert tab.settles(lambda: items.count() == len(chapters) > 1 and tab.can_play())
    assert tab.page.locator(".tl-chapters").count() == 1
    tab.shows_image("#chapter-list img")
    items.nth(1).locator(".open").click()
    assert tab.settles(lambda: chapters[1]["start_s"] <= tab.at_s() < chapters[1]["end_s"])
    items.nth(1).get_by_text("Ask about this part").click()
    assert tab.page.evaluate("document.activeElement.id") == "question"
    tab.ask()
    tab.shows_text("#summary", "from 0:00:")
    assert tab.page.locator("#chapters").is_hidden() and tab.page.locator(".tl-chapters").count() == 1


def test_frame_is_pinned_or_removed_until_that_is_undone(boat):
    first, times = boat.page.locator(".card").first, boat.page.locator(".card .time")
    before = times.all_text_contents()
    first.get_by_text("Pin", exact=True).click()
    pinned = boat.page.get_by_role("button", pressed=True)
    assert boat.settles(lambda: pinned.count() == 1)
    assert boat.page.evaluate("document.activeElement.textContent") == "Pinned"
    boat.page.locator("#budget").fill("2")
    boat.shows(2)
    assert before[0] in times.all_text_contents()
    boat.page.locator(".card", has_not=pinned).get_by_text("Remove").click()
    boat.shows_text("#edits-note", "1 pinned, 1 removed")
    assert boat.settles(lambda: boat.cards() == 2 and before[0] in times.all_text_contents())
    boat.page.reload()
    boat.shows(2)
    boat.page.click("#undo-edits")
    assert boat.settles(lambda: "pin=" not in boat.page.url and pinned.count() == 0)
    assert boat.complaints == []


def test_frames_are_copied_as_markdown_with_links(open_boat):
    tab = open_boat(permissions=["clipboard-read", "clipboard-write"])
    tab.page.click("#exports button:text-is('Copy')")
    assert tab.settles(lambda: tab.has_shown("Copied"))
    title, _, *rows = tab.page.evaluate("navigator.clipboard.readText()").split("\n")
    assert title == f"**{QUESTION}**" and len(rows) == 6
    assert any("/video/" in row and "?t=" in row and "The wind put off the launch." in row for row in rows)


def test_image_is_searched_for_in_this_video(boat):
    image = boat.page.evaluate(
        "async () => [...new Uint8Array(await (await fetch(document.querySelector('.card img').src)).arrayBuffer())]"
    )
    with boat.page.expect_request("**/api/search?*") as sent:
        boat.page.set_input_files("#search-image", {"name": "a.jpg", "mimeType": "image/jpeg", "buffer": bytes(image)})
    assert "video=" in sent.value.url
    boat.shows_text("#search-status", "like a.jpg")
    boat.page.locator("#least").fill("0")
    assert boat.settles(lambda: boat.page.locator(".hits li").count() > 0)
    with boat.page.expect_request("**/api/search*") as sent:
        boat.page.select_option("#found select", label="all videos")
    assert "video=" not in sent.value.url


def test_questions_to_try_are_asked(shared_server, visit):
    tab = visit(shared_server, "/assets/roles.css")
    record = shared_server.get(f"/api/videos/{shared_server.boat}").json() | {"examples": ["Do we see the sea?"]}
    tab.page.route(f"**/api/videos/{shared_server.boat}", lambda route: route.fulfill(json=record))
    tab.page.goto(f"{shared_server.url}/video/{shared_server.boat}")
    assert tab.settles(lambda: tab.page.locator(".tl-chapters").count() == 1)
    tab.page.hover("#examples button")
    tab.page.mouse.down()
    with tab.page.expect_response(f"**/api/videos/{shared_server.boat}"):  # the page loads the video again
        tab.page.evaluate("dispatchEvent(new PageTransitionEvent('pageshow', {persisted: true}))")
    tab.page.mouse.up()
    assert tab.settles(lambda: tab.cards() > 0 and "q=Do+we+see+the+sea" in tab.page.url)
