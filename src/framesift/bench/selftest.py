"""The self-test: run the pipeline on the synthetic benchmark and check what each stage contributes."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from framesift.batch.items import group_by
from framesift.batch.results import Result, read_results
from framesift.bench.datasets import load_dataset
from framesift.bench.evidence_scores import score_selections
from framesift.bench.items import Dataset
from framesift.bench.layouts import main_table
from framesift.bench.metrics import OVERALL, minus, signed
from framesift.bench.plan import make_plan
from framesift.bench.report import describe, write_report
from framesift.bench.runner import run_benchmark
from framesift.bench.statistics import difference_interval, share_interval
from framesift.bench.synthetic import KINDS, OCCLUDED, SECONDS, SPOKEN, VIDEOS, VISUAL, make_synthetic
from framesift.bench.tables import CellValue, ResultTable, TableCell, bold_best, cells
from framesift.errors import FramesiftError
from framesift.progress import Progress, ignore_progress

BUDGETS = (8, 16)
OTHERS = ("uniform", "topk", "mmr")
KIND_OF_STAGE = {"ground": SPOKEN, "cover": VISUAL, "refine": OCCLUDED}  # the questions designed for each stage
VARIANTS = ("sift", "gcr", *(f"gcr without={stage}" for stage in KIND_OF_STAGE), *OTHERS)
NOTE = (
    "Questions of the synthetic benchmark with a frame inside their evidence, in percent; in brackets 95 % intervals "
    "clustered by video. spoken: only in the subtitles; visual: shown for four seconds; occluded: blurred and moving "
    "fast, while the same subject is shown sharp and for longer elsewhere."
)
WEAK = "The similarity reader only compares cosines of text and frames: its accuracy says little."
Hits = Mapping[tuple[str, int], Mapping[str, bool]]  # variant and budget → question id → whether it is found


@dataclass(frozen=True)
class Outcome:
    """The tables, and each claim with its measurement."""

    tables: tuple[ResultTable, ...]
    verdicts: tuple[dict[str, Any], ...]
    seconds: float

    @property
    def passed(self) -> bool:
        return all(verdict["holds"] for verdict in self.verdicts)


def run_selftest(
    folder: Path,
    *,
    videos: int = VIDEOS,
    seconds: int = SECONDS,
    budgets: Sequence[int] = BUDGETS,
    command: str = "framesift bench selftest",
    progress: Progress = ignore_progress,
) -> Outcome:
    """Generate the data set, run the methods and the similarity reader, and check the claims."""
    started = time.perf_counter()
    path = make_synthetic(
        folder / "data",
        videos=videos,
        seconds=seconds,
        progress=lambda stage, done, total: progress(f"{stage} {done:.0f} of {total:.0f}", 0, 1),
    )
    dataset = load_dataset(str(path))
    settings = {
        "methods": ["sift", "gcr", *OTHERS],
        "ablate": list(KIND_OF_STAGE),
        "budgets": list(budgets),
        "encoder": "offline",
        "readers": "similarity",
        "store": folder / "indexes",
    }
    plan = make_plan(settings)
    run_benchmark(dataset, plan, folder / "results", command=command, progress=progress)
    results = read_results(folder / "results")
    failed = next((row.error for row in results.rows if row.error), "")
    if failed:
        raise FramesiftError(f"the self-test failed: {failed}")
    notes = describe(results.rows, results.runs)
    hits = evidence_hits(results.rows, dataset)
    write_report(results, folder / "report", datasets=[dataset], with_plots=False)
    answers = main_table(results.rows)
    title = "Accuracy of the similarity reader (%)"
    answers = replace(answers, name="answers", title=title, notes=(*answers.notes, WEAK, *notes))
    return Outcome(
        (hits_table(hits, dataset, notes), answers), tuple(verdicts(hits, dataset)), time.perf_counter() - started
    )


def evidence_hits(rows: Sequence[Result], dataset: Dataset) -> Hits:
    """Whether each variant has a frame inside each question's evidence."""
    hits = {}
    for key, part in group_by(rows, lambda row: (row.variant, row.budget)).items():
        scores, _ = score_selections(dataset.items, {row.item_id: row.times_s for row in part})
        hits[key] = {score.item_id: bool(score.scenes_hit) for score in scores}
    return hits


def hits_table(hits: Hits, dataset: Dataset, notes: Sequence[str] = ()) -> ResultTable:
    lines: list[list[TableCell]] = []
    rules = []
    for budget in sorted({budget for _, budget in hits}):
        block = []
        for variant in VARIANTS:
            line: list[CellValue] = [variant, budget]
            for kind in (*KINDS, OVERALL):
                items = [item for item in dataset.items if kind in (item.group, OVERALL)]
                hits_of_items = [hits[variant, budget][item.id] for item in items]
                line.append(share_interval(hits_of_items, [item.video_id for item in items]))
            block.append(cells(*line, len(dataset)))
        rules.append(len(lines))
        lines += bold_best(block, range(2, 3 + len(KINDS)))
    columns = ("Method", "Frames", *KINDS, OVERALL, "n")
    title = "Evidence of the synthetic benchmark found (%)"
    return ResultTable("found", title, columns, lines, (NOTE, *notes), rules=rules)


def verdicts(hits: Hits, dataset: Dataset) -> list[dict[str, Any]]:
    """Check each claim: the paired difference over all budgets with its 95 % interval; it holds if gcr finds more."""
    checked = [_verdict(f"gcr finds more than {other}", hits, dataset, other, KINDS) for other in OTHERS]
    for stage, kind in KIND_OF_STAGE.items():
        claim = f"without {stage.capitalize()} less {kind} evidence is found"
        checked.append(_verdict(claim, hits, dataset, f"gcr without={stage}", (kind,)))
    return checked


def _verdict(claim: str, hits: Hits, dataset: Dataset, other: str, kinds: Sequence[str]) -> dict[str, Any]:
    items = [item for item in dataset.items if item.group in kinds]
    pairs = [
        (hits["gcr", budget][item.id], hits[other, budget][item.id], item.video_id)
        for budget in sorted({budget for _, budget in hits})
        for item in items
    ]
    found, others, video_ids = zip(*pairs, strict=True)
    ours, theirs = sum(found), sum(others)
    interval = difference_interval([int(a) - int(b) for a, b, _ in pairs], video_ids)
    value, low, high = (100 * part for part in interval)
    measured = f"{ours} versus {theirs} of {len(pairs)}, {signed(value)} points ({minus(low)} … {minus(high)})"
    return {"claim": claim, "measured": measured, "holds": ours > theirs, "difference": value, "low": low, "high": high}
