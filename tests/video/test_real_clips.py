"""Clips from other projects' test suites that break decoders, if they are present."""

import json
from fractions import Fraction

import av
import numpy as np
import pytest

from framesift.video.colour import FrameConverter
from framesift.video.frames import frame_numbers, probe, sample
from helpers.clips import grid
from helpers.sample_data import SAMPLE_DATA

CLIPS = sorted(path for path in (SAMPLE_DATA / "clips").glob("*") if path.suffix in {".mp4", ".mkv"})
CLIPS = CLIPS or [SAMPLE_DATA]  # for the number of tests that are left out
pytestmark = pytest.mark.sample_data


@pytest.mark.parametrize("fps", [1.0, 5.0])
@pytest.mark.parametrize("path", CLIPS, ids=lambda path: path.name)
def test_frames_and_times_match_a_full_decode(path, fps):
    run = sample(path, fps)
    assert probe(path) == run.info
    with av.open(str(path)) as container:
        stream = container.streams.best("video")
        converter = FrameConverter(stream.sample_aspect_ratio)
        frames = [(frame.pts * stream.time_base, converter.convert(frame)) for frame in container.decode(stream)]
    expected = grid([time for time, _ in frames], Fraction(run.info.duration_s).limit_denominator(10**6), Fraction(fps))
    got = list(run)
    assert [time for time, _ in got] == pytest.approx([float(frames[n][0]) for n in expected], abs=1e-9)
    assert all(np.array_equal(image, frames[n][1]) for (_, image), n in zip(got, expected, strict=True))


def test_every_frame_is_at_its_published_time():
    path = SAMPLE_DATA / "clips" / "nasa_13013.mp4"
    published = json.loads((path.parent / f"{path.name}.stream3.all_frames_info.json").read_text())
    times = [float(frame["pts_time"]) for frame in published]
    assert frame_numbers(path, times) == list(range(len(times)))
    assert [time for time, _ in sample(path, 30000 / 1001)] == pytest.approx(times, abs=1e-6)


def test_embedded_subtitles_are_listed():
    tracks = probe(SAMPLE_DATA / "clips" / "nasa_13013.mp4").subtitle_tracks
    assert [(track.index, track.language, track.is_text) for track in tracks] == [(2, "eng", True), (5, "eng", True)]
