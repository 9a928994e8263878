"""The sample video: its length and words, cuts, fades and title cards."""

import av
import numpy as np
import pytest

from framesift.demo import video as sample
from framesift.demo.story import SCENES, TITLE_CARD, SampleScene

pytest.importorskip("skimage", reason="the photographs come with scikit-image: pip install 'framesift[offline]'")


def brightness(scenes, folder, monkeypatch):
    """The mean brightness of every frame of a sample video of these shots."""
    monkeypatch.setattr(sample, "SCENES", scenes)
    with av.open(str(sample.sample_video(folder))) as container:
        return np.array([frame.to_ndarray(format="gray").mean() for frame in container.decode(video=0)])


def test_it_lasts_ten_minutes_and_every_sentence_ends_within_its_shot():
    assert sum(scene.seconds for scene in SCENES) == 600
    for scene in SCENES:
        assert not scene.text or 0 <= scene.said_s[0] < scene.said_s[1] <= scene.seconds


def test_a_cut_changes_the_picture_at_once_and_a_fade_over_several_frames(tmp_path, monkeypatch):
    card = SampleScene(TITLE_CARD, 1, "Title")
    for fades, steps in ((False, 1), (True, sample.FADE_FRAMES + 1)):
        scenes = (card, SampleScene("coffee.png", 2, fades=fades))
        values = brightness(scenes, tmp_path / str(fades), monkeypatch)
        assert len(values) == 3 * sample.FPS
        between = values[sample.FPS - 1 : sample.FPS + steps]
        assert (np.diff(between) > 2).all()
        assert abs(values[sample.FPS + steps] - values[sample.FPS + steps - 1]) < 2


def test_looks_differ_in_brightness(tmp_path, monkeypatch):
    scenes = (SampleScene("coffee.png", 1), SampleScene("coffee.png", 1, look="night"))
    values = brightness(scenes, tmp_path, monkeypatch)
    assert values[: sample.FPS].mean() > values[sample.FPS :].mean() + 30


def test_the_silhouette_moves_through_the_picture(tmp_path, monkeypatch):
    scenes = (SampleScene("grass.png", 2, crossed_by="horse.png"),)
    values = brightness(scenes, tmp_path, monkeypatch)
    assert values[10] < values[0] - 2
