"""The workers: what one process does with a video to index, or with questions to answer."""

import logging
import shutil
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from framesift._utils.credentials import public_url
from framesift._utils.machine import peak_memory
from framesift._utils.plugins import reason
from framesift.batch.executors.base import RunAborted, Task
from framesift.batch.items import RunItem, group_by, read_clip_events
from framesift.batch.journal import file_stamp
from framesift.batch.listing import is_url
from framesift.batch.remote_files import local_file
from framesift.batch.results import Result, ResultWriter, Run, read_results
from framesift.batch.settings import QuestionSettings, RowJob, text_source
from framesift.encoders.registry import get_encoder, identify
from framesift.errors import FramesiftError, OutputError
from framesift.indexing.index import INDEXING, build_index
from framesift.pipeline.config import PipelineConfig
from framesift.pipeline.inputs import Encoders
from framesift.pipeline.video import Video, ask
from framesift.pipeline.video import open as open_video
from framesift.progress import Progress, WatchedProgress, ignore_progress
from framesift.readers.base import Reader, map_in_order
from framesift.readers.prompts import OVERLAY_OF, check_text_mode
from framesift.rendering.exhibit import Exhibit
from framesift.store.fingerprint import WatchedFile, read_watched
from framesift.store.store import INDEX, Store
from framesift.text.finding import AUTO, NONE, FoundEvents, search_events
from framesift.types import Event, VideoIndex
from framesift.types.question import QueryText
from framesift.types.vectors import Array
from framesift.video.colour import shrunk_size
from framesift.video.frames import probe

EVENTS = "corpus"  # the name under which a corpus stores its videos' subtitles
# In a row: the server is then down, and the rest of the run would only write errors.
MAX_READER_FAILURES = 10
QUESTIONS = "questions"  # the stage of progress over rows
# The frames for some rows, if there are any, and the fields of these rows that follow from them.
RowFrames = tuple[Exhibit | None, Mapping[str, Any], Sequence[RowJob]]
# The vector of each question by its id, and the seconds each took.
Queries = tuple[Mapping[str, Array], float]

log = logging.getLogger(__name__)


class IndexWorker:
    """Indexes videos; the encoder is loaded at the first that needs it.

    On a GPU the next video is indexed beside each, so that both the decoder and the network are busy.
    """

    def __init__(self, settings: Mapping[str, Any]) -> None:
        config = PipelineConfig.from_dict(settings["config"]).replace(speech=NONE)
        self.config, self.index, self.has_events = config, config.index, settings["events"]
        self.store = Store(self.index.store)
        self._early: dict[str, _EarlyIndexing] = {}
        _check_weights(str(self.index.encoder), settings["weights"])

    def __call__(self, task: Task, progress: Progress) -> dict[str, Any]:
        report = partial(self._report, task, progress)
        early = self._early.pop(task.name, None)
        return self.index_video(task, report) if early is None else early.finish(report)

    def _report(self, task: Task, progress: Progress, stage: str, done: float, total: float) -> None:
        progress(stage, done, total)
        following = task.following
        if following is None or following.name in self._early or stage != INDEXING:
            return
        if getattr(get_encoder(self.index.encoder, device=self.index.device), "image_device", None) is not None:
            self._early[following.name] = _EarlyIndexing(self, following)

    def index_video(self, task: Task, progress: Progress) -> dict[str, Any]:
        with local_file(task.name, progress) as local:
            return read_watched(local, lambda file: self._index(file, task, progress))

    def _index(self, file: WatchedFile, task: Task, progress: Progress) -> dict[str, Any]:
        """Store the index of one video and its text."""
        path = task.name
        stamp = file_stamp(path)
        build = WatchedProgress(progress)
        source = public_url(path) if is_url(path) else None
        video_index = build_index(file.path, self.index, source=source, progress=build)
        warnings = list(video_index.warnings)
        if self.has_events:
            warnings += self._store_events(file, task, video_index, progress)
        file.check()
        payload = self.store.index_folder(self.index.key(file.fingerprint)) / INDEX
        return {
            "fingerprint": file.fingerprint,
            "frames": len(video_index),
            "duration_s": video_index.info.duration_s,
            "bytes": payload.stat().st_size,
            "status": "indexed" if build.was_called else "kept",
            "stamp": stamp,
            "warnings": warnings,
        }

    def _store_events(
        self, file: WatchedFile, task: Task, video_index: VideoIndex, progress: Progress
    ) -> tuple[str, ...]:
        """Store the subtitles beside or inside the video, and their vectors; no speech is recognised here.

        Returns the warnings about them.
        """
        subtitles = task.data["subtitles"]
        with local_file(subtitles, progress) if subtitles else nullcontext(AUTO) as source:
            found = search_events(file.path, replace(self.config.text, subtitles=source), self.store)
        file.check_content()
        store_subtitles(self.store, file.fingerprint, found, task.title)
        Encoders(video_index, self.config).encode_events(found.events, progress=progress)
        return found.warnings


class _EarlyIndexing:
    """A video that is indexed in a thread before its task arrives; what it reports until then is dropped."""

    def __init__(self, worker: IndexWorker, task: Task) -> None:
        self._progress: Progress = ignore_progress
        self._row: Future[dict[str, Any]] = Future()
        threading.Thread(target=self._work, args=(worker, task), name="framesift-index", daemon=True).start()

    def _work(self, worker: IndexWorker, task: Task) -> None:
        try:
            self._row.set_result(worker.index_video(task, lambda *report: self._progress(*report)))
        except BaseException as error:  # raised again where the row is taken
            self._row.set_exception(error)

    def finish(self, progress: Progress) -> dict[str, Any]:
        self._progress = progress
        return self._row.result()


def store_subtitles(store: Store, fingerprint: str, found: FoundEvents, path: str) -> None:
    """Store a video's subtitles, in place of earlier ones, so that a search of the store finds their words."""
    stored = store.load_events(fingerprint, EVENTS)
    if stored is not None and stored[0] != list(found.events):
        shutil.rmtree(store.root / fingerprint / f"events-{EVENTS}", ignore_errors=True)
    if found.events:
        store.save_events(fingerprint, EVENTS, found.events, path, warnings=found.warnings)


class QuestionWorker:
    """Answers questions video by video: frames are selected here while readers answer in threads.

    A row is written as soon as it is known, so a run can be stopped anywhere and resumed.
    """

    def __init__(
        self, settings: Mapping[str, Any], *, readers: Mapping[str, Reader] | None = None, **config_objects: Any
    ) -> None:
        self.settings = QuestionSettings.from_dict(settings)
        self.config = PipelineConfig.from_dict(self.settings.config).replace(**config_objects)
        if isinstance(self.config.index.encoder, str):
            _check_weights(self.config.index.encoder, str(self.settings.run["encoder_fingerprint"]))
        self._reader_objects = readers or {}
        self._slots = {reader.name: threading.Semaphore(reader.width or 1) for reader in self.settings.readers}
        with _end_run_on_full_disk():
            self._writer = ResultWriter(self.settings.results, Run(**self.settings.run))
        # A worker that was killed has written the rows it finished.
        self._finished = read_results(self.settings.results).done
        self._lock = threading.Lock()
        self._reader_failures = 0

    def __call__(self, task: Task, progress: Progress) -> dict[str, Any]:
        items = map(RunItem.from_dict, task.data["items"])
        jobs = [job for item in items for job in self.settings.jobs(item) if job.row.key not in self._finished]
        done = failed = 0
        with ExitStack() as files:
            selected = (
                pair
                for video, own in group_by(jobs, lambda job: job.item.video).items()
                for pair in self._select_video(own, task.data["sharing"][video], files, progress)
            )
            for rows in map_in_order(lambda pair: self._answer(*pair), selected, self.settings.width):
                done += len(rows)
                failed += sum(bool(row.error) for row in rows)
                progress(QUESTIONS, done, len(jobs))
        return {"answered": done - failed, "failed": failed}

    def _select_video(
        self, jobs: Sequence[RowJob], sharing: int, files: ExitStack, progress: Progress
    ) -> Iterator[RowFrames]:
        """The frames of each question on a video, and the rows they are for. sharing: questions on the video."""
        video = jobs[0].item.video

        def report(stage: str, done: float, total: float) -> None:
            progress(f"{Path(video).name}: {stage}", done, total)

        texts = group_by(jobs, lambda job: (job.item.subtitles, job.item.subtitles_offset_s, job.item.events))
        for own in texts.values():
            items = list({job.item.id: job.item for job in own}.values())
            try:
                opened = self._open(items[0], files, report)
                queries = {job.choice.query: self._encode(opened, items, job.choice.query) for job in own}
            except Exception as error:
                yield None, {"error": describe_error(error)}, own
                continue
            for alike in group_by(own, lambda job: job.choice.frames_key).values():
                yield from self._select(alike, opened, queries[alike[0].choice.query], sharing, report)

    def _encode(self, video: Video, items: Sequence[RunItem], query: QueryText) -> Queries:
        started = time.perf_counter()
        encoders = Encoders(video.index, self.config.replace(query=query))
        vectors = encoders.encode_questions([item.question for item in items])
        of_items = {item.id: vector for item, vector in zip(items, vectors, strict=True)}
        return of_items, (time.perf_counter() - started) / len(items)

    def _open(self, item: RunItem, files: ExitStack, progress: Progress) -> Video:
        file = files.enter_context(local_file(item.video, progress))
        source = item.video_id if is_url(item.video) else None
        has_text = text_source(self.config) == "subtitles"
        if not has_text or (item.events is None and item.subtitles in (AUTO, NONE)):
            config = self.config.replace(subtitles=item.subtitles if has_text else NONE)
            return open_video(file, config, source=source, progress=progress)
        events: Sequence[Event] | FoundEvents | None = item.events
        if events is None:
            subtitles = files.enter_context(local_file(item.subtitles, progress))
            duration_s = probe(file).duration_s
            events = read_clip_events(subtitles, offset_s=item.subtitles_offset_s, duration_s=duration_s)
        return open_video(file, self.config, events=events, source=source, progress=progress)

    def _select(
        self,
        jobs: Sequence[RowJob],
        video: Video,
        queries: Queries,
        sharing: int,
        progress: Progress,
    ) -> Iterator[RowFrames]:
        """The frames of each question by the choice that these rows have in common."""
        started = time.perf_counter()
        choice, by_item, (by_id, score_s) = jobs[0].choice, group_by(jobs, lambda job: job.item.id), queries
        items = [own[0].item for own in by_item.values()]
        try:
            settings = {"options": choice.options, "budget": choice.budget, "query": choice.query, "size": choice.size}
            video = replace(video, config=self.config.for_method(choice.method, **settings))
            vectors = np.stack([by_id[item.id] for item in items])
            if choice.whole_video:
                video, vectors = video.with_every_frame(), np.ones((len(items), 1))
            exhibits = video.select_many(
                [item.question for item in items],
                queries=vectors,
                windows=[item.window for item in items],
                progress=progress,
            )
            select_s = (time.perf_counter() - started) / len(items)
        except Exception as error:
            if len(by_item) == 1:
                yield None, {"error": describe_error(error)}, jobs
                return
            for own in by_item.values():  # the other questions are not affected
                yield from self._select(own, video, queries, sharing, progress)
            return
        own_bytes, gpu_bytes = peak_memory()
        text_s = (video.seconds["events"] + video.seconds["event_vectors"]) / sharing
        for own, exhibit in zip(by_item.values(), exhibits, strict=True):
            selection, seconds = exhibit.selection, {"score": score_s, "select": select_s}
            if selection.looked_at == 0:  # a method that needs no index
                seconds |= {"decode": 0.0, "features": 0.0}
            elif "index" in video.seconds:
                seconds |= {"decode": video.seconds["index"] / sharing, "features": text_s}
            fields = {
                "times_s": tuple(selection.times_s),
                "frame_numbers": exhibit.numbers,
                "event_starts_s": tuple(slot.event.start_s for slot in selection.slots if slot.event is not None),
                "candidates": int(selection.trace.get("candidates", len(video.index))),
                "looked_at": selection.looked_at,
                "duration_s": exhibit.info.duration_s,
                "frame_size": shrunk_size(exhibit.info.width, exhibit.info.height, choice.size),
                "warnings": selection.warnings,
                "seconds": seconds,
                "peak_memory_bytes": own_bytes,
                "peak_gpu_memory_bytes": gpu_bytes,
            }
            yield exhibit, fields, own

    def _answer(self, exhibit: Exhibit | None, fields: Mapping[str, Any], jobs: Sequence[RowJob]) -> list[Result]:
        """Write the rows for the same frames: each reader in each text mode."""
        rows = []
        for job in jobs:
            row = replace(job.row, **fields)
            if exhibit is not None and job.reader.name:
                row = self._read(row, job, exhibit)
            with self._lock, _end_run_on_full_disk():
                rows.append(self._writer.add(row))
                self._finished |= set() if row.error else {row.key}
        return rows

    def _read(self, row: Result, job: RowJob, exhibit: Exhibit) -> Result:
        started = time.perf_counter()
        try:
            with self._slots[job.reader.name]:
                reader = self._reader_objects.get(job.reader.name) or job.reader.reader
                options = job.reader.options if isinstance(reader, str) else {}
                answer = ask(exhibit, job.item.question, reader=reader, text_mode=row.text_mode, **options)
        except Exception as error:
            described = describe_error(error)
            with self._lock:
                self._reader_failures += 1
                if self._reader_failures >= MAX_READER_FAILURES:
                    raise RunAborted(
                        f"{MAX_READER_FAILURES} questions in a row got no answer, the last: {described}"
                    ) from error
            return replace(row, error=described)
        self._reader_failures = 0
        is_drawn = OVERLAY_OF[check_text_mode(row.text_mode)] in ("aligned", "shuffled")
        read_s = time.perf_counter() - started if answer.seconds is None else answer.seconds
        texts = [frame.text for frame in exhibit.frames if frame.text] if is_drawn else []
        return replace(
            row,
            rendered=len(texts),
            rendered_words=sum(len(text.split()) for text in texts),
            choice=answer.choice,
            parsed=answer.parsed and answer.choice is not None,
            reply=answer.raw,
            tokens=answer.tokens,
            times_written=answer.time_format,
            frames_as=answer.frames_as,
            seconds={**row.seconds, "read": read_s},
        )


def describe_error(error: BaseException) -> str:
    """An error in one line; one of another library starts with its type."""
    if isinstance(error, FramesiftError):
        return " ".join(str(error).split())
    log.debug("unexpected error", exc_info=error)
    return reason(error)


def _check_weights(encoder: str, expected: str) -> None:
    name, weights = identify(encoder)
    if weights != expected:
        raise FramesiftError(
            f"the weights of {name} on this machine differ from those of the machine that started the run; "
            "install the same weights everywhere"
        )


@contextmanager
def _end_run_on_full_disk() -> Iterator[None]:
    """Stop all tasks when a row can't be written: their answers would be lost too."""
    try:
        yield
    except OutputError as error:
        raise RunAborted(str(error)) from error
