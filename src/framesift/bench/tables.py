"""A table once, written as Markdown, CSV or LaTeX; every number with its interval, every table with its notes."""

import csv
import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from framesift.bench.metrics import minus
from framesift.bench.statistics import Interval


@dataclass(frozen=True)
class TableCell:
    """A number as it is printed, with its bounds where it has them. `number` is what a program should read."""

    text: str
    number: float | None = None
    low: float | None = None
    high: float | None = None
    bold: bool = False

    @classmethod
    def percent(cls, interval: Interval, *, bold: bool = False) -> "TableCell":
        """A share as the paper prints it, two decimals in percent, and its interval with one."""
        value, low, high = (100 * part for part in interval)
        return cls(minus(value, 2), value, low, high, bold)

    @classmethod
    def count(cls, number: int) -> "TableCell":
        return cls(str(number), number)

    @classmethod
    def plain(cls, number: float, digits: int = 3) -> "TableCell":
        return cls(minus(number, digits), number)

    @property
    def bounds(self) -> tuple[str, str] | None:
        if self.low is None or self.high is None:
            return None
        return minus(self.low), minus(self.high)


EMPTY = TableCell("–")


@dataclass(frozen=True)
class ResultTable:
    """head: labels over several columns each, (label, how many), or none. rules: rows before which a line is drawn."""

    name: str
    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[TableCell, ...], ...]
    head: tuple[tuple[str, int], ...] = ()
    notes: tuple[str, ...] = ()
    rules: frozenset[int] = field(default=frozenset())

    def to_markdown(self) -> str:
        names = self._flat_columns()
        lines = [f"### {self.title}", "", _markdown_row(names)]
        lines.append(_markdown_row(["---"] + ["---:"] * (len(names) - 1)))
        lines += [_markdown_row([_markdown_cell(cell) for cell in row]) for row in self.rows]
        lines += ["", *(f"- {_markdown_text(note)}" for note in self.notes)]
        return "\n".join(lines).rstrip() + "\n"

    def to_csv(self) -> str:
        """A column for each number and two for its bounds, unrounded; the notes as comment lines before."""
        bounded = [any(row[k].low is not None for row in self.rows) for k in range(len(self.columns))]
        out = io.StringIO()
        for note in (self.title, *self.notes):
            out.write(f"# {' '.join(note.split())}\n")
        writer = csv.writer(out, lineterminator="\n")
        header: list[str] = []
        for name, has in zip(self._flat_columns(), bounded, strict=True):
            header += [name, f"{name} low", f"{name} high"] if has else [name]
        writer.writerow(header)
        for row in self.rows:
            line: list[object] = []
            for cell, has in zip(row, bounded, strict=True):
                line.append(cell.number if cell.number is not None else "" if cell is EMPTY else cell.text)
                line += [cell.low, cell.high] if has else []
            writer.writerow(line)
        return out.getvalue()

    def to_latex(self) -> str:
        """For booktabs; the notes are comments before it and small print under it."""
        count = len(self.columns)
        lines = [f"% {' '.join(note.split())}" for note in self.notes]
        lines += [r"\begin{table*}[t]", r"  \centering", f"  \\caption{{{_latex_text(self.title)}}}"]
        lines += [f"  \\label{{tab:{self.name}}}", r"  \resizebox{\textwidth}{!}{%"]
        lines += [f"  \\begin{{tabular}}{{l{'c' * (count - 1)}}}", r"    \toprule"]
        if self.head:
            spans = [
                f"\\multicolumn{{{n}}}{{c}}{{\\textbf{{{_latex_text(label)}}}}}" if n > 1 or label else ""
                for label, n in self.head
            ]
            lines.append("    " + " & ".join(spans) + r" \\")
        lines.append("    " + " & ".join(f"\\textbf{{{_latex_text(name)}}}" for name in self.columns) + r" \\")
        lines.append(r"    \midrule")
        for k, row in enumerate(self.rows):
            if k in self.rules and k:
                lines.append(r"    \midrule")
            lines.append("    " + " & ".join(_latex_cell(cell) for cell in row) + r" \\")
        lines += [r"    \bottomrule", r"  \end{tabular}}"]
        lines += [f"  \\\\{{\\scriptsize {_latex_text(note)}}}" for note in self.notes]
        return "\n".join([*lines, r"\end{table*}"]) + "\n"

    def _flat_columns(self) -> list[str]:
        """Column names with what stands over them, for formats with one header line."""
        over = [label for label, span in self.head for _ in range(span)] or [""] * len(self.columns)
        return [f"{label} {name}".strip() for label, name in zip(over, self.columns, strict=True)]


FORMATS: dict[str, Callable[[ResultTable], str]] = {
    "md": ResultTable.to_markdown,
    "csv": ResultTable.to_csv,
    "tex": ResultTable.to_latex,
}


def word(text: str) -> TableCell:
    return TableCell(text)


def bold_best(rows: Sequence[Sequence[TableCell]], columns: Sequence[int]) -> list[list[TableCell]]:
    """The same cells, the largest number of each of these columns in bold; equal ones all are."""
    marked = [list(row) for row in rows]
    for k in columns:
        best = max((number for row in rows if (number := row[k].number) is not None), default=None)
        alone = sum(row[k].number is not None for row in rows) < 2
        for row in marked if not alone else ():
            cell = row[k]
            if best is not None and cell.number is not None and round(cell.number, 2) == round(best, 2):
                row[k] = TableCell(cell.text, cell.number, cell.low, cell.high, bold=True)
    return marked


def _markdown_row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def _markdown_text(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def _markdown_cell(cell: TableCell) -> str:
    text = f"**{_markdown_text(cell.text)}**" if cell.bold else _markdown_text(cell.text)
    return text if cell.bounds is None else f"{text} ({cell.bounds[0]} … {cell.bounds[1]})"


_LATEX = {
    "\\": r"\textbackslash{}",
    "&": r"\&",
    "%": r"\%",
    "$": r"\$",
    "#": r"\#",
    "_": r"\_",
    "{": r"\{",
    "}": r"\}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "−": "$-$",
    "…": r"\dots{}",
    "–": "--",
    "α": r"$\alpha$",
    "×": r"$\times$",
}


def _latex_text(text: str) -> str:
    # Two hyphens, as in a command, would become a dash.
    words = " ".join(text.split()).split("--")
    return "-{}-".join("".join(_LATEX.get(c, c) for c in part) for part in words)


def _latex_cell(cell: TableCell) -> str:
    text = f"\\textbf{{{_latex_text(cell.text)}}}" if cell.bold else _latex_text(cell.text)
    if cell.bounds is None:
        return text
    low, high = (_latex_text(bound) for bound in cell.bounds)
    return f"{text} {{\\scriptsize ({low} -- {high})}}"
