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
    from framesift.batch.executors.base import Limits, TaskEvent
    from framesift.batch.indexing import Indexed, index
    from framesift.batch.questions import ask, select
    from framesift.search.search import Hit, search

_HOME = {
    "index": "batch.indexing",
    "Indexed": "batch.indexing",
    "select": "batch.questions",
    "ask": "batch.questions",
    "search": "search.search",
    "Hit": "search.search",
    "Limits": "batch.executors.base",
    "TaskEvent": "batch.executors.base",
}

__all__ = ["Hit", "Indexed", "Limits", "TaskEvent", "ask", "index", "search", "select"]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'framesift.corpus' has no attribute {name!r}")
    value = getattr(import_module(f"framesift.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
