"""The offline encoder: real weights, so its classes of real images are tested too."""

from pathlib import Path

import efficientnet_lite_pytorch
import numpy as np
import pytest
import torch
from PIL import Image
from skimage import data

from framesift.encoders import efficientnet, offline
from framesift.encoders.registry import get_encoder


@pytest.fixture(scope="module")
def encoder():
    return get_encoder("offline")


@pytest.fixture(scope="module")
def photographs():
    return {"cat": data.chelsea(), "coffee": data.coffee(), "rocket": data.rocket(), "camera": data.camera()}


def test_photographs_match_their_captions(encoder, photographs):
    images = [Image.fromarray(photographs[name]) for name in ("cat", "coffee", "rocket", "camera")]
    captions = ["a cat", "a cup of coffee", "a rocket on its launch pad", "a camera on a tripod"]
    scores = encoder.encode_images(images) @ encoder.encode_texts(captions).T
    assert scores.argmax(axis=0).tolist() == scores.argmax(axis=1).tolist() == [0, 1, 2, 3]


def test_class_names_follow_the_output_order(encoder, photographs):
    logits, _ = encoder.run_network([photographs["cat"], photographs["coffee"]])
    classes = Path(offline.__file__).with_name("imagenet_classes.txt").read_text(encoding="utf-8").splitlines()
    names = [classes[k] for k in logits.argmax(axis=1)]
    assert names == ["Egyptian Mau", "espresso"]


def test_rows_are_float32_of_unit_length(encoder, images):
    for rows in (encoder.encode_images(images), encoder.encode_texts(["a cat", "a dog"])):
        assert rows.dtype == np.float32
        assert rows.shape[1] == encoder.dim
        np.testing.assert_allclose(np.linalg.norm(rows, axis=1), 1, atol=1e-6)
    assert encoder.encode_images([]).shape == encoder.encode_texts([]).shape == (0, encoder.dim)


def test_image_vector_is_independent_of_the_batch_the_kind_of_image_and_the_threads(encoder, images, monkeypatch):
    pictures = [Image.fromarray(image) for image in images[::-1]]
    alone = np.concatenate([encoder.encode_images([image]) for image in images])
    np.testing.assert_array_equal(encoder.encode_images([*images, *pictures]), np.concatenate([alone, alone[::-1]]))
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    np.testing.assert_array_equal(offline.OfflineEncoder().encode_images(images), alone)


def test_network_matches_the_original_in_torch(encoder, photographs):
    plain = efficientnet_lite_pytorch.EfficientNet.from_name(efficientnet.NAME)
    plain.load_state_dict(torch.load(offline.network_file(), weights_only=True))
    square = photographs["cat"][:300, :300]
    pixels = np.asarray(Image.fromarray(square).resize((224, 224), resample=3, reducing_gap=3.0))
    with torch.no_grad():
        x = torch.from_numpy((pixels.astype(np.float32) - 127) / 128).permute(2, 0, 1)[None]
        wanted = plain.eval()(x), plain.extract_features(x).mean((2, 3))
    for ours, theirs in zip(encoder.run_network([square]), wanted, strict=True):
        np.testing.assert_allclose(ours, theirs.numpy(), atol=1e-4)


def test_fingerprint_changes_with_a_constant(encoder, monkeypatch):
    before = encoder.fingerprint
    assert offline.OfflineEncoder().fingerprint == before
    monkeypatch.setattr(offline, "SEMANTIC_SHARE", 0.3)
    assert offline.OfflineEncoder().fingerprint != before


@pytest.mark.parametrize(
    ("size", "wanted"),
    [((224, 224), (224, 224)), ((1920, 1080), (288, 160)), ((9, 4000), (32, 1568)), ((1, 1), (224, 224))],
)
def test_input_size_keeps_the_aspect_ratio_in_tiles(size, wanted):
    assert offline.prepared_size(*size) == wanted


def test_only_the_most_likely_classes_count():
    vectors = np.eye(4)
    mean = offline.mean_class_vector(np.array([[3.0, 1.0, 2.0, 0.0]]), vectors, most=2, temperature=1.0)
    odds = np.exp([3.0, 2.0])
    np.testing.assert_allclose(mean[0], [odds[0] / odds.sum(), 0, odds[1] / odds.sum(), 0])
