"""Evidence sets: questions with the time spans that answer them, for selectors without videos or readers.

A transcript set is a JSON object: timed sentences by video, and questions with the sentences or spans that answer them.

    {"videos": {"a": [{"start_s": 0, "end_s": 4.5, "text": "…"}, …]},
     "questions": [{"video": "a", "question": "…", "first": 3, "last": 5}]}

A moment set is JSON Lines: a relevance curve, or vectors, of one video, a query, and the windows that show it.

    {"id": "7", "query": "…", "curve": [0.1, 0.4, …], "windows": [[12, 20]]}

docs/evidence-sets.md describes every field.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from framesift._utils.json import load_json
from framesift._utils.records import FilePath, Label, Name, Seconds, read_record, read_value
from framesift._utils.text import readable
from framesift.bench.datasets.annotations import content_hash, read_bytes, read_rows
from framesift.errors import InputError
from framesift.types import Event, Question

SENTENCE_S = 5.0  # of a sentence without times
PAUSE_S = 0.5  # between two of these
CURVE_STEP_S = 2.0  # between two values of a curve without times, as in QVHighlights
MAX_DURATION_S = 1e6  # a candidate per second is held in memory

AnswerSpan = tuple[float, float]
SetKind = Literal["transcripts", "moments"]


@dataclass(frozen=True)
class SetQuestion:
    """A question and the spans in seconds, ends included, that answer it."""

    id: str
    question: Question
    spans: tuple[AnswerSpan, ...]


@dataclass(frozen=True)
class SetVideo:
    """A video of a set and its questions.

    number: which part of a substitute video stands for it. duration_s: None for that of `file`. times_s: of its
    candidates; None for one per second. file: a video with its frames; vectors: a .npy file (N, D) in its place. curve:
    the relevance of each candidate.
    """

    id: str
    number: int
    questions: tuple[SetQuestion, ...]
    duration_s: float | None
    events: tuple[Event, ...] = ()
    times_s: tuple[float, ...] | None = None
    file: Path | None = None
    vectors: Path | None = None
    curve: tuple[float, ...] | None = None


@dataclass(frozen=True)
class EvidenceSet:
    """The videos and questions of a set. annotation: a hash of its file. notes: what was left out, in sentences."""

    name: str
    kind: SetKind
    videos: tuple[SetVideo, ...]
    annotation: str
    notes: tuple[str, ...] = ()

    @property
    def questions(self) -> int:
        return sum(len(video.questions) for video in self.videos)


@dataclass(frozen=True)
class _Sentence:
    start_s: Seconds
    end_s: Seconds
    text: str


@dataclass(frozen=True)
class _TranscriptVideo:
    sentences: tuple[str | _Sentence, ...]
    duration_s: Seconds | None = None
    times_s: tuple[Seconds, ...] | None = None
    file: FilePath | None = None
    vectors: FilePath | None = None


@dataclass(frozen=True)
class _TranscriptQuestion:
    video: Name
    question: str
    options: tuple[Label, ...] = ()
    first: int | None = None
    last: int | None = None
    spans: tuple[tuple[Seconds, Seconds], ...] | None = None
    id: Name | None = None


@dataclass(frozen=True)
class _MomentRow:
    windows: tuple[tuple[Seconds, Seconds], ...]
    query: str = ""
    curve: tuple[float, ...] | None = None
    model: tuple[float, ...] | None = None  # another name of `curve`
    id: Name | None = None
    qid: Name | None = None  # another name of `id`
    video: Name | None = None
    duration_s: Seconds | None = None
    times_s: tuple[Seconds, ...] | None = None
    file: FilePath | None = None
    vectors: FilePath | None = None


def read_evidence_set(path: Path, *, limit: int | None = None) -> EvidenceSet:
    """Read a transcript set or a moment set. limit: its first questions only."""
    if limit is not None and limit < 1:
        raise InputError(f"limit is {limit}; expected a whole number of at least 1")
    if path.suffix.lower() == ".json":
        data = read_bytes(path)
        value = load_json(data, str(path), "a transcript set or a moment set")
        if isinstance(value, Mapping) and "videos" in value:
            return _read_transcripts(value, path, content_hash(data), limit)
        if not isinstance(value, list):
            raise InputError(f"{path} has no 'videos'; expected a transcript set, or a list of moments")
    rows, annotation = read_rows(path)
    return _read_moments(rows, path, annotation, limit)


def _read_transcripts(value: Mapping[str, Any], path: Path, annotation: str, limit: int | None) -> EvidenceSet:
    kind = dict[str, tuple[str | _Sentence, ...] | _TranscriptVideo]
    published: dict[str, Any] = read_value(kind, value["videos"], f"{path}: videos")
    rows = read_value(tuple[_TranscriptQuestion, ...], value.get("questions"), f"{path}: questions")[:limit]
    asked: dict[str, list[SetQuestion]] = {}
    timed: dict[str, tuple[list[Event], float | None]] = {}
    for k, row in enumerate(rows):
        location = f"{path}, question {k + 1}"
        if row.video not in published:
            raise InputError(f"{location}: the video {row.video!r} is not among the videos of the set")
        if row.video not in timed:
            timed[row.video] = _timed(published[row.video], f"{path}: videos.{row.video}")
        spans = _answer_spans(row, timed[row.video][0], location)
        question = Question(row.question, row.options)
        asked.setdefault(row.video, []).append(SetQuestion(row.id or str(k), question, spans))
    videos = []
    for number, (name, questions) in enumerate(sorted(asked.items())):
        events, duration_s = timed[name]
        own = published[name]
        own = own if isinstance(own, _TranscriptVideo) else _TranscriptVideo(own)
        videos.append(
            SetVideo(
                id=name,
                number=number,
                questions=tuple(questions),
                duration_s=duration_s,
                events=tuple(event for event in events if event.text.strip()),
                times_s=own.times_s,
                file=_beside(path, own.file),
                vectors=_beside(path, own.vectors),
            )
        )
    return _checked_set(EvidenceSet(readable(path.stem), "transcripts", tuple(videos), annotation), path)


def _timed(video: Any, location: str) -> tuple[list[Event], float | None]:
    """The sentences of a video as events, and its duration if the file gives one."""
    own = video if isinstance(video, _TranscriptVideo) else _TranscriptVideo(video)
    if not own.sentences:
        raise InputError(f"{location} has no sentence; expected at least one")
    events = []
    for k, sentence in enumerate(own.sentences):
        if isinstance(sentence, str):
            events.append(Event(SENTENCE_S * k, SENTENCE_S * (k + 1) - PAUSE_S, sentence))
        else:
            events.append(Event(sentence.start_s, sentence.end_s, sentence.text))
    is_untimed = isinstance(own.sentences[-1], str)
    length = SENTENCE_S * len(events) if is_untimed else max(event.end_s for event in events)
    given = own.duration_s if own.duration_s is not None else None if own.file else length
    if given is not None and given <= 0:
        raise InputError(f"{location}: duration_s is {given}; expected more than 0")
    return events, given


def _answer_spans(row: _TranscriptQuestion, events: Sequence[Event], location: str) -> tuple[AnswerSpan, ...]:
    if row.spans is not None:
        return _checked_spans(row.spans, f"{location}: spans")
    if row.first is None:
        raise InputError(f"{location} has neither spans nor first; expected what answers it")
    last = row.first if row.last is None else row.last
    if not 0 <= row.first <= last < len(events):
        raise InputError(
            f"{location}: the sentences are {row.first} to {last}; expected numbers from 0 to {len(events) - 1}"
        )
    return _checked_spans(((events[row.first].start_s, events[last].end_s),), location)


def _read_moments(rows: Sequence[Mapping[str, Any]], path: Path, annotation: str, limit: int | None) -> EvidenceSet:
    videos = []
    constant = 0
    for number, values in enumerate(rows[:limit]):
        location = f"{path}, row {number + 1}"
        row = read_record(_MomentRow, values, location)
        curve = row.curve if row.curve is not None else row.model
        if curve is not None and len(set(curve)) < 2:
            constant += 1
            continue
        if curve is None and row.file is None and row.vectors is None:
            raise InputError(f"{location} has no curve, vectors or file; expected one of them")
        if curve is None and not row.query.strip():
            raise InputError(f"{location} has neither a curve nor a query; expected one of them")
        name = row.id or row.qid or str(number)
        spans = _checked_spans(row.windows, f"{location}: windows")
        question = SetQuestion(name, Question(row.query if row.query.strip() else name), spans)
        times, duration_s = _curve_times(row, curve, location)
        videos.append(
            SetVideo(
                id=row.video or name,
                number=number,
                questions=(question,),
                duration_s=duration_s,
                times_s=times,
                file=_beside(path, row.file),
                vectors=_beside(path, row.vectors),
                curve=curve,
            )
        )
    notes = (f"{constant} of {len(rows[:limit])} curves are constant and were left out",) if constant else ()
    return _checked_set(EvidenceSet(readable(path.stem), "moments", tuple(videos), annotation, notes), path)


def _curve_times(
    row: _MomentRow, curve: Sequence[float] | None, location: str
) -> tuple[tuple[float, ...] | None, float | None]:
    """The times of a curve's values, by default the middles of equal parts, and the duration."""
    if row.times_s is not None:
        if curve is not None and len(row.times_s) != len(curve):
            raise InputError(f"{location} has {len(row.times_s)} times for {len(curve)} values; expected one each")
        return row.times_s, row.duration_s if row.duration_s is not None else max(row.times_s, default=0.0)
    if curve is None:
        return None, row.duration_s
    duration_s = row.duration_s if row.duration_s is not None else CURVE_STEP_S * len(curve)
    step = duration_s / len(curve)
    return tuple(step * (k + 0.5) for k in range(len(curve))), duration_s


def _checked_spans(spans: Sequence[AnswerSpan], location: str) -> tuple[AnswerSpan, ...]:
    if not spans:
        raise InputError(f"{location} is empty; expected at least one (start, end) in seconds")
    for start, end in spans:
        if not 0 <= start <= end:
            raise InputError(f"{location} has {start:g} to {end:g} s; expected a start of at least 0 and a later end")
    return tuple(spans)


def _checked_set(data: EvidenceSet, path: Path) -> EvidenceSet:
    if not data.videos:
        raise InputError(f"{path} has no question; expected at least one")
    for video in data.videos:
        if video.duration_s is not None and video.duration_s > MAX_DURATION_S:
            raise InputError(
                f"{path}: {video.id} is {video.duration_s:g} s long; expected at most {MAX_DURATION_S:g} s"
            )
    ids = [question.id for video in data.videos for question in video.questions]
    repeated = next((name for name in ids if ids.count(name) > 1), None) if len(set(ids)) < len(ids) else None
    if repeated is not None:
        raise InputError(f"{path}: the id {repeated!r} occurs more than once; expected one question per id")
    return data


def _beside(path: Path, name: str | None) -> Path | None:
    """A path of the file, relative to it."""
    return None if name is None else path.parent / name
