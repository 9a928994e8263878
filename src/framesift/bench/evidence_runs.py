"""Run selectors on evidence sets: which share of the questions has its evidence among the selected frames.

A video of a set that has no frames of its own borrows those of a substitute video, a different part for each video:
they say nothing about the question, so that only the text, or the curve, can find the answer.
"""

import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import nullcontext
from dataclasses import replace
from functools import cached_property
from pathlib import Path

import numpy as np

from framesift._utils.files import StrPath
from framesift._utils.text import counted
from framesift.batch.items import group_by
from framesift.batch.results import Result, Results, ResultWriter, new_run, own_options, read_earlier
from framesift.batch.runner import package_versions
from framesift.batch.settings import SelectionChoice, row_identity
from framesift.bench.evidence_sets import EvidenceSet, SetVideo
from framesift.bench.items import Spans, content_hash
from framesift.bench.report import describe
from framesift.bench.statistics import share_interval
from framesift.bench.tables import CellValue, ResultTable, bold_best, cells
from framesift.errors import FramesiftError, InputError
from framesift.indexing.index import build_index
from framesift.pipeline.config import PipelineConfig, SelectionSettings
from framesift.pipeline.inputs import Encoders
from framesift.pipeline.video import select_many
from framesift.progress import Progress, ignore_progress
from framesift.selection.registry import NEEDS, get_selector, select_frames
from framesift.types import Array, Event, Evidence, Selection, VideoIndex, VideoInfo

# What every set has; a selector with other needs can't run on one.
_AVAILABLE = {"vectors", "events", "words", "demand", "peers"}
# Successive videos of a set borrow parts of the substitute video this many seconds apart.
_OFFSET_S = {"transcripts": 53, "moments": 37}
_HIGHEST_COSINE = 0.2  # of a curve's frames with their query, as SigLIP's
_MOMENT_DEMAND = 0.8  # the query of a moment asks for what is seen

NOTES = {
    "transcripts": (
        "In percent of the questions. Words: a selected frame carries the text of a sentence that answers it; methods "
        "that place no text on frames have none. Frames: a selected frame is inside the time of the answer."
    ),
    "moments": "In percent. Windows: the share of a query's windows with a selected frame inside.",
}
INTERVALS = "In brackets: 95 % intervals clustered by video. Bold is the largest number of a column."


def not_runnable(methods: Iterable[str]) -> dict[str, str]:
    """Those of the selectors that can't run on an evidence set, and why."""
    reasons = {method: why_not_runnable(method) for method in methods}
    return {method: why for method, why in reasons.items() if why}


def why_not_runnable(method: str | Callable[..., Selection]) -> str:
    """Why a selector can't run on an evidence set; "" if it can."""
    selector = get_selector(method)
    if selector.problem:
        return selector.problem
    missing = [NEEDS.get(need, need) for need in selector.needs if need not in _AVAILABLE]
    if missing:
        return f"needs {', '.join(missing)}"
    events, vectors = [Event(1.0, 2.0, "trial")], np.eye(8)
    trial = Evidence(np.arange(8.0), 8.0, vectors, vectors[0], events=events, event_features=vectors[:1])
    try:
        select_frames(trial, budget=2, method=selector)
    except FramesiftError as error:
        return str(error)
    return ""


def run_evidence_set(
    data: EvidenceSet,
    choices: Sequence[SelectionChoice],
    config: PipelineConfig,
    *,
    substitute: StrPath | None = None,
    folder: StrPath | None = None,
    command: str = "",
    progress: Progress = ignore_progress,
) -> Results:
    """Select frames for every question by every choice, a row for each; text modes make no difference.

    substitute: the video whose frames stand for those of videos without any. folder: of the rows; the videos and
    choices it holds are not computed again. None keeps no rows.
    """
    borrowed = None if substitute is None else build_index(substitute, config.index, progress=progress)
    if borrowed is None and any(video.file is None for video in data.videos):
        raise InputError(f"{data.name} has videos without frames; give a video whose frames stand for them: --video")
    identity = row_identity(config) | {"encoder": config.index.key("").encoder}
    if data.kind == "moments":
        identity |= {"events": "none", "visual_demand": _MOMENT_DEMAND}
    notes = data.notes
    if borrowed is not None:
        notes += (f"frames borrowed from {Path(borrowed.info.path).name}, {counted(len(borrowed), 'candidate')}",)
    run = new_run(
        command=command,
        dataset=data.name,
        data=data.annotation,
        annotation=_input_hash(data, borrowed),
        encoder=identity["encoder"],
        versions=package_versions(),
        items=len(data.questions),
        notes=notes,
    )
    stored = Results([], {}) if folder is None else read_earlier(folder)
    finished = {row.key: row for row in stored.rows if row.annotation == run.annotation}
    rows = []
    with nullcontext() if folder is None else ResultWriter(folder, run) as writer:
        for video in data.videos:
            prepared = _PreparedSetVideo(data.kind, video, config, borrowed)
            for choice in choices:
                wanted = [
                    Result(
                        dataset=data.name,
                        item_id=question.id,
                        video_id=video.id,
                        method=choice.method,
                        options=own_options(choice.method, choice.options, identity["seed"]),
                        budget=choice.budget,
                        text_mode="none",
                        reader="",
                        prompt="",
                        config=identity,
                        duration_s=video.duration_s,
                        annotation=run.annotation,
                        run=run.id,
                    )
                    for question in video.questions
                ]
                if all(row.key in finished for row in wanted):
                    rows += [finished[row.key] for row in wanted]
                else:
                    made = _with_frames(wanted, prepared, choice)
                    rows += made if writer is None else map(writer.add, made)
                progress("", len(rows), len(data.questions) * len(choices))
    return Results(rows, stored.runs | {run.id: run})


def score_table(data: EvidenceSet, results: Results) -> ResultTable:
    """A line for each method with its options, the scores of each budget with intervals, and n."""
    spans = {question.id: question.spans for question in data.questions}
    scorers = {"Words": _shows_words, "Frames": _has_frame} if data.kind == "transcripts" else {"Windows": _windows_hit}
    budgets = sorted({row.budget for row in results.rows})
    lines = []
    for variant, part in group_by(results.rows, lambda row: row.variant).items():
        by_budget = group_by(part, lambda row: row.budget)
        line: list[CellValue] = [variant]
        for budget in budgets:
            rows = by_budget.get(budget, [])
            videos = [row.video_id for row in rows]
            for scorer in scorers.values():
                shares = [scorer(row, spans[row.item_id]) for row in rows]
                line.append(share_interval(shares, videos) if rows else None)
        first = next(iter(by_budget.values()))
        lines.append(cells(*line, len(first), len({row.video_id for row in first})))
    return ResultTable(
        name=f"evidence-{data.kind}",
        title=f"Evidence found: {data.name}",
        columns=("Method", *tuple(scorers) * len(budgets), "n", "Videos"),
        rows=bold_best(lines, range(1, 1 + len(budgets) * len(scorers))),
        head=(("", 1), *((counted(budget, "frame"), len(scorers)) for budget in budgets), ("", 1), ("", 1)),
        notes=(NOTES[data.kind], INTERVALS, *describe(results.rows, results.runs)),
    )


class _PreparedSetVideo:
    """The selector's inputs for one video of a set, computed when first used."""

    def __init__(self, kind: str, video: SetVideo, config: PipelineConfig, borrowed: VideoIndex | None) -> None:
        self.kind, self.video, self.config, self.borrowed = kind, video, config, borrowed
        self.questions = [question.question for question in video.questions]

    def select(self, choice: SelectionChoice) -> list[Selection]:
        seed = self.config.selection.seed
        options = SelectionSettings(method=choice.method, options=choice.options, seed=seed).method_options
        if self.kind == "moments":
            return [select_frames(self.moment, budget=choice.budget, method=choice.method, **options)]
        return select_many(
            self.index,
            self.questions,
            queries=self.queries,
            events=self.video.events,
            event_features=self.event_vectors,
            budget=choice.budget,
            method=choice.method,
            **options,
        )

    @cached_property
    def index(self) -> VideoIndex:
        """The candidates: of the video's own file, or borrowed, one per second."""
        video = self.video
        if video.file is not None:
            return build_index(video.file, self.config.index)
        duration_s = video.duration_s or 0.0
        count = max(int(np.ceil(duration_s)), 1)
        times = np.arange(count, dtype=float) if video.times_s is None else np.asarray(video.times_s)
        # The frames of the substitute video, one per second; after its end they begin again.
        frames = np.asarray(self.borrowed.frames if self.borrowed is not None else ())
        first = _OFFSET_S[self.kind] * video.number % max(len(frames) - int(duration_s), 1)
        rows = frames[(first + (times - times[0]).astype(int)) % len(frames)]
        return VideoIndex(VideoInfo(video.id, duration_s), times, rows, self.config.index.key("").encoder)

    @cached_property
    def queries(self) -> Array:
        return Encoders(self.index, self.config).encode_questions(self.questions)

    @cached_property
    def event_vectors(self) -> Array | None:
        return Encoders(self.index, self.config).encode_events(self.video.events)

    @cached_property
    def moment(self) -> Evidence:
        """The evidence of a moment: its own frames and query, or vectors whose cosines follow its curve."""
        video, index = self.video, self.index
        times, vectors = index.times_s, index.frames
        if video.curve is None:
            query = self.queries[0]
        else:
            times = np.asarray(video.times_s)
            frames = index.vectors.exact()
            if video.file is not None:
                frames = frames[np.searchsorted(index.times_s, times, side="right").clip(1, len(frames)) - 1]
            curve = np.asarray(video.curve, dtype=float)
            cosines = _HIGHEST_COSINE * (curve - curve.min()) / np.ptp(curve)
            vectors = np.concatenate((cosines[:, None], np.sqrt(1 - cosines**2)[:, None] * frames), axis=1)
            query = np.eye(vectors.shape[1])[0]
        return Evidence(times, index.info.duration_s, vectors, query, visual_demand=_MOMENT_DEMAND)


def _with_frames(rows: Sequence[Result], prepared: _PreparedSetVideo, choice: SelectionChoice) -> list[Result]:
    """The rows of a video with the frames that a choice selects for them."""
    started = time.perf_counter()
    selections = prepared.select(choice)
    seconds = (time.perf_counter() - started) / len(rows)
    return [
        replace(
            row,
            times_s=tuple(float(slot.time_s) for slot in selection.slots),
            event_starts_s=tuple(slot.event.start_s for slot in selection.slots if slot.event is not None),
            looked_at=selection.looked_at,
            seconds={"select": seconds},
        )
        for row, selection in zip(rows, selections, strict=True)
    ]


def _shows_words(row: Result, spans: Spans) -> float:
    return float(any(start <= event_s < end for event_s in row.event_starts_s for start, end in spans))


def _has_frame(row: Result, spans: Spans) -> float:
    return float(any(start <= time_s <= end for time_s in row.times_s for start, end in spans))


def _windows_hit(row: Result, spans: Spans) -> float:
    return sum(_has_frame(row, (span,)) for span in spans) / len(spans)


def _input_hash(data: EvidenceSet, borrowed: VideoIndex | None) -> str:
    """A hash of the set, of its questions in use and of the borrowed frames: rows with the same can be used again."""
    used = f"{data.annotation}{[(video.id, len(video.questions)) for video in data.videos]}"
    return content_hash(used.encode() + (b"" if borrowed is None else borrowed.frames.tobytes()))
