"""What is known of each video: its facts, whether it is ready, its index and its words.

A video is ready when its index is in the library and its words have been looked for; both are what `framesift select`
would use, made by the same calls with the same options.
"""

import json
import logging
import threading
from collections import OrderedDict
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Generic, TypeVar

from framesift._utils.text import readable
from framesift.errors import FramesiftError
from framesift.progress import Progress
from framesift.server.config import Settings
from framesift.server.files import Film, Shelf, write_json
from framesift.server.jobs import Job, Report
from framesift.store.events import Found, search_events
from framesift.store.fingerprint import fingerprint
from framesift.store.indexing import index, key_of
from framesift.store.store import Key, Store
from framesift.text.subtitles import find_sidecars
from framesift.types import VideoIndex
from framesift.video.frames import probe

KEPT = 4  # videos' indexes in memory: an hour at one frame a second and 1152 numbers each is 16 MiB
T = TypeVar("T")

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Facts:
    """What a video file says of itself, or the sentence that says why it can't be read."""

    fingerprint: str = ""
    duration_s: float = 0.0
    width: int = 0
    height: int = 0
    fps: float = 0.0
    codec: str = ""
    has_audio: bool = False
    problem: str = ""

    @property
    def version(self) -> str:
        """Stands in the addresses of pictures, so that no browser shows those of a file that has been replaced."""
        return self.fingerprint[:16]


@dataclass(frozen=True)
class Words:
    """How much timestamped text a video has and where it came from, as shown beside it."""

    events: int
    sources: list[dict[str, Any]]
    notes: list[str]


class _Newer(Exception):
    """Subtitles have come while words were looked for elsewhere."""


class NotReady(FramesiftError):
    """A question put to a video that is not indexed yet."""


class Recent(Generic[T]):
    """What was used last, a few of it; each is made once, and while it is being made the others can be had."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._held: OrderedDict[str, T] = OrderedDict()
        self._lock = threading.Lock()
        self._making = [threading.Lock() for _ in range(16)]

    def get(self, key: str, make: Callable[[], T]) -> T:
        held = self._find(key)
        if held is not None:
            return held
        with self._making[hash(key) % len(self._making)]:
            held = self._find(key)  # somebody else may have made it meanwhile
            if held is None:
                held = make()
                with self._lock:
                    self._held[key] = held
                    while len(self._held) > self._most:
                        self._held.popitem(last=False)
            return held

    def _find(self, key: str) -> T | None:
        with self._lock:
            if key in self._held:
                self._held.move_to_end(key)
            return self._held.get(key)


class Catalog:
    """Facts are looked up once per state of a file and kept on the disk; a few indexes and words in memory."""

    def __init__(self, settings: Settings, shelf: Shelf, changed: Callable[[], None]) -> None:
        self.settings, self.shelf, self._changed = settings, shelf, changed
        self.store = Store(settings.store)
        self._folder = settings.state / "facts"
        self._facts: dict[str, Facts] = {}
        self._indexes: Recent[VideoIndex] = Recent(KEPT)
        self._found: Recent[Found] = Recent(KEPT)
        self._wanted = threading.Event()
        self._stopping = False
        self._scout = threading.Thread(target=self._look_around, name="framesift-scout", daemon=True)

    def start(self) -> None:
        self._scout.start()
        threading.Thread(target=self._warm_up, name="framesift-warm-up", daemon=True).start()

    def stop(self) -> None:
        self._stopping = True
        self._wanted.set()

    @cached_property
    def _key(self) -> Key:
        """The key of any video but for its fingerprint; telling encoders apart reads their weights once."""
        return key_of("", self.settings.encoder, self.settings.fps, self.settings.mode)

    def facts(self, film: Film, *, wait: bool = False) -> Facts | None:
        """What is known; None while it is still being looked up, which a listing does not wait for."""
        try:
            stamp = film.stamp
        except OSError:
            return Facts(problem=f"{film.name!r} is no longer there")
        known = self._facts.get(stamp) or self._kept_facts(stamp)
        if wait and (known is None or known.problem):  # whoever waits may have mended what was wrong
            known = self._probed(film, stamp)
        if known is None:
            self._wanted.set()
        return known

    def is_indexed(self, film: Film) -> bool:
        facts = self.facts(film)
        if facts is None or facts.problem:
            return False
        return self.store.has(replace(self._key, video=facts.fingerprint))

    def words(self, film: Film) -> Words | None:
        """What was found the last time the video's words were looked for; None before that."""
        try:
            data = json.loads(self._words_file(film).read_text(encoding="utf-8"))
            return Words(**data)
        except (OSError, ValueError, TypeError):
            return None

    def is_ready(self, film: Film) -> bool:
        return self.is_indexed(film) and self.words(film) is not None

    def make_ready(self, film: Film, report: Report) -> None:
        """Index the video, look for its words and encode them: all that a question then finds at hand."""
        settings = self.settings
        try:
            made = index(
                film.path,
                settings.encoder,
                settings.fps,
                settings.mode,
                progress=report,
                store=self.store,
                device=settings.device,
            )
            while True:
                beside = self._beside_now(film)
                report("looking for words", 0, 0)
                found = self._newest_words(film, report)
                self._encode_words(made, found, lambda _, done, total: report("reading the words", done, total))
                if self._beside_now(film) == beside:  # else subtitles have come meanwhile
                    break
        except FramesiftError as error:
            raise FramesiftError(plain(error, film)) from error
        self._keep_words(film, found)

    def index(self, film: Film) -> VideoIndex:
        """The video's index, from memory or from the library; NotReady where there is none."""
        return self._indexes.get(film.stamp, lambda: self._loaded(film))

    def _loaded(self, film: Film) -> VideoIndex:
        if not self.is_ready(film):
            raise NotReady(f"{film.name!r} is not indexed yet; index it first")
        settings = self.settings
        return index(
            film.path,
            settings.encoder,
            settings.fps,
            settings.mode,
            progress=_not_now,
            store=self.store,
            device=settings.device,
        )

    def found(self, film: Film) -> Found:
        """The video's words; a subtitle file put beside it later is seen at the next question."""

        def search() -> Found:
            found = self._search(film, _not_now)
            self._keep_words(film, found)
            return found

        return self._found.get("|".join([film.stamp, *self._beside_now(film)]), search)

    def beside(self, film: Film) -> list[Path]:
        """The subtitle files beside a video, the one that is used first."""
        return find_sidecars(film.path, language=self.settings.language)

    def _beside_now(self, film: Film) -> list[str]:
        """The same, each with the state that it is in."""
        rows = []
        for path in self.beside(film):
            with suppress(FileNotFoundError):  # gone since it was listed
                rows.append(f"{path}:{path.stat().st_mtime_ns}")
        return rows

    def _newest_words(self, film: Film, report: Report) -> Found:
        """The words; subtitles that come while speech is listened to, as with an upload, are taken instead of it."""
        while True:
            beside = self._beside_now(film)

            def watch(what: str, done: float, total: float, beside: list[str] = beside) -> None:
                report(what, done, total)
                if self._beside_now(film) != beside:
                    raise _Newer

            with suppress(_Newer):
                return self._search(film, watch)

    def work(self, job: Job, report: Report) -> None:
        """What the queue does with a job."""
        if job.kind == "sample":
            from framesift.store.sample_video import sample_video

            self.shelf.uploads.mkdir(parents=True, exist_ok=True)
            path = sample_video(
                self.shelf.uploads, progress=lambda _, done, total: report("making the video", done, total)
            )
            film = next((one for one in self.shelf.films() if one.path == path), None)
        else:
            film = self.shelf.get(job.video)
        if film is None:
            raise FramesiftError(f"{job.name!r} is no longer there")
        self.make_ready(film, report)

    def _search(self, film: Film, progress: Progress) -> Found:
        settings = self.settings
        return search_events(
            film.path,
            language=settings.language,
            recognise_speech=settings.speech,
            screen_text=settings.screen_text,
            store=self.store,
            progress=progress,
        )

    def _encode_words(self, made: VideoIndex, found: Found, progress: Progress) -> None:
        from framesift.encoders.base import get_encoder, get_text_encoder
        from framesift.store.text_vectors import kept_vectors

        if found.events:
            named = self.settings.event_encoder
            model = get_encoder(made.encoder) if named is None else get_text_encoder(named)
            kept_vectors(model, [event.text for event in found.events], self.store.root, progress=progress)

    def _keep_words(self, film: Film, found: Found) -> None:
        sources = [asdict(source) | {"name": readable(Path(source.name).name)} for source in found.sources]
        notes = [plain(note, film) for note in found.notes]
        write_json(self._words_file(film), asdict(Words(len(found.events), sources, notes)))

    def _words_file(self, film: Film) -> Path:
        return self._folder / f"{film.stamp}.words.json"

    def _kept_facts(self, stamp: str) -> Facts | None:
        try:
            facts = Facts(**json.loads((self._folder / f"{stamp}.json").read_text(encoding="utf-8")))
        except (OSError, ValueError, TypeError):
            return None
        self._facts[stamp] = facts
        return facts

    def _probed(self, film: Film, stamp: str) -> Facts:
        try:
            info = probe(film.path)
            mark = fingerprint(film.path)
            facts = Facts(mark, info.duration_s, info.width, info.height, info.fps, info.codec, info.has_audio)
        except (FramesiftError, OSError) as error:
            facts = Facts(problem=plain(error, film))
        self._forget(film, stamp)
        self._facts[stamp] = facts
        if not facts.problem:  # problems pass: a file may be made readable without being changed
            try:
                write_json(self._folder / f"{stamp}.json", asdict(facts))
            except OSError as error:
                log.warning("facts of %s can't be kept (%s)", film.name, error)
        return facts

    def _forget(self, film: Film, stamp: str) -> None:
        """Drop what was known of earlier states of a file; one that is being written changes all the time."""
        for old in [key for key in self._facts if key.startswith(f"{film.id}-") and key != stamp]:
            self._facts.pop(old, None)
        for path in self._folder.glob(f"{film.id}-*.json"):
            if not path.name.startswith(f"{stamp}."):
                path.unlink(missing_ok=True)

    def _warm_up(self) -> None:
        """Load the encoder of words before the first question, where there is a video to ask."""
        from framesift.encoders.base import get_encoder

        try:
            if any(self.is_ready(film) for film in self.shelf.films()):
                get_encoder(self._key.encoder).encode_texts(["a question"])
        except (FramesiftError, OSError) as error:
            log.info("nothing was warmed up: %s", error)

    def _look_around(self) -> None:
        """Look up what a listing asked for in vain, one file after the other."""
        while not self._stopping:
            self._wanted.wait()
            self._wanted.clear()
            try:
                for film in self.shelf.films():
                    if self._stopping:
                        return
                    self._look_at(film)
            except Exception:  # whatever one file does, the next listing must find this at work
                log.exception("the videos could not be looked through")

    def _look_at(self, film: Film) -> None:
        try:
            stamp = film.stamp
            if stamp not in self._facts and self._kept_facts(stamp) is None:
                self._probed(film, stamp)
                self._changed()
        except OSError:
            log.info("%s has gone since it was listed", film.name)


def plain(error: object, film: Film) -> str:
    """A sentence for the page: files by the names shown there, never by where they lie on the disk."""
    path = str(film.path)
    said = str(error).replace(repr(path), repr(film.name)).replace(path, film.name)
    return readable(said.replace(f"{film.path.parent}/", ""))


def _not_now(*_: object) -> None:
    """Work that takes long has no place inside a request: it belongs into the queue."""
    raise NotReady("what this video needs is no longer in the library; index it again")
