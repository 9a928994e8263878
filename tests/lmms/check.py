"""lmms-eval's command line with the plug-in, end to end: what the inner model received, and the resulting score.

`make test-lmms` runs this where lmms-eval is installed. The inner models are lmms-eval's own: its clients of
OpenAI-type servers, with a server that validates and stores every request, and its LLaVA with tiny random weights.
Nothing is downloaded.
"""

import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from video_task import MAX_NEW_TOKENS, POST, PRE, QUESTIONS, SUBTITLES, write_subtitles, write_tasks, write_video

from helpers.strict_server import StrictServer
from helpers.tiny_readers import save_other

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
    """lmms-eval's command line, and the server of its models."""

    def __init__(self, folder, server):
        self.folder, self.server = folder, server
        self.video = folder / "videos" / "video.mp4"
        self.video.parent.mkdir()
        write_video(self.video)
        write_subtitles(folder / "subtitles" / "video.srt")
        self.tasks = write_tasks(folder / "tasks", self.video)
        self.runs = 0

    def evaluate(self, task, model_args, *args):
        """The results that lmms-eval wrote, the requests received, and the selections recorded."""
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
        """Arguments of a model that is a client of the server."""
        return [f"inner={inner}", "model=reader-7b", f"base_url={self.server.url}", "timeout=60", "max_retries=1"]


def frames_and_text(request):
    """The frames' times and all other text of a request, in which every image follows its caption."""
    (message,) = request["messages"]
    parts = message["content"]
    images = [k for k, part in enumerate(parts) if part["type"] == "image_url"]
    first, last = images[0] - 1, images[-1] + 1
    assert images == list(range(first + 1, last, 2)), [part["type"] for part in parts]
    captions = [CAPTION.fullmatch(parts[k - 1]["text"]) for k in images]
    assert [int(caption[1]) for caption in captions] == list(range(1, len(images) + 1))
    times = [60 * int(caption[2]) + float(caption[3]) for caption in captions]
    assert times == sorted(set(times))
    return times, "".join(part["text"] for part in parts[:first] + parts[last:])


def score(results, task):
    return results["results"][task]["video_score,none"]


def check_gcr(harness, task, inner):
    folder = harness.folder / "subtitles"
    results, requests, rows = harness.evaluate(task, [*harness.client(inner), "budget=6", f"subtitles={folder}"])
    assert len(requests) == len(rows) == len(QUESTIONS)
    asked = {prompt(question, options): question for question, options, _ in QUESTIONS}
    chosen = {row["question"]: row for row in rows}
    for request in requests:
        assert request["max_tokens"] == MAX_NEW_TOKENS and request["model"] == "reader-7b"
        times, text = frames_and_text(request)
        assert text in asked, text
        row = chosen.pop(asked[text])
        assert len(times) == 6 and times == [round(time_s, 3) for time_s in row["times_s"]]
        assert tuple(row["options"]) in {options for _, options, _ in QUESTIONS}
        if "launch" in row["question"]:
            start, end, line = SUBTITLES[1]
            ground = [time_s for time_s, text in zip(row["times_s"], row["texts"], strict=True) if text == line]
            assert ground and all(start - 1 <= time_s <= end + 1 for time_s in ground), row
    assert not chosen
    assert score(results, task) == 0.75, results["results"]
    assert results["config"]["model"] == "framesift"


def check_local_model(harness, task, inner):
    """A model in lmms-eval's own process: it logs the first prompt after its chat template."""
    checkpoint = harness.folder / "llava"
    save_other(checkpoint)
    model_args = [f"inner={inner}", f"pretrained={checkpoint}", "device=cpu", "device_map=cpu", "budget=5"]
    results, _, rows = harness.evaluate(task, model_args, "--verbosity", "DEBUG")
    frames = re.search(
        r"user\s((?:Frame \d+ \[[\d:.]+\]:<image>)+)" + re.escape(prompt(*QUESTIONS[0][:2])), harness.output
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
            (check_gcr, "video_auto", "openai"),
            (check_gcr, "video_messages", "async_openai"),
            (check_local_model, "video_auto", "llava_hf"),
        ):
            check(harness, task, inner)
            print(f"{check.__name__}: {task} with {inner}: ok", flush=True)


if __name__ == "__main__":
    main()
