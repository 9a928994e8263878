"""The nearest frames of a large library by an index of LanceDB, in place of a scan of all vectors.

STORE/corpus/lance-<encoder>-<its fingerprint>/frames.lance   number of the source, time_s, vector (float16)
                                               sources.json   the number of each source that is in it whole
"""

import json
import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from framesift._utils.files import write_text
from framesift._utils.locks import file_lock
from framesift._utils.requirements import require
from framesift.types.vectors import Array

Read = Callable[[], tuple[Array, Array]]  # the vectors of a source, and their times

SOURCES = "sources.json"
INDEXED_ROWS = 100_000  # fewer are compared one by one
ROWS_PER_PARTITION = 2048
PROBED = 64, 1 / 3  # the least number of partitions, and the least share: see benchmarks/results/search.md
UNINDEXED_SHARE = 0.1  # of the rows, from which the index is made again


class LanceFrames:
    """The frames of sources as a table, which is brought up to date first. numbers: of each source in it."""

    def __init__(self, folder: Path, sources: Mapping[str, Read], dim: int) -> None:
        os.environ.setdefault("LANCE_LOG", "error")
        lancedb, arrow = require("lancedb", "lancedb"), require("pyarrow", "lancedb")
        folder.mkdir(parents=True, exist_ok=True)
        vector = arrow.list_(arrow.float16(), dim)
        self._schema = arrow.schema([("source", arrow.int32()), ("time_s", arrow.float64()), ("vector", vector)])
        with file_lock(folder / ".lock", lambda: None):
            self._table = lancedb.connect(str(folder)).create_table("frames", schema=self._schema, exist_ok=True)
            self.numbers: dict[str, int] = {}
            with suppress(OSError, ValueError):
                self.numbers = json.loads((folder / SOURCES).read_bytes())
            self._update(sources, folder / SOURCES)

    def _update(self, sources: Mapping[str, Read], file: Path) -> None:
        """Remove the rows of other sources, and add those that are missing."""
        import pyarrow as arrow

        last = max(self.numbers.values(), default=-1)
        kept = {name: number for name, number in self.numbers.items() if name in sources}
        # Rows above the last number are those of a run that was stopped.
        gone = [*(set(self.numbers.values()) - set(kept.values()))]
        self._table.delete(f"source > {last}" + (f" OR source IN ({', '.join(map(str, gone))})" if gone else ""))
        self.numbers = kept
        missing = dict(enumerate((name for name in sources if name not in kept), last + 1))

        def batches() -> Any:
            for number, name in missing.items():
                rows, times_s = sources[name]()
                vectors = arrow.array(rows.astype(np.float16).ravel())
                columns = [arrow.array(np.full(len(rows), number, np.int32)), arrow.array(times_s)]
                columns.append(arrow.FixedSizeListArray.from_arrays(vectors, rows.shape[1]))
                yield arrow.record_batch(columns, schema=self._schema)

        if missing:
            self._table.add(arrow.RecordBatchReader.from_batches(self._schema, batches()))
            self.numbers |= {name: number for number, name in missing.items()}
        if missing or gone:
            write_text(file, json.dumps(self.numbers))
        self._index_rows()

    def _index_rows(self) -> None:
        from lancedb.index import IvfFlat

        rows = self._table.count_rows()
        self._partitions = rows // ROWS_PER_PARTITION
        indexed = [self._table.index_stats(index.name).num_indexed_rows for index in self._table.list_indices()]
        if rows >= INDEXED_ROWS and rows - sum(indexed) > UNINDEXED_SHARE * rows:
            self._table.create_index("vector", config=IvfFlat("cosine", num_partitions=self._partitions))

    def nearest(self, query: Array, count: int, numbers: Sequence[int] | None) -> dict[int, tuple[Array, Array]]:
        """Of each source, the vectors and times of its frames among the `count` nearest. numbers: of those searched."""
        least, share = PROBED
        seek = self._table.search(query.astype(np.float32)).distance_type("cosine").limit(count)
        seek = seek.nprobes(max(least, round(share * self._partitions)))
        if numbers is not None:
            seek = seek.where(f"source IN ({', '.join(map(str, numbers))})", prefilter=True)
        found = seek.select([*self._schema.names, "_distance"]).to_arrow()
        sources, times_s = (found[name].to_numpy() for name in ("source", "time_s"))
        vectors = np.stack(found["vector"].to_numpy()) if len(found) else np.zeros((0, len(query)))
        return {
            number: (vectors[own][order], times_s[own][order])
            for number in np.unique(sources).tolist()
            for own in [np.flatnonzero(sources == number)]
            for order in [np.argsort(times_s[own], kind="stable")]
        }
