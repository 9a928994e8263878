"""The pipeline: a video and a question become frames, an exhibit and an answer.

    video ─► index ─┐
    text  ─► events ┴► selection ─► exhibit ─► answer

`Pipeline` has one method per step, in that order. The command line, the server, the benchmarks, the batch workers and
the lmms-eval plug-in call these and hold no copy of them.
"""

import os
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any, cast

from framesift.encoders.base import encode_long_texts
from framesift.encoders.registry import check_device, get_encoder
from framesift.errors import FramesiftError, InputError, OptionError
from framesift.indexing.index import build_index
from framesift.pipeline.config import PipelineConfig
from framesift.pipeline.inputs import Encoders, make_lookups, resolve_options, with_chance
from framesift.pipeline.prepared import PreparedVideo, join_videos
from framesift.progress import as_progress
from framesift.readers.base import Reader, check_reader, get_reader, map_in_order, stream_answer
from framesift.rendering.exhibit import Exhibit, events_for, make_exhibit
from framesift.rendering.rendered_selection import ShownVideo
from framesift.selection.batch_select import select_from_vectors
from framesift.store.store import IndexKey, Store, cached_text_vectors
from framesift.text.finding import FoundEvents, search_events
from framesift.types import Answer, Event, Question, Selection, VideoIndex, Window
from framesift.types.question import as_questions
from framesift.types.vectors import Array
from framesift.types.video import check_events
from framesift.video.frames import probe

__all__ = ["Pipeline", "PipelineConfig", "PreparedVideo", "select", "select_many"]


class Pipeline:
    """From a video and questions to frames, exhibits and answers, by one configuration."""

    def __init__(self, config: PipelineConfig | None = None) -> None:
        self.config = config or PipelineConfig()
        if isinstance(self.config.index.encoder, str):
            check_device(self.config.index.encoder, self.config.index.device)

    @cached_property
    def index_key(self) -> IndexKey:
        """The key of any video's index but for its fingerprint; identifying an encoder reads its weights once."""
        return self.config.index.key("")

    def prepare(
        self,
        video: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
        *,
        events: Sequence[Event] | FoundEvents | None = None,
        source: str | None = None,
        stored_only: bool = False,
        progress: Callable[..., Any] | None = None,
    ) -> PreparedVideo:
        """Decode, encode and read a video once; the next call reads the result from the store.

        video: a file, or several that questions are asked about together: one budget for all of them, see `prepared`.
        events: the video's text, if you have it; else it is searched for as configured. source: the URL of which
        `video` is a copy. stored_only: decode and recognise nothing; what is not in the store raises NotStored.
        progress: called with stage, done and total.
        """
        if not isinstance(video, str | os.PathLike):
            if len(video) != 1:
                self._check_several(video, events, source)
                return join_videos([self.prepare(one, stored_only=stored_only, progress=progress) for one in video])
            video = video[0]
        seconds = {"events": 0.0}

        def find() -> FoundEvents:
            started = time.perf_counter()
            found = self.find_events(video, stored_only=stored_only, progress=progress)
            seconds["events"] = time.perf_counter() - started
            return found

        settings = self.config.text
        if events is None and (settings.language is not None or settings.file is not None):
            events = find()  # text that was asked for and is not there is an error, which comes before the long work
        index = self.index(video, source=source, stored_only=stored_only, progress=progress)
        text = find() if events is None else events
        if not isinstance(text, FoundEvents):
            check_events(text)
            text = FoundEvents(tuple(text), (), (), index.info.duration_s)
        started = time.perf_counter()
        vectors = self.encode_events(index, text.events, progress=progress)
        seconds["event_vectors"] = time.perf_counter() - started
        if index.build_seconds is not None:
            seconds["index"] = index.build_seconds
        return PreparedVideo(Path(video), index, text, vectors, seconds)

    def _check_several(self, videos: Sequence[str | os.PathLike[str]], *own: object) -> None:
        """Reject what is meant for one video before the long work."""
        count = len(videos)
        if not count:
            raise InputError("there is no video; expected at least one")
        if any(value is not None for value in (*own, self.config.text.file)):
            raise OptionError(f"text of one video was given for {count} videos; expected subtitles auto or none")
        _check_window(self.config.selection.window, count)
        resolved = [os.path.realpath(video) for video in videos]
        repeated = next((one for one, path in zip(videos, resolved, strict=True) if resolved.count(path) > 1), None)
        if repeated is not None:
            raise InputError(f"{os.fspath(repeated)} is given more than once; expected different videos")
        for video in videos:
            probe(video)

    def index(
        self,
        video: str | os.PathLike[str],
        *,
        source: str | None = None,
        stored_only: bool = False,
        progress: Callable[..., Any] | None = None,
    ) -> VideoIndex:
        """The video's candidates as vectors, from the store or, unless `stored_only`, decoded and encoded now."""
        settings = self.config.index
        return build_index(video, settings, source=source, stored_only=stored_only, progress=progress)

    def find_events(
        self,
        video: str | os.PathLike[str],
        *,
        stored_only: bool = False,
        progress: Callable[..., Any] | None = None,
    ) -> FoundEvents:
        """The video's timestamped text, and where it came from; with `stored_only`, nothing is recognised."""
        store = Store(self.config.index.store, stored_only=stored_only)
        return search_events(video, self.config.text, store, progress=progress)

    def encode_events(
        self, index: VideoIndex, events: Sequence[Event], *, progress: Callable[..., Any] | None = None
    ) -> Array | None:
        """The events' text vectors, computed once per text; None where the index's encoder does not compare them."""
        if not events:
            return None
        texts, model = [event.text for event in events], Encoders(index, self.config).text
        vectors = cached_text_vectors(model, texts, self.config.index.store, progress=as_progress(progress))
        return vectors if self.config.selection.event_encoder is None else None

    def encode_questions(self, index: VideoIndex, questions: Sequence[Question]) -> Array:
        """(Q, D) the questions' text vectors by the index's encoder, for `select(queries=…)`."""
        return encode_long_texts(Encoders(index, self.config).frames, [question.query_text for question in questions])

    def select(
        self,
        video: PreparedVideo,
        question: Question | str,
        *,
        queries: Array | None = None,
        progress: Callable[..., Any] | None = None,
    ) -> Selection:
        """The frames for a question. queries (1, D): its text vector, if you have it. progress: as in `select_many`."""
        return self.select_many(video, [question], queries=queries, progress=progress)[0]

    def select_many(
        self,
        video: PreparedVideo,
        questions: Sequence[Question | str],
        *,
        queries: Array | None = None,
        windows: Sequence[Window | None] | None = None,
        progress: Callable[..., Any] | None = None,
    ) -> list[Selection]:
        """The frames for each of several questions. queries (Q, D): their text vectors, if you have them.

        windows: the part of the video that each question is about, None for the configured one (from_s, to_s).
        progress: called with stage, done and total, for methods that ask a model.
        """
        windows = [window or self.config.selection.window for window in windows or [None] * len(questions)]
        for window in windows:
            _check_window(window, len(video.videos))
        selections = self._select(video, questions, queries, windows, progress)
        of_index = len(video.index.warnings)
        with_text = []
        for s in selections:
            events = video.events if s.basis is None or s.basis.window is None else s.basis.events
            with_text.append(replace(events_for(s, events), warnings=(*video.warnings, *s.warnings[of_index:])))
        return with_text

    def _select(
        self,
        video: PreparedVideo,
        questions: Sequence[Question | str],
        queries: Array | None,
        windows: Sequence[Window | None] | None,
        progress: Callable[..., Any] | None,
    ) -> list[Selection]:
        asked = as_questions(questions)
        if not asked:
            return []
        settings, encoders = self.config.selection, Encoders(video.index, self.config)
        texts, event_scores, event_features = [question.query_text for question in asked], None, video.event_vectors
        if video.events and settings.event_encoder is not None:
            event_scores = encoders.score_events(texts, video.events)
        elif video.events and event_features is None:
            event_features = self.encode_events(video.index, video.events)
        return select_from_vectors(
            video.index,
            asked,
            queries=encode_long_texts(encoders.frames, texts) if queries is None else queries,
            events=video.events,
            event_features=event_features,
            event_scores=event_scores,
            budget=settings.budget,
            method=settings.method,
            visual_demand=settings.visual_demand,
            lookups=make_lookups(video, asked, encoders),
            blank_frames=settings.blank_frames,
            windows=windows,
            **resolve_options(video.index, encoders, questions=len(asked), progress=as_progress(progress)),
        )

    def compare_with_chance(self, video: PreparedVideo, selection: Selection, *, is_partial: bool = False) -> Selection:
        """The selection with `basis.chance`: whether its question scores more in this video than unrelated ones do.

        What those score is stored, unless the video `is_partial`: not indexed to its end yet.
        """
        return with_chance(video, selection, Encoders(video.index, self.config), is_partial=is_partial)

    def exhibit(self, video: PreparedVideo, selection: Selection) -> Exhibit:
        """The selection's real frames, with the events' text rendered on them."""
        config = self.config
        several = zip(video.videos, video.index.videos, strict=True)
        return make_exhibit(
            selection,
            [ShownVideo(span.name, one.path, one.info, span.start_s) for one, span in several]
            or [ShownVideo(video.path.name, video.path, video.info)],
            overlay=config.reading.overlay,
            seed=config.selection.seed,
            size=config.reading.size,
        )

    def answer(
        self, exhibit: Exhibit, question: Question | str | None = None, *, stream: bool = True
    ) -> Iterator[str | Answer]:
        """The reader's reply in pieces as they arrive, then the Answer; with `stream=False` only the Answer."""
        reader, text_mode = self._reader(), self.config.reading.text_mode
        return stream_answer(exhibit, question, reader=reader, text_mode=text_mode, stream=stream)

    def answer_many(
        self, exhibits: Iterable[tuple[Exhibit, Question | str | None]], *, keep_failures: bool = False
    ) -> Iterator[Answer]:
        """Yield the answers in order, several questions in flight at a time; `exhibits` is read only slightly ahead.

        keep_failures: a question that fails gets an answer with `parsed` False and the reason in `note`.
        """
        width = self.config.reading.concurrency
        if width is None:
            width = getattr(self._reader(), "concurrency", 1)

        def answer_one(asked: tuple[Exhibit, Question | str | None]) -> Answer:
            try:
                *_, answer = self.answer(*asked, stream=False)
            except FramesiftError as error:
                if not keep_failures:
                    raise
                return Answer("", parsed=False, text_mode=self.config.reading.text_mode, note=str(error))
            return cast(Answer, answer)

        return map_in_order(answer_one, exhibits, width)

    def ask(self, video: PreparedVideo, question: Question | str) -> Answer:
        """Select, exhibit and read: the reader's answer to a question."""
        return self.ask_many(video, [question])[0]

    def ask_many(self, video: PreparedVideo, questions: Sequence[Question | str]) -> list[Answer]:
        """The reader's answer to each of several questions, as many in flight at a time as `concurrency`."""
        check_reader(self._reader())
        exhibits = (self.exhibit(video, selection) for selection in self.select_many(video, questions))
        return list(self.answer_many(zip(exhibits, questions, strict=True)))

    def _reader(self) -> Reader:
        settings = self.config.reading
        if settings.reader is None:
            raise OptionError("no reader is configured; expected reader='http://HOST:PORT/v1', 'local:MODEL', …")
        return get_reader(settings.reader, **settings.reader_options)


def _check_window(window: Window | None, videos: int) -> None:
    if window is not None and videos > 1:
        raise OptionError(f"a window of time was given for {videos} videos; expected one video")


def select(
    index: VideoIndex,
    question: Question | str,
    *,
    events: Sequence[Event] = (),
    window: Window | None = None,
    **settings: Any,
) -> Selection:
    """Choose the frames of a video that help to answer a question.

    events: timestamped text of the video. window: the part of the video to consider. settings: those of
    `SelectionSettings`, the options of the method, `encoder` and `store`:

    budget: how many frames. method: a name of `selectors()`, or a function `(evidence, budget, *, option=default, …) →
    Selection`. visual_demand: "rules", a number from 0 (text) to 1 (frames), or a function of the question. encoder: of
    the text; by default the one named in the index, and it must be the one that made it. event_encoder: "minilm"
    compares events with the question by a sentence encoder, which is better at text than SigLIP's; by default the
    paper's way, the encoder itself. namer: of the objects that some selectors search for; by default noun phrases by
    rule, or the address of an OpenAI-type server. A detector or network among the options may be a name or a path, a
    model the address of a server. store: the folder into which the events' vectors and a model's replies are written,
    so that they are computed once; by default FRAMESIFT_STORE or the user's cache folder. blank_frames: "skip" leaves
    out the candidates that show nothing (black, white, a fade), "keep" does not.
    """
    return select_many(index, [question], events=events, windows=[window], **settings)[0]


def select_many(
    index: VideoIndex,
    questions: Sequence[Question | str],
    *,
    queries: Array | None = None,
    events: Sequence[Event] = (),
    event_features: Array | None = None,
    windows: Sequence[Window | None] | None = None,
    progress: Callable[..., Any] | None = None,
    **settings: Any,
) -> list[Selection]:
    """Select for each of many questions on one video, with one product for all relevances.

    queries (Q, D) and event_features (E, D): text vectors, if you have them; else the index's own encoder makes them.
    windows: the part of the video that each question is about, None for all of it. progress: called with stage, done
    and total, for methods that ask a model. settings: as in `select`.
    """
    check_events(events)
    given = {name: settings.pop(name) for name in _SELECT_SETTINGS if name in settings}
    if isinstance(given.get("encoder"), str):
        given["encoder"] = get_encoder(given["encoder"])
    text = FoundEvents(tuple(events), (), (), index.info.duration_s)
    video = PreparedVideo(Path(index.info.path), index, text, event_features)
    return Pipeline(PipelineConfig(**given, options=settings))._select(video, questions, queries, windows, progress)


_SELECT_SETTINGS = (
    *("encoder", "store", "method", "budget", "visual_demand", "event_encoder", "blank_frames", "namer"),
)
