"""Benchmark questions: an Item per question, and a Dataset with its missing files."""

import hashlib
import json
import os
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from framesift._utils.records import shown
from framesift.batch.items import read_clip_events
from framesift.errors import InputError
from framesift.types import Event, Question, Window

KINDS = ("video", "subtitles")  # of files
LISTED_FILES = 5  # missing files listed in a message


@dataclass(frozen=True)
class EvidenceScene:
    """Visual evidence that the answer needs: one or more time spans (start, end), in seconds, that show it."""

    spans: tuple[tuple[float, float], ...]

    def __post_init__(self) -> None:
        spans = tuple((float(start), float(end)) for start, end in self.spans)
        if not spans or any(end < start or start < 0 for start, end in spans):
            raise InputError(f"a scene has the spans {spans}; expected (start, end) in seconds, at least one")
        object.__setattr__(self, "spans", spans)

    @property
    def length_s(self) -> float:
        return sum(end - start for start, end in self.spans)


@dataclass(frozen=True)
class Item:
    """One question of a data set.

    answer: the index of the right option in `question.options`, which are the published ones in order, without letters.
    group: the rows of the tables (Short, Medium, Long …); published_group: the data set's own name for it. moments_s:
    times the question is about. scenes: time spans that show what the answer needs. Both may be empty. subtitles: a
    file, or events of the annotation; subtitles_offset_s is added to the file's times. window: the part of the video
    that the question is about, as for one that is asked at a time in it.
    """

    dataset: str
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
    scenes: tuple[EvidenceScene, ...] = ()
    window: Window | None = None

    def __post_init__(self) -> None:
        if not 0 <= self.answer < len(self.question.options):
            count = len(self.question.options)
            raise InputError(f"{self.id}: the answer is option {self.answer}; expected 0 to {count - 1}")

    def events(self, duration_s: float | None = None) -> list[Event]:
        """Read the subtitles in the video's own time, clipped to it; a damaged file is an InputError.

        duration_s: of the video file, if known; else that of the annotation.
        """
        if self.subtitles is None:
            return []
        if not isinstance(self.subtitles, Path):
            return list(self.subtitles)
        length = duration_s if duration_s is not None else self.duration_s
        return list(read_clip_events(self.subtitles, offset_s=self.subtitles_offset_s, duration_s=length)[0])


@dataclass(frozen=True)
class Missing:
    """A file of the annotation that does not exist."""

    kind: str  # of KINDS
    path: Path
    item_ids: tuple[str, ...]


@dataclass(frozen=True)
class Dataset:
    """Questions, their missing files, and a fingerprint.

    annotation: a hash of the published annotation's content. notes: what the loader omitted or assumed, in sentences.
    """

    name: str
    items: tuple[Item, ...]
    annotation: str
    missing: tuple[Missing, ...] = ()
    notes: tuple[str, ...] = ()
    skipped: tuple[str, ...] = field(default=(), repr=False)  # ids of questions without their video

    def __post_init__(self) -> None:
        repeated = [name for name, count in Counter(item.id for item in self.items).items() if count > 1]
        if repeated:
            raise InputError(f"{self.name}: the id {repeated[0]!r} occurs more than once; expected one question per id")

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

    def choose(
        self,
        *,
        ids: Iterable[str] | None = None,
        groups: Iterable[str] | None = None,
        sample: int | None = None,
        seed: int = 0,
    ) -> "Dataset":
        """Select questions, in their order: by id, then by group (either name), then a sample.

        sample: the number of questions drawn without replacement; the same seed draws the same on any machine.
        """
        items: Sequence[Item] = self.items
        if ids is not None:
            items = self._by_id(list(ids))
        if groups is not None:
            items = self._by_group(items, [group.strip().lower() for group in groups])
        _check_count("sample", sample)
        if sample is not None and sample < len(items):
            # By hash, so that neither the annotation's order nor a random generator's version changes the draw.
            drawn = set(sorted((item.id for item in items), key=lambda name: _draw_key(name, seed))[:sample])
            items = [item for item in items if item.id in drawn]
        return self._with(tuple(items))

    def with_files(self, *, allow_missing: bool = False, limit: int | None = None) -> "Dataset":
        """Return the questions whose files exist: all of them, or an InputError that lists the missing files.

        allow_missing: omit questions without their video, and ask those without subtitles nevertheless. limit: the
        first ones only, of those that are left.
        """
        _check_count("limit", limit)
        if limit is not None:
            absent = {name for file in self.missing if file.kind == "video" for name in file.item_ids}
            left = [k for k, item in enumerate(self.items) if not (allow_missing and item.id in absent)]
            if limit < len(left):
                return self._with(self.items[: left[limit - 1] + 1]).with_files(allow_missing=allow_missing)
        if not self.missing:
            return self
        if not allow_missing:
            raise InputError(
                f"{self.name}: {self.describe_missing()}; get these files, or omit them with --allow-missing"
            )
        without = {
            kind: {name for file in self.missing if file.kind == kind for name in file.item_ids} for kind in KINDS
        }
        items = tuple(
            replace(item, subtitles=None) if item.id in without["subtitles"] else item
            for item in self.items
            if item.id not in without["video"]
        )
        if not items:
            raise InputError(f"{self.name}: {self.describe_missing()}; no question is left")
        skipped = tuple(item.id for item in self.items if item.id in without["video"])
        return replace(self, items=items, skipped=skipped)

    def with_scenes(self, scenes: "dict[str, tuple[EvidenceScene, ...]]") -> "Dataset":
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
        for kind, noun in (("video", "video"), ("subtitles", "subtitle file")):
            files = [missing for missing in self.missing if missing.kind == kind]
            if files:
                questions = sum(len(missing.item_ids) for missing in files)
                names = ", ".join(str(missing.path) for missing in files[:LISTED_FILES])
                more = ", …" if len(files) > LISTED_FILES else ""
                affected = counted(questions, "question")
                parts.append(f"{counted(len(files), noun)} missing for {affected} ({names}{more})")
        return "; ".join(parts)

    def _by_id(self, ids: list[str]) -> list[Item]:
        known = {item.id for item in self.items}
        unknown = [name for name in ids if name not in known]
        if unknown:
            raise InputError(
                f"{self.name} has no question {shown(unknown[0])}; its ids look like {self.items[0].id!r}"
                if self.items
                else f"{self.name} has no question"
            )
        wanted = set(ids)
        return [item for item in self.items if item.id in wanted]

    def _by_group(self, items: Sequence[Item], groups: list[str]) -> list[Item]:
        known = {word.lower() for item in self.items for word in (item.group, item.published_group)}
        unknown = [group for group in groups if group not in known]
        if unknown:
            names = ", ".join(dict.fromkeys(i.group for i in self.items))
            raise InputError(f"{self.name} has no group {shown(unknown[0])}; expected one of {names}")
        wanted = set(groups)
        return [item for item in items if {item.group.lower(), item.published_group.lower()} & wanted]

    def _with(self, items: tuple[Item, ...]) -> "Dataset":
        ids_left = {item.id for item in items}
        missing = []
        for file in self.missing:
            ids = tuple(name for name in file.item_ids if name in ids_left)
            if ids:
                missing.append(replace(file, item_ids=ids))
        return replace(self, items=items, missing=tuple(missing))


def counted(count: int, noun: str) -> str:
    """Format a count with its noun: 1 video, 2 videos."""
    return f"{count} {noun}" + ("" if count == 1 else "s")


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


def _check_count(name: str, count: object) -> None:
    if count is not None and (isinstance(count, bool) or not isinstance(count, int) or count < 1):
        raise InputError(f"{name} is {shown(count)}; expected a whole number of at least 1")


def _draw_key(name: str, seed: int) -> str:
    return hashlib.sha256(f"{seed}:{name}".encode()).hexdigest()
