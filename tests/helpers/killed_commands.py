"""Faults of processes: commands that are killed at a random moment and started again, and several at the same time.

Every command ends with the same files as one that was not disturbed; see `fault_tries` for what a try is.
"""

import contextlib
import io
import json
import os
import shutil
import signal
import subprocess
import threading
import time
import traceback
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import httpx

from framesift._utils.files import is_temporary
from helpers.batch_videos import framesift, install_encoder
from helpers.clips import make_clip
from helpers.fault_tries import Fault, Try, rng_of

ENCODER = "paused-grid"
PAUSE_S = 0.004  # a frame
SECONDS = 200  # of a video: one part of its index is stored before its end
OF_THE_RUN = {"seconds", "run", "peak_memory_bytes", "finished_s"}  # fields of a result row that differ between runs


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
        with (self.folder / "output.txt").open("w") as output:
            return framesift(*self.words(work), path=self.packages, stdout=output, PAUSE_S=str(PAUSE_S))

    def finish(self, work: Path) -> None:
        """Run the command to its end."""
        end(self.start(work))

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


def end(process: subprocess.Popen[str]) -> None:
    """Wait until a process ends, which must be with success."""
    errors = process.communicate()[1]
    check_errors(errors)
    if process.returncode:
        raise Fault("lost", f"exit {process.returncode}: {errors[-2000:]}")


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
    complete(command, work)


def complete(command: Command, work: Path) -> None:
    """Run the command to its end, let `library --prune` remove what killed processes were writing, and compare."""
    command.finish(work)
    maintain(work)
    for path in work.rglob("*"):
        if is_temporary(path) or is_temporary(path.parent):
            os.utime(path, (0, 0))  # it is removed after a day
    library(work, "--prune")
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
            end(process)
    finally:
        for process in running:
            process.kill()
    complete(command, work)


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
            with httpx.Client(base_url=url, timeout=120) as client:
                videos = [video["id"] for video in client.get("/api/videos").json()["videos"]]
                for video in videos:
                    client.post(f"/api/videos/{video}/index").raise_for_status()
                while wait and not all(client.get(f"/api/videos/{video}").json()["ready"] for video in videos):
                    time.sleep(0.05)
            return True
        except (httpx.HTTPError, ValueError):
            if wait:
                traceback.print_exc()
            return False


def serve(folder: Path) -> Command:
    (folder / "videos").mkdir()
    for k in range(3):
        make_clip(folder / "videos" / f"{k}.mkv", seconds=60, fps=1, seed=k)
    words = ["serve", str(folder / "videos"), "--port", "0", "--set", "speech=none"]
    return Serving(folder, lambda work: [*words, *_stored(work)], payloads)


def _stored(work: Path) -> list[str]:
    return ["--encoder", ENCODER, "--set", f"store={work / 'store'}"]


def tried(make: Callable[[Path], Command], fault: Callable[..., None], folder: Path) -> Try:
    """A try of a fault of this command, in a new folder each time."""
    command = make(folder)

    def attempt(number: int, seed: int) -> None:
        shutil.rmtree(folder / "work", ignore_errors=True)
        fault(command, number=number, seed=seed)

    return attempt


PROCESS_TRIES: dict[str, Callable[[Path], Try]] = {
    **{f"kill-{make.__name__}": partial(tried, make, killed) for make in (index, corpus, bench, serve)},
    **{
        f"processes-{count}-{make.__name__}": partial(tried, make, partial(together, processes=count))
        for make in (index, corpus)
        for count in (2, 4)
    },
}
