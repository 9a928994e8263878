"""Formats for other tools by name, and those that list frames: a row per question, chat messages, JSON lines."""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from framesift._utils.json import dump_json
from framesift._utils.text import clock, readable
from framesift.errors import OptionError
from framesift.rendering.formats import cut_lists, datasets
from framesift.rendering.formats.base import Export
from framesift.rendering.formats.clips import write_clips
from framesift.rendering.rendered_selection import RenderedSelection
from framesift.rendering.thumbnails import data_url
from framesift.types.question import option_letter

OPENAI_QUALITY = 90
# These are one file for all questions of a run.
NUMBERS, HUGGINGFACE = ("keyframe_indices", "frame_idx"), "huggingface"
LISTS = (*NUMBERS, HUGGINGFACE)
_NOT_PLAIN = re.compile(r"[^A-Za-z0-9]+")  # in the name of a file


def numbers_row(exhibit: RenderedSelection, row: Mapping[str, Any], name: str) -> dict[str, Any]:
    """The question's row with the frame numbers added under `name`, with the times and warnings beside them."""
    question = exhibit.question
    fields = dict(row) if row else {"video": exhibit.video.name}
    if exhibit.several:
        fields |= {"videos": [exhibit.place(time_s)[0].name for time_s in exhibit.times_s]}
        fields |= {"video_times_s": [exhibit.place(time_s)[1] for time_s in exhibit.times_s]}
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


def dataset_row(exhibit: RenderedSelection, folder: str = "") -> dict[str, Any]:
    """The question as a row of an image folder of Hugging Face Datasets. folder: the exhibit's, below that folder."""
    asked = exhibit.question
    files = [f"{folder}frames/{file_name(exhibit, position)}" for position in range(len(exhibit))]
    return {
        "question": "" if asked is None else asked.text,
        "frames_file_names": files,
        "times_s": exhibit.times_s,
        "reasons": [frame.reason for frame in exhibit.frames],
    }


def list_row(exhibit: RenderedSelection, row: Mapping[str, Any], name: str, folder: str = "") -> dict[str, Any]:
    """The question's row in one of LISTS."""
    return dataset_row(exhibit, folder) if name == HUGGINGFACE else numbers_row(exhibit, row, name)


def list_file(name: str, rows: Sequence[Mapping[str, Any]]) -> tuple[str, str]:
    """The name and the content of one of LISTS."""
    if name == HUGGINGFACE:
        return "metadata.jsonl", json_lines(rows)
    return f"{name}.json", dump_json(rows)


def _write_list(export: Export, name: str) -> None:
    export.write(*list_file(name, [list_row(export.exhibit, export.row, name)]))


def json_lines(rows: Sequence[Mapping[str, Any]]) -> str:
    return readable("".join(json.dumps(row, ensure_ascii=False, allow_nan=False) + "\n" for row in rows))


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
        lines.append(line)
    return json_lines(lines)


def file_name(exhibit: RenderedSelection, position: int) -> str:
    """0001_00-03-21.480_ground.jpg: position, time and role, after the name of the video where there are several."""
    slot = exhibit.selection.slots[position]
    video, own_s = exhibit.place(slot.time_s)
    hours, rest = clock(own_s).split(":", 1)
    name = f"{_NOT_PLAIN.sub('-', Path(video.name).stem)[:40].strip('-')}_" if exhibit.several else ""
    return f"{position + 1:04d}_{name}{hours:0>2}-{rest.replace(':', '-')}_{slot.role}.jpg"


# Format name → what writes it.
FORMATS: dict[str, Callable[[Export], None]] = {
    **{name: partial(_write_list, name=name) for name in LISTS},
    "openai": lambda e: e.write("openai.json", dump_json({"messages": openai_messages(e.exhibit)})),
    "jsonl": lambda e: e.write("frames.jsonl", frame_lines(e.exhibit, e.row)),
    "clips": partial(write_clips, cut="copy"),
    "clips-exact": partial(write_clips, cut="exact"),
    "edl": cut_lists.write_edl,
    "otio": cut_lists.write_otio,
    "fcpxml": cut_lists.write_fcpxml,
    "vtt": cut_lists.write_vtt,
    "ffconcat": cut_lists.write_ffconcat,
    datasets.FIFTYONE: datasets.write_fiftyone,
    datasets.LABEL_STUDIO: datasets.write_label_studio,
}


def check_formats(names: Sequence[str]) -> list[str]:
    """Reject unknown names and drop repeated ones."""
    for name in names:
        if name not in FORMATS:
            raise OptionError(f"format is {name!r}; expected one of {', '.join(FORMATS)}")
    return list(dict.fromkeys(names))
