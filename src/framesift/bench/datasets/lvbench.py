"""LVBench: DIR/video_info.meta.jsonl (or data/ before it), one line a video: `key`, `type`, and `qa` with `uid`,
`question` (its options in it, a line each: "(A) …"), `answer` (a letter), `question_type` (a list), `time_reference`.
Videos are found as all_videos/, videos/ or video/ {key}.mp4. There are no subtitles.

`time_reference`, "mm:ss-mm:ss", is taken as one scene. A question of several types counts in each, as in the original.
"""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from framesift._utils.records import Name, Seconds, read_field, read_value
from framesift.bench.datasets.annotations import (
    AnnotationRow,
    find_annotation,
    first_file,
    read_rows,
    root_of,
    without_letters,
)
from framesift.bench.items import Dataset, EvidenceScene, Item, counted, find_missing
from framesift.errors import InputError
from framesift.types import Question
from framesift.types.question import resolve_option

NAME = "lvbench"
_SPAN = re.compile(r"^\s*([\d:.]+)\s*(?:[-–~]\s*([\d:.]+))?\s*$")
_OPTION = re.compile(r"^\s*\(?[A-H][).]\s*\S")


def load(folder: Path) -> Dataset:
    path = find_annotation(folder, ["video_info.meta.jsonl", "data/video_info.meta.jsonl"], "LVBench")
    rows, annotation = read_rows(path)
    root = root_of(folder)
    items: list[Item] = []
    unread: list[str] = []
    for k, row in enumerate(rows, 1):
        location = f"{path}, line {k}"
        questions = read_field(row, "qa", tuple[Mapping[str, Any], ...], location)
        items += [_item(row, asked, root, location, unread) for asked in questions]
    notes = (f"unreadable: {counted(len(unread), 'time reference')} ({', '.join(unread[:5])})",) if unread else ()
    return Dataset(NAME, tuple(items), annotation, find_missing(items), notes)


def _item(video: AnnotationRow, asked: AnnotationRow, root: Path, location: str, unread: list[str]) -> Item:
    key = read_field(video, "key", Name, location)
    name = read_field(asked, "uid", Name, location)
    location = f"{location}, question {name}"
    stem, options = _split_options(read_field(asked, "question", str, location), location)
    types = read_field(asked, "question_type", Name | tuple[Name, ...], location)
    kind = read_field(video, "type", Name, location, "")
    folders = ("all_videos", "videos", "video")
    return Item(
        dataset=NAME,
        id=name,
        video_id=key,
        video=first_file(root / folder / f"{key}.mp4" for folder in folders),
        question=Question(stem, options),
        answer=resolve_option(read_field(asked, "answer", Name, location), options, location),
        group=kind,
        published_group=kind,
        categories=types if isinstance(types, tuple) else (types,),
        scenes=_scenes(read_field(asked, "time_reference", str, location, ""), name, unread),
    )


def _split_options(text: str, location: str) -> tuple[str, tuple[str, ...]]:
    lines = text.splitlines()
    first = next((k for k, line in enumerate(lines) if _OPTION.match(line)), len(lines))
    options = without_letters(line for line in lines[first:] if line.strip())
    if len(options) < 2 or not (stem := "\n".join(lines[:first]).strip()):
        raise InputError(f"{location} is {text[:60]!r}; expected a question and a line for each option")
    return stem, options


def _scenes(reference: str, name: str, unread: list[str]) -> tuple[EvidenceScene, ...]:
    if not reference.strip():
        return ()
    span = _SPAN.match(reference)
    if span:
        start_s = read_value(Seconds, span.group(1), name)
        end_s = read_value(Seconds, span.group(2), name) if span.group(2) else start_s
        if end_s >= start_s:
            return (EvidenceScene(((start_s, end_s),)),)
    unread.append(name)
    return ()
