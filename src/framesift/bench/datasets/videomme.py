"""Video-MME: videomme/test-00000-of-00001.parquet (or JSON, CSV), data/{videoID}.mp4, subtitle/{videoID}.srt.

Options are published with their letters, which are stripped. 744 of the 900 videos have subtitles: the absence of up to
156 subtitle files is expected and not reported as missing.
"""

from dataclasses import replace
from pathlib import Path

from framesift._utils.records import Name, read_field
from framesift.bench.datasets.annotations import (
    AnnotationRow,
    find_annotation,
    first_file,
    options_of,
    question_of,
    read_rows,
    root_of,
    without_letters,
)
from framesift.bench.items import Dataset, Item, counted, find_missing
from framesift.errors import InputError
from framesift.types.question import resolve_option

NAME = "videomme"
GROUPS = {"short": "Short", "medium": "Medium", "long": "Long"}
WITHOUT_SUBTITLES = 156
_NAMES = ["videomme/*.parquet", "*.parquet", "*.jsonl", "videomme*.json", "*.json", "videomme*.csv", "*.csv"]

# The figure by categories joins task types.
FAMILIES = {
    "Temporal Perception": "Perception",
    "Spatial Perception": "Perception",
    "Attribute Perception": "Perception",
    "Action Recognition": "Recognition",
    "Object Recognition": "Recognition",
    "OCR Problems": "OCR",
    "Counting Problem": "Counting",
    "Temporal Reasoning": "Reasoning",
    "Spatial Reasoning": "Reasoning",
    "Action Reasoning": "Reasoning",
    "Object Reasoning": "Reasoning",
    "Information Synopsis": "Synopsis",
}


def load(folder: Path) -> Dataset:
    path = find_annotation(folder, _NAMES, "Video-MME")
    rows, annotation = read_rows(path)
    root = root_of(folder)
    items = tuple(_item(row, root, f"{path}, question {k}") for k, row in enumerate(rows, 1))
    missing = find_missing(items)
    bare = {file.path for file in missing if file.kind == "subtitles"}
    if not 0 < len(bare) <= WITHOUT_SUBTITLES:
        return Dataset(NAME, items, annotation, missing)
    items = tuple(replace(item, subtitles=None) if item.subtitles in bare else item for item in items)
    note = f"{counted(len(bare), 'video')} without subtitles, as published; their questions are asked without"
    return Dataset(NAME, items, annotation, tuple(m for m in missing if m.kind == "video"), (note,))


def _item(row: AnnotationRow, root: Path, location: str) -> Item:
    published = row.get("options")
    lines = published.splitlines() if isinstance(published, str) else options_of(row, "options", location)
    options = without_letters(line for line in lines if line.strip())
    group = read_field(row, "duration", Name, location).strip().lower()
    if group not in GROUPS:
        raise InputError(f"{location}: duration is {group!r}; expected one of {', '.join(GROUPS)}")
    video = read_field(row, "videoID", Name, location)
    files = [root / folder / f"{video}.mp4" for folder in ("data", "videos", "video")]
    texts = [root / folder / f"{video}.srt" for folder in ("subtitle", "subtitles")]
    return Item(
        dataset=NAME,
        id=read_field(row, "question_id", Name, location),
        video_id=video,
        video=first_file(files),
        question=question_of(row, options, location),
        answer=resolve_option(read_field(row, "answer", Name, location), options, location),
        group=GROUPS[group],
        published_group=group,
        categories=(read_field(row, "task_type", Name, location),),
        subtitles=first_file(texts),
    )
