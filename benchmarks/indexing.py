"""One frame per second out of a video, by codec: wall time, CPU time and peak memory, compared with other libraries.

    python benchmarks/indexing.py [--rows h264:360 …] [--seconds 60] [--runs 3] [--clips FOLDER] [--json FILE]
    python benchmarks/indexing.py --rows --index h264:360:3600 film.mp4     # the whole of fs.index, and its parts

A row is codec:height. The clips are generated: panning textures, an object that crosses them, film grain, a cut every
seven seconds, 25 frames a second. Twenty seconds are encoded and their packets repeated. Each frame shows its number,
so that "right" counts the frames that were on screen at their time (fast and keyframes: that are the frame of their
time). Every measurement runs in its own process, the variants alternate, and the best run is reported, which reduces
the influence of other processes. The clock starts after the imports and stops when every frame is an RGB array of full
size; peak memory is that of the whole process.

"exact" decodes segments in parallel; "threads" decodes the same frames in sequence, with the decoder's own threads.
Alternatives that can't be imported are left out; --python names the interpreter of another environment that has them
(torchcodec, decord, opencv-python-headless, and av and numpy).

--index takes codec:height:seconds or a file, and reports fs.index with the offline encoder: the scan of the packets,
decoding alone, encoding alone, and the memory beyond that of the loaded model.
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
from fractions import Fraction
from pathlib import Path

import av
import numpy as np

FPS = 25
ENCODED_S = 20
BITS = 16
SIZES = {360: (640, 360), 720: (1280, 720), 1080: (1920, 1080)}
CODECS = {
    "h264": ("libx264", {"crf": "23", "preset": "faster", "bf": "3", "refs": "3"}),
    "hevc": ("libx265", {"crf": "26", "preset": "veryfast", "x265-params": "log-level=none"}),
    "vp9": ("libvpx-vp9", {"crf": "33", "b": "0", "cpu-used": "5", "row-mt": "1", "lag-in-frames": "16"}),
    "av1": ("libsvtav1", {"crf": "35", "preset": "10", "svtav1-params": "lp=2"}),
}
ROWS = [f"{codec}:{height}" for height in (360, 1080) for codec in CODECS]
OWN = ("exact", "threads", "fast", "keyframes")
OTHERS = {"torchcodec": "torchcodec", "decord": "decord", "opencv": "cv2"}  # name → module
SHORT_SIDE = 448  # of the images that the offline encoder gets


def texture(height, width, seed):
    """Noise at several scales, so that there is detail to predict and to miss."""
    rng = np.random.default_rng(seed)
    out = np.zeros((height, width, 3), np.float32)
    for scale, weight in ((4, 0.12), (16, 0.2), (64, 0.3), (200, 0.38)):
        coarse = rng.integers(0, 255, (max(height // scale, 2), max(width // scale, 2), 3), dtype=np.uint8)
        frame = av.VideoFrame.from_ndarray(coarse, "rgb24").reformat(width, height, interpolation="BICUBIC")
        out += weight * frame.to_ndarray()
    return out.clip(0, 255).astype(np.uint8)


def images(width, height, count):
    rng = np.random.default_rng(0)
    for n in range(count):
        if n % (7 * FPS) == 0:
            back, front = texture(2 * height, 2 * width, n), texture(height // 3, width // 4, n + 1)
        x, y = int(3.3 * n % width), int(height / 2 * (1 + np.sin(n / 30)))
        image = back[y : y + height, x : x + width].copy()
        x, y = int(0.375 * width * (1 + np.sin(n / 11))), int(height / 3 * (1 + np.cos(n / 17)))
        image[y : y + height // 3, x : x + width // 4] = front
        grain = rng.integers(-4, 5, (height // 2, width // 2, 1), dtype=np.int16).repeat(2, 0).repeat(2, 1)
        image = (image + grain).clip(0, 255).astype(np.uint8)
        write_number(image, n)
        yield image


def write_number(image, number):
    side = image.shape[1] // 40
    for bit in range(BITS):
        image[:side, bit * side : (bit + 1) * side] = 255 * (number >> bit & 1)


def read_number(image):
    side = image.shape[1] // 40
    inner = slice(side // 4, side - side // 4)
    return sum(
        int(image[inner, bit * side + side // 4 : (bit + 1) * side - side // 4].mean() > 128) << bit
        for bit in range(BITS)
    )


def make_clip(path, codec, height, seconds):
    """Written in a process of its own: SVT-AV1, run by root, makes the thread that opens it a real-time one."""
    width, height = SIZES[height]
    name, options = CODECS[codec]
    with av.open(str(path), "w") as out:
        stream = out.add_stream(name, rate=FPS, options=options)
        stream.width, stream.height, stream.pix_fmt, stream.thread_type = width, height, "yuv420p", "FRAME"
        stream.codec_context.thread_count = 2
        packets = []
        for n, image in enumerate(images(width, height, ENCODED_S * FPS)):
            frame = av.VideoFrame.from_ndarray(image, "rgb24")
            frame.pts, frame.time_base = n, Fraction(1, FPS)
            packets += stream.encode(frame)
        packets += stream.encode(None)
        for turn in range(-(-seconds // ENCODED_S)):
            for packet in packets:
                copy = av.Packet(bytes(packet))
                shift = int(turn * ENCODED_S / packet.time_base)
                copy.stream, copy.time_base = stream, packet.time_base
                copy.pts, copy.dts, copy.is_keyframe = packet.pts + shift, packet.dts + shift, packet.is_keyframe
                out.mux(copy)


def by_framesift(path, variant):
    from framesift.video import parallel
    from framesift.video.frames import sample

    if variant == "threads":
        parallel.usable_cores = lambda: 1
    started = clocks()
    found = []
    for time_s, image in sample(path, 1.0, "exact" if variant == "threads" else variant):
        found.append((time_s, read_number(image)))
    return found, started


def by_torchcodec(path):
    from torchcodec.decoders import VideoDecoder

    started = clocks()
    decoder = VideoDecoder(path, dimension_order="NHWC", num_ffmpeg_threads=0)
    times = np.arange(0.0, decoder.metadata.duration_seconds, 1.0)
    found = []
    for start in range(0, len(times), 16):  # all at once would hold every frame of the video in memory
        batch = decoder.get_frames_played_at(times[start : start + 16].tolist())
        found += [(float(t), read_number(image)) for t, image in zip(times[start:], batch.data.numpy(), strict=False)]
    return found, started


def by_decord(path):
    import decord

    started = clocks()
    reader = decord.VideoReader(path)
    rate, count = reader.get_avg_fps(), len(reader)
    found = []
    for k in range(-(-count // round(rate))):
        found.append((float(k), read_number(reader[min(round(k * rate), count - 1)].asnumpy())))
    return found, started


def by_opencv(path):
    import cv2

    started = clocks()
    capture = cv2.VideoCapture(path)
    rate, count = capture.get(cv2.CAP_PROP_FPS), int(capture.get(cv2.CAP_PROP_FRAME_COUNT))
    wanted = {min(round(k * rate), count - 1): k for k in range(-(-count // round(rate)))}
    found = []
    n = 0
    while capture.grab():
        if n in wanted:
            image = cv2.cvtColor(capture.retrieve()[1], cv2.COLOR_BGR2RGB)
            found.append((float(wanted[n]), read_number(image)))
        n += 1
    return found, started


def clocks():
    return time.perf_counter(), time.process_time()


def measure_here(path, variant):
    others = {"torchcodec": by_torchcodec, "decord": by_decord, "opencv": by_opencv}
    try:
        found, (wall, cpu) = others[variant](path) if variant in others else by_framesift(path, variant)
    except Exception as error:  # a library that can't decode this codec
        if variant not in others:
            raise
        print(error, file=sys.stderr)
        return None
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    if not found:
        return None
    if variant in ("fast", "keyframes"):
        right = sum(number == round(time_s * FPS) % (ENCODED_S * FPS) for time_s, number in found)
    else:
        right = sum(number == k * FPS % (ENCODED_S * FPS) for k, (_, number) in enumerate(found))
    return {"wall": wall, "cpu": cpu, "peak": peak_mib(), "given": len(found), "right": right}


def measure_index(path, mode):
    """fs.index from end to end, the second call, which finds the index, and each part on its own."""
    import framesift as fs
    from framesift.encoders.registry import get_encoder
    from framesift.video import timeline
    from framesift.video.frames import sample

    encoder = get_encoder("offline")
    encoder.encode_images([np.zeros((360, 640, 3), np.uint8)] * encoder.batch_size)
    before = memory_mib("VmRSS")
    with tempfile.TemporaryDirectory() as store:
        wall, cpu = clocks()
        index = fs.index(path, "offline", 1.0, mode, store=store)
        row = {"wall": time.perf_counter() - wall, "cpu": time.process_time() - cpu, "above": peak_mib() - before}
        row |= {"given": len(index), "seconds": index.info.duration_s}
        row["again"] = elapsed(lambda: fs.index(path, "offline", 1.0, mode, store=store))
    timeline._timeline_of.cache_clear()
    row["scan"] = elapsed(lambda: timeline.read_timeline(path))
    images = []

    def decode():
        for _, image in sample(path, 1.0, mode, short_side=SHORT_SIDE):
            images[:] = [*images[-63:], image]

    row["decode"] = elapsed(decode)
    row["encode"] = elapsed(lambda: encoder.encode_images(images)) / len(images) * len(index)
    return row


def elapsed(call):
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def memory_mib(name):
    line = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith(name))
    return int(line.split()[1]) / 1024


def peak_mib():
    """The peak since this program began; the usual figure counts what the parent held when it forked."""
    if Path("/proc/self/status").exists():
        return memory_mib("VmHWM")
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def run_here(python, *words):
    """Run this script in its own process and return the JSON value that it prints last."""
    command = [python, __file__, "--run", *map(str, words)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 (our own script)
    if done.returncode:
        sys.exit(done.stderr)
    return json.loads(done.stdout.splitlines()[-1])


def run_command(name, *words):
    if name == "make":
        path, codec, height, seconds = words
        return make_clip(path, codec, int(height), int(seconds))
    if name == "imports":
        return is_importable(words[0])
    return measure_index(*words) if name == "index" else measure_here(*words)


def is_importable(module):
    try:
        __import__(module)
    except (ImportError, OSError, RuntimeError):
        return False
    return True


def clip(folder, codec, height, seconds):
    path = folder / f"{codec}-{height}-{seconds}.mp4"
    if not path.exists():
        run_here(sys.executable, "make", path, codec, height, seconds)
    return path


def best_of(results):
    return {**results[0], **{key: min(result[key] for result in results) for key in ("wall", "cpu", "peak")}}


def measure_row(path, runs, others):
    variants = dict.fromkeys(OWN, sys.executable) | others
    turns = [{name: run_here(python, "decode", path, name) for name, python in variants.items()} for _ in range(runs)]
    return {name: best_of([turn[name] for turn in turns]) for name in variants if all(turn[name] for turn in turns)}


def table(rows, seconds, others):
    compared = ["threads", *others]
    ratios = " | ".join(f"× {other}" for other in compared)
    yield f"| clip | variant | wall s | CPU s | peak MiB | × real time | {ratios} | right |"
    yield "|---|---|" + "---:|" * (5 + len(compared))
    for row, results in rows.items():
        name = "{}, {}p".format(*row.split(":"))
        for variant, r in results.items():
            against = " | ".join(
                f"{results[other]['wall'] / r['wall']:.2f}" if other in results else "–" for other in compared
            )
            yield (
                f"| {name} | {variant} | {r['wall']:.2f} | {r['cpu']:.2f} | {r['peak']:.0f} "
                f"| {seconds / r['wall']:.0f} | {against} | {r['right']} of {r['given']} |"
            )


def summary(rows, seconds, others):
    """The table of docs/performance.md: the wall time of "exact" and of each alternative."""
    yield f"| {seconds} s of video, one frame per second | framesift | {' | '.join(others)} |"
    yield "|---|" + "---:|" * (1 + len(others))
    for row, results in rows.items():
        times = " | ".join(f"{results[name]['wall']:.2f} s" if name in results else "–" for name in ("exact", *others))
        yield f"| {row.split(':')[0]}, {row.split(':')[1]}p | {times} |"


def index_table(rows):
    yield "| video | mode | candidates | scan s | decode s | encode s | index s | CPU s | MiB above | second call s |"
    yield "|---|---|" + "---:|" * 8
    for (name, mode), r in rows.items():
        parts = " | ".join(f"{r[part]:.1f}" for part in ("scan", "decode", "encode", "wall", "cpu"))
        yield f"| {name} | {mode} | {r['given']} | {parts} | {r['above']:.0f} | {r['again']:.2f} |"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--rows", nargs="*", default=ROWS, metavar="CODEC:HEIGHT")
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--index", nargs="*", default=[], metavar="CODEC:HEIGHT:SECONDS or FILE")
    parser.add_argument("--modes", nargs="+", default=["exact"], help="of --index: exact, fast, keyframes")
    parser.add_argument("--clips", metavar="FOLDER", help="keep the clips here and use those already there")
    parser.add_argument("--python", default=sys.executable, help="interpreter with the alternatives")
    parser.add_argument("--json", metavar="FILE")
    parser.add_argument("--run", nargs="+", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.run:
        print(json.dumps(run_command(*options.run)))
        return
    others = {name: options.python for name, module in OTHERS.items() if run_here(options.python, "imports", module)}
    print(f"{platform.processor() or platform.machine()}, {os.cpu_count()} cores, best of {options.runs}\n")
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(options.clips or scratch)
        folder.mkdir(parents=True, exist_ok=True)
        decoded = {}
        for row in options.rows:
            codec, height = row.split(":")
            decoded[row] = measure_row(clip(folder, codec, height, options.seconds), options.runs, others)
        if decoded:
            for lines in (table, summary):
                print("\n".join(lines(decoded, options.seconds, others)) + "\n")
        indexed = {}
        for name in options.index:
            path = clip(folder, *name.split(":")) if name.count(":") == 2 else name
            for mode in options.modes:
                indexed[Path(path).name, mode] = run_here(sys.executable, "index", path, mode)
        if indexed:
            print("\n".join(index_table(indexed)))
    if options.json:
        rows = {"decode": decoded, "index": {" ".join(key): row for key, row in indexed.items()}}
        Path(options.json).write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
