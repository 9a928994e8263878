"""Put a fixed number of frames per video into a column of a Daft data frame.

    python daft_frames.py [FOLDER] [QUESTION]

Without a folder, the clips of search_many_videos.py are used. `pip install 'framesift[offline]' daft`
"""

import sys
from pathlib import Path

import daft
from search_many_videos import make_clips

import framesift as fs

BUDGET = 4
FRAME = daft.DataType.struct({"time_s": daft.DataType.float64(), "image": daft.DataType.image("RGB")})


@daft.func(return_dtype=daft.DataType.list(FRAME))
def select_frames(path: str, question: str) -> list[dict]:
    """The selected frames of a video with their times."""
    found = fs.open(path, encoder="offline", speech="none").select(question, budget=BUDGET)
    return [{"time_s": frame.time_s, "image": frame.image} for frame in found]


if __name__ == "__main__":
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else make_clips(Path("clips"))
    question = sys.argv[2] if len(sys.argv) > 2 else "Where is the cat?"
    paths = [str(path.resolve()) for path in sorted(folder.glob("*.mp4"))]
    videos = daft.from_pydict({"path": paths, "question": [question] * len(paths)})
    videos = videos.with_column("frames", select_frames(videos["path"], videos["question"]))
    for row in videos.to_pylist():
        print(Path(row["path"]).name, [(frame["time_s"], frame["image"].shape) for frame in row["frames"]])
