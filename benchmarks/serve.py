"""Changing a knob on the page: how long until an hour of video is redrawn, against asking the command line again.

    python benchmarks/serve.py [--folder DIR] [--runs 7] [--json FILE]

An hour of 360p with 1200 subtitles is made and indexed once in --folder (a temporary one by default). Then, for each
knob: `page` is from the change in a headless Chromium until cards and timeline show the new frames; `request` is the
server's share of it, the answer to POST /api/videos/ID/view; `pictures` until the last of the new small pictures that
are in sight is there, the first time they are asked for; `command` is `framesift select --no-exhibit` as a process of
its own on the same index. Median of the runs, the ways taking turns.
"""

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from contextlib import contextmanager
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parent.parent / "tests" / "exhibit"))

HOUR_S = 3600
QUESTION = "Why does the narrator stop at the bridge, and what colour is the boat?"
WORDS = "the narrator bridge boat river red blue stops because walks rain station morning market looks answer door".split()
KNOBS = {
    "budget 32 → 16": ([("gcr", 32)], [("gcr", 16)]),
    "budget 16 → 64": ([("gcr", 16)], [("gcr", 64)]),
    "method gcr → mmr": ([("gcr", 32)], [("mmr", 32)]),
    "gcr beside uniform": ([("gcr", 32)], [("gcr", 32), ("uniform", 32)]),
}


def make_film(folder):
    """An hour of pictures, a line of subtitles every three seconds."""
    import random

    from indexing import make_clip

    film = folder / "films" / "hour.mp4"
    if not film.exists():
        film.parent.mkdir(parents=True, exist_ok=True)
        make_clip(film.with_suffix(".part.mp4"), 360, 3, HOUR_S).rename(film)
    rng = random.Random(0)

    def at(second):
        return f"{second // 3600:02d}:{second // 60 % 60:02d}:{second % 60:02d},000"

    lines = []
    for k in range(HOUR_S // 3):
        words = " ".join(rng.choices(WORDS, k=8))
        lines.append(f"{k + 1}\n{at(3 * k)} --> {at(3 * k + 2)}\n{words}, line {k}.\n")
    film.with_suffix(".srt").write_text("\n".join(lines), encoding="utf-8")
    return film


@contextmanager
def server(folder):
    command = [sys.executable, "-m", "framesift.cli", "serve", str(folder / "films"), "--port", "0", "--json"]
    process = subprocess.Popen([*command, "--store", str(folder / "store")], stdout=subprocess.PIPE, text=True)
    try:
        told = ""
        while "}" not in told:
            told += process.stdout.readline()
        yield json.loads(told)["url"]
    finally:
        process.terminate()
        process.wait()


def call(url, body=None):
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url, data, {"content-type": "application/json"}, method="POST" if data else "GET")
    with urllib.request.urlopen(request) as reply:
        return json.load(reply)


def wait_until_ready(url):
    video = call(f"{url}api/videos")["videos"][0]["id"]
    urllib.request.urlopen(urllib.request.Request(f"{url}api/videos/{video}/index", b"", method="POST")).close()
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
        command = [sys.executable, "-m", "framesift.cli", "select", str(folder / "films" / "hour.mp4"), "-q", QUESTION]
        command += ["--budget", str(budget), "--method", method, "--no-exhibit", "--store", str(folder / "store")]
        subprocess.run(command, check=True, capture_output=True)
    return time.perf_counter() - started


def by_page(page, lanes):
    """The page's own marks: from the knob's change to the redraw, and to the last picture in sight."""
    return page.evaluate("(lanes) => window.framesift.measure(lanes)", [list(lane) for lane in lanes])


def measure(folder, runs):
    from browser_pages import open_browser

    rows = {}
    with server(folder) as url, open_browser() as browser:
        video = wait_until_ready(url)
        page = browser.new_context(viewport={"width": 1280, "height": 900}, bypass_csp=True).new_page()
        page.goto(f"{url}video/{video}?measure#{json.dumps({'question': QUESTION, 'methods': ['gcr'], 'budget': 32})}")
        page.wait_for_selector(".card")
        for name, (before, after) in KNOBS.items():
            times = {"page": [], "pictures": [], "request": [], "command": []}
            for _ in range(runs):
                by_page(page, before)
                drawn = by_page(page, after)
                times["page"].append(drawn["drawn_s"])
                times["pictures"].append(drawn["pictures_s"])
                times["request"].append(by_request(url, video, after))
                times["command"].append(by_command(folder, after))
            # A picture is decoded once and then kept, so only the first time tells.
            rows[name] = {way: values[0] if way == "pictures" else statistics.median(values) for way, values in times.items()}
            print(name, {way: f"{value:.3f}" for way, value in rows[name].items()}, file=sys.stderr)
    return rows


def table(rows):
    lines = ["| knob | request | page redrawn | `framesift select` | ratio | new pictures in sight, first time |"]
    lines.append("|---|---:|---:|---:|---:|---:|")
    for name, row in rows.items():
        ratio = row["command"] / row["page"]
        lines.append(
            f"| {name} | {1000 * row['request']:.0f} ms | {1000 * row['page']:.0f} ms | {row['command']:.1f} s | "
            f"{ratio:.0f}× | {row['pictures']:.1f} s |"
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
        make_film(folder)
        rows = measure(folder, args.runs)
    print(f"{os.cpu_count()} cores, {platform.system()}, an hour of 360p, 1200 subtitles, median of {args.runs}\n")
    print(table(rows))
    if args.json:
        args.json.write_text(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()
