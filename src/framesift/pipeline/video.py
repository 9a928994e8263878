"""A video and questions about it: it is opened once, then frames are selected, shown and given to a reader.

    video ─► index ─┐
    text  ─► events ┴► selection ─► exhibit ─► answer

`open` and the methods of `Video` are these steps, in that order. The command line, the server, the benchmarks, the
batch workers and the lmms-eval plug-in call these and hold no copy of them.
"""

import os
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, TypeGuard, cast, overload

from framesift._utils.files import StrPath
from framesift._utils.records import shown
from framesift._utils.templates import render_notebook
from framesift._utils.text import counted, duration_text, suggestion
from framesift.encoders.registry import check_device, get_encoder
from framesift.errors import FramesiftError, InputError, NotStored, OptionError
from framesift.indexing.index import build_index, index_frames
from framesift.pipeline.config import RECORDS, PipelineConfig, ReaderSettings
from framesift.pipeline.data import VideoData, join_videos
from framesift.pipeline.inputs import Encoders, make_lookups, resolve_options, with_chance
from framesift.progress import Progress, as_progress
from framesift.readers.base import Reader, check_reader, get_reader, map_in_order, stream_answer
from framesift.rendering.exhibit import Comparison, Exhibit, events_for, open_exhibit
from framesift.rendering.rendered_selection import ShownVideo
from framesift.selection.batch_select import select_from_vectors
from framesift.selection.registry import get_selector, method_for_demand
from framesift.store.store import Store
from framesift.text.finding import FoundEvents, search_events
from framesift.types import Answer, Event, Question, Selection, Slot, VideoIndex, Window
from framesift.types.question import as_questions
from framesift.types.vectors import Array
from framesift.types.video import check_events
from framesift.video.frames import probe
from framesift.video.given_frames import GivenFrames, are_frames

OVERVIEW = 8  # frames of a video in a notebook
INDEX_SUFFIX = ".safetensors"  # of a file that `VideoIndex.save` wrote


def open(
    video: Any,
    config: PipelineConfig | None = None,
    *,
    times_s: Sequence[float] | Array | None = None,
    events: Sequence[Event] | FoundEvents | None = None,
    source: str | None = None,
    stored_only: bool = False,
    progress: Progress | None = None,
    **settings: Any,
) -> "Video":
    """Index a video and read its text, once; the next call reads both from the store.

    Args:
        video: A file, or several that questions are asked about together: one budget for all of them. Or a saved
            index. Or frames from elsewhere: (N, H, W, 3) arrays, PIL images, or a decoder such as torchcodec's.
        config: Every setting, by default as `framesift settings` lists them.
        times_s: When frames from elsewhere are shown, in seconds; a decoder is otherwise asked once a second.
        events: The video's text, if you have it; else subtitles are searched for, and speech is recognised.
        source: The URL of which `video` is a copy.
        stored_only: Decode and recognise nothing.
        progress: Called with stage, done and total.
        **settings: Those of `PipelineConfig` in place of the config's, and options of the method.

    Returns:
        The video, ready for questions.

    Raises:
        InputError: The video can't be read.
        OptionError: A setting is unknown or out of range.
        NotStored: With `stored_only`, something is not in the store.

    Example:
        ```python
        video = fs.open("film.mp4")
        both = fs.open(["morning.mp4", "evening.mp4"], language="en", budget=16)
        made = fs.open(arrays, times_s=[0.0, 0.5, 1.0])
        ```
    """
    if isinstance(video, Video):
        return video.with_settings(**settings)
    config = _configured(config or PipelineConfig(), settings, RECORDS)
    if _is_index_file(video):
        video = VideoIndex.load(video)
    if isinstance(video, VideoIndex):
        return _on_index(video, config, () if events is None else events)
    if isinstance(config.index.encoder, str):
        check_device(config.index.encoder, config.index.device)
    if are_frames(video, times_s):
        frames = GivenFrames(video, times_s)
        index = index_frames(frames, config.index, progress=progress)
        return replace(_on_index(index, config, () if events is None else events), frames=frames)
    if not isinstance(video, str | os.PathLike):
        given, video = video, list(video) if isinstance(video, Iterable) else [video]
        if not all(isinstance(one, str | os.PathLike) for one in video):
            raise InputError(f"the video is {shown(given)}; expected the path of a file, or several")
        if len(video) != 1:
            _check_several(video, config, events, source)
            return join_videos([open(one, config, stored_only=stored_only, progress=progress) for one in video])
        video = video[0]
    seconds, report = {"events": 0.0}, as_progress(progress)

    def find() -> FoundEvents:
        started = time.perf_counter()
        quick = config.index.quick and not stored_only
        store = Store(config.index.store, stored_only=stored_only or quick)
        try:
            found = search_events(video, config.text, store, progress=progress)
        except NotStored:
            if not quick:
                raise
            found = search_events(video, replace(config.text, speech="none", screen_text=False), store)
        seconds["events"] = time.perf_counter() - started
        return found

    if events is None and (config.text.language is not None or config.text.file is not None):
        events = find()  # text that was asked for and is not there is an error, which comes before the long work
    index = build_index(video, config.index, source=source, stored_only=stored_only, progress=progress)
    text = _found_events(find() if events is None else events, index)
    started = time.perf_counter()
    vectors = Encoders(index, config).encode_events(text.events, progress=report)
    seconds["event_vectors"] = time.perf_counter() - started
    if index.build_seconds is not None:
        seconds["index"] = index.build_seconds
    return Video(Path(video), config, index, text, vectors, seconds)


@dataclass(frozen=True, eq=False, repr=False)
class Video(VideoData):
    """A video that is ready for questions, or several that are asked about together; `framesift.open` makes it.

    The settings of a call are those of selecting and reading. What a video was indexed and transcribed with can't
    change once it is open.

    Attributes:
        path: The file; of several the first.
        config: Every setting.
        index: The candidate frames as vectors.
        text: The timestamped text, where it came from, and what is odd about it.
        event_vectors: (E, D) the events' text vectors; None without events, or where another encoder compares them.
        seconds: Of each stage.
        videos: Where there are several, each of them.
        frames: Those of a video without a file.

    Example:
        ```python
        video = fs.open("film.mp4")
        found = video.select("Why was the launch put off?", budget=8)
        answer = video.ask("Why was the launch put off?", reader="http://localhost:8000/v1")
        ```
    """

    def with_settings(self, **settings: Any) -> "Video":
        """The same video with other settings of selecting and reading, or options of the method.

        Args:
            **settings: By name: `budget=8`, `method="gcr"`, `reader="http://localhost:8000/v1"`.

        Returns:
            The video; the index and the text are shared.

        Raises:
            OptionError: A setting is unknown, out of range, or can't change once the video is open.
        """
        config = _configured(self.config, settings, ("selection", "reading"))
        return replace(self, config=config) if settings else self

    def select(
        self,
        question: Question | str,
        *,
        queries: Array | None = None,
        progress: Progress | None = None,
        **settings: Any,
    ) -> Exhibit:
        """Select the frames for a question, and compare how well they match with what unrelated questions reach.

        Args:
            question: A text, which may hold its options, or a `Question`.
            queries: (1, D) its text vector, if you have it.
            progress: Called with stage, done and total, for methods that ask a model.
            **settings: As in `with_settings`: `budget=8`, `method="gcr"`, `from_s="10:00"`.

        Returns:
            The frames in order of time, with images, text and reasons.
        """
        found = self.select_many([question], queries=queries, progress=progress, **settings)[0]
        return found if queries is not None else self.with_settings(**settings).compare_with_chance(found)

    def select_many(
        self,
        questions: Sequence[Question | str],
        *,
        queries: Array | None = None,
        windows: Sequence[Window | None] | None = None,
        progress: Progress | None = None,
        **settings: Any,
    ) -> list[Exhibit]:
        """Select the frames for each of several questions, as `select` does for one but without its comparison.

        Args:
            questions: Texts, or `Question`s.
            queries: (Q, D) their text vectors, if you have them.
            windows: The part of the video that each question is about; None for the configured one.
            progress: Called with stage, done and total, for methods that ask a model.
            **settings: As in `with_settings`.

        Returns:
            The frames for each question.
        """
        video, exhibits = self.with_settings(**settings), []
        of_index = len(self.index.warnings)
        for s in _select(video, questions, queries, windows, progress):
            events = self.events if s.basis is None or s.basis.window is None else s.basis.events
            warnings, chosen = (*self.warnings, *s.warnings[of_index:]), video.config.selection
            selection = replace(events_for(s, events), warnings=warnings, budget=chosen.most)
            exhibits.append(video.exhibit(selection).with_bursts(chosen.burst))
        return exhibits

    def compare_with_chance(self, found: Exhibit, *, is_partial: bool = False) -> Exhibit:
        """Tell whether the question scores more in this video than unrelated ones do.

        Args:
            found: What `select` returned.
            is_partial: The video is not indexed to its end, so that what unrelated questions score is not stored.

        Returns:
            The frames, with `selection.basis.chance`.
        """
        return replace(found, selection=with_chance(self, found.selection, is_partial=is_partial))

    def compare(self, question: Question | str, methods: Sequence[str], **settings: Any) -> Comparison:
        """Select the frames for a question by several methods, to see or save them together.

        Args:
            question: A text, which may hold its options, or a `Question`.
            methods: Names of `framesift.selectors()`.
            **settings: As in `with_settings`.

        Returns:
            The frames of each method, with `save` for one report.
        """
        first = self.with_settings(**{"method": method_for_demand(methods)} | settings)
        configs = [first.config.for_method(method, options={}) for method in methods]
        return Comparison(replace(self, config=config).select(question) for config in configs)

    def exhibit(self, selection: Selection) -> Exhibit:
        """Show the frames of a selection that was made on this video's index.

        Args:
            selection: Of `framesift.select` or `framesift.select_frames`.

        Returns:
            The frames, with the events' text on them.
        """
        reading, several = self.config.reading, zip(self.videos, self.index.videos, strict=True)
        videos = [ShownVideo(span.name, one.path, one.info, span.start_s) for one, span in several]
        videos = videos or [ShownVideo(self.path.name, self.path, self.info, frames=self.frames)]
        return Exhibit(tuple(videos), selection, reading.overlay, self.config.selection.seed, reading.size)

    def ask(self, question: Question | str, **settings: Any) -> Answer:
        """Select frames for a question and give them to a reader.

        Args:
            question: A text, which may hold its options, or a `Question`.
            **settings: As in `with_settings`: `reader="http://localhost:8000/v1"`, `budget=8`.

        Returns:
            The answer, with the frames that the reader was given.

        Raises:
            OptionError: No reader is given.
            ReaderError: The reader can't be reached, or fails.
        """
        return self.ask_many([question], **settings)[0]

    def ask_many(self, questions: Sequence[Question | str], **settings: Any) -> list[Answer]:
        """Answer several questions, as many at a time as `concurrency`.

        Args:
            questions: Texts, or `Question`s.
            **settings: As in `ask`.

        Returns:
            The answers in order.
        """
        video = self.with_settings(**settings)
        check_reader(video._reader())
        return list(video.answer_many(zip(video.select_many(questions), questions, strict=True)))

    def answer(
        self, found: Exhibit, question: Question | str | None = None, *, stream: bool = True
    ) -> Iterator[str | Answer]:
        """Give selected frames to the reader of the settings.

        Args:
            found: What `select` returned.
            question: By default the one the frames were selected for.
            stream: Whether the reply comes in pieces.

        Yields:
            The pieces of the reply as they arrive, then the answer.
        """
        reader, text_mode = self._reader(), self.config.reading.text_mode
        return stream_answer(found, question, reader=reader, text_mode=text_mode, stream=stream)

    def answer_many(
        self, asked: Iterable[tuple[Exhibit, Question | str | None]], *, keep_failures: bool = False
    ) -> Iterator[Answer]:
        """Answer several questions, as many at a time as `concurrency`.

        Args:
            asked: Selected frames, each with its question; read only slightly ahead.
            keep_failures: A question that fails gets an answer with `parsed` False and the reason in `note`.

        Yields:
            The answers in order.
        """
        width = self.config.reading.concurrency
        if width is None:
            width = getattr(self._reader(), "concurrency", 1)

        def answer_one(pair: tuple[Exhibit, Question | str | None]) -> Answer:
            try:
                *_, answer = self.answer(*pair, stream=False)
            except FramesiftError as error:
                if not keep_failures:
                    raise
                return Answer("", parsed=False, text_mode=self.config.reading.text_mode, note=str(error))
            return cast(Answer, answer)

        return map_in_order(answer_one, asked, width)

    def _reader(self) -> Reader:
        settings = self.config.reading
        if settings.reader is None:
            raise OptionError("no reader is configured; expected reader='http://HOST:PORT/v1', 'local:MODEL', …")
        return get_reader(settings.reader, **settings.reader_options)

    def __fspath__(self) -> str:
        return os.fspath(self.path)

    def __repr__(self) -> str:
        name, length = self.index.info.path, duration_text(self.index.info.duration_s)
        counts = f"{counted(len(self.index), 'candidate')}, {counted(len(self.events), 'event')}"
        return f"Video({name!r}, {length}, {counts}, encoder {self.index.encoder!r})"

    def _repr_html_(self) -> str:
        times_s = self.index.times_s[:: max(1, len(self.index) // OVERVIEW)].tolist()[:OVERVIEW]
        slots = tuple(Slot(k, time_s, "context", 0.0) for k, time_s in enumerate(times_s))
        overview = events_for(Selection(slots, "", len(slots)), self.events)
        return render_notebook(strips=[self.exhibit(overview).strip() | {"title": repr(self)}])


@overload
def select(
    video: VideoIndex,
    question: Question | str,
    *,
    events: Sequence[Event] | None = None,
    window: Window | None = None,
    **settings: Any,
) -> Selection: ...
@overload
def select(
    video: StrPath | Sequence[StrPath] | Video,
    question: Question | str,
    *,
    events: Sequence[Event] | None = None,
    window: Window | None = None,
    **settings: Any,
) -> Exhibit: ...
def select(
    video: StrPath | Sequence[StrPath] | Video | VideoIndex,
    question: Question | str,
    *,
    events: Sequence[Event] | None = None,
    window: Window | None = None,
    **settings: Any,
) -> Selection | Exhibit:
    """Choose the frames of a video that help to answer a question.

    Args:
        video: A file, several, or a `Video`; or a `VideoIndex`, of which the images are not needed.
        question: A text, which may hold its options, or a `Question`.
        events: The timestamped text of the video, if you have it. An index has no other.
        window: The part of the video to consider.
        **settings: Those of `PipelineConfig`, and options of the method. An index takes `encoder`, which must be the
            one that made it, `store`, and the settings of selecting.

    Returns:
        For an index, a `Selection` of its candidates; else the frames themselves, an `Exhibit`.

    Raises:
        InputError: The video, the question or an event can't be used.
        OptionError: A setting is unknown or out of range.

    Example:
        ```python
        found = fs.select("film.mp4", "Why was the launch put off?", budget=8)
        selection = fs.select(fs.VideoIndex.load("film.safetensors"), "Why was the launch put off?")
        ```
    """
    if isinstance(video, VideoIndex):
        return select_many(video, [question], events=() if events is None else events, windows=[window], **settings)[0]
    if isinstance(video, Video) and events is not None:
        raise OptionError("events were given with an open video, which has its own; pass them to framesift.open")
    opened = open(video, events=events, **settings)
    return opened.compare_with_chance(opened.select_many([question], windows=[window])[0])


def select_many(
    index: VideoIndex | StrPath,
    questions: Sequence[Question | str],
    *,
    queries: Array | None = None,
    events: Sequence[Event] = (),
    event_features: Array | None = None,
    windows: Sequence[Window | None] | None = None,
    progress: Progress | None = None,
    **settings: Any,
) -> list[Selection]:
    """Select for each of many questions on one index, with one product for all relevances.

    Args:
        index: The candidate frames of a video, or where they are saved.
        questions: Texts, or `Question`s.
        queries: (Q, D) their text vectors; by default the index's own encoder makes them.
        events: The timestamped text of the video.
        event_features: (E, D) the events' text vectors, if you have them.
        windows: The part of the video that each question is about, None for all of it.
        progress: Called with stage, done and total, for methods that ask a model.
        **settings: As in `select`.

    Returns:
        The frames for each question.

    Raises:
        InputError: The index, a question or an event can't be used.
        OptionError: A setting is unknown or out of range.

    Example:
        ```python
        first, second = fs.select_many(index, ["Who speaks first?", "What is on the table?"], budget=8)
        ```
    """
    if _is_index_file(index):
        index = VideoIndex.load(index)
    if not isinstance(index, VideoIndex):
        raise InputError(f"the index is {shown(index)}; expected a framesift.VideoIndex, as framesift.index returns")
    if isinstance(settings.get("encoder"), str):
        settings["encoder"] = get_encoder(settings["encoder"])
    own = {name: settings.pop(name) for name in ("encoder", "store") if name in settings}
    config = _configured(PipelineConfig(**own), settings, ("selection",))
    if config.selection.burst > 1:
        raise OptionError("an index has no frames between its candidates for a burst; select on a framesift.open video")
    return _select(_on_index(index, config, events, event_features), questions, queries, windows, progress)


def ask(
    shown: "Exhibit | StrPath | Sequence[StrPath] | Video",
    question: Question | str | None = None,
    *,
    reader: "str | Reader",
    text_mode: str = ReaderSettings.text_mode,
    **options: Any,
) -> Answer:
    """Give frames to a reader and return its answer to a question.

    Args:
        shown: Selected frames, or the folder where they were saved; or a video, from which frames are selected first.
        question: By default the one the frames were selected for.
        reader: "http://host:8000/v1#model", "local:MODEL", "similarity", the name of another package's reader, or an
            object with `answer(exhibit, question, text_mode)`.
        text_mode: "aligned" draws each event's text on its own frame; "none", "blank", "prompt", "tagged" and
            "shuffled" are the controls.
        **options: Of the reader; for a video the settings of `framesift.open`, where those are `reader_options`.

    Returns:
        The answer, with the frames that the reader was given.

    Raises:
        InputError: There is no question, or the frames can't be read.
        ReaderError: The reader can't be reached, or fails.

    Example:
        ```python
        found = fs.select("film.mp4", "Why was the launch put off?")
        print(fs.ask(found, reader="http://localhost:8000/v1").text)
        print(fs.ask("film.mp4", "Who speaks first?", reader="http://localhost:8000/v1", budget=8).text)
        ```
    """
    if isinstance(shown, str | os.PathLike) and os.path.isdir(shown):
        shown = open_exhibit(shown)
    if isinstance(shown, Exhibit):
        *_, answer = stream_answer(shown, question, reader=reader, text_mode=text_mode, stream=False, **options)
        return cast(Answer, answer)
    if isinstance(shown, Selection):
        raise InputError("a selection has no images; expected framesift.exhibit(video, selection), or a video")
    if question is None:
        raise InputError("no question was given; a video needs one")
    return open(shown, **options).ask(question, reader=reader, text_mode=text_mode)


def _select(
    video: Video,
    questions: Sequence[Question | str],
    queries: Array | None,
    windows: Sequence[Window | None] | None,
    progress: Progress | None,
) -> list[Selection]:
    asked = as_questions(questions)
    if not asked:
        return []
    settings, encoders = video.config.selection, Encoders(video.index, video.config)
    windows = [window or settings.window for window in windows or [None] * len(asked)]
    for window in windows:
        _check_window(window, len(video.videos))
    texts = [question.compared(settings.query) for question in asked]
    event_scores, event_features = None, encoders.own_vectors(video)
    if video.events and settings.event_encoder is not None:
        event_scores, event_features = encoders.score_events(texts, video.events), encoders.text_vectors(video.events)
    elif video.events and event_features is None:
        event_features = encoders.encode_events(video.events)
    return select_from_vectors(
        video.index,
        asked,
        queries=video.encoded(encoders.frames, texts) if queries is None else queries,
        events=video.events,
        event_features=event_features,
        event_scores=event_scores,
        budget=settings.moments,
        method=settings.method,
        visual_demand=settings.visual_demand,
        query_text=settings.query,
        lookups=make_lookups(video, asked, encoders),
        blank_frames=settings.blank_frames,
        windows=windows,
        **resolve_options(video.index, encoders, questions=len(asked), progress=as_progress(progress)),
    )


def _is_index_file(video: object) -> TypeGuard[StrPath]:
    """Whether a path is that of a saved index and not of a video."""
    return isinstance(video, str | os.PathLike) and os.fspath(video).endswith(INDEX_SUFFIX)


def _on_index(
    index: VideoIndex, config: PipelineConfig, events: Sequence[Event] | FoundEvents, vectors: Array | None = None
) -> Video:
    """A video of which the index is known, and no text but these events."""
    return Video(Path(index.info.path), config, index, _found_events(events, index), vectors)


def _found_events(events: Sequence[Event] | FoundEvents, index: VideoIndex) -> FoundEvents:
    if isinstance(events, FoundEvents):
        return events
    check_events(events)
    return FoundEvents(tuple(events), (), (), index.info.duration_s)


def _configured(config: PipelineConfig, settings: Mapping[str, Any], records: Iterable[str]) -> PipelineConfig:
    """The configuration with these settings, of some of its records; other names are options of the method."""
    if not settings:
        return config
    given, free = dict(settings), set(records)
    method = given.get("method", config.selection.method)
    if method != config.selection.method:
        config = config.for_method(method, options={})
    selector, options = get_selector(method), {**config.selection.options, **given.pop("options", {})}
    names = {f.name: name for name, record in RECORDS.items() for f in fields(record)} | {
        name: name for name in RECORDS
    }
    for name in [name for name in given if names.get(name) not in free]:
        if name in selector.options:
            options[name] = given.pop(name)
        elif name in names:
            raise OptionError(f"{name} can't be changed here; pass it to framesift.open")
        else:
            known = [*(name for name in names if names[name] in free), *selector.options]
            raise OptionError(f"{selector.name} has no option {name!r}, nor is it a setting; {suggestion(name, known)}")
    return config.replace(**given, options=options)


def _check_several(videos: Sequence[StrPath], config: PipelineConfig, *own: object) -> None:
    """Reject what is meant for one video before the long work."""
    count = len(videos)
    if not count:
        raise InputError("there is no video; expected at least one")
    if any(value is not None for value in (*own, config.text.file)):
        raise OptionError(f"text of one video was given for {count} videos; expected subtitles auto or none")
    _check_window(config.selection.window, count)
    resolved = [os.path.realpath(video) for video in videos]
    repeated = next((one for one, path in zip(videos, resolved, strict=True) if resolved.count(path) > 1), None)
    if repeated is not None:
        raise InputError(f"{os.fspath(repeated)} is given more than once; expected different videos")
    for video in videos:
        probe(video)


def _check_window(window: Window | None, videos: int) -> None:
    if window is not None and videos > 1:
        raise OptionError(f"a window of time was given for {videos} videos; expected one video")
