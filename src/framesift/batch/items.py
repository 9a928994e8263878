"""The items of a run: questions, each on a video, and the question files of `corpus`."""

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from framesift._utils.credentials import public_url
from framesift._utils.records import FilePath, first_value, read_record
from framesift.batch.listing import PATH_COLUMNS, SUBTITLE_COLUMNS, read_path, resolve
from framesift.errors import InputError
from framesift.text.finding import AUTO, FoundEvents
from framesift.text.questions import QuestionRow, read_questions
from framesift.text.subtitles import read_report
from framesift.types import Event, Question, Window
from framesift.types.question import resolve_option

Value = TypeVar("Value")
Key = TypeVar("Key")

ANSWER_COLUMNS = ("answer", "truth", "correct", "label", "correct_choice")


@dataclass(frozen=True)
class RunItem:
    """One question on one video.

    video: a path or URL. subtitles: a path or URL, "auto" (beside or inside the video) or "none"; subtitles_offset_s is
    added to the times in the file. events: the video's text itself. facts: fields of the result row that do not depend
    on how the question is answered, such as truth and group. window: the part of the video to consider.
    """

    id: str
    video: FilePath
    question: Question
    subtitles: FilePath
    subtitles_offset_s: float = 0.0
    events: tuple[Event, ...] | None = None
    facts: Mapping[str, Any] = field(default_factory=dict)
    window: Window | None = None

    @property
    def video_id(self) -> str:
        """The name of the video in rows; of a URL, without its signature."""
        return public_url(str(self.facts.get("video_id", self.video)))

    def to_dict(self) -> dict[str, Any]:
        """JSON values only."""
        return asdict(self)

    @classmethod
    def from_dict(cls, value: Mapping[str, Any]) -> "RunItem":
        return read_record(cls, value, "a task")


def group_by(values: Iterable[Value], key: Callable[[Value], Key]) -> dict[Key, list[Value]]:
    """Group values by a key, in order of first occurrence."""
    groups: dict[Key, list[Value]] = {}
    for value in values:
        groups.setdefault(key(value), []).append(value)
    return groups


def read_items(file: Path) -> Iterator[RunItem]:
    """Read the items of a question file; each row names its video, and may name subtitles and the correct answer."""
    for number, row in enumerate(read_questions(file), 1):
        location = f"{file}, question {number}"
        name, subtitles = (read_path(row.row, names, location) for names in (PATH_COLUMNS, SUBTITLE_COLUMNS))
        if not name:
            raise InputError(f"{location} has no video; expected a path or URL under `video`")
        times = [] if row.window is None else [row.window.from_s, row.window.to_s]
        identity = json.dumps([name, row.question.text, row.question.options, *times])
        yield RunItem(
            id=row.id or hashlib.blake2b(identity.encode(), digest_size=8).hexdigest(),
            video=resolve(name, file.parent),
            question=row.question,
            subtitles=resolve(subtitles, file.parent) if subtitles else AUTO,
            facts={"truth": _correct_option(row, location)},
            window=row.window,
        )


def read_clip_events(path: Path, *, offset_s: float, duration_s: float) -> FoundEvents:
    """Read the events of a subtitle file that lie in a clip of its video. offset_s: added to the times of the file."""
    try:
        events, report = read_report(path, offset_s=offset_s, duration_s=duration_s)
    except InputError:
        # A clip without speech is not an error: all of the file's events then lie outside it.
        events, report = [], read_report(path)[1]
    return FoundEvents(tuple(events), (), (), duration_s, report.warnings)


def _correct_option(row: QuestionRow, location: str) -> int | None:
    value = first_value(row.row, ANSWER_COLUMNS)
    if value is None or value == "" or not row.question.options:
        return None
    return resolve_option(value, row.question.options, location)
