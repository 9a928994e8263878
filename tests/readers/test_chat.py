"""The chat model for selectors: messages of texts and images, and replies kept in the store."""

import numpy as np
import pytest

from framesift.errors import InputError, ReaderError
from framesift.readers.chat import ChatModel, message_digest
from helpers.strict_server import StrictServer

IMAGE = np.full((36, 64, 3), 200, dtype=np.uint8)


@pytest.fixture
def server():
    with StrictServer(words="yes") as running:
        yield running


def test_texts_and_images_reach_the_server_in_order(server, tmp_path):
    assert ChatModel(server.url, tmp_path)(["first", IMAGE, "second", "third", IMAGE]) == "yes"
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
    assert [again(["1"]), again(["2"])] == ["one", "yes"]
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
