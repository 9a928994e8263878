"""What a benchmark asks: one Item per question, and a Dataset that knows which of its files are not there."""

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from framesift.batch.items import read_clip_events
from framesift.errors import InputError
from framesift.types import Event, Question

NAMED_MISSING = 5  # how many missing files a message names


@dataclass(frozen=True)
class EvidenceScene:
    """Something the answer needs to be seen: one or more stretches of time (start, end), in seconds, that show it."""

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

    answer: the right option's position in `question.options`, which are the published ones in their order, without
    letters. group: what tables report by (Short, Medium, Long …); published_group: the data set's own word for it.
    moments_s: instants the question is about. scenes: stretches that show what the answer needs. Both may be empty.
    subtitles: a file, or events given in the annotation itself; subtitles_offset_s is added to the file's times.
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

    def __post_init__(self) -> None:
        if not 0 <= self.answer < len(self.question.options):
            count = len(self.question.options)
            raise InputError(f"{self.id}: the answer is option {self.answer}; expected 0 to {count - 1}")

    def events(self, duration_s: float | None = None) -> list[Event]:
        """The subtitles on the video's own clock, cut to it; none is an empty list, a damaged file an InputError.

        duration_s: the video file's, where it is known; else the annotation's.
        """
        if self.subtitles is None:
            return []
        if not isinstance(self.subtitles, Path):
            return list(self.subtitles)
        length = duration_s if duration_s is not None else self.duration_s
        return read_clip_events(self.subtitles, offset_s=self.subtitles_offset_s, duration_s=length)


@dataclass(frozen=True)
class Missing:
    """A file that the annotation names and the folder does not hold."""

    kind: str  # "video" or "subtitles"
    path: Path
    item_ids: tuple[str, ...]


@dataclass(frozen=True)
class Dataset:
    """Questions, what is missing for them, and a fingerprint of what was asked.

    annotation: a hash of the published annotation's content. notes: what the loader left out or assumed, in sentences.
    """

    name: str
    items: tuple[Item, ...]
    annotation: str
    missing: tuple[Missing, ...] = ()
    notes: tuple[str, ...] = ()
    skipped: tuple[str, ...] = field(default=(), repr=False)  # ids of the questions left out for want of their video

    def __post_init__(self) -> None:
        twice = [name for name, count in Counter(item.id for item in self.items).items() if count > 1]
        if twice:
            raise InputError(f"{self.name}: the id {twice[0]!r} occurs more than once; expected one question per id")

    def __len__(self) -> int:
        return len(self.items)

    @property
    def fingerprint(self) -> str:
        """16 hex digits for the annotation's content and the questions chosen from it."""
        return fingerprint(self.name, self.annotation, (item.id for item in self.items))

    @property
    def groups(self) -> dict[str, int]:
        """Questions per group, in the order of the annotation's first mention."""
        return dict(Counter(item.group for item in self.items))

    def choose(
        self,
        *,
        ids: Iterable[str] | None = None,
        groups: Iterable[str] | None = None,
        sample: int | None = None,
        limit: int | None = None,
        seed: int = 0,
    ) -> "Dataset":
        """Some of the questions, in their order: by id, then by group (either word for it), then drawn, then the first.

        sample: so many questions drawn without replacement; the same seed draws the same on any machine.
        """
        items: Sequence[Item] = self.items
        if ids is not None:
            items = self._by_id(list(ids))
        if groups is not None:
            items = self._by_group(items, [group.strip().lower() for group in groups])
        for name, count in (("sample", sample), ("limit", limit)):
            if count is not None and count < 1:
                raise InputError(f"{name} is {count}; expected a whole number of at least 1")
        if sample is not None and sample < len(items):
            # By hash, so that neither the annotation's order nor a random generator's version changes the draw.
            drawn = set(sorted((item.id for item in items), key=lambda name: _lot(name, seed))[:sample])
            items = [item for item in items if item.id in drawn]
        return self._with(tuple(items[:limit]))

    def with_files(self, *, allow_missing: bool = False) -> "Dataset":
        """The questions that can be put: all of them, or InputError that counts and names the files not there.

        allow_missing: leave out questions without their video, and ask those without their subtitles all the same.
        """
        if not self.missing:
            return self
        if not allow_missing:
            raise InputError(
                f"{self.name}: {self.describe_missing()}; get these files, or leave them out with --allow-missing"
            )
        gone = {name for missing in self.missing if missing.kind == "video" for name in missing.item_ids}
        bare = {name for missing in self.missing if missing.kind == "subtitles" for name in missing.item_ids}
        kept = tuple(
            replace(item, subtitles=None) if item.id in bare else item for item in self.items if item.id not in gone
        )
        if not kept:
            raise InputError(f"{self.name}: {self.describe_missing()}; not one question is left to ask")
        skipped = tuple(item.id for item in self.items if item.id in gone)
        return replace(self, items=kept, skipped=skipped)

    def with_scenes(self, scenes: "dict[str, tuple[EvidenceScene, ...]]") -> "Dataset":
        """The same questions with the scenes of a file beside them, by id; others keep their own."""
        known = {item.id for item in self.items}
        if scenes and not known & set(scenes):
            raise InputError(f"none of the {len(scenes)} ids with scenes is one of {self.name}, such as {min(known)!r}")
        return replace(self, items=tuple(replace(i, scenes=scenes.get(i.id, i.scenes)) for i in self.items))

    def describe_missing(self) -> str:
        """How many files of each kind are missing, for how many questions, and the names of the first ones."""
        parts = []
        for kind, noun in (("video", "video"), ("subtitles", "subtitle file")):
            files = [missing for missing in self.missing if missing.kind == kind]
            if files:
                asked = sum(len(missing.item_ids) for missing in files)
                names = ", ".join(str(missing.path) for missing in files[:NAMED_MISSING])
                more = ", …" if len(files) > NAMED_MISSING else ""
                parts.append(f"{counted(len(files), noun)} missing for {counted(asked, 'question')} ({names}{more})")
        return "; ".join(parts)

    def _by_id(self, ids: list[str]) -> list[Item]:
        known = {item.id for item in self.items}
        unknown = [name for name in ids if name not in known]
        if unknown:
            raise InputError(
                f"{self.name} has no question {unknown[0]!r}; its ids look like {self.items[0].id!r}"
                if self.items
                else f"{self.name} holds no question"
            )
        wanted = set(ids)
        return [item for item in self.items if item.id in wanted]

    def _by_group(self, items: Sequence[Item], groups: list[str]) -> list[Item]:
        known = {word.lower() for item in self.items for word in (item.group, item.published_group)}
        unknown = [group for group in groups if group not in known]
        if unknown:
            names = ", ".join(dict.fromkeys(i.group for i in self.items))
            raise InputError(f"{self.name} has no group {unknown[0]!r}; known are {names}")
        wanted = set(groups)
        return [item for item in items if {item.group.lower(), item.published_group.lower()} & wanted]

    def _with(self, items: tuple[Item, ...]) -> "Dataset":
        kept = {item.id for item in items}
        missing = []
        for file in self.missing:
            ids = tuple(name for name in file.item_ids if name in kept)
            if ids:
                missing.append(replace(file, item_ids=ids))
        return replace(self, items=items, missing=tuple(missing))


def counted(count: int, noun: str) -> str:
    """1 video, 2 videos."""
    return f"{count} {noun}" + ("" if count == 1 else "s")


def fingerprint(name: str, annotation: str, ids: Iterable[str]) -> str:
    """16 hex digits for these questions of a data set, in whatever order they come."""
    text = json.dumps([name, annotation, sorted(ids)])
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def find_missing(items: Iterable[Item]) -> tuple[Missing, ...]:
    """The files these questions name that are not there, each once, in the order of the questions."""
    wanted: dict[tuple[str, Path], list[str]] = {}
    for item in items:
        wanted.setdefault(("video", item.video), []).append(item.id)
        if isinstance(item.subtitles, Path):
            wanted.setdefault(("subtitles", item.subtitles), []).append(item.id)
    return tuple(Missing(kind, path, tuple(ids)) for (kind, path), ids in wanted.items() if not path.is_file())


def _lot(name: str, seed: int) -> str:
    return hashlib.sha256(f"{seed}:{name}".encode()).hexdigest()
