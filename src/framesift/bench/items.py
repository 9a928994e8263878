"""Benchmark questions: rows of annotation files, an Item per question, and a Dataset with its missing files."""

import hashlib
import json
import os
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from framesift._utils.json import load_json
from framesift._utils.records import shown
from framesift._utils.settings import check_count
from framesift._utils.tables import parquet_rows, parse_rows, read_bytes
from framesift._utils.text import counted
from framesift.errors import InputError
from framesift.types import Event, Question, Window

AnnotationRow = Mapping[str, Any]
FILE = "an annotation file"
LISTED_FILES = 5  # missing files of a kind, listed in a message

Spans = tuple[tuple[float, float], ...]  # start and end in seconds, ends included


@dataclass(frozen=True)
class Item:
    """One question of a data set.

    answer: the index of the right option in `question.options`, which are the published ones in order, without letters.
    group: the rows of the tables (Short, Medium, Long …); published_group: the data set's own name for it. moments_s:
    times the question is about. scenes: visual evidence that the answer needs, each one or more time spans that show
    it. Both may be empty. subtitles: a file, or events of the annotation; subtitles_offset_s is added to the file's
    times. window: the part of the video that the question is about, as for one that is asked at a time in it.
    """

    id: str
    video_id: str
    video: Path
    question: Question
    answer: int
    group: str = ""
    published_group: str = ""
    categories: tuple[str, ...] = ()
    duration_s: float | None = None
    subtitles: Path | tuple[Event, ...] | None = None
    subtitles_offset_s: float = 0.0
    moments_s: tuple[float, ...] = ()
    scenes: tuple[Spans, ...] = ()
    window: Window | None = None

    def __post_init__(self) -> None:
        for spans in self.scenes:
            check_spans(spans, f"{self.id}: a scene")


@dataclass(frozen=True)
class Dataset:
    """Questions and a fingerprint; `with_files` finds out which of their files are missing.

    annotation: a hash of the published annotation's content. notes: what the loader omitted or assumed, in sentences.
    missing: how many files do not exist, and the first of them; skipped: ids of questions without their video.
    """

    name: str
    items: tuple[Item, ...]
    annotation: str
    notes: tuple[str, ...] = ()
    missing: str = ""
    skipped: tuple[str, ...] = field(default=(), repr=False)

    def __post_init__(self) -> None:
        check_ids([item.id for item in self.items], self.name)

    def __len__(self) -> int:
        return len(self.items)

    @property
    def fingerprint(self) -> str:
        """16 hex digits for the annotation's content and the questions selected from it."""
        return fingerprint(self.name, self.annotation, (item.id for item in self.items))

    @property
    def groups(self) -> dict[str, int]:
        """Questions per group, in order of first occurrence."""
        return dict(Counter(item.group for item in self.items))

    @property
    def has_moments(self) -> bool:
        return any(item.moments_s or item.scenes for item in self.items)

    def choose(
        self,
        *,
        ids: Sequence[str] = (),
        groups: Sequence[str] = (),
        sample: int | None = None,
        seed: int = 0,
    ) -> "Dataset":
        """Select questions, in their order: by id, then by group (either name), then a sample.

        sample: the number of questions drawn without replacement; the same seed draws the same on any machine.
        """
        items: Sequence[Item] = self.items
        if ids:
            items = [item for item in items if item.id in set(ids)]
            if unknown := [name for name in ids if name not in {item.id for item in items}]:
                example = self.items[0].id if self.items else ""
                raise InputError(f"{self.name} has no question {shown(unknown[0])}; its ids look like {example!r}")
        if groups:
            items = self._of_groups(items, {group.strip().lower() for group in groups})
        check_count("sample", sample)
        if sample is not None:
            # By hash, so that neither the annotation's order nor a random generator's version changes the draw.
            by_draw = sorted(items, key=lambda item: hashlib.sha256(f"{seed}:{item.id}".encode()).hexdigest())
            drawn = {item.id for item in by_draw[:sample]}
            items = [item for item in items if item.id in drawn]
        return replace(self, items=tuple(items))

    def with_files(self, *, allow_missing: bool = False, limit: int | None = None) -> "Dataset":
        """Return the questions whose files exist: all of them, or an InputError that lists the missing files.

        allow_missing: omit questions without their video, and ask those without subtitles nevertheless. limit: the
        first ones only, of those that are left.
        """
        check_count("limit", limit)
        absent: dict[str, Counter[Any]] = {"video": Counter(), "subtitle file": Counter()}  # questions by file
        items: list[Item] = []
        skipped = []
        for item in self.items:
            if len(items) == limit:
                break
            files = {"video": item.video, "subtitle file": item.subtitles}
            kinds = [kind for kind, file in files.items() if isinstance(file, Path) and not os.path.isfile(file)]
            for kind in kinds:
                absent[kind][files[kind]] += 1
            if "video" in kinds and allow_missing:
                skipped.append(item.id)
            else:
                items.append(replace(item, subtitles=None) if kinds else item)
        missing = "; ".join(_describe_missing(kind, counts) for kind, counts in absent.items() if counts)
        if missing and not (allow_missing and items):
            remedy = "" if allow_missing else ", or omit them with --allow-missing"
            raise InputError(f"{self.name}: {missing}; get these files{remedy}")
        return replace(self, items=tuple(items), missing=missing, skipped=tuple(skipped))

    def with_scenes(self, scenes: Mapping[str, tuple[Spans, ...]]) -> "Dataset":
        """Set the scenes of questions by id; others keep their own."""
        if scenes and not any(item.id in scenes for item in self.items):
            example = self.items[0].id
            raise InputError(
                f"none of the {len(scenes)} ids with scenes is in {self.name}; its ids look like {example!r}"
            )
        return replace(self, items=tuple(replace(i, scenes=scenes.get(i.id, i.scenes)) for i in self.items))

    def _of_groups(self, items: Iterable[Item], wanted: set[str]) -> list[Item]:
        known = {word.lower() for item in self.items for word in (item.group, item.published_group)}
        if unknown := sorted(wanted - known):
            names = ", ".join(self.groups)
            raise InputError(f"{self.name} has no group {shown(unknown[0])}; expected one of {names}")
        return [item for item in items if {item.group.lower(), item.published_group.lower()} & wanted]


def fingerprint(name: str, annotation: str, ids: Iterable[str]) -> str:
    """16 hex digits for these questions of a data set, in any order."""
    return content_hash(json.dumps([name, annotation, sorted(ids)]).encode())


def _describe_missing(kind: str, counts: Counter[Path]) -> str:
    """Count the missing files of a kind and the questions affected, and list the first files."""
    names = ", ".join(map(str, list(counts)[:LISTED_FILES])) + (", …" if len(counts) > LISTED_FILES else "")
    return f"{counted(len(counts), kind)} missing for {counted(counts.total(), 'question')} ({names})"


def check_ids(ids: Sequence[str], location: str) -> None:
    repeated = next((name for name, count in Counter(ids).items() if count > 1), None)
    if repeated is not None:
        raise InputError(f"{location}: the id {repeated!r} occurs more than once; expected one question per id")


def check_spans(spans: Spans, location: str) -> None:
    if not spans:
        raise InputError(f"{location} is empty; expected at least one (start, end) in seconds")
    for start, end in spans:
        if not 0 <= start <= end:
            raise InputError(f"{location} has {start:g} to {end:g} s; expected a start of at least 0 and a later end")


def find_annotation(folder: Path, names: Sequence[str], dataset: str) -> Path:
    """Return the first existing file of these patterns below the directory; a file is returned unchanged."""
    if folder.is_file():
        return folder
    found = next((match for name in names for match in sorted(folder.glob(name))), None)
    if found is None:
        raise InputError(f"{folder} has none of {', '.join(names)}; expected the folder of {dataset} as published")
    return found


def content_hash(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:16]


def read_rows(path: Path) -> tuple[list[AnnotationRow], str]:
    """The rows of a JSON, JSON Lines, CSV or Parquet file, and a hash of its content."""
    data = read_bytes(path, FILE)
    ending = path.suffix.lower()
    rows: Any
    if ending == ".parquet":
        rows = parquet_rows(path, "bench")
    elif ending in (".jsonl", ".csv", ".tsv"):
        rows = [row for _, row in parse_rows(data, path, FILE)]
    else:
        value = load_json(data, str(path), "a list of objects")
        rows = list(value.values()) if isinstance(value, dict) else value
    if not isinstance(rows, list) or not rows or not all(isinstance(row, Mapping) for row in rows):
        raise InputError(f"{path} has no list of questions; expected one object for each")
    return rows, content_hash(data)
