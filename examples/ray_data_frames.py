"""Put a fixed number of frames per video into a column of a Ray Data data set.

    python ray_data_frames.py [FOLDER] [QUESTION]

Without a folder, the clips of search_many_videos.py are used. `pip install 'framesift[ray]'`
"""

import sys
from pathlib import Path

import numpy as np
import ray
from search_many_videos import make_clips

import framesift as fs

BUDGET, SIZE = 4, (320, 240)


def add_frames(row: dict) -> dict:
    """Add the selected frames (BUDGET, height, width, 3) and their times (BUDGET,) to a row."""
    video = fs.open(row["path"], encoder="offline", speech="none")
    found = video.select(row["question"], budget=BUDGET)
    images = [np.asarray(frame.image.resize(SIZE)) for frame in found]
    times_s = [frame.time_s for frame in found]
    missing = BUDGET - len(images)  # of a video with fewer frames
    images += [np.zeros_like(images[0])] * missing
    return row | {"frames": np.stack(images), "times_s": np.array(times_s + [np.nan] * missing)}


if __name__ == "__main__":
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else make_clips(Path("clips"))
    question = sys.argv[2] if len(sys.argv) > 2 else "Where is the cat?"
    videos = [{"path": str(path.resolve()), "question": question} for path in sorted(folder.glob("*.mp4"))]
    ray.init(log_to_driver=False)
    for row in ray.data.from_items(videos).map(add_frames).take_all():
        print(Path(row["path"]).name, row["frames"].shape, row["times_s"].round(2).tolist())
