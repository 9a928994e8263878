"""The layouts of the tables: which settings are lines, which groups are columns, and the notes."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from typing import Any

from framesift._utils.text import counted
from framesift.batch.items import group_by
from framesift.batch.results import UNIFORM, Result
from framesift.bench.evidence_scores import EvidenceSummary
from framesift.bench.metrics import (
    FRAME_FIELDS,
    GROUP_ORDER,
    OVERALL,
    PROMPT_FIELDS,
    SETTING,
    Pair,
    by_setting,
    compare,
    compare_all,
    ranked,
    score,
    score_categories,
    score_groups,
    values_of,
)
from framesift.bench.tables import EMPTY, CellValue, ResultTable, TableCell, bold_best, cells

DATASET_TITLES = {
    "longvideobench": "LongVideoBench",
    "videomme": "Video-MME",
    "videomme-v2": "Video-MME-v2",
    "mlvu": "MLVU",
    "egoschema": "EgoSchema",
    "lvbench": "LVBench",
    "cgbench": "CG-Bench",
}
TEXT_MODE_TITLES = {
    "none": "Visual-only",
    "blank": "Blank subtitle band",
    "prompt": "Global subtitle prompt",
    "tagged": "Frame-tagged subtitle prompt",
    "shuffled": "Shuffled subtitle overlay",
    "aligned": "Aligned subtitle overlay",
}
WITHOUT = "without"  # the option that omits a stage of GCR
STAGE_TITLES = {
    "uniform": "Uniform baseline",
    **{f"gcr {WITHOUT}={stage}": f"w/o {stage.capitalize()}" for stage in ("ground", "cover", "refine")},
    "gcr": "Full GCR",
}
MEAN = "Mean of categories"  # what MLVU reports as M-Avg
VISUAL_ONLY = "none"
INTERVALS = (
    "In brackets: 95 % intervals clustered by video. Overall weights every question equally. An unparsed reply counts "
    "as wrong; a question with an error does not count and is under Errors. Bold is the largest number, which need not "
    "be distinguishable from the next."
)
PAIRED = (
    "Paired differences in percentage points, on the questions that both answered (only one: Not shared), with "
    "95 % intervals from a bootstrap over videos; p by McNemar's exact test, Holm-adjusted over the table's lines. "
    "Distinguishable: the interval excludes 0 and the adjusted p is below 0.05."
)
GAINS = "On the questions that both answered, with 95 % intervals from a bootstrap over videos."
COUNTS = ("n", "Unparsed", "Errors")
BLANK = ("", 1)
_SIDES = (*FRAME_FIELDS[:4], *PROMPT_FIELDS, *FRAME_FIELDS[4:])

Line = list[TableCell]


def main_table(rows: Sequence[Result]) -> ResultTable:
    """Table 1: a line per reader, method, text mode and budget; each data set's groups and overall."""
    answers = [row for row in rows if row.reader]
    by_dataset = group_by(answers, lambda row: row.dataset)
    groups = {name: _groups(by_dataset[name]) for name in ranked(by_dataset, list(DATASET_TITLES))}
    lines = _lines(by_setting(answers))
    sides = differing([rows[0] for line in lines for rows in line.values()], _SIDES)
    width = sum(map(len, groups.values()))
    columns = ("Reader and method", "Text", "Frames", "Tokens")
    body: list[Line] = []
    rules = set()
    for _, block in groupby(lines, lambda line: values_of(_first(line), ("reader", "budget"))):
        rules.add(len(body))
        part = []
        for line in block:
            first = _first(line)
            side = ", ".join(conditions(first, sides))
            label = f"{first.reader} + {_method(line)}" + (f" ({side})" if side else "")
            found = _accuracies([(groups[name], line.get(name, [])) for name in groups])
            tokens = _mean_of([row for rows in line.values() for row in rows], "tokens", 0)
            part.append(cells(label, first.text_mode, first.budget, tokens, *found))
        body += bold_best(part, range(len(columns), len(columns) + width))
    heads = [(DATASET_TITLES.get(name, name), len(groups[name])) for name in groups]
    return ResultTable(
        "main",
        "Accuracy (%) by length of video",
        (*columns, *(group for own in groups.values() for group in own), *COUNTS),
        body,
        (INTERVALS,),
        (*[BLANK] * len(columns), *heads, *[BLANK] * 3),
        rules,
    )


def stages_table(rows: Sequence[Result]) -> ResultTable:
    """Table 2: uniform, GCR without each stage, and GCR; each budget's groups. Rows of one data set and reader."""
    parts = {(part[0].variant, part[0].budget): part for part in by_setting(rows)}
    budgets = sorted({budget for _, budget in parts})
    groups = _groups(rows)
    lines = [
        cells(title, *_accuracies([(groups, parts.get((variant, b), [])) for b in budgets]))
        for variant, title in STAGE_TITLES.items()
        if variant in {variant for variant, _ in parts}
    ]
    return ResultTable(
        "stages",
        "Contribution of each stage, accuracy (%)",
        ("Variant", *groups * len(budgets), *COUNTS),
        bold_best(lines, range(1, 1 + len(budgets) * len(groups))),
        (INTERVALS,),
        (BLANK, *((counted(budget, "frame"), len(groups)) for budget in budgets), *[BLANK] * 3),
    )


def text_modes_table(rows: Sequence[Result]) -> ResultTable:
    """Table 3: the text modes, with the gain over visual-only. Rows of one data set, reader, method, budget."""
    modes = group_by(rows, lambda row: row.text_mode)
    answered = _answered(modes)
    pairs = compare_all(answered, against=VISUAL_ONLY) if VISUAL_ONLY in answered else []
    gains = {pair.first: _pair_cells(pair) for pair in pairs}
    lines = [
        cells(
            TEXT_MODE_TITLES.get(mode, mode),
            score(modes[mode]).accuracy,
            *gains.get(mode, [EMPTY] * 4),
            _mean_of(modes[mode], "rendered_words", 2),
            _mean_of(modes[mode], "rendered", 2),
            *_counts(modes[mode]),
        )
        for mode in ranked(modes, list(TEXT_MODE_TITLES))
    ]
    columns = ("Input", "Accuracy (%)", "Gain (pp)", "p (Holm)", "Verdict", "Not shared", "Words", "Frames", *COUNTS)
    drawn = "Words: drawn on the frames of a question, on average; Frames: those that carry them."
    return ResultTable("text-modes", "Text modes", columns, bold_best(lines, [1]), (INTERVALS, PAIRED, drawn))


def efficiency_table(rows: Sequence[Result]) -> ResultTable:
    """Table 4: seconds per question in the paper's two parts, frames scored, memory and accuracy, by method."""
    lines = []
    for variant, answered in by_variant([row for row in rows if not row.error]).items():
        # No number, rather than a small one, if the cost of the index is unknown.
        costs = [row.seconds for row in answered if "decode" in row.seconds]
        prepare = _mean([seconds["decode"] + seconds.get("features", 0.0) for seconds in costs]) if costs else None
        choose = _mean([row.seconds.get("score", 0.0) + row.seconds.get("select", 0.0) for row in answered])
        lines.append(
            cells(
                variant,
                prepare,
                choose,
                None if prepare is None else prepare + choose,
                _memory([row.peak_gpu_memory_bytes for row in answered]),
                _memory([row.peak_memory_bytes for row in answered]),
                TableCell.plain(_mean([row.looked_at for row in answered]), 1),
                TableCell.plain(_mean([row.candidates for row in answered]), 1),
                score(answered).accuracy,
                len(answered),
            )
        )
    return ResultTable(
        "efficiency",
        "Cost of selection",
        ("Method", "D.+Feat.", "Score+Sel.", "Total", "GPU", "CPU", "Scored", "Of", "Acc. (%)", "n"),
        lines,
        (
            INTERVALS,
            "D.+Feat.: decoding and encoding, each video's total divided by its questions. Score+Sel.: from the "
            "question's text to the selected frames. Times are of one machine: compare only within the table.",
        ),
        (BLANK, ("Latency (s/question)", 3), ("Peak memory (GiB)", 2), ("Frames", 2), BLANK, BLANK),
    )


def categories_table(rows: Sequence[Result]) -> ResultTable:
    """Each category's accuracy by method. Rows of one data set, reader and budget."""
    scores = {variant: score_categories(part) for variant, part in by_variant(rows).items()}
    names = sorted({name for of_variant in scores.values() for name in of_variant})
    lines = []
    for name in names:
        found = {variant: of_variant[name] for variant, of_variant in scores.items() if name in of_variant}
        most = max(part.n for part in found.values())
        lines.append(cells(name, most, *(found[v].accuracy if v in found else None for v in scores)))
    if len(lines) > 1:
        means = []
        for column in list(zip(*lines, strict=True))[2:]:
            numbers = [cell.number for cell in column if cell.number is not None]
            means.append(TableCell.plain(_mean(numbers), 2) if len(numbers) == len(lines) else EMPTY)
        lines.append(cells(MEAN, None, *means))
    small = "Small categories have wide intervals: do not interpret differences without them."
    title, names_of_columns = "Accuracy (%) by category", ("Category", "n", *scores)
    return ResultTable("categories", title, names_of_columns, lines, (INTERVALS, small))


def gains_table(rows: Sequence[Result], *, baseline: str) -> ResultTable:
    """Figure 4 as numbers: each category's paired difference from the baseline. Rows of one text mode and budget."""
    variants = by_variant(rows)
    base = variants.pop(baseline, [])
    lines = []
    for name in sorted({name for row in base if row.is_answer for name in row.categories}):
        theirs = [row for row in base if name in row.categories]
        answered = {row.item_id for row in theirs if row.is_answer}
        line: list[CellValue] = [name]
        for part in variants.values():
            ours = [row for row in part if name in row.categories]
            pair = compare(ours, theirs) if any(row.item_id in answered and row.is_answer for row in ours) else None
            line += [None, None] if pair is None else [TableCell.difference(pair.difference), pair.n]
        lines.append(cells(*line))
    title, heads = f"Gains over {baseline} by category (pp)", [(variant, 2) for variant in variants]
    columns = ("Category", *("Difference", "n") * len(variants))
    return ResultTable("gains", title, columns, lines if variants else [], (GAINS,), (BLANK, *heads))


def pairs_table(rows: Sequence[Result], *, against: str | None = None) -> ResultTable:
    """Every pair of methods, or each versus one. Rows of one data set, reader and budget."""
    variants = _answered(by_variant(rows))
    pairs = compare_all(variants, against=against) if against is None or against in variants else []
    lines = [cells(pair.first, pair.second, *_pair_cells(pair), pair.n, TableCell.plain(pair.p, 4)) for pair in pairs]
    columns = ("Method", "against", "Difference (pp)", "p (Holm)", "Verdict", "Not shared", "n", "p")
    return ResultTable("pairs", "Paired differences", columns, lines, (INTERVALS, PAIRED))


def sensitivity_table(rows: Sequence[Result]) -> ResultTable:
    """Figure 5 as numbers: each setting of a method's options versus its defaults."""
    table = pairs_table(rows, against=next(row.variant for row in rows if not row.options))
    return replace(table, name="sensitivity", title="Settings versus the defaults")


def evidence_table(summaries: Mapping[str, EvidenceSummary]) -> ResultTable:
    """Evidence scores without a reader, a line per selection."""
    lines = [
        cells(
            name,
            *(summary.near, summary.moments_near, summary.hit, summary.inside, summary.scenes_hit),
            None if summary.unified is None else TableCell.plain(100 * summary.unified, 2),
            TableCell.plain(summary.frames, 1),
            *(summary.n, summary.n_scenes, summary.unscored),
        )
        for name, summary in summaries.items()
    ]
    scores = ("Near", "Moments near", "Hit", "In scene", "Scene hits", "Unified")
    columns = ("Selection", *scores, "Frames", "n", "n scenes", "Unannotated")
    described = (
        "In percent. Near: questions with a frame within 2 s of a true moment; Moments near: true moments with one; "
        "Hit: questions with a frame in a true scene; In scene: frames in one; Scene hits: scenes with a frame; "
        "Unified: KFS-Bench's score (its geometric mean). Unannotated: questions without a moment, not in n."
    )
    return ResultTable("evidence", "Evidence without a reader", columns, lines, (INTERVALS, described))


def differing(rows: Iterable[Result], names: Sequence[str]) -> list[str]:
    """Those of the fields that differ between rows of one data set, and so must be in the label."""
    by_dataset = group_by(rows, lambda row: row.dataset).values()
    return [
        name
        for name in names
        if any(len({row.value(name) for row in part if _concerns(name, row)}) > 1 for part in by_dataset)
    ]


def conditions(row: Result, names: Sequence[str]) -> list[str]:
    """The row's fields with these names, as a label has them."""
    values = zip(names, values_of(row, names), strict=True)
    return [f"{name} {'none' if value is None else value}" for name, value in values if _concerns(name, row)]


def by_variant(rows: Sequence[Result]) -> dict[str, list[Result]]:
    """Group rows by method and options, and by text mode, query and the frames of `uniform` if there are several."""
    queries = {(row.method, row.value("query")) for row in rows}
    several_modes = len({row.text_mode for row in rows}) > 1
    several_frames = len({row.value("uniform_frames") for row in rows if row.method == UNIFORM}) > 1

    def label(row: Result) -> str:
        sides = [row.text_mode] if several_modes else []
        sides += [f"query {row.value('query')}"] if sum(method == row.method for method, _ in queries) > 1 else []
        sides += [f"frames of the {row.value('uniform_frames')}"] if several_frames and row.method == UNIFORM else []
        return f"{row.variant} [{', '.join(sides)}]" if sides else row.variant

    return group_by(rows, label)


def in_families(rows: Sequence[Result], families: Mapping[str, Mapping[str, str]]) -> list[Result]:
    """Join the rows' categories into families, by data set; others are unchanged."""
    joined = []
    for row in rows:
        family_of = families.get(row.dataset, {})
        names = dict.fromkeys(family_of.get(name, name) for name in row.categories)
        joined.append(replace(row, categories=tuple(names)))
    return joined


def _lines(settings: Iterable[list[Result]]) -> list[dict[str, list[Result]]]:
    """The rows of each line by data set: settings that differ only in it, and its prompt, share a line."""
    parts = list(settings)
    lines: dict[tuple[Any, ...], dict[str, list[Result]]] = {}
    varied = several_variants(row for rows in parts for row in rows)
    for rows in parts:
        first = rows[0]
        shared = values_of(first, (name for name in SETTING if name not in ("dataset", "prompt", "variant")))
        shared = (*shared, first.variant if first.method in varied else first.method)
        number = 0
        while rows[0].dataset in lines.setdefault((*shared, number), {}):
            number += 1
        lines[(*shared, number)][rows[0].dataset] = rows
    return sorted(lines.values(), key=lambda line: values_of(_first(line), ("reader", "budget")))


def several_variants(rows: Iterable[Result]) -> set[str]:
    """The methods with rows of several settings of their options on one data set, as in a sweep."""
    variants = group_by(rows, lambda row: (row.dataset, row.method)).items()
    return {method for (_, method), own in variants if len({row.variant for row in own}) > 1}


def _method(line: Mapping[str, Sequence[Result]]) -> str:
    """The method of a line with its options, and those that only one data set has."""
    variants = {name: rows[0].variant for name, rows in line.items()}
    first = _first(line)
    if len(set(variants.values())) == 1:
        return first.variant
    own = [
        f"{text.removeprefix(first.method).strip()} on {DATASET_TITLES.get(name, name)}"
        for name, text in variants.items()
        if text != first.method
    ]
    return f"{first.method} {', '.join(own)}"


def _first(line: Mapping[str, Sequence[Result]]) -> Result:
    return next(iter(line.values()))[0]


def _concerns(name: str, row: Result) -> bool:
    """Whether a field makes a difference to the row's method."""
    return name != "uniform_frames" or row.method == UNIFORM


def _groups(rows: Iterable[Result]) -> list[str]:
    groups = {row.group for row in rows if row.group}
    return [*(ranked(groups, GROUP_ORDER) if len(groups) > 1 else ()), OVERALL]


def _answered(parts: Mapping[str, list[Result]]) -> dict[str, list[Result]]:
    return {name: rows for name, rows in parts.items() if any(row.is_answer for row in rows)}


def _accuracies(parts: Sequence[tuple[Sequence[str], Sequence[Result]]]) -> Line:
    """The accuracy of each group of each part, then the counts of all rows."""
    line = []
    for groups, rows in parts:
        scores = score_groups(rows)
        line += cells(*(scores[group].accuracy if group in scores else None for group in groups))
    return line + _counts([row for _, rows in parts for row in rows])


def _counts(rows: Sequence[Result]) -> Line:
    found = score(rows)
    return cells(found.n, found.unparsed, found.errors)


def _pair_cells(pair: Pair) -> Line:
    verdict = "distinguishable" if pair.distinguishable else "not distinguishable"
    return cells(TableCell.difference(pair.difference), TableCell.plain(pair.p_holm, 4), verdict, pair.dropped)


def _mean(numbers: Sequence[float]) -> float:
    return sum(numbers) / len(numbers)


def _mean_of(rows: Iterable[Result], name: str, digits: int) -> TableCell:
    """The mean of a field over the answers that have it."""
    known = [value for row in rows if row.is_answer and (value := getattr(row, name)) is not None]
    return TableCell.plain(_mean(known), digits) if known else EMPTY


def _memory(values: Iterable[int | None]) -> float | None:
    return max((value / 2**30 for value in values if value is not None), default=None)
