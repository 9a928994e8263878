"""Selectors that ask a model behind an OpenAI-type server: the chat model, and from a video file to the frames."""

import numpy as np
import pytest

import framesift as fs
from framesift.cli import main
from framesift.errors import InputError, ReaderError
from framesift.readers.chat import ChatModel, message_digest
from helpers.clips import make_clip
from helpers.encoders import GridEncoder
from helpers.strict_server import StrictServer

METHODS = ("videoagent", "videotree", "memorycard")
QUESTION = fs.Question("Why does the colour change?", ["It is tired", "It is bored"])


@pytest.fixture(scope="module")
def video(tmp_path_factory):
    return make_clip(tmp_path_factory.mktemp("video") / "clip.mp4", seconds=40, size=(96, 64))


@pytest.fixture
def server():
    with StrictServer(words="A blue wall.") as running:
        yield running


def opened(video, store, method, address, **options):
    settings = {"encoder": GridEncoder(), "store": store, "speech": "none", "method": method, "budget": 12}
    return fs.open(video, **settings, model=address, **options)


def descriptions(server):
    """The requests with one frame to describe."""
    return [k for k in range(len(server.requests)) if server.texts(k)[0].startswith("Describe this frame")]


@pytest.mark.parametrize("method", METHODS)
def test_without_useful_replies_the_budget_is_filled_and_a_frame_described_once(server, video, tmp_path, method):
    made = opened(video, tmp_path, method, server.url)
    selection = made.select(QUESTION)
    assert len(selection) == 12 and selection.trace["options"]["model"].endswith("#reader-7b")
    assert {picture.size for k in range(len(server.requests)) for picture in server.pictures(k)} == {(448, 299)}
    asked = len(server.requests)
    assert asked == 1 or method != "memorycard"
    made.select("Who enters?")
    assert not any(server.pictures(k) for k in range(asked, len(server.requests)))
    assert made.select(QUESTION).selection == selection.selection


def test_calls_are_reported_as_progress(server, video, tmp_path):
    made = opened(video, tmp_path, "videoagent", server.url)
    reports = []
    made.select(QUESTION, progress=lambda *report: reports.append(report))
    assert reports[0] == ("model calls", 1, 64)
    assert [done for _, done, _ in reports] == list(range(1, len(reports) + 1))


def test_captioner_and_model_may_be_two_servers(server, video, tmp_path):
    with StrictServer(models=("captions-1b",), words="A green wall.") as captioner:
        made = opened(video, tmp_path, "videotree", server.url, captioner=captioner.url)
        selection = made.select(QUESTION)
        assert len(descriptions(captioner)) == len(captioner.requests) and not descriptions(server)
    assert "A green wall." in server.texts()[0]
    assert selection.trace["options"]["captioner"].endswith("#captions-1b")


def test_library_counts_replies_by_model(server, video, tmp_path, capsys):
    made = opened(video, tmp_path, "memorycard", server.url)
    made.select(QUESTION)
    assert main(["library", "--store", str(tmp_path)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line for line in lines if "reader-7b" in line] == [f"{server.url[:-3]}#reader-7b: 1 reply to selectors"]


IMAGE = np.full((36, 64, 3), 200, dtype=np.uint8)


def test_texts_and_images_reach_the_server_in_order(server, tmp_path):
    assert ChatModel(server.url, tmp_path)(["first", IMAGE, "second", "third", IMAGE]) == "A blue wall."
    assert [part["type"] for part in server.parts()] == ["text", "image_url", "text", "image_url"]
    assert server.texts() == ["first", "second\nthird"]
    assert [picture.size for picture in server.pictures()] == [(64, 36)] * 2


def test_an_interrupted_run_asks_only_what_is_left(server, tmp_path):
    model = ChatModel(server.url, tmp_path)
    server.reply("one")
    server.refuse(400, "out of memory")
    assert model(["1"]) == "one"
    with pytest.raises(ReaderError):
        model(["2"])
    again = ChatModel(server.url, tmp_path)
    assert [again(["1"]), again(["2"])] == ["one", "A blue wall."]
    assert len(server.requests) == 3


def test_replies_of_two_models_are_kept_apart(tmp_path):
    with StrictServer(models=("a", "b")) as server:
        for name in "aba":
            ChatModel(f"{server.url}#{name}", tmp_path)(["x"])
        assert [request["model"] for request in server.requests] == ["a", "b"]


def test_digest_depends_on_order_borders_and_shape():
    messages = [["a", "b"], ["ab"], ["b", "a"], ["a", IMAGE], [IMAGE, "a"], [IMAGE.reshape(64, 36, 3), "a"]]
    messages += [["\ud800"], ["\ud801"]]  # replies of a model need not be Unicode
    assert len({message_digest(parts) for parts in messages}) == len(messages)


def test_an_invalid_address_is_quoted(tmp_path):
    for address in ("nonsense", "http://host"):
        with pytest.raises(InputError, match=f"model is '{address}'; expected an address like"):
            ChatModel(address, tmp_path)
