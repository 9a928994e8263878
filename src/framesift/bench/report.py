"""The benchmark report: a directory with report.md and every table and plot that the results allow, with provenance."""

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

from framesift._utils.files import StrPath, write_text
from framesift._utils.output_folder import output_folder
from framesift._utils.records import listed
from framesift._utils.text import counted
from framesift.batch.items import group_by
from framesift.batch.results import Result, Results, Run
from framesift.bench import layouts, plots
from framesift.bench.datasets import VIDEOMME_FAMILIES
from framesift.bench.evidence_scores import score_selections
from framesift.bench.items import Dataset, fingerprint
from framesift.bench.metrics import FRAME_FIELDS, PROMPT_FIELDS, values_of
from framesift.bench.tables import FORMATS, ResultTable
from framesift.errors import InputError

PAGE, HEADING = "report.md", "# Results\n"
MOST_NAMES = 10  # of videos or sizes in one line
BASELINE = "uniform"
FAMILIES: Mapping[str, Mapping[str, str]] = {"videomme": VIDEOMME_FAMILIES}
TableLayout = Callable[[Sequence[Result]], ResultTable]
PlotParts = tuple[str, Sequence[str], Mapping[str, Any], Callable[..., None]]  # title, notes, panels, how one is drawn
# Fields that must be equal for two rows to be compared, besides those of the comparison; a method may compare another
# part of the question, and `uniform` take its frames from the candidates of another method.
_CONDITIONS = ("dataset", "reader", *PROMPT_FIELDS, *FRAME_FIELDS[:-2])


@dataclass(frozen=True)
class BenchReport:
    """The files and tables of a report."""

    files: tuple[Path, ...]
    tables: tuple[ResultTable, ...]


def write_report(
    results: Results,
    folder: StrPath,
    *,
    datasets: Sequence[Dataset] = (),
    baseline: str = BASELINE,
    with_plots: bool = True,
) -> BenchReport:
    """Write every table and plot that these results allow; files of an earlier report are replaced, others stay.

    datasets: with annotated moments, for evidence scores. baseline: the method that categories are compared with.
    """
    if not results.rows:
        raise InputError("there is no result to report; run a benchmark first, or give its directory")
    compared = {name: None for row in results.rows for name in (row.method, row.variant)}
    if baseline not in (BASELINE, *compared):
        raise InputError(
            f"the results have no rows of {baseline!r} to compare with; expected one of {listed(compared)}"
        )
    target = Path(folder)
    tables: list[ResultTable] = []
    for table in (*make_tables(results, baseline), *evidence_tables(results, datasets)):
        tables.append(replace(table, name=_unused(table.name, [other.name for other in tables])))
    unreadable = f"{counted(results.unreadable, 'line')} of the results could not be read\n"
    page = [HEADING, *[unreadable] * bool(results.unreadable), *(table.to_markdown() for table in tables)]
    with output_folder(target) as new:
        (new / "tables").mkdir()
        drawn: list[str] = []
        for title, notes, panels, draw in _plots(results, tables) if with_plots else ():
            drawn.append(_unused(_slug(title), drawn))
            plots.save_plot(new / "plots" / drawn[-1], title, notes, panels, draw)
        page += [f"![{name}](plots/{name}.svg)\n" for name in drawn]
        written = [write_text(new / PAGE, "\n".join(page))]
        written += sorted(new.glob("plots/*"))
        for table in tables:
            path = new / "tables" / table.name
            written += [write_text(Path(f"{path}.{ending}"), make(table)) for ending, make in FORMATS.items()]
    return BenchReport(tuple(target / path.relative_to(new) for path in written), tuple(tables))


def make_tables(results: Results, baseline: str = BASELINE) -> Iterator[ResultTable]:
    """The tables of these rows, each with the provenance of its rows in its notes; the main one first."""
    for title, rows, make in _layouts(results.rows, baseline):
        table = make(rows)
        if table.rows:
            yield _described(table, title, rows, results)


def _described(table: ResultTable, title: str, rows: Sequence[Result], results: Results) -> ResultTable:
    """The table with this title behind its own, and the provenance of its rows."""
    notes = (*table.notes, *describe(rows, results.runs))
    full_title = f"{table.title}: {title}" if title else table.title
    return replace(table, name=_slug(f"{table.name} {title}"), title=full_title, notes=notes)


def _layouts(all_rows: Sequence[Result], baseline: str) -> Iterator[tuple[str, Sequence[Result], TableLayout]]:
    """The title, the rows and the layout of every table."""
    answers = [row for row in all_rows if row.reader]
    plain = _plain(answers)
    if answers:
        # Sweeps and ablations have tables of their own, unless there is nothing else.
        yield "", plain or answers, layouts.main_table
    for title, rows in _blocks(answers, "text_mode"):
        staged = [row for row in rows if row.variant in layouts.STAGE_TITLES]
        if any(row.options for row in staged):
            yield title, staged, layouts.stages_table
    for title, rows in _blocks(answers, "variant", "budget"):
        if len({row.text_mode for row in rows}) > 1:
            yield title, rows, layouts.text_modes_table
    for title, rows in _blocks(answers, "budget"):
        unswept = _plain(rows, [layouts.WITHOUT])
        if len(layouts.by_variant(unswept)) > 1:
            yield title, unswept, layouts.pairs_table
        if any(row.categories for row in rows):
            yield title, rows, layouts.categories_table
            if rows[0].dataset in FAMILIES:
                yield f"{title}, joined", layouts.in_families(rows, FAMILIES), layouts.categories_table
    for title, rows in _blocks(plain, "budget", "text_mode"):
        yield title, layouts.in_families(rows, FAMILIES), partial(layouts.gains_table, baseline=baseline)
    for title, rows in _blocks(answers, "method", "budget", "text_mode"):
        if len({row.variant for row in rows}) > 1 and not all(row.options for row in rows):
            yield title, rows, layouts.sensitivity_table
    for title, rows in _blocks([row for row in all_rows if "select" in row.seconds], "budget"):
        yield title, rows, layouts.efficiency_table


def _plain(rows: Sequence[Result], *also: list[str]) -> list[Result]:
    """The rows of a method by its defaults, or by the one setting of its options. also: options of further rows."""
    varied = layouts.several_variants(rows)
    return [row for row in rows if list(row.options) in ([], *also) or row.method not in varied]


def _plots(results: Results, tables: Iterable[ResultTable]) -> Iterator[PlotParts]:
    answers = [row for row in results.rows if row.reader]
    for title, rows in _blocks(_plain(answers)):
        if len({row.budget for row in rows}) > 1:
            panels = {"frames": plots.budget_lines(rows)}
            yield f"Budgets: {title}", describe(rows, results.runs), panels, partial(plots.draw_lines, scale="log")
    for title, rows in _blocks(answers, "method", "budget", "text_mode"):
        if options := plots.option_lines(rows):
            yield f"Sensitivity: {title}", describe(rows, results.runs), options, plots.draw_lines
    for table in tables:
        if table.name.startswith("gains"):
            yield table.title, table.notes, plots.gain_bars(table), plots.draw_bars


def evidence_tables(results: Results, datasets: Iterable[Dataset]) -> Iterator[ResultTable]:
    """A table for each data set: every method's frames scored against the annotated moments."""
    for dataset in datasets:
        rows = [row for row in results.rows if row.dataset == dataset.name and row.times_s and not row.error]
        summaries = {}
        sides = layouts.differing(rows, FRAME_FIELDS)
        # Text mode and reader do not change the frames.
        for selected in group_by(rows, lambda row: values_of(row, ("variant", "budget", *FRAME_FIELDS))).values():
            first = selected[0]
            label = [first.variant, counted(first.budget, "frame"), *layouts.conditions(first, sides)]
            times_s = {row.item_id: row.times_s for row in selected}
            summaries[", ".join(label)] = score_selections(dataset.items, times_s)[1]
        if summaries:
            yield _described(layouts.evidence_table(summaries), dataset.name, rows, results)


def describe(rows: Sequence[Result], runs: Mapping[str, Run]) -> tuple[str, ...]:
    """Describe how these rows were produced: commands, data, encoder, prompts, versions, and what was missing."""
    known = {row.run for row in rows}
    used = [run for run in runs.values() if run.id in known]
    lines = _labelled("command", (run.command for run in used))
    lines += _labelled("data", _data(rows))
    lines += _labelled("encoder", (_encoder(row, used) for row in rows))
    lines += _labelled("query", (row.value("query") for row in rows))
    shown = sorted({(row.budget, *row.frame_size) for row in rows if row.reader and row.frame_size})
    lines += _labelled("frames shown", [_first_names(["{} of {} × {}".format(*sizes) for sizes in shown])])
    texts = {name: text for run in used for name, text in run.prompts.items()}
    prompts = dict.fromkeys(row.prompt for row in rows if row.prompt)
    lines += [f"prompt {name}: {texts[name]!r}" if name in texts else f"prompt: {name}" for name in prompts]
    if any(row.reader and not row.value("prompt_times") for row in rows):
        lines.append("prompt: without the frames' times")
    lines += _labelled("times written as", (row.times_written for row in rows if row.times_written != "none"))
    lines += _labelled("frames sent as", (row.frames_as for row in rows))
    versions = (", ".join(f"{name} {number}" for name, number in run.versions.items()) for run in used)
    lines += _labelled("versions", versions)
    lines += _labelled("missing", (text for run in used for text in run.missing))
    lines += _labelled("note", (text for run in used for text in run.notes))
    if warned := sorted({row.video_id for row in rows if row.warnings}):
        videos = counted(len({row.video_id for row in rows}), "video")
        lines.append(f"warnings: on {len(warned)} of {videos} ({_first_names(warned)})")
    if unknown := sum(row.run not in runs for row in rows):
        lines.append(f"{unknown} of {len(rows)} rows have no record of their run")
    return tuple(lines)


def _first_names(names: Sequence[str]) -> str:
    more = f" and {len(names) - MOST_NAMES} more" if len(names) > MOST_NAMES else ""
    return ", ".join(names[:MOST_NAMES]) + more


def _labelled(label: str, texts: Iterable[str]) -> list[str]:
    """A line for each text that is not empty, once."""
    return [f"{label}: {text}" for text in dict.fromkeys(texts) if text]


def _data(rows: Sequence[Result]) -> Iterator[str]:
    """Each data set's questions with their fingerprint, equal to `Dataset.fingerprint`."""
    for (name, annotation), part in group_by(rows, lambda row: (row.dataset, row.annotation)).items():
        found = {row.item_id for row in part}
        yield f"{name}, {counted(len(found), 'question')}, fingerprint {fingerprint(name, annotation, found)}"


def _encoder(row: Result, runs: Sequence[Run]) -> str:
    name = str(row.value("encoder"))
    prints = {run.encoder_fingerprint[:12] for run in runs if run.encoder == name and run.encoder_fingerprint}
    return f"{name} ({', '.join(sorted(prints))})" if prints else name


def _blocks(rows: Sequence[Result], *over: str) -> Iterator[tuple[str, list[Result]]]:
    """Group rows that are comparable, each group with a title of its common conditions."""
    for block in group_by(rows, lambda row: values_of(row, (*_CONDITIONS, *over))).values():
        first = block[0]
        parts = [layouts.DATASET_TITLES.get(first.dataset, first.dataset), first.reader]
        parts += [counted(first.budget, "frame")] if "budget" in over else []
        parts += [str(first.value(name)) for name in ("method", "variant", "text_mode") if name in over]
        others = [row for row in rows if row.dataset == first.dataset]
        parts += layouts.conditions(first, layouts.differing(others, _CONDITIONS[2:]))
        yield ", ".join(part for part in parts if part), block


def _unused(name: str, taken: Collection[str]) -> str:
    names = (f"{name}-{k}" if k > 1 else name for k in count(1))
    return next(each for each in names if each not in taken)


def _slug(name: str) -> str:
    return re.sub(r"[^a-z0-9.=]+", "-", name.lower()).strip("-")[:120] or "table"
