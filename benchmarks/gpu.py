"""An hour of video on one GPU: decoded by NVDEC, encoded by a network of SigLIP so400m's size with random weights.

    python benchmarks/gpu.py VIDEO [--minutes 60] [--rows h264-1080 hevc-1080 h264-2160 h264-1080:keyframes] [--compile]

Five seconds of VIDEO, from its first minute on, are enlarged to 1920 × 1080 and 3840 × 2160, with film grain, and
encoded by x264 and x265 with their default settings; their packets are repeated until the file has the wanted length.
For each row: the index as `framesift.index` builds it, timed whole, and each part alone. demux: the scan of all
packets; decode: the frames that the candidates need, without converting any; convert: colours and size; encode:
resizing, normalising and the network; store: writing the vectors; check: the hash of the file. Then the same candidates
are decoded on the CPU, and times, pixels and vectors of the first minute compared. host, GPU: the memory beyond that of
the loaded network. Needs a GPU with 16 GiB, torch, transformers.
"""

import argparse
import gc
import platform
import resource
import tempfile
import time
import traceback
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from fractions import Fraction
from functools import partial
from pathlib import Path

import av
import av.filter
import numpy as np
import torch
import transformers

from framesift.encoders import siglip
from framesift.encoders.base import to_rgb
from framesift.encoders.siglip import DualEncoder, image_layout
from framesift.store import indexing
from framesift.store import store as stores
from framesift.store.fingerprint import WatchedFile
from framesift.video import cuda, frames, parallel, timeline
from framesift.video.decoding import DecodePlan

FPS = 24
ENCODED_S = 5
FIRST_S = 60
SIDE = 384
SIZES = {"1080": (1920, 1080), "2160": (3840, 2160)}
ROWS = ("h264-1080", "h264-1080:keyframes", "hevc-1080", "h264-2160", "hevc-2160")
GOALS_S = {"h264-1080": 25, "hevc-1080": 25, "h264-2160": 40, "hevc-2160": 40, "h264-1080:keyframes": 8}
COMPARED_S = 20
DECODED_ALONE = 1000  # candidates


class RandomSiglip(DualEncoder):
    """A DualEncoder of so400m's size with random weights; images only."""

    def __init__(self, device):
        vision = {
            "hidden_size": 1152, "intermediate_size": 4304, "num_hidden_layers": 27, "num_attention_heads": 16,
            "image_size": SIDE, "patch_size": 14,
        }  # fmt: skip
        config = transformers.SiglipVisionConfig(**vision)
        torch.manual_seed(0)
        with torch.device(device):
            model = transformers.SiglipVisionModel(config)
        self.name, self.dim, self.fingerprint = "random-so400m", 1152, "random"
        self._torch, self._device = torch, device
        processor = getattr(transformers, "SiglipImageProcessorPil", None) or transformers.SiglipImageProcessor
        self._processor = processor(size={"height": SIDE, "width": SIDE})
        self._layout = image_layout(self._processor) if device != "cpu" else None
        self.image_device = None if self._layout is None else device
        self._streams = None if self._layout is None else siglip.GpuStreams.of(torch, device)
        self._model = model.to(device, siglip._precision(torch, device)).eval()
        self._model.get_image_features = lambda pixel_values: self._model(pixel_values=pixel_values)
        self.picture_side, self.batch_size = SIDE, siglip.MAX_GPU_BATCH


class NoConverter:
    """Drops frames: what is left is demuxing and decoding."""

    def convert(self, frame):
        return frame.pts


def step(*words):
    print(f"[{time.perf_counter() - STARTED:7.1f}]", *words, flush=True)


@contextmanager
def stopwatch(seconds, name):
    torch.cuda.synchronize()
    start = time.perf_counter()
    yield
    torch.cuda.synchronize()
    seconds[name] = seconds.get(name, 0) + time.perf_counter() - start


def make_clip(source, path, codec, size):
    """Encode ENCODED_S seconds of the source, enlarged, with grain."""
    width, height = size
    with av.open(str(source)) as video, av.open(str(path), "w") as out:
        stream = out.add_stream("libx264" if codec == "h264" else "libx265", FPS)
        stream.width, stream.height, stream.pix_fmt = width, height, "yuv420p"
        stream.codec_context.time_base = Fraction(1, FPS)
        if codec == "hevc":
            stream.codec_context.options = {"x265-params": "log-level=error"}
        video.seek(FIRST_S * 1_000_000)
        graph = av.filter.Graph()
        nodes = [
            graph.add_buffer(template=video.streams.video[0]),
            graph.add("scale", f"{width}:{height}:flags=bicubic"),
        ]
        nodes += [graph.add("noise", "c0s=7:c0f=t"), graph.add("buffersink")]
        graph.link_nodes(*nodes).configure()
        for n, frame in enumerate(video.decode(video=0)):
            if n == ENCODED_S * FPS:
                break
            graph.push(frame)
            picture = graph.pull()
            picture.pts, picture.time_base, picture.pict_type = n, Fraction(1, FPS), 0
            out.mux(stream.encode(picture))
        out.mux(stream.encode(None))


def repeat_clip(clip, path, minutes):
    """Repeat the packets of a clip."""
    with av.open(str(clip)) as source, av.open(str(path), "w") as out:
        from_stream = source.streams.video[0]
        stream = out.add_stream_from_template(from_stream)
        packets = [p for p in source.demux(from_stream) if p.size]
        length = int(ENCODED_S / from_stream.time_base)
        stamps = [(p.pts, p.dts) for p in packets]
        for round_number in range(minutes * 60 // ENCODED_S):
            for packet, (pts, dts) in zip(packets, stamps, strict=True):
                packet.pts, packet.dts = pts + round_number * length, dts + round_number * length
                packet.stream = stream
                out.mux(packet)


def make_video(source, folder, name, minutes):
    """An hour-long file for a row such as h264-1080, by repeating its clip."""
    codec, height = name.split("-")
    clip, path = folder / f"clip-{name}.mp4", folder / f"{name}.mp4"
    make_clip(source, clip, codec, SIZES[height])
    repeat_clip(clip, path, minutes)
    return f"{name}: {8 * path.stat().st_size / (60 * minutes) / 1e6:.1f} Mbit/s"


def measure(path, mode, encoder, folder):
    """Seconds of the whole and of each part alone."""
    seconds, facts = {}, {}
    timeline._timelines.clear()
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
    gc.collect()
    torch.cuda.empty_cache()
    timeline._timelines.clear()
    before = resident_bytes(), torch.cuda.mem_get_info()[0]
    most = [0, 0]

    def watch(*_):
        most[0] = max(most[0], resident_bytes() - before[0])
        most[1] = max(most[1], before[1] - torch.cuda.mem_get_info()[0])

    with timed_calls(seconds), stopwatch(seconds, "whole"):
        indexing.index(path, encoder, 1.0, mode, store=folder, progress=watch)
    facts["host_mib"], facts["gpu_gib"] = most[0] / 2**20, most[1] / 2**30
    step("whole", round(seconds["whole"], 2), "s", facts)
    return seconds, facts


def decode_alone(path, plan):
    """Frames per second once all sessions are open: from the first fifth of the candidates on."""
    wanted = plan.wanted[:DECODED_ALONE]
    skipped = len(wanted) // 5
    for number, _ in enumerate(images(path, DecodePlan(plan.timeline, wanted, plan.keys_only), without_conversion())):
        if number == skipped:
            start = time.perf_counter()
    seconds = time.perf_counter() - start
    return int(DecodePlan(plan.timeline, wanted[skipped:], plan.keys_only).packets()[0].sum()) / seconds


def resident_bytes():
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()


def without_conversion():
    decoder = cuda.CudaDecoder()
    decoder.converter = lambda *_: NoConverter()
    return decoder


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


def images(path, plan, decoder):
    return parallel._decode_parallel(str(path), plan, parallel.split(plan), 2 * SIDE, decoder)


def convert_alone(path, plan, count=128):
    """Seconds for converting one frame, the frames being decoded already, and images."""
    taken = []

    class Keep:
        def convert(self, frame):
            taken.append(frame)

    decoder = cuda.CudaDecoder()
    keeper = cuda.CudaDecoder()
    keeper.converter = lambda *_: Keep()
    list(images(path, DecodePlan(plan.timeline, plan.wanted[:count], keys_only=plan.keys_only), keeper))
    with decoder.open(str(path), 1) as video:
        converter = decoder.converter(video, 2 * SIDE)
        converter.convert(taken[0])
        torch.cuda.synchronize()
        start = time.perf_counter()
        pixels = [converter.convert(frame).pixels for frame in taken]
        torch.cuda.synchronize()
    return (time.perf_counter() - start) / len(taken), pixels


def network_table(encoder, with_compile):
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
        if with_compile:
            start = time.perf_counter()
            compiled = torch.compile(model)
            pixels = torch.randn(32, 3, SIDE, SIDE, device="cuda", dtype=model.dtype)
            compiled(pixel_values=pixels)
            torch.cuda.synchronize()
            took = time.perf_counter() - start
            print(
                f"| compiled in {took:.0f} s | 32 | {rate(partial(compiled, pixel_values=pixels), 32):.0f} |",
                flush=True,
            )
    rng = np.random.default_rng(0)
    small = rng.integers(0, 256, (128, 96, 171, 3), dtype=np.uint8)
    pictures = [np.asarray(to_rgb(image).resize((1366, 768))) for image in small]
    fps = rate(partial(encoder.encode_images, pictures), len(pictures), 5)
    print(f"| encode_images, 1366 × 768 from the CPU | 128 | {fps:.0f} |", flush=True)
    pil = encoder._processor
    start = time.perf_counter()
    pil(images=[to_rgb(image) for image in pictures[:16]], return_tensors="pt")
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
                raise SystemExit(f"{path}: {time_a} on the GPU, {time_b} on the CPU")
            difference = np.abs(image_a.download().astype(int) - image_b)
            worst, means = max(worst, int(difference.max())), [*means, difference.mean()]
            ours.append(image_a.pixels)
            theirs.append(image_b)
            if time_a > COMPARED_S:
                break
    on_gpu = encoder.encode_images(ours)
    prepared = encoder._processor(images=[to_rgb(image) for image in theirs], return_tensors="pt")["pixel_values"]
    with torch.inference_mode():
        parts = [encoder._model(pixel_values=part.to("cuda", encoder._model.dtype)).pooler_output.float().cpu()
                 for part in prepared.split(32)]  # fmt: skip
    on_cpu = torch.cat(parts).numpy()
    cosines = (on_gpu * (on_cpu / np.linalg.norm(on_cpu, axis=1, keepdims=True))).sum(axis=1)
    step("compared", len(ours), "frames: largest difference of a pixel", worst, "mean", round(float(np.mean(means)), 3),
         "lowest cosine", round(float(cosines.min()), 5))  # fmt: skip
    return {"compared": len(ours), "worst": worst, "mean": float(np.mean(means)), "cosine": float(cosines.min())}


def main(args):
    print("torch", torch.__version__, "transformers", transformers.__version__, "av",
          av.__version__, platform.python_version())  # fmt: skip
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
        try:
            network_table(encoder, args.compile)
        except Exception as error:
            step("FAILED network", error)
        for row in args.rows:
            try:
                clip, _, mode = row.partition(":")
                path, mode = folder / f"{clip}.mp4", mode or "exact"
                seconds, facts = measure(path, mode, encoder, folder / f"store-{row.replace(':', '-')}")
                if mode == "exact":
                    facts |= compare(path, encoder, mode)
                table.append((row, seconds, facts))
            except Exception as error:  # one row must not lose the others
                traceback.print_exc()
                step("FAILED", row, error)
    parts = ("demux", "decode", "convert", "encode", "store", "check")
    columns = " | ".join(f"{part}, s" for part in parts)
    print(f"\n| {args.minutes} minutes of | candidates | frames decoded | frames/s | {columns} "
          "| whole, s | wanted, s | GPU, GiB | host, MiB |")  # fmt: skip
    print("|---|" + "---:|" * (len(parts) + 7))
    for row, seconds, facts in table:
        fps = f"{facts['decode_fps']:.0f}"
        cells = [row, facts["candidates"], facts["frames"], fps, *(f"{seconds.get(p, 0):.1f}" for p in parts),
                 f"{seconds['whole']:.1f}", GOALS_S.get(row, ""), f"{facts['gpu_gib']:.1f}",
                 f"{facts['host_mib']:.0f}"]  # fmt: skip
        print("| " + " | ".join(map(str, cells)) + " |")
    for row, _, facts in table:
        if "cosine" in facts:
            print(f"{row}: {facts['compared']} frames on the GPU and the CPU: same times, pixels differ by "
                  f"{facts['mean']:.2f} levels on average and {facts['worst']} at most, lowest cosine "
                  f"{facts['cosine']:.5f}")  # fmt: skip


if __name__ == "__main__":
    STARTED = time.perf_counter()
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("video", type=Path)
    parser.add_argument("--minutes", type=int, default=60)
    parser.add_argument("--rows", nargs="+", default=list(ROWS))
    parser.add_argument("--folder", help="keep the generated videos here")
    parser.add_argument("--compile", action="store_true", help="also measure the compiled network")
    main(parser.parse_args())
