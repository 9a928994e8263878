"""Time to redraw an hour of video after a changed setting on the page, against running the command line again.

    python benchmarks/serve.py [--folder DIR] [--runs 7] [--json FILE]

An hour of 360p with 1200 subtitles is generated and indexed once in --folder (a temporary one by default). For each
setting, `page` is the time from the change in a headless Chromium until cards and timeline show the new frames;
`request` is the server's share of it, the response to POST /api/videos/ID/view; `images` is the time until the last new
image in the window has loaded, when first requested; `command` is `framesift select --no-exhibit` as a new process on
the same index. Medians of the runs, interleaved.
"""

import argparse
import json
import os
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.parse
from contextlib import contextmanager
from pathlib import Path

import httpx

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

HOUR_S = 3600
QUESTION = "Why does the narrator stop at the bridge, and what colour is the boat?"
WORDS = ("narrator", "bridge", "boat", "river", "red", "blue", "stops", "because", "rain", "station", "market", "door")
SETTINGS = {
    "budget 32 → 16": ([("gcr", 32)], [("gcr", 16)]),
    "budget 16 → 64": ([("gcr", 16)], [("gcr", 64)]),
    "method gcr → mmr": ([("gcr", 32)], [("mmr", 32)]),
    "gcr beside uniform": ([("gcr", 32)], [("gcr", 32), ("uniform", 32)]),
}


def make_video(folder):
    """Write an hour of video with a subtitle every three seconds."""
    import random

    from indexing import make_clip

    video = folder / "videos" / "hour.mp4"
    if not video.exists():
        video.parent.mkdir(parents=True, exist_ok=True)
        part = video.with_suffix(".part.mp4")
        make_clip(part, "h264", 360, HOUR_S)
        part.rename(video)
    rng = random.Random(0)  # noqa: S311 (not for security)

    def at(second):
        return f"{second // 3600:02d}:{second // 60 % 60:02d}:{second % 60:02d},000"

    lines = []
    for k in range(HOUR_S // 3):
        words = " ".join(rng.choices(WORDS, k=8))
        lines.append(f"{k + 1}\n{at(3 * k)} --> {at(3 * k + 2)}\n{words}, line {k}.\n")
    video.with_suffix(".srt").write_text("\n".join(lines), encoding="utf-8")
    return video


@contextmanager
def server(folder):
    command = [sys.executable, "-m", "framesift", "serve", str(folder / "videos"), "--port", "0", "--json"]
    command += ["--store", str(folder / "store")]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)  # noqa: S603 (our own)
    try:
        output = ""
        while "}" not in output:
            output += process.stdout.readline()
        yield json.loads(output)["url"]
    finally:
        process.terminate()
        process.wait()


def call(url, body=None):
    reply = httpx.get(url) if body is None else httpx.post(url, json=body, timeout=60)
    return reply.raise_for_status().json()


def wait_until_ready(url):
    video = call(f"{url}api/videos")["videos"][0]["id"]
    call(f"{url}api/videos/{video}/index", {})
    while not call(f"{url}api/videos/{video}")["ready"]:
        time.sleep(1)
    return video


def body_of(lanes):
    return {"question": QUESTION, "budget": lanes[0][1], "methods": [method for method, _ in lanes]}


def by_request(url, video, lanes):
    started = time.perf_counter()
    call(f"{url}api/videos/{video}/view", body_of(lanes))
    return time.perf_counter() - started


def by_command(folder, lanes):
    started = time.perf_counter()
    for method, budget in lanes:
        command = [sys.executable, "-m", "framesift", "select", str(folder / "videos" / "hour.mp4"), "-q", QUESTION]
        command += ["--budget", str(budget), "--method", method, "--no-exhibit"]
        command += ["--set", f"store={folder / 'store'}"]
        subprocess.run(command, check=True, capture_output=True)  # noqa: S603 (our own)
    return time.perf_counter() - started


CHANGE_SETTING = """async ([methods, budget]) => {
  const find = (id) => document.getElementById(id);
  const redrawn = () => performance.getEntriesByName("redraw").length;
  const before = redrawn();
  const started = performance.now();
  find("budget").value = budget;
  find("method").value = methods[0];
  find("compare").value = methods[1] ?? "";
  find("method").dispatchEvent(new Event("change"));
  const frame = () => new Promise((resolve) => requestAnimationFrame(resolve));
  while (redrawn() === before) await new Promise((resolve) => setTimeout(resolve, 1));
  await frame();
  await frame();
  const drawn = performance.now() - started;
  const isVisible = (one) => one.getBoundingClientRect().top < innerHeight;
  while ([...document.querySelectorAll(".card img")].some((one) => isVisible(one) && !one.naturalWidth)) await frame();
  return [drawn / 1000, (performance.now() - started) / 1000];
}"""


def by_page(page, lanes):
    """Seconds from the change until the redraw is on screen, and until the visible images have loaded."""
    return page.evaluate(CHANGE_SETTING, [[method for method, _ in lanes], lanes[0][1]])


def measure(folder, runs):
    from helpers.browser import open_browser

    rows = {}
    shutil.rmtree(folder / "store" / ".serve" / "frames", ignore_errors=True)
    with server(folder) as url, open_browser() as browser:
        video = wait_until_ready(url)
        page = browser.new_context(viewport={"width": 1280, "height": 900}).new_page()
        page.goto(f"{url}video/{video}?{urllib.parse.urlencode({'q': QUESTION, 'n': 32})}")
        page.locator(".card").first.wait_for()
        for name, (before, after) in SETTINGS.items():
            times = {"page": [], "images": [], "request": [], "command": []}
            for _ in range(runs):
                by_page(page, before)
                drawn_s, images_s = by_page(page, after)
                times["page"].append(drawn_s)
                times["images"].append(images_s)
                times["request"].append(by_request(url, video, after))
                times["command"].append(by_command(folder, after))
            # An image is decoded once and then cached, so only the first run counts.
            rows[name] = {way: statistics.median(values) for way, values in times.items()}
            rows[name]["images"] = times["images"][0]
            print(name, {way: f"{value:.3f}" for way, value in rows[name].items()}, file=sys.stderr)
    return rows


def table(rows):
    lines = ["| setting | request | page redrawn | `framesift select` | ratio | new visible images, first time |"]
    lines.append("|---|---:|---:|---:|---:|---:|")
    for name, row in rows.items():
        ratio = row["command"] / row["page"]
        lines.append(
            f"| {name} | {1000 * row['request']:.0f} ms | {1000 * row['page']:.0f} ms | {row['command']:.1f} s | "
            f"{ratio:.0f}× | {row['images']:.1f} s |"
        )
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--runs", type=int, default=7)
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = (args.folder or Path(temporary)).absolute()
        make_video(folder)
        rows = measure(folder, args.runs)
    print(f"{os.cpu_count()} cores, {platform.system()}, an hour of 360p, 1200 subtitles, median of {args.runs}\n")
    print(table(rows))
    if args.json:
        args.json.write_text(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()
