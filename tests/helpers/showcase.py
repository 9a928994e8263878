"""A short clip and selections on it, for the tests of exhibits."""

import numpy as np

import framesift as fs
from framesift.video.frames import sample
from helpers.clips import make_clip

SECONDS = 40
QUESTION = fs.Question("Why does the colour change?", ("It is tired", "It is bored"))
EVENTS = [
    fs.Event(2.0, 4.0, "First it is calm."),
    fs.Event(10.0, 12.0, "Потом всё меняется."),
    fs.Event(11.0, 13.5, "Then it changes."),
    fs.Event(30.0, 33.0, "It ends <b>loudly</b> & soon."),
]


def make_video(folder, name="clip.mp4", size=(96, 64)):
    return make_clip(folder / name, seconds=SECONDS, size=size)


def make_index(video, seed=0):
    """An index with synthetic vectors at the real times of the video."""
    times = [time_s for time_s, _ in sample(video, 1.0)]
    rng = np.random.default_rng(seed)
    drift = np.cumsum(rng.normal(size=(len(times), 16)) * 0.4, axis=0) + rng.normal(size=16)
    info = fs.VideoInfo(str(video), float(SECONDS), 96, 64, 5.0, "mpeg4")
    return fs.VideoIndex(info, np.array(times), drift, "synthetic")


def make_selection(video, *, budget=8, method="gcr", events=EVENTS, seed=0, **options):
    rng = np.random.default_rng(seed + 1)
    return fs.select_many(
        make_index(video, seed),
        [QUESTION],
        queries=rng.normal(size=(1, 16)),
        events=events,
        event_features=rng.normal(size=(len(events), 16)) if events else None,
        budget=budget,
        method=method,
        **options,
    )[0]
