"""Faults tried in this process: mutated subtitles, videos and records, changing files, full and read-only disks.

A kind is a function that gets an empty folder and returns a try. A try gets a number and a seed, which decide all that
is random in it, and returns normally if the input was accepted. It raises FramesiftError for a sentence, `Fault` for
what must not happen although nothing was raised, and any other error as it comes.
"""

import contextlib
import errno
import json
import os
import random
import shutil
import sys
from collections.abc import Callable, Iterator
from dataclasses import asdict
from fractions import Fraction
from functools import partial
from pathlib import Path

import framesift as fs
from framesift.errors import FramesiftError
from framesift.store.fingerprint import fingerprint
from helpers.clips import Clip, make_clip
from helpers.encoders import GridEncoder
from helpers.mutations import Rng, mutate_bytes
from helpers.subtitle_files import FILES

Try = Callable[[int, int], None]
ROWS = (("json", "jsonl"), ("csv", "bytes"), ("yaml",), ("safetensors",))
MODERN = {"g": "10", "preset": "ultrafast"}
# By kind: the codec, its options, and the containers that take turns.
VIDEOS = {
    "h264": ("libx264", MODERN | {"bf": "2"}, ("mp4", "mkv")),
    "hevc": ("libx265", MODERN | {"x265-params": "log-level=none"}, ("mp4", "mkv")),
    "vp9": ("libvpx-vp9", {"g": "10", "deadline": "realtime", "cpu-used": "8"}, ("webm", "mp4")),
    "av1": ("libsvtav1", {"g": "10", "preset": "12"}, ("mp4", "mkv")),
    "ts": ("libx264", MODERN, ("ts", "mts")),
}


class Fault(Exception):
    """What must not happen. kind: lost, poisoned or left behind."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind


def rng_of(name: str, number: int, seed: int) -> Rng:
    return random.Random(f"{name} {seed} {number}")  # noqa: S311 (not a secret)


def subtitles(folder: Path) -> Try:
    """Mutated subtitle files of every text format are read, and their events written as JSON."""
    texts = {name: text.encode() for name, text in FILES.items()}

    def attempt(number: int, seed: int) -> None:
        rng = rng_of("subtitles", number, seed)
        name = list(texts)[number % len(texts)]
        mutated = texts[name] * rng.choice((1, 1, 1, 40))
        for _ in range(rng.choice((1, 1, 3))):
            _, mutated = mutate_bytes(mutated, rng)
        path = folder / f"film.{rng.choice(('srt', 'vtt', 'ass', 'sub', 'txt', 'smi', 'xml', 'json', 'sbv'))}"
        path.write_bytes(mutated)
        try:
            events = fs.read_events(path)
            json.dumps([asdict(event) for event in events], allow_nan=False).encode()
        finally:
            path.unlink()

    return attempt


def videos(codec: str, folder: Path) -> Try:
    """A mutated video is indexed; what is indexed is asked, exhibited and saved, from a store of its own."""
    name, options, containers = VIDEOS[codec]
    clips = []
    for container in containers:
        sound = 8.0 if container in ("mp4", "ts") and codec != "vp9" else 0.0
        clip = Clip(name, options, range(40), Fraction(1, 5), (96, 64), sound_s=sound)
        clips.append(clip.write(folder / f"whole.{container}"))
    whole = [(path.suffix, path.read_bytes()) for path in clips]
    model = GridEncoder()

    def attempt(number: int, seed: int) -> None:
        suffix, data = whole[number % len(whole)]
        work = _empty(folder / "work")
        path = work / f"clip{suffix}"
        path.write_bytes(mutate_video(data, rng_of(codec, number, seed)))
        index = fs.index(path, model, store=work / "store")
        try:
            events = fs.find_events(path, store=work / "store", recognise_speech=False)
        except FramesiftError:
            events = []
        again = fs.index(path, model, store=work / "store")
        if again.frames.tobytes() != index.frames.tobytes():
            raise Fault("poisoned", "the stored index differs from the one that was made")
        try:
            selection = fs.select(index, "Who?", events=events, budget=4, encoder=model, store=work / "store")
            fs.exhibit(path, selection, size=64).save(work / "out")
        except FramesiftError as error:
            raise Fault("lost", f"indexed, but: {error}") from error
        fs.Selection.from_json((work / "out" / "selection.json").read_text(encoding="utf-8"))

    return attempt


def mutate_video(data: bytes, rng: Rng) -> bytes:
    """Change bits or runs of bytes, often in the first or last two kilobytes, or cut, remove and repeat parts."""
    size = len(data)
    low, high = rng.choice(((0, size), (0, size), (0, min(2048, size)), (max(0, size - 2048), size)))
    start, end = sorted(rng.randrange(low, high) for _ in range(2))
    run = min(end - start, rng.choice((4, 64, 5000)))
    flipped = bytearray(data)
    for _ in range(rng.choice((1, 3, 20, 200))):
        flipped[rng.randrange(low, high)] ^= 1 << rng.randrange(8)
    others = (
        data[:start] + rng.randbytes(run) + data[start + run :],
        data[:start] + bytes(run) + data[start + run :],
        data[:start],
        data[start // 8 :],
        data[:start] + data[end:],
        data[:end] + data[start:end] * rng.choice((1, 5)) + data[end:],
        mutate_bytes(data, rng)[1],
    )
    return rng.choice((*[bytes(flipped)] * 3, *others))


def records(kinds: tuple[str, ...], folder: Path, *, results: bool = False) -> Try:
    """Mutated files of records, each used as the command that reads it uses it."""
    from helpers.file_uses import file_uses, try_mutations

    uses = [use for use in file_uses(folder) if use.kind in kinds and use.name.startswith("results") == results]

    def attempt(number: int, seed: int) -> None:
        use = uses[number % len(uses)]
        if try_mutations(use, 1, seed * 1_000_003 + number)["rejected"]:
            raise FramesiftError("rejected")

    return attempt


def changing_files(folder: Path) -> Try:
    """A video is replaced, overwritten, cut or extended while it is indexed, at any of its batches."""
    from helpers.changing_files import CHANGES, ChangingEncoder, fresh_payload, stored_payloads

    originals = [make_clip(folder / f"{seed}.mkv", seconds=150, seed=seed) for seed in (0, 1)]

    def attempt(number: int, seed: int) -> None:
        rng, work = rng_of("changing", number, seed), _empty(folder / "work")
        clip = Path(shutil.copy(originals[0], work / "clip.mkv"))
        change = CHANGES[number % len(CHANGES)]
        batches = rng.sample(range(-1, 20), rng.choice((1, 1, 2)))
        try:
            fs.index(clip, ChangingEncoder(lambda: change(clip, originals[1]), batches), 1.0, store=work / "store")
        finally:
            known = {fingerprint(path): fresh_payload(path, folder / "fresh") for path in (clip, *originals)}
            for content, payload in stored_payloads(work / "store").items():
                if known.get(content) != payload:
                    raise Fault("poisoned", f"{change.__name__} at {batches}: {content} holds other vectors")

    return attempt


def full_disk(folder: Path) -> Try:
    """A command's writes fail from a random size of file on; afterwards every file is as before, and it succeeds."""
    from helpers.full_disk import contents, largest_file

    commands = _commands(folder)

    def attempt(number: int, seed: int) -> None:
        rng = rng_of("full", number, seed)
        words = commands[number % len(commands)]
        _empty(folder / "out")
        shutil.rmtree(folder / "new-store", ignore_errors=True)
        before = contents(folder)
        with largest_file(int(2 ** rng.uniform(0, 16))):
            failed = run_command(words)
        if failed:
            after = contents(folder)
            changed = {name for name in {*before, *after} if before.get(name) != after.get(name)}
            changed = {name for name in changed if not name.startswith("new-store")}
            if changed:
                raise Fault("left behind", f"{words[0]}: {sorted(changed)[:5]}")
        _empty(folder / "out")
        if second := run_command(words):
            raise Fault("lost", f"{words[0]} after a full disk: {second}")
        if failed:
            raise FramesiftError(failed)

    return attempt


def read_only_disk(folder: Path) -> Try:
    """The store, or the folder of the results, can't be written."""
    import pytest

    from framesift.store import store as store_module
    from helpers.full_disk import contents
    from helpers.read_only import make_read_only

    commands = _commands(folder)

    def attempt(number: int, seed: int) -> None:
        words = commands[number % len(commands)]
        root = folder / ("store", "out", "new-store")[number // len(commands) % 3]
        _empty(folder / "out")
        shutil.rmtree(folder / "new-store", ignore_errors=True)
        before = contents(folder)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(store_module, "_unwritable", set())
            make_read_only(patch, root, (errno.EROFS, errno.EACCES)[seed % 2])
            failed = run_command(words)
        written = {name for name in contents(folder) if name not in before and (folder / name).is_relative_to(root)}
        if written:
            raise Fault("left behind", f"{words[0]}: {sorted(written)[:5]}")
        if failed:
            raise FramesiftError(failed)

    return attempt


def _commands(folder: Path) -> list[list[str]]:
    """An indexed clip, and commands on it; all use the small encoder, which another package registers."""
    from helpers.batch_videos import install_encoder
    from helpers.killed_commands import ENCODER
    from helpers.result_rows import answers, keep

    sys.path.insert(0, str(install_encoder(folder / "packages")))
    clip = make_clip(folder / "clip.mp4", seconds=8)
    clip.with_suffix(".srt").write_text("1\n00:00:02,000 --> 00:00:04,000\nThe coffee is cold\n")
    keep(folder / "results", *answers(n=4), *answers("uniform", n=4))
    stored, out = ["--encoder", ENCODER, "--set", f"store={folder / 'store'}"], ["--out", str(folder / "out" / "x")]
    ask = [str(clip), "-q", "Cold?", "--budget", "2", *stored]
    commands = [
        ["select", *ask, *out],
        ["compare", *ask, *out],
        ["ask", *ask, "--reader", "similarity", *out],
        ["index", str(clip), "--encoder", ENCODER, "--store", str(folder / "new-store")],
        ["bench", "report", str(folder / "results"), "--no-plots", *out],
        ["corpus", "search", "coffee", "--encoder", ENCODER, "--store", str(folder / "store")],
    ]
    for words in commands:
        _empty(folder / "out")
        if sentence := run_command(words):
            raise RuntimeError(f"{words} failed: {sentence}")
    return commands


def run_command(words: list[str]) -> str:
    """Run a command in this process; its sentence if it failed. RuntimeError if that is not one sentence."""
    import io

    from framesift.cli import main

    errors = io.StringIO()
    with contextlib.redirect_stderr(errors), contextlib.redirect_stdout(io.StringIO()):
        code = main(words)
    if not code:
        return ""
    lines = [line for line in errors.getvalue().splitlines() if line.startswith("framesift")]
    if code not in (1, 2) or not lines or "Traceback" in errors.getvalue():
        raise RuntimeError(f"{words[0]} ended with {code}: {errors.getvalue()[-2000:]}")
    return lines[-1]


def _empty(folder: Path) -> Path:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    return folder


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Discard what is written to the file descriptor of errors, also by libraries."""
    kept = os.dup(2)
    try:
        with open(os.devnull, "w") as sink:
            os.dup2(sink.fileno(), 2)
            yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)


TRIES: dict[str, Callable[[Path], Try]] = {
    "subtitles": subtitles,
    **{f"videos-{codec}": partial(videos, codec) for codec in VIDEOS},
    **{f"records-{kinds[0]}": partial(records, kinds) for kinds in ROWS},
    "records-results": partial(records, ("jsonl",), results=True),
    "changing-files": changing_files,
    "full-disk": full_disk,
    "read-only-disk": read_only_disk,
}
