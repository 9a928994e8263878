"""Requests at a time through `framesift proxy`: how many are answered, how soon, and the memory of its process.

    python benchmarks/proxy.py VIDEO [--requests 100] [--cores 2]

The upstream is a stand-in that replies at once. The video is indexed first. `text` has no video, `direct` is the same
without the proxy; `named` names the video in a folder, `data URL` holds all of it. Every question is different.
"""

import argparse
import base64
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

from helpers.upstream import Upstream

AT_A_TIME = (1, 10, 50)
CLIENT = httpx.Client(timeout=600, limits=httpx.Limits(max_connections=None))


def memory_mb(process, field):
    lines = Path(f"/proc/{process.pid}/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith(field)).split()[1]) / 1024


def ask(url, content):
    started = time.perf_counter()
    headers = {"content-type": "application/json"}
    reply = CLIENT.post(f"{url}/chat/completions", content=content, headers=headers)
    return time.perf_counter() - started, reply.status_code == 200 and bool(reply.json()["choices"])


def measure(url, at_a_time, requests, body):
    with ThreadPoolExecutor(at_a_time) as pool:
        started = time.perf_counter()
        rows = list(pool.map(lambda k: ask(url, body(k)), range(requests)))
    took, seconds = time.perf_counter() - started, sorted(second for second, _ in rows)
    lost = sum(not is_answered for _, is_answered in rows)
    return requests, lost, statistics.median(seconds), seconds[-1], requests / took


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("video", type=Path)
    parser.add_argument("--requests", type=int, default=100)
    parser.add_argument("--cores", type=int, default=2)
    args = parser.parse_args()
    data = base64.b64encode(args.video.read_bytes()).decode()

    def body(url):
        def made(k):
            video = [{"type": "video_url", "video_url": {"url": url}}] if url else []
            content = [*video, {"type": "text", "text": f"Where is person number {k}?"}]
            message = {"role": "user", "content": content}
            return json.dumps({"model": "reader-7b", "messages": [message]}).encode()

        return made

    os.sched_setaffinity(0, set(range(args.cores)))
    with Upstream() as upstream, tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "framesift", "proxy", str(args.video.parent), "--upstream", upstream.url]
        command += ["--port", "0", "--json", "--store", folder, "--encoder", "offline", "--budget", "8"]
        process = subprocess.Popen([*command, "--set", "speech=none"], stdout=subprocess.PIPE, text=True)  # noqa: S603 (our own)
        try:
            output = ""
            while "}" not in output:
                output += process.stdout.readline()
            proxy = json.loads(output)["url"]
            for url in (args.video.name, f"data:video/mp4;base64,{data}"):  # indexed and transcribed
                assert ask(proxy, body(url)(0))[1]
            print(
                "| request | at a time | requests | lost | median s | longest s | per second | memory MB, now | most |"
            )
            print("|---|---:|---:|---:|---:|---:|---:|---:|---:|")
            kinds = {"direct": (upstream.url, ""), "text": (proxy, ""), "named": (proxy, args.video.name)}
            for name, (server, url) in (kinds | {"data URL": (proxy, f"data:video/mp4;base64,{data}")}).items():
                for at_a_time in AT_A_TIME:
                    row = measure(server, at_a_time, args.requests, body(url))
                    memory = [memory_mb(process, field) for field in ("VmRSS", "VmHWM")]
                    values = [*(f"{value:.3g}" for value in row), *(f"{value:.0f}" for value in memory)]
                    print(f"| {name} | {at_a_time} | {' | '.join(values)} |", flush=True)
        finally:
            process.terminate()
            process.wait()


if __name__ == "__main__":
    main()
