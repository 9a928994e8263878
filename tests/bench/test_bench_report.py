import csv
import sys
from collections import Counter

import pytest
from matplotlib.figure import Figure
from PIL import Image

from framesift._utils.output_folder import LIST
from framesift.batch.results import Results
from framesift.bench import plots
from framesift.bench.items import Dataset
from framesift.bench.report import describe, make_tables, write_report
from framesift.errors import InputError, MissingExtra
from helpers.published_annotations import item
from helpers.result_rows import RUN, answers, results

PROVENANCE = (
    RUN.command,
    "24 questions, fingerprint ",
    RUN.encoder,
    "Answer with the option's letter.",
    "python 3.11",
    "2 videos missing",
)


@pytest.fixture(scope="module")
def everything():
    parts = [{"method": method, "budget": budget} for method in ("uniform", "gcr") for budget in (8, 32)]
    parts += [{"options": {"without": "cover"}}, {"options": {"alpha_ground": 0.125}}, {"text_mode": "none"}]
    return results(*(answers(n=24, **part) for part in parts))


@pytest.fixture(scope="module")
def report(everything, tmp_path_factory):
    folder = tmp_path_factory.mktemp("report")
    return write_report(everything, folder)


def test_every_kind_of_table_that_the_rows_allow_is_made(report):
    kinds = {table.name.split("-longvideobench")[0] for table in report.tables}
    assert kinds == {"main", "stages", "text-modes", "pairs", "sensitivity", "categories", "gains", "efficiency"}


def test_every_table_is_on_the_page_and_in_three_formats_with_its_provenance(report):
    page = report.files[0].read_text()
    assert all(part in "\n".join(table.notes) for table in report.tables for part in PROVENANCE)
    assert all(f"### {table.title}" in page for table in report.tables)
    endings = Counter(path.suffix for path in report.files if path.parent.name == "tables")
    assert endings == dict.fromkeys((".md", ".csv", ".tex", ".txt"), len(report.tables))


def test_every_csv_is_a_header_with_distinct_names_and_rows_of_the_same_length(report):
    for path in report.files:
        if path.suffix == ".csv":
            header, *rows = csv.reader(path.read_text(encoding="utf-8").splitlines())
            assert len(set(header)) == len(header) and rows and {len(row) for row in rows} == {len(header)}


def test_every_plot_is_svg_and_png_with_its_provenance(report):
    svgs = [path for path in report.files if path.suffix == ".svg"]
    assert {path.name.split("-")[0] for path in svgs} == {"budgets", "sensitivity", "gains"}
    for path in svgs:
        assert f"(plots/{path.name})" in report.files[0].read_text()
        assert "24 questions, fingerprint " in path.read_text()
        assert RUN.command in Image.open(path.with_suffix(".png")).text["Description"]


def test_plots_repeat_to_the_byte(tmp_path):
    rows = results(answers(n=4), answers("uniform", n=4))
    made = [write_report(rows, tmp_path / name) for name in ("first", "second")]
    drawn, redrawn = ([p.read_bytes() for p in one.files if p.parent.name == "plots"] for one in made)
    assert drawn and drawn == redrawn


def test_sensitivity_line_holds_the_default_and_intervals():
    rows = [*answers(), *answers(options={"alpha_ground": 0.125})]
    line = plots.option_lines(rows)["alpha_ground"][""]
    assert list(line) == [0.125, 0.25]
    axes = Figure().subplots()
    plots.draw_lines(axes, {"": line})
    (intervals,) = axes.collections
    ends = [tuple(segment[:, 1]) for segment in intervals.get_segments()]
    assert ends == [(cell.low, cell.high) for cell in line.values()]


def test_missing_matplotlib_names_the_extra_and_writes_nothing(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    rows = results(answers(n=4), answers("uniform", n=4))
    with pytest.raises(MissingExtra, match=r"framesift\[bench\]"):
        write_report(rows, tmp_path / "report")
    assert not (tmp_path / "report").exists()
    assert write_report(rows, tmp_path / "report", with_plots=False).tables


def test_evidence_is_scored_without_any_reader_and_apart_for_each_encoder(tmp_path):
    settings = {"n": 4, "reader": "", "choice": None, "parsed": False}
    rows = [*answers(**settings), *answers(**settings, encoder="offline")]
    dataset = Dataset("longvideobench", tuple(item(f"q{k}", moments_s=(float(k),)) for k in range(4)), "hash")
    made = write_report(results(rows), tmp_path, datasets=[dataset])
    (table,) = [table for table in made.tables if table.name.startswith("evidence")]
    names = [f"gcr, 8 frames, encoder {encoder}" for encoder in ("siglip", "offline")]
    assert [(row[0].text, row[1].text) for row in table.rows] == [(name, "100.00") for name in names]


def test_method_with_one_setting_of_its_options_is_compared_with_the_others():
    rows = [answers("bolt", options={"alpha": 2.5}, query="stem"), answers("uniform", query="stem+options")]
    main, pairs = [table for table in make_tables(results(*rows)) if table.name.split("-")[0] in ("main", "pairs")]
    assert [line[0].text for line in pairs.rows] == ["bolt alpha=2.5"]
    labels = ["qwen + bolt alpha=2.5 (query stem)", "qwen + uniform (query stem+options)"]
    assert [line[0].text for line in main.rows] == labels
    assert {"query: stem", "query: stem+options"} <= set(main.notes)


def test_settings_with_different_prompts_are_not_compared():
    made = make_tables(results(answers(), answers("uniform", prompt="bare")))
    assert not [table for table in made if table.name.startswith("pairs")]


def test_second_report_replaces_the_first_and_nothing_else(tmp_path):
    folder = tmp_path / "report"
    first = write_report(results(answers(n=4), answers("uniform", n=4)), folder)
    (folder / "tables" / "mine.csv").write_text("1")
    second = write_report(results(answers(n=4)), folder)
    assert len(second.files) < len(first.files)
    left = {path for path in folder.rglob("*") if path.is_file()}
    assert left == {*second.files, folder / "tables" / "mine.csv", folder / LIST}


@pytest.mark.parametrize(
    ("rows", "baseline", "message"),
    [
        ([], "uniform", "no result to report"),
        (answers(), "aks", "no rows of 'aks' to compare with; expected one of gcr"),
    ],
)
def test_report_without_rows_to_compare_is_an_error(tmp_path, rows, baseline, message):
    with pytest.raises(InputError, match=message):
        write_report(results(rows), tmp_path / "report", baseline=baseline)


def test_fingerprint_is_that_of_the_data_set_and_what_is_lacking_is_reported(tmp_path):
    dataset = Dataset("longvideobench", tuple(item(f"q{k}") for k in range(3)), RUN.annotation)
    expected = f"data: longvideobench, 3 questions, fingerprint {dataset.fingerprint}"
    assert expected in describe(answers(n=3), {RUN.id: RUN})
    assert describe(answers(n=3), {})[-1] == "3 of 3 rows have no record of their run"
    write_report(Results(answers(n=4), {}, unreadable=3), tmp_path)
    assert "3 lines of the results could not be read" in (tmp_path / "report.md").read_text()


def test_frames_of_uniform_are_named_only_where_both_kinds_are_compared():
    rows = [answers("uniform"), answers("gcr"), answers("uniform", uniform_frames="video")]
    (main,) = [table for table in make_tables(results(*rows)) if table.name == "main"]
    kinds = [f"qwen + uniform (uniform_frames {kind})" for kind in ("candidates", "video")]
    assert sorted(row[0].text for row in main.rows) == ["qwen + gcr", *kinds]
    (main,) = [table for table in make_tables(results(*rows[1:])) if table.name == "main"]
    assert sorted(row[0].text for row in main.rows) == ["qwen + gcr", "qwen + uniform"]
