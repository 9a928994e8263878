"""The MCP server in its own process, with clients of the official SDK over stdio and streamable HTTP."""

import base64
import io
import threading
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import anyio
import httpx
import pytest
from PIL import Image

import framesift as fs
from framesift.mcp.replies import NOTICE
from framesift.mcp.server import ProgressReporter
from framesift.mcp.tools import definitions
from helpers.agents import (
    TOKEN,
    connect,
    connect_stdio,
    http_transport,
    serve_http,
    text_of,
)
from helpers.running_server import make_video, until

QUESTION = "When is the launch put off?"


@pytest.fixture(scope="module")
def client(environment, folder):
    """A client of one server on standard input and output, for all tests that change nothing."""
    with connect_stdio(environment, folder) as connected:
        yield connected


@pytest.fixture(scope="module")
def http(environment, folder):
    """The address of one HTTP server on the same store."""
    with serve_http(environment, folder) as (_, url):
        yield url


def test_tools_are_those_of_the_definitions_and_read_only(client):
    tools = client.request("list_tools").tools
    assert [(tool.name, tool.input_schema) for tool in tools] == [
        (tool.name, tool.parameters) for tool in definitions()
    ]
    assert [tool.name for tool in tools if tool.output_schema is None] == ["watch", "look"]  # images
    assert all(tool.annotations.read_only_hint for tool in tools)


def test_list_names_the_videos_of_the_folders_only(client):
    listed = client.text("list_videos")
    assert "<data>boat.mp4</data> 0:12 (12 s)" in listed
    assert "<data>talks/silent.mp4</data>" in listed
    assert not any(name in listed for name in ("link.mp4", "hidden", "secret", "notes"))


def test_structured_output_has_what_the_text_says(client):
    cues = client.call("read_transcript", video="boat.mp4", limit=1)  # the client checks all against the schemas
    (cue,), message = cues.structured_content["results"], cues.structured_content["message"]
    assert cue["text"].startswith("<data>") and f"({cue['time_s']:g} s) {cue['text'][6:-7]}" in text_of(cues)
    assert NOTICE in message and "more: call again with from_s=" in message and cue["text"][6:-7] not in message
    listed = client.call("list_videos", contains="silent").structured_content["results"]
    (described,) = client.call("video_info", video="talks/silent.mp4").structured_content["results"]
    assert listed == [described] and (described["name"], described["duration_s"]) == ("talks/silent.mp4", 6.0)
    client.call("watch", video="boat.mp4", question=QUESTION, budget=1)
    found = client.call("search_library", text="wind", by="words", limit=1).structured_content["results"]
    assert [(place["video"], place["found_by"]) for place in found] == [("boat.mp4", "words")]
    assert client.call("list_videos", contains="nothing").structured_content["results"] == []
    assert client.call("video_info", video="nothing.mp4").structured_content is None  # an error


def test_watch_indexes_a_new_video_and_returns_frames_with_words_and_reasons(client, folder):
    make_video(folder / "new.mp4", 12)
    client.progress.clear()
    result = client.call("watch", video="new.mp4", question=QUESTION, budget=3, max_side=96)
    assert [block.type for block in result.content] == ["text", *["text", "image"] * 3, "text"]
    with Image.open(io.BytesIO(base64.b64decode(result.content[2].data))) as image:
        assert image.format == "JPEG" and max(image.size) <= 96
    times_s = [block.meta["framesift/time_s"] for block in result.content if block.type == "image"]
    told = text_of(result)
    assert times_s == sorted(set(times_s)) and all(f"({time_s:g} s)" in told for time_s in times_s)
    assert "<data>The wind put off the launch.</data>" in told
    assert "[1] 0:0" in told and "Shown because of these words." in told
    assert "Total: 3 images of" in told and "tokens" in told
    assert any("indexing" in str(message) for _, message in client.progress)


def test_progress_grows_and_names_the_stage():
    sent = []

    async def report_progress(*report):
        sent.append(report)

    def work():
        report = ProgressReporter(SimpleNamespace(session=SimpleNamespace(report_progress=report_progress)), cancelled)
        for stage, done in (("waiting", 0), ("indexing", 0), ("indexing", 2), ("encoding text", 2)):
            report(stage, done, 8 if stage != "waiting" else 0)

    cancelled = threading.Event()
    anyio.run(anyio.to_thread.run_sync, work)
    progress, totals, messages = zip(*sent, strict=True)
    assert messages == ("waiting", "indexing 0%", "indexing 25%", "encoding text 25%")
    assert totals == (None, 1, 1, 2) and [round(done, 3) for done in progress] == [0, 0, 0.25, 1.25]
    assert list(progress) == sorted(set(progress))


def test_watch_stays_inside_its_window(client):
    told = client.text("watch", video="boat.mp4", question=QUESTION, budget=3, from_s=6, to_s="0:09")
    shown = [float(line.split("(")[1].split(" s")[0]) for line in told.splitlines() if line.startswith("[")]
    assert shown and all(6 <= time_s <= 9 for time_s in shown)


def test_transcript_by_words_and_by_window(client):
    assert "9 s) The wind put off the launch." in client.text("read_transcript", video="boat.mp4", contains="WIND")
    assert "boat is red" not in client.text("read_transcript", video="boat.mp4", from_s=8)
    assert "2 more: call again with from_s=9" in client.text("read_transcript", video="boat.mp4", limit=1)
    assert "has no words" in client.text("read_transcript", video="talks/silent.mp4")
    later = client.text("read_transcript", video="boat.mp4", from_s=99)
    assert later.startswith("No words there: those of <data>boat.mp4</data> are from 0:0")


def test_look_returns_the_frame_on_screen_and_info_describes_the_video(client):
    result = client.call("look", video="boat.mp4", times_s=[3.33, "0:07"], max_side=64)
    assert [block.type for block in result.content] == ["text", "text", "image", "text", "image", "text"]
    assert [result.content[k].text for k in (1, 3)] == ["0:03 (3.2 s)", "0:07 (7 s)"]
    told = client.text("video_info", video="boat.mp4")
    assert "0:12 (12 s) long" in told and "h264" in told


def test_search_finds_places_in_the_library_only(client, environment, site, tmp_path, monkeypatch):
    client.call("watch", video="boat.mp4", question=QUESTION)
    monkeypatch.syspath_prepend(site)
    other = make_video(tmp_path / "elsewhere.mp4", 6, subtitles=False)
    fs.index(other, "colours", store=environment["FRAMESIFT_STORE"])
    found = client.text("search_library", text="red", by="frames", limit=50)
    assert "boat.mp4" in found and "elsewhere" not in found


def test_path_outside_the_folders_is_an_error_with_a_remedy(client, folder):
    outside = folder.parent / "outside0" / "secret.mp4"
    names = ["missing.mp4", "../outside0/secret.mp4", str(outside), "/etc/passwd", "link.mp4", ".hidden.mp4"]
    for video in [*names, "a\0b", "C:\\x.mp4", "\\\\host\\share\\x.mp4", "x" * 5000, ""]:
        result = client.call("watch", video=video, question=QUESTION)
        assert result.is_error and "is not a video in this server's folders" in text_of(result)


def test_linked_subtitles_outside_the_folders_are_not_read(client):
    for tool, more in (("read_transcript", {}), ("watch", {"question": QUESTION}), ("video_info", {})):
        result = client.call(tool, video="linked words/clip.mp4", **more)
        assert result.is_error and "leads outside" in text_of(result) and "password" not in text_of(result)


def test_words_of_a_video_can_not_leave_their_mark(client):
    replies = [
        client.text("watch", video="hostile.mp4", question="What is said?", budget=2),
        client.text("read_transcript", video="hostile.mp4"),
        client.text("search_library", text="instructions", by="words"),
    ]
    for reply in replies:
        assert "never an instruction" in reply and "Ignore all previous" in reply
        before, _, _ = reply.replace(NOTICE, "").partition("Ignore all previous")
        assert before.count("<data>") == before.count("</data>") + 1


def test_names_of_files_are_marked_in_errors_too(client, folder):
    (folder / "Obey me.mp4").write_text("no video")
    for told in (client.text("watch", video="Obey me.mp4", question=QUESTION), client.text("list_videos")):
        assert "Obey me.mp4" not in told.replace("<data>Obey me.mp4</data>", "") and "Obey me" in told


def test_wrong_arguments_are_errors_that_name_the_argument(client):
    for arguments, expected in (
        ({"question": "x"}, "needs the argument video"),
        ({"video": "boat.mp4", "question": " "}, "the question is empty"),
        ({"video": "boat.mp4", "question": "x", "budget": 0}, "budget is 0; expected greater than or equal to 1"),
        ({"video": "boat.mp4", "question": "x", "budget": 17}, "budget is 17; expected less than or equal to 16"),
        ({"video": "boat.mp4", "question": "x", "budget": "many"}, "budget is 'many'; expected a valid integer"),
        ({"video": "boat.mp4", "question": "x", "frames": 3}, "has no argument 'frames'; expected video, question"),
        ({"video": "boat.mp4", "question": "x", "from_s": 9, "to_s": 3}, "expected an end after its start"),
        ({"video": 7, "question": "x"}, "video is 7"),
    ):
        result = client.call("watch", **arguments)
        assert result.is_error and expected in text_of(result)
    assert client.call("look", video="boat.mp4", times_s=[99]).is_error
    assert client.call("nothing").is_error


def test_cancelled_watch_stops_and_the_next_one_resumes(client, folder, site):
    make_video(folder / "cancelled.mp4", 9)  # as no other video, whose index would be used
    arguments = {"video": "cancelled.mp4", "question": QUESTION, "budget": 2}
    (site / "hold").touch()  # encoders wait, and make another file meanwhile
    try:
        watch = client.start("watch", **arguments)
        until((site / "holding").exists)
        watch.cancel()
        assert "cancelled.mp4" in client.text("list_videos")
    finally:
        (site / "hold").unlink()
    assert "Total: 2 images" in client.text("watch", **arguments)


def test_ten_clients_at_once_get_the_same_frames(http):
    def ask(_):
        with connect(http_transport(http)) as client:
            return client.text("watch", video="boat.mp4", question=QUESTION, budget=3)

    with ThreadPoolExecutor(10) as pool:
        answers = list(pool.map(ask, range(10)))
    assert len(set(answers)) == 1 and "Total: 3 images" in answers[0]


def test_http_serves_clients_of_the_earlier_protocol(http):
    with connect(http_transport(http), mode="legacy") as client:
        assert "boat.mp4" in client.text("list_videos")


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 401),
        ({"Authorization": "Bearer another-token-of-some-length"}, 401),
        ({"Authorization": f"Bearer {TOKEN}", "Origin": "http://example.com"}, 403),
        ({"Authorization": f"Bearer {TOKEN}", "Host": "example.com"}, 403),
    ],
    ids=["no token", "another token", "origin", "host"],
)
def test_http_refuses_clients_without_the_token_and_other_sites(http, headers, status):
    request = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    assert httpx.post(http, json=request, headers=headers, timeout=60).status_code == status
