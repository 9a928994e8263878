"""Faults of processes: commands that are killed at a random moment and started again, and several at the same time.

Every command ends with the same files as one that was not disturbed; see `fault_tries` for what a try is.
"""

import contextlib
import http.client
import io
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
import traceback
import urllib.request
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from framesift._utils.files import is_temporary
from helpers.clips import make_clip
from helpers.fault_tries import Fault, Try, rng_of
from helpers.plugin_packages import write_package

ENCODER = "paused-grid"
PAUSE_S = 0.004  # a frame
SECONDS = 200  # of a video: one part of its index is stored before its end
OF_THE_RUN = {"seconds", "run", "peak_memory_bytes", "finished_s"}  # fields of a result row that differ between runs


def install_encoder(folder: Path) -> Path:
    """Create a folder for sys.path with the encoder `paused-grid`, as an installed package has it."""
    return write_package(folder, "paused", f"[framesift.encoders]\n{ENCODER} = helpers.encoders:PausedGrid\n")


class Command:
    """A command on a folder: its words, and the result that it leaves there."""

    def __init__(self, folder: Path, words: Callable[[Path], list[str]], result: Callable[[Path], Any]) -> None:
        self.folder, self.words, self.result = folder, words, result
        self.packages = install_encoder(folder / "packages")
        started = time.monotonic()
        self.finish(folder / "undisturbed")
        self.seconds = time.monotonic() - started
        self.expected = result(folder / "undisturbed")
        self.files = names(folder / "undisturbed")

    def start(self, work: Path) -> subprocess.Popen[str]:
        work.mkdir(exist_ok=True)
        path = os.pathsep.join([str(self.packages), *(place for place in sys.path if place)])
        environment = os.environ | {"PYTHONPATH": path, "PAUSE_S": str(PAUSE_S)}
        command = [sys.executable, "-m", "framesift", *self.words(work)]
        with (self.folder / "output.txt").open("w") as output:
            return subprocess.Popen(command, env=environment, stdout=output, stderr=subprocess.PIPE, text=True)

    def finish(self, work: Path) -> None:
        """Run the command to its end."""
        process = self.start(work)
        errors = process.communicate()[1]
        check_errors(errors)
        if process.returncode:
            raise Fault("lost", f"exit {process.returncode}: {errors[-2000:]}")

    def check(self, work: Path) -> None:
        """Compare what is there with what an undisturbed command leaves, byte for byte."""
        found = self.result(work)
        if found.keys() != self.expected.keys():
            raise Fault("lost", f"{sorted(found.keys() ^ self.expected.keys())[:5]} on one side only")
        if different := [name for name in found if found[name] != self.expected[name]]:
            raise Fault("poisoned", f"{different[:5]} differ")
        if more := names(work) - self.files:
            raise Fault("left behind", f"{sorted(more)[:5]}")


def names(folder: Path) -> set[str]:
    """The files of a folder; those of a journal and locks have no fixed number."""
    paths = (path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file() and not is_lock(path))
    return {name for name in paths if not name.endswith((".jsonl", ".log"))}


def is_lock(path: Path) -> bool:
    """Whether a file is a lock: a worker whose driver was killed removes its own within a second."""
    return path.name.startswith(".lock-")


def check_errors(errors: str) -> None:
    if "Traceback" in errors or "Fatal Python error" in errors:
        raise RuntimeError(errors[-4000:])


def kill(process: subprocess.Popen[str], number: int, after_s: float) -> bool:
    """Kill a process after some seconds, every second time with SIGTERM; whether it was still running."""
    try:
        errors = process.communicate(timeout=after_s)[1]
        return False
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGKILL if number % 2 else signal.SIGTERM)
        errors = process.communicate()[1]
        check_errors(errors)
        return True


def killed(command: Command, number: int, seed: int) -> None:
    """Kill the command at a random moment, sometimes twice, then run it to its end and compare.

    `library` and `library --prune` are run after the kill and at the end.
    """
    rng = rng_of("kill", number, seed)
    work = command.folder / "work"
    for _ in range(rng.choice((1, 1, 2))):
        while not kill(command.start(work), number, rng.uniform(0.05, command.seconds)):
            shutil.rmtree(work)  # it ended before
        maintain(work)
    command.finish(work)
    maintain(work)
    remove_unfinished(work)
    command.check(work)


def maintain(work: Path) -> None:
    """Let `library` and `library --prune` go over the store: nothing is damaged and nothing is removed."""
    before = {path for path in work.rglob("*") if path.is_file() and not is_lock(path)}
    if failed := [row for row in library(work)["indexes"] if row["problem"] not in ("", "unfinished")]:
        raise Fault("poisoned", f"library: {failed}")
    if removed := library(work, "--prune")["removed"]:
        raise Fault("lost", f"library --prune removed {removed}")
    if missing := sorted(path for path in before if not path.is_file()):
        raise Fault("lost", f"library --prune removed {missing[:5]}")


def remove_unfinished(work: Path) -> None:
    """Let `library --prune` remove what killed processes were writing, as it does after a day."""
    for path in work.rglob("*"):
        if is_temporary(path) or is_temporary(path.parent):
            os.utime(path, (0, 0))
    library(work, "--prune")


def library(work: Path, *flags: str) -> Any:
    """Run `framesift library` on the store, in this process; what it prints."""
    from framesift.cli import main

    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        main(["library", *flags, "--json", "--store", str(work / "store")])
    return json.loads(printed.getvalue())


def together(command: Command, *, processes: int, number: int, seed: int) -> None:
    """Start the same command several times on the same store, a little apart; every second time one is killed."""
    rng = rng_of("together", number, seed)
    work = command.folder / "work"
    running = []
    try:
        for _ in range(processes):
            running.append(command.start(work))
            time.sleep(rng.choice((0.0, 0.0, 0.1, 0.5)))
        if number % 2:
            kill(running.pop(), number, rng.uniform(0.05, command.seconds))
        if removed := library(work, "--prune")["removed"]:
            raise Fault("lost", f"library --prune removed {removed}")
        for process in running:
            errors = process.communicate()[1]
            check_errors(errors)
            if process.returncode:
                raise Fault("lost", f"exit {process.returncode}: {errors[-2000:]}")
    finally:
        for process in running:
            process.kill()
    command.finish(work)
    maintain(work)
    remove_unfinished(work)
    command.check(work)


def payloads(work: Path) -> dict[str, Any]:
    """The bytes of every index and the events, by path."""
    paths = [*work.rglob("index.safetensors"), *work.rglob("events*.json")]
    return {path.relative_to(work).as_posix(): path.read_bytes() for path in paths}


def rows(work: Path) -> dict[str, Any]:
    """The result rows without what depends on the moment, by question and setting; and the indexes."""
    found = payloads(work)
    for path in (work / "out").rglob("*.jsonl"):
        for line in path.read_text(encoding="utf-8").splitlines():
            row = json.loads(line)
            if "item_id" in row:
                key = f"{row['item_id']} {row['method']}"
                if key in found:
                    raise Fault("poisoned", f"{key} has two rows")
                found[key] = {name: value for name, value in row.items() if name not in OF_THE_RUN}
    return found


def index(folder: Path) -> Command:
    clip = make_clip(folder / "clip.mkv", seconds=SECONDS, fps=1)
    return Command(folder, lambda work: ["index", str(clip), *_stored(work)], payloads)


def corpus(folder: Path) -> Command:
    (folder / "videos").mkdir()
    for k in range(4):
        make_clip(folder / "videos" / f"{k}.mkv", seconds=60, fps=1, seed=k)
        (folder / "videos" / f"{k}.srt").write_text("1\n00:00:02,000 --> 00:00:04,000\nThe coffee is cold\n")
    words = ["corpus", "index", str(folder / "videos"), "--workers", "2", "--manifest"]
    return Command(folder, lambda work: [*words, str(work / "manifest.parquet"), *_stored(work)], payloads)


def bench(folder: Path) -> Command:
    lines = []
    for k in range(3):
        make_clip(folder / f"{k}.mkv", seconds=40, fps=1, seed=k)
        question = {"video": f"{k}.mkv", "question": "Cold?", "options": ["yes", "no"], "answer": "A"}
        lines += [json.dumps(question | {"id": f"{k}-{n}"}) for n in range(3)]
    (folder / "own.jsonl").write_text("\n".join(lines))
    plan = "methods: [gcr, uniform]\nbudgets: [4]\ntext_modes: [none]\nreaders: {Small: similarity}\nevents: none\n"
    (folder / "plan.yaml").write_text(plan + f"datasets: {{{folder / 'own.jsonl'}: null}}\n")
    words = ["bench", "run", str(folder / "plan.yaml")]
    return Command(folder, lambda work: [*words, *_stored(work), "--out", str(work / "out")], rows)


class Serving(Command):
    """A server that is asked to index its videos; its result is complete when all of them are indexed."""

    def start(self, work: Path) -> subprocess.Popen[str]:
        process = super().start(work)
        threading.Thread(target=self._request, args=(process,), daemon=True).start()
        return process

    def finish(self, work: Path) -> None:
        process = super().start(work)
        try:
            if not self._request(process, wait=True):
                raise Fault("lost", f"the server does not answer (exit {process.poll()})")
        finally:
            process.send_signal(signal.SIGTERM)
            errors = process.communicate()[1]
        check_errors(errors)

    def _request(self, process: subprocess.Popen[str], *, wait: bool = False) -> bool:
        """Queue every video, and wait until they are indexed; False if the server ends before."""
        while "(Ctrl+C" not in (text := (self.folder / "output.txt").read_text()):
            if process.poll() is not None:
                return False
            time.sleep(0.02)
        try:
            url = next(word for word in text.split() if word.startswith("http")).rstrip("/")
            videos = [video["id"] for video in _json(f"{url}/api/videos")["videos"]]
            for video in videos:
                _json(f"{url}/api/videos/{video}/index", method="POST")
            while wait and not all(_json(f"{url}/api/videos/{video}")["ready"] for video in videos):
                time.sleep(0.05)
            return True
        except (OSError, http.client.HTTPException, ValueError):
            if wait:
                traceback.print_exc()
            return False


def _json(url: str, method: str = "GET") -> Any:
    request = urllib.request.Request(url, method=method, headers={"Content-Type": "application/json"})  # noqa: S310
    with urllib.request.urlopen(request, timeout=120) as answer:  # noqa: S310
        return json.load(answer)


def serve(folder: Path) -> Command:
    (folder / "videos").mkdir()
    for k in range(3):
        make_clip(folder / "videos" / f"{k}.mkv", seconds=60, fps=1, seed=k)
    words = ["serve", str(folder / "videos"), "--port", "0", "--set", "speech=none"]
    return Serving(folder, lambda work: [*words, *_stored(work)], payloads)


def _stored(work: Path) -> list[str]:
    return ["--encoder", ENCODER, "--set", f"store={work / 'store'}"]


def kills(make: Callable[[Path], Command], folder: Path) -> Try:
    return partial(in_new_folder, make(folder), killed)


def several(make: Callable[[Path], Command], processes: int, folder: Path) -> Try:
    return partial(in_new_folder, make(folder), partial(together, processes=processes))


def in_new_folder(command: Command, attempt: Callable[..., None], number: int, seed: int) -> None:
    shutil.rmtree(command.folder / "work", ignore_errors=True)
    attempt(command, number=number, seed=seed)


PROCESS_TRIES: dict[str, Callable[[Path], Try]] = {
    "kill-index": partial(kills, index),
    "kill-corpus": partial(kills, corpus),
    "kill-bench": partial(kills, bench),
    "kill-serve": partial(kills, serve),
    "processes-2-index": partial(several, index, 2),
    "processes-4-index": partial(several, index, 4),
    "processes-2-corpus": partial(several, corpus, 2),
    "processes-4-corpus": partial(several, corpus, 4),
}
