"""Your own questions: JSON Lines (or JSON, CSV), one object each.

    {"video": "clips/a.mp4", "subtitles": "clips/a.srt", "question": "…", "options": ["…", "…"], "answer": "B",
     "group": "indoor", "id": "a-1", "category": "counting", "duration_s": 93.5, "moments": [12.0, [40, 44.5]],
     "until": 60.0}

Required: video, question, options, answer (a letter, an index from 0, or the option's text). subtitles is a file or a
list of {"start_s", "end_s", "text"}. In moments, a number is a time and a pair a scene. from_s and to_s are
the part of the video that is considered; until is to_s, of a question asked at that time. Paths are relative to the
file.
"""

from dataclasses import dataclass
from pathlib import Path

from framesift._utils.json import load_json
from framesift._utils.records import FilePath, Name, Seconds, read_field
from framesift._utils.text import readable
from framesift.bench.datasets.annotations import (
    AnnotationRow,
    options_of,
    question_of,
    read_rows,
    without_letters,
)
from framesift.bench.items import Dataset, EvidenceScene, Item, find_missing
from framesift.types import Event
from framesift.types.question import resolve_option
from framesift.types.window import window_of_row


@dataclass(frozen=True)
class _SubtitleRow:
    start_s: Seconds
    end_s: Seconds
    text: str


def load(path: Path) -> Dataset:
    rows, annotation = read_rows(path)
    items = tuple(_item(row, path, k) for k, row in enumerate(rows, 1))
    return Dataset(readable(path.stem), items, annotation, find_missing(items))


def _item(row: AnnotationRow, path: Path, number: int) -> Item:
    location = f"{path}, question {number}"
    published = row.get("options")
    parts = published.split("|") if isinstance(published, str) else options_of(row, "options", location)
    options = without_letters(option.strip() for option in parts)
    video = read_field(row, "video", FilePath, location)
    moments, scenes = _moments(row, location)
    category = read_field(row, "category", Name | tuple[Name, ...], location, ())
    group = read_field(row, "group", Name, location, "")
    return Item(
        dataset=readable(path.stem),
        id=read_field(row, "id", Name, location, f"{readable(path.stem)}-{number}"),
        video_id=readable(video),
        video=path.parent / video,
        question=question_of(row, options, location),
        answer=resolve_option(read_field(row, "answer", int | Name, location), options, location),
        group=group,
        published_group=group,
        categories=category if isinstance(category, tuple) else (category,),
        duration_s=read_field(row, "duration_s", Seconds, location, None),
        subtitles=_subtitles(row, path.parent, location),
        moments_s=moments,
        scenes=scenes,
        window=window_of_row(row, location),
    )


def _subtitles(row: AnnotationRow, root: Path, location: str) -> Path | tuple[Event, ...] | None:
    if isinstance(row.get("subtitles"), list):
        cues: tuple[_SubtitleRow, ...] = read_field(row, "subtitles", tuple[_SubtitleRow, ...], location)
        return tuple(Event(cue.start_s, cue.end_s, cue.text) for cue in cues) or None
    name = read_field(row, "subtitles", FilePath, location, None)
    return None if name is None else root / name


def _moments(row: AnnotationRow, location: str) -> tuple[tuple[float, ...], tuple[EvidenceScene, ...]]:
    value = row.get("moments")
    if isinstance(value, str) and value.strip()[:1] == "[":  # a cell of a table
        row = {"moments": load_json(value, f"{location}: moments", "seconds, or pairs of them")}
    elif isinstance(value, str) and value.strip():
        row = {"moments": [value]}
    moments = read_field(row, "moments", tuple[Seconds | tuple[Seconds, Seconds], ...], location, ())
    scenes = tuple(EvidenceScene((moment,)) for moment in moments if isinstance(moment, tuple))
    return tuple(moment for moment in moments if not isinstance(moment, tuple)), scenes
