"""Frames for several questions on one index, and what is reported about them."""

import numpy as np

import framesift as fs
from framesift.selection.batch_select import select_from_vectors

QUESTIONS = [fs.Question("What is on the table?"), fs.Question("Who leaves?")]


def make_index(times_s, *, seed=0, duration_s=None, dim=8, **fields):
    rng = np.random.default_rng(seed)
    info = fs.VideoInfo("film.mp4", float(times_s[-1]) + 1 if duration_s is None else duration_s)
    return fs.VideoIndex(info, np.asarray(times_s, float), rng.normal(size=(len(times_s), dim)), "test", **fields)


def select(index, *, events=(), budget=8, method="gcr", seed=1, questions=QUESTIONS, **options):
    rng = np.random.default_rng(seed)
    return select_from_vectors(
        index,
        questions,
        queries=rng.normal(size=(len(questions), index.vectors.dim)),
        events=events,
        event_features=rng.normal(size=(len(events), index.vectors.dim)) if events else None,
        budget=budget,
        method=method,
        **options,
    )


def test_selection_has_the_warnings_of_the_index():
    index = make_index(range(20), warnings=("no frames from 0:00:05 to 0:00:09",))
    assert [s.warnings for s in select(index)] == [index.warnings] * 2


def test_text_inside_a_gap_is_reported_with_its_distance():
    index = make_index([*range(52), *range(80, 100)])
    inside, near = fs.Event(62, 65, "Run!"), fs.Event(52.5, 53, "Now.")
    for selection in select(index, events=[inside, near]):
        assert {slot.event for slot in selection.slots if slot.event} == {inside, near}
        assert selection.warnings == (
            "the text at 0:01:02–0:01:05 has no frame; it is shown on the frame at 0:00:51, 11 s away",
        )
