"""Benchmark questions: an Item per question, and a Dataset with its missing files."""

import hashlib
import json
import os
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from framesift._utils.records import shown
from framesift._utils.settings import check_count
from framesift._utils.text import counted
from framesift.errors import InputError
from framesift.types import Event, Question, Window

KINDS = {"video": "video", "subtitles": "subtitle file"}  # of files, and their names
LISTED_FILES = 5  # missing files listed in a message

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
class Missing:
    """A file of the annotation that does not exist."""

    kind: str  # of KINDS
    path: Path
    item_ids: tuple[str, ...]


@dataclass(frozen=True)
class Dataset:
    """Questions and a fingerprint; `with_files` finds out which of their files are missing.

    annotation: a hash of the published annotation's content. notes: what the loader omitted or assumed, in sentences.
    """

    name: str
    items: tuple[Item, ...]
    annotation: str
    notes: tuple[str, ...] = ()
    missing: tuple[Missing, ...] = ()
    skipped: tuple[str, ...] = field(default=(), repr=False)  # ids of questions without their video

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
            known = {item.id for item in items}
            if unknown := next((name for name in ids if name not in known), None):
                example = self.items[0].id if self.items else ""
                raise InputError(f"{self.name} has no question {shown(unknown)}; its ids look like {example!r}")
            items = [item for item in items if item.id in set(ids)]
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
        if limit is not None:
            left = [k for k, item in enumerate(self.items) if not allow_missing or os.path.isfile(item.video)]
            if limit < len(left):
                chosen = replace(self, items=self.items[: left[limit - 1] + 1])
                return chosen.with_files(allow_missing=allow_missing)
        missing = find_missing(self.items)
        whole = replace(self, missing=missing)
        if not missing:
            return whole
        if not allow_missing:
            remedy = "get these files, or omit them with --allow-missing"
            raise InputError(f"{self.name}: {whole.describe_missing()}; {remedy}")
        without = {kind: {name for file in missing if file.kind == kind for name in file.item_ids} for kind in KINDS}
        items = tuple(
            replace(item, subtitles=None) if item.id in without["subtitles"] else item
            for item in self.items
            if item.id not in without["video"]
        )
        if not items:
            raise InputError(f"{self.name}: {whole.describe_missing()}; no question is left")
        return replace(whole, items=items, skipped=tuple(i.id for i in self.items if i.id in without["video"]))

    def with_scenes(self, scenes: Mapping[str, tuple[Spans, ...]]) -> "Dataset":
        """Set the scenes of questions by id; others keep their own."""
        known = {item.id for item in self.items}
        if scenes and not known & set(scenes):
            raise InputError(
                f"none of the {len(scenes)} ids with scenes is in {self.name}; its ids look like {min(known)!r}"
            )
        return replace(self, items=tuple(replace(i, scenes=scenes.get(i.id, i.scenes)) for i in self.items))

    def describe_missing(self) -> str:
        """Count the missing files by kind and the questions affected, and list the first files."""
        parts = []
        for kind, noun in KINDS.items():
            files = [missing for missing in self.missing if missing.kind == kind]
            if files:
                names = ", ".join(str(missing.path) for missing in files[:LISTED_FILES])
                more = ", …" if len(files) > LISTED_FILES else ""
                affected = counted(sum(len(missing.item_ids) for missing in files), "question")
                parts.append(f"{counted(len(files), noun)} missing for {affected} ({names}{more})")
        return "; ".join(parts)

    def _of_groups(self, items: Iterable[Item], wanted: set[str]) -> list[Item]:
        known = {word.lower() for item in self.items for word in (item.group, item.published_group)}
        if unknown := sorted(wanted - known):
            names = ", ".join(self.groups)
            raise InputError(f"{self.name} has no group {shown(unknown[0])}; expected one of {names}")
        return [item for item in items if {item.group.lower(), item.published_group.lower()} & wanted]


def fingerprint(name: str, annotation: str, ids: Iterable[str]) -> str:
    """16 hex digits for these questions of a data set, in any order."""
    text = json.dumps([name, annotation, sorted(ids)])
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def find_missing(items: Iterable[Item]) -> tuple[Missing, ...]:
    """The files of these questions that do not exist, unique, in the order of the questions."""
    wanted: dict[tuple[str, Path], list[str]] = {}
    for item in items:
        wanted.setdefault(("video", item.video), []).append(item.id)
        if isinstance(item.subtitles, Path):
            wanted.setdefault(("subtitles", item.subtitles), []).append(item.id)
    return tuple(Missing(kind, path, tuple(ids)) for (kind, path), ids in wanted.items() if not os.path.isfile(path))


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
