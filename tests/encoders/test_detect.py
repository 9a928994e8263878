"""Detectors: boxes of a tiny OWLv2 checkpoint, made from a config and read back from a folder."""

import json

import numpy as np
import pytest

import framesift as fs
from framesift.cli import main
from framesift.encoders import detectors as detect
from framesift.errors import FramesiftError, InputError
from helpers.clips import make_clip
from helpers.encoders import GridEncoder
from helpers.strict_server import StrictServer
from helpers.tiny_checkpoints import TOWER, image_processor, save_clip_tokenizer

PHRASES = ["a cat", "the red house", "dog"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    import torch
    from transformers import Owlv2Config, Owlv2ForObjectDetection

    torch.manual_seed(0)
    path = tmp_path_factory.mktemp("owlv2")
    words = save_clip_tokenizer(path, pad_token="!") | {"max_position_embeddings": 16, "pad_token_id": 0}  # noqa: S106
    looks = TOWER | {"image_size": 64, "patch_size": 16}
    config = Owlv2Config(text_config=words, vision_config=looks, projection_dim=32)
    Owlv2ForObjectDetection(config).save_pretrained(path)
    image_processor("Owlv2ImageProcessor")(size={"height": 64, "width": 64}).save_pretrained(path)
    return path


@pytest.fixture(scope="module")
def detector(folder):
    return detect.load(str(folder), threshold=0.0)


def test_boxes_are_inside_the_image_and_have_a_phrase(detector, images):
    for image, boxes in zip(images, detector.detect(images, PHRASES), strict=True):
        assert boxes and {box.phrase for box in boxes} <= set(PHRASES)
        height, width, _ = image.shape
        assert all(0 <= b.left <= b.right <= width and 0 <= b.top <= b.bottom <= height for b in boxes)
        assert [b.score for b in boxes] == sorted((b.score for b in boxes), reverse=True)


def test_boxes_match_transformers(detector, folder, images):
    import torch
    import transformers
    from PIL import Image

    image = Image.fromarray(images[0])
    processor = image_processor("Owlv2ImageProcessor").from_pretrained(folder)
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    model = transformers.Owlv2ForObjectDetection.from_pretrained(folder).eval()
    looks = processor(images=[image], return_tensors="pt")
    words = tokenizer(PHRASES, padding="max_length", max_length=16, return_tensors="pt")
    with torch.no_grad():
        out = model(input_ids=words["input_ids"], attention_mask=words["attention_mask"], **looks)
    size = [(image.height, image.width)]
    expected = processor.post_process_object_detection(out, threshold=-1.0, target_sizes=size)[0]
    boxes = detector.detect([image], PHRASES)[0]
    limits = np.array([image.width, image.height] * 2)
    theirs = sorted(np.clip(box, 0, limits).round(2).tolist() for box in expected["boxes"].numpy())
    np.testing.assert_allclose(sorted(np.round(box[2:], 2).tolist() for box in boxes), theirs, atol=0.02)
    best = np.sort(expected["scores"].numpy())[::-1]
    np.testing.assert_allclose([box.score for box in boxes], best, atol=1e-5)


def test_boxes_below_the_threshold_are_dropped(detector, folder, images):
    everything = detector.detect(images[:1], PHRASES)[0]
    middle = float(np.median([box.score for box in everything]))
    some = detect.load(str(folder), threshold=middle).detect(images[:1], PHRASES)[0]
    assert some == [box for box in everything if box.score >= middle]
    assert detector.detect(images, []) == [[] for _ in images] and detector.detect([], PHRASES) == []


def test_absent_weights_name_the_command_and_another_kind_of_model_is_refused(monkeypatch, tmp_path):
    monkeypatch.setattr("huggingface_hub.try_to_load_from_cache", lambda *_: None)
    with pytest.raises(FramesiftError, match="framesift pull google/owlv2-base-patch16-ensemble"):
        detect.load("owlv2")
    with pytest.raises(InputError, match="has no config.json"):
        detect.load(str(tmp_path))
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "bert"}))
    (tmp_path / "model.safetensors").touch()
    with pytest.raises(InputError, match="'bert'; expected one of owlv2"):
        detect.load(str(tmp_path))


def test_search_runs_from_the_command_line(folder, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("FRAMESIFT_STORE", str(tmp_path / "store"))
    clip = make_clip(tmp_path / "clip.mp4", seconds=6, fps=1)
    words = ["-q", "Where is the red house?", "--budget", "4", "--json", "--no-exhibit", "--encoder", "offline"]
    assert main(["select", str(clip), *words, "--method", "t-star", "--set", f"detector={folder}"]) == 0
    output = json.loads(capsys.readouterr().out)
    assert len(output["slots"]) == 4 and output["trace"]["objects"] == ["red house"]


def test_reader_can_name_the_objects(tmp_path, monkeypatch):
    seen = []

    class Eye:
        name = "eye"

        def detect(self, images, phrases):
            seen.append(list(phrases))
            return [[] for _ in images]

    clip = make_clip(tmp_path / "clip.mp4", seconds=6, fps=1)
    index = fs.index(clip, encoder=GridEncoder(), store=tmp_path / "store")
    with StrictServer(words='{"targets": ["blue door"], "cues": []}') as server:
        fs.select(index, "Where?", encoder=GridEncoder(), budget=4, method="t-star", detector=Eye(), namer=server.url)
    assert seen[0] == ["blue door"]
