"""Questions about the library's videos: selections, views for the page, reader answers and exports."""

import threading
import time
from collections.abc import Generator, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, cast

from framesift._utils.files import write_text
from framesift._utils.json import dump_json
from framesift._utils.requirements import is_installed
from framesift.errors import FramesiftError, NotStored, OptionError, PluginError, ReaderError
from framesift.library.catalog import Catalog
from framesift.library.files import LibraryVideo, public_message, safe_name
from framesift.pipeline.inputs import Encoders
from framesift.pipeline.pinning import with_pinned, without_frames
from framesift.progress import Stopped
from framesift.readers.answers import cited_frames
from framesift.readers.base import stream_answer
from framesift.readers.prompts import OVERLAY_OF
from framesift.readers.stopping import StopEvent, stop_requests_with
from framesift.rendering.exhibit import Exhibit
from framesift.rendering.export import save, zip_directory
from framesift.rendering.formats.base import part_around
from framesift.rendering.reasons import explain
from framesift.rendering.report.view import view_of
from framesift.rendering.thumbnails import ReportImages
from framesift.selection.registry import Selector, get_selector, method_for_demand, selectors
from framesift.server.frame_images import MAX_SIDE, FrameImages, ServerBusy
from framesift.server.models import AskRequest, ClipQuery, ExportQuery, MethodRecord, QuestionRequest, ViewRequest
from framesift.server.page_readers import PageReaders
from framesift.types import Answer, Event, Question, Selection
from framesift.types.lookup import GIVEN_PARTS
from framesift.video.clips import write_clip

MAX_CONCURRENT = 4  # selections and exports: each uses a whole core
WAIT_S = 30
POLL_S = 0.1  # how soon an abandoned request gives up its place
MAX_READER_REQUESTS = 4  # a reader may take minutes and must not block selections


class Abandoned(FramesiftError):
    """The client does not wait for the response any more."""


@dataclass(frozen=True)
class Selected:
    """The exhibit of each method, how long its selection took, and what all were made from if the video is not ready.

    partial: empty for a ready video.
    """

    exhibits: list[Exhibit]
    seconds: list[float]
    partial: str


class Answering:
    """Answers requests about ready videos, within the server's limits of concurrent work."""

    def __init__(self, catalog: Catalog, images: FrameImages, readers: PageReaders) -> None:
        self.catalog, self.images, self.readers = catalog, images, readers
        self._running = threading.BoundedSemaphore(MAX_CONCURRENT)
        self._reader_requests = threading.BoundedSemaphore(MAX_READER_REQUESTS)

    def select(
        self,
        videos: Sequence[LibraryVideo],
        request: QuestionRequest,
        methods: Sequence[str],
        abandoned: threading.Event,
    ) -> Selected:
        """Select frames as `framesift select` does, and exhibit them. abandoned: set when nobody waits any more.

        Several videos share the frames; all must be ready.
        """
        for method in methods:
            check_method(get_selector(method))
            if given := [name for name in request.settings.get(method, {}) if name in GIVEN_PARTS]:
                raise OptionError(f"{given[0]} can't be set from a request")
        config = self.catalog.config.replace(
            method=method_for_demand(methods),
            options={},
            budget=request.budget,
            from_s=request.from_s,
            to_s=request.to_s,
            visual_demand="rules" if request.visual_demand is None else request.visual_demand,
            overlay=OVERLAY_OF[request.text_mode],
            text_mode=request.text_mode,
        )
        configs = [
            config.for_method(method, options=request.settings.get(method, {})) for method in dict.fromkeys(methods)
        ]
        question = Question(request.question, request.options or None)
        prepared, partial = (
            self.catalog.prepared_so_far(videos[0])
            if request.partial and len(videos) == 1
            else (self.catalog.prepared(*videos), "")
        )
        selected = Selected([], [], partial)
        with self._slot(abandoned):
            encoder = Encoders(prepared.index, config).frames
            prepared.encoded(encoder, [question.compared(config.selection.query)])  # no part of any method's time
            for opened in (replace(prepared, config=config) for config in configs):
                check_wanted(abandoned)
                started = time.perf_counter()
                left = without_frames(opened, request.removed_s, request.pinned_s)
                (found,) = left.select_many([question])
                selected.seconds.append(time.perf_counter() - started)
                check_wanted(abandoned)
                found = opened.compare_with_chance(found, is_partial=bool(partial))
                found = with_pinned(found, request.pinned_s)
                # A text without a frame near it may only not be indexed yet.
                known = [*prepared.warnings, partial] if partial else found.warnings
                warnings = tuple(public_message(text, *videos) for text in known)
                selected.exhibits.append(replace(found, selection=replace(found.selection, warnings=warnings)))
        return selected

    def view(self, video: LibraryVideo, request: ViewRequest, abandoned: threading.Event) -> dict[str, Any]:
        """The data the page draws, one lane per method; the frames are being decoded when this returns."""
        selected = self.select([video], request, request.methods, abandoned)
        facts = self.catalog.facts(video)
        scale = min(1.0, MAX_SIDE / max(facts.width, facts.height, 1))
        size = max(1, round(facts.width * scale)), max(1, round(facts.height * scale))
        selections = [exhibit.selection for exhibit in selected.exhibits]
        images = [_image_urls(video, facts.image_version, selection, size) for selection in selections]
        check_wanted(abandoned)  # before its frames are decoded
        times = {time_s for selection in selections for time_s in selection.times_s}
        self.images.announce(video, facts.fingerprint, sorted(times))
        view = view_of(selected.exhibits, images, json_text="")
        for lane, seconds, selection in zip(view["lanes"], selected.seconds, selections, strict=True):
            lane["seconds"] = seconds
            for row, slot in zip(lane["frames"], selection.slots, strict=True):
                row["words"] = "" if slot.event is None else slot.event.text
                row["start_s"], row["end_s"] = part_around(slot.time_s, slot.event)
        view["warnings"] = [warning for warning in view["warnings"] if warning != selected.partial]
        return view | {"video": video.id, "duration_s": facts.duration_s, "partial": selected.partial}

    def ask(self, videos: Sequence[LibraryVideo], request: AskRequest, abandoned: StopEvent) -> Answer:
        """A reader's answer, with the frames that it was given."""
        return next(piece for piece in self.answer_in_pieces(videos, request, abandoned) if isinstance(piece, Answer))

    def answer_in_pieces(
        self, videos: Sequence[LibraryVideo], request: AskRequest, stopped: StopEvent
    ) -> Iterator[str | Answer]:
        """A reader's reply as it arrives, if the reader can stream, then its answer.

        An address from a request is never called: the reader is one of this server's. `stopped` ends the request to a
        model's server at once, a model on this machine between two pieces.
        """
        address, options = self.readers.resolve(request.reader)
        if not self._reader_requests.acquire(blocking=False):
            raise ServerBusy(f"{MAX_READER_REQUESTS} reader requests are running already; try again when one is done")
        try:
            (exhibit,) = self.select(videos, request, [request.method], stopped).exhibits
            question = Question(request.question, request.options or None)
            stop_requests_with(stopped)
            pieces = stream_answer(exhibit, question, reader=address, text_mode=request.text_mode, **options)
            with closing(cast(Generator[str | Answer], pieces)):  # which ends the request to a model's server
                for piece in pieces:
                    check_wanted(stopped)
                    yield piece
        except (Stopped, ReaderError):
            check_wanted(stopped)  # which is why the request failed
            raise
        finally:
            self._reader_requests.release()

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
        exhibits = self.select([video], request, request.methods, abandoned).exhibits
        with self._slot(abandoned):
            if request.format == "json":
                records = {exhibit.method: exhibit.to_dict() for exhibit in exhibits}
                content = records if len(exhibits) > 1 else exhibits[0].to_dict()
                return write_text(folder / "selection.json", dump_json(content))
            target = folder / f"{export_name(video)}-evidence"

            saved = save(exhibits, target, answers=answers)
            return zip_directory(saved) if request.format == "zip" else saved / "report.html"

    def clip(self, video: LibraryVideo, request: ClipQuery, folder: Path, abandoned: threading.Event) -> Path:
        """Write the part of a video as a clip, with the text that is known, into `folder`."""
        events: tuple[Event, ...] = ()
        with suppress(NotStored):
            events = self.catalog.text(video).events
        target = folder / f"{export_name(video)}-{round(request.from_s)}-{round(request.to_s)}.mp4"
        with self._slot(abandoned):
            write_clip(video.path, target, request.from_s, request.to_s, cut=request.cut, text=events)
        return target

    @contextmanager
    def _slot(self, abandoned: threading.Event) -> Iterator[None]:
        """One of the slots for concurrent work; ServerBusy where none becomes free.

        A request whose client has gone gives up its place.
        """
        deadline = time.monotonic() + WAIT_S
        while not self._running.acquire(timeout=POLL_S):
            check_wanted(abandoned)
            if time.monotonic() > deadline:
                raise ServerBusy("the server is busy with other questions; try again in a moment")
        try:
            yield
        finally:
            self._running.release()


def check_wanted(abandoned: threading.Event) -> None:
    """End the work of a request whose client has closed the connection."""
    if abandoned.is_set():
        raise Abandoned("the client closed the connection")


def cited_by(answer: Answer) -> list[float]:
    """The times of the frames that an answer cites; an option's are in the unmodified reply."""
    has_options = bool(answer.exhibit.question.choices)
    cited = cited_frames(replace(answer, text=answer.raw) if has_options else answer)
    return [answer.times_s[k] for k in cited]


def answer_record(answer: Answer) -> dict[str, Any]:
    """An answer as JSON values: with the times it cites and the selection's warnings."""
    return answer.to_dict() | {"cited_s": cited_by(answer), "warnings": list(answer.exhibit.selection.warnings)}


def export_name(video: LibraryVideo) -> str:
    """The stem of an export's file name, valid on any system."""
    return safe_name(video.path.stem)


def list_methods() -> list[MethodRecord]:
    """The selectors with their options, and for each that can't run here the reason."""
    rows = []
    for selector in selectors().values():
        try:
            check_method(selector)
            why_not = ""
        except FramesiftError as error:
            why_not = str(error)
        rows.append(
            MethodRecord(
                name=selector.name,
                summary=selector.summary,
                paper=selector.paper,
                needs=list(selector.needs),
                available=not why_not,
                why_not=why_not,
                options={
                    name: value
                    for name, value in selector.options.items()
                    if name not in GIVEN_PARTS and isinstance(value, bool | int | float | str | None)
                },
            )
        )
    return rows


def check_method(selector: Selector) -> None:
    """Refuse a selector that needs a model file, whose packages are not installed, or that can't be loaded."""
    if selector.problem:
        raise PluginError(selector.problem)
    missing = [need for need in selector.needs if need in GIVEN_PARTS]
    if missing:
        raise OptionError(
            f"{selector.name} needs a {missing[0]}, which a request can't set; use it from Python or the command line"
        )
    if "peers" in selector.needs and not is_installed("pywt", "scipy"):
        raise OptionError(f"{selector.name} needs more packages: pip install 'framesift[peers]'")


def frame_url(video: LibraryVideo, version: str, time_s: float) -> str:
    """The URL of a frame's small JPEG."""
    return f"/api/videos/{video.id}/frames/{time_s:.6f}.jpg?v={version}"


def _image_urls(video: LibraryVideo, version: str, selection: Selection, size: tuple[int, int]) -> ReportImages:
    reasons = explain(selection)
    url = partial(frame_url, video, version)
    return ReportImages(
        reasons,
        urls=[url(time_s) for time_s in selection.times_s],
        sizes=[size] * len(selection),
        alternatives={other.time_s: url(other.time_s) for reason in reasons for other in reason.alternatives},
    )
