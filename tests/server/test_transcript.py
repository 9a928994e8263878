"""A video's text: over HTTP, as subtitle files, and as the page's transcript."""

from framesift.text.subtitles import read_events
from framesift.text.subtitles.timed_blocks import to_srt, to_vtt
from framesift.types import Event


def test_written_subtitles_are_read_back(tmp_path):
    events = [Event(0.5, 2, "A --> B & <i> C"), Event(3700, 3700, "Two\n\nlines"), Event(360_000, 360_001.25, "end")]
    (tmp_path / "a.vtt").write_text(to_vtt(events), encoding="utf-8")
    read = read_events(tmp_path / "a.vtt")
    assert [event.start_s for event in read] == [0.5, 3700, 360_000]
    assert [event.text for event in read] == ["A --> B & <i> C", "Two lines", "end"]
    (tmp_path / "a.srt").write_text(to_srt(events[1:]), encoding="utf-8")
    assert [(event.start_s, event.text) for event in read_events(tmp_path / "a.srt")] == [
        (3700, "Two lines"),
        (360_000, "end"),
    ]


def test_events_are_served_as_json_and_as_subtitle_files(shared_server):
    url = f"/api/videos/{shared_server.boat}/events"
    assert shared_server.get(url).json()[1]["text"] == "The wind put off the launch."
    srt = shared_server.get(url, params={"format": "srt"})
    assert srt.text.startswith("1\n00:00:02,000 --> 00:00:05,000\nThe boat is red.")
    assert srt.headers["content-disposition"].endswith("boat.srt")
    assert shared_server.get(url, params={"format": "vtt"}).headers["content-type"] == "text/vtt; charset=utf-8"
    not_read = shared_server.video("talks/silent.mp4")["id"]
    assert shared_server.get(f"/api/videos/{not_read}/events").status_code == 409


def test_transcript_is_searched_played_from_and_lit(shared_server, visit):
    tab = visit(shared_server, f"/video/{shared_server.boat}")
    tab.page.click("#transcript summary")
    lines = tab.page.locator(".transcript-line")
    assert tab.settles(lambda: lines.count() == 3 and tab.can_play())
    for typed, marked in (("WIND", "wind"), ("put off, the launch?", "put off the launch")):
        tab.page.fill("#transcript-search", typed)
        assert tab.settles(lambda marked=marked: tab.page.locator("mark").all_text_contents() == [marked])
        assert lines.count() == 1
    lines.first.click()
    assert tab.settles(lambda: tab.at_s() >= 9)
    tab.shows_text("[aria-current='true']", "The wind")
    tab.page.check("#captions")
    cues = "document.querySelector('track').track.cues?.length"
    assert tab.settles(lambda: tab.page.evaluate(cues) == 3)
    assert tab.complaints == []
