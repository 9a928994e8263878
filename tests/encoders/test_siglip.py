"""SigLIP, SigLIP 2 and CLIP: what comes out is what transformers gives, whatever goes in."""

import json
import shutil
import sys

import numpy as np
import pytest

from framesift.encoders import siglip
from framesift.encoders.base import encode_long_texts
from framesift.encoders.registry import get_encoder
from framesift.errors import FramesiftError, InputError, MissingExtra
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
    return out.text_embeds.numpy(), out.image_embeds.numpy()


def test_vectors_match_transformers(encoder, checkpoint, family, images):
    from PIL import Image

    text_rows, image_rows = directly(checkpoint, family, TEXTS, [Image.fromarray(image) for image in images])
    np.testing.assert_allclose(encoder.encode_texts(TEXTS), text_rows, atol=1e-5)
    np.testing.assert_allclose(encoder.encode_images(images), image_rows, atol=1e-5)


def test_scale_and_bias_turn_cosines_into_the_logits_of_transformers(encoder, checkpoint, family, images):
    import torch
    from PIL import Image
    from transformers import AutoModel

    text_rows, image_rows = directly(checkpoint, family, TEXTS, [Image.fromarray(image) for image in images])
    model = AutoModel.from_pretrained(checkpoint)
    with torch.no_grad():
        expected = torch.from_numpy(image_rows @ text_rows.T) * model.logit_scale.exp()
        expected = expected + model.logit_bias if family != "clip" else expected
    np.testing.assert_allclose(
        encoder.logit_scale * (image_rows @ text_rows.T) + encoder.logit_bias, expected, rtol=1e-5
    )


def test_rows_are_float32_of_unit_length(encoder, images):
    for rows in (encoder.encode_images(images), encoder.encode_texts(TEXTS)):
        assert rows.dtype == np.float32
        assert rows.shape[1] == encoder.dim
        np.testing.assert_allclose(np.linalg.norm(rows, axis=1), 1, atol=1e-6)


def test_image_vector_is_independent_of_the_batch(encoder, images):
    alone = np.concatenate([encoder.encode_images([image]) for image in images])
    np.testing.assert_allclose(encoder.encode_images(images), alone, atol=1e-5)


def test_several_batches_keep_the_order(encoder, images, monkeypatch):
    whole = encoder.encode_images(images)
    monkeypatch.setattr(encoder, "batch_size", 2)
    np.testing.assert_allclose(encoder.encode_images(images), whole, atol=1e-5)


def test_array_and_image_give_the_same_vector(encoder, images):
    from PIL import Image

    images = [Image.fromarray(image) for image in images]
    np.testing.assert_array_equal(encoder.encode_images(images), encoder.encode_images(images))


def test_grey_image_is_converted_to_rgb(encoder, images):
    from PIL import Image

    grey = Image.fromarray(images[0]).convert("L")
    np.testing.assert_array_equal(encoder.encode_images([grey]), encoder.encode_images([grey.convert("RGB")]))


def test_empty_input_gives_empty_output(encoder):
    assert encoder.encode_images([]).shape == encoder.encode_texts([]).shape == (0, encoder.dim)


def test_siglip_texts_are_lower_cased(encoder, family):
    if family == "clip":
        pytest.skip("CLIP's tokenizer lowers the case itself")
    np.testing.assert_array_equal(encoder.encode_texts(["A CAT"]), encoder.encode_texts(["a cat"]))


def test_pieces_are_within_the_limit_and_keep_every_word(encoder):
    text = "the cat sits on a mat near the tree " * 30
    pieces = encoder.split_text(text)
    assert len(pieces) > 1
    assert " ".join(pieces).split() == text.split()
    assert max(encoder._count_tokens(piece) for piece in pieces) <= encoder.text_limit


def test_short_text_is_one_unchanged_piece(encoder):
    assert encoder.split_text("The  cat, on a mat ") == ["The  cat, on a mat "]


def test_long_text_is_the_mean_of_its_pieces(encoder):
    long = "the cat sits on a mat near the tree " * 30
    pieces = encoder.encode_texts(encoder.split_text(long))
    rows = encode_long_texts(encoder, ["a cat", long])
    np.testing.assert_allclose(rows[1], pieces.mean(0) / np.linalg.norm(pieces.mean(0)), atol=1e-6)
    np.testing.assert_allclose(rows[0], encoder.encode_texts(["a cat"])[0], atol=1e-6)


def test_truncate_encodes_the_beginning_only(encoder):
    long = "the cat sits on a mat near the tree " * 30
    changed = long + "what is red"
    rows = encode_long_texts(encoder, [long, changed], long_text="truncate")
    np.testing.assert_allclose(rows[0], rows[1], atol=1e-6)


def test_image_side_is_that_of_the_processor(encoder):
    assert encoder.picture_side == 32


def test_fingerprint_changes_with_the_weights_alone(encoder, checkpoint, tmp_path):
    other = tmp_path / "other"
    shutil.copytree(checkpoint, other)
    weights = bytearray((other / "model.safetensors").read_bytes())
    weights[-1] ^= 1
    (other / "model.safetensors").write_bytes(weights)
    same = tmp_path / "same"
    shutil.copytree(checkpoint, same)
    assert siglip.DualEncoder("same", same).fingerprint == encoder.fingerprint
    assert siglip.DualEncoder("other", other).fingerprint != encoder.fingerprint


def test_fingerprint_changes_with_the_preprocessing(encoder, checkpoint, tmp_path):
    other = tmp_path / "other"
    shutil.copytree(checkpoint, other)
    settings = other / "preprocessor_config.json"
    settings.write_text(json.dumps(json.loads(settings.read_text()) | {"image_mean": [0.1, 0.2, 0.3]}))
    assert siglip.DualEncoder("other", other).fingerprint != encoder.fingerprint


def test_pickled_weights_are_refused(checkpoint, tmp_path):
    folder = tmp_path / "pickled"
    shutil.copytree(checkpoint, folder)
    (folder / "model.safetensors").rename(folder / "pytorch_model.bin")
    with pytest.raises(InputError, match="safetensors"):
        get_encoder(str(folder))


def test_another_kind_of_model_is_refused(checkpoint, tmp_path):
    folder = tmp_path / "bert"
    shutil.copytree(checkpoint, folder)
    (folder / "config.json").write_text('{"model_type": "bert"}')
    with pytest.raises(InputError, match="'bert'; expected one of siglip"):
        get_encoder(str(folder))


def test_incomplete_download_is_not_used(tmp_path):
    (tmp_path / "config.json").write_text("{}")
    index = {"weight_map": {"a": "model-1.safetensors", "b": "model-2.safetensors"}}
    (tmp_path / "model.safetensors.index.json").write_text(json.dumps(index))
    (tmp_path / "model-1.safetensors").touch()
    assert not siglip.has_weights(tmp_path)
    (tmp_path / "model-2.safetensors").touch()
    assert siglip.has_weights(tmp_path)


def test_folder_variable_makes_siglip_ready(checkpoint, monkeypatch):
    monkeypatch.setenv(siglip.FOLDER_VARIABLE, str(checkpoint))
    assert siglip.describe("siglip").available
    assert siglip.load("siglip", device="cpu").name == "siglip"


def test_absent_weights_name_the_command(monkeypatch):
    pytest.importorskip("huggingface_hub", reason="huggingface_hub comes with framesift[siglip]")
    monkeypatch.setattr("huggingface_hub.try_to_load_from_cache", lambda *_: None)
    monkeypatch.delenv(siglip.FOLDER_VARIABLE, raising=False)
    assert siglip.describe("siglip-base").why_not == "framesift pull siglip-base"
    with pytest.raises(FramesiftError, match="framesift pull siglip-base"):
        siglip.load("siglip-base", device="cpu")


def test_absent_packages_name_the_command(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(MissingExtra, match=r"pip install 'framesift\[siglip\]'"):
        siglip.load("siglip", device="cpu")


def test_batches_grow_with_free_memory(monkeypatch):
    class Vision:
        patch_size, intermediate_size, hidden_size, num_attention_heads = 14, 4304, 1152, 16

    sizes = []
    for free in (2**20, 2**28, 2**40):
        monkeypatch.setattr(siglip, "free_memory", lambda free=free: free)
        sizes.append(siglip._batch_size(None, "cpu", Vision, 384))
    assert sizes[0] == 1
    assert sizes == sorted(sizes) and sizes[-1] > 1
