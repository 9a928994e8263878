"""The layouts of the paper's tables: which settings are lines, which groups are columns, and the notes."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any

from framesift._utils.text import counted
from framesift.batch.results import UNIFORM, Result
from framesift.bench.evidence_scores import EvidenceSummary
from framesift.bench.metrics import (
    OVERALL,
    AccuracyScore,
    Pair,
    ResultSetting,
    adjusted,
    by_setting,
    compare,
    compare_all,
    group_by,
    ordered_groups,
    score,
    score_categories,
    score_groups,
    signed,
)
from framesift.bench.statistics import Interval
from framesift.bench.tables import EMPTY, ResultTable, TableCell, bold_best, word

DATASET_TITLES = {
    "longvideobench": "LongVideoBench",
    "videomme": "Video-MME",
    "mlvu": "MLVU",
    "egoschema": "EgoSchema",
    "lvbench": "LVBench",
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
MEAN = "Mean of categories"  # what MLVU reports as M-Avg
STAGES = ("ground", "cover", "refine")
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
_CONDITIONS = ("encoder", "events", "fps", "seed", "prompt", "prompt_times", "time_format", "uniform_frames")


def main_table(rows: Sequence[Result], notes: Sequence[str] = ()) -> ResultTable:
    """Table 1: a line per reader, method, text mode and budget; each data set's groups and overall."""
    settings = by_setting(row for row in rows if row.reader)
    datasets = [name for name in DATASET_TITLES if any(s.dataset == name for s in settings)]
    datasets += sorted({s.dataset for s in settings} - set(datasets))
    groups = {name: _groups(settings, name) for name in datasets}
    lines = _lines(settings)
    differing = _differing([setting for line in lines for setting in line.values()])
    width = sum(len(groups[name]) for name in datasets)
    blocks: dict[tuple[str, int], list[list[TableCell]]] = defaultdict(list)
    for line in lines:
        first = next(iter(line.values()))
        cells = [word(_strategy(first, differing)), word(first.text_mode), TableCell.count(first.budget)]
        for name in datasets:
            scores = score_groups(settings[line[name]]) if name in line else {}
            cells += [TableCell.percent(scores[g].accuracy) if g in scores else EMPTY for g in groups[name]]
        cells += _counts([row for setting in line.values() for row in settings[setting]])
        blocks[first.reader, first.budget].append(cells)
    body: list[list[TableCell]] = []
    rules = set()
    for block in blocks.values():
        rules.add(len(body))
        body += bold_best(block, range(3, 3 + width)) if len(block) > 1 else block
    head = (("", 1), ("", 1), ("", 1), *((_title(n), len(groups[n])) for n in datasets), ("", 1), ("", 1), ("", 1))
    columns = ("Reader and method", "Text", "Frames", *(g for n in datasets for g in groups[n]))
    return _table(
        "main", "Accuracy (%) by length of video", (*columns, "n", "Unparsed", "Errors"), body, head, notes, rules
    )


def stages_table(rows: Sequence[Result], notes: Sequence[str] = ()) -> ResultTable:
    """Table 2: uniform, GCR without each stage, and GCR; each budget's groups. Rows of one data set and one reader."""
    settings = by_setting(row for row in rows if row.reader)
    budgets = sorted({s.budget for s in settings})
    groups = _groups(settings, next(iter(settings)).dataset) if settings else []
    variants = sorted({s.variant for s in settings}, key=_stage_rank)
    rows_of = {(s.variant, s.budget): part for s, part in settings.items()}
    lines = []
    for variant in variants:
        cells = [word(_stage_title(variant))]
        for budget in budgets:
            scores = score_groups(rows_of.get((variant, budget), []))
            cells += [TableCell.percent(scores[g].accuracy) if g in scores else EMPTY for g in groups]
        lines.append(cells + _counts([r for b in budgets for r in rows_of.get((variant, b), [])]))
    body = bold_best(lines, range(1, 1 + len(budgets) * len(groups)))
    head = (("", 1), *((counted(budget, "frame"), len(groups)) for budget in budgets), ("", 1), ("", 1), ("", 1))
    columns = ("Variant", *(group for _ in budgets for group in groups), "n", "Unparsed", "Errors")
    return _table("stages", "Contribution of each stage, accuracy (%)", columns, body, head, notes)


def text_modes_table(rows: Sequence[Result], notes: Sequence[str] = ()) -> ResultTable:
    """Table 3: the text modes, with the gain over visual-only. Rows of one data set, reader, method, budget."""
    modes = group_by(rows, lambda row: row.text_mode)
    ranked = sorted(
        modes, key=lambda mode: (list(TEXT_MODE_TITLES).index(mode) if mode in TEXT_MODE_TITLES else 9, mode)
    )
    gains: dict[str, Pair] = {}
    if VISUAL_ONLY in modes and any(row.is_answer for row in modes[VISUAL_ONLY]):
        others = [mode for mode in ranked if mode != VISUAL_ONLY and any(row.is_answer for row in modes[mode])]
        pairs = [compare(modes[mode], modes[VISUAL_ONLY], names=(mode, VISUAL_ONLY)) for mode in others]
        gains = {pair.first: pair for pair in adjusted(pairs)}
    lines = []
    for mode in ranked:
        overall = score(modes[mode])
        pair = gains.get(mode)
        gain = [EMPTY] * 4 if pair is None else _pair_cells(pair)
        accuracy = EMPTY if overall is None else TableCell.percent(overall.accuracy)
        lines.append([word(TEXT_MODE_TITLES.get(mode, mode)), accuracy, *gain, *_counts(modes[mode])])
    body = bold_best(lines, [1])
    columns = ("Input", "Accuracy (%)", "Gain (pp)", "p (Holm)", "Verdict", "Not shared", "n", "Unparsed", "Errors")
    return _table("text-modes", "Text modes", columns, body, (), (PAIRED, *notes))


def efficiency_table(rows: Sequence[Result], notes: Sequence[str] = ()) -> ResultTable:
    """Table 4: seconds per question in the paper's two parts, frames scored, memory and accuracy, by method."""
    lines = []
    for variant, answered in by_variant([row for row in rows if not row.error]).items():
        # No number, rather than a small one, if the cost of the index is unknown.
        costs = [row.seconds for row in answered if "decode" in row.seconds]
        prepare = _mean(seconds["decode"] + seconds.get("features", 0.0) for seconds in costs) if costs else None
        choose = _mean(row.seconds.get("score", 0.0) + row.seconds.get("select", 0.0) for row in answered)
        overall = score(answered)
        lines.append(
            [
                word(variant),
                EMPTY if prepare is None else TableCell.plain(prepare),
                TableCell.plain(choose),
                EMPTY if prepare is None else TableCell.plain(prepare + choose),
                _memory([row.peak_gpu_memory_bytes for row in answered]),
                _memory([row.peak_memory_bytes for row in answered]),
                TableCell.plain(_mean(float(row.looked_at) for row in answered), 1),
                TableCell.plain(_mean(float(row.candidates) for row in answered), 1),
                EMPTY if overall is None else TableCell.percent(overall.accuracy),
                TableCell.count(len(answered)),
            ]
        )
    head = (("", 1), ("Latency (s/question)", 3), ("Peak memory (GiB)", 2), ("Frames", 2), ("", 1), ("", 1))
    columns = ("Method", "D.+Feat.", "Score+Sel.", "Total", "GPU", "CPU", "Scored", "Of", "Acc. (%)", "n")
    table_notes = (
        "D.+Feat.: decoding and encoding, each video's total divided by its questions. Score+Sel.: from the "
        "question's text to the selected frames. Times are of one machine: compare only within the table.",
        *notes,
    )
    return _table("efficiency", "Cost of selection", columns, lines, head, table_notes)


def categories_table(rows: Sequence[Result], notes: Sequence[str] = ()) -> ResultTable:
    """Figure 4 as numbers: each category's accuracy by method. Rows of one data set, reader and budget."""
    variants = by_variant([row for row in rows if row.reader])
    scores = {variant: score_categories(part) for variant, part in variants.items()}
    names = sorted({name for by_category in scores.values() for name in by_category})
    lines = []
    for name in names:
        cells: list[AccuracyScore | None] = [scores[variant].get(name) for variant in variants]
        most = max((cell.n for cell in cells if cell is not None), default=0)
        line = [word(name), TableCell.count(most)]
        lines.append(line + [EMPTY if cell is None else TableCell.percent(cell.accuracy) for cell in cells])
    if len(names) > 1:
        means = [[part[name].accuracy.value for name in names if name in part] for part in scores.values()]
        cells_of_means = [
            TableCell.plain(100 * _mean(values), 2) if len(values) == len(names) else EMPTY for values in means
        ]
        lines.append([word(MEAN), EMPTY, *cells_of_means])
    table_notes = ("Small categories have wide intervals: do not interpret differences without them.", *notes)
    return _table("categories", "Accuracy (%) by category", ("Category", "n", *variants), lines, (), table_notes)


def pairs_table(rows: Sequence[Result], notes: Sequence[str] = (), *, against: str | None = None) -> ResultTable:
    """Every pair of methods, or each versus one. Rows of one data set, reader and budget."""
    variants = {k: v for k, v in by_variant(rows).items() if any(row.is_answer for row in v)}
    pairs = compare_all(variants, against=against) if len(variants) > 1 else []
    lines = [
        [word(pair.first), word(pair.second), *_pair_cells(pair), TableCell.count(pair.n), TableCell.plain(pair.p, 4)]
        for pair in pairs
    ]
    columns = ("Method", "against", "Difference (pp)", "p (Holm)", "Verdict", "Not shared", "n", "p")
    return _table("pairs", "Paired differences", columns, lines, (), (PAIRED, *notes))


def sensitivity_table(rows: Sequence[Result], notes: Sequence[str] = ()) -> ResultTable:
    """Figure 5 as numbers: each setting of a method's options versus its defaults."""
    table = pairs_table(rows, notes, against=next(row.variant for row in rows if not row.options))
    return replace(table, name="sensitivity", title="Settings versus the defaults")


def evidence_table(summaries: Mapping[str, EvidenceSummary], notes: Sequence[str] = ()) -> ResultTable:
    """Evidence scores without a reader, a line per selection."""
    lines = [
        [
            word(name),
            *(_share(part) for part in (summary.near, summary.moments_near, summary.inside, summary.scenes_hit)),
            EMPTY if summary.unified is None else TableCell.plain(100 * summary.unified, 2),
            TableCell.plain(summary.frames, 1),
            TableCell.count(summary.n),
            TableCell.count(summary.n_scenes),
            TableCell.count(summary.unscored),
        ]
        for name, summary in summaries.items()
    ]
    columns = (
        "Selection",
        "Near",
        "Moments near",
        "In scene",
        "Scene hits",
        "Unified",
        "Frames",
        "n",
        "n scenes",
    )
    table_notes = (
        "In percent. Near: questions with a frame within 2 s of a true moment; Moments near: true moments with one; In "
        "scene: frames inside a true scene; Scene hits: scenes with a frame; Unified: KFS-Bench's score (its geometric "
        "mean). Unannotated: questions without a moment, not in n.",
        *notes,
    )
    return _table("evidence", "Evidence without a reader", (*columns, "Unannotated"), lines, (), table_notes)


def concerns(condition: str, method: str) -> bool:
    """Whether a condition of a row makes a difference to its method."""
    return condition != "uniform_frames" or method == UNIFORM


def by_variant(rows: Sequence[Result]) -> dict[str, list[Result]]:
    """Group rows by method and options, and by text mode and the frames of `uniform` if there are several."""
    several_modes = len({row.text_mode for row in rows}) > 1
    several_frames = len({row.uniform_frames for row in rows if row.method == UNIFORM}) > 1

    def label(row: Result) -> str:
        sides = [row.text_mode] if several_modes else []
        sides += [f"frames of the {row.uniform_frames}"] if several_frames and row.method == UNIFORM else []
        return f"{row.variant} [{', '.join(sides)}]" if sides else row.variant

    return group_by(rows, label)


def _lines(settings: Iterable[ResultSetting]) -> list[dict[str, ResultSetting]]:
    """Settings that differ only in the data set, and its prompt, share a line."""
    lines: dict[tuple[Any, ...], dict[str, ResultSetting]] = {}
    for setting in settings:
        values = {k: v for k, v in asdict(setting).items() if k not in ("dataset", "prompt")}
        number = 0
        while setting.dataset in lines.setdefault((*values.values(), number), {}):
            number += 1
        lines[(*values.values(), number)][setting.dataset] = setting
    ranked = sorted(lines.items(), key=lambda pair: (pair[1][next(iter(pair[1]))].reader, pair[0][2]))
    return [line for _, line in ranked]


def _differing(settings: Sequence[ResultSetting]) -> list[str]:
    """The conditions that differ between settings of one data set, and so must be in the label."""
    differing = []
    for name in _CONDITIONS:
        values: dict[str, set[object]] = defaultdict(set)
        for setting in settings:
            if concerns(name, setting.method):
                values[setting.dataset].add(getattr(setting, name))
        if any(len(distinct) > 1 for distinct in values.values()):
            differing.append(name)
    return differing


def _strategy(setting: ResultSetting, differing: Sequence[str]) -> str:
    side = ", ".join(f"{name} {getattr(setting, name)}" for name in differing if concerns(name, setting.method))
    return f"{setting.reader} + {setting.variant}" + (f" ({side})" if side else "")


def _groups(settings: Mapping[ResultSetting, Sequence[Result]], dataset: str) -> list[str]:
    groups = {row.group for s, rows in settings.items() if s.dataset == dataset for row in rows if row.group}
    return [*ordered_groups(groups), OVERALL] if len(groups) > 1 else [OVERALL]


def _stage_rank(variant: str) -> tuple[int, str]:
    order = ["uniform", *(f"gcr {WITHOUT}={stage}" for stage in STAGES)]
    return (order.index(variant) if variant in order else len(order) + (variant == "gcr"), variant)


def _stage_title(variant: str) -> str:
    titles = {f"gcr {WITHOUT}={stage}": f"w/o {stage.capitalize()}" for stage in STAGES}
    return {"uniform": "Uniform baseline", "gcr": "Full GCR", **titles}.get(variant, variant)


def _pair_cells(pair: Pair) -> list[TableCell]:
    value, low, high = (100 * part for part in pair.difference)
    verdict = "distinguishable" if pair.distinguishable else "not distinguishable"
    gain = TableCell(signed(value, 2), value, low, high)
    return [gain, TableCell.plain(pair.p_holm, 4), word(verdict), TableCell.count(pair.dropped)]


def _counts(rows: Sequence[Result]) -> list[TableCell]:
    """n, unparsed, errors."""
    answers = [row for row in rows if row.is_answer]
    counts = len(answers), sum(not row.parsed for row in answers), sum(bool(row.error) for row in rows)
    return [TableCell.count(count) for count in counts]


def in_families(rows: Sequence[Result], families: Mapping[str, Mapping[str, str]]) -> list[Result]:
    """Join the rows' categories into families, by data set; others are unchanged."""
    joined = []
    for row in rows:
        family_of = families.get(row.dataset, {})
        joined.append(
            replace(row, categories=tuple(dict.fromkeys(family_of.get(name, name) for name in row.categories)))
        )
    return joined


def _mean(values: Iterable[float]) -> float:
    numbers = list(values)
    return sum(numbers) / len(numbers) if numbers else 0.0


def _memory(values: Iterable[int | None]) -> TableCell:
    measured = [value for value in values if value is not None]
    return TableCell.plain(max(measured) / 2**30) if measured else EMPTY


def _share(interval: Interval | None) -> TableCell:
    return EMPTY if interval is None else TableCell.percent(interval)


def _title(dataset: str) -> str:
    return DATASET_TITLES.get(dataset, dataset)


def _table(
    name: str,
    title: str,
    columns: Sequence[str],
    rows: Sequence[Sequence[TableCell]],
    head: Sequence[tuple[str, int]],
    notes: Sequence[str],
    rules: Iterable[int] = (),
) -> ResultTable:
    body = tuple(tuple(row) for row in rows)
    return ResultTable(name, title, tuple(columns), body, tuple(head), (INTERVALS, *notes), frozenset(rules))
