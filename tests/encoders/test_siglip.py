"""SigLIP, SigLIP 2 and CLIP: what comes out is what transformers gives, whatever goes in."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from framesift.encoders import registry, siglip
from framesift.encoders.registry import get_encoder
from framesift.errors import FramesiftError, InputError
from helpers.tiny_checkpoints import image_processor

TEXTS = ["a cat on the mat", "the woman walks near the red house", "who?"]
STEMS = {"siglip": "SiglipImageProcessor", "siglip2": "Siglip2ImageProcessor", "clip": "CLIPImageProcessor"}


@pytest.fixture(scope="module")
def encoder(checkpoint):
    return get_encoder(str(checkpoint), device="cpu")


def directly(checkpoint, family, texts, images):
    """Both towers' unit vectors from transformers' own forward call."""
    import torch
    from transformers import AutoModel, AutoTokenizer

    padding = {"padding": True} if family == "clip" else {"padding": "max_length", "max_length": 64}
    inputs = dict(AutoTokenizer.from_pretrained(checkpoint)(texts, return_tensors="pt", **padding))
    inputs |= image_processor(STEMS[family]).from_pretrained(checkpoint)(images=images, return_tensors="pt")
    with torch.no_grad():
        out = AutoModel.from_pretrained(checkpoint).eval()(**inputs)
    return out.text_embeds.numpy(), out.image_embeds.numpy(), out.logits_per_image.numpy()


def test_vectors_and_their_scale_match_transformers(encoder, checkpoint, family, images):
    from PIL import Image

    text_rows, image_rows, logits = directly(checkpoint, family, TEXTS, [Image.fromarray(image) for image in images])
    np.testing.assert_allclose(encoder.encode_texts(TEXTS), text_rows, atol=1e-5)
    rows = encoder.encode_images(images)
    np.testing.assert_allclose(rows, image_rows, atol=1e-5)
    assert rows.dtype == np.float32 and rows.shape[1] == encoder.dim
    assert encoder.encode_images([]).shape == encoder.encode_texts([]).shape == (0, encoder.dim)
    np.testing.assert_array_equal(encoder.encode_texts(["A CAT"]), encoder.encode_texts(["a cat"]))
    np.testing.assert_allclose(encoder.logit_scale * image_rows @ text_rows.T + encoder.logit_bias, logits, atol=1e-4)


def test_the_layers_get_the_vectors_of_patches_in_rows(encoder, images):
    seen = []
    network = encoder._model.vision_model
    with network.encoder.layers[0].register_forward_pre_hook(lambda _, inputs: seen.append(inputs[0].is_contiguous())):
        encoder.encode_images(images)
    assert seen and all(seen)


def test_image_vector_is_independent_of_the_batch_and_the_kind_of_image(encoder, images, monkeypatch):
    from PIL import Image

    pictures = [Image.fromarray(image) for image in images]
    np.testing.assert_array_equal(encoder.encode_images(pictures), encoder.encode_images(images))
    grey = pictures[0].convert("L")
    np.testing.assert_array_equal(encoder.encode_images([grey]), encoder.encode_images([grey.convert("RGB")]))
    alone = np.concatenate([encoder.encode_images([image]) for image in images])
    np.testing.assert_allclose(encoder.encode_images(images), alone, atol=1e-5)
    monkeypatch.setattr(encoder, "batch_size", 2)
    np.testing.assert_allclose(encoder.encode_images(images), alone, atol=1e-5)


def test_pieces_are_within_the_limit_and_keep_every_word(encoder):
    text = "the cat sits on a mat near the tree " * 30
    pieces = encoder.split_text(text)
    assert len(pieces) > 1
    assert " ".join(pieces).split() == text.split()
    assert max(encoder.count_tokens(piece) for piece in pieces) <= encoder.text_limit


def change_weights(folder):
    weights = bytearray((folder / "model.safetensors").read_bytes())
    weights[-1] ^= 1
    (folder / "model.safetensors").write_bytes(weights)


def change_preprocessing(folder):
    file = folder / "preprocessor_config.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | {"image_mean": [0.1, 0.2, 0.3]}))


def test_fingerprint_changes_with_the_weights_and_the_preprocessing_alone(encoder, checkpoint, tmp_path):
    prints = []
    for change in (lambda folder: None, change_weights, change_preprocessing):
        folder = Path(shutil.copytree(checkpoint, tmp_path / str(len(prints))))
        change(folder)
        prints.append(siglip.DualEncoder("copy", folder, device="cpu").fingerprint)
    assert prints[0] == encoder.fingerprint and len(set(prints)) == 3


def test_folder_is_named_by_its_absolute_path(encoder, checkpoint, monkeypatch):
    monkeypatch.chdir(checkpoint.parent)
    assert registry.identify(checkpoint.name)[0] == encoder.name == str(checkpoint)


@pytest.mark.parametrize(
    ("weights", "kind", "message"),
    [("pytorch_model.bin", "clip", "safetensors"), ("model.safetensors", "bert", "'bert'; expected one of siglip")],
)
def test_pickled_weights_and_another_kind_of_model_are_refused(tmp_path, weights, kind, message):
    (tmp_path / "config.json").write_text(json.dumps({"model_type": kind}))
    (tmp_path / weights).touch()
    with pytest.raises(InputError, match=message):
        get_encoder(str(tmp_path))


def test_incomplete_download_is_not_used(tmp_path):
    (tmp_path / "config.json").write_text("{}")
    index = {"weight_map": {"a": "model-1.safetensors", "b": "model-2.safetensors"}}
    (tmp_path / "model.safetensors.index.json").write_text(json.dumps(index))
    (tmp_path / "model-1.safetensors").touch()
    assert not siglip.has_weights(tmp_path)
    (tmp_path / "model-2.safetensors").touch()
    assert siglip.has_weights(tmp_path)


def test_absent_weights_name_the_command(monkeypatch):
    monkeypatch.setattr("huggingface_hub.try_to_load_from_cache", lambda *_: None)
    assert siglip.describe("siglip-base").why_not == "framesift pull siglip-base"
    with pytest.raises(FramesiftError, match="framesift pull siglip-base"):
        siglip.load("siglip-base", device="cpu")


def test_batches_grow_with_free_memory(monkeypatch):
    class Vision:
        patch_size, intermediate_size, hidden_size, num_attention_heads = 14, 4304, 1152, 16

    sizes = []
    for free in (2**20, 2**28, 2**40):
        monkeypatch.setattr(siglip, "free_memory", lambda free=free: free)
        sizes.append(siglip.fitting_batch(None, "cpu", Vision, 384))
    assert sizes[0] == 1
    assert sizes == sorted(sizes) and sizes[-1] > 1
