"""Candidates that show the same as the last encoded one take its vector."""

import numpy as np
import pytest

from framesift.indexing import index as indexing
from framesift.indexing.index import index
from helpers.clips import two_colours, write_frames
from helpers.encoders import GridEncoder


@pytest.fixture(scope="module")
def clip(tmp_path_factory):
    """Twelve frames at 1 FPS: four pictures, each shown three times."""
    colours = np.random.default_rng(0).integers(0, 256, (4, 2, 3), dtype=np.uint8)
    frames = [two_colours(colours[k // 3], 0) for k in range(12)]
    return write_frames(tmp_path_factory.mktemp("still") / "still.mp4", frames, fps=1, codec="libx264", qp="0")


def test_only_changed_frames_are_encoded_and_the_rest_have_their_vectors(clip, tmp_path):
    every, changed = GridEncoder(), GridEncoder()
    every.batch_size = changed.batch_size = 2
    full = index(clip, every, 1.0, store=tmp_path / "a", unchanged_frames="encode")
    short = index(clip, changed, 1.0, store=tmp_path / "b")
    assert (every.seen, changed.seen) == (12, 4)
    assert short.times_s.tolist() == full.times_s.tolist()
    assert (np.sum(short.frames * full.frames, axis=1) > 0.9999).all()


def test_every_part_begins_with_an_encoded_candidate(clip, tmp_path, monkeypatch):
    monkeypatch.setattr(indexing, "PART_SIZE", 2)
    encoder = GridEncoder()
    index(clip, encoder, 1.0, store=tmp_path)
    assert encoder.seen == 8  # candidates 0, 2, 4 … and where the picture changes within a part: 3 and 9


def test_an_index_with_every_vector_serves_as_one_that_reuses_them_but_not_the_reverse(clip, tmp_path):
    for first, second, images in (("encode", "reuse", 12), ("reuse", "encode", 16)):
        encoder = GridEncoder()
        for unchanged_frames in (first, second):
            index(clip, encoder, 1.0, store=tmp_path / first, unchanged_frames=unchanged_frames)
        assert encoder.seen == images
