"""The data sets by name, each read from its own published layout.

To add one: a module with NAME and `load(folder) → Dataset`, whose docstring says what layout it takes for granted,
and its name in `_MODULES`.
"""

import os
from importlib import import_module
from pathlib import Path

from framesift.bench.items import Dataset
from framesift.errors import InputError, UnknownName

_MODULES = ("longvideobench", "videomme", "mlvu", "egoschema", "lvbench")
OWN_ENDINGS = (".jsonl", ".json", ".csv")


def dataset_names() -> tuple[str, ...]:
    return _MODULES


def load_dataset(name: str, folder: str | os.PathLike[str] | None = None) -> Dataset:
    """The questions of a data set in its folder, or of a file of one's own, with what is missing beside them.

    name: one of `dataset_names()`, or the path of a JSONL. folder: the data set as published, or its annotation file.
    Nothing is refused for a missing video here: `Dataset.with_files` does that, once the questions are chosen.
    """
    if name in _MODULES:
        if folder is None:
            raise InputError(f"{name} needs its folder; name it with --data")
        module = import_module(f"{__name__}.{name}")
        dataset: Dataset = module.load(Path(folder))
        return dataset
    if name.lower().endswith(OWN_ENDINGS):
        from framesift.bench.datasets import own

        return own.load(Path(name) if folder is None else Path(folder) / name)
    raise UnknownName(f"there is no data set {name!r}; known are {', '.join(_MODULES)}, and any JSONL of your own")
