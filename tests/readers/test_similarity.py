"""The similarity reader: weak, but it runs anywhere."""

import re
from dataclasses import replace

import numpy as np
import pytest

import framesift as fs
from framesift.readers import similarity
from framesift.readers.similarity import SimilarityReader
from framesift.types import Basis
from helpers.encoders import GridEncoder


@pytest.fixture
def encoder(monkeypatch):
    encoder = GridEncoder()
    encoder.requested = []
    monkeypatch.setattr(similarity, "get_encoder", lambda name: encoder.requested.append(name) or encoder)
    return encoder


def test_most_similar_option_is_chosen(encoder, exhibit):
    question = fs.Question("Why?", ["zzz", "The launch was put off because of the wind."])
    answer = SimilarityReader().answer(exhibit, question, "aligned")
    scores = []
    frames = encoder.encode_images([image for _, image in exhibit.bare_images(exhibit.selection.times_s)])
    texts = encoder.encode_texts([" ".join(s.event.text.split()) for s in exhibit.selection.slots if s.event])
    for option in question.options:
        (query,) = encoder.encode_texts([f"Why? {option}"])
        scores.append(sum(np.sort(rows @ query)[-3:].mean() for rows in (frames, texts)))
    assert answer.choice == int(np.argmax(scores)) and answer.parsed
    given = re.fullmatch(r"A (.+), B (.+)", answer.raw).groups()
    assert [float(score) for score in given] == pytest.approx(scores, abs=1e-4)
    assert "weak" in answer.note


def test_events_do_not_count_in_modes_without_text(encoder, exhibit, question):
    reader = SimilarityReader()
    with_text, without = (reader.answer(exhibit, question, mode).raw for mode in ("aligned", "none"))
    assert with_text != without and without == reader.answer(exhibit, question, "blank").raw


def test_free_question_is_answered_with_the_nearest_frame_and_a_tie_not_at_all(encoder, exhibit):
    answer = SimilarityReader().answer(exhibit, fs.Question("What is shown?"), "aligned")
    equal = SimilarityReader().answer(exhibit, fs.Question("Which?", ["same", "same"]), "aligned")
    assert (equal.choice, equal.parsed) == (None, False)
    assert answer.parsed and answer.text.startswith("The frame nearest to the question is at [0:00:")


def test_encoder_of_the_selection_is_used(encoder, exhibit, question):
    basis = Basis(np.array([0.0]), np.array([0.0]), 20.0, encoder="siglip")
    SimilarityReader().answer(replace(exhibit, selection=replace(exhibit.selection, basis=basis)), question, "aligned")
    SimilarityReader().answer(exhibit, question, "aligned")
    assert encoder.requested == ["siglip", "auto"]
