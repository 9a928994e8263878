"""One video of a run: its index, its text, the frames each method chooses for its questions, and what that cost."""

import logging
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from framesift.bench.items import Item
from framesift.bench.plan import BenchmarkPlan, Variant
from framesift.encoders.base import encode_long_texts, get_encoder
from framesift.errors import FramesiftError
from framesift.pipeline import select_many
from framesift.rendering.exhibit import Exhibit, events_for
from framesift.selection.registry import get_selector
from framesift.store.indexing import build_seconds, index
from framesift.store.text_vectors import kept_vectors
from framesift.types import Event, Selection, VideoIndex
from framesift.video.frames import frame_numbers, probe

if TYPE_CHECKING:
    from framesift.encoders.base import Encoder
    from framesift.types.vectors import Array

Wanted = Mapping[tuple[str, int], tuple[Variant, Sequence[Item]]]  # by variant's text and budget

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Chosen:
    """The frames for one question, or in `error` one sentence on why there are none. seconds: by STAGES."""

    item: Item
    variant: Variant
    budget: int
    selection: Selection | None = None
    exhibit: Exhibit | None = None
    seconds: Mapping[str, float] | None = None
    error: str = ""


@dataclass(frozen=True)
class Words:
    """The text of a video and of the questions on it, with their vectors, and the seconds these cost one question."""

    events: Sequence[Event]
    features: "Array | None"
    queries: "Mapping[str, Array]"
    text_s: float
    score_s: float


class VideoBench:
    """Chooses frames for the questions on one video. asked: how many questions share the cost of its index."""

    def __init__(
        self,
        plan: BenchmarkPlan,
        video: Path,
        *,
        asked: int,
        store: str | os.PathLike[str] | None,
        device: str,
        progress: Callable[[int, int], None],
    ) -> None:
        self.plan, self.video, self.asked, self.store, self.device = plan, video, asked, store, device
        self.progress = progress

    def choose(self, wanted: Wanted) -> Iterator[Chosen]:
        """For each variant and budget, its questions' frames; whatever goes wrong becomes the error of those it hit."""
        try:
            self._prepare()
        except Exception as error:  # whatever a damaged file does to a library below, the other videos have their turn
            yield from (
                Chosen(item, v, b, error=sentence(error)) for (_, b), (v, items) in wanted.items() for item in items
            )
            return
        by_text: dict[object, list[Item]] = {}
        for item in {item.id: item for _, items in wanted.values() for item in items}.values():
            by_text.setdefault((item.subtitles, item.subtitles_offset_s), []).append(item)
        for items in by_text.values():
            yield from self._choose_with_text(wanted, items)

    def _prepare(self) -> None:
        plan, built = self.plan, False

        def watch(_stage: str, done: float, expected: float) -> None:
            nonlocal built
            built = True
            self.progress(round(done), round(expected))

        started = time.perf_counter()
        self.index: VideoIndex = index(
            self.video, plan.encoder, plan.fps, plan.mode, progress=watch, store=self.store, device=self.device
        )
        took: float | None = time.perf_counter() - started
        if not built:
            took = build_seconds(self.video, plan.encoder, plan.fps, plan.mode, store=self.store)
        self.decode_s = None if took is None else took / self.asked
        self.info = probe(self.video)
        numbers = frame_numbers(self.video, self.index.times_s.tolist())
        self.numbers = dict(zip(self.index.times_s.tolist(), numbers, strict=True))
        named = plan.encoder
        self.encoder: Encoder = get_encoder(self.index.encoder, device=self.device) if isinstance(named, str) else named

    def _choose_with_text(self, wanted: Wanted, items: Sequence[Item]) -> Iterator[Chosen]:
        """Questions that share their timestamped text."""
        ids = {item.id for item in items}
        mine = {key: (v, [item for item in some if item.id in ids]) for key, (v, some) in wanted.items()}
        try:
            words = self._words(items)
        except Exception as error:  # as above
            why = sentence(error)
            yield from (Chosen(item, v, b, error=why) for (_, b), (v, some) in mine.items() for item in some)
            return
        for (_, budget), (variant, some) in mine.items():
            if some:
                yield from self._choose_by(variant, budget, some, words)

    def _words(self, items: Sequence[Item]) -> Words:
        started = time.perf_counter()
        events = self._events(items[0])
        features = kept_vectors(self.encoder, [e.text for e in events], self.store) if events else None
        middle = time.perf_counter()
        rows = encode_long_texts(self.encoder, [item.question.query_text for item in items])
        queries = {item.id: row for item, row in zip(items, rows, strict=True)}
        score_s = (time.perf_counter() - middle) / len(items)
        return Words(events, features, queries, (middle - started) / self.asked, score_s)

    def _events(self, item: Item) -> list[Event]:
        if self.plan.events == "none":
            return []
        if self.plan.events == "speech":
            from framesift.store.events import find_events

            return find_events(self.video, subtitles="none", recognise_speech=True, store=self.store)
        return item.events(self.index.info.duration_s)

    def _choose_by(self, variant: Variant, budget: int, items: Sequence[Item], words: Words) -> Iterator[Chosen]:
        options = dict(variant.options)
        if "seed" in get_selector(variant.method).options:
            options.setdefault("seed", self.plan.seed)
        started = time.perf_counter()
        try:
            selections = select_many(
                self.index,
                [item.question for item in items],
                queries=np.stack([words.queries[item.id] for item in items]),
                events=words.events,
                event_features=words.features,
                budget=budget,
                method=variant.method,
                encoder=self.encoder,
                store=self.store,
                **options,
            )
        except Exception as error:  # as above
            if len(items) > 1:  # one question must not cost the others theirs
                for item in items:
                    yield from self._choose_by(variant, budget, [item], words)
                return
            yield Chosen(items[0], variant, budget, error=sentence(error))
            return
        select_s = (time.perf_counter() - started) / len(items)
        for item, selection in zip(items, selections, strict=True):
            seconds = {"score": words.score_s, "select": select_s}
            if not selection.trace.get("looked_at", 1):  # it needs no index
                seconds |= {"decode": 0.0, "features": 0.0}
            elif self.decode_s is not None:
                seconds |= {"decode": self.decode_s, "features": words.text_s}
            yield Chosen(item, variant, budget, selection, self._exhibit(selection, words.events), seconds)

    def _exhibit(self, selection: Selection, events: Sequence[Event]) -> Exhibit:
        shown = events_for(selection, events)
        numbers = tuple(self.numbers[time_s] for time_s in selection.times_s)
        return Exhibit(self.video, self.info, shown, numbers, seed=self.plan.seed)


def sentence(error: BaseException) -> str:
    """An error in one line; what is none of ours with its kind before it."""
    text = " ".join(str(error).split())
    if isinstance(error, FramesiftError):
        return text
    log.debug("an error that is none of ours", exc_info=error)
    return f"{type(error).__name__}: {text}"[:500]
