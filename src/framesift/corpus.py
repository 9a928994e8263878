"""Many videos: the same index from a loop, from all cores of a machine or from a Ray cluster, and nothing lost.

    indexed = fs.corpus.index("videos.csv", engine="local")   # a list, a folder, a pattern; goes on where it stopped
    fs.corpus.select("questions.jsonl", results="results/")   # frames for many questions, in the benchmarks' files
    fs.corpus.ask("questions.jsonl", results="results/", reader="http://localhost:8000/v1")
    hits = fs.corpus.search("a red bus")                      # which videos, which seconds

Names load when first used, as in the package itself.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from framesift.batch.executors.base import Limits, Report
    from framesift.batch.index_runs import Indexed, index
    from framesift.batch.question_runs import ask, select
    from framesift.batch.search import Hit, search

_HOME = {
    "index": "index_runs",
    "Indexed": "index_runs",
    "select": "question_runs",
    "ask": "question_runs",
    "search": "search",
    "Hit": "search",
    "Limits": "executors.base",
    "Report": "executors.base",
}

__all__ = ["Hit", "Indexed", "Limits", "Report", "ask", "index", "search", "select"]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'framesift.corpus' has no attribute {name!r}")
    value = getattr(import_module(f"framesift.batch.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
