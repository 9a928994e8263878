"""A video's frames on demand: decoded as requested, and scored without an index."""

import numpy as np
import pytest

import framesift as fs
from framesift.encoders import detectors
from framesift.indexing.video_frames import VideoFrames
from framesift.types import Lookup
from framesift.types.lookup import Box
from framesift.video.frames import sample
from helpers.clips import make_clip
from helpers.encoders import GridEncoder

QUERY = np.full(GridEncoder.dim, 1 / 7)


class Detector:
    """Finds the first phrase in every image."""

    name = "anything"

    def detect(self, images, phrases):
        return [[Box(phrases[0], 0.9, 0.0, 0.0, 10.0, 10.0)] for _ in images]


@pytest.fixture(scope="module")
def clip(tmp_path_factory):
    return make_clip(tmp_path_factory.mktemp("clips") / "clip.mp4", seconds=40, fps=1)


@pytest.fixture(scope="module")
def candidates(clip):
    return [(time_s, image) for time_s, image in sample(clip, fps=1)]


def test_images_have_the_requested_order_and_size(clip, candidates):
    frames = VideoFrames(clip, [time_s for time_s, _ in candidates])
    late, early = frames.images([7, 2], size=(32, 24))
    assert late.shape == early.shape == (24, 32, 3) and late.dtype == np.uint8
    assert late.mean() == pytest.approx(candidates[7][1].mean(), abs=3)
    assert early.mean() == pytest.approx(candidates[2][1].mean(), abs=3)


def test_focus_scores_few_frames_of_a_video_without_an_index(clip, candidates):
    encoder, times = GridEncoder(), [time_s for time_s, _ in candidates]
    source = VideoFrames(clip, times, encoder=encoder, query=QUERY)
    lazy, lookup = fs.Evidence(times, 40.0), Lookup(frames=source)
    selection = fs.select_frames(lazy, budget=4, method="focus", lookup=lookup)
    assert encoder.seen == selection.trace["looked_at"] < len(times)
    every = GridEncoder().encode_images([image for _, image in candidates])
    whole = fs.Evidence(times, 40.0, every, QUERY)
    assert selection.indices == fs.select_frames(whole, budget=4, method="focus").indices


def test_scores_need_an_encoder(clip):
    with pytest.raises(fs.InputError, match="pass encoder= and query="):
        VideoFrames(clip, [0.0]).scores([0])


@pytest.mark.parametrize("detector", [Detector(), "owlv2"])
def test_indexed_video_is_searched_in_one_call_also_with_a_named_detector(clip, candidates, monkeypatch, detector):
    monkeypatch.setattr(detectors, "load", {"owlv2": Detector()}.__getitem__)
    times = [time_s for time_s, _ in candidates]
    rows = GridEncoder().encode_images([image for _, image in candidates])
    index = fs.VideoIndex(fs.VideoInfo(str(clip), 40.0), times, rows, "grid")
    asked = {"queries": QUERY[None], "budget": 4, "method": "t-star", "detector": detector}
    (selection,) = fs.select_many(index, ["Where is the red car?"], **asked)
    assert len(selection) == 4 and selection.trace["objects"] == ["red car"]
    assert selection.trace["options"]["detector"] == "anything"
