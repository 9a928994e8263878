"""Tables, written as Markdown, CSV or LaTeX, with intervals and notes."""

import csv
import io
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace

from framesift.bench.metrics import minus, signed
from framesift.bench.statistics import Interval


@dataclass(frozen=True)
class TableCell:
    """A cell: the printed text, and the unrounded number with its bounds, if any."""

    text: str
    number: float | None = None
    low: float | None = None
    high: float | None = None
    bold: bool = False

    @classmethod
    def of(cls, value: "CellValue") -> "TableCell":
        """A text, a count, a number with three decimals, or a share in percent with two, as in the paper."""
        match value:
            case None:
                return EMPTY
            case Interval():
                share, low, high = (100 * part for part in value)
                return cls(minus(share, 2), share, low, high)
            case int():
                return cls(str(value), value)
            case float():
                return cls.plain(value)
            case str():
                return cls(value)
        return value

    @classmethod
    def difference(cls, interval: Interval) -> "TableCell":
        """A difference of shares in percentage points, with its sign."""
        value, low, high = (100 * part for part in interval)
        return cls(signed(value, 2), value, low, high)

    @classmethod
    def plain(cls, number: float, digits: int = 3) -> "TableCell":
        return cls(minus(number, digits), number)

    @property
    def bounds(self) -> tuple[str, str] | None:
        return None if self.low is None or self.high is None else (minus(self.low), minus(self.high))


CellValue = TableCell | Interval | str | float | None
EMPTY = TableCell("–")


@dataclass(frozen=True)
class ResultTable:
    """A table. head: (label, number of columns) pairs above the columns, or none. rules: rows preceded by a line."""

    name: str
    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[TableCell]]
    notes: Sequence[str]
    head: Sequence[tuple[str, int]] = ()
    rules: Collection[int] = ()

    def to_markdown(self) -> str:
        names = self._flat_columns()
        lines = [f"### {self.title}", "", _markdown_row(names)]
        lines.append(_markdown_row(["---"] + ["---:"] * (len(names) - 1)))
        lines += [_markdown_row([_markdown_cell(cell) for cell in row]) for row in self.rows]
        lines += ["", *(f"- {_markdown_text(note)}" for note in self.notes)]
        return "\n".join(lines).rstrip() + "\n"

    def to_csv(self) -> str:
        """CSV with unrounded numbers and their bounds in columns of their own; `to_provenance` has the notes."""
        bounded = [any(row[k].low is not None for row in self.rows) for k in range(len(self.columns))]
        out = io.StringIO()
        writer = csv.writer(out, lineterminator="\n")
        header: list[str] = []
        for name, has in zip(self._flat_columns(), bounded, strict=True):
            header += [name, f"{name} low", f"{name} high"] if has else [name]
        writer.writerow(header)
        for row in self.rows:
            line: list[object] = []
            for cell, has in zip(row, bounded, strict=True):
                text = "" if cell == EMPTY else cell.text
                line += [text if cell.number is None else cell.number, *((cell.low, cell.high) if has else ())]
            writer.writerow(line)
        return out.getvalue()

    def to_provenance(self) -> str:
        """The title and the notes, a line each."""
        return "".join(f"{' '.join(note.split())}\n" for note in (self.title, *self.notes))

    def to_latex(self) -> str:
        """LaTeX for booktabs, with the notes as comments before and as small print below."""
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
        """Column names joined with the labels above them, for formats with one header line."""
        over = [label for label, span in self.head for _ in range(span)] or [""] * len(self.columns)
        return [f"{label} {name}".strip() for label, name in zip(over, self.columns, strict=True)]


FORMATS: dict[str, Callable[[ResultTable], str]] = {
    "md": ResultTable.to_markdown,
    "csv": ResultTable.to_csv,
    "provenance.txt": ResultTable.to_provenance,
    "tex": ResultTable.to_latex,
}


def cells(*values: CellValue) -> list[TableCell]:
    """The cells of a row; None is an empty one."""
    return list(map(TableCell.of, values))


def bold_best(rows: Sequence[Sequence[TableCell]], columns: Sequence[int]) -> list[list[TableCell]]:
    """Set the largest number of each of these columns in bold, and all that equal it."""
    copied = [list(row) for row in rows]
    for k in columns:
        numbers = [round(number, 2) for row in rows if (number := row[k].number) is not None]
        for row in copied if len(numbers) > 1 else ():
            number = row[k].number
            row[k] = replace(row[k], bold=number is not None and round(number, 2) == max(numbers))
    return copied


def _markdown_row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def _markdown_text(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def _markdown_cell(cell: TableCell) -> str:
    text = f"**{_markdown_text(cell.text)}**" if cell.bold else _markdown_text(cell.text)
    return text if cell.bounds is None else f"{text} ({cell.bounds[0]} … {cell.bounds[1]})"


_LATEX = str.maketrans(
    {
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
)


def _latex_text(text: str) -> str:
    # LaTeX would turn the two hyphens of a flag into a dash.
    words = " ".join(text.split()).split("--")
    return "-{}-".join(part.translate(_LATEX) for part in words)


def _latex_cell(cell: TableCell) -> str:
    text = f"\\textbf{{{_latex_text(cell.text)}}}" if cell.bold else _latex_text(cell.text)
    if cell.bounds is None:
        return text
    low, high = (_latex_text(bound) for bound in cell.bounds)
    return f"{text} {{\\scriptsize ({low} -- {high})}}"
