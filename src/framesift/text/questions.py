"""Questions as people write them: options inside the text, or many questions in a JSON, CSV or text file."""

import csv
import json
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from framesift.errors import InputError
from framesift.types import Question
from framesift.types.question import option_letter

# "A) …", "(B) …", "C. …", "D: …", at the start of a line or after a space.
_MARK = re.compile(r"(?:^|(?<=\s))[(\[]?([A-J])[)\].:、]\s*(?=\S)")
_TEXT_KEYS = ("question", "text", "q", "query")
_OPTION_KEYS = ("options", "candidates", "choices", "option")
_ID_KEYS = ("id", "question_id", "qid", "uid")
_OPTION_COLUMN = re.compile(r"^(?:option|choice|candidate|a)?[ _-]?(\d{1,2}|[a-j])$", re.IGNORECASE)
MOST_BYTES = 256 * 2**20


@dataclass(frozen=True)
class QuestionRow:
    """A question of a file: its id there, if it has one, and the row it stood in."""

    question: Question
    id: str = ""
    row: Mapping[str, Any] = field(default_factory=dict)


def parse_question(text: str, options: Sequence[str] = ()) -> Question:
    """The question, with the options given or, if there are none, those inside the text: "… A) this B) that"."""
    if options:
        return Question(text, tuple(options))
    marks: list[re.Match[str]] = []
    for mark in _MARK.finditer(text):
        if mark.group(1) == option_letter(len(marks)):
            marks.append(mark)
    stem = text[: marks[0].start()].strip() if marks else ""
    if len(marks) < 2 or not stem:
        return Question(text.strip())
    ends = [mark.start() for mark in marks[1:]] + [len(text)]
    return Question(stem, tuple(text[mark.end() : end].strip() for mark, end in zip(marks, ends, strict=True)))


def read_questions(path: str | os.PathLike[str]) -> list[QuestionRow]:
    """The questions of a file: .json, .jsonl, .csv, .tsv, or text with one question a line.

    In JSON a question is a text or an object with `question` and, where there are any, `options` (a list, or an object
    by letter); in CSV it is a row with a column `question`, and `options` ("this | that") or one column for each.
    """
    file = Path(path)
    try:
        if file.stat().st_size > MOST_BYTES:
            raise InputError(f"{path} is larger than {MOST_BYTES >> 20} MiB; expected a file of questions")
        text = file.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise InputError(
            f"{path} is not UTF-8 text; expected questions as JSON, CSV or text: save it as UTF-8"
        ) from None
    except OSError as error:
        raise InputError(f"{path} can't be read ({error.strerror or error}); expected a file of questions") from None
    read = {".json": _from_json, ".jsonl": _from_jsonl, ".csv": _from_csv, ".tsv": _from_csv}.get(
        file.suffix.lower(), _from_lines
    )
    asked = read(text, os.fspath(path))
    if not asked:
        raise InputError(f"{path} holds no question; expected at least one")
    return asked


def question_in(value: Any, place: str) -> QuestionRow:
    """The question of one value of a file: a text, or an object with its options under any of the common names."""
    if isinstance(value, str) and value.strip():
        return QuestionRow(parse_question(value))
    if not isinstance(value, Mapping):
        raise InputError(f"{place} is {str(value)[:40]!r}; expected a text, or an object with question and options")
    row = {str(key): cell for key, cell in value.items() if key is not None}
    text = _named(row, _TEXT_KEYS)
    if not isinstance(text, str) or not text.strip():
        raise InputError(f"{place} has no question; expected a text under the name question")
    name = _named(row, _ID_KEYS)
    return QuestionRow(parse_question(text, _options_of(row, place)), "" if name is None else str(name), row)


def _from_json(text: str, name: str) -> list[QuestionRow]:
    try:
        data = json.loads(text)
    except (json.JSONDecodeError, RecursionError) as error:
        raise InputError(f"{name} is not JSON ({error}); expected a list of questions") from None
    if isinstance(data, Mapping):
        data = data.get("questions", [data])
    if not isinstance(data, list):
        raise InputError(f"{name} holds no list; expected a list of questions")
    return [question_in(value, f"{name}, question {k}") for k, value in enumerate(data, 1)]


def _from_jsonl(text: str, name: str) -> list[QuestionRow]:
    asked = []
    for k, line in enumerate(text.splitlines(), 1):
        if not line.strip():
            continue
        try:
            value = json.loads(line)
        except (json.JSONDecodeError, RecursionError) as error:
            raise InputError(f"{name}, line {k} is not JSON ({error}); expected one question a line") from None
        asked.append(question_in(value, f"{name}, line {k}"))
    return asked


def _from_csv(text: str, name: str) -> list[QuestionRow]:
    dialect = "excel-tab" if name.lower().endswith(".tsv") else "excel"
    try:
        table = csv.DictReader(text.splitlines(keepends=True), dialect=dialect)
        header = list(table.fieldnames or ())
        rows = list(table)
    except csv.Error as error:
        raise InputError(f"{name} can't be read as a table ({error}); expected columns question, options") from None
    if _named(dict.fromkeys(header, ""), _TEXT_KEYS) is None:
        raise InputError(f"{name} has the columns {', '.join(header) or 'none'}; expected one called question")
    return [question_in(row, f"{name}, row {k}") for k, row in enumerate(rows, 1)]


def _from_lines(text: str, _: str) -> list[QuestionRow]:
    lines = [line.strip() for line in text.splitlines()]
    return [QuestionRow(parse_question(line)) for line in lines if line and not line.startswith("#")]


def _named(row: Mapping[str, Any], names: Sequence[str]) -> Any:
    lowered = {key.strip().lower(): key for key in row}
    return next((row[lowered[name]] for name in names if name in lowered), None)


def _options_of(row: Mapping[str, Any], place: str) -> tuple[str, ...]:
    value = _named(row, _OPTION_KEYS)
    if isinstance(value, str) and value.strip():
        value = _split_options(value)
    if isinstance(value, Mapping):
        value = [value[key] for key in sorted(value)]
    if isinstance(value, list):
        if not all(isinstance(option, str | int | float) for option in value):
            raise InputError(f"{place} has options that are no texts; expected a list of texts")
        return tuple(str(option) for option in value)
    columns = {key: match.group(1) for key in row if (match := _OPTION_COLUMN.match(key.strip()))}
    ordered = sorted(columns, key=lambda key: (len(columns[key]), columns[key].lower()))
    return tuple(str(row[key]) for key in ordered if row[key] not in (None, ""))


def _split_options(text: str) -> list[str]:
    """A cell with all options: a JSON list, or parted by | or by line breaks."""
    try:
        value = json.loads(text)
    except (json.JSONDecodeError, RecursionError):
        value = None
    if isinstance(value, list):
        return value
    separator = "|" if "|" in text else "\n"
    return [part.strip() for part in text.split(separator) if part.strip()]
