"""The sample video: its length and words, and the light of its shots."""

import av
import numpy as np

from framesift.demo import video as sample
from framesift.demo.story import SCENES, SampleScene


def brightness(scenes, folder, monkeypatch):
    """The mean brightness of every frame of a sample video of these shots."""
    monkeypatch.setattr(sample, "SCENES", scenes)
    with av.open(str(sample.sample_video(folder))) as container:
        return np.array([frame.to_ndarray(format="gray").mean() for frame in container.decode(video=0)])


def test_it_lasts_ten_minutes_and_every_sentence_ends_within_its_shot():
    assert sum(scene.seconds for scene in SCENES) == 600
    for scene in SCENES:
        assert not scene.text or 0 <= scene.said_s[0] < scene.said_s[1] <= scene.seconds


def test_looks_differ_in_brightness(tmp_path, monkeypatch):
    scenes = tuple(SampleScene("coffee.png", 1, "", (0.0, 0.0), look) for look in ("day", "night"))
    values = brightness(scenes, tmp_path, monkeypatch)
    assert values[: sample.FPS].mean() > values[sample.FPS :].mean() + 30
