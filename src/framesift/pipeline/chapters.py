"""Chapters of a video: those of its file, else from changes of the picture and pauses; and questions to try."""

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from framesift._utils.files import StrPath
from framesift._utils.text import readable, shortened
from framesift.pipeline.data import VideoData
from framesift.pipeline.inputs import Encoders, levels_of
from framesift.selection.lexical import UNSPACED, WORD, content_terms
from framesift.store.store import cached_text_vectors
from framesift.types import Event
from framesift.types.vectors import Array
from framesift.video.container import open_container

MAX_CHAPTERS, MAX_FILE_CHAPTERS = 12, 200
USUAL_S, MIN_CHAPTER_S = 30.0, 2.0  # of a chapter in a short video
SIDE = 3  # frames on each side of a change
PAUSE_S = 3.0  # longer ones count no more
PAUSE_WEIGHT = 0.5  # of the longest pause, beside 1 for the largest change
TITLE_LENGTH = 60
MAX_QUESTIONS = 2  # about words, and as many about pictures
MIN_LETTERS = 4
# Frequent in speech, whatever it is about.
_FILLERS = (
    "actually again already always another around away back because before being better come coming could couldn didn "
    "does doesn doing done down each else even ever every everyone everything from gets give goes going gone gonna "
    "good great guys hasn have haven hello here into just keep kind know last left less like little long look looking "
    "lots made make making many maybe mean more most much must need never next nice nothing okay only other over part "
    "people please pretty probably put quite really right said same says should show some someone something sorry "
    "start still stop such sure take talk tell thank thanks thing things think this those though three through time "
    "today together told took trying under until very wait want wanted wants wasn well went weren while without work "
    "would wouldn yeah year years your yours"
)
# Subjects that differ from those of the unrelated questions, and that encoders tell apart.
_SUBJECTS = (
    "a bird;a horse;a fish;an animal;a car;a bicycle;a train;an aeroplane;a rocket;a road;a bridge;a building;a street;"
    "a kitchen;a cup of coffee;food;fruit;flowers;trees;the sea;a beach;a mountain;snow;fire;smoke;rain;the sky;a map;"
    "a chart;a diagram;a screen;a phone;a laptop computer;a book;a sign;a guitar;a piano;a ball;a gun;a robot;"
    "a machine;a tool;a crowd;a face;a hand;a uniform;a stage;a sports field;a clock;a bag;a bottle;a child"
)
PICTURE_QUESTIONS = tuple(f"Do we see {subject}?" for subject in _SUBJECTS.split(";"))
FILLERS = frozenset(term for word in _FILLERS.split() for term in content_terms(word))


@dataclass(frozen=True)
class Chapter:
    """A part of a video. title: of the file's chapter, else the first words said in it. frame_s: its most typical."""

    start_s: float
    end_s: float
    title: str
    frame_s: float


def find_chapters(video: VideoData) -> list[Chapter]:
    """The chapters of the video's file, else at most 12 from one large change of the picture or pause to another."""
    duration_s = video.index.info.duration_s
    marks = _file_chapters(video.path) or [(start_s, "") for start_s in (0.0, *_changes(video))]
    marks = [mark for mark in marks if mark[0] < duration_s]
    ends_s = [*(start_s for start_s, _ in marks[1:]), duration_s]
    chapters = []
    for (start_s, title), end_s in zip(marks, ends_s, strict=True):
        said = (event.text for event in video.events if start_s <= event.start_s < end_s)
        title = shortened(readable(title or next(said, "")), TITLE_LENGTH)
        chapters.append(Chapter(start_s, end_s, title, _typical_frame(video, start_s, end_s)))
    return chapters


def _file_chapters(path: StrPath) -> list[tuple[float, str]]:
    """When each chapter of a file starts, and its title, in order of time; none if there are fewer than two."""
    with open_container(path) as container:
        zero_s = (container.start_time or 0) / 1_000_000
        rows = [
            (max(0.0, float(row["start"] * row["time_base"]) - zero_s), row["metadata"].get("title", ""))
            for row in container.chapters()[:MAX_FILE_CHAPTERS]
            if row["time_base"]
        ]
    found = {start_s: title.encode(errors="replace").decode() for start_s, title in sorted(rows)}
    return list(found.items()) if len(found) > 1 else []


def _changes(video: VideoData) -> list[float]:
    """When the picture changes most or the text pauses, in order of time, none near another or an end.

    The change between two frames is the mean distance of the three before from the three after.
    """
    times_s, duration_s = video.index.times_s, video.index.info.duration_s
    shown = np.flatnonzero(~video.index.is_blank)
    if len(shown) < 2 * SIDE:
        return []
    rows = video.index.vectors.float32(shown)
    gaps = np.arange(SIDE, len(rows) - SIDE + 1)  # before which row
    near = [np.einsum("nd,nd->n", rows[:-lag], rows[lag:]) for lag in range(1, 2 * SIDE)]
    pairs = [near[i + j][gaps - i - 1] for i in range(SIDE) for j in range(SIDE)]
    change = 1.0 - np.mean(pairs, axis=0)
    score = np.round(change / max(float(change.max()), 1e-3), 3)  # rounding differs between machines
    starts_s = times_s[shown[gaps]]
    if video.events:
        score = score + PAUSE_WEIGHT * _pauses(video.events, starts_s) / PAUSE_S
    count = int(np.clip(duration_s / USUAL_S, 3, MAX_CHAPTERS))
    apart_s = max(MIN_CHAPTER_S, duration_s / (3 * count))
    level, found = score.mean() + score.std(), [0.0, duration_s]
    for k in np.argsort(-score, kind="stable"):
        if len(found) > count or score[k] <= level:
            break
        if all(abs(starts_s[k] - other_s) >= apart_s for other_s in found):
            found.append(float(starts_s[k]))
    return sorted(found)[1:-1]


def _pauses(events: Sequence[Event], times_s: Array) -> Array:
    """(T,) how long nothing is said around each time, at most 3 s; 0 inside an event."""
    ordered = sorted(events, key=lambda event: event.start_s)
    starts_s = np.array([event.start_s for event in ordered])
    ends_s = np.maximum.accumulate([event.end_s for event in ordered])
    k = np.searchsorted(starts_s, times_s, side="right")
    before_s = np.where(k > 0, times_s - ends_s[np.maximum(k - 1, 0)], PAUSE_S)
    after_s = np.where(k < len(starts_s), starts_s[np.minimum(k, len(starts_s) - 1)] - times_s, PAUSE_S)
    return np.where(before_s < 0, 0.0, np.clip(before_s + after_s, 0.0, PAUSE_S))


def _typical_frame(video: VideoData, start_s: float, end_s: float) -> float:
    """The time of the frame most like the others of a part, the first of equals; the part's start without any."""
    times_s = video.index.times_s
    inside = np.flatnonzero((times_s >= start_s) & (times_s < end_s))
    inside = inside[~video.index.is_blank[inside]] if not video.index.is_blank[inside].all() else inside
    if not len(inside):
        return start_s
    rows = video.index.vectors.float32(inside)
    return float(times_s[inside[int(np.round(rows @ rows.mean(axis=0), 3).argmax())]])


def suggested_questions(video: VideoData) -> list[str]:
    """At most two questions about words of the text, and two about subjects that some frames match above chance."""
    asked, index = text_questions(video.events), video.index
    if not len(index):
        return asked
    encoders = Encoders(index, video.config)
    queries = cached_text_vectors(encoders.frames, PICTURE_QUESTIONS, encoders.store)
    scores = np.where(index.is_blank[:, None], -1.0, np.round(index.vectors.products(queries), 3))
    best, at_s = scores.max(axis=0), index.times_s[scores.argmax(axis=0)]
    found: list[int] = []
    for k in np.argsort(-best, kind="stable"):
        if len(found) == MAX_QUESTIONS or best[k] <= levels_of(video, encoders).high:
            break
        if all(abs(at_s[k] - at_s[other]) >= MIN_CHAPTER_S for other in found):
            found.append(int(k))
    return [*asked, *(PICTURE_QUESTIONS[k] for k in found)]


def text_questions(events: Sequence[Event]) -> list[str]:
    """At most two questions about the words that most events contain, at least two each; names count twice."""
    words, names = Counter[str](), Counter[str]()  # events, by term
    forms: dict[str, Counter[str]] = defaultdict(Counter)
    for event in events:
        found, named = set(), set()
        for match in WORD.finditer(event.text):
            word, term = match[0], "".join(content_terms(match[0]))
            if len(word) < MIN_LETTERS or not word.isalpha() or UNSPACED.search(word) or term in FILLERS | {""}:
                continue
            forms[term][word] += 1
            found.add(term)
            before = event.text[: match.start()].rstrip()[-1:]
            if word[0].isupper() and not word.isupper() and (before.isalpha() or before == ","):
                named.add(term)
        words.update(sorted(found))
        names.update(sorted(named))
    best = [term for term, _ in (words + names).most_common() if words[term] > 1][:MAX_QUESTIONS]
    asked = [(forms[term].most_common(1)[0][0], term in names) for term in best]
    return [f"What is said about “{word}”?" if is_name else f"When is “{word}” mentioned?" for word, is_name in asked]
