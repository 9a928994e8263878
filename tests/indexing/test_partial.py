"""What can be asked about before an index is finished."""

import numpy as np

from framesift.indexing.partial import overview, partial_index
from framesift.store.store import StoredCandidates
from framesift.types import VideoInfo
from helpers.clips import two_colours, write_frames
from helpers.encoders import GridEncoder


def candidates(times_s):
    count = len(times_s)
    flags = np.zeros(count, dtype=bool)
    return StoredCandidates(np.array(times_s, dtype=float), np.eye(count, 8, dtype=np.float16), flags, flags, flags[:0])


def test_overview_grows_over_the_whole_video(tmp_path):
    colours = np.random.default_rng(0).integers(0, 256, (30, 2, 3), dtype=np.uint8)
    frames = (two_colours(colours[k // 5], k) for k in range(150))
    clip = write_frames(tmp_path / "clip.mp4", frames, fps=5, g="5")
    shares = []
    grown = list(overview(str(clip), GridEncoder(), lambda _stage, done, total: total and shares.append(done / total)))
    assert shares == sorted(shares) and shares[-1] == 1
    assert len(grown) > 1 and [len(one) for one in grown] == sorted(len(one) for one in grown)
    assert grown[0].times_s[0] == 0 and grown[0].times_s[-1] > 15
    assert (np.diff(grown[-1].times_s) > 0).all()


def test_keyframes_are_used_after_the_last_part_only():
    info = VideoInfo("video.mp4", 100.0)
    index = partial_index([candidates([0, 1, 2])], candidates([0.5, 1.5, 40, 80]), info, "test")
    assert index.times_s.tolist() == [0, 1, 2, 40, 80]
    assert partial_index([], None, info, "test") is None
