"""Many videos: how fast they are indexed, how fast finished ones are skipped, how fast a store is searched.

    python benchmarks/corpus.py [rate] [resume] [search] [--videos 8] [--seconds 40] [--entries 100000]
                                [--hours 1000] [--dim 768] [--json FILE]

rate: generated 360p clips with the offline encoder: `index` in a loop, then the local pool and Ray, each with one and
with two workers. Every run starts with an empty store; Ray's cluster is started before the clock. The startup time,
until the first video begins, is reported separately.
resume: a store of finished entries; the time of the whole call.
search: a store of `--hours` videos of one hour, with a random unit vector per second in a narrow cone. The first search
verifies the indexes; later ones are reported as median and maximum, with the indexes in the page cache. The time is
that of the whole call without loading the encoder; memory is the process's highest, the making of the store included.
"""

import argparse
import json
import resource
import shutil
import statistics
import tempfile
import time
from pathlib import Path

import av
import numpy as np

import framesift as fs
from framesift._utils.requirements import is_installed
from framesift.batch.journal import Journal, file_stamp
from framesift.indexing.index import IndexSettings
from framesift.search.search import search
from framesift.store.store import IndexKey, Store, StoredCandidates

FPS = 10
PARTS = ("rate", "resume", "search")


def make_clip(path, seconds, seed):
    """Write a clip of a panned texture that changes every five seconds."""
    rng = np.random.default_rng(seed)
    with av.open(str(path), "w") as container:
        stream = container.add_stream("libx264", rate=FPS, options={"preset": "veryfast"})
        stream.width, stream.height, stream.pix_fmt = 640, 360, "yuv420p"
        for k in range(seconds * FPS):
            if k % (5 * FPS) == 0:
                coarse = av.VideoFrame.from_ndarray(rng.integers(0, 255, (24, 48, 3), dtype=np.uint8), "rgb24")
                back = coarse.reformat(1280, 720, interpolation="BICUBIC").to_ndarray()
            x, y = 6 * k % 640, 3 * k % 360
            frame = av.VideoFrame.from_ndarray(np.ascontiguousarray(back[y : y + 360, x : x + 640]), "rgb24")
            container.mux(stream.encode(frame))
        container.mux(stream.encode(None))


def rate(folder, args):
    videos = folder / "videos"
    videos.mkdir()
    for k in range(args.videos):
        make_clip(videos / f"{k}.mp4", args.seconds, k)
    fs.index(videos / "0.mp4", "offline", store=folder / "warm")  # loads the weights into the page cache
    engines = [("local", 1), ("local", 2)]
    if is_installed("ray"):
        import ray

        ray.init(log_to_driver=False, logging_level="ERROR")
        engines += [("ray", 1), ("ray", 2)]
    rows = []
    began = time.perf_counter()
    for path in sorted(videos.iterdir()):
        fs.index(path, "offline", store=folder / "loop")
    rows.append(rate_row("index in a loop", 1, args, time.perf_counter() - began, 0.0))
    for engine, workers in engines:
        ends = []
        began = time.perf_counter()
        store = folder / f"{engine}{workers}"

        def record_end(event, ends=ends):
            if event.is_end:
                ends.append((time.perf_counter(), event.seconds))

        run = fs.corpus.index(videos, engine=engine, workers=workers, encoder="offline", store=store, watch=record_end)
        assert run.counts["indexed"] == args.videos, run.failed
        spent = time.perf_counter() - began
        rows.append(rate_row(engine, workers, args, spent, ends[0][0] - began - ends[0][1]))
        assert bytes_of(store) == bytes_of(folder / "loop"), "the indexes differ"
    return rows


def rate_row(engine, workers, args, spent, start_s):
    steady = args.videos / (spent - start_s)
    hours = args.videos * args.seconds / 3600
    return {
        "engine": engine,
        "workers": workers,
        "seconds": round(spent, 1),
        "until the first began, s": round(start_s, 1),
        "videos per minute": round(60 * args.videos / spent, 1),
        "after the start": round(60 * steady, 1),
        "video hours per hour": round(hours / (spent - start_s) * 3600, 1),
    }


def bytes_of(store):
    return {path.relative_to(store).parts: path.read_bytes() for path in store.rglob("index.safetensors")}


def resume(folder, args):
    store, videos = folder / "store", folder / "many"
    videos.mkdir()
    settings = IndexSettings("offline", store=store)
    journal, key = Journal(settings).path, settings.key("")
    make_clip(folder / "one.mp4", 5, 0)
    made = fs.index(folder / "one.mp4", "offline", store=store)
    (manifest,) = store.glob(f"*/{key.folder.name}/manifest.json")
    lines = []
    for k in range(args.entries):
        path, video = videos / f"{k}.mp4", f"{k:032x}"
        path.touch()
        entry = store / video / key.folder.name
        entry.mkdir(parents=True)
        (entry / "manifest.json").hardlink_to(manifest)
        row = {"path": str(path), "fingerprint": video, "frames": len(made), "seconds": 9.0, "bytes": 10**6}
        line = {"event": "done", "path": str(path), "row": row, "stamp": file_stamp(str(path))}
        lines.append(json.dumps(line))
    journal.parent.mkdir(parents=True)
    journal.write_text("\n".join(lines) + "\n")
    (folder / "list.txt").write_text("".join(f"{videos / f'{k}.mp4'}\n" for k in range(args.entries)))
    spent = []
    for _ in range(3):
        began = time.perf_counter()
        run = fs.corpus.index(folder / "list.txt", encoder="offline", store=store)
        spent.append(time.perf_counter() - began)
        assert run.counts["kept"] == args.entries
    best = min(spent)
    return [{"entries": args.entries, "seconds": round(best, 2), "µs each": round(best / args.entries * 1e6, 1)}]


class Cone:
    """A text encoder whose vectors are close to one direction, as those of real encoders are."""

    name, fingerprint = "cone", "c0" * 8

    def __init__(self, dim):
        self.dim = dim

    def rows(self, count, seed):
        rng = np.random.default_rng(seed)
        rows = rng.random((count, self.dim), np.float32) - np.float32(0.5)
        rows += np.float32(0.2)
        return rows / np.linalg.norm(rows, axis=1, keepdims=True)

    def encode_texts(self, texts):
        return np.concatenate([self.rows(1, list(text.encode())) for text in texts])


def search_times(folder, args):
    cone, store = Cone(args.dim), Store(folder / "search")
    times_s, nothing = np.arange(3600.0), np.zeros(3600, bool)
    for k in range(args.hours):
        candidates = StoredCandidates(times_s, cone.rows(3600, k), nothing, nothing, np.zeros(0))
        key = IndexKey(f"{k:032x}", cone.name, cone.fingerprint, "1", "exact", "reuse")
        store.save(key, candidates, {"video": {"path": f"/videos/{k}.mp4"}})
    began = time.perf_counter()
    search("the first one", encoder=cone, store=store.root)
    first = time.perf_counter() - began
    spent = []
    for k in range(7):
        began = time.perf_counter()
        hits = search(f"query number {k}", encoder=cone, store=store.root)
        spent.append(time.perf_counter() - began)
    assert len(hits) == 10
    cpu_s = time.process_time()
    search("the last one", encoder=cone, store=store.root)
    cpu_s = time.process_time() - cpu_s
    return [
        {
            "vectors": 3600 * args.hours,
            "dim": args.dim,
            "first search, s": round(first, 1),
            "median, s": round(statistics.median(spent), 2),
            "slowest, s": round(max(spent), 2),
            "processor, s": round(cpu_s, 2),
            "memory, MB": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024),
        }
    ]


def print_table(rows):
    print("| " + " | ".join(rows[0]) + " |\n|" + "---|" * len(rows[0]))
    for row in rows:
        print("| " + " | ".join(map(str, row.values())) + " |")
    print(flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", choices=PARTS, default=[])
    parser.add_argument("--videos", type=int, default=8)
    parser.add_argument("--seconds", type=int, default=40)
    parser.add_argument("--entries", type=int, default=100_000)
    parser.add_argument("--hours", type=int, default=1000)
    parser.add_argument("--dim", type=int, default=768)
    parser.add_argument("--folder", help="the directory for temporary files (default: the system's)")
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    measures = {"rate": rate, "resume": resume, "search": search_times}
    results = {}
    for part in args.parts or PARTS:
        folder = Path(tempfile.mkdtemp(prefix="framesift-bench-", dir=args.folder))
        try:
            results[part] = measures[part](folder, args)
        finally:
            shutil.rmtree(folder, ignore_errors=True)
        print_table(results[part])
    if args.json:
        args.json.write_text(json.dumps(results, indent=1))


if __name__ == "__main__":
    main()
