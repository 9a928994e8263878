"""All vectors of a store in a few memory-mapped files that are scanned in blocks.

    STORE/corpus/search-<encoder>-<its fingerprint>-<kind>-<random>.codes.npy    (N, D) int8, memory-mapped
                                                                   .rows.npy     (N,) scale, error, time
                                                                   .json         the source of each row, and
                                                                                 checksums of both; written last

A row is stored as integers from -127 to 127 times a scale. The rounding error of row x is a vector e; by the
Cauchy-Schwarz inequality no product with a unit vector q is off by more than |e|, which is stored as well. A scan of
one byte per number thus gives the rows that can be among the best, and only those are read from the indexes in float32:
the result is that of the full scan. Only the columns in which text vectors are not zero are stored.
"""

import hashlib
import json
import logging
import secrets
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from tokenize import TokenError
from typing import Any, BinaryIO, Protocol

import numpy as np

from framesift._utils.cores import usable_cores
from framesift._utils.files import write_text
from framesift._utils.json import check_digest, load_json, with_digest
from framesift._utils.records import read_record
from framesift.errors import FramesiftError, InputError, OutputError
from framesift.store.maintenance import DAY_S
from framesift.store.store import log_unwritable
from framesift.types.vectors import Array

ROW = np.dtype([("scale", "<f4"), ("error", "<f4"), ("time_s", "<f8")])
# Rows converted to float32 at a time: they stay in a core's cache until they are multiplied.
SCAN_ROWS = 128
BUILD_ROWS = 65536
SUMMED_BYTES = 4096
# Margin for the rounding of the products in float32 and of the bounds themselves.
ROUNDING = 2e-5

log = logging.getLogger(__name__)


class VectorSource(Protocol):
    """The origin of some rows, such as the frames of a video."""

    @property
    def owner(self) -> str:
        """A unique name, which changes with the content."""

    def vectors(self) -> tuple[Array, Array]:
        """(n, D) float32 unit rows, and their times."""

    def rows_at(self, positions: Sequence[int]) -> Array:
        """The rows at these positions."""


@dataclass(frozen=True)
class Segment:
    """The vectors of some sources, written together. owners: the source whose rows begin at each of `starts`."""

    codes: Array
    rows: Array
    owners: tuple[str, ...]
    starts: Array
    columns: Array
    path: Path

    def __len__(self) -> int:
        return len(self.rows)

    def scan(self, query: Array) -> tuple[Array, Array]:
        """(N,) float32 products of every row with a unit vector, and the largest error of each."""
        used = query[self.columns].astype(np.float32)
        products = np.empty(len(self), np.float32)
        threads = min(usable_cores(), max(1, len(self) // 4096))
        bounds = np.linspace(0, len(self), threads + 1).astype(int)

        def scan_rows(start: int, end: int) -> None:
            block = np.empty((SCAN_ROWS, len(used)), np.float32)
            for first in range(start, end, SCAN_ROWS):
                last = min(first + SCAN_ROWS, end)
                block[: last - first] = self.codes[first:last]
                np.dot(block[: last - first], used, out=products[first:last])

        with ThreadPoolExecutor(threads) as pool:
            list(pool.map(scan_rows, bounds[:-1], bounds[1:]))
        products *= self.rows["scale"]
        return products, self.rows["error"] + np.float32(ROUNDING)

    def owner_of(self, row: int) -> tuple[str, int]:
        """The source of a row, and the row's position in it."""
        number = int(np.searchsorted(self.starts, row, side="right")) - 1
        return self.owners[number], row - int(self.starts[number])


@dataclass(frozen=True)
class _SegmentLayout:
    owners: tuple[str, ...]
    starts: tuple[int, ...]
    columns: tuple[int, ...]
    checksums: tuple[str, str]


class VectorStore:
    """The segments of one encoder's vectors of one kind, kept up to date with the store."""

    MAX_SEGMENTS = 16

    def __init__(self, folder: Path, name: str) -> None:
        self.folder, self.name = folder, name

    def update(self, sources: Sequence[VectorSource], columns: Array) -> list[tuple[Segment, Array]]:
        """Segments with the vectors of these sources, each with a mask of the rows that are current."""
        wanted = {source.owner for source in sources}
        segments = [s for s in self._segments() if np.array_equal(s.columns, columns)]
        stored = {owner for segment in segments for owner in segment.owners}
        removed = sum(1 for owner in stored if owner not in wanted)
        if len(segments) >= self.MAX_SEGMENTS or removed > len(stored) // 2:
            self._remove(segments)
            segments, stored = [], set()
        missing = [source for source in sources if source.owner not in stored]
        if missing:
            built = self._build(missing, columns)
            segments += [built] if built is not None else []
        seen: set[str] = set()
        current = []
        for segment in segments:
            counts = np.diff([*segment.starts, len(segment)])
            is_current = [owner in wanted and owner not in seen for owner in segment.owners]
            seen.update(segment.owners)
            current.append((segment, np.repeat(is_current, counts)))
        return current

    def _build(self, sources: Sequence[VectorSource], columns: Array) -> Segment | None:
        """Write a segment; where the store can't be written, for this search only."""
        self._remove_unfinished()
        try:
            return build(self.folder, self.name, sources, columns)
        except OSError as error:
            log_unwritable(self.folder.parent, error)
        # The mapped memory stays valid without the files; Windows does not delete files in use.
        with tempfile.TemporaryDirectory(prefix="framesift-search-", ignore_cleanup_errors=True) as folder:
            try:
                return build(Path(folder), self.name, sources, columns)
            except OSError as error:
                raise OutputError(
                    f"the search vectors can't be written to {folder} ({error.strerror or error}); free some space"
                ) from error

    def _segments(self) -> Iterator[Segment]:
        for path in sorted(self.folder.glob(f"{self.name}-*.json")):
            try:
                yield load(path)
            except (InputError, OSError, ValueError, EOFError, SyntaxError, TokenError) as error:
                log.warning("%s can't be used (%s): it is rebuilt", path, error)
                _delete(path)

    def _remove_unfinished(self) -> None:
        """Delete vectors that a process was writing when it was killed, a day ago or earlier."""
        for codes_path in self.folder.glob(f"{self.name}-*.codes.npy"):
            path = codes_path.with_name(codes_path.name.replace(".codes.npy", ".json"))
            with suppress(OSError):
                if not path.exists() and time.time() - codes_path.stat().st_mtime > DAY_S:
                    _delete(path)

    def _remove(self, segments: Sequence[Segment]) -> None:
        for segment in segments:
            _delete(segment.path)


def build(folder: Path, name: str, sources: Sequence[VectorSource], columns: Array) -> Segment | None:
    """Write the vectors of these sources as a segment; a source that can't be read is skipped with a warning."""
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
                    log.warning("%s can't be searched (%s)", source.owner.partition("@")[0], error)
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
        layout = {"owners": owners, "starts": starts, "columns": columns.tolist()}
        checksums = [checksum(codes_path), checksum(rows_path)]
        write_text(path, json.dumps(with_digest({**layout, "checksums": checksums})))
    except OSError:
        _delete(path)
        raise
    return load(path)


def load(path: Path) -> Segment:
    """Map the files of a segment; InputError if they are not those that were written."""
    record = load_json(path.read_bytes(), path.name, "a segment")
    layout = read_record(_SegmentLayout, record, path.name)
    check_digest(record, path.name)
    stem = path.name.removesuffix(".json")
    files = [path.with_name(f"{stem}{end}") for end in (".codes.npy", ".rows.npy")]
    if tuple(map(checksum, files)) != layout.checksums:
        raise InputError("its vectors do not match their checksums")
    codes, rows = map(_memory_map, files)
    columns, starts = np.array(layout.columns, np.int64), np.array(layout.starts, np.int64)
    if rows.dtype != ROW or rows.ndim != 1 or codes.dtype != np.int8 or codes.shape != (len(rows), len(columns)):
        raise InputError(f"its files have {codes.dtype} {codes.shape} and {rows.shape} rows")
    bounds = np.array([0, *starts, len(rows)])
    if len(starts) != len(layout.owners) or (starts[:1] != 0).any() or (np.diff(bounds) < 0).any():
        raise InputError(f"its {len(layout.owners)} sources do not start in order within {len(rows)} rows")
    return Segment(codes, rows, layout.owners, starts, columns, path)


def checksum(path: Path) -> str:
    """A hash of the sums of each 4 KiB of a file: twice as fast as the scan of the vectors, unlike one of all bytes."""
    data = np.memmap(path, np.uint8, mode="r")
    end = len(data) // SUMMED_BYTES * SUMMED_BYTES
    sums = data[:end].view("<u8").reshape(-1, SUMMED_BYTES // 8).sum(axis=1)
    return hashlib.sha256(sums.tobytes() + data[end:].tobytes()).hexdigest()


def quantise(vectors: Array) -> tuple[Array, Array]:
    """(n, D) int8 codes and (n,) ROW: the scale, and the length of the rounding error."""
    exact = vectors.astype(np.float32)
    scale = np.abs(exact).max(axis=1) / np.float32(127)
    safe = np.where(scale > 0, scale, np.float32(1))
    codes = np.rint(exact / safe[:, None]).astype(np.int8)
    error = exact - codes * scale[:, None]
    rows = np.zeros(len(exact), ROW)
    rows["scale"] = scale
    rows["error"] = np.nextafter(np.sqrt(np.einsum("nd,nd->n", error, error)), np.float32(np.inf))
    return codes, rows


def _write_header(file: BinaryIO, shape: tuple[int, ...], dtype: np.dtype[Any]) -> None:
    file.seek(0)
    header = {"descr": np.lib.format.dtype_to_descr(dtype), "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(file, header)


def _memory_map(path: Path) -> Array:
    """The array, as a plain view: slicing a numpy.memmap costs more than the product of a small block."""
    return np.asarray(np.load(path, mmap_mode="r"))


def _delete(path: Path) -> None:
    """Delete a segment; in a store that can't be written it stays."""
    stem = path.name.removesuffix(".json")
    for end in (".json", ".codes.npy", ".rows.npy"):
        with suppress(OSError):
            path.with_name(f"{stem}{end}").unlink(missing_ok=True)
