"""Searching a library of made-up vectors: the exact scan beside an index of LanceDB.

    python benchmarks/search_engines.py [--rows 100000 1000000 10000000] [--dim 512] [--folder DIR]

Vectors lie around 20 centres per video, as those of shots do, and are stored as indexes are. For each size and engine:
the first search, which makes LanceDB's index; the median of nine more; the memory of a process that searches; and the
share of the exact hits that are found, ten for each of 40 texts.
"""

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from framesift.search.search import search
from framesift.store.store import IndexKey, Store, StoredCandidates

VIDEO_ROWS, SHOTS, TEXTS = 3600, 20, 40


class MadeUpTexts:
    """Text vectors near the centre of one shot of one video."""

    fingerprint, name = "ab" * 8, "made-up"

    def __init__(self, dim):
        self.dim = dim

    def encode_texts(self, texts):
        rows = []
        for text in texts:
            rng = np.random.default_rng(list(text.encode()))
            video = int(rng.integers(0, 100)) if text.startswith("shot") else -1
            centre = centres(video, self.dim)[int(rng.integers(0, SHOTS))]
            rows.append(unit(centre + 0.8 * unit(rng.normal(size=self.dim))))
        return np.stack(rows).astype(np.float32)

    def encode_images(self, images):
        raise NotImplementedError  # only texts are searched for


def unit(rows):
    return rows / np.linalg.norm(rows, axis=-1, keepdims=True)


def centres(video, dim):
    return unit(np.random.default_rng(video + 1).normal(size=(SHOTS, dim)))


def make_store(folder, rows, dim):
    store, shown = Store(folder), np.zeros(VIDEO_ROWS, bool)
    for video in range(rows // VIDEO_ROWS):
        rng = np.random.default_rng((video, 1))
        own = np.repeat(centres(video, dim), VIDEO_ROWS // SHOTS, axis=0)
        frames = unit(own + 0.7 * unit(rng.normal(size=own.shape))).astype(np.float16)
        candidates = StoredCandidates(np.arange(VIDEO_ROWS) * 1.0, frames, shown, shown, np.zeros(0))
        key = IndexKey(f"{video:032x}", "made-up", "ab" * 8, "1", "exact", "reuse")
        store.save(key, candidates, {"video": {"path": f"/videos/{video}.mp4"}})


def measure(folder, dim, engine):
    """Search in this process, and print what was found and how long it took as JSON."""
    encoder, found, seconds = MadeUpTexts(dim), [], []
    for k in range(TEXTS):
        start = time.perf_counter()
        hits = search(f"shot {k}", encoder=encoder, store=folder, by="frames", engine=engine)
        seconds.append(time.perf_counter() - start)
        found.append([f"{hit.fingerprint} {hit.time_s}" for hit in hits])
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps({"first": seconds[0], "median": float(np.median(seconds[1:10])), "mib": peak, "found": found}))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, nargs="+", default=[10**5, 10**6, 10**7])
    parser.add_argument("--dim", type=int, default=512)
    parser.add_argument("--folder", default=tempfile.gettempdir())
    parser.add_argument("--measure", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.measure:
        measure(args.folder, args.dim, args.measure)
        sys.exit()
    print("| vectors | engine | first search, s | search, s | memory, MiB | exact hits found |")
    print("|---:|---|---:|---:|---:|---:|")
    for rows in args.rows:
        with tempfile.TemporaryDirectory(dir=args.folder) as folder:
            make_store(Path(folder), rows, args.dim)
            exact = None
            for engine in ("exact", "lancedb"):
                command = [sys.executable, __file__, "--folder", folder, "--dim", str(args.dim), "--measure", engine]
                done = subprocess.run(command, stdout=subprocess.PIPE, check=True)  # noqa: S603 (our own script)
                row = json.loads(done.stdout)
                exact = exact or row["found"]
                same = sum(len(set(a) & set(b)) for a, b in zip(exact, row["found"], strict=True))
                share = same / sum(map(len, exact))
                cells = [
                    f"{rows:,}",
                    engine,
                    f"{row['first']:.1f}",
                    f"{row['median']:.3f}",
                    f"{row['mib']:.0f}",
                    f"{share:.3f}",
                ]
                print(f"| {' | '.join(cells)} |", flush=True)
