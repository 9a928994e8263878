"""A run: every question with every choice of frames, in front of every reader, minus what the folder holds already.

One video after the other is indexed and its frames are chosen; readers answer beside that, each as many questions at a
time as it takes. A row is kept the moment it is known, so a run can be stopped anywhere and started again.
"""

import hashlib
import os
import platform
import re
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from framesift._utils.memory import peak_memory
from framesift.batch.results import Result, ResultWriter, new_run, read_results
from framesift.bench.items import Dataset, Item
from framesift.bench.plan import BenchmarkPlan, Condition, ReaderSpec
from framesift.bench.provenance import versions
from framesift.bench.selecting import Chosen, VideoBench, sentence
from framesift.encoders.base import get_encoder
from framesift.errors import OptionError, ReaderError
from framesift.readers.address import LOCAL, public_address, public_options, scrub
from framesift.readers.base import Reader, get_reader, map_in_order
from framesift.readers.prompts import OVERLAY_OF, PRESETS, check_text_mode
from framesift.store.indexing import key_of

if TYPE_CHECKING:
    from framesift.rendering.exhibit import Exhibit

# A server that is down fails every question; a run over it would only write errors.
MOST_FAILURES = 10
PROMPT_OF = {"videomme": "videomme"}  # data sets with a wording of their own; all others have LongVideoBench's
NO_READER = ""
Progress = Callable[[int, int, str], None]  # (jobs done, jobs in all, what is being done)


@dataclass(frozen=True)
class Tally:
    """What came of a run: jobs done, of these with an error, and those that were done before."""

    folder: Path
    done: int
    errors: int
    before: int
    seconds: float


@dataclass(frozen=True)
class Ready:
    """A reader that can be asked. name: what rows call it; prompt: the wording's name, "" where it has none."""

    name: str
    model: Reader | None
    prompt: str = ""
    gate: threading.Semaphore = field(default_factory=threading.Semaphore)
    width: int = 1


def run_benchmark(
    dataset: Dataset,
    plan: BenchmarkPlan,
    folder: str | os.PathLike[str],
    *,
    store: str | os.PathLike[str] | None = None,
    device: str = "auto",
    shard: tuple[int, int] = (1, 1),
    command: str = "",
    progress: Progress | None = None,
) -> Tally:
    """Do what the plan asks for and the folder of results does not hold yet.

    shard: (2, 8) takes the second eighth of the videos; processes and machines may share the folder. store, device: of
    the indexes. A video or a question that fails becomes a row with its error, which the next run tries again.
    """
    readers = [ready(asked, dataset.name) for asked in plan.readers] or [Ready(NO_READER, None)]
    key = key_of("", plan.encoder)
    name, mark = key.encoder, key.encoder_fingerprint
    run = _Run(dataset, plan, readers, name)
    held = read_results(folder).done if Path(folder).is_dir() else set()
    videos = run.todo(held, shard)
    told = new_run(
        dataset,
        command=command,
        encoder=name,
        encoder_fingerprint=mark,
        versions=versions(),
        prompts={reader.prompt: _prompt_text(reader.prompt) for reader in readers if reader.prompt},
        readers={
            reader.name: public_options(asked.options) for reader, asked in zip(readers, plan.readers, strict=False)
        },
        seed=plan.seed,
        machine=f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores",
    )
    started = time.perf_counter()
    before = run.jobs_in_all(shard) - sum(len(jobs) for jobs in videos.values())
    if videos:
        if isinstance(plan.encoder, str):
            get_encoder(name, device=device)  # one sentence now rather than one for each video
        with ResultWriter(folder, told) as writer:
            run.work(videos, writer, store=store, device=device, progress=progress)
    return Tally(Path(folder), run.done, run.errors, before, time.perf_counter() - started)


def ready(asked: ReaderSpec, dataset: str) -> Ready:
    """The reader an address stands for, with the data set's wording unless the plan names another."""
    options: dict[str, Any] = dict(asked.options)
    if isinstance(asked.reader, str) and asked.reader.startswith(("http://", "https://", LOCAL)):
        options.setdefault("preset", PROMPT_OF.get(dataset, "longvideobench"))
    model = get_reader(asked.reader, **options)
    width = int(getattr(model, "concurrency", 1))
    name = public_address(asked.name or str(getattr(model, "name", type(model).__name__)))
    return Ready(name, model, str(getattr(model, "preset", "")), threading.Semaphore(width), width)


def parse_shard(text: str) -> tuple[int, int]:
    """ "2/8": the second of eight parts."""
    match = re.fullmatch(r"(\d+)/(\d+)", text.strip())
    if not match or not 1 <= int(match[1]) <= int(match[2]):
        raise OptionError(f"shard is {text!r}; expected one like 2/8, the second of eight parts")
    return int(match[1]), int(match[2])


@dataclass(frozen=True)
class Job:
    """One row to be made; `row` holds what identifies it."""

    item: Item
    choice: Condition
    reader: Ready
    row: Result


class _Run:
    def __init__(self, dataset: Dataset, plan: BenchmarkPlan, readers: Sequence[Ready], encoder: str) -> None:
        self.dataset, self.plan, self.readers, self.encoder = dataset, plan, readers, encoder
        self.done = self.errors = self.total = self.failures = 0
        self.lock = threading.Lock()
        self.by_video: dict[Path, list[Item]] = {}
        for item in dataset.items:
            self.by_video.setdefault(item.video, []).append(item)

    def todo(self, held: set[str], shard: tuple[int, int]) -> dict[Path, list[Job]]:
        """The jobs of each video of this shard that the folder does not hold."""
        found = {}
        for video, items in self.by_video.items():
            jobs = [job for item in items for job in self._jobs(item) if job.row.key not in held]
            if jobs and _in_shard(items[0].video_id, shard):
                found[video] = jobs
        self.total = sum(len(jobs) for jobs in found.values())
        return found

    def jobs_in_all(self, shard: tuple[int, int]) -> int:
        mine = [items for items in self.by_video.values() if _in_shard(items[0].video_id, shard)]
        return sum(len(list(self._jobs(item))) for items in mine for item in items)

    def _jobs(self, item: Item) -> Iterator[Job]:
        seen = set()
        for choice in self.plan.choices:
            for reader in self.readers:
                # Without a reader nobody is shown any text: the frames are the same in every mode.
                mode = choice.text_mode if reader.model else "none"
                row = Result.of(
                    item,
                    method=choice.variant.method,
                    budget=choice.budget,
                    options=choice.variant.options,
                    text_mode=mode,
                    reader=reader.name,
                    prompt=reader.prompt,
                    encoder=self.encoder,
                    events=self.plan.events,
                    fps="auto" if self.plan.fps == "auto" else f"{self.plan.fps:g}",
                    seed=self.plan.seed,
                )
                if row.key not in seen:
                    seen.add(row.key)
                    yield Job(item, choice, reader, row)

    def work(
        self,
        videos: dict[Path, list[Job]],
        writer: ResultWriter,
        *,
        store: str | os.PathLike[str] | None,
        device: str,
        progress: Progress | None,
    ) -> None:
        def tell(what: str) -> None:
            if progress is not None:
                progress(self.done, self.total, what)

        def tell_indexing(name: str, done: int, expected: int) -> None:
            tell(f"{name} {done}/{expected}")

        def chosen() -> Iterator[tuple[Chosen, list[Job]]]:
            for video, jobs in videos.items():
                tell(video.name)
                bench = VideoBench(
                    self.plan,
                    video,
                    asked=len(self.by_video[video]),
                    store=store,
                    device=device,
                    progress=partial(tell_indexing, video.name),
                )
                by_frames: dict[tuple[str, int, str], list[Job]] = {}
                for job in jobs:
                    by_frames.setdefault((*_frames_key(job.choice), job.item.id), []).append(job)
                for one in bench.choose(_wanted(jobs)):
                    yield one, by_frames[repr(one.variant), one.budget, one.item.id]

        width = max(reader.width for reader in self.readers)
        for video in map_in_order(lambda task: self._answer(*task, writer), chosen(), width):
            tell(video)

    def _answer(self, chosen: Chosen, jobs: Sequence[Job], writer: ResultWriter) -> str:
        """Put one question's frames to every reader in every mode; rows are kept here, whatever happens after."""
        for job in jobs:
            row = _with_frames(job.row, chosen)
            if chosen.exhibit is not None and job.reader.model is not None:
                row = self._read(row, job, job.reader.model, chosen.exhibit)
            with self.lock:
                writer.add(row)
                self.done += 1
                self.errors += bool(row.error)
        return chosen.item.video.name

    def _read(self, row: Result, job: Job, model: Reader, exhibit: "Exhibit") -> Result:
        started = time.perf_counter()
        try:
            with job.reader.gate:
                answer = model.answer(exhibit, job.item.question, row.text_mode)
        except Exception as error:  # one question that a reader chokes on must not cost the others theirs
            self._count_failure(error)
            return replace(row, error=scrub(sentence(error)))
        self.failures = 0
        took = answer.seconds if answer.seconds is not None else time.perf_counter() - started
        return replace(
            row,
            choice=answer.choice,
            parsed=answer.parsed and answer.choice is not None,
            reply=answer.raw,
            tokens=answer.tokens,
            seconds={**row.seconds, "read": took},
        )

    def _count_failure(self, error: Exception) -> None:
        with self.lock:
            self.failures += 1
            if self.failures >= MOST_FAILURES:
                raise ReaderError(
                    f"{self.failures} questions in a row got no answer, the last: {scrub(sentence(error))}"
                ) from error


def _with_frames(row: Result, chosen: Chosen) -> Result:
    selection, exhibit = chosen.selection, chosen.exhibit
    if selection is None or exhibit is None:
        return replace(row, error=chosen.error or "no frame was chosen")
    drawn = OVERLAY_OF[check_text_mode(row.text_mode)] in ("aligned", "shuffled") and bool(row.reader)
    own, gpu = peak_memory()
    return replace(
        row,
        times_s=tuple(selection.times_s),
        frame_numbers=exhibit.numbers,
        rendered=sum(slot.event is not None for slot in exhibit.selection.slots) if drawn else 0,
        candidates=int(selection.trace.get("candidates", len(selection))),
        looked_at=int(selection.trace.get("looked_at", 0)),
        duration_s=exhibit.info.duration_s,
        seconds=dict(chosen.seconds or {}),
        peak_memory_bytes=own,
        peak_gpu_memory_bytes=gpu,
    )


def _wanted(jobs: Sequence[Job]) -> dict[tuple[str, int], Any]:
    wanted: dict[tuple[str, int], tuple[Any, dict[str, Item]]] = {}
    for job in jobs:
        _, items = wanted.setdefault(_frames_key(job.choice), (job.choice.variant, {}))
        items[job.item.id] = job.item
    return {key: (variant, list(items.values())) for key, (variant, items) in wanted.items()}


def _frames_key(choice: Condition) -> tuple[str, int]:
    return repr(choice.variant), choice.budget


def _in_shard(video_id: str, shard: tuple[int, int]) -> bool:
    place, parts = shard
    return int(hashlib.sha256(video_id.encode()).hexdigest(), 16) % parts == place - 1


def _prompt_text(name: str) -> str:
    preset = PRESETS[name]
    parts = [preset.before, "{question}", "{options}", preset.after]
    return "\n".join(part for part in parts if part)
