"""Many videos: index, select, ask and search on all cores of a machine or on a Ray cluster; every run can be resumed.

    indexed = fs.corpus.index("videos.csv", engine="local")   # a list, a directory or a pattern
    fs.corpus.select("questions.jsonl", results="results/")   # frames for many questions, as result rows
    fs.corpus.ask("questions.jsonl", results="results/", reader="http://localhost:8000/v1")
    hits = fs.corpus.search("a red bus")                      # which videos, at which seconds

Names are imported at first use, as in the package itself.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from framesift.batch.executors.base import Limits
    from framesift.batch.executors.base import TaskEvent as Report
    from framesift.batch.indexing import Indexed, index
    from framesift.batch.questions import ask, select
    from framesift.batch.search import Hit, search

# Public name → (module of framesift.batch, name there). `Report` is what version 0.1 called a TaskEvent.
_LOCATIONS = {
    "index": ("indexing", "index"),
    "Indexed": ("indexing", "Indexed"),
    "select": ("questions", "select"),
    "ask": ("questions", "ask"),
    "search": ("search", "search"),
    "Hit": ("search", "Hit"),
    "Limits": ("executors.base", "Limits"),
    "Report": ("executors.base", "TaskEvent"),
}

__all__ = ["Hit", "Indexed", "Limits", "Report", "ask", "index", "search", "select"]


def __getattr__(name: str) -> Any:
    if name not in _LOCATIONS:
        raise AttributeError(f"module 'framesift.corpus' has no attribute {name!r}")
    module, attribute = _LOCATIONS[name]
    value = getattr(import_module(f"framesift.batch.{module}"), attribute)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
