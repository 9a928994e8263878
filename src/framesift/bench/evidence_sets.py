"""Evidence sets: questions with the time spans that answer them, for selectors without videos or readers.

A transcript set is a JSON object: timed sentences by video, and questions with the sentences or spans that answer them.

    {"videos": {"a": [{"start_s": 0, "end_s": 4.5, "text": "…"}, …]},
     "questions": [{"video": "a", "question": "…", "first": 3, "last": 5}]}

A moment set is JSON Lines: a relevance curve, or the file, of one video, a query, and the windows that show it.

    {"id": "7", "query": "…", "curve": [0.1, 0.4, …], "windows": [[12, 20]]}

docs/evidence-sets.md describes every field.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from framesift._utils.json import load_json
from framesift._utils.records import FilePath, Name, Seconds, read_record, read_value
from framesift._utils.settings import check_count
from framesift._utils.tables import read_bytes
from framesift._utils.text import readable
from framesift.bench.items import FILE, Spans, check_ids, check_spans, content_hash, read_rows
from framesift.errors import InputError
from framesift.types import Event, Question

SENTENCE_S = 5.0  # of a sentence without times
PAUSE_S = 0.5  # between two of these
CURVE_STEP_S = 2.0  # between two values of a curve without times, as in QVHighlights


@dataclass(frozen=True)
class SetQuestion:
    """A question and the spans that answer it."""

    id: str
    question: Question
    spans: Spans


@dataclass(frozen=True)
class SetVideo:
    """A video of a set and its questions.

    number: which part of a substitute video stands for it. duration_s: None for that of `file`. times_s: of its
    candidates; None for one per second. file: a video with its frames. curve: the relevance of each candidate.
    """

    id: str
    number: int
    questions: tuple[SetQuestion, ...]
    duration_s: float | None
    events: tuple[Event, ...] = ()
    times_s: tuple[float, ...] | None = None
    file: Path | None = None
    curve: tuple[float, ...] | None = None


@dataclass(frozen=True)
class EvidenceSet:
    """The videos and questions of a set. annotation: a hash of its file. notes: what was left out, in sentences."""

    name: str
    kind: Literal["transcripts", "moments"]
    videos: tuple[SetVideo, ...]
    annotation: str
    notes: tuple[str, ...] = ()

    @property
    def questions(self) -> list[SetQuestion]:
        return [question for video in self.videos for question in video.questions]


@dataclass(frozen=True)
class _Sentence:
    start_s: Seconds
    end_s: Seconds
    text: str


@dataclass(frozen=True, kw_only=True)
class _Candidates:
    duration_s: Seconds | None = None
    file: FilePath | None = None


@dataclass(frozen=True, kw_only=True)
class _TranscriptVideo(_Candidates):
    sentences: tuple[str | _Sentence, ...]


@dataclass(frozen=True)
class _TranscriptQuestion:
    video: Name
    question: str
    options: tuple[Name, ...] = ()
    first: int | None = None
    last: int | None = None
    spans: tuple[tuple[Seconds, Seconds], ...] | None = None
    id: Name | None = None


@dataclass(frozen=True, kw_only=True)
class _MomentRow(_Candidates):
    windows: tuple[tuple[Seconds, Seconds], ...]
    query: str = ""
    times_s: tuple[Seconds, ...] | None = None
    curve: tuple[float, ...] | None = None
    model: tuple[float, ...] | None = None  # another name of `curve`
    id: Name | None = None
    qid: Name | None = None  # another name of `id`
    video: Name | None = None


def read_evidence_set(path: Path, *, limit: int | None = None) -> EvidenceSet:
    """Read a transcript set or a moment set. limit: its first questions only."""
    check_count("limit", limit)
    data = read_bytes(path, FILE)
    value = load_json(data, str(path), "a transcript set or a moment set") if path.suffix.lower() == ".json" else None
    if isinstance(value, Mapping):
        if "videos" not in value:
            raise InputError(f"{path} has no 'videos'; expected a transcript set, or a list of moments")
        found = EvidenceSet(readable(path.stem), "transcripts", _transcripts(value, path, limit), content_hash(data))
    else:
        rows, annotation = read_rows(path)
        rows = rows[:limit]
        videos = _moments(rows, path)
        constant = len(rows) - len(videos)
        notes = (f"{constant} of {len(rows)} curves are constant and were left out",) if constant else ()
        found = EvidenceSet(readable(path.stem), "moments", videos, annotation, notes)
    if not found.videos:
        raise InputError(f"{path} has no question; expected at least one")
    check_ids([question.id for question in found.questions], str(path))
    return found


def _transcripts(value: Mapping[str, Any], path: Path, limit: int | None) -> tuple[SetVideo, ...]:
    location = f"{path}: videos"
    listed = read_value(dict[str, Any], value["videos"], location)
    objects = {name: video if isinstance(video, Mapping) else {"sentences": video} for name, video in listed.items()}
    videos: dict[str, _TranscriptVideo] = read_value(dict[str, _TranscriptVideo], objects, location)
    rows = read_value(tuple[_TranscriptQuestion, ...], value.get("questions"), f"{path}: questions")[:limit]
    events = {}
    asked: dict[str, list[SetQuestion]] = {}
    for k, row in enumerate(rows):
        location = f"{path}, question {k + 1}"
        if row.video not in videos:
            raise InputError(f"{location}: the video {row.video!r} is not among the videos of the set")
        if row.video not in events:
            events[row.video] = _timed(videos[row.video].sentences, f"{path}: videos.{row.video}")
        spans = _answer_spans(row, events[row.video], location)
        asked.setdefault(row.video, []).append(
            SetQuestion(row.id or str(k), Question(row.question, row.options), spans)
        )
    made = []
    for number, (name, questions) in enumerate(sorted(asked.items())):
        own = videos[name]
        is_untimed = isinstance(own.sentences[-1], str)
        length_s = SENTENCE_S * len(events[name]) if is_untimed else max(event.end_s for event in events[name])
        made.append(
            SetVideo(
                id=name,
                number=number,
                questions=tuple(questions),
                duration_s=length_s if own.duration_s is None and own.file is None else own.duration_s,
                events=tuple(event for event in events[name] if event.text.strip()),
                file=_beside(path, own.file),
            )
        )
    return tuple(made)


def _timed(sentences: Sequence[str | _Sentence], location: str) -> list[Event]:
    if not sentences:
        raise InputError(f"{location} has no sentence; expected at least one")
    return [
        Event(SENTENCE_S * k, SENTENCE_S * (k + 1) - PAUSE_S, sentence)
        if isinstance(sentence, str)
        else Event(sentence.start_s, sentence.end_s, sentence.text)
        for k, sentence in enumerate(sentences)
    ]


def _answer_spans(row: _TranscriptQuestion, events: Sequence[Event], location: str) -> Spans:
    spans = row.spans
    if spans is None:
        if row.first is None:
            raise InputError(f"{location} has neither spans nor first; expected what answers it")
        last = row.first if row.last is None else row.last
        if not 0 <= row.first <= last < len(events):
            expected = f"expected numbers from 0 to {len(events) - 1}"
            raise InputError(f"{location}: the sentences are {row.first} to {last}; {expected}")
        spans = ((events[row.first].start_s, events[last].end_s),)
    check_spans(spans, f"{location}: spans")
    return spans


def _moments(rows: Sequence[Mapping[str, Any]], path: Path) -> tuple[SetVideo, ...]:
    """The videos of all queries but those whose curve is constant."""
    videos = []
    for number, values in enumerate(rows):
        location = f"{path}, row {number + 1}"
        row = read_record(_MomentRow, values, location)
        curve = row.curve if row.curve is not None else row.model
        if curve is None and (row.file is None or not row.query.strip()):
            raise InputError(f"{location} has no curve; expected one, or a file and a query")
        if curve is not None and len(set(curve)) < 2:
            continue
        name = row.id or row.qid or str(number)
        check_spans(row.windows, f"{location}: windows")
        times_s, duration_s = _curve_times(row, curve, location)
        videos.append(
            SetVideo(
                id=row.video or name,
                number=number,
                questions=(SetQuestion(name, Question(row.query if row.query.strip() else name, ()), row.windows),),
                duration_s=duration_s,
                times_s=times_s,
                file=_beside(path, row.file),
                curve=curve,
            )
        )
    return tuple(videos)


def _curve_times(
    row: _MomentRow, curve: Sequence[float] | None, location: str
) -> tuple[tuple[float, ...] | None, float | None]:
    """The times of a curve's values, by default the middles of equal parts, and the duration."""
    times_s, duration_s = row.times_s, row.duration_s
    if times_s is not None and curve is not None and len(times_s) != len(curve):
        raise InputError(f"{location} has {len(times_s)} times for {len(curve)} values; expected one each")
    if times_s is not None or curve is None:
        return times_s, max(times_s, default=0.0) if times_s is not None and duration_s is None else duration_s
    duration_s = CURVE_STEP_S * len(curve) if duration_s is None else duration_s
    step = duration_s / len(curve)
    return tuple(step * (k + 0.5) for k in range(len(curve))), duration_s


def _beside(path: Path, name: str | None) -> Path | None:
    """A path of the file, relative to it."""
    return None if name is None else path.parent / name
