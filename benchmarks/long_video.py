"""Ten hours of video: memory beyond the model while it is indexed and asked about, and the time until its page is open.

    python benchmarks/long_video.py FILM [--hours 10] [--folder DIR] [--json FILE]

The packets of FILM are repeated, and so are the lines of an .srt file beside it. Every stage is a process of its own,
in which the offline encoder is loaded and has encoded images and text before. Peak is the largest resident memory of
the stage less what the process had before it; the memory of FFmpeg and of the allocator counts. "page" is the time from
the navigation of a headless Chromium until the page shows the question, after a first load; "answer" until it shows the
frames for one.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

QUESTION = "Why does the woman leave the bridge? A) she is cold B) she is angry"


def repeat(film, path, hours):
    """Write the film's packets again and again, with the text beside it."""
    import av

    from framesift.text.subtitles.reading import read_events

    with av.open(str(film)) as source, av.open(str(path), "w") as out:
        streams = [stream for stream in source.streams if stream.type in ("video", "audio")]
        targets = {stream.index: out.add_stream_from_template(stream) for stream in streams}
        packets = [(p, p.stream.index, p.pts, p.dts) for p in source.demux(streams) if p.size]
        length_s = source.duration / 1e6
        turns = -(-3600 * hours // int(length_s))
        for turn in range(turns):
            for packet, index, pts, dts in packets:
                shift = round(turn * length_s / packet.time_base)
                packet.pts, packet.dts, packet.stream = pts + shift, dts + shift, targets[index]
                out.mux(packet)
    beside = Path(film).with_suffix(".srt")
    events = read_events(beside) if beside.exists() else []
    lines = [
        f"{at(turn * length_s + event.start_s)} --> {at(turn * length_s + event.end_s)}\n{event.text}\n"
        for turn in range(turns)
        for event in events
    ]
    path.with_suffix(".srt").write_text("\n".join(f"{n}\n{line}" for n, line in enumerate(lines, 1)), encoding="utf-8")


def at(seconds):
    whole = int(seconds)
    return f"{whole // 3600:02d}:{whole // 60 % 60:02d}:{whole % 60:02d},{int(1000 * (seconds - whole)):03d}"


def measure(stage, path, store):
    """Run one stage here; its seconds, and MiB beyond the model."""
    import numpy as np

    import framesift as fs
    from framesift._utils.machine import release_free_memory
    from framesift.encoders.registry import get_encoder
    from indexing import clocks, memory_mib

    encoder = get_encoder("offline")
    encoder.encode_images([np.zeros((190, 426, 3), np.uint8)] * encoder.batch_size)
    encoder.encode_texts([QUESTION])
    release_free_memory()
    before = memory_mib("VmRSS")
    Path("/proc/self/clear_refs").write_text("5")  # the peak is counted from here
    wall, cpu = clocks()
    if stage == "index":
        fs.index(path, "offline", store=store)
    else:
        video = fs.open(path, encoder="offline", store=store)
        if stage == "select":
            video.select(QUESTION)
        elif stage == "ask":
            video.ask(QUESTION, reader="similarity")
    row = {"wall": time.perf_counter() - wall, "cpu": time.process_time() - cpu}
    return row | {"peak": memory_mib("VmHWM") - before}


def measure_page(folder):
    """Seconds until the page of the video shows its question field, and until it shows frames for a question."""
    from serve import server, wait_until_ready

    from helpers.browser import open_browser

    with server(folder) as url, open_browser() as browser:
        video = wait_until_ready(url)
        page = browser.new_context(viewport={"width": 1280, "height": 900}).new_page()
        times = []
        for _ in range(2):  # the first load reads the index
            started = time.perf_counter()
            page.goto(f"{url}video/{video}")
            page.locator("#question").wait_for()
            times.append(time.perf_counter() - started)
        started = time.perf_counter()
        page.goto(f"{url}video/{video}?q={QUESTION.replace(' ', '+')}&n=8")
        page.locator(".card").first.wait_for()
        return {"first": times[0], "page": times[1], "answer": time.perf_counter() - started}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("film")
    parser.add_argument("--hours", type=int, default=10)
    parser.add_argument("--folder", type=Path, help="keep the video and its index here, and use those already there")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--run", nargs=2, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.run:
        print(json.dumps(measure(*args.run, args.film)))
        return
    with tempfile.TemporaryDirectory() as temporary:
        folder = (args.folder or Path(temporary)).absolute()
        path, store = folder / "videos" / f"{args.hours}h.mp4", folder / "store"
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            repeat(args.film, path, args.hours)
        rows = {}
        print("| stage | wall s | CPU s | MiB beyond the model |\n|---|---:|---:|---:|")
        for stage in ("index", "open", "select", "ask"):
            command = [sys.executable, __file__, str(store), "--run", stage, str(path)]
            done = subprocess.run(command, capture_output=True, text=True, check=True)  # noqa: S603 (our own)
            rows[stage] = row = json.loads(done.stdout.splitlines()[-1])
            print(f"| {stage} | {row['wall']:.1f} | {row['cpu']:.1f} | {row['peak']:.0f} |", flush=True)
        rows["page"] = page = measure_page(folder)
        print("\n" + ", ".join(f"{name}: {value:.2f} s" for name, value in page.items()))
    if args.json:
        args.json.write_text(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()
