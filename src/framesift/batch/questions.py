"""`corpus.select` and `corpus.ask`: the questions of a file, each on the video its row names."""

import hashlib
import os
from pathlib import Path
from typing import Any

from framesift.batch.executors import split_settings
from framesift.batch.items import read_items
from framesift.batch.runner import RunSummary, run_questions
from framesift.batch.settings import ReaderSpec, SelectionChoice
from framesift.errors import OptionError
from framesift.pipeline.config import PipelineConfig
from framesift.selection.registry import get_selector
from framesift.text.finding import NONE


def select(
    questions: str | os.PathLike[str],
    *,
    results: str | os.PathLike[str],
    config: PipelineConfig | None = None,
    command: str = "",
    **settings: Any,
) -> RunSummary:
    """Select frames for every question of a file, each on the video its row names; finished questions are skipped.

    questions: as `read_questions` reads them, with a column `video` (a path or URL, relative to the file), and
    optionally `subtitles` and `answer`. results: the folder of result files to append to; any number of runs may share
    it, those of `framesift bench` included. command: stored with the rows. settings: those of `PipelineConfig`, in
    place of the ones in `config`, and those of the run, as in `index`. Speech is not recognised.
    """
    return ask(questions, results=results, config=config, command=command, **settings, reader=None)


def ask(
    questions: str | os.PathLike[str],
    *,
    results: str | os.PathLike[str],
    config: PipelineConfig | None = None,
    command: str = "",
    **settings: Any,
) -> RunSummary:
    """Select frames for every question, as `select` does, and have the setting `reader` answer it.

    concurrency: requests in flight per worker; by default what the reader takes.
    """
    config, execution = split_settings(config, settings)
    selection, reading = config.selection, config.reading
    if not isinstance(selection.method, str):
        name = get_selector(selection.method).name
        raise OptionError(f"method is the function {name}; expected a name of fs.selectors(), which workers can import")
    file = Path(questions)
    items = list(read_items(file))
    digest = hashlib.sha256(file.read_bytes()).hexdigest()[:16]
    options = dict(selection.options)
    seed = int(options.pop("seed", selection.seed))
    choice = SelectionChoice(selection.method, options, selection.budget, reading.text_mode)
    readers = []
    if reading.reader is not None:
        readers = [ReaderSpec(reading.reader, options=reading.reader_options, width=reading.concurrency)]
    return run_questions(
        items,
        [choice],
        readers,
        config.replace(speech=NONE, seed=seed, options={}),
        results,
        execution,
        facts={"dataset": file.stem, "command": command, "data": digest, "annotation": digest},
    )
