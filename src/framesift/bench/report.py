"""The benchmark report: a directory with report.md and every table and plot that the results allow."""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from framesift._utils.files import write_text
from framesift._utils.output_folder import output_folder
from framesift._utils.text import counted
from framesift.batch.results import Result, Results
from framesift.bench import layouts, plots
from framesift.bench.datasets import videomme
from framesift.bench.evidence_scores import EvidenceSummary, score_selections
from framesift.bench.items import Dataset
from framesift.bench.metrics import group_by
from framesift.bench.positions import ScoredLine, positions_table
from framesift.bench.provenance import describe
from framesift.bench.tables import FORMATS, ResultTable
from framesift.errors import InputError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PAGE, HEADING = "report.md", "# Results\n"
FAMILIES: Mapping[str, Mapping[str, str]] = {videomme.NAME: videomme.FAMILIES}
# Fields that determine the selected frames, besides method, budget and where `uniform` takes its frames from.
_FRAMES = ("blank_frames", "unchanged_frames")
_SETTINGS = ("encoder", "events", "fps", "seed", "event_encoder", "visual_demand", "namer", *_FRAMES)
# Fields that must be equal for two rows to be compared, besides those of the comparison.
_CONDITIONS = ("dataset", "reader", "prompt", *_SETTINGS, "prompt_times", "time_format")
_SELECTION = (*_SETTINGS, "uniform_frames")


@dataclass(frozen=True)
class BenchReport:
    """The files and tables of a report."""

    folder: Path
    files: tuple[Path, ...]
    tables: tuple[ResultTable, ...]


def write_report(
    results: Results,
    folder: str | os.PathLike[str],
    *,
    datasets: Iterable[Dataset] = (),
    baseline: str = "uniform",
    defaults: Mapping[str, Mapping[str, object]] | None = None,
    with_plots: bool = True,
) -> BenchReport:
    """Write every table and plot that these results allow; files of an earlier report are replaced, others stay.

    datasets: with annotated moments, for evidence scores and tables by number of them. baseline: the method that
    categories and these are compared with.
    defaults: each method's options, for the sensitivity plot.
    """
    if not results.rows:
        raise InputError("there is no result to report; run a benchmark first, or give its directory")
    target = Path(folder)
    if os.path.isfile(target):
        raise InputError(f"{target} is a file; expected a directory for the report, choose another name")
    annotated = list(datasets)
    tables = [*make_tables(results), *evidence_tables(results, annotated)]
    for table in position_tables(results, annotated, baseline):
        tables.append(replace(table, name=_unused(f"{table.name} {table.title}", tables)))
    notes = [f"{counted(results.unreadable, 'line')} of the results could not be read"] if results.unreadable else []
    with output_folder(target) as new:
        files = [path for table in tables for path in _save_table(table, new)]
        plot_files = _save_plots(results, new, baseline, defaults or {}) if with_plots else []
        text = _page(tables, [path for path in plot_files if path.suffix == ".svg"], notes)
        written = [write_text(new / PAGE, text), *files, *plot_files]
    return BenchReport(target, tuple(target / path.relative_to(new) for path in written), tuple(tables))


def make_tables(results: Results) -> list[ResultTable]:
    """Build the tables of these rows, each with the provenance of its rows in its notes."""
    answers = [row for row in results.rows if row.reader]
    tables: list[ResultTable] = []

    def add(
        layout: Callable[[Sequence[Result], Sequence[str]], ResultTable], rows: Sequence[Result], title: str
    ) -> None:
        table = layout(rows, describe(rows, results.runs.values()))
        if table.rows:
            full_title = f"{table.title}: {title}" if title else table.title
            tables.append(replace(table, name=_unused(f"{table.name} {title}", tables), title=full_title))

    if answers:
        # Sweeps and ablations have tables of their own, unless there is nothing else.
        add(layouts.main_table, [row for row in answers if not row.options] or answers, "")
    for title, rows in _blocks(answers, "text_mode"):
        staged = [row for row in rows if _is_stage(row)]
        if any(layouts.WITHOUT in row.options for row in staged):
            add(layouts.stages_table, staged, title)
    for title, rows in _blocks(answers, "variant", "budget"):
        if len({row.text_mode for row in rows}) > 1:
            add(layouts.text_modes_table, rows, title)
    for title, rows in _blocks(answers, "budget"):
        unswept = [row for row in rows if not row.options or list(row.options) == [layouts.WITHOUT]]
        if len(layouts.by_variant(unswept)) > 1:
            add(layouts.pairs_table, unswept, title)
        if any(row.categories for row in rows):
            add(layouts.categories_table, rows, title)
            if rows[0].dataset in FAMILIES:
                add(layouts.categories_table, layouts.in_families(rows, FAMILIES), f"{title}, joined")
    for title, rows in _blocks(answers, "method", "budget", "text_mode"):
        if len({row.variant for row in rows}) > 1 and not all(row.options for row in rows):
            add(layouts.sensitivity_table, rows, title)
    for title, rows in _blocks([row for row in results.rows if "select" in row.seconds], "budget"):
        add(layouts.efficiency_table, rows, title)
    return tables


def evidence_tables(results: Results, datasets: Iterable[Dataset]) -> list[ResultTable]:
    """Build a table for each data set: every method's frames scored against the annotated moments."""
    tables = []
    for dataset in datasets:
        rows = [row for row in results.rows if row.dataset == dataset.name and row.times_s and not row.error]
        summaries: dict[str, EvidenceSummary] = {}
        # Text mode and reader do not change the frames.
        of_methods = {name: [row for row in rows if layouts.concerns(name, row.method)] for name in _SELECTION}
        sides = [name for name in _SELECTION if len({getattr(row, name) for row in of_methods[name]}) > 1]
        for selected in group_by(rows, lambda row: (row.variant, row.budget, *_values(row, _SELECTION))).values():
            _, summary = score_selections(dataset.items, {row.item_id: row.times_s for row in selected})
            first = selected[0]
            conditions = [f"{name} {getattr(first, name)}" for name in sides if layouts.concerns(name, first.method)]
            summaries[", ".join([first.variant, counted(first.budget, "frame"), *conditions])] = summary
        if summaries:
            table = layouts.evidence_table(summaries, describe(rows, results.runs.values()))
            tables.append(
                replace(table, name=_slug(f"evidence {dataset.name}"), title=f"{table.title}: {dataset.name}")
            )
    return tables


def position_tables(results: Results, datasets: Iterable[Dataset], baseline: str) -> list[ResultTable]:
    """Build tables by number of evidence positions: of accuracies, and of evidence scores where frames are known."""
    tables: list[ResultTable | None] = []
    for dataset in datasets:
        rows = [row for row in results.rows if row.dataset == dataset.name and not row.error]
        for title, block in _blocks([row for row in rows if row.is_answer], "budget"):
            parts = layouts.by_variant([row for row in block if not row.options])
            shares = {name: {row.item_id: float(bool(row.correct)) for row in part} for name, part in parts.items()}
            base = next((name for name, part in parts.items() if part[0].method == baseline), None)
            lines = [
                ScoredLine(name, part, shares.get(base or "") if name != base else None)
                for name, part in shares.items()
            ]
            tables.append(_positions(lines, dataset, "Accuracy", baseline, title, block, results))
        framed = [row for row in rows if row.times_s and not row.options]
        has_scenes = any(item.scenes for item in dataset.items)
        scored: dict[tuple[str, int, tuple[str, ...]], dict[str, float]] = {}
        for key, part in group_by(framed, lambda row: (row.method, row.budget, _values(row, _SELECTION[:-1]))).items():
            scores, _ = score_selections(dataset.items, {row.item_id: row.times_s for row in part})
            values = {s.item_id: s.scenes_hit if has_scenes else s.moments_near for s in scores}
            scored[key] = {name: value for name, value in values.items() if value is not None}
        lines = []
        for (method, budget, rest), shares_of in scored.items():
            compared = scored.get((baseline, budget, rest)) if method != baseline else None
            lines.append(ScoredLine(f"{method}, {counted(budget, 'frame')}", shares_of, compared))
        name = "Scene hits" if has_scenes else "Moments near"
        title = layouts.DATASET_TITLES.get(dataset.name, dataset.name)
        tables.append(_positions(lines, dataset, name, baseline, title, framed, results))
    return [table for table in tables if table is not None]


def _positions(
    lines: Sequence[ScoredLine],
    dataset: Dataset,
    score: str,
    baseline: str,
    title: str,
    rows: Sequence[Result],
    results: Results,
) -> ResultTable | None:
    notes = describe(rows, results.runs.values())
    table = positions_table(lines, dataset.items, score=score, baseline=baseline, notes=notes)
    return table and replace(table, title=f"{table.title}: {title}")


def _save_plots(
    results: Results, target: Path, baseline: str, defaults: Mapping[str, Mapping[str, object]]
) -> list[Path]:
    answers = [row for row in results.rows if row.reader]
    written: list[Path] = []
    for title, rows in _blocks(answers):
        plain = [row for row in rows if not row.options]
        if len({row.budget for row in plain}) > 1:
            figure = plots.plot_budgets(plots.budget_series(layouts.by_variant(plain)), title)
            written += _save_plot(figure, target, f"budgets {title}", plain, results)
    for title, rows in _blocks(answers, "text_mode", "budget"):
        for method, part in group_by(rows, lambda row: row.method).items():
            series = plots.sensitivity_series(part, defaults.get(method, {}))
            if series:
                figure = plots.plot_sensitivity(series, f"{method}: {title}")
                written += _save_plot(figure, target, f"sensitivity {method} {title}", part, results)
    for title, rows in _blocks(answers, "budget", "text_mode"):
        named = layouts.by_variant(layouts.in_families([row for row in rows if not row.options], FAMILIES))
        base = named.pop(baseline, [])
        for name, part in named.items():
            gains = plots.category_gains(part, base)
            if gains:
                figure = plots.plot_categories(gains, f"{name} − {baseline}: {title}")
                written += _save_plot(figure, target, f"categories {name} {title}", [*part, *base], results)
    return written


def _save_plot(figure: "Figure", target: Path, name: str, rows: Sequence[Result], results: Results) -> list[Path]:
    folder = target / "plots"
    folder.mkdir(exist_ok=True)
    return plots.save_plot(figure, folder / _slug(name), describe(rows, results.runs.values()))


def _blocks(rows: Sequence[Result], *over: str) -> Iterator[tuple[str, list[Result]]]:
    """Group rows that are comparable, each group with a title of its common conditions."""
    for key, block in group_by(rows, lambda row: _values(row, (*_CONDITIONS, *over))).items():
        yield _title(block[0], over, rows, key), block


def _title(row: Result, over: Sequence[str], rows: Sequence[Result], key: tuple[str, ...]) -> str:
    parts = [layouts.DATASET_TITLES.get(row.dataset, row.dataset), row.reader]
    parts += [counted(row.budget, "frame")] if "budget" in over else []
    parts += [str(getattr(row, name)) for name in ("method", "variant") if name in over]
    parts += [row.text_mode] if "text_mode" in over else []
    for name, value in zip(_CONDITIONS[2:], key[2:], strict=False):
        if len({str(getattr(other, name)) for other in rows if other.dataset == row.dataset}) > 1:
            parts.append(f"{name} {value}")
    return ", ".join(part for part in parts if part)


def _values(row: Result, names: Sequence[str]) -> tuple[str, ...]:
    return tuple(str(getattr(row, name)) for name in names)


def _is_stage(row: Result) -> bool:
    return (not row.options and row.method in ("gcr", "uniform")) or list(row.options) == [layouts.WITHOUT]


def _save_table(table: ResultTable, target: Path) -> list[Path]:
    folder = target / "tables"
    folder.mkdir(exist_ok=True)
    return [write_text(folder / f"{table.name}.{ending}", make(table)) for ending, make in FORMATS.items()]


def _page(tables: Sequence[ResultTable], plot_files: Sequence[Path], notes: Sequence[str]) -> str:
    parts = [HEADING, *(f"{note}\n" for note in notes)]
    parts += [table.to_markdown() for table in tables]
    parts += [f"![{path.stem}](plots/{path.name})\n" for path in plot_files]
    return "\n".join(parts)


def _unused(name: str, tables: Sequence[ResultTable]) -> str:
    taken = {table.name for table in tables}
    slug = _slug(name)
    return next(s for s in (slug, *(f"{slug}-{k}" for k in range(2, len(taken) + 3))) if s not in taken)


def _slug(name: str) -> str:
    allowed = "".join(c if (c.isalnum() and c.isascii()) or c in ".=" else "-" for c in name.lower())
    return "-".join(part for part in allowed.split("-") if part)[:120] or "table"
