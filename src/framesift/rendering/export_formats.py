"""Formats for other tools by name, and those that list frames: numbers per question, chat messages, JSON lines."""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from framesift._utils.json import dump_json
from framesift._utils.text import clock, readable
from framesift.errors import OptionError
from framesift.rendering.formats.base import Export
from framesift.rendering.formats.clips import write_clips
from framesift.rendering.rendered_selection import RenderedSelection
from framesift.rendering.thumbnails import data_url
from framesift.types.question import option_letter

OPENAI_QUALITY = 90
_NOT_PLAIN = re.compile(r"[^A-Za-z0-9]+")  # in the name of a file


def numbers_row(exhibit: RenderedSelection, row: Mapping[str, Any], name: str) -> dict[str, Any]:
    """The question's row with the frame numbers added under `name`, with the times and warnings beside them."""
    question = exhibit.question
    fields = dict(row) if row else {"video": exhibit.video.name}
    if exhibit.several:
        fields |= {"videos": [exhibit.place(time_s)[0].name for time_s in exhibit.selection.times_s]}
        fields |= {"video_times_s": [exhibit.place(time_s)[1] for time_s in exhibit.selection.times_s]}
        fields.pop("video", None)
    if not row and question is not None:
        fields |= {"question": question.text, "options": list(question.options)}
    selection = exhibit.selection
    return fields | {name: list(exhibit.numbers), "times_s": selection.times_s, "warnings": list(selection.warnings)}


def openai_messages(exhibit: RenderedSelection) -> list[dict[str, Any]]:
    """One user message: the time and image of each frame, then the question."""
    captions = [f"Frame {number} [{exhibit.label(frame.time_s)}]:" for number, frame in enumerate(exhibit.frames, 1)]
    urls = [data_url(image, quality=OPENAI_QUALITY) for image in exhibit.images()]
    asked = exhibit.question
    options = [] if asked is None else [f"{option_letter(k)}. {text}" for k, text in asked.choices.items()]
    text = "" if asked is None else "\n".join([asked.text, *options])
    return [{"role": "user", "content": content_parts(captions, urls, text)}]


def content_parts(captions: Sequence[str], urls: Sequence[str], text: str) -> list[dict[str, Any]]:
    """Each image after its caption ("" for none), then the text, in OpenAI's format."""
    parts: list[dict[str, Any]] = []
    for caption, url in zip(captions, urls, strict=True):
        parts += [{"type": "text", "text": caption}] if caption else []
        parts.append({"type": "image_url", "image_url": {"url": url}})
    return parts + ([{"type": "text", "text": text}] if text else [])


def _write_numbers(export: Export, name: str) -> None:
    export.write(f"{name}.json", dump_json([numbers_row(export.exhibit, export.row, name)]))


def frame_lines(exhibit: RenderedSelection, row: Mapping[str, Any]) -> str:
    """One JSON line per frame."""
    question = exhibit.question
    lines = []
    for position, frame in enumerate(exhibit.frames):
        video, own_s = exhibit.place(frame.slot.time_s)
        line = {
            "video": video.name,
            "question": "" if question is None else question.text,
            "file": f"frames/{file_name(exhibit, position)}",
            "time_s": own_s,
            "frame": frame.number,
            "role": frame.slot.role,
            "relevance": frame.slot.relevance,
            "text": frame.text,
            "damaged": frame.is_damaged,
        }
        if "id" in row:
            line["id"] = row["id"]
        lines.append(json.dumps(line, ensure_ascii=False, allow_nan=False))
    return readable("".join(f"{line}\n" for line in lines))


def file_name(exhibit: RenderedSelection, position: int) -> str:
    """0001_00-03-21.480_ground.jpg: position, time and role, after the name of the video where there are several."""
    slot = exhibit.selection.slots[position]
    video, own_s = exhibit.place(slot.time_s)
    hours, rest = clock(own_s).split(":", 1)
    name = f"{_NOT_PLAIN.sub('-', Path(video.name).stem)[:40].strip('-')}_" if exhibit.several else ""
    return f"{position + 1:04d}_{name}{hours:0>2}-{rest.replace(':', '-')}_{slot.role}.jpg"


# Format name → what writes it.
FORMATS: dict[str, Callable[[Export], None]] = {
    **{name: partial(_write_numbers, name=name) for name in ("keyframe_indices", "frame_idx")},
    "openai": lambda e: e.write("openai.json", dump_json({"messages": openai_messages(e.exhibit)})),
    "jsonl": lambda e: e.write("frames.jsonl", frame_lines(e.exhibit, e.row)),
    "clips": partial(write_clips, cut="copy"),
    "clips-exact": partial(write_clips, cut="exact"),
}


def check_formats(names: Sequence[str]) -> list[str]:
    """Reject unknown names and drop repeated ones."""
    for name in names:
        if name not in FORMATS:
            raise OptionError(f"format is {name!r}; expected one of {', '.join(FORMATS)}")
    return list(dict.fromkeys(names))
