"""The vLLM plug-in without vLLM; `make test-vllm` runs it in vLLM's own files."""

import sys
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest

import framesift as fs
from framesift.vllm_loader import VideoLoader, register
from helpers.clips import make_clip


@pytest.fixture(scope="module")
def clip(tmp_path_factory):
    return make_clip(tmp_path_factory.mktemp("vllm") / "clip.mp4")


@pytest.fixture(autouse=True)
def store(monkeypatch, tmp_path):
    monkeypatch.setenv("FRAMESIFT_STORE", str(tmp_path))


def test_frames_of_a_question_are_those_selected_with_their_exact_times(clip):
    frames, metadata = VideoLoader.load_bytes(clip.read_bytes(), num_frames=4, question="A red field?", fps=2)
    found = fs.select(clip, "A red field?", budget=4, device="cpu", overlay="none")
    assert [index / metadata["fps"] for index in metadata["frames_indices"]] == list(found.times_s)
    np.testing.assert_array_equal(frames, np.stack([np.asarray(image) for image in found.images()]))
    assert metadata["do_sample_frames"] is False


def test_without_a_question_no_other_frames_represent_the_video_better(clip):
    _, metadata = VideoLoader.load_bytes(clip.read_bytes(), num_frames=1)
    index = fs.index(clip)
    similarity = np.maximum(index.frames @ index.frames.T, 0).mean(axis=0)
    assert metadata["frames_indices"] == [round(1000 * index.times_s[similarity.argmax()])]


def test_message_about_a_bad_video_does_not_name_the_temporary_file():
    with pytest.raises(ValueError, match="^'the video' can't be opened as a video"):
        VideoLoader.load_bytes(b"not a video" * 99)


@pytest.mark.parametrize(("variable", "kept"), [("framesift", {}), ("opencv", {"Qwen3VLVideoProcessor": "qwen3_vl"})])
def test_variable_comes_before_the_loaders_of_models(monkeypatch, variable, kept):
    loaders, own = {}, {"Qwen3VLVideoProcessor": "qwen3_vl"}
    registry = SimpleNamespace(processor2backend=own, register=lambda name: lambda kind: loaders.update({name: kind}))
    for name in ("vllm", "vllm.envs", "vllm.multimodal", "vllm.multimodal.video"):
        monkeypatch.setitem(sys.modules, name, ModuleType(name))
    sys.modules["vllm.envs"].VLLM_VIDEO_LOADER_BACKEND = variable
    sys.modules["vllm.multimodal.video"].VIDEO_LOADER_REGISTRY = registry
    register()
    assert loaders == {"framesift": VideoLoader} and own == kept
