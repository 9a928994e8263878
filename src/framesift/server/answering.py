"""Questions about the library's videos: selections, views for the page, reader answers and exports."""

import itertools
import shutil
import tempfile
import threading
import time
from collections.abc import Generator, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

from framesift._utils.files import write_text
from framesift._utils.json import dump_json
from framesift.errors import FramesiftError, OptionError, PluginError, ReaderError
from framesift.library.catalog import Catalog, RecentCache
from framesift.library.files import LibraryVideo, public_message, safe_name
from framesift.pipeline.pipeline import Pipeline
from framesift.readers.parsing import cited_times
from framesift.readers.prompts import OVERLAY_OF, TextMode
from framesift.readers.stopping import StopEvent, Stopped, stop_requests_with
from framesift.rendering.exhibit import Exhibit
from framesift.rendering.export import save, zip_directory
from framesift.rendering.reasons import explain
from framesift.rendering.report.view import view_of
from framesift.rendering.thumbnails import ReportImages
from framesift.selection.registry import Selector, check_options, get_selector, method_for_demand, selectors
from framesift.server.frame_images import MAX_SIDE, FrameImages, ServerBusy
from framesift.server.models import AskRequest, ExportQuery, QuestionRequest, ViewRequest
from framesift.server.page_readers import PageReaders
from framesift.text.questions import parse_question
from framesift.types import ROLES, Answer, Question, Selection, Slot, VideoIndex
from framesift.types.lookup import GIVEN_PARTS
from framesift.types.vectors import Array

CACHED_QUERIES = 64
MAX_CONCURRENT = 4  # selections and exports: each uses a whole core
MAX_WAITING = 32
WAIT_S = 30
POLL_S = 0.1  # how soon an abandoned request gives up its place
MAX_READER_REQUESTS = 4  # a reader may take minutes and must not block selections


class Abandoned(FramesiftError):
    """The client does not wait for the response any more."""


@dataclass(frozen=True)
class TimedExhibit:
    """One method's exhibit, how long its selection took, and what it was made from if the video is not ready."""

    exhibit: Exhibit
    seconds: float
    partial: str = ""


class Answering:
    """Answers requests about ready videos, within the server's limits of concurrent work."""

    def __init__(self, catalog: Catalog, images: FrameImages, readers: PageReaders, exports: Path) -> None:
        self.catalog, self.images, self.readers = catalog, images, readers
        self._queries: RecentCache[Array] = RecentCache(CACHED_QUERIES)
        self._running = threading.BoundedSemaphore(MAX_CONCURRENT)
        self._admitted = threading.BoundedSemaphore(MAX_CONCURRENT + MAX_WAITING)
        self._reader_requests = threading.BoundedSemaphore(MAX_READER_REQUESTS)
        # Exports until they are sent; a server that was killed leaves some behind.
        self._exports = exports
        shutil.rmtree(self._exports, ignore_errors=True)

    def select(
        self,
        video: LibraryVideo,
        request: QuestionRequest,
        method: str,
        text_mode: TextMode = "aligned",
        *,
        methods: Sequence[str] = (),
        abandoned: threading.Event | None = None,
    ) -> TimedExhibit:
        """Select frames as `framesift select` does, and exhibit them.

        methods: those of the request, if several. abandoned: set when nobody waits any more.
        """
        pipeline = self._pipeline(request, method, text_mode, methods or [method])
        question = parse_question(request.question, request.options)
        prepared, partial = (
            self.catalog.prepared_so_far(video) if request.partial else (self.catalog.prepared(video), "")
        )
        with self._slot(abandoned):
            queries = self._encode_question(prepared.index, question)
            check_wanted(abandoned)
            started = time.perf_counter()
            selection = pipeline.select(prepared, question, queries=queries)
            seconds = time.perf_counter() - started
            check_wanted(abandoned)
            selection = pipeline.compare_with_chance(prepared, selection, is_partial=bool(partial))
        # A text without a frame near it may only not be indexed yet.
        known = prepared.warnings if partial else selection.warnings
        warnings = [public_message(text, video) for text in known]
        selection = replace(selection, warnings=tuple([*warnings, partial] if partial else warnings))
        return TimedExhibit(pipeline.exhibit(prepared, selection), seconds, partial)

    def _select_all(self, video: LibraryVideo, request: ViewRequest, abandoned: threading.Event) -> list[TimedExhibit]:
        """The exhibits of all methods of a request."""
        return [
            self.select(video, request, method, request.text_mode, methods=request.methods, abandoned=abandoned)
            for method in dict.fromkeys(request.methods)
        ]

    def _pipeline(self, request: QuestionRequest, method: str, text_mode: TextMode, methods: Sequence[str]) -> Pipeline:
        """The server's pipeline with the settings of one request. methods: all those of the request."""
        check_method(get_selector(method))
        return Pipeline(
            self.catalog.config.replace(
                method=method_for_demand(methods),
                options={},
                budget=request.budget,
                from_s=request.from_s,
                to_s=request.to_s,
                visual_demand="rules" if request.visual_demand is None else request.visual_demand,
                overlay=OVERLAY_OF[text_mode],
                text_mode=text_mode,
            ).for_method(method, options=_method_options(method, request))
        )

    def view(self, video: LibraryVideo, request: ViewRequest, abandoned: threading.Event) -> dict[str, Any]:
        """The data the page draws, one lane per method; the frames are being decoded when this returns."""
        timed = self._select_all(video, request, abandoned)
        exhibits = [selected.exhibit for selected in timed]
        facts = self.catalog.facts(video)
        scale = min(1.0, MAX_SIDE / max(facts.width, facts.height, 1))
        size = max(1, round(facts.width * scale)), max(1, round(facts.height * scale))
        images = [_image_urls(video, facts.image_version, exhibit.selection, size) for exhibit in exhibits]
        check_wanted(abandoned)  # before its frames are decoded
        times = {time_s for exhibit in exhibits for time_s in exhibit.selection.times_s}
        self.images.announce(video, facts.fingerprint, sorted(times))
        view = view_of(exhibits, images, json_text="")
        for lane, one in zip(view["lanes"], timed, strict=True):
            lane["seconds"] = one.seconds
            selection = one.exhibit.selection
            rank = rank_frames(selection)
            for row, slot in zip(lane["frames"], selection.slots, strict=True):
                row |= {"words": "" if slot.event is None else slot.event.text, "rank": rank[slot.index]}
        partial = [one.partial for one in timed]  # more may be indexed between two
        view["warnings"] = [warning for warning in view["warnings"] if warning not in partial]
        return view | {"video": video.id, "duration_s": facts.duration_s, "partial": partial[0]}

    def ask(self, video: LibraryVideo, request: AskRequest, abandoned: StopEvent) -> dict[str, Any]:
        """A reader's answer as a record: with the times it cites and the selection's warnings."""
        return next(piece for piece in self.answer_in_pieces(video, request, abandoned) if isinstance(piece, dict))

    def answer_in_pieces(
        self, video: LibraryVideo, request: AskRequest, stopped: StopEvent
    ) -> Iterator[str | dict[str, Any]]:
        """A reader's reply as it arrives, if the reader can stream, then the record of its answer.

        An address from a request is never called: the reader is one of this server's. `stopped` ends the request to a
        model's server at once, a model on this machine between two pieces.
        """
        address, options = self.readers.resolve(request.reader)
        if not self._reader_requests.acquire(blocking=False):
            raise ServerBusy(f"{MAX_READER_REQUESTS} reader requests are running already; try again when one is done")
        try:
            exhibit = self.select(video, request, request.method, request.text_mode, abandoned=stopped).exhibit
            question = parse_question(request.question, request.options)
            stop_requests_with(stopped)
            config = self.catalog.config.replace(reader=address, reader_options=options, text_mode=request.text_mode)
            pieces = Pipeline(config).answer(exhibit, question)
            with closing(cast(Generator[str | Answer], pieces)):  # which ends the request to a model's server
                for piece in pieces:
                    check_wanted(stopped)
                    yield _answer_record(piece, question, exhibit) if isinstance(piece, Answer) else piece
        except (Stopped, ReaderError):
            check_wanted(stopped)  # which is why the request failed
            raise
        finally:
            self._reader_requests.release()

    def new_export_folder(self) -> Path:
        """A temporary directory for one export."""
        self._exports.mkdir(parents=True, exist_ok=True)
        return Path(tempfile.mkdtemp(dir=self._exports))

    def export(
        self,
        video: LibraryVideo,
        request: ExportQuery,
        folder: Path,
        abandoned: threading.Event,
        answers: Sequence[tuple[str, Answer]] = (),
    ) -> Path:
        """Write what `framesift select` or `compare` would write into `folder`; the file to send.

        answers: those kept with the question, each with the method whose frames it is about.
        """
        exhibits = [selected.exhibit for selected in self._select_all(video, request, abandoned)]
        with self._slot(abandoned):
            if request.format == "json":
                records = {exhibit.selection.method: exhibit.to_dict() for exhibit in exhibits}
                content = records if len(exhibits) > 1 else exhibits[0].to_dict()
                return write_text(folder / "selection.json", dump_json(content))
            target = folder / f"{export_name(video)}-evidence"

            saved = save(exhibits, target, answers=answers)
            return zip_directory(saved) if request.format == "zip" else saved / "report.html"

    def _encode_question(self, index: VideoIndex, question: Question) -> Array:
        """(1, D) the question's text vector, cached: a changed setting asks the same question again."""
        key = f"{index.encoder}|{question.query_text}"
        return self._queries.get(key, lambda: self.catalog.pipeline.encode_questions(index, [question]))

    @contextmanager
    def _slot(self, abandoned: threading.Event | None = None) -> Iterator[None]:
        """One of the slots for concurrent work; ServerBusy where too many requests wait or none becomes free.

        A request whose client has gone gives up its place.
        """
        busy = ServerBusy("the server is busy with other questions; try again in a moment")
        if not self._admitted.acquire(blocking=False):
            raise busy
        try:
            deadline = time.monotonic() + WAIT_S
            while not self._running.acquire(timeout=POLL_S):
                check_wanted(abandoned)
                if time.monotonic() > deadline:
                    raise busy
            try:
                check_wanted(abandoned)
                yield
            finally:
                self._running.release()
        finally:
            self._admitted.release()


def check_wanted(abandoned: threading.Event | None) -> None:
    """End the work of a request whose client has closed the connection."""
    if abandoned is not None and abandoned.is_set():
        raise Abandoned("the client closed the connection")


def _answer_record(answer: Answer, question: Question, exhibit: Exhibit) -> dict[str, Any]:
    cited_s = cited_times(answer.raw if question.choices else answer.text, answer.times_s)
    return answer.to_dict() | {"cited_s": cited_s, "warnings": list(exhibit.selection.warnings)}


def export_name(video: LibraryVideo) -> str:
    """The stem of an export's file name, valid on any system."""
    return safe_name(video.path.stem)


def list_methods() -> list[dict[str, Any]]:
    """The selectors with their options, and for each that can't run here the reason."""
    rows = []
    for selector in selectors().values():
        try:
            check_method(selector)
            why_not = ""
        except FramesiftError as error:
            why_not = str(error)
        simple = {k: v for k, v in selector.options.items() if isinstance(v, bool | int | float | str | None)}
        rows.append(
            {
                "name": selector.name,
                "summary": selector.summary,
                "paper": selector.paper,
                "needs": list(selector.needs),
                "available": not why_not,
                "why_not": why_not,
                "options": {k: v for k, v in simple.items() if k not in GIVEN_PARTS},
            }
        )
    return rows


def check_method(selector: Selector) -> None:
    """Refuse a selector that needs a model file, whose packages are not installed, or that can't be loaded."""
    if selector.problem:
        raise PluginError(selector.problem)
    missing = [need for need in selector.needs if need in GIVEN_PARTS]
    if missing:
        raise OptionError(
            f"{selector.name} needs a {missing[0]}, which the page can't set; use it from Python or the command line"
        )
    if "peers" in selector.needs:
        from importlib.util import find_spec

        if find_spec("pywt") is None or find_spec("scipy") is None:
            raise OptionError(f"{selector.name} needs more packages: pip install 'framesift[peers]'")


def rank_frames(selection: Selection) -> dict[int, int]:
    """Ranks from 1 by candidate index: spoken and visual evidence in turn, best first, then refined and context."""
    events = selection.trace.get("ground", {}).get("events", ())
    scores = {row["index"]: row["score"] for row in events if row.get("index") is not None}
    by_role: dict[str, list[int]] = {role: [] for role in ROLES}

    def key(slot: Slot) -> tuple[float, int]:
        return -(scores.get(slot.index, slot.relevance) if slot.role == "ground" else slot.relevance), slot.index

    for slot in sorted(selection.slots, key=key):
        by_role[slot.role].append(slot.index)
    pairs = itertools.zip_longest(by_role["ground"], by_role["visual"])
    order = [index for pair in pairs for index in pair if index is not None]
    order += [*by_role["refined"], *by_role["context"]]
    return {index: rank for rank, index in enumerate(order, 1)}


def _method_options(method: str, request: QuestionRequest) -> dict[str, Any]:
    """The request's settings for this method, checked against the types of the defaults."""
    given = request.settings.get(method, {})
    defaults = get_selector(method).options
    check_options(method, given, defaults)
    for name, value in given.items():
        if name in GIVEN_PARTS:
            raise OptionError(f"{name} can't be set from a request")
        default = defaults[name]
        if default is not None and not _has_type_of(value, default):
            raise OptionError(f"{name} is {value!r}; expected a {_type_name(default)}, like the default {default!r}")
    return dict(given)


def _has_type_of(value: object, default: object) -> bool:
    if isinstance(default, bool) or isinstance(value, bool):
        return isinstance(value, bool) and isinstance(default, bool)
    if isinstance(default, float):
        return isinstance(value, int | float) and abs(value) < 1e9
    if isinstance(default, int):
        return isinstance(value, int) and abs(value) < 2**31
    return isinstance(value, type(default))


def _type_name(default: object) -> str:
    return {bool: "yes or no", int: "whole number", float: "number", str: "text"}.get(type(default), "value")


def frame_url(video: LibraryVideo, version: str, time_s: float) -> str:
    """The URL of a frame's small JPEG."""
    return f"/api/videos/{video.id}/frames/{time_s:.6f}.jpg?v={version}"


def _image_urls(video: LibraryVideo, version: str, selection: Selection, size: tuple[int, int]) -> ReportImages:
    reasons = explain(selection)

    def url(time_s: float) -> str:
        return frame_url(video, version, time_s)

    return ReportImages(
        reasons,
        urls=[url(time_s) for time_s in selection.times_s],
        sizes=[size] * len(selection),
        alternatives={other.time_s: url(other.time_s) for reason in reasons for other in reason.alternatives},
    )
