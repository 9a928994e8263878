"""A question put to a video on the shelf: the public API's own calls, and their records made ready for the page."""

import itertools
import shutil
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from framesift._utils.json import dump_json
from framesift.encoders.base import encode_long_texts, get_encoder
from framesift.errors import FramesiftError, OptionError, UnknownName
from framesift.pipeline import select_many
from framesift.readers.address import public_address
from framesift.readers.base import SIMILARITY, get_reader
from framesift.readers.parsing import cited_times
from framesift.readers.prompts import OVERLAY_OF, TextMode
from framesift.rendering.exhibit import Exhibit, events_for
from framesift.rendering.export import save_comparison
from framesift.rendering.reasons import reasons
from framesift.rendering.report.view import view_of
from framesift.rendering.thumbnails import Album
from framesift.selection.registry import Selector, check_options, get_selector, selectors
from framesift.server.catalog import Catalog
from framesift.server.files import Film, safe_name
from framesift.server.frame_images import SIDE, Busy, Pictures
from framesift.server.models import Ask, ExportFormat
from framesift.text.questions import parse_question
from framesift.types import ROLES, Answer, Question, Selection
from framesift.types.vectors import Array
from framesift.video.frames import frame_numbers

# Needs that a plain installation can't meet from the page: a detector or a network is a file somebody has to name.
FILES_OF_THEIR_OWN = ("detector", "network")
KEPT_QUERIES = 64
AT_ONCE = 4  # selections and exports: each is work for a whole core
MOST_WAITING = 32  # for their turn; who comes later is told at once
READERS_AT_ONCE = 4  # each may be silent for minutes, and must not keep a selection waiting


@dataclass(frozen=True)
class Chosen:
    """One method's selection with its words on, and how long choosing took."""

    selection: Selection
    seconds: float


class Desk:
    """Where questions are answered."""

    def __init__(self, catalog: Catalog, pictures: Pictures, readers: Sequence[str]) -> None:
        self.catalog, self.pictures = catalog, pictures
        self._addresses = {public_address(reader): reader for reader in [*readers, SIMILARITY]}
        self._queries: dict[tuple[str, str], Array] = {}
        self._places = threading.BoundedSemaphore(AT_ONCE)
        # Exports until they are sent; what a server left that was ended meanwhile goes.
        self._exports = catalog.settings.state / "exports"
        shutil.rmtree(self._exports, ignore_errors=True)
        self._line = threading.BoundedSemaphore(AT_ONCE + MOST_WAITING)
        self._readers = threading.BoundedSemaphore(READERS_AT_ONCE)

    @property
    def readers(self) -> list[str]:
        """The readers of this server, without the credentials of their addresses."""
        return list(self._addresses)

    def choose(self, film: Film, ask: Ask, method: str) -> Chosen:
        """The frames, as `framesift select` gives them: same index, same words, same call."""
        question = parse_question(ask.question, ask.options)
        check_method(get_selector(method))
        index, found = self.catalog.index(film), self.catalog.found(film)
        settings = self.catalog.settings
        with self._place():
            query = self._query(index.encoder, question)
            started = time.perf_counter()
            selection = select_many(
                index,
                [question],
                queries=query,
                events=found.events,
                budget=ask.budget,
                method=method,
                event_encoder=settings.event_encoder,
                visual_demand="rules" if ask.visual_demand is None else ask.visual_demand,
                store=self.catalog.store.root,
                **_own_options(method, ask),
            )[0]
            seconds = time.perf_counter() - started
        return Chosen(events_for(selection, found.events), seconds)

    def exhibit(self, film: Film, selection: Selection, text_mode: TextMode) -> Exhibit:
        info = self.catalog.index(film).info
        numbers = tuple(frame_numbers(film.path, selection.times_s))
        return Exhibit(film.path, info, selection, numbers, OVERLAY_OF[text_mode])

    def view(self, film: Film, ask: Ask, methods: Sequence[str], text_mode: TextMode) -> dict[str, Any]:
        """What the page draws, one lane per method; the pictures are on their way when this returns."""
        chosen = [self.choose(film, ask, method) for method in dict.fromkeys(methods)]
        facts = self.catalog.facts(film, wait=True)
        assert facts is not None  # noqa: S101 (it was waited for)
        scale = min(1.0, SIDE / max(facts.width, facts.height, 1))
        size = max(1, round(facts.width * scale)), max(1, round(facts.height * scale))
        exhibits = [self.exhibit(film, one.selection, text_mode) for one in chosen]
        albums = [_album_of_addresses(film, facts.version, one.selection, size) for one in chosen]
        times = {time_s for one in chosen for time_s in one.selection.times_s}
        self.pictures.announce(film, facts.fingerprint, sorted(times))
        view = view_of(exhibits, albums, json_text="")
        for lane, one in zip(view["lanes"], chosen, strict=True):
            lane["seconds"] = one.seconds
            rank = ranks(one.selection)
            for row, slot in zip(lane["frames"], one.selection.slots, strict=True):
                row |= {"words": "" if slot.event is None else slot.event.text, "rank": rank[slot.index]}
        return view | {"video": film.id, "duration_s": facts.duration_s}

    def answer(self, film: Film, ask: Ask, method: str, reader: str, text_mode: TextMode) -> tuple[Answer, list[float]]:
        """A configured reader's answer, and the times it names. No address of a request is ever called."""
        name = public_address(reader)
        if name not in self._addresses:
            raise UnknownName(f"there is no reader {name!r} here; known are {', '.join(self.readers)}")
        if not self._readers.acquire(blocking=False):
            raise Busy(f"{READERS_AT_ONCE} questions are with readers already; ask again when one has answered")
        try:
            exhibit = self.exhibit(film, self.choose(film, ask, method).selection, text_mode)
            question = exhibit.question or Question(ask.question)
            answer = get_reader(self._addresses[name]).answer(exhibit, question, text_mode)
        finally:
            self._readers.release()
        return answer, cited_times(answer.raw if question.choices else answer.text, answer.times_s)

    def new_folder(self) -> Path:
        """Where an export is written until it is sent."""
        self._exports.mkdir(parents=True, exist_ok=True)
        return Path(tempfile.mkdtemp(dir=self._exports))

    def export(
        self, film: Film, ask: Ask, methods: Sequence[str], text_mode: TextMode, form: ExportFormat, place: Path
    ) -> Path:
        """Write what `framesift select` or `compare` would write into `place`; the file to hand out."""
        names = list(dict.fromkeys(methods))
        exhibits = [self.exhibit(film, self.choose(film, ask, name).selection, text_mode) for name in names]
        with self._place():
            if form == "json":
                told = {exhibit.selection.method: exhibit.to_dict() for exhibit in exhibits}
                (place / "selection.json").write_text(
                    dump_json(told if len(exhibits) > 1 else exhibits[0].to_dict()), encoding="utf-8"
                )
                return place / "selection.json"
            as_zip = form == "zip"
            folder = place / f"{export_name(film)}-evidence"
            if len(exhibits) > 1:
                saved = save_comparison(exhibits, folder, as_zip=as_zip)
            else:
                saved = exhibits[0].save(folder, as_zip=as_zip)
            return saved if as_zip else saved / "report.html"

    def _query(self, encoder: str, question: Question) -> Array:
        """(1, D) the question's text vector; turning a knob asks the same question again."""
        key = encoder, question.query_text
        known = self._queries.get(key)
        if known is None:
            known = encode_long_texts(get_encoder(encoder), [question.query_text])
            self._queries[key] = known
            while len(self._queries) > KEPT_QUERIES:
                self._queries.pop(next(iter(self._queries)), None)
        return known

    @contextmanager
    def _place(self) -> Iterator[None]:
        """A share of the machine; who finds none within a while, or too long a line, is asked to come back."""
        busy = Busy("this server is busy with other questions; try again in a moment")
        if not self._line.acquire(blocking=False):
            raise busy
        try:
            if not self._places.acquire(timeout=30):
                raise busy
            try:
                yield
            finally:
                self._places.release()
        finally:
            self._line.release()


def export_name(film: Film) -> str:
    """What a video's exports are called after it: its name, as any system can write it, with room for what is added."""
    return safe_name(film.path.stem)


def methods() -> list[dict[str, Any]]:
    """The selectors with their options, and for each that can't run here the sentence that says why."""
    rows = []
    for selector in selectors().values():
        try:
            check_method(selector)
            why_not = ""
        except FramesiftError as error:
            why_not = str(error)
        plain = {k: v for k, v in selector.options.items() if isinstance(v, bool | int | float | str | None)}
        rows.append(
            {
                "name": selector.name,
                "summary": selector.summary,
                "paper": selector.paper,
                "needs": list(selector.needs),
                "available": not why_not,
                "why_not": why_not,
                "options": {k: v for k, v in plain.items() if k not in FILES_OF_THEIR_OWN},
            }
        )
    return rows


def check_method(selector: Selector) -> None:
    """Refuse a selector that would load a file named by a request, or that lacks its packages."""
    missing = [need for need in selector.needs if need in FILES_OF_THEIR_OWN]
    if missing:
        raise OptionError(f"{selector.name} needs a {missing[0]} of its own; use it from Python or the command line")
    if "peers" in selector.needs:
        from importlib.util import find_spec

        if find_spec("pywt") is None or find_spec("scipy") is None:
            raise OptionError(f"{selector.name} needs more packages: pip install 'framesift[peers]'")


def ranks(selection: Selection) -> dict[int, int]:
    """From 1, by candidate: words and direct hits in turn, the best of each first, then what fills the story."""
    events = selection.trace.get("ground", {}).get("events", ())
    scores = {row["index"]: row["score"] for row in events if row.get("index") is not None}
    by_role: dict[str, list[int]] = {role: [] for role in ROLES}
    for slot in sorted(selection.slots, key=lambda slot: (-scores.get(slot.index, slot.relevance), slot.index)):
        by_role[slot.role].append(slot.index)
    turns = itertools.zip_longest(by_role["ground"], by_role["visual"])
    order = [index for turn in turns for index in turn if index is not None]
    order += [*by_role["refined"], *by_role["context"]]
    return {index: rank for rank, index in enumerate(order, 1)}


def _own_options(method: str, ask: Ask) -> dict[str, Any]:
    """The request's settings for this method; a setting of the wrong kind is a sentence, not a crash."""
    given = ask.settings.get(method, {})
    known = get_selector(method).options
    check_options(method, given, known)
    for name, value in given.items():
        if name in FILES_OF_THEIR_OWN:
            raise OptionError(f"{name} can't be set from a request")
        default = known[name]
        if default is not None and not _is_like(value, default):
            raise OptionError(f"{name} is {value!r}; expected a {_kind(default)}, as its default {default!r}")
    return dict(given)


def _is_like(value: object, default: object) -> bool:
    if isinstance(default, bool) or isinstance(value, bool):
        return isinstance(value, bool) and isinstance(default, bool)
    if isinstance(default, float):
        return isinstance(value, int | float) and abs(value) < 1e9
    if isinstance(default, int):
        return isinstance(value, int) and abs(value) < 2**31
    return isinstance(value, type(default))


def _kind(default: object) -> str:
    return {bool: "yes or no", int: "whole number", float: "number", str: "text"}.get(type(default), "value")


def _album_of_addresses(film: Film, version: str, selection: Selection, size: tuple[int, int]) -> Album:
    told = reasons(selection)

    def address(time_s: float) -> str:
        return f"/api/videos/{film.id}/frames/{time_s:.6f}.jpg?v={version}"

    return Album(
        told,
        pages=[address(time_s) for time_s in selection.times_s],
        sizes=[size] * len(selection),
        near={near.time_s: address(near.time_s) for reason in told for near in reason.nearly},
    )
