"""Index a folder of videos and search all of them for a text.

    python search_many_videos.py [FOLDER] [TEXT]

Without a folder, four short clips are made from photographs. `pip install 'framesift[offline,corpus]'`
"""

import sys
from pathlib import Path

import av
import numpy as np
import skimage.data
from PIL import Image

import framesift as fs


def make_clips(folder: Path) -> Path:
    """Write clips that pan over scikit-image's photographs, one of them with a subtitle file."""
    folder.mkdir(exist_ok=True)
    for name in ("chelsea", "coffee", "rocket", "astronaut"):
        path = folder / f"{name}.mp4"
        if path.exists():
            continue
        photograph = Image.fromarray(getattr(skimage.data, name)())
        with av.open(str(path), "w") as container:
            stream = container.add_stream("libx264", rate=5)
            stream.width, stream.height, stream.pix_fmt = 320, 240, "yuv420p"
            for k in range(40):
                image = photograph.resize((320, 240), box=(k, 0, photograph.width - 40 + k, photograph.height))
                container.mux(stream.encode(av.VideoFrame.from_ndarray(np.asarray(image), format="rgb24")))
            container.mux(stream.encode(None))
    (folder / "coffee.srt").write_text("1\n00:00:02,000 --> 00:00:05,000\nOne cup every morning, no sugar.\n")
    return folder


if __name__ == "__main__":  # workers are separate processes
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else make_clips(Path("clips"))
    indexed = fs.corpus.index(folder, store="clips-store", workers=1)  # an interrupted run resumes
    print(indexed.counts)
    searches = {"both": sys.argv[2]} if len(sys.argv) > 2 else {"frames": "a cat", "events": "sweetened coffee"}
    for by, text in searches.items():
        print(f"\n{text} (by {by}):")
        for hit in fs.corpus.search(text, by=by, store="clips-store", limit=3):
            spoken = f"  “{hit.event.text}”" if hit.event else ""
            print(f"  {Path(hit.video).name:<16} {hit.time_s:5.1f} s  {hit.score:.3f}{spoken}")
