"""All vectors of a store in one file that is scanned in blocks, without loading it.

    STORE/corpus/search-<encoder>-<its fingerprint>-<kind>-<random>.codes.npy    (N, D) int8, memory-mapped
                                                                   .rows.npy     (N,) scale, error, time
                                                                   .json         which rows are whose; written last

A row is kept as whole numbers from -127 to 127 times a scale. What that leaves out of row x is a vector e; by Cauchy
and Schwarz no product with a unit vector q is off by more than |e|, which is kept beside it. So a scan of one byte per
number says which rows can be among the best, and only those are looked up in the indexes, in float32: the result is
that of the full scan. Only the columns in which texts differ from zero are kept, as products with texts need no other.
"""

import json
import logging
import secrets
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, Protocol

import numpy as np

from framesift._utils.files import write_text
from framesift.batch.executors.local import cores
from framesift.errors import FramesiftError
from framesift.types.vectors import Array

ROW = np.dtype([("scale", "<f4"), ("error", "<f4"), ("time_s", "<f8")])
# Rows turned to float32 at a time: they stay in a core's cache until they are multiplied.
SCAN_ROWS = 128
BUILD_ROWS = 65536
# Room for the rounding of the products in float32 and of the bounds themselves.
ROUNDING = 2e-5

log = logging.getLogger(__name__)


class Source(Protocol):
    """Where some rows come from, such as a video's frames."""

    @property
    def owner(self) -> str:
        """What tells it from all others, and from what it may be later."""

    def vectors(self) -> tuple[Array, Array]:
        """(n, D) float32 unit rows, and their times."""

    def some(self, places: Sequence[int]) -> Array:
        """Those of the rows at these places."""


@dataclass(frozen=True)
class Segment:
    """A part of the store, as it was when it was made. owners: whose rows begin at each of `starts`."""

    codes: Array
    rows: Array
    owners: tuple[str, ...]
    starts: Array
    columns: Array
    path: Path

    def __len__(self) -> int:
        return len(self.rows)

    def scan(self, query: Array) -> tuple[Array, Array]:
        """(N,) float32 products of every row with a unit vector, and how far each can be from the true one."""
        told = query[self.columns].astype(np.float32)
        products = np.empty(len(self), np.float32)
        threads = min(cores(), max(1, len(self) // 4096))
        bounds = np.linspace(0, len(self), threads + 1).astype(int)

        def part(start: int, end: int) -> None:
            block = np.empty((SCAN_ROWS, len(told)), np.float32)
            for first in range(start, end, SCAN_ROWS):
                last = min(first + SCAN_ROWS, end)
                block[: last - first] = self.codes[first:last]
                np.dot(block[: last - first], told, out=products[first:last])

        with ThreadPoolExecutor(threads) as pool:
            list(pool.map(part, bounds[:-1], bounds[1:]))
        products *= self.rows["scale"]
        return products, self.rows["error"] + np.float32(ROUNDING)

    def owner_of(self, row: int) -> tuple[str, int]:
        """Whose row it is, and which one of theirs."""
        place = int(np.searchsorted(self.starts, row, side="right")) - 1
        return self.owners[place], row - int(self.starts[place])


class Matrix:
    """The segments of one encoder's vectors of one kind, brought up to date with the store."""

    MOST_SEGMENTS = 16

    def __init__(self, folder: Path, name: str) -> None:
        self.folder, self.name = folder, name

    def update(self, sources: Sequence[Source], columns: Array) -> list[tuple[Segment, Array]]:
        """Segments that hold these sources, each with which of its rows count: the owner's newest, and still there."""
        wanted = {source.owner for source in sources}
        segments = [s for s in self._segments() if np.array_equal(s.columns, columns)]
        held = {owner for segment in segments for owner in segment.owners}
        gone = sum(1 for owner in held if owner not in wanted)
        if len(segments) >= self.MOST_SEGMENTS or gone > len(held) // 2:
            self._remove(segments)
            segments, held = [], set()
        missing = [source for source in sources if source.owner not in held]
        if missing:
            made = build(self.folder, self.name, missing, columns)
            segments += [made] if made is not None else []
        taken: set[str] = set()
        told = []
        for segment in segments:
            counts = np.diff([*segment.starts, len(segment)])
            alive = [owner in wanted and owner not in taken for owner in segment.owners]
            taken.update(segment.owners)
            told.append((segment, np.repeat(alive, counts)))
        return told

    def _segments(self) -> Iterator[Segment]:
        for path in sorted(self.folder.glob(f"{self.name}-*.json")):
            try:
                yield load(path)
            except (OSError, ValueError, KeyError, TypeError) as error:
                log.warning("%s is damaged (%s): it is made again", path, error)
                _delete(path)

    def _remove(self, segments: Sequence[Segment]) -> None:
        for segment in segments:
            _delete(segment.path)


def build(folder: Path, name: str, sources: Sequence[Source], columns: Array) -> Segment | None:
    """Write the vectors of these sources as a segment; one that can't be read is left out and named in the log."""
    stem = f"{name}-{secrets.token_hex(4)}"
    codes_path, rows_path, path = (folder / f"{stem}{end}" for end in (".codes.npy", ".rows.npy", ".json"))
    owners: list[str] = []
    starts: list[int] = []
    count = 0
    try:
        folder.mkdir(parents=True, exist_ok=True)
        # The number of rows is known at the end only: numpy pads its headers so that it can be set in place.
        with codes_path.open("wb") as codes_file, rows_path.open("wb") as rows_file:
            _write_header(codes_file, (0, len(columns)), np.dtype(np.int8))
            _write_header(rows_file, (0,), ROW)
            for source in sources:
                try:
                    vectors, times_s = source.vectors()
                except (FramesiftError, OSError, ValueError, KeyError) as error:
                    log.warning("%s can't be searched (%s)", source.owner, error)
                    continue
                owners.append(source.owner)
                starts.append(count)
                for first in range(0, len(vectors), BUILD_ROWS):
                    codes, rows = quantise(vectors[first : first + BUILD_ROWS][:, columns])
                    rows["time_s"] = times_s[first : first + BUILD_ROWS]
                    codes_file.write(codes.tobytes())
                    rows_file.write(rows.tobytes())
                count += len(vectors)
            if count:
                _write_header(codes_file, (count, len(columns)), np.dtype(np.int8))
                _write_header(rows_file, (count,), ROW)
        if not count:
            _delete(path)
            return None
        told = {"owners": owners, "starts": starts, "columns": columns.tolist()}
        write_text(path, json.dumps(told))
    except OSError as error:
        _delete(path)
        raise FramesiftError(
            f"the vectors to be searched can't be kept in {folder} ({error.strerror or error}); free some space"
        ) from error
    return load(path)


def load(path: Path) -> Segment:
    told: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    stem = path.name.removesuffix(".json")
    codes = _mapped(path.with_name(f"{stem}.codes.npy"))
    rows = _mapped(path.with_name(f"{stem}.rows.npy"))
    columns = np.array(told["columns"], np.int64)
    if codes.shape != (len(rows), len(columns)) or rows.dtype != ROW:
        raise ValueError(f"its files have {codes.shape} and {rows.shape} rows")
    return Segment(codes, rows, tuple(told["owners"]), np.array(told["starts"], np.int64), columns, path)


def quantise(vectors: Array) -> tuple[Array, Array]:
    """(n, D) int8 codes and (n,) ROW: scale, and the length of what scale · codes leaves out."""
    exact = vectors.astype(np.float32)
    scale = np.abs(exact).max(axis=1) / np.float32(127)
    safe = np.where(scale > 0, scale, np.float32(1))
    codes = np.rint(exact / safe[:, None]).astype(np.int8)
    rest = exact - codes * scale[:, None]
    rows = np.zeros(len(exact), ROW)
    rows["scale"] = scale
    rows["error"] = np.nextafter(np.sqrt(np.einsum("nd,nd->n", rest, rest)), np.float32(np.inf))
    return codes, rows


def _write_header(file: BinaryIO, shape: tuple[int, ...], dtype: np.dtype[Any]) -> None:
    file.seek(0)
    header = {"descr": np.lib.format.dtype_to_descr(dtype), "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(file, header)


def _mapped(path: Path) -> Array:
    """The array, as a plain view: slicing a numpy.memmap costs more than the work on a small block."""
    return np.asarray(np.load(path, mmap_mode="r"))


def _delete(path: Path) -> None:
    stem = path.name.removesuffix(".json")
    for end in (".json", ".codes.npy", ".rows.npy"):
        path.with_name(f"{stem}{end}").unlink(missing_ok=True)
