"""A made-up video as arrays: something to select from where there is no file and no model."""

import numpy as np

from framesift.records import Event, Evidence, Question
from framesift.select.demand import visual_demand
from framesift.vectors import Array

DIM = 64
SHOTS = (
    ("a street at night", 40, "The city never sleeps, they say."),
    ("a kitchen", 70, "First you warm the milk, slowly."),
    ("two people talking", 90, "I am leaving because the house was sold."),
    ("a harbour with boats", 60, "The boats go out at four."),
    ("a red lighthouse", 6, ""),
    ("two people talking", 110, "You could have told me."),
    ("a train leaving", 80, "The last train is the one she took."),
    ("an empty room", 54, ""),
)
QUESTION = Question("Why does she leave?", ("The house was sold.", "She missed the boat.", "She likes trains."))


def made_up_evidence(seed: int = 0) -> tuple[Question, Evidence]:
    """A question and eight and a half minutes of shots, drawn around one vector per subject."""
    rng = np.random.default_rng(seed)
    subject = {name: rng.standard_normal(DIM) for name in dict.fromkeys(name for name, *_ in SHOTS)}
    frames: list[Array] = []
    events: list[Event] = []
    lines: list[Array] = []
    for name, seconds, line in SHOTS:
        start = len(frames)
        frames += list(subject[name] + 0.45 * rng.standard_normal((seconds, DIM)))
        if line:
            events.append(Event(start + 5.0, start + 9.5, line))
            lines.append(subject[name] + rng.standard_normal(DIM))
    query = subject["two people talking"] + 0.6 * subject["a train leaving"] + 0.5 * rng.standard_normal(DIM)
    evidence = Evidence(
        times_s=np.arange(len(frames), dtype=np.float64),
        duration_s=float(len(frames)),
        frames=np.array(frames),
        query=query,
        events=events,
        event_features=np.array(lines),
        visual_demand=visual_demand(QUESTION.text),
    )
    return QUESTION, evidence
