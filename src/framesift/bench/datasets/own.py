"""Your own questions: JSON Lines (or JSON, CSV), one object each.

    {"video": "clips/a.mp4", "subtitles": "clips/a.srt", "question": "…", "options": ["…", "…"], "answer": "B",
     "group": "indoor", "id": "a-1", "category": "counting", "duration_s": 93.5, "moments": [12.0, [40, 44.5]]}

Required: video, question, options, answer (a letter, an index from 0, or the option's text). subtitles is a file or a
list of {"start_s", "end_s", "text"}. In moments, a number is a time and a pair a scene. Paths are relative to the file.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from framesift.bench.datasets.annotations import (
    AnnotationRow,
    field_of,
    question_of,
    read_rows,
    without_letters,
)
from framesift.bench.items import Dataset, EvidenceScene, Item, find_missing
from framesift.errors import InputError
from framesift.types import Event
from framesift.types.question import resolve_option


def load(path: Path) -> Dataset:
    rows, annotation = read_rows(path)
    items = tuple(_item(row, path, k) for k, row in enumerate(rows, 1))
    return Dataset(path.stem, items, annotation, find_missing(items))


def _item(row: AnnotationRow, path: Path, number: int) -> Item:
    location = f"{path}, question {number}"
    published = field_of(row, "options", location)
    parts = published.split("|") if isinstance(published, str) else published
    options = without_letters(str(option).strip() for option in parts)
    video = str(field_of(row, "video", location))
    moments, scenes = _moments(row.get("moments") or (), location)
    category = row.get("category") or ()
    group = str(row.get("group") or "")
    return Item(
        dataset=path.stem,
        id=str(row.get("id") or f"{path.stem}-{number}"),
        video_id=video,
        video=path.parent / video,
        question=question_of(row.get("question"), options, location),
        answer=resolve_option(field_of(row, "answer", location), options, location),
        group=group,
        published_group=group,
        categories=tuple(map(str, category)) if isinstance(category, list | tuple) else (str(category),),
        duration_s=float(row["duration_s"]) if row.get("duration_s") else None,
        subtitles=_subtitles(row.get("subtitles"), path.parent, location),
        moments_s=moments,
        scenes=scenes,
    )


def _subtitles(value: Any, root: Path, location: str) -> Path | tuple[Event, ...] | None:
    if not value:
        return None
    if isinstance(value, str):
        return root / value
    try:
        return tuple(Event(float(e["start_s"]), float(e["end_s"]), str(e["text"])) for e in value)
    except (KeyError, TypeError, ValueError) as error:
        raise InputError(f"{location} has subtitles that can't be read ({error}); expected a file or events") from None


def _moments(values: Any, location: str) -> tuple[tuple[float, ...], tuple[EvidenceScene, ...]]:
    try:
        instants = tuple(float(value) for value in values if not isinstance(value, list | tuple | Mapping))
        scenes = tuple(
            EvidenceScene(((float(a), float(b)),)) for a, b in (v for v in values if isinstance(v, list | tuple))
        )
    except (TypeError, ValueError) as error:
        raise InputError(f"{location} has moments that can't be read ({error}); expected seconds, or pairs") from None
    return instants, scenes
