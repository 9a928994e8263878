"""Write a selector of your own: a function of the evidence and the budget.

Keyword-only parameters are its options. Pass it as `method`. To make it available by name in every command, declare it
in the pyproject.toml of your package and install the package:

    [project.entry-points."framesift.selectors"]
    spaced-topk = "my_package:spaced_topk"

    framesift select video.mp4 "…" --method spaced-topk --set gap_s=20
"""

from pathlib import Path

import numpy as np

import framesift as fs
from framesift.demo.video import QUESTION, sample_video
from framesift.rendering.exhibit import events_for


def spaced_topk(evidence: fs.Evidence, budget: int, *, gap_s: float = 10.0) -> fs.Selection:
    """Most relevant frames at least `gap_s` seconds apart."""
    order = np.argsort(-evidence.relevance, kind="stable")  # ties go to the earlier frame
    chosen: list[int] = []
    for candidate in order:
        time_s = evidence.times_s[candidate]
        if all(abs(time_s - evidence.times_s[other]) >= gap_s for other in chosen):
            chosen.append(int(candidate))
    chosen += [int(candidate) for candidate in order if candidate not in chosen]  # when the gap leaves too few
    slots = [
        fs.Slot(index, float(evidence.times_s[index]), "visual", float(evidence.relevance[index]))
        for index in chosen[:budget]
    ]
    return fs.Selection(tuple(slots), "spaced-topk", budget, {"gap_s": gap_s, "looked_at": len(evidence)})


video = sample_video(Path("demo"))
index = fs.index(video)
events = fs.find_events(video)

selection = fs.select(index, QUESTION, events=events, budget=8, method=spaced_topk, gap_s=20)
exhibit = fs.exhibit(video, events_for(selection, events))
print(exhibit)
print("Saved to", exhibit.save("spaced-topk", force=True))
