"""The data sets by name, each read from its own published layout.

To add one: a module with NAME and `load(folder) → Dataset`, whose docstring documents the expected layout,
and its name in `_MODULES`.
"""

import os
from importlib import import_module
from pathlib import Path

from framesift._utils.text import suggestion
from framesift.bench.items import Dataset
from framesift.errors import InputError, UnknownName

_MODULES = ("longvideobench", "videomme", "mlvu", "egoschema", "lvbench")
OWN_ENDINGS = (".jsonl", ".json", ".csv")


def dataset_names() -> tuple[str, ...]:
    return _MODULES


def load_dataset(name: str, folder: str | os.PathLike[str] | None = None) -> Dataset:
    """Load a data set from its directory, or from a file of your own, with the list of missing files.

    name: one of `dataset_names()`, or the path of a JSONL. folder: the data set as published, or its annotation file.
    A missing video is not an error here: `Dataset.with_files` checks the selected questions.
    """
    if name in _MODULES:
        if folder is None:
            raise InputError(f"{name} needs its directory; give it with --data")
        module = import_module(f"{__name__}.{name}")
        dataset: Dataset = module.load(Path(folder))
        return dataset
    if name.lower().endswith(OWN_ENDINGS):
        from framesift.bench.datasets import own

        return own.load(Path(name) if folder is None else Path(folder) / name)
    expected = f"expected one of {', '.join(_MODULES)}, or a JSONL file"
    raise UnknownName(f"there is no data set {name!r}; {suggestion(name, _MODULES, expected)}")
