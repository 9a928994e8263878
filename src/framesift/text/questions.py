"""Files of questions in JSON, CSV or plain text."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from framesift._utils.files import StrPath
from framesift._utils.json import load_json
from framesift._utils.records import Name, first_value, read_value, shown
from framesift._utils.tables import parse_rows, read_bytes
from framesift.errors import InputError
from framesift.types import Question, Window
from framesift.types.window import window_of_row

_TEXT_KEYS = ("question", "text", "q", "query")
_OPTION_KEYS = ("options", "candidates", "choices", "option")
_ID_KEYS = ("id", "question_id", "qid", "uid")
_OPTION_COLUMN = re.compile(r"^(?:option|choice|candidate|a)?[ _-]?(\d{1,2}|[a-j])$", re.IGNORECASE)
EXPECTED = "questions as JSON, CSV or text"


@dataclass(frozen=True)
class QuestionRow:
    """A question of a file, its id and window of time, if it has any, and the row it came from."""

    question: Question
    id: str = ""
    row: Mapping[str, Any] = field(default_factory=dict)
    window: Window | None = None


def read_questions(path: StrPath) -> list[QuestionRow]:
    """Read a file of questions: .json, .jsonl, .csv, .tsv, or text with one question per line.

    In JSON a question is a text, or an object with `question` and optionally `options` (a list, or an object by
    letter); in CSV a row with a column `question`, and `options` ("this | that") or one column per option. `from_s` and
    `to_s` (or `until`) are the part of the video that a question is about.
    """
    file = Path(path)
    rows = [parse_question_row(value, f"{path}, {place}") for place, value in _values(file)]
    if not rows:
        raise InputError(f"{path} contains no question; expected at least one")
    return rows


def parse_question_row(value: Any, location: str) -> QuestionRow:
    """Parse one value of a file: a text, or an object with question and options under any of the common names."""
    if isinstance(value, str) and value.strip():
        return QuestionRow(Question(read_value(str, value, location)))
    if not isinstance(value, Mapping):
        raise InputError(f"{location} is {shown(value)}; expected a text, or an object with question and options")
    row = {key: cell for key, cell in value.items() if isinstance(key, str)}
    text = first_value(row, _TEXT_KEYS)
    if not isinstance(text, str) or not text.strip():
        raise InputError(f"{location} has no question; expected a text under the key question")
    row_id = first_value(row, _ID_KEYS)
    name = "" if row_id is None else read_value(Name, row_id, f"{location}: id")
    read_value(str, text, f"{location}: question")
    return QuestionRow(Question(text, _parse_options(row, location) or None), name, row, window_of_row(row, location))


def _values(file: Path) -> list[tuple[str, Any]]:
    """The questions of a file with their places in it."""
    data = read_bytes(file, EXPECTED)
    if file.suffix.lower() != ".json":
        return parse_rows(data, file, EXPECTED)
    questions = load_json(data, str(file), "a list of questions")
    if isinstance(questions, Mapping):
        questions = questions.get("questions", [questions])
    if not isinstance(questions, list):
        raise InputError(f"{file} contains no list; expected a list of questions")
    return [(f"question {k}", value) for k, value in enumerate(questions, 1)]


def _parse_options(row: Mapping[str, Any], location: str) -> tuple[str, ...]:
    value = first_value(row, _OPTION_KEYS)
    if isinstance(value, str) and value.strip():
        value = _split_options(value)
    if isinstance(value, Mapping):
        value = [value[key] for key in sorted(value)]
    if isinstance(value, list):
        return tuple(read_value(list[Name], value, f"{location}: options"))
    columns = {key: match.group(1) for key in row if (match := _OPTION_COLUMN.match(key.strip()))}
    ordered = sorted(columns, key=lambda key: (len(columns[key]), columns[key].lower()))
    options = {key: row[key] for key in ordered if row[key] is not None and row[key] != ""}
    return tuple(read_value(Name, value, f"{location}: {key}") for key, value in options.items())


def _split_options(text: str) -> list[str]:
    """Split a cell with all options: a JSON list, or separated by | or line breaks."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        value = None
    if isinstance(value, list):
        return value
    separator = "|" if "|" in text else "\n"
    return [part.strip() for part in text.split(separator) if part.strip()]
