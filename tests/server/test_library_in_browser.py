"""The library as a stranger uses it: how a video gets in and becomes ready."""

import pytest

from helpers.running_server import hold, make_film, serve, until

pytest.importorskip("torch", reason="the server runs the offline encoder: pip install 'framesift[offline]'")


def test_upload_index_ask(own, visit, tmp_path):
    film = make_film(tmp_path / "My film.mp4", said=False)
    tab = visit(own)
    assert tab.page.locator("h1").text_content() == "Drop a video, ask it a question"
    assert tab.page.locator("#videos").is_hidden()
    tab.page.set_input_files("#file", film)
    tab.page.wait_for_url("**/video/*")  # straight to the question
    tab.ask()  # before it is indexed: the frames come when it is
    assert tab.cards() == 32
    assert "No words were found" in tab.page.locator("#words").text_content()
    assert tab.complaints == []


def test_a_file_that_is_no_video_is_a_sentence(own, visit, tmp_path):
    (tmp_path / "film.mp4").write_bytes(b"no video")
    tab = visit(own)
    tab.page.set_input_files("#file", tmp_path / "film.mp4")
    problem = tab.page.locator("#uploads .problem")
    assert tab.settles(lambda: problem.count() > 0)
    assert "'film.mp4' can't be opened as a video" in problem.text_content()


def test_a_reload_during_indexing_finds_it_going_on(own, visit, tmp_path):
    go_on = hold(own)
    film = make_film(tmp_path / "film.mp4", 8, said=False)
    own.post("/api/uploads", params={"name": "film.mp4"}, content=film.read_bytes())
    tab = visit(own)
    going = tab.page.locator(".going")
    assert tab.settles(lambda: going.count() == 1 and "%" in going.text_content())
    tab.page.reload()
    assert tab.settles(lambda: going.count() == 1 and "40 %" in going.text_content())
    go_on.set()
    assert tab.settles(lambda: tab.page.locator(".ready").count() == 1)


def test_cancelling_stops_and_indexing_can_be_taken_up_again(own, visit, tmp_path):
    go_on = hold(own)
    film = make_film(tmp_path / "film.mp4", 8, said=False)
    video = own.post("/api/uploads", params={"name": "film.mp4"}, content=film.read_bytes()).json()["id"]
    tab = visit(own, f"/video/{video}")
    assert tab.settles(lambda: tab.page.locator(".going").count() == 1)
    tab.page.click(".going .link")
    again = tab.page.get_by_role("button", name="Go on indexing")
    assert tab.settles(again.is_visible)
    go_on.set()
    tab.ask()


def test_a_broken_video_says_so_on_both_pages(home, visit):
    tab = visit(home)
    card = tab.page.locator(".film.unusable", has_text="broken.mp4").first
    assert tab.settles(lambda: card.count() > 0 and "can't be opened" in card.text_content())
    broken = home.video("broken.mp4")["id"]
    tab.page.goto(f"{home.url}/video/{broken}")
    assert tab.settles(lambda: "can't be used" in tab.page.locator("#state").text_content())
    assert tab.page.locator("#ask").is_hidden()


def test_a_restart_resumes_what_was_being_indexed(tmp_path, visit):
    film = make_film(tmp_path / "films" / "film.mp4", 8, said=False)
    with serve(film.parent, tmp_path) as served:
        hold(served)
        served.post(f"/api/videos/{served.video('film.mp4')['id']}/index")
        until(lambda: served.house.queue.jobs()[0].state == "running")
    with serve(film.parent, tmp_path) as served:
        tab = visit(served)
        assert tab.settles(lambda: tab.page.locator(".ready").count() == 1)


CUES = "1\n00:00:01,000 --> 00:00:03,000\n{}\n"


def test_subtitles_chosen_with_a_video_are_its_words(own, visit, tmp_path):
    film = make_film(tmp_path / "My film.mp4", 8, said=False)
    (tmp_path / "any name.srt").write_text(CUES.format("Because of the wind."))
    tab = visit(own)
    assert tab.settles(lambda: ".srt" in tab.page.get_attribute("#file", "accept"))
    tab.page.set_input_files("#file", [film, tmp_path / "any name.srt"])
    tab.page.wait_for_url("**/video/*")
    tab.ask()
    assert "1 line of text from \u2068My film.srt" in tab.page.text_content("#words")


def test_each_of_several_videos_gets_its_own_subtitles(own, visit, tmp_path):
    names = ["ep1", "ep10", "ep2"]
    films = [make_film(tmp_path / f"{name}.mp4", 6, said=False) for name in names]
    for name in ("ep1.en", "ep10", "ep3"):
        (tmp_path / f"{name}.srt").write_text(CUES.format(f"This is {name}."))
    tab = visit(own)
    assert tab.settles(lambda: ".srt" in tab.page.get_attribute("#file", "accept"))
    tab.page.set_input_files("#file", [*films, *sorted(tmp_path.glob("*.srt"))])
    assert tab.settles(lambda: tab.page.locator(".ready").count() == 3)
    told = tab.page.locator(".ready").all_text_contents()
    assert [("ep1.en.srt" in line, "ep10.srt" in line) for line in told] == [
        (True, False),
        (False, True),
        (False, False),
    ]
    assert "ep3.srt" in tab.page.text_content("#uploads") and "No video of this name" in tab.page.text_content(
        "#uploads"
    )


def test_going_back_to_the_library_finds_it_alive(home, visit):
    tab = visit(home)
    assert tab.settles(lambda: tab.page.locator(".ready").count() == 1)
    tab.page.click(".film:has(.ready) h3 a")
    tab.page.wait_for_url("**/video/*")
    tab.page.go_back()
    assert tab.settles(lambda: tab.page.locator(".ready").count() == 1)
    silent = home.video("talks/silent.mp4")["id"]
    job = home.post(f"/api/videos/{silent}/index").json()["id"]
    try:
        card = tab.page.locator(f"[data-video='{silent}']")
        assert tab.settles(lambda: "Index it" not in card.text_content())
    finally:
        home.client.delete(f"/api/jobs/{job}")
