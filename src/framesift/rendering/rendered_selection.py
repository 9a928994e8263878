"""The frames of a selection, decoded from the video, with the text of their events drawn on them."""

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self, get_args

from PIL import Image

from framesift._utils.text import clock, counted, readable, rounded_clock
from framesift._utils.version import __version__
from framesift.errors import InputError, OptionError
from framesift.store.fingerprint import fingerprint
from framesift.types import Question, Selection, Slot, VideoInfo
from framesift.types.vectors import Array
from framesift.video.frames import fetch_available

if TYPE_CHECKING:
    from framesift.rendering.cards import MemoryCard

Overlay = Literal["aligned", "blank", "shuffled", "none", "memorycard"]
OVERLAYS: tuple[Overlay, ...] = get_args(Overlay)
# Decoded images are cached up to this size in all; those beyond it are decoded again.
CACHE_BYTES = 512 * 2**20


@dataclass(frozen=True)
class Frame:
    """One frame of an exhibit: its slot, its number in the video (from 0, in presentation order) and the text on it.

    is_damaged: it was decoded with errors.
    """

    slot: Slot
    number: int
    text: str = ""
    is_damaged: bool = False


@dataclass(frozen=True)
class ShownVideo:
    """A video of an exhibit: its name among several, its file, and where it starts on their joint timeline."""

    name: str
    path: Path
    info: VideoInfo
    start_s: float = 0.0

    @classmethod
    def alone(cls, path: Path, info: VideoInfo) -> "ShownVideo":
        return cls(path.name, path, info)

    def to_dict(self) -> dict[str, Any]:
        info = self.info
        video = {"name": self.name, "duration_s": info.duration_s, "width": info.width, "height": info.height}
        return video | {"fps": info.fps, "codec": info.codec, "fingerprint": fingerprint(self.path)}


@dataclass(frozen=True, eq=False)
class RenderedSelection:
    """A selection with the images of its frames; `Exhibit` is one that can be saved.

    overlay: "aligned" draws each event's text on its own frame; "blank" the same band without text, "shuffled" the same
    texts on each other's frames (by `seed`), "none" nothing: the three controls of the paper's ablation. "memorycard"
    puts each frame under a header with what is said around it, on a canvas of the frame's size.
    size: the shorter side in pixels, None for the video's own.
    several: the videos, where there are several; `video` is then the first, and `info` has the joint duration.
    """

    video: Path
    info: VideoInfo
    selection: Selection
    numbers: tuple[int, ...]
    overlay: Overlay = "aligned"
    seed: int = 0
    size: int | None = None
    several: tuple[ShownVideo, ...] = ()
    _decoded: dict[float, Image.Image] = field(default_factory=dict, repr=False)

    @property
    def question(self) -> Question | None:
        return None if self.selection.basis is None else self.selection.basis.question

    @cached_property
    def videos(self) -> tuple[ShownVideo, ...]:
        """The videos in the order of the joint timeline: one or several."""
        return self.several or (ShownVideo.alone(self.video, self.info),)

    @property
    def names(self) -> list[str]:
        """The names of the videos, writable anywhere."""
        return [readable(video.name) for video in self.videos]

    def place(self, time_s: float) -> tuple[ShownVideo, float]:
        """The video at a time of the joint timeline, and the time in it."""
        video = next(video for video in reversed(self.videos) if time_s >= video.start_s or video is self.videos[0])
        return video, round(time_s - video.start_s, 6) if self.several else time_s

    def label(self, time_s: float, text: Callable[[float], str] = clock) -> str:
        """A time as people read it, after the name of its video where there are several."""
        video, own_s = self.place(time_s)
        return f"{readable(video.name)} {text(own_s)}" if self.several else text(own_s)

    @cached_property
    def frames(self) -> tuple[Frame, ...]:
        """The frames in chronological order, each with the text that this overlay draws on it."""
        texts = {
            "aligned": self._texts,
            "shuffled": _shuffle(self._texts, self.seed),
            "memorycard": [card.text for card in self._cards],
        }.get(self.overlay, [""] * len(self.selection))
        damaged = set() if self.selection.basis is None else set(self.selection.basis.damaged)
        rows = zip(self.selection.slots, self.numbers, texts, strict=True)
        return tuple(Frame(slot, number, text, slot.index in damaged) for slot, number, text in rows)

    def __len__(self) -> int:
        return len(self.selection)

    def __repr__(self) -> str:
        names, frames = ", ".join(self.names), counted(len(self), "frame")
        return f"{type(self).__name__}({names!r}, {frames}, overlay {self.overlay!r})"

    def pictures(self) -> Iterator[Image.Image]:
        """Yield each frame's image as a reader sees it, in the order of `frames`, decoded in one pass."""
        for position, (_, image) in enumerate(self.bare_pictures(self.selection.times_s)):
            yield self.draw(position, image)

    def draw(self, place: int, picture: Image.Image) -> Image.Image:
        """Draw the overlay on the decoded image of the frame at this position."""
        # These load the typesetting, which times and JSON don't need.
        from framesift.rendering.cards import render_card
        from framesift.rendering.overlay import render

        if self.overlay == "memorycard":
            return render_card(picture, self._cards[place])
        if self.overlay == "blank":
            return render(picture, self._texts[place], blank=True)
        return render(picture, self.frames[place].text)

    def bare_pictures(self, times_s: Sequence[float]) -> Iterator[tuple[float, Image.Image]]:
        """Yield the decoded images at these candidate times, ascending, each once, without overlay.

        A frame that can't be decoded is an InputError if it is selected, else it is skipped.
        """
        for time_s, image in self._available_pictures(times_s):
            if image is not None:
                yield time_s, image
            elif time_s in self.selection.times_s:
                video, own_s = self.place(time_s)
                raise InputError(f"{video.path} can't be decoded at {rounded_clock(own_s)}; the file is damaged there")

    def _available_pictures(self, times_s: Sequence[float]) -> Iterator[tuple[float, Image.Image | None]]:
        """Yield the images at these times, ascending, each once; None for one that can't be decoded."""
        times_s = sorted(set(times_s))
        cached_bytes = sum(3 * image.width * image.height for image in self._decoded.values())
        new_s = [time_s for time_s in times_s if time_s not in self._decoded]
        fetched = self._fetch(new_s)
        is_new = set(new_s)
        for time_s in times_s:
            if time_s not in is_new:
                yield time_s, self._decoded[time_s]
                continue
            array = next(fetched)
            image = None if array is None else Image.fromarray(array)
            if array is not None and image is not None:
                cached_bytes += array.nbytes
                if cached_bytes <= CACHE_BYTES:
                    self._decoded[time_s] = image
            yield time_s, image

    def _fetch(self, times_s: Sequence[float]) -> "Iterator[Array | None]":
        """Decode the frames at these ascending times, video by video."""
        for video in self.videos:
            own_s = [self.place(time_s)[1] for time_s in times_s if self.place(time_s)[0] is video]
            if own_s:
                yield from (image for _, image in fetch_available(video.path, own_s, short_side=self.size))

    def with_overlay(self, overlay: Overlay, *, seed: int | None = None) -> Self:
        """The same frames with another overlay; cached images are not decoded again."""
        return replace(self, overlay=check_overlay(overlay), seed=self.seed if seed is None else seed)

    def to_dict(self) -> dict[str, Any]:
        """The contents of `selection.json`: the selection, the video, and each slot's frame number, text and damage."""
        data = self.selection.to_dict()
        for slot, frame in zip(data["slots"], self.frames, strict=True):
            video, own_s = self.place(frame.slot.time_s)
            slot |= {"clock": clock(own_s), "frame": frame.number, "text": frame.text}
            slot["damaged"] = frame.is_damaged
            slot |= {"video": video.name, "video_time_s": own_s} if self.several else {}
        several = {"videos": [video.to_dict() | {"start_s": video.start_s} for video in self.several]}
        return {
            "schema": data["schema"],
            "framesift": __version__,
            **(several if self.several else {"video": self.videos[0].to_dict()}),
            "overlay": {"mode": self.overlay, "seed": self.seed},
            "size": {"shorter_side": self.size},
            **data,
        }

    @cached_property
    def _cards(self) -> "list[MemoryCard]":
        from framesift.rendering.cards import memory_cards

        return memory_cards(self.selection) if self.overlay == "memorycard" else []

    @property
    def _texts(self) -> list[str]:
        return ["" if slot.event is None else slot.event.text for slot in self.selection.slots]


def check_overlay(overlay: str) -> Overlay:
    for name in OVERLAYS:
        if overlay == name:
            return name
    raise OptionError(f"overlay is {overlay!r}; expected one of {', '.join(OVERLAYS)}")


def _shuffle(texts: list[str], seed: int) -> list[str]:
    """Move each text to another frame that has one, by one cycle through all of them (Sattolo's algorithm)."""
    rng = random.Random(seed)  # noqa: S311 (reproducible, not a secret)
    positions = [k for k, text in enumerate(texts) if text]
    sources = positions.copy()
    for k in range(len(sources) - 1, 0, -1):
        other = rng.randrange(k)
        sources[k], sources[other] = sources[other], sources[k]
    shuffled = list(texts)
    for position, source in zip(positions, sources, strict=True):
        shuffled[position] = texts[source]
    return shuffled
