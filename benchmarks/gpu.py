"""An hour of video on one GPU: decoded by NVDEC, encoded by a network of SigLIP so400m's size with random weights.

    python benchmarks/gpu.py VIDEO [--minutes 60] [--rows h264-1080 h264-1080:keyframes] [--network] [--without-reuse]
                                    [--corpus 10] [--workers 1 2] [--profile]

Five seconds of VIDEO, from its first minute on, are enlarged to 1920 × 1080 and 3840 × 2160, with film grain, and
encoded by x264 and x265 with their default settings; their packets are repeated until the file has the wanted length.
For each row: the index as `framesift.index` builds it, timed whole, and each part alone. demux: the scan of all
packets; decode: the frames that the candidates need, without converting any; convert: colours and size; encode:
resizing, normalising and the network; store: writing the vectors; check: the hash of the file. GPU, host: the memory
beyond that of the loaded network; driver: the part of the latter that the driver maps. levels, cosine: how the first
seconds, decoded on the CPU, differ in pixels and vectors. Last, VIDEO and a video of slides are indexed with both
decoders. --corpus: so many such files of 1080p by `corpus.index`, with each number of workers.

Needs a GPU with 16 GiB, torch, transformers.
"""

import argparse
import gc
import platform
import sys
import tempfile
import time
import traceback
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from fractions import Fraction
from functools import partial
from pathlib import Path

import av
import numpy as np
import torch
import transformers
from gpu_videos import make_slides, make_video, repeat_clip

from framesift import corpus
from framesift._utils.machine import release_free_memory
from framesift.encoders import siglip
from framesift.encoders.base import to_rgb
from framesift.encoders.siglip import DualEncoder, image_layout
from framesift.indexing import index as indexing
from framesift.store import store as stores
from framesift.store.fingerprint import WatchedFile
from framesift.video import cuda, frames, parallel, timeline
from framesift.video.decoding import DecodePlan

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from helpers.tiny_checkpoints import TOWER, image_processor, save_siglip

SIDE = 384
ROWS = ("h264-1080", "h264-1080:keyframes", "hevc-1080", "h264-2160", "hevc-2160")
GOALS_S = {"h264-1080": 17, "hevc-1080": 13, "h264-2160": 34, "hevc-2160": 26, "h264-1080:keyframes": 4}
COMPARED_S = 20
DECODED_ALONE = 1000  # candidates
VISION = {
    "hidden_size": 1152, "intermediate_size": 4304, "num_hidden_layers": 27, "num_attention_heads": 16,
    "image_size": SIDE, "patch_size": 14,
}  # fmt: skip


class RandomSiglip(DualEncoder):
    """A DualEncoder of so400m's size with random weights; images only."""

    def __init__(self, device):
        config = transformers.SiglipVisionConfig(**VISION)
        torch.manual_seed(0)
        with torch.device(device):
            model = transformers.SiglipVisionModel(config)
        self.name, self.dim, self.fingerprint = "random-so400m", 1152, "random"
        self._torch, self._device = torch, device
        processor = getattr(transformers, "SiglipImageProcessorPil", None) or transformers.SiglipImageProcessor
        self._processor = processor(size={"height": SIDE, "width": SIDE})
        self._layout = image_layout(self._processor) if device != "cpu" else None
        self.image_device = None if self._layout is None else device
        self._streams = None if self._layout is None else siglip.gpu_streams(torch, device)
        self._model = siglip.in_rows(model.to(device, siglip._precision(torch, device)).eval())
        self._model.get_image_features = lambda pixel_values: self._model(pixel_values=pixel_values)
        self.image_side, self.batch_size = SIDE, siglip.MAX_GPU_BATCH


class NoConverter:
    """Drops frames: what is left is demuxing and decoding."""

    batch_size = 1

    def convert_batch(self, frames):
        return [frame.pts for frame in frames]


def step(*words):
    print(f"[{time.perf_counter() - STARTED:7.1f}]", *words, flush=True)


@contextmanager
def stopwatch(seconds, name):
    torch.cuda.synchronize()
    start = time.perf_counter()
    yield
    torch.cuda.synchronize()
    seconds[name] = seconds.get(name, 0) + time.perf_counter() - start


def measure(path, mode, encoder, folder, without_reuse):
    """Seconds of the whole and of each part alone."""
    seconds, facts = {}, {}
    timeline._timeline_of.cache_clear()
    with stopwatch(seconds, "demux"):
        lines = timeline.read_timeline(path)
    wanted = frames._candidates(lines, mode, Fraction(1))
    plan = DecodePlan(lines, wanted, keys_only=mode == "keyframes")
    facts["candidates"], facts["frames"] = len(wanted), int(plan.packets()[0].sum())
    step(path.name, mode, facts, "demux", round(seconds["demux"], 2))
    facts["decode_fps"] = decode_alone(path, plan)
    seconds["decode"] = facts["frames"] / facts["decode_fps"]
    step("decode alone", round(facts["decode_fps"]), "frames/s")
    each, pixels = convert_alone(path, plan)
    seconds["convert"] = each * len(wanted)
    facts["encode_fps"] = rate(partial(encoder.encode_images, pixels), len(pixels), 5)
    seconds["encode"] = len(wanted) / facts["encode_fps"]
    step("convert alone", round(1000 * each, 2), "ms; encode alone", round(facts["encode_fps"]), "frames/s")
    del pixels
    if without_reuse:
        timeline._timeline_of.cache_clear()
        with stopwatch(seconds, "no reuse"):
            indexing.index(path, encoder, 1.0, mode, store=folder / "encode", unchanged_frames="encode")
    gc.collect()
    release_free_memory()
    torch.cuda.empty_cache()
    timeline._timeline_of.cache_clear()
    before = resident_bytes("VmRSS"), torch.cuda.mem_get_info()[0], driver_bytes()
    peak = "VmHWM" if reset_peak() else "VmRSS"
    most = [0, 0, 0]

    def watch(_, done, expected):
        most[0] = max(most[0], before[1] - torch.cuda.mem_get_info()[0])
        most[2] = max(most[2], resident_bytes(peak) - before[0])
        if not most[1] and done > expected / 2:
            most[1] = driver_bytes() - before[2]

    with timed_calls(seconds), stopwatch(seconds, "whole"):
        index = indexing.index(path, encoder, 1.0, mode, store=folder / "reuse", progress=watch)
    facts["gpu_gib"], facts["driver_mib"], facts["host_mib"] = most[0] / 2**30, most[1] / 2**20, most[2] / 2**20
    facts["reused"] = int((index.frames[1:] == index.frames[:-1]).all(axis=1).sum())
    step("whole", round(seconds["whole"], 2), "s", facts)
    return seconds, facts


def decode_alone(path, plan):
    """Frames per second once all sessions are open: from the first fifth of the candidates on."""
    wanted = plan.wanted[:DECODED_ALONE]
    skipped = len(wanted) // 5
    for number, _ in enumerate(decode(path, DecodePlan(plan.timeline, wanted, plan.keys_only), NoConverter())):
        if number == skipped:
            start = time.perf_counter()
    seconds = time.perf_counter() - start
    return int(DecodePlan(plan.timeline, wanted[skipped:], plan.keys_only).packets()[0].sum()) / seconds


def resident_bytes(name):
    """VmRSS, what the process has in memory, or VmHWM, the most it had."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(1024 * int(line.split()[1]) for line in lines if line.startswith(name))


def reset_peak():
    """Count VmHWM from here on; False where the system can't."""
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        return False
    return True


def driver_bytes():
    """The memory of the host that NVIDIA's driver maps into this process."""
    found, is_driver = 0, False
    for line in Path("/proc/self/smaps").read_text().splitlines():
        words = line.split()
        if not words[0].endswith(":"):
            is_driver = words[-1].startswith("/dev/nvidia")
        elif is_driver and words[0] == "Rss:":
            found += 1024 * int(words[1])
    return found


def decode(path, plan, converter):
    """Decode in several sessions, with another converter."""
    decoder = cuda.CudaDecoder()
    decoder.converter = lambda *_: converter
    return parallel._ParallelRun(str(path), parallel.GrowingPlan(iter([plan])), 2 * SIDE, decoder).images()


@contextmanager
def timed_calls(seconds):
    """Time the parts of `index` that can't be run alone: storing, and reading the file for its hash."""
    saved = [(stores.Store, "save_part", "store"), (stores.Store, "save", "store"),
             (WatchedFile, "check_content", "check")]  # fmt: skip
    originals = [getattr(owner, name) for owner, name, _ in saved]

    def timed(function, part):
        def call(*args, **kwargs):
            start = time.perf_counter()
            try:
                return function(*args, **kwargs)
            finally:
                seconds[part] = seconds.get(part, 0) + time.perf_counter() - start

        return call

    for (owner, name, part), function in zip(saved, originals, strict=True):
        setattr(owner, name, timed(function, part))
    try:
        yield
    finally:
        for (owner, name, _), function in zip(saved, originals, strict=True):
            setattr(owner, name, function)


def convert_alone(path, plan, times=16):
    """Seconds for converting one frame, the frames being decoded already, and 128 images."""
    taken = []

    class Keep:
        batch_size = 1

        def convert_batch(self, frames):
            taken.extend(frames)
            return frames

    # No more than the decoder has surfaces for.
    count = cuda.CudaConverter.batch_size
    list(decode(path, DecodePlan(plan.timeline, plan.wanted[:count], keys_only=plan.keys_only), Keep()))
    decoder = cuda.CudaDecoder()
    with decoder.open(str(path), 1) as video:
        converter = decoder.converter(video, 2 * SIDE)
        converter.convert_batch(taken)
        torch.cuda.synchronize()
        start = time.perf_counter()
        pixels = [image.pixels for _ in range(times) for image in converter.convert_batch(taken)]
        torch.cuda.synchronize()
    return (time.perf_counter() - start) / len(pixels), pixels


def network_table(encoder):
    """Frames per second of the network by batch: eager, as a CUDA graph, compiled; and from pictures of the CPU."""
    model = encoder._model
    print("\n| network | batch | frames/s |\n|---|---:|---:|")
    with torch.inference_mode():
        for batch in (1, 32, 128):
            pixels = torch.randn(batch, 3, SIDE, SIDE, device="cuda", dtype=model.dtype)
            print(f"| eager | {batch} | {rate(partial(model, pixel_values=pixels), batch):.0f} |", flush=True)
            graph = torch.cuda.CUDAGraph()
            side = torch.cuda.Stream()
            with torch.cuda.stream(side):
                model(pixel_values=pixels)
            torch.cuda.synchronize()
            with torch.cuda.graph(graph):
                model(pixel_values=pixels)
            print(f"| CUDA graph | {batch} | {rate(graph.replay, batch):.0f} |", flush=True)
            del graph
        start = time.perf_counter()
        compiled = torch.compile(model)
        pixels = torch.randn(32, 3, SIDE, SIDE, device="cuda", dtype=model.dtype)
        compiled(pixel_values=pixels)
        torch.cuda.synchronize()
        took, fps = time.perf_counter() - start, rate(partial(compiled, pixel_values=pixels), 32)
        print(f"| compiled in {took:.0f} s | 32 | {fps:.0f} |", flush=True)
    rng = np.random.default_rng(0)
    small = rng.integers(0, 256, (128, 96, 171, 3), dtype=np.uint8)
    pictures = [np.asarray(to_rgb(image).resize((1366, 768))) for image in small]
    fps = rate(partial(encoder.encode_images, pictures), len(pictures), 5)
    print(f"| encode_images, 1366 × 768 from the CPU | 128 | {fps:.0f} |", flush=True)
    start = time.perf_counter()
    encoder._processor(images=[to_rgb(image) for image in pictures[:16]], return_tensors="pt")
    print(f"| PIL processor on the CPU | 16 | {16 / (time.perf_counter() - start):.0f} |", flush=True)


def rate(call, count, runs=10):
    call()
    torch.cuda.synchronize()
    start = time.perf_counter()
    for _ in range(runs):
        call()
    torch.cuda.synchronize()
    return runs * count / (time.perf_counter() - start)


def compare(path, encoder, mode):
    """Candidates, pixels and vectors of the first minutes: decoded on the CPU and on the GPU."""
    ours, theirs = [], []
    worst, means = 0, []
    gpu = frames.sample(path, 1.0, mode, short_side=2 * SIDE, gpu=cuda.CudaDecoder())
    cpu = frames.sample(path, 1.0, mode, short_side=2 * SIDE)
    with gpu, cpu:
        for (time_a, image_a), (time_b, image_b) in zip(gpu, cpu, strict=True):
            if time_a != time_b:
                raise ValueError(f"{path}: {time_a} on the GPU, {time_b} on the CPU")
            difference = np.abs(image_a.pixels.cpu().numpy().astype(int) - image_b)
            worst, means = max(worst, int(difference.max())), [*means, difference.mean()]
            ours.append(image_a.pixels)
            theirs.append(image_b)
            if time_a > COMPARED_S:
                break
    on_gpu = encoder.encode_images(ours)
    prepared = encoder._processor(images=[to_rgb(image) for image in theirs], return_tensors="pt")["pixel_values"]
    with torch.inference_mode():
        parts = [encoder._model(pixel_values=part.to(encoder._device, encoder._model.dtype)).pooler_output.float().cpu()
                 for part in prepared.split(32)]  # fmt: skip
    on_cpu = torch.cat(parts).numpy()
    cosines = (on_gpu * (on_cpu / np.linalg.norm(on_cpu, axis=1, keepdims=True))).sum(axis=1)
    return f"{np.mean(means):.2f}, at most {worst}", f"{cosines.min():.5f}"


def compare_indexes(path, encoder, folder, fps):
    """The indexes of one video, decoded on the CPU and on the GPU: times, unchanged candidates, vectors."""
    cpu, gpu = (
        indexing.index(path, encoder, fps, store=folder / f"compared-{path.stem}-{decode}", decode=decode)
        for decode in ("cpu", "cuda")
    )
    repeats = [np.flatnonzero((index.frames[1:] == index.frames[:-1]).all(axis=1)) for index in (cpu, gpu)]
    vectors = [index.frames.astype(np.float64) for index in (cpu, gpu)]
    cosines = np.prod([1 / np.linalg.norm(v, axis=1) for v in vectors], axis=0) * (vectors[0] * vectors[1]).sum(axis=1)
    print(f"{path.name}: {len(cpu.times_s)} candidates, same times: {np.array_equal(cpu.times_s, gpu.times_s)}; "
          f"unchanged {len(repeats[0])} and {len(repeats[1])}, same: {np.array_equal(*repeats)}; lowest cosine "
          f"{cosines.min():.5f}", flush=True)  # fmt: skip


def profile(path, encoder, folder):
    """What the GPU is busy with while a video is indexed."""
    kinds = [torch.profiler.ProfilerActivity.CUDA]
    timeline._timeline_of.cache_clear()
    start = time.perf_counter()
    with torch.profiler.profile(activities=kinds) as profiler:
        indexing.index(path, encoder, 1.0, store=folder / "profile")
    rows = sorted(profiler.key_averages(), key=lambda row: -row.self_device_time_total)
    busy = sum(row.self_device_time_total for row in rows) / 1e6
    step("profile:", round(time.perf_counter() - start, 1), "s; busy in all streams:", round(busy, 1))
    for row in rows[:16]:
        print(f"| {row.key[:80]} | {row.count} | {row.self_device_time_total / 1e6:.2f} |", flush=True)


def save_random_siglip(folder):
    """A checkpoint of so400m's size with random weights, for the processes of a corpus."""
    folder.mkdir()
    save_siglip(folder)
    words = TOWER | {"vocab_size": 80, "max_position_embeddings": 64, "projection_size": VISION["hidden_size"]}
    torch.manual_seed(0)
    with torch.device("cuda"):
        model = transformers.SiglipModel(transformers.SiglipConfig(text_config=words, vision_config=VISION))
    model.to(torch.bfloat16).save_pretrained(folder)
    image_processor("SiglipImageProcessor")(size={"height": SIDE, "width": SIDE}).save_pretrained(folder)
    return str(folder)


def measure_corpus(args, folder):
    """Seconds for several files in one call, by workers; starting them and loading the network included."""
    videos = [folder / f"corpus-{n}.mp4" for n in range(args.corpus)]
    with ProcessPoolExecutor() as pool:
        clip, minutes = [folder / "clip-h264-1080.mp4"] * len(videos), [args.minutes] * len(videos)
        list(pool.map(repeat_clip, clip, videos, minutes))
    encoder = save_random_siglip(folder / "checkpoint")
    torch.cuda.empty_cache()
    step("made", len(videos), "files for a corpus")
    print(f"\n| workers | {len(videos)} files of {args.minutes} minutes, s |\n|---:|---:|")
    for workers in args.workers:
        start = time.perf_counter()
        done = corpus.index(
            list(map(str, videos)), encoder=encoder, fps=1.0, store=folder / f"corpus-{workers}", events=False,
            workers=workers,
        )  # fmt: skip
        print(f"| {workers} | {time.perf_counter() - start:.1f} |", dict(done.counts), done.failed[:1], flush=True)


PARTS = ("demux", "decode", "convert", "encode", "store", "check")


def table_head(minutes):
    columns = " | ".join(f"{part}, s" for part in PARTS)
    print(f"\n| {minutes} minutes of | candidates | reused | frames decoded | frames/s | {columns} "
          "| no reuse, s | whole, s | wanted, s | GPU, GiB | host, MiB | driver, MiB | levels | cosine |")  # fmt: skip
    print("|---|" + "---:|" * (len(PARTS) + 12), flush=True)


def table_row(row, seconds, facts):
    cells = [row, facts["candidates"], facts["reused"], facts["frames"], f"{facts['decode_fps']:.0f}",
             *(f"{seconds.get(part, 0):.1f}" for part in PARTS), f"{seconds.get('no reuse', 0):.1f}",
             f"{seconds['whole']:.1f}", GOALS_S.get(row, ""), f"{facts['gpu_gib']:.1f}", f"{facts['host_mib']:.0f}",
             f"{facts['driver_mib']:.0f}", *facts.get("compared", ("", ""))]  # fmt: skip
    print("| " + " | ".join(map(str, cells)) + " |", flush=True)


@contextmanager
def errors_shown(what):
    """Print an error and go on: one step must not lose the others."""
    try:
        yield
    except Exception:
        traceback.print_exc()
        step("FAILED", what)


def main(args):
    versions = [(module.__name__, module.__version__) for module in (torch, transformers, av)]
    print(*versions, platform.python_version())
    table = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(args.folder or name)
        clips = sorted({row.partition(":")[0] for row in args.rows})
        with ProcessPoolExecutor() as pool:
            made = [pool.submit(make_video, args.video, folder, clip, args.minutes) for clip in clips]
            step("made", *(future.result() for future in made))
        reason = cuda.why_not_cuda()
        step(torch.cuda.get_device_name(), "decoder:", reason or "ready")
        encoder = RandomSiglip("cuda")
        step("network on the GPU, GiB:", round(torch.cuda.memory_allocated() / 2**30, 2))
        for row in args.rows:
            with errors_shown(row):
                clip, _, mode = row.partition(":")
                path, mode = folder / f"{clip}.mp4", mode or "exact"
                seconds, facts = measure(
                    path, mode, encoder, folder / f"store-{row.replace(':', '-')}", args.without_reuse
                )
                if mode == "exact":
                    with errors_shown(f"comparison of {row}"):
                        facts["compared"] = compare(path, encoder, mode)
                table.append((row, seconds, facts))
                table_head(args.minutes)
                table_row(*table[-1])
        with errors_shown("indexes"):
            make_slides(args.video, folder / "slides.mp4")
            compare_indexes(folder / "slides.mp4", encoder, folder, 4.0)
            compare_indexes(args.video, encoder, folder, 4.0)
        if args.profile:
            with errors_shown("profile"):
                profile(folder / f"{clips[0]}.mp4", encoder, folder)
        if args.network:
            with errors_shown("network"):
                network_table(encoder)
        if args.corpus:
            with errors_shown("corpus"):
                del encoder
                measure_corpus(args, folder)
    table_head(args.minutes)
    for entry in table:
        table_row(*entry)


if __name__ == "__main__":
    STARTED = time.perf_counter()
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("video", type=Path)
    parser.add_argument("--minutes", type=int, default=60)
    parser.add_argument("--rows", nargs="+", default=list(ROWS))
    parser.add_argument("--folder", help="keep the generated videos here")
    parser.add_argument("--without-reuse", action="store_true", help="also measure without the reuse of vectors")
    parser.add_argument("--network", action="store_true", help="also measure the network: eager, as a graph, compiled")
    parser.add_argument("--profile", action="store_true", help="also list what the GPU does, for the first row's clip")
    parser.add_argument("--corpus", type=int, default=0, help="also index so many files in one call")
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2])
    main(parser.parse_args())
