import csv
import io
from dataclasses import replace

import pytest

from framesift.bench import layouts
from framesift.bench.statistics import Interval
from framesift.bench.tables import EMPTY, ResultTable, TableCell, bold_best
from helpers.result_rows import answers, row


def table(**fields):
    cells = (
        (TableCell("gcr_1"), replace(TableCell.of(Interval(0.64254, 0.6, 0.69)), bold=True)),
        (TableCell("a|b"), EMPTY),
    )
    default = {"name": "main", "title": "Accuracy (%)", "columns": ("Method", "All"), "rows": cells}
    return ResultTable(**{**default, "notes": ("command: x --data D",), **fields})


def column(made, name):
    return [row[made.columns.index(name)].text for row in made.rows]


def test_markdown_has_a_line_per_row_the_interval_and_the_notes():
    lines = table().to_markdown().splitlines()
    assert "| gcr_1 | **64.25** (60.0 … 69.0) |" in lines and r"| a\|b | – |" in lines
    assert lines[-1] == "- command: x --data D"


def test_csv_has_numbers_unrounded_and_their_bounds_in_columns():
    lines = list(csv.reader(io.StringIO(table().to_csv())))
    assert lines[0] == ["Method", "All", "All low", "All high"]
    assert [float(cell) for cell in lines[1][1:]] == pytest.approx([64.254, 60.0, 69.0])
    assert lines[2] == ["a|b", "", "", ""]


def test_latex_escapes_what_it_would_read_and_keeps_the_hyphens_of_a_command():
    text = table().to_latex()
    assert r"gcr\_1 & \textbf{64.25} {\scriptsize (60.0 -- 69.0)} \\" in text
    assert r"\caption{Accuracy (\%)}" in text and r"x -{}-data D" in text


def test_latex_has_as_many_cells_in_every_line():
    text = layouts.main_table(answers() + answers("uniform", dataset="videomme")).to_latex()
    body = [line for line in text.splitlines() if line.endswith(r"\\") and "multicolumn" not in line and "&" in line]
    assert len({line.count("&") for line in body}) == 1


def test_best_of_a_column_is_bold_and_an_only_one_is_not():
    cells = [[TableCell.plain(1.0), EMPTY], [TableCell.plain(2.0), TableCell.plain(5.0)]]
    made = bold_best(cells, [0, 1])
    assert [cell.bold for line in made for cell in line] == [False, False, True, False]


def test_main_table_has_the_papers_columns():
    made = layouts.main_table([*answers(), *answers(dataset="videomme", prompt="videomme")])
    groups = ("Short", "Medium", "Long", "Overall")
    first, last = ("Reader and method", "Text", "Frames", "Tokens"), ("n", "Unparsed", "Errors")
    assert made.columns == (*first, *groups, *groups, *last)
    assert made.head[4:6] == (("LongVideoBench", 4), ("Video-MME", 4))
    assert len(made.rows) == 1


def test_lines_that_differ_by_a_side_condition_say_so():
    made = layouts.main_table([*answers(), *answers(seed=1, prompt="bare")])
    assert column(made, "Reader and method") == ["qwen + gcr (prompt longvideobench)", "qwen + gcr (prompt bare)"]


def test_options_of_one_data_set_share_the_line_of_the_method():
    rows = [*answers("bolt", options={"alpha": 2.5}), *answers("bolt", dataset="videomme")]
    assert column(layouts.main_table(rows), "Reader and method") == ["qwen + bolt alpha=2.5 on LongVideoBench"]
    swept = layouts.main_table([*rows, *answers("bolt")])
    assert column(swept, "Reader and method") == ["qwen + bolt alpha=2.5", "qwen + bolt"]


def test_lines_of_two_queries_and_sizes_say_so_and_have_their_tokens():
    rows = [*answers(query="stem", size=360, tokens=800), *answers(query="stem+options", size=180, tokens=801)]
    made = layouts.main_table(rows)
    labels = ["qwen + gcr (size 360, query stem)", "qwen + gcr (size 180, query stem+options)"]
    assert sorted(column(made, "Reader and method")) == sorted(labels)
    assert sorted(column(made, "Tokens")) == ["800", "801"]
    assert column(layouts.pairs_table(rows), "Method") == ["gcr [query stem]"]


def test_setting_of_errors_alone_still_has_its_line():
    made = layouts.main_table([*answers(n=6), *answers("aks", n=6, error="no video")])
    assert [cell.text for cell in made.rows[1][-4:]] == ["–", "0", "0", "6"]


def every(*settings):
    """The answers of gcr with each of these settings."""
    return [one for fields in settings for one in answers(**fields)]


STAGES = every({}, *({"options": {"without": stage}} for stage in ("refine", "cover", "ground")), {"method": "uniform"})
MODES = every(*({"text_mode": mode} for mode in ("aligned", "none", "shuffled", "prompt", "blank", "tagged")))


@pytest.mark.parametrize(
    ("make", "rows", "name", "expected"),
    [
        (
            layouts.stages_table, STAGES, "Variant",
            ["Uniform baseline", "w/o Ground", "w/o Cover", "w/o Refine", "Full GCR"],
        ),
        (layouts.text_modes_table, MODES, "Input", list(layouts.TEXT_MODE_TITLES.values())),
        (layouts.pairs_table, [*answers(), *answers("aks")[:100]], "Not shared", ["20"]),
        (layouts.pairs_table, [*answers(), *answers("aks")[:100]], "n", ["100"]),
        (layouts.sensitivity_table, every({}, {"options": {"gate": 0.2}}), "against", ["gcr"]),
    ],
)  # fmt: skip
def test_table_has_the_lines_of_the_paper_in_its_order(make, rows, name, expected):
    assert column(make(rows), name) == expected


@pytest.mark.parametrize(
    ("fields", "cells"),
    [
        ({"peak_gpu_memory_bytes": 3 * 2**30}, ["3.000", "0.500", "3.500", "3.000", "–", "40.0", "50.0"]),
        ({"seconds": {"score": 0.5, "select": 0.5}}, ["–", "1.000", "–"]),  # an index without its build time
    ],
)
def test_efficiency_table_adds_up_the_papers_two_parts(fields, cells):
    (line,) = layouts.efficiency_table(answers(n=4, **fields)).rows
    assert [cell.text for cell in line[1 : 1 + len(cells)]] == cells


def test_text_modes_have_what_was_drawn_and_a_verdict_on_their_gain():
    rows = every({"rendered_words": 60, "rendered": 7}, {"text_mode": "none"})
    rows[0] = replace(rows[0], rendered_words=72)
    made = layouts.text_modes_table(rows)
    assert (column(made, "Words"), column(made, "Frames")) == (["0.00", "60.10"], ["0.00", "7.00"])
    first, *others = column(layouts.text_modes_table(MODES), "Verdict")
    assert first == "–" and set(others) <= {"distinguishable", "not distinguishable"}


def test_categories_have_a_column_for_each_method():
    made = layouts.categories_table([*answers(), *answers("uniform")])
    assert made.columns == ("Category", "n", "gcr", "uniform") and column(made, "n") == ["60", "60", "–"]


def test_gains_are_paired_by_category():
    made = layouts.gains_table([*answers(), *answers("uniform")[:60]], baseline="uniform")
    assert made.columns == ("Category", "Difference", "n") and made.head[1:] == (("gcr", 2),)
    assert column(made, "Category") == ["S2A", "T3O"] and column(made, "n") == ["30", "30"]


def test_mean_of_categories_weighs_each_the_same():
    rows = [row(f"a{k}", categories=("a",)) for k in range(9)] + [row("b", categories=("b",), choice=0)]
    assert layouts.categories_table(rows).rows[-1][2].text == "50.00"
    assert len(layouts.categories_table(rows[:9]).rows) == 1  # one category has no mean of several


def test_task_types_join_into_families():
    families = {"videomme": {"a": "x", "b": "x"}}
    rows = layouts.in_families([row(dataset="videomme", categories=("a", "b", "c"))], families)
    assert rows[0].categories == ("x", "c")
