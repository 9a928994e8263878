"""The questions of a benchmark command: its flags, the data set they choose, and its tables as JSON values."""

import argparse
import shlex
from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

from framesift.errors import InputError

if TYPE_CHECKING:
    from framesift.bench.items import Dataset
    from framesift.bench.tables import ResultTable


def add_question_flags(command: argparse.ArgumentParser) -> None:
    command.add_argument("--limit", type=int, metavar="N", help="the first N questions, of those that are left")
    command.add_argument("--sample", type=int, metavar="N", help="N questions drawn by --seed")
    command.add_argument("--ids", metavar="ID,ID", help="these questions")
    command.add_argument("--groups", metavar="NAME,NAME", help="as in Short,Medium, or the data set's own words")
    command.add_argument("--seed", type=int, help="of the sample, of methods that draw, of the shuffled overlay")
    command.add_argument(
        "--allow-missing", action="store_true", default=None, help="leave out questions whose video is missing"
    )
    command.add_argument("--scenes", metavar="CSV", help="true scenes by question: id, scene_id, start, end")


def load_questions(
    name: str,
    folder: str | None,
    args: argparse.Namespace,
    settings: Mapping[str, Any] | None = None,
    *,
    with_files: bool = True,
) -> "Dataset":
    """The questions that flags, else a plan's settings, choose. with_files: missing files are an error."""
    from framesift.bench.datasets import load_dataset
    from framesift.bench.evidence_scores import read_scenes
    from framesift.bench.items import check_count
    from framesift.bench.plan import words

    def setting(option: str) -> Any:
        value = getattr(args, option, None)
        return (settings or {}).get(option) if value is None else value

    dataset = load_dataset(name, folder)
    limit = setting("limit")
    dataset = dataset.choose(
        ids=words(setting("ids"), "ids") or None,
        groups=words(setting("groups"), "groups") or None,
        sample=setting("sample"),
        seed=setting("seed") or 0,
    )
    if with_files or setting("allow_missing"):
        dataset = dataset.with_files(allow_missing=bool(setting("allow_missing")), limit=limit)
    else:
        check_count("limit", limit)
        dataset = replace(dataset, items=dataset.items[:limit])
    if args.scenes:
        dataset = dataset.with_scenes(read_scenes(args.scenes))
    if not dataset.items:
        raise InputError(f"{dataset.name}: no question is left; use fewer filters")
    return dataset


def table_rows(table: "ResultTable") -> dict[str, Any]:
    """A table as JSON values: its numbers unrounded, bounds beside them."""
    columns = [f"{column}" for column in table.columns]
    rows = []
    for line in table.rows:
        cells = [asdict(cell) for cell in line]
        rows.append(
            [{key: value for key, value in cell.items() if value is not None and key != "bold"} for cell in cells]
        )
    return {"name": table.name, "title": table.title, "columns": columns, "rows": rows, "notes": list(table.notes)}


def command_line(args: argparse.Namespace) -> str:
    """The command as typed."""
    return shlex.join(["framesift", *args.argv])


def has_moments(dataset: "Dataset") -> bool:
    return any(item.moments_s or item.scenes for item in dataset.items)
