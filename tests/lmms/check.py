"""lmms-eval's own command line with our plug-in, end to end: what the inner model saw, and the score that came out.

`make test-lmms` runs this where lmms-eval is installed. The inner models are lmms-eval's own: its clients of
OpenAI-type servers, before a server that checks and keeps every request, and its LLaVA with tiny random weights.
Nothing is downloaded.
"""

import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from film_task import (
    MAX_NEW_TOKENS,
    POST,
    PRE,
    QUESTIONS,
    SAID,
    SCENES,
    SECONDS,
    write_film,
    write_subtitles,
    write_tasks,
)
from tiny_llava import save_llava

from helpers.strict_server import StrictServer

CAPTION = re.compile(r"Frame (\d+) \[0:(\d\d):(\d\d\.\d{3})\]:")
OFFLINE = {
    "HF_HUB_OFFLINE": "1",
    "HF_DATASETS_OFFLINE": "1",
    "HF_EVALUATE_OFFLINE": "1",
    "TRANSFORMERS_OFFLINE": "1",
    "LMMS_IMAGE_ENCODE_FORMAT": "JPEG",
    "OPENAI_API_KEY": "none",
}


class Harness:
    """lmms-eval's command line, and the server that its models ask."""

    def __init__(self, folder, server):
        self.folder, self.server = folder, server
        self.film = folder / "films" / "film.mp4"
        self.film.parent.mkdir()
        write_film(self.film)
        write_subtitles(folder / "subtitles" / "film.srt")
        self.tasks = write_tasks(folder / "tasks", self.film)
        self.runs = 0

    def evaluate(self, task, model_args, *args):
        """The task's results as lmms-eval wrote them, the requests that came, and the choices we recorded."""
        self.runs += 1
        out = self.folder / f"out{self.runs}"
        record = self.folder / f"record{self.runs}.jsonl"
        given = [*model_args, f"store={self.folder / 'store'}", f"record={record}", "encoder=offline"]
        command = [sys.executable, "-m", "lmms_eval", "--model", "framesift", "--model_args", ",".join(given)]
        command += ["--tasks", task, "--include_path", str(self.folder / "tasks"), "--batch_size", "1"]
        command += ["--log_samples", "--output_path", str(out), *args]
        self.server.requests.clear()
        env = {**os.environ, **OFFLINE, "HF_HOME": str(self.folder / "hf"), "HOME": str(self.folder)}
        done = subprocess.run(command, env=env, cwd=self.folder, capture_output=True, text=True)
        self.output = done.stdout + done.stderr
        files = list(out.rglob("*_results.json"))
        # lmms-eval ends with 0 even after an error.
        if done.returncode or len(files) != 1:
            raise SystemExit(f"lmms-eval ended with {done.returncode} and {len(files)} results:\n{self.output[-9000:]}")
        rows = [json.loads(line) for line in record.read_text(encoding="utf-8").splitlines()]
        return json.loads(files[0].read_text(encoding="utf-8")), list(self.server.requests), rows

    def client(self, inner):
        """Arguments of a model that asks the server."""
        return [f"inner={inner}", "model=reader-7b", f"base_url={self.server.url}", "timeout=60", "max_retries=1"]


def seen(request):
    """The frames' times and all other words of a request, in which every picture stands after its own line."""
    (message,) = request["messages"]
    parts = message["content"]
    pictures = [k for k, part in enumerate(parts) if part["type"] == "image_url"]
    first, last = pictures[0] - 1, pictures[-1] + 1
    assert pictures == list(range(first + 1, last, 2)), [part["type"] for part in parts]
    marks = [CAPTION.fullmatch(parts[k - 1]["text"]) for k in pictures]
    assert [int(mark[1]) for mark in marks] == list(range(1, len(pictures) + 1))
    times = [60 * int(mark[2]) + float(mark[3]) for mark in marks]
    assert times == sorted(set(times))
    return times, "".join(part["text"] for part in parts[:first] + parts[last:])


def score(results, task):
    return results["results"][task]["film_score,none"]


def check_gcr(harness, task, inner):
    folder = harness.folder / "subtitles"
    results, requests, rows = harness.evaluate(task, [*harness.client(inner), "budget=6", f"subtitles={folder}"])
    assert len(requests) == len(rows) == len(QUESTIONS)
    asked = {prompt(text, options): text for text, options, _ in QUESTIONS}
    chosen = {row["question"]: row for row in rows}
    for request in requests:
        assert request["max_tokens"] == MAX_NEW_TOKENS and request["model"] == "reader-7b"
        times, words = seen(request)
        assert words in asked, words
        row = chosen.pop(asked[words])
        assert len(times) == 6 and times == [round(time_s, 3) for time_s in row["times_s"]]
        assert tuple(row["options"]) in {options for _, options, _ in QUESTIONS}
        if "launch" in row["question"]:
            start, end, said = SAID[1]
            ground = [time_s for time_s, text in zip(row["times_s"], row["texts"], strict=True) if text == said]
            assert ground and all(start - 1 <= time_s <= end + 1 for time_s in ground), row
    assert not chosen
    assert score(results, task) == 0.75, results["results"]
    assert results["config"]["model"] == "framesift"


def check_uniform(harness, task, inner):
    model_args = [*harness.client(inner), "budget=4", "method=uniform", "text_mode=none"]
    _, requests, rows = harness.evaluate(task, model_args, "--limit", "1")
    assert len(requests) == len(rows) == 1
    times, _ = seen(requests[0])
    assert [time_s // SECONDS for time_s in times] == list(range(len(SCENES))), times
    assert not any(rows[0]["texts"])


def check_pictures(harness, task, inner):
    """A model in lmms-eval's own process: it logs the first prompt as its chat template wrote it."""
    checkpoint = save_llava(harness.folder / "llava")
    model_args = [f"inner={inner}", f"pretrained={checkpoint}", "device=cpu", "device_map=cpu", "budget=5"]
    results, _, rows = harness.evaluate(task, model_args, "--verbosity", "DEBUG")
    frames = re.search(
        r"user: ((?:Frame \d+ \[[\d:.]+\]:<image>)+)" + re.escape(prompt(*QUESTIONS[0][:2])), harness.output
    )
    assert frames, harness.output[-9000:]
    assert frames[1].count("<image>") == 5 and len(rows) == len(QUESTIONS)
    assert "Error" not in harness.output and 0.0 <= score(results, task) <= 1.0


def prompt(text, options):
    lines = [f"{letter}. {option}" for letter, option in zip("ABC", options, strict=True)]
    return PRE + "\n".join([text, *lines]) + POST


def main():
    with tempfile.TemporaryDirectory(prefix="framesift-lmms-") as name, StrictServer(owner="stub") as server:
        harness = Harness(Path(name), server)
        for check, task, inner in (
            (check_gcr, "film_auto", "openai"),
            (check_gcr, "film_messages", "async_openai"),
            (check_uniform, "film_auto", "openai"),
            (check_pictures, "film_auto", "llava_hf"),
        ):
            check(harness, task, inner)
            print(f"{check.__name__}: {task} with {inner}: ok", flush=True)


if __name__ == "__main__":
    main()
