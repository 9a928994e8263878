"""Plots of a report as SVG and PNG: lines and bars with their intervals, and the provenance below them."""

import textwrap
from collections.abc import Callable, Iterable, Mapping, Sequence
from operator import itemgetter
from pathlib import Path
from typing import Any

from framesift._utils.requirements import require
from framesift.batch.items import group_by
from framesift.batch.results import Result
from framesift.bench.layouts import by_variant
from framesift.bench.metrics import score
from framesift.bench.tables import ResultTable, TableCell
from framesift.selection.registry import selectors

STYLE = {
    "axes.axisbelow": True,
    "axes.grid": True,
    "font.size": 7,
    "grid.linewidth": 0.3,
    "savefig.bbox": "tight",
    "savefig.dpi": 200,
    "svg.fonttype": "none",
    "svg.hashsalt": "framesift",  # the same results give the same bytes
    "text.parse_math": False,
}
AccuracyLines = dict[str, dict[float, TableCell]]  # accuracy by x, by label


def budget_lines(rows: Sequence[Result]) -> AccuracyLines:
    """Accuracy by budget, of each method. Rows of one data set and reader."""
    return {name: _line((row.budget, row) for row in part) for name, part in by_variant(rows).items()}


def option_lines(rows: Sequence[Result]) -> dict[str, AccuracyLines]:
    """Accuracy by each option swept over numbers, the others at their defaults. Rows of one method and budget."""
    selector = selectors().get(rows[0].method)
    defaults = selector.options if selector else {}
    panels = {}
    for name in sorted({name for row in rows for name in row.options}):
        own = [row for row in rows if row.options.keys() <= {name}]
        panels[name] = {"": _line((row.options.get(name, defaults.get(name)), row) for row in own)}
    return {name: lines for name, lines in panels.items() if len(lines[""]) > 1}


def gain_bars(table: ResultTable) -> dict[str, dict[str, TableCell]]:
    """The differences of a table of gains, by category, of each method."""
    return {name: {row[0].text: row[2 * k + 1] for row in table.rows} for k, (name, _) in enumerate(table.head[1:])}


def draw_lines(axes: Any, lines: AccuracyLines, *, scale: str = "linear") -> None:
    """Draw lines with intervals, on a logarithmic scale shifted so that intervals do not overlap."""
    for k, (label, points) in enumerate(lines.items()):
        xs = [x * 1.03 ** (k - (len(lines) - 1) / 2) for x in points]
        cells = points.values()
        axes.plot(xs, [cell.number for cell in cells], "o-", label=label, color=f"C{k}", linewidth=1, markersize=3)
        axes.vlines(xs, [cell.low for cell in cells], [cell.high for cell in cells], f"C{k}")
    ticks = sorted({x for points in lines.values() for x in points})
    axes.set(xscale=scale, ylabel="accuracy (%), 95 % interval by video")
    axes.minorticks_off()
    axes.set_xticks(ticks, [f"{x:g}" for x in ticks])
    axes.label_outer()


def draw_bars(axes: Any, bars: Mapping[str, TableCell]) -> None:
    """Draw horizontal bars with intervals, from top to bottom."""
    for k, cell in enumerate(bars.values()):
        if cell.number is not None:
            axes.barh(-k, cell.number, 0.6, color="C0")
            axes.hlines(-k, cell.low, cell.high, "black")
    axes.set_yticks(range(0, -len(bars), -1), bars)


def save_plot(
    path: Path, title: str, notes: Sequence[str], panels: Mapping[str, Any], draw: Callable[..., None]
) -> None:
    """Write path.svg and path.png: panels side by side, and the notes below them and in the metadata."""
    width = 2.4 + 2.4 * len(panels)
    lines = [line for note in notes for line in textwrap.wrap(note, int(28 * width))]
    with require("matplotlib", "bench").rc_context(STYLE):
        # Without pyplot, which keeps every figure and selects a GUI backend on a desktop.
        figure = require("matplotlib.figure", "bench").Figure((width, 3), layout="constrained")
        figure.suptitle(textwrap.fill(title, int(18 * width)))
        row = figure.subplots(1, len(panels), sharex=draw is draw_bars, sharey=True, squeeze=False)[0]
        for axes, (label, panel) in zip(row, panels.items(), strict=True):
            draw(axes, panel)
            axes.set_xlabel(label)
        if row[0].get_legend_handles_labels()[0]:
            figure.legend(loc="outside right upper")
        figure.text(0, 0, "\n".join(lines), fontsize=5, va="top")
        path.parent.mkdir(exist_ok=True)
        for ending, dated in (("svg", {"Date": None}), ("png", {})):
            figure.savefig(f"{path}.{ending}", metadata={"Description": "\n".join(notes), **dated})


def _line(points: Iterable[tuple[Any, Result]]) -> dict[float, TableCell]:
    """Accuracy by x, where x is a number and a question was answered."""
    numbers = [(x, row) for x, row in points if isinstance(x, int | float) and row.is_answer]
    by_x = sorted(group_by(numbers, itemgetter(0)).items())
    return {x: TableCell.of(score([row for _, row in part]).accuracy) for x, part in by_x}
