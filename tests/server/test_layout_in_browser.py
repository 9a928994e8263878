"""What is in view on a small screen, and what is explained where it stands."""

import json
from urllib.parse import quote

import pytest

from framesift.rendering.palette import ROLE_NAMES
from framesift.rendering.report.page import ROLE_SENTENCES
from framesift.types.selection import NOTHING_MATCHES
from helpers.page_visits import QUESTION

SMALL = {"width": 1024, "height": 768}
LONG = "The **wind** was too strong, as the speaker says at 0:09. " * 20
WARNING = "The video ends 12 seconds before the length that its file declares, so that its last part is missing."
PARTIAL = "Selected from 40 of 240 frames: keyframes spread over the video, without what is said in it."


def answer_of(method, text=LONG):
    answer = {"letter": None, "text": text, "choice": None, "raw": text, "parsed": True, "times_s": []}
    answer |= {"tokens": 812, "seconds": 2.5, "frames": [], "reader": "similarity", "text_mode": "aligned"}
    answer |= {"note": "a weak answer", "cited_s": [9.0], "warnings": []}
    kept = {"id": f"of-{method}", "method": method, "reader": "similarity", "asked_s": 1.0, "state": "done"}
    return kept | {"text": "", "error": "", "answer": answer}


def job_of(video):
    job = {"id": "j", "kind": "index", "video": video, "name": "boat.mp4", "state": "running", "phase": "indexing"}
    job |= {"done": 40, "total": 240, "error": "", "added_s": 1.0, "started_s": 1.0, "finished_s": None}
    return job | {"position": 0, "candidates": 40}


@pytest.fixture
def show(shared_server, visit):
    """Open a video whose view, answers and state are changed on the way to the page."""

    def go(view=None, answers=(), indexing=False, more="", **context):
        tab = visit(shared_server, "/assets/roles.css", **{"viewport": SMALL} | context)
        boat = shared_server.boat

        def change(path, changed):
            def fulfill(route):
                reply = route.fetch().json()
                if isinstance(reply, list):  # without the questions of other tests, whose count may take another line
                    reply = [one | changed for one in reply if one["request"]["question"] == QUESTION]
                route.fulfill(json=reply if isinstance(reply, list) else reply | changed)

            tab.page.route(path, fulfill)

        change("**/view", view or {})
        if answers:
            change("**/history", {"answers": list(answers)})
        if indexing:
            change(f"**/api/videos/{boat}", {"ready": False, "job": job_of(boat)})
            tab.page.route("**/api/jobs/j/first", lambda route: route.fulfill(json=job_of(boat)))
            event = f"event: jobs\ndata: {json.dumps([job_of(boat)])}\n\n"
            stream = {"content_type": "text/event-stream", "body": event}
            tab.page.route("**/api/stream", lambda route: route.fulfill(**stream))
        tab.page.goto(f"{shared_server.url}/video/{boat}?q={quote(QUESTION)}&n=6{more}")
        assert tab.settles(lambda: tab.cards() > 0 and tab.page.locator(".answer").count() == len(answers))
        return tab

    return go


NO_MATCH = {"note": NOTHING_MATCHES}
ANSWERED = [answer_of("sift")]
EARLIER = answer_of("sift", "An earlier answer.") | {"id": "earlier"}
WARNED = {"warnings": [WARNING, f"{WARNING} Again."]}
STATES = {  # and how much of the first picture is in view
    "selection": (1, {}),
    "warnings": (1, {"view": WARNED}),
    "answer where nothing matches": (1, {"view": NO_MATCH, "answers": ANSWERED}),
    "indexing": (1, {"view": {"partial": PARTIAL}, "indexing": True}),
    "answer, warnings, nothing matches": (0.5, {"view": NO_MATCH | WARNED, "answers": ANSWERED}),
    "indexing, answers, warnings": (
        0.5,
        {"view": {"partial": PARTIAL} | WARNED, "answers": [EARLIER, *ANSWERED], "indexing": True},
    ),
    "two methods, two answers": (0.5, {"more": "&and=uniform", "answers": [*ANSWERED, answer_of("uniform")]}),
}


@pytest.mark.parametrize(("share", "state"), STATES.values(), ids=STATES.keys())
def test_first_picture_is_in_view_on_a_small_screen(show, share, state):
    tab = show(**state)

    def is_in_view():
        box = tab.page.locator(".card .shot").first.bounding_box()
        return box is not None and box["y"] + share * box["height"] <= SMALL["height"]

    assert tab.settles(is_in_view)
    assert tab.page.evaluate("scrollY") == 0


def test_first_picture_is_scrolled_into_view_on_a_phone_where_the_player_stays(shared_server, visit):
    phone = {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True}
    tab = visit(shared_server, f"/video/{shared_server.boat}", **phone)
    tab.ask("What put off the launch, as they say?")

    def is_in_view():
        box = tab.page.locator(".card .shot").first.bounding_box()
        player = tab.page.locator("#player").bounding_box()
        return box["y"] >= player["y"] + player["height"] and box["y"] + box["height"] <= 844

    assert tab.settles(lambda: tab.is_complete() and is_in_view())
    assert tab.page.inner_text("#hint").startswith("Tap to play from there")
    assert not tab.page.get_by_text("Ctrl").is_visible()
    tab.page.locator(".frames:not(.fillers *) .open").last.scroll_into_view_if_needed()
    before = tab.page.evaluate("scrollY")
    tab.page.locator(".frames:not(.fillers *) .open").last.click()
    assert tab.settles(lambda: tab.at_s() > 0)
    assert tab.page.evaluate("scrollY") == before
    assert tab.page.locator("#player").bounding_box()["y"] >= 0


def test_only_the_sample_video_suggests_its_questions(boat):
    assert "launch" not in boat.page.get_attribute("#question", "placeholder")
    assert not boat.page.locator("#examples").is_visible()


def test_long_answer_is_unfolded_and_earlier_ones_are_listed(show):
    tab = show(answers=[EARLIER, *ANSWERED])
    assert not tab.page.get_by_text("An earlier answer.").is_visible()
    tab.page.get_by_text("1 earlier answer").click()
    assert tab.page.get_by_text("An earlier answer.").is_visible()
    body = tab.page.locator("[data-answer=of-sift] .answer-body")
    before = body.bounding_box()["height"]
    tab.page.click("[data-answer=of-sift] .unfold")
    assert body.bounding_box()["height"] > 2 * before
    assert body.evaluate("one => one.scrollHeight <= one.clientHeight + 1")


def test_every_method_and_text_mode_is_explained_in_its_menu(shared_server, boat):
    boat.page.click("#more > summary")
    choices = shared_server.get("/api/choices").json()
    for method in choices["methods"]:
        text = boat.page.text_content(f"#method option[value='{method['name']}']")
        sentence = text.removeprefix(f"{method['name']} – ")
        assert sentence[0].isupper() and not sentence.lower().startswith(method["summary"].lower()), text
    for mode in choices["text_modes"]:
        assert boat.page.text_content(f"#text-mode option[value='{mode}']") != mode
    boat.page.select_option("#method", "uniform")
    boat.shows_text("#method-about", "Evenly spaced frames, whatever the question.")
    assert boat.page.locator("#more [title], #lanes [title], #legend-box [title]").count() == 0


def test_legend_explains_the_roles_in_words_and_in_sentences(show):
    tab = show()
    assert "text matches" in tab.page.text_content("#legend-roles")
    assert not tab.page.locator("#legend").is_visible()
    tab.page.click("#legend-box > summary")
    for name in set(tab.page.locator(".card .line .role").all_text_contents()):
        (role,) = (role for role, shown in ROLE_NAMES.items() if shown == name)
        assert ROLE_SENTENCES[role] in tab.page.text_content("#legend")
    tab.page.set_viewport_size({"width": 1920, "height": 1080})
    tab.page.reload()
    assert tab.settles(tab.page.locator("#legend").is_visible)


def test_settings_stay_folded_and_say_that_they_were_changed(open_boat):
    tab = open_boat("&and=uniform")
    assert tab.page.locator("#more-changed").is_visible() and not tab.page.locator("#compare").is_visible()
