"""Files that other tools of this field read: frame numbers per question, messages for a server, a line per frame.

A format is a function from an exhibit, and what the question's own file says of it, to the file's text.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from framesift._utils.json import dump_json
from framesift._utils.text import clock, readable
from framesift.errors import OptionError
from framesift.rendering.exhibit import Exhibit
from framesift.rendering.thumbnails import data_url
from framesift.types.question import option_letter

OPENAI_QUALITY = 90


def numbers_row(exhibit: Exhibit, row: Mapping[str, Any], name: str) -> dict[str, Any]:
    """What the question's own file says, with its native frame numbers under this name and the seconds beside them."""
    question = exhibit.question
    said = dict(row) if row else {"video": exhibit.video.name}
    if not row and question is not None:
        said |= {"question": question.text, "options": list(question.options)}
    return said | {name: list(exhibit.numbers), "times_s": exhibit.selection.times_s}


def openai_messages(exhibit: Exhibit) -> list[dict[str, Any]]:
    """One message: each frame's time and picture, then the question. Irregular times stay with their frames."""
    content: list[dict[str, Any]] = []
    for place, (frame, picture) in enumerate(zip(exhibit.frames, exhibit.pictures(), strict=True), 1):
        content.append({"type": "text", "text": f"Frame {place} [{clock(frame.slot.time_s)}]:"})
        url = data_url(picture, quality=OPENAI_QUALITY)
        content.append({"type": "image_url", "image_url": {"url": url}})
    if exhibit.question is not None:
        options = [f"{option_letter(k)}. {text}" for k, text in exhibit.question.choices.items()]
        content.append({"type": "text", "text": "\n".join([exhibit.question.text, *options])})
    return [{"role": "user", "content": content}]


def frame_lines(exhibit: Exhibit, row: Mapping[str, Any]) -> str:
    """One JSON line per frame."""
    question = exhibit.question
    lines = []
    for place, frame in enumerate(exhibit.frames):
        line = {
            "video": exhibit.video.name,
            "question": "" if question is None else question.text,
            "file": f"frames/{file_name(exhibit, place)}",
            "time_s": frame.slot.time_s,
            "frame": frame.number,
            "role": frame.slot.role,
            "relevance": frame.slot.relevance,
            "text": frame.text,
        }
        if "id" in row:
            line["id"] = row["id"]
        lines.append(json.dumps(line, ensure_ascii=False, allow_nan=False))
    return readable("".join(f"{line}\n" for line in lines))


def file_name(exhibit: Exhibit, place: int) -> str:
    """0001_00-03-21.480_ground.jpg: sorts by time, tells time and role."""
    slot = exhibit.selection.slots[place]
    hours, rest = clock(slot.time_s).split(":", 1)
    return f"{place + 1:04d}_{hours:0>2}-{rest.replace(':', '-')}_{slot.role}.jpg"


# Name of the format → the file it writes, and its text.
FORMATS: dict[str, tuple[str, Callable[[Exhibit, Mapping[str, Any]], str]]] = {
    "keyframe_indices": ("keyframe_indices.json", lambda e, row: dump_json([numbers_row(e, row, "keyframe_indices")])),
    "frame_idx": ("frame_idx.json", lambda e, row: dump_json([numbers_row(e, row, "frame_idx")])),
    "openai": ("openai.json", lambda e, _: dump_json({"messages": openai_messages(e)})),
    "jsonl": ("frames.jsonl", frame_lines),
}


def checked_formats(names: Sequence[str]) -> list[str]:
    for name in names:
        if name not in FORMATS:
            raise OptionError(f"there is no format {name!r}; known are {', '.join(FORMATS)}")
    return list(dict.fromkeys(names))
