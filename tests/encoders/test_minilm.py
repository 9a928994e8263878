"""The sentence encoder written out: the same vectors as the library it came from."""

import math

import numpy as np
import pytest

from framesift.encoders import minilm
from framesift.encoders.registry import get_text_encoder
from framesift.errors import UnknownName

TEXTS = ["a cat", "Why does Tom leave the house so early?", "", "Où est l'éléphant? 象はどこ", "word " * 400]


@pytest.fixture(scope="module")
def sentences():
    for module in ("tokenizers", "safetensors", "threadpoolctl", minilm.PACKAGE):
        pytest.importorskip(module, reason=f"{module} comes with framesift[offline]")
    return minilm.SentenceEncoder()


def test_vectors_match_transformers(sentences):
    transformers = pytest.importorskip("transformers", reason="transformers comes with framesift[siglip]")
    import torch

    tokenizer = transformers.AutoTokenizer.from_pretrained(minilm.folder())
    tokens = tokenizer(TEXTS, padding=True, truncation=True, max_length=minilm.LIMIT, return_tensors="pt")
    with torch.no_grad():
        states = transformers.AutoModel.from_pretrained(minilm.folder()).eval()(**tokens).last_hidden_state
    mask = tokens["attention_mask"][..., None]
    means = ((states * mask).sum(1) / mask.sum(1)).numpy()
    wanted = means / np.linalg.norm(means, axis=1, keepdims=True)
    np.testing.assert_allclose(sentences.encode_texts(TEXTS), wanted, atol=1e-5)


def test_activation_matches_the_error_function():
    values = np.linspace(-9, 9, 20001, dtype=np.float32)
    wanted = [x * (1 + math.erf(x / math.sqrt(2))) / 2 for x in values.tolist()]
    np.testing.assert_allclose(minilm._gelu(values), wanted, atol=1e-6)


def test_number_of_blas_threads_is_restored(sentences):
    def threads():
        return [library["num_threads"] for library in sentences._blas.info()]

    before = threads()
    sentences.encode_texts(TEXTS)
    assert threads() == before


def test_no_text_gives_no_rows(sentences):
    assert sentences.encode_texts([]).shape == (0, minilm.DIM)


def test_text_vector_is_independent_of_the_batch(sentences):
    alone = np.concatenate([sentences.encode_texts([text]) for text in TEXTS])
    np.testing.assert_allclose(sentences.encode_texts(TEXTS), alone, atol=1e-5)


def test_pieces_are_within_the_limit_and_keep_every_word(sentences):
    text = "the cat sits on a mat near the old tree " * 60
    pieces = sentences.split_text(text)
    assert " ".join(pieces).split() == text.split()
    assert max(len(sentences._tokenizer.encode(piece).ids) for piece in pieces) <= minilm.LIMIT


def test_unknown_text_encoder_lists_minilm():
    with pytest.raises(UnknownName, match="or minilm for text alone"):
        get_text_encoder("nope")
