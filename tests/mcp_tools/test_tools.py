"""The tools without a server: definitions, plain functions, names of several folders, and the size of replies."""

import inspect
import json

import jsonschema
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

import framesift as fs
from framesift.cli import main
from framesift.errors import InputError, OptionError
from framesift.library.files import SharedFolders
from framesift.library.session import Call
from framesift.mcp.replies import cited, data, encode_images, times
from framesift.mcp.session import AgentConfig, AgentSession, error_reply
from framesift.mcp.tools import MAX_BUDGET, TOOL_NAMES, call_tool
from helpers.running_server import make_video


def test_definitions_are_printed_in_three_formats(capsys):
    printed = {}
    for form in ("openai", "anthropic", "mcp"):
        assert main(["tools", "--format", form]) == 0
        printed[form] = json.loads(capsys.readouterr().out)
    assert [row["function"]["name"] for row in printed["openai"]] == list(TOOL_NAMES)
    for openai, anthropic, mcp in zip(*printed.values(), strict=True):
        schema = mcp["inputSchema"]
        assert openai["function"]["parameters"] == anthropic["input_schema"] == schema
        jsonschema.Draft202012Validator.check_schema(schema)
        assert len(mcp["description"]) < 400 and all(entry["description"] for entry in schema["properties"].values())


@pytest.fixture(scope="module")
def tools(folder, site, tmp_path_factory):
    """The tools as functions, with an encoder that loads no model."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(site)
        config = fs.PipelineConfig(encoder="colours", speech="none", store=tmp_path_factory.mktemp("store"))
        yield {tool.__name__: tool for tool in fs.agent_tools(folder, config=config)}


def test_functions_have_signatures_and_docstrings_without_self(tools):
    assert list(tools) == list(TOOL_NAMES)
    parameters = inspect.signature(tools["watch"]).parameters
    assert list(parameters) == ["video", "question", "budget", "from_s", "to_s", "max_side"]
    assert "Args:" in tools["watch"].__doc__ and "self" not in tools["watch"].__annotations__


def test_function_returns_blocks_of_a_chat_api_and_errors_as_text(tools):
    blocks = tools["watch"]("boat.mp4", question="What is red?", budget=2)
    assert [block["type"] for block in blocks] == ["text", "text", "image_url", "text", "image_url", "text"]
    assert blocks[2]["image_url"]["url"].startswith("data:image/jpeg;base64,")
    assert "not a video in this server's folders" in tools["look"]("nothing.mp4", [1.0])[0]["text"]
    refused = tools["watch"]("boat.mp4", question="What is red?", budget=MAX_BUDGET + 1)
    assert f"budget is {MAX_BUDGET + 1}; expected less than or equal to {MAX_BUDGET}" in refused[0]["text"]


def test_places_like_a_frame_or_an_image_are_found_in_one_video(tools, folder):
    tools["watch"]("boat.mp4", question="What is red?", budget=2)
    (like_frame,) = tools["search_library"](like_video="boat.mp4", like_s=1.0, only_video="boat.mp4", limit=1)
    Image.new("RGB", (96, 54), "red").save(folder / "red.png")
    (like_image,) = tools["search_library"](like_video="red.png", limit=1)
    assert all("boat.mp4" in found["text"] and ", in 0:" in found["text"] for found in (like_frame, like_image))
    (refused,) = tools["search_library"](like_video="/etc/passwd")
    assert "not a video in this server's folders" in refused["text"]


def test_function_returns_outputs_of_the_openai_agents_sdk(tools, folder):
    look = next(tool for tool in fs.agent_tools(folder, output="openai-agents") if tool.__name__ == "look")
    chat = tools["look"]("boat.mp4", [1.0])
    assert look("boat.mp4", [1.0]) == [
        {"type": "image", "image_url": block["image_url"]["url"]} if block["type"] == "image_url" else block
        for block in chat
    ]


def test_without_a_budget_there_are_as_many_frames_as_the_question_needs(tools):
    heading, *others = tools["watch"]("boat.mp4", question="What is red?")
    assert "Stopped at" in heading["text"] and sum(block["type"] == "image_url" for block in others) < MAX_BUDGET


def test_functions_without_images(folder):
    (listing, *_) = fs.agent_tools(folder, output="text", config=fs.PipelineConfig(speech="none", encoder="offline"))
    assert "boat.mp4" in listing(contains="boat", limit=1)
    with pytest.raises(OptionError, match="expected one of blocks, text"):
        fs.agent_tools(folder, output="html")


def test_long_index_becomes_a_job_that_the_next_call_resumes(site, tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(site)
    monkeypatch.setenv("HOLD", str(tmp_path / "hold"))
    make_video(tmp_path / "videos" / "long.mp4", 6)
    pipeline = fs.PipelineConfig(encoder="colours", speech="none", store=tmp_path / "store")
    session = AgentSession(AgentConfig((tmp_path / "videos",), pipeline))
    arguments = {"video": "long.mp4", "question": "What is red?", "budget": 2}
    (tmp_path / "hold").touch()
    first, second = (call_tool(session, "watch", arguments, Call(deadline_s=0)).text for _ in range(2))
    assert "Not ready yet" in first and first.partition("Job ")[2][:8] == second.partition("Job ")[2][:8]
    (tmp_path / "hold").unlink()
    assert "Total: 2 images" in call_tool(session, "watch", arguments, Call()).text


@pytest.fixture(scope="module")
def named(tmp_path_factory):
    """Two folders of empty files, whose names alone matter."""
    folder = tmp_path_factory.mktemp("named")
    for name in ("a/interview.mp4", "a/one/cut.mp4", "a/two/cut.mp4", "a/two/only.mp4", "b/interview.mp4"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).touch()
    return folder


def test_names_of_several_folders_are_unique(tmp_path):
    for parent in ("a", "b"):
        (tmp_path / parent / "films").mkdir(parents=True)
        (tmp_path / parent / "films" / "one.mp4").touch()
    library = SharedFolders((tmp_path / "a" / "films", tmp_path / "b" / "films"))
    names = [video.name for video in library.videos()]
    assert names == ["films/one.mp4", "films (2)/one.mp4"]
    assert [library.find(name).path.parent.parent.name for name in names] == ["a", "b"]
    assert library.find(str(tmp_path / "b" / "films" / "one.mp4")).name == names[1]


def test_file_name_that_only_one_video_has_is_enough(named):
    assert SharedFolders((named / "a",)).find("only.mp4").name == "two/only.mp4"
    assert SharedFolders((named / "a", named / "b")).find("only.mp4").name == "a/two/only.mp4"


def test_file_name_of_several_videos_is_an_error_that_lists_them(named):
    candidates = "2 videos; expected one of <data>one/cut.mp4</data>, <data>two/cut.mp4</data>"
    with pytest.raises(InputError, match=candidates):
        SharedFolders((named / "a",), mark=data).find("cut.mp4")
    with pytest.raises(InputError, match="<data>a/interview.mp4</data>, <data>b/interview.mp4</data>"):
        SharedFolders((named / "a", named / "b"), mark=data).find("interview.mp4")


def test_similar_name_is_suggested_and_an_unrelated_one_is_not(named):
    session = AgentSession(AgentConfig((named / "a",)))
    for name, ending in (
        ("intervew.mp4", "; did you mean <data>interview.mp4</data>?"),
        ("cuts.mp4", "; did you mean <data>one/cut.mp4</data> or <data>two/cut.mp4</data>?"),
        ("holiday.mp4", "; expected the name or path of one of its videos"),
    ):
        with pytest.raises(InputError) as error:
            session.folders.find(name)
        assert error_reply(error.value).text.endswith(ending)


@given(st.text())
def test_marked_text_is_one_line_with_one_mark(text):
    marked = data(text)
    assert marked.startswith("<data>") and marked.endswith("</data>")
    assert marked.count("<") == 2 and len(marked.splitlines()) == 1 and len(marked) < 430


def test_times_are_written_as_people_cite_them():
    assert times(125.48) == "2:05 (125.48 s)"
    assert [cited(time_s) for time_s in (0, 59.9996, 3599, 3600)] == ["0:00", "1:00", "59:59", "1:00:00"]


def test_images_shrink_until_they_fit():
    noise = np.random.default_rng(0).integers(0, 256, (400, 600, 3), dtype=np.uint8)
    images = encode_images([(0.0, Image.fromarray(noise))] * 3, 500, 60_000)
    assert sum(len(image.data) for image in images) <= 60_000
    assert max(images[0].width, images[0].height) < 500
