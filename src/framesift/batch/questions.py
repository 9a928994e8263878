"""`corpus.select` and `corpus.ask`: the questions of a file, each on the video its row names."""

import hashlib
import os
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from framesift.batch.executors import make_executor
from framesift.batch.executors.base import Engine, Limits, OnBegin, OnEvent
from framesift.batch.items import read_items
from framesift.batch.runner import RunSummary, run_questions
from framesift.batch.settings import ReaderSpec, SelectionChoice
from framesift.errors import OptionError
from framesift.indexing.index import UnchangedFrames
from framesift.pipeline.config import PipelineConfig
from framesift.selection.registry import DEFAULT_METHOD, get_selector
from framesift.selection.skipping import BlankFrames
from framesift.text.finding import AUTO, NONE
from framesift.video.cuda import Decode
from framesift.video.frames import Fps, Mode

if TYPE_CHECKING:
    from framesift.text.object_names import ObjectNamer


def select(
    questions: str | os.PathLike[str],
    *,
    results: str | os.PathLike[str],
    method: str = DEFAULT_METHOD,
    budget: int = 32,
    options: Mapping[str, Any] | None = None,
    encoder: str = "auto",
    fps: Fps = "auto",
    mode: Mode = "exact",
    unchanged_frames: UnchangedFrames = "reuse",
    decode: Decode = "auto",
    device: str = "auto",
    subtitles: str = AUTO,
    event_encoder: str | None = None,
    visual_demand: float | str | Callable[[str], float] = "rules",
    namer: "ObjectNamer | str | None" = None,
    blank_frames: BlankFrames = "skip",
    store: str | os.PathLike[str] | None = None,
    engine: Engine = "local",
    workers: int | None = None,
    address: str | None = None,
    limits: Limits | None = None,
    command: str = "",
    begin: OnBegin | None = None,
    watch: OnEvent | None = None,
) -> RunSummary:
    """Select frames for every question of a file, each on the video its row names; finished questions are skipped.

    questions: as `read_questions` reads them, with a column `video` (a path or URL, relative to the file), and
    optionally `subtitles` and `answer`. results: the folder of result files to append to; any number of runs may share
    it, those of `framesift bench` included. options: the method's own. subtitles: "auto" or "none". event_encoder,
    visual_demand, namer, blank_frames: as in `framesift.select`. command: stored with the rows. The rest as in `index`.
    """
    config = PipelineConfig(
        encoder=encoder,
        fps=fps,
        mode=mode,
        unchanged_frames=unchanged_frames,
        decode=decode,
        device=device,
        store=store,
        subtitles=subtitles,
        method=method,
        budget=budget,
        options=options or {},
        event_encoder=event_encoder,
        visual_demand=visual_demand,
        namer=namer,
        blank_frames=blank_frames,
    )
    return _run(questions, results, config, (engine, workers, address), limits, command, begin, watch)


def ask(
    questions: str | os.PathLike[str],
    *,
    results: str | os.PathLike[str],
    reader: str,
    text_mode: str = "aligned",
    concurrency: int | None = None,
    reader_options: Mapping[str, Any] | None = None,
    method: str = DEFAULT_METHOD,
    budget: int = 32,
    options: Mapping[str, Any] | None = None,
    encoder: str = "auto",
    fps: Fps = "auto",
    mode: Mode = "exact",
    unchanged_frames: UnchangedFrames = "reuse",
    decode: Decode = "auto",
    device: str = "auto",
    subtitles: str = AUTO,
    event_encoder: str | None = None,
    visual_demand: float | str | Callable[[str], float] = "rules",
    namer: "ObjectNamer | str | None" = None,
    blank_frames: BlankFrames = "skip",
    store: str | os.PathLike[str] | None = None,
    engine: Engine = "local",
    workers: int | None = None,
    address: str | None = None,
    limits: Limits | None = None,
    command: str = "",
    begin: OnBegin | None = None,
    watch: OnEvent | None = None,
) -> RunSummary:
    """Select frames for every question, as `select` does, and have a reader answer it.

    reader: a name or an address, as in `framesift.ask`. concurrency: requests in flight per worker; by default what the
    reader takes.
    """
    config = PipelineConfig(
        encoder=encoder,
        fps=fps,
        mode=mode,
        unchanged_frames=unchanged_frames,
        decode=decode,
        device=device,
        store=store,
        subtitles=subtitles,
        method=method,
        budget=budget,
        options=options or {},
        event_encoder=event_encoder,
        visual_demand=visual_demand,
        namer=namer,
        blank_frames=blank_frames,
        reader=reader,
        reader_options=reader_options or {},
        text_mode=text_mode,
        concurrency=concurrency,
    )
    return _run(questions, results, config, (engine, workers, address), limits, command, begin, watch)


def _run(
    questions: str | os.PathLike[str],
    results: str | os.PathLike[str],
    config: PipelineConfig,
    executor: tuple[Engine, int | None, str | None],
    limits: Limits | None,
    command: str,
    begin: OnBegin | None,
    watch: OnEvent | None,
) -> RunSummary:
    if not isinstance(config.method, str):
        name = get_selector(config.method).name
        raise OptionError(f"method is the function {name}; expected a name of fs.selectors(), which workers can import")
    file = Path(questions)
    items = list(read_items(file))
    digest = hashlib.sha256(file.read_bytes()).hexdigest()[:16]
    options = dict(config.options)
    seed = int(options.pop("seed", config.seed))
    choice = SelectionChoice(config.method, options, config.budget, config.text_mode)
    readers = []
    if config.reader is not None:
        readers = [ReaderSpec(config.reader, options=config.reader_options, width=config.concurrency)]
    return run_questions(
        items,
        [choice],
        readers,
        replace(config, speech=NONE, seed=seed, options={}),
        results,
        make_executor(*executor),
        dataset=file.stem,
        facts={"command": command, "data": digest, "annotation": digest},
        limits=limits,
        begin=begin,
        watch=watch,
    )
