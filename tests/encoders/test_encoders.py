"""The encoders by name, and texts longer than one reads."""

import re
import sys
from unittest.mock import Mock

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from framesift.encoders import base, offline, registry, siglip
from framesift.encoders.base import encode_long_texts, pick_device, split_by_tokens
from framesift.encoders.registry import choose_encoder, encoders, get_encoder, get_text_encoder, pull
from framesift.errors import FramesiftError, InputError, MissingExtra, OptionError, UnknownName
from helpers.encoders import WordCounter


def test_encoder_without_its_packages_names_the_command(monkeypatch):
    monkeypatch.setattr(siglip, "is_installed", lambda *_: False)
    monkeypatch.setattr(offline, "is_installed", lambda *_: False)
    found = encoders()
    assert (found["siglip"].available, found["siglip"].why_not) == (False, "pip install 'framesift[siglip]'")
    assert (found["offline"].available, found["offline"].why_not) == (False, "pip install 'framesift[offline]'")
    assert "pip install 'framesift[offline]'" in choose_encoder()[1]


REFUSED = [
    (lambda: get_encoder("best"), UnknownName, "siglip, siglip-base, siglip2, clip, offline"),
    (lambda: get_text_encoder("best"), UnknownName, "offline, minilm, or a folder"),
    (lambda: get_encoder("offline", device="tpu"), OptionError, "expected auto, cpu, cuda or mps"),
    (
        lambda: pick_device(torch, "cuda:99"),
        OptionError,
        "'cuda:99'; expected auto, or what PyTorch finds here: .*cpu$",
    ),
    (lambda: base.to_rgb(np.zeros((4, 4))), InputError, "expected"),
    (lambda: base.to_rgb(np.zeros((4, 4, 4), dtype=np.uint8)), InputError, "expected"),
    (lambda: base.to_rgb("image.png"), InputError, "expected"),
]


@pytest.mark.parametrize(("call", "error", "message"), REFUSED)
def test_what_can_not_be_used_is_an_error_that_lists_what_can(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_encoder_is_loaded_once_per_name_and_device(packages):
    packages.install("words-package", "[framesift.encoders]\nwords = helpers.encoders:WordCounter")
    assert get_encoder("words") is get_encoder("words")
    assert get_encoder("words") is not get_encoder("words", device="cpu")


@pytest.mark.parametrize(
    ("ready", "chosen", "reason"),
    [("siglip", "siglip", "weights are on this machine"), ("", "offline", "weaker encoder.*framesift pull siglip")],
)
def test_auto_is_siglip_if_its_weights_are_local_else_offline_with_a_remedy(monkeypatch, ready, chosen, reason):
    monkeypatch.setattr(siglip, "is_ready", lambda name: name == ready)
    monkeypatch.setattr(offline, "is_installed", lambda *_: True)
    name, why = choose_encoder()
    assert name == chosen and re.search(reason, why)


def test_absent_packages_name_the_command(monkeypatch):
    monkeypatch.setattr(registry, "_loaded", {})
    for package, name, extra in (("onnxruntime", "offline", "offline"), ("torch", "siglip", "siglip")):
        monkeypatch.setitem(sys.modules, package, None)
        with pytest.raises(MissingExtra, match=rf"pip install 'framesift\[{extra}\]'"):
            get_encoder(name)


@pytest.fixture
def hub(monkeypatch, tmp_path):
    """Downloads into a folder with a configuration; what was asked for, by repository."""
    asked = {}

    def download(repository, *, allow_patterns):
        asked[repository] = set(allow_patterns)
        return str(tmp_path)

    (tmp_path / "config.json").touch()
    monkeypatch.setattr("huggingface_hub.snapshot_download", download)
    return asked


def test_pull_downloads_chat_templates_and_no_pickles(hub, tmp_path):
    (tmp_path / "model.safetensors").touch()
    assert pull("siglip") == tmp_path
    assert hub == {"google/siglip-so400m-patch14-384": {"*.json", "*.txt", "*.model", "*.safetensors", "*.jinja"}}


@pytest.mark.parametrize(
    ("name", "problem", "message"),
    [
        ("siglip", ConnectionError("no route"), r"^the model hub can't be reached for google/siglip-so400m.*$"),
        ("somebody/clip", None, "no safetensors weights"),
        ("offline", None, r"pip install 'framesift\[offline\]'"),
    ],
)
def test_pull_of_what_can_not_be_had_is_an_error_with_a_remedy(hub, monkeypatch, name, problem, message):
    if problem:
        monkeypatch.setattr("huggingface_hub.snapshot_download", Mock(side_effect=problem))
    with pytest.raises(FramesiftError, match=message):
        pull(name)


def test_long_texts_are_averaged_over_their_pieces_in_one_batch_and_short_ones_keep_their_vectors():
    encoder = WordCounter()
    rows = encode_long_texts(encoder, ["a bb", "a a a a bb bb bb bb ccc"])
    assert encoder.calls == [["a bb", "a a a a", "bb bb bb bb", "ccc"]]
    wanted = np.zeros(12)
    wanted[1:4] = 1 / np.sqrt(3)
    np.testing.assert_allclose(rows[1], wanted, atol=1e-6)
    np.testing.assert_array_equal(rows[:1], encoder.encode_texts(["a bb"]))


@given(st.text("ab ", max_size=60), st.integers(1, 9))
def test_pieces_are_as_long_as_possible(text, limit):
    words, wanted = text.split(), []
    while words:
        fitting = max(k for k in range(len(words) + 1) if len(" ".join(words[:k])) <= limit)
        wanted.append(" ".join(words[:fitting]) or words[0][:limit])
        words = words[fitting:] if fitting else [words[0][limit:], *words[1:]]
    pieces = split_by_tokens(text, limit=limit, count=len)
    assert pieces == ([text] if len(text) <= limit else wanted)  # also with its spaces


def test_splitting_a_text_is_linear_work():
    def work(text):
        counted = 0

        def count(piece):
            nonlocal counted
            counted += len(piece)
            return (len(piece) + 3) // 4

        split_by_tokens(text, limit=64, count=count)
        return counted

    for filler in ("word ", "我"):  # many words, and one word
        assert work(filler * 16_000) < 5 * work(filler * 4_000), filler


def test_of_a_very_long_text_a_bounded_number_of_pieces_is_encoded():
    encoder = WordCounter()
    encode_long_texts(encoder, [" ".join(["a a a a"] * 200 + ["bb bb bb bb"] * 100)])
    assert len(encoder.calls[0]) == 64
    assert encoder.calls[0].count("bb bb bb bb") in (21, 22)  # a third, as in the text
