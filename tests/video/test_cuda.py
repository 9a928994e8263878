"""Decoding on a GPU, with the CPU in its place: what is handed over, and what happens when it can't decode a video."""

import logging
import shutil
import threading
from pathlib import Path

import numpy as np
import pytest
import torch

import framesift as fs
from framesift.cli.doctor import examine
from framesift.errors import OptionError
from framesift.indexing import index as indexing
from framesift.video import cuda, parallel, timeline
from framesift.video.colour import FrameConverter
from framesift.video.container import open_video
from framesift.video.frames import sample
from helpers.clips import Clip, spoil_packets
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
    monkeypatch.setattr(timeline, "FIRST_PACKETS", 30)


@pytest.fixture
def scanned_anew():
    timeline._timeline_of.cache_clear()


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


def test_the_first_frames_are_decoded_while_the_packets_are_scanned(clip, monkeypatch, scanned_anew):
    has_image = threading.Event()
    read_packets = timeline.read_packets

    def waiting(container, stream):
        for number, packet in enumerate(read_packets(container, stream)):
            yield packet
            assert number != 60 or has_image.wait(30)

    monkeypatch.setattr(timeline, "read_packets", waiting)
    with sample(clip, 5.0, gpu=CpuInPlaceOfGpu()) as run:
        frames = [next(run)]
        has_image.set()
        frames += run
    assert arrays(frames) == arrays(sample(clip, 5.0))


def test_frames_decoded_while_scanning_stay_on_the_gpu_and_are_those_of_a_finished_scan(clip, scanned_anew):
    for fps, mode in ((5.0, "exact"), (25.0, "exact"), ("auto", "exact"), (5.0, "fast"), (5.0, "keyframes")):
        timeline._timeline_of.cache_clear()
        with sample(clip, fps, mode, gpu=CpuInPlaceOfGpu()) as growing:
            frames = list(growing)
        assert {type(image) for _, image in frames} == {cuda.CudaImage}
        with sample(clip, fps, mode) as whole:
            assert arrays(frames) == arrays(whole)
        assert (growing.fps, growing.expected, growing.info) == (whole.fps, whole.expected, whole.info)


def test_a_file_damaged_after_its_first_packets_is_indexed_as_on_the_cpu(clip, tmp_path, monkeypatch, scanned_anew):
    monkeypatch.setattr(indexing, "why_not_cuda", lambda _: "")
    monkeypatch.setattr(indexing, "CudaDecoder", lambda _: CpuInPlaceOfGpu())
    damaged = Path(shutil.copy(clip, tmp_path / "damaged.mp4"))
    spoil_packets(damaged, range(70, 80), b"\0")
    gpu, cpu = (fs.index(damaged, GridEncoder(), 5.0, store=tmp_path / how, decode=how) for how in ("cuda", "cpu"))
    np.testing.assert_array_equal(gpu.times_s, cpu.times_s)
    np.testing.assert_array_equal(gpu.frames, cpu.frames)
    assert gpu.warnings == cpu.warnings and gpu.warnings


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_without_a_gpu_auto_decodes_on_the_cpu_and_cuda_is_an_error(clip, tmp_path):
    index = fs.index(clip, GridEncoder(), 5.0, store=tmp_path)
    assert len(index)
    with pytest.raises(OptionError, match=r"decode is cuda, but PyTorch finds no NVIDIA GPU; expected auto or cpu"):
        fs.index(clip, GridEncoder(), 2.0, store=tmp_path, decode="cuda")


def test_doctor_says_that_the_gpu_decodes(tmp_path, monkeypatch):
    monkeypatch.setattr(cuda, "why_not_cuda", lambda: "")
    assert any(line.startswith("decoder:") and "and the GPU (NVDEC)" in line for line in examine(tmp_path)["lines"])
