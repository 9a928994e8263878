"""The exhibit: a selection's real frames, fetched from the video, with their events' text drawn on them."""

import os
import random
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, get_args

from PIL import Image

from framesift._utils.text import clock
from framesift._utils.version import __version__
from framesift.errors import InputError, OptionError
from framesift.progress import as_progress
from framesift.rendering.overlay import render
from framesift.store.fingerprint import fingerprint
from framesift.types import Event, Question, Selection, Slot, VideoInfo
from framesift.video.frames import fetch, frame_numbers, probe

Overlay = Literal["aligned", "blank", "shuffled", "none"]
OVERLAYS: tuple[Overlay, ...] = get_args(Overlay)
# Pictures that take up to this much memory together are kept for the next look; larger ones are decoded again.
KEPT_BYTES = 512 * 2**20
Scales = tuple[tuple[int, float], ...]
# Zhang et al., "Q-Frame", ICCV 2025: fewer tokens for frames that matter less.
Q_FRAME_SCALES: Scales = ((4, 1 / 2), (8, 1 / 4), (32, 1 / 8))


@dataclass(frozen=True)
class Frame:
    """One frame of an exhibit: its slot, its number in the video (from 0, by presentation), and the words on it."""

    slot: Slot
    number: int
    text: str = ""


@dataclass(frozen=True, eq=False)
class Exhibit:
    """A selection made visible. Iterate over `pictures()`; `save` writes all of it to a folder.

    overlay: "aligned" draws each event's text on its own frame; "blank" the same band without text, "shuffled" the same
    texts on each other's frames (by `seed`), "none" nothing: the three controls of the paper's ablation.
    size: the shorter side in pixels, None for the video's own. scales: (count, scale) pairs that shrink frames by their
    rank of relevance: with `Q_FRAME_SCALES`, the 4 most relevant to 1/2, the next 8 to 1/4, the others to 1/8.
    """

    video: Path
    info: VideoInfo
    selection: Selection
    numbers: tuple[int, ...]
    overlay: Overlay = "aligned"
    seed: int = 0
    size: int | None = None
    scales: Scales = ()
    _bare: dict[float, Image.Image] = field(default_factory=dict, repr=False)

    @property
    def question(self) -> Question | None:
        return None if self.selection.basis is None else self.selection.basis.question

    @cached_property
    def frames(self) -> tuple[Frame, ...]:
        """The frames in chronological order, with the words this overlay puts on each."""
        texts = {
            "aligned": self._texts,
            "shuffled": _shuffled(self._texts, self.seed),
        }.get(self.overlay, [""] * len(self.selection))
        rows = zip(self.selection.slots, self.numbers, texts, strict=True)
        return tuple(Frame(slot, number, text) for slot, number, text in rows)

    def __len__(self) -> int:
        return len(self.selection)

    def __repr__(self) -> str:
        return f"Exhibit({self.video.name!r}, {len(self)} frames, overlay {self.overlay!r})"

    def pictures(self) -> Iterator[Image.Image]:
        """Each frame's picture as a reader sees it, in the order of `frames`, decoded in one pass."""
        for place, (_, picture) in enumerate(self.bare_pictures(self.selection.times_s)):
            yield self.draw(place, picture)

    def draw(self, place: int, picture: Image.Image) -> Image.Image:
        """The bare picture of the frame at this place, in its size, with what this overlay puts on it."""
        scale = self._scale_of(place)
        if scale != 1:
            size = (max(1, round(picture.width * scale)), max(1, round(picture.height * scale)))
            picture = picture.resize(size, Image.Resampling.LANCZOS)
        if self.overlay == "blank":
            return render(picture, self._texts[place], blank=True)
        return render(picture, self.frames[place].text)

    def bare_pictures(self, times_s: Sequence[float]) -> Iterator[tuple[float, Image.Image]]:
        """The video's own pictures at these candidates' times, ascending, each once, nothing drawn on them."""
        wanted = sorted(set(times_s))
        if all(time_s in self._bare for time_s in wanted):
            yield from ((time_s, self._bare[time_s]) for time_s in wanted)
            return
        kept = sum(3 * picture.width * picture.height for picture in self._bare.values())
        for time_s, (_, array) in zip(wanted, fetch(self.video, wanted, short_side=self.size), strict=True):
            picture = Image.fromarray(array)
            kept += array.nbytes
            if kept <= KEPT_BYTES:
                self._bare[time_s] = picture
            yield time_s, picture

    def with_overlay(self, overlay: Overlay, *, seed: int | None = None) -> "Exhibit":
        """The same frames with another overlay; nothing is decoded twice that is still kept."""
        return replace(self, overlay=_checked_overlay(overlay), seed=self.seed if seed is None else seed)

    def to_dict(self) -> dict[str, Any]:
        """The selection with the video, each slot's frame number and words: what `selection.json` holds."""
        data = self.selection.to_dict()
        for slot, frame in zip(data["slots"], self.frames, strict=True):
            slot |= {"clock": clock(frame.slot.time_s), "frame": frame.number, "text": frame.text}
        info = self.info
        video = {"name": self.video.name, "duration_s": info.duration_s, "width": info.width, "height": info.height}
        video |= {"fps": info.fps, "codec": info.codec, "fingerprint": fingerprint(self.video)}
        return {
            "schema": data["schema"],
            "framesift": __version__,
            "video": video,
            "overlay": {"mode": self.overlay, "seed": self.seed},
            "size": {"shorter_side": self.size, "scales": [list(pair) for pair in self.scales]},
            **data,
        }

    def save(
        self,
        folder: str | os.PathLike[str],
        *,
        force: bool = False,
        as_zip: bool = False,
        with_video: bool = False,
        formats: Sequence[str] = (),
        row: Mapping[str, Any] | None = None,
        progress: Callable[..., Any] | None = None,
    ) -> Path:
        """Write frames/, selection.json, sheet.jpg and report.html, and give back the folder (or the zip file).

        force: replace an exhibit that is there. with_video: put the video beside the report, which then plays it.
        formats: hand-over files to add, of `handover.FORMATS`; row: what the question's own file says of it, which
        those keep. Nothing appears under the name until all of it is written.
        """
        from framesift.rendering.export import save

        return save(
            self,
            folder,
            force=force,
            as_zip=as_zip,
            with_video=with_video,
            formats=formats,
            row=row or {},
            progress=as_progress(progress),
        )

    def _scale_of(self, place: int) -> float:
        """Frames beyond all counts have the last scale."""
        slots = self.selection.slots
        rank = sorted(range(len(slots)), key=lambda k: (-slots[k].relevance, k)).index(place) if self.scales else 0
        for count, scale in self.scales:
            if rank < count:
                return scale
            rank -= count
        return self.scales[-1][1] if self.scales else 1.0

    @property
    def _texts(self) -> list[str]:
        return ["" if slot.event is None else slot.event.text for slot in self.selection.slots]


def exhibit(
    video: str | os.PathLike[str],
    selection: Selection,
    size: int | None = None,
    *,
    overlay: Overlay = "aligned",
    seed: int = 0,
    scales: Scales = (),
) -> Exhibit:
    """Fetch a selection's frames from the video it was made on.

    size: the shorter side in pixels, by default the video's own. overlay, seed and scales as in `Exhibit`. Only
    slots with an event are drawn on; `events_for` gives events to the slots of a selector that has none.
    """
    check_exhibit_options(overlay, size, scales)
    path = Path(video)
    if not len(selection):
        raise InputError("the selection has no frames; expected at least one")
    numbers = frame_numbers(path, selection.times_s)
    return Exhibit(path, probe(path), selection, tuple(numbers), overlay, seed, size, scales)


def check_exhibit_options(overlay: str, size: int | None, scales: Scales) -> None:
    """Reject an unknown overlay, a size below one pixel, and scales that do not shrink."""
    _checked_overlay(overlay)
    if size is not None and (isinstance(size, bool) or not isinstance(size, int) or size < 1):
        raise OptionError(f"size is {size!r}; expected a number of pixels, at least 1")
    for count, scale in scales:
        if not (isinstance(count, int) and count > 0 and 0 < scale <= 1):
            raise OptionError(f"scales has ({count!r}, {scale!r}); expected pairs of a count and a scale of at most 1")


def events_for(selection: Selection, events: Sequence[Event]) -> Selection:
    """The selection with, on each slot, the event on screen at its time (of several, the one that came last).

    A selection whose method grounds its frames in events itself comes back as it is: it has said which text matters.
    """
    if "ground" in selection.trace or any(slot.event for slot in selection.slots):
        return selection
    ordered = sorted(events, key=lambda event: event.start_s)
    starts = [event.start_s for event in ordered]
    slots = []
    for slot in selection.slots:
        begun = ordered[: bisect_right(starts, slot.time_s)]
        latest = max((event for event in begun if event.end_s >= slot.time_s), key=lambda e: e.start_s, default=None)
        slots.append(replace(slot, event=latest))
    return replace(selection, slots=tuple(slots))


def _checked_overlay(overlay: str) -> Overlay:
    for known in OVERLAYS:
        if overlay == known:
            return known
    raise OptionError(f"overlay is {overlay!r}; expected one of {', '.join(OVERLAYS)}")


def _shuffled(texts: list[str], seed: int) -> list[str]:
    """The texts on each other's frames: one cycle through all of them (Sattolo), so that none stays where it was."""
    rng = random.Random(seed)  # noqa: S311 (a repeatable draw, no secret)
    places = [k for k, text in enumerate(texts) if text]
    order = places.copy()
    for k in range(len(order) - 1, 0, -1):
        other = rng.randrange(k)
        order[k], order[other] = order[other], order[k]
    shuffled = list(texts)
    for place, source in zip(places, order, strict=True):
        shuffled[place] = texts[source]
    return shuffled
