"""Decoding on a GPU, with the CPU in its place: what is handed over, and what happens when it can't decode a video."""

import logging

import numpy as np
import pytest
import torch

import framesift as fs
from framesift.cli.doctor import examine
from framesift.errors import OptionError
from framesift.indexing import index as indexing
from framesift.video import cuda, parallel
from framesift.video.colour import FrameConverter
from framesift.video.container import open_video
from framesift.video.frames import sample
from helpers.clips import Clip
from helpers.encoders import GridEncoder

X264 = {"crf": "20", "preset": "veryfast", "bf": "2", "g": "12"}


class CpuInPlaceOfGpu:
    """A decoder like CudaDecoder's, whose images are in the CPU's memory; it fails from the n-th frame on."""

    batch_size = 3

    def __init__(self, fails_at=10**9):
        self.left = fails_at

    def open(self, path, workers):
        return open_video(path, threads=1)

    def count_workers(self, video, segments):
        return 1

    def converter(self, video, short_side):
        self.whole = FrameConverter(video.stream.sample_aspect_ratio, short_side)
        return self

    def convert_batch(self, frames):
        self.left -= len(frames)
        if self.left < 0:
            raise cuda.UnsuitedVideo("the GPU does not decode this codec, profile or size")
        return cuda.describe_images(torch.stack([torch.from_numpy(self.whole.convert(frame)) for frame in frames]))


class TensorEncoder(GridEncoder):
    """Takes tensors, as encoders on a GPU do."""

    image_device = "cuda"

    def encode_images(self, images):
        self.kinds = {type(image) for image in images}
        return super().encode_images([np.asarray(image) for image in images])


@pytest.fixture(scope="module")
def clip(tmp_path_factory):
    return Clip(options=X264).write(tmp_path_factory.mktemp("cuda") / "clip.mp4")


@pytest.fixture(autouse=True)
def small_segments(monkeypatch):
    monkeypatch.setattr(parallel, "SEGMENT_FRAMES", 2)


def arrays(frames):
    return [
        (time_s, (i.pixels.cpu().numpy() if isinstance(i, cuda.CudaImage) else i).tobytes()) for time_s, i in frames
    ]


def test_a_video_the_gpu_can_not_decode_is_decoded_on_the_cpu_with_one_log_line(clip, caplog):
    expected = arrays(sample(clip, 5.0))
    for fails_at in (0, 3):
        caplog.clear()
        with caplog.at_level(logging.INFO, "framesift.video.parallel"):
            assert arrays(sample(clip, 5.0, gpu=CpuInPlaceOfGpu(fails_at))) == expected
        (line,) = caplog.messages
        assert "decoding on the CPU from" in line and "does not decode this codec" in line


def test_a_video_the_gpu_decodes_leaves_its_images_there(clip):
    for mode in ("exact", "keyframes"):
        frames = list(sample(clip, 5.0, mode, gpu=CpuInPlaceOfGpu()))
        assert {type(image) for _, image in frames} == {cuda.CudaImage}
        assert arrays(frames) == arrays(sample(clip, 5.0, mode))


def test_indexes_are_the_same_for_encoders_with_and_without_tensors(clip, tmp_path, monkeypatch):
    monkeypatch.setattr(indexing, "why_not_cuda", lambda _: "")
    monkeypatch.setattr(indexing, "CudaDecoder", lambda _: CpuInPlaceOfGpu())
    expected = fs.index(clip, GridEncoder(), 5.0, store=tmp_path / "cpu", decode="cpu")
    encoder = TensorEncoder()
    indexes = [
        fs.index(clip, encoder, 5.0, store=tmp_path / "auto"),
        fs.index(clip, GridEncoder(), 5.0, store=tmp_path / "cuda", decode="cuda"),
    ]
    assert encoder.kinds == {torch.Tensor}
    for index in indexes:
        np.testing.assert_array_equal(index.times_s, expected.times_s)
        np.testing.assert_array_equal(index.frames, expected.frames)
        np.testing.assert_array_equal(index.is_blank, expected.is_blank)


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_without_a_gpu_auto_decodes_on_the_cpu_and_cuda_is_an_error(clip, tmp_path):
    index = fs.index(clip, GridEncoder(), 5.0, store=tmp_path)
    assert len(index)
    with pytest.raises(OptionError, match=r"decode is cuda, but PyTorch finds no NVIDIA GPU; expected auto or cpu"):
        fs.index(clip, GridEncoder(), 2.0, store=tmp_path, decode="cuda")


def test_doctor_says_that_the_gpu_decodes(tmp_path, monkeypatch):
    monkeypatch.setattr(cuda, "why_not_cuda", lambda: "")
    assert any(line.startswith("decoder:") and "and the GPU (NVDEC)" in line for line in examine(tmp_path)["lines"])
