"""Plots as SVG and PNG, with their provenance in a footer and in the file's metadata."""

import os
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from framesift._utils.files import atomic_path
from framesift.batch.results import Result
from framesift.bench.metrics import compare, ordered_groups, score
from framesift.bench.statistics import Interval
from framesift.errors import MissingExtra

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Okabe and Ito's colour-blind-safe palette, with a marker for each for print in grey.
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000")
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
FOOTER_POINTS, FOOTER_CHARACTERS_PER_INCH = 5.0, 25
ACCURACY = "accuracy (%), 95 % interval by video"


@dataclass(frozen=True)
class Series:
    """A line of a plot: x and the accuracy there."""

    name: str
    points: tuple[tuple[float, Interval], ...]


def budget_series(variants: Mapping[str, Sequence[Result]]) -> list[Series]:
    """Accuracy by budget, a line for each named set of rows."""
    series = []
    for name, rows in variants.items():
        budgets = sorted({row.budget for row in rows})
        scores = [(float(b), score([row for row in rows if row.budget == b])) for b in budgets]
        points = tuple((b, result.accuracy) for b, result in scores if result is not None)
        series += [Series(name, points)] if points else []
    return series


def sensitivity_series(rows: Sequence[Result], defaults: Mapping[str, object]) -> list[Series]:
    """Accuracy by each swept option, the others at their defaults; the default is a point of every line.

    A row without options is the default setting. defaults: of the method.
    """
    base = score([row for row in rows if not row.options])
    series = []
    for name in sorted({name for row in rows if len(row.options) == 1 for name in row.options}):
        values = [row.options[name] for row in rows if list(row.options) == [name]]
        numbers = sorted({float(value) for value in values if isinstance(value, int | float)})
        points = []
        for value in numbers:
            result = score([row for row in rows if list(row.options) == [name] and row.options[name] == value])
            points += [(value, result.accuracy)] if result is not None else []
        default = defaults.get(name)
        if base is not None and isinstance(default, int | float) and float(default) not in dict(points):
            points.append((float(default), base.accuracy))
        series += [Series(name, tuple(sorted(points)))] if len(points) > 1 else []
    return series


def category_gains(rows: Sequence[Result], baseline: Sequence[Result]) -> dict[str, tuple[Interval, int]]:
    """The paired difference in each category, with the number of questions both answered."""
    names = ordered_groups({name for row in rows for name in row.categories})
    gains = {}
    for name in names:
        answers = [row for row in rows if name in row.categories and row.is_answer]
        base = [row for row in baseline if name in row.categories and row.is_answer]
        if {row.item_id for row in answers} & {row.item_id for row in base}:
            pair = compare(answers, base)
            gains[name] = (pair.difference, pair.n)
    return gains


def plot_budgets(series: Sequence[Series], title: str) -> "Figure":
    """Plot accuracy by number of frames, on a log2 scale, with intervals."""
    figure, (axes,) = _figure(1, title=title, width=6.2)
    _draw_lines(axes, series)
    axes.set_xscale("log", base=2)
    budgets = sorted({x for line in series for x, _ in line.points})
    axes.set_xticks(budgets, [f"{budget:g}" for budget in budgets])
    axes.set(xlabel="frames", ylabel=ACCURACY)
    figure.legend(fontsize=6.5, frameon=False, loc="outside right upper")
    return figure


def plot_sensitivity(series: Sequence[Series], title: str) -> "Figure":
    """Plot a panel for each option, on a common scale."""
    figure, panels = _figure(max(1, len(series)), title=title)
    for axes, line in zip(panels, series, strict=False):
        _draw_lines(axes, [line])
        axes.set(xlabel=line.name)
    panels[0].set(ylabel=ACCURACY)
    return figure


def plot_categories(gains: Mapping[str, tuple[Interval, int]], title: str) -> "Figure":
    """Plot horizontal bars of the paired gain by category, with intervals and counts."""
    figure, (axes,) = _figure(1, title=title, height=1.0 + 0.24 * max(4, len(gains)))
    names = sorted(gains, key=lambda name: gains[name][0].value)
    for k, name in enumerate(names):
        (value, low, high), _ = gains[name]
        axes.barh(k, 100 * value, color=COLOURS[0], height=0.6)
        axes.plot([100 * low, 100 * high], [k, k], color="black", linewidth=0.8)
    axes.set_yticks(range(len(names)), [f"{name} (n = {gains[name][1]})" for name in names], fontsize=7)
    axes.axvline(0.0, color="black", linewidth=0.6)
    axes.set(xlabel="difference (percentage points, 95 % interval by video)")
    return figure


def save_plot(figure: "Figure", path: str | os.PathLike[str], provenance: Sequence[str]) -> list[Path]:
    """Write path.svg and path.png with the provenance below the plot and in the metadata."""
    from matplotlib import rc_context

    width, height = figure.get_size_inches()
    characters = int(width * FOOTER_CHARACTERS_PER_INCH)
    footer = [line for text in provenance for line in textwrap.wrap(text, characters, subsequent_indent="    ")]
    added = (len(footer) + 1) * FOOTER_POINTS * 1.25 / 72
    figure.set_size_inches(width, height + added)
    figure.set_layout_engine("constrained", rect=(0, added / (height + added), 1, height / (height + added)))
    figure.text(0.01, 0.01, "\n".join(footer), fontsize=FOOTER_POINTS, color="#444444", va="bottom", parse_math=False)
    description = "\n".join(provenance)
    written = []
    # A fixed salt and no date, so that the same results give the same bytes.
    with rc_context({"svg.hashsalt": "framesift", "svg.fonttype": "none"}):
        for ending, more in ((".svg", {"Date": None}), (".png", {})):
            target = Path(os.fspath(path) + ending)
            with atomic_path(target) as temporary:
                figure.savefig(temporary, format=ending[1:], dpi=200, metadata={"Description": description, **more})
            written.append(target)
    return written


def _figure(panels: int, *, title: str, width: float = 4.6, height: float = 2.6) -> "tuple[Figure, list[Axes]]":
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingExtra("plots need matplotlib: pip install 'framesift[bench]'") from None
    # Not pyplot: it holds on to every figure, and selects a GUI backend on a desktop.
    size = (width if panels == 1 else 2.4 * panels, height)
    figure = Figure(figsize=size, layout="constrained")
    FigureCanvasAgg(figure)
    figure.suptitle("\n".join(textwrap.wrap(title, int(size[0] * 15))), fontsize=8)
    axes = figure.subplots(1, panels, sharey=True, squeeze=False)
    for panel in axes.flat:
        panel.tick_params(labelsize=7)
        panel.xaxis.label.set_size(8)
        panel.yaxis.label.set_size(8)
        panel.grid(visible=True, linewidth=0.3)
        panel.set_axisbelow(True)
    return figure, list(axes.flat)


def _draw_lines(axes: "Axes", series: Sequence[Series]) -> None:
    for k, line in enumerate(series):
        style: dict[str, Any] = {"color": COLOURS[k % len(COLOURS)], "marker": MARKERS[k % len(MARKERS)]}
        # Shifted, so that intervals do not overlap.
        shift = 1 + 0.03 * (k - (len(series) - 1) / 2) if len(series) > 1 else 1.0
        xs = [x * shift for x, _ in line.points]
        ys = [100 * y.value for _, y in line.points]
        spread = [[100 * (y.value - y.low) for _, y in line.points], [100 * (y.high - y.value) for _, y in line.points]]
        axes.errorbar(xs, ys, yerr=spread, label=line.name, markersize=3.5, linewidth=1, capsize=2, **style)
