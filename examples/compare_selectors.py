"""Compare selectors on plain arrays: bring your own vectors, no video and no model needed.

A synthetic hour at one frame per second: 30 scenes of 120 s. The question matches scene 12 and, less well, scene 25.
"""

import numpy as np

import framesift as fs

SCENES, SCENE_S, DIM = 30, 120, 256
rng = np.random.default_rng(0)


def noise(*shape):
    """Random vectors of about unit length."""
    return rng.normal(size=(*shape, DIM)) / np.sqrt(DIM)


scenes = noise(SCENES)
query = scenes[12] + 0.6 * scenes[25] + 0.5 * noise()
frames = np.repeat(scenes, SCENE_S, axis=0) + 0.4 * noise(SCENES * SCENE_S)
events = [fs.Event(k * SCENE_S + 10.0, k * SCENE_S + 15.0, f"scene {k} begins") for k in range(SCENES)]

evidence = fs.Evidence(
    times_s=np.arange(len(frames), dtype=float),
    duration_s=float(len(frames)),
    frames=frames,
    query=query,
    events=events,
    event_features=scenes + 0.5 * noise(SCENES),
    visual_demand=0.5,
)

print(f"{'method':<8} {'scenes':>6} {'in 12':>6} {'in 25':>6} {'mean relevance':>15} {'largest gap':>12}")
for method in ("uniform", "topk", "mmr", "bin-max", "aks", "bolt", "gcr"):
    selection = fs.select_frames(evidence, budget=32, method=method)
    scene_of_frame = [int(time_s // SCENE_S) for time_s in selection.times_s]
    relevance = np.mean([slot.relevance for slot in selection.slots])
    gap_s = np.diff([0.0, *selection.times_s, evidence.duration_s]).max()
    print(
        f"{method:<8} {len(set(scene_of_frame)):>6} {scene_of_frame.count(12):>6} {scene_of_frame.count(25):>6} "
        f"{relevance:>15.3f} {gap_s:>10.0f} s"
    )
