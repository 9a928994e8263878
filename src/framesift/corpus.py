"""Many videos: index, select, ask and search on all cores of a machine or on a Ray cluster; every run can be resumed.

indexed = fs.corpus.index("videos.csv", engine="local")   # a list, a directory or a pattern
fs.corpus.select("questions.jsonl", results="results/")   # frames for many questions, as result rows
fs.corpus.ask("questions.jsonl", results="results/", reader="http://localhost:8000/v1")
hits = fs.corpus.search("a red bus")                      # which videos, at which seconds
fs.corpus.export("vectors.parquet")                       # all vectors, times and texts, for databases
"""

from framesift.batch.executors.base import Limits, TaskEvent
from framesift.batch.indexing import Indexed, index
from framesift.batch.runner import ask, select
from framesift.search.export import export
from framesift.search.search import Hit, search

__all__ = ["Hit", "Indexed", "Limits", "TaskEvent", "ask", "export", "index", "search", "select"]
