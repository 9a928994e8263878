"""One frame per second out of H.264: wall time, CPU time and peak memory, compared with decord and OpenCV.

    python benchmarks/indexing.py [--seconds 60] [--runs 3] [--rows 360:0 720:3 …] [--hour] [--json FILE]

A row is height:B-frames. The clips are generated: panning textures, an object that crosses them, film grain, a cut
every seven seconds, x264's preset "faster" at CRF 23 with three reference frames. Twenty seconds are encoded and their
packets repeated. Each frame shows its number, so that "right" counts the frames that were on screen at their time (fast
and keyframes: that are the frame of their time). Every measurement runs in its own process, the variants alternate,
and the best run is reported, which reduces the influence of other processes. The clock starts after the imports and
stops when every frame is an RGB array of full size; peak memory is that of the whole process. --hour also indexes an
hour of 360p with the offline encoder and reports the memory beyond that of the loaded model.
decord and OpenCV must be installed: pip install decord opencv-python-headless.
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
ROWS = [f"{height}:{b_frames}" for height in SIZES for b_frames in (0, 3)]
VARIANTS = ("exact", "fast", "keyframes", "decord", "opencv")


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


def make_clip(path, height, b_frames, seconds):
    width, height = SIZES[height]
    with av.open(str(path), "w") as out:
        options = {"crf": "23", "preset": "faster", "bf": str(b_frames), "refs": "3"}
        stream = out.add_stream("libx264", rate=FPS, options=options)
        stream.width, stream.height, stream.pix_fmt, stream.thread_type = width, height, "yuv420p", "FRAME"
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
    return path


def by_framesift(path, variant):
    from framesift.video.frames import sample

    started = clocks()
    found = []
    for time_s, image in sample(path, 1.0, variant):
        found.append((time_s, read_number(image)))
    return found, started


def by_decord(path, _way):
    import decord

    started = clocks()
    reader = decord.VideoReader(path)
    rate, count = reader.get_avg_fps(), len(reader)
    found = []
    for k in range(int(count / rate) + 1):
        found.append((float(k), read_number(reader[min(round(k * rate), count - 1)].asnumpy())))
    return found, started


def by_opencv(path, _way):
    import cv2

    started = clocks()
    capture = cv2.VideoCapture(path)
    rate, count = capture.get(cv2.CAP_PROP_FPS), int(capture.get(cv2.CAP_PROP_FRAME_COUNT))
    wanted = {min(round(k * rate), count - 1): k for k in range(int(count / rate) + 1)}
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
    call = {"decord": by_decord, "opencv": by_opencv}.get(variant, by_framesift)
    found, (wall, cpu) = call(path, variant)
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    with av.open(path) as container:
        count = round(container.duration / 1_000_000 * FPS)
    if variant in ("exact", "decord", "opencv"):
        right = sum(number == min(round(k * FPS), count - 1) % (ENCODED_S * FPS) for k, (_, number) in enumerate(found))
    else:
        right = sum(number == round(time_s * FPS) % (ENCODED_S * FPS) for time_s, number in found)
    print(json.dumps({"wall": wall, "cpu": cpu, "peak": peak_mib(), "given": len(found), "right": right}))


def measure_index(path):
    """fs.index from end to end, and the second call, which finds the index."""
    import framesift as fs
    from framesift.encoders.registry import get_encoder

    encoder = get_encoder("offline")
    encoder.encode_images([np.zeros((360, 640, 3), np.uint8)] * encoder.batch_size)
    before = memory_mib("VmRSS")
    with tempfile.TemporaryDirectory() as store:
        wall, cpu = clocks()
        index = fs.index(path, "offline", 1.0, store=store)
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
        peak = peak_mib()
        again = time.perf_counter()
        fs.index(path, "offline", 1.0, store=store)
        again = time.perf_counter() - again
    row = {"wall": wall, "cpu": cpu, "peak": peak, "above": peak - before, "given": len(index), "again": again}
    print(json.dumps(row))


def memory_mib(name):
    line = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith(name))
    return int(line.split()[1]) / 1024


def peak_mib():
    """The peak since this program began; the usual figure counts what the parent held when it forked."""
    if Path("/proc/self/status").exists():
        return memory_mib("VmHWM")
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def measure(path, variant):
    command = [sys.executable, __file__, "--measure", str(path), variant]
    done = subprocess.run(command, capture_output=True, text=True, check=True)  # noqa: S603 (our own script)
    return json.loads(done.stdout.splitlines()[-1])


def best_of(results):
    return {**results[0], **{key: min(result[key] for result in results) for key in ("wall", "cpu", "peak")}}


def table(rows, seconds):
    yield "| clip | variant | wall s | CPU s | peak MiB | × real time | × decord | CPU × decord | × OpenCV | right |"
    yield "|---|---|---:|---:|---:|---:|---:|---:|---:|---:|"
    for row, results in rows.items():
        height, b_frames = row.split(":")
        name = f"{height}p, {'no' if b_frames == '0' else b_frames} B-frames"
        for variant, r in results.items():
            decord, opencv = results["decord"], results["opencv"]
            against = [decord["wall"] / r["wall"], decord["cpu"] / r["cpu"], opencv["wall"] / r["wall"]]
            yield (
                f"| {name} | {variant} | {r['wall']:.2f} | {r['cpu']:.2f} | {r['peak']:.0f} "
                f"| {seconds / r['wall']:.0f} "
                f"| {' | '.join(f'{times:.2f}' for times in against)} | {r['right']} of {r['given']} |"
            )


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--rows", nargs="+", default=ROWS, metavar="HEIGHT:B")
    parser.add_argument("--hour", action="store_true", help="also the peak memory on an hour of 360p")
    parser.add_argument("--json", metavar="FILE")
    parser.add_argument("--clips", metavar="FOLDER", help="keep the clips here and use those already there")
    parser.add_argument("--measure", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        path, variant = options.measure
        measure_index(path) if variant == "index" else measure_here(path, variant)
        return
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(options.clips or scratch)
        folder.mkdir(parents=True, exist_ok=True)
        rows = {}
        for row in options.rows:
            height, b_frames = map(int, row.split(":"))
            path = folder / f"{height}-{b_frames}-{options.seconds}.mp4"
            if not path.exists():
                make_clip(path, height, b_frames, options.seconds)
            turns = [{variant: measure(path, variant) for variant in VARIANTS} for _ in range(options.runs)]
            rows[row] = {variant: best_of([turn[variant] for turn in turns]) for variant in VARIANTS}
        print(f"{platform.processor() or platform.machine()}, {os.cpu_count()} cores, best of {options.runs}\n")
        print("\n".join(table(rows, options.seconds)))
        if options.hour:
            path = folder / "360-3-3600.mp4"
            if not path.exists():
                make_clip(path, 360, 3, 3600)
            rows["hour"] = {variant: measure(path, variant) for variant in ("exact", "fast", "keyframes")}
            for variant, r in rows["hour"].items():
                print(f"\nan hour of 360p, {variant}: {r['wall']:.1f} s, peak {r['peak']:.0f} MiB")
            r = rows["hour"]["index"] = measure(path, "index")
            print(
                f"\nan hour of 360p, indexed with the offline encoder: {r['wall']:.0f} s, {r['above']:.0f} MiB above "
                f"the loaded model; a second call {r['again']:.2f} s"
            )
    if options.json:
        Path(options.json).write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
