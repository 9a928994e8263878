"""The frames of a selection, decoded from the video, with the text of their events drawn on them."""

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import groupby, islice
from operator import itemgetter
from pathlib import Path
from typing import Any, Literal, Self, get_args, overload

import numpy as np
from PIL import Image

from framesift._utils.text import clock, counted, readable, rounded_clock
from framesift._utils.version import __version__
from framesift.errors import InputError, OptionError
from framesift.rendering.reasons import explain
from framesift.selection.explainer import Reason
from framesift.store.fingerprint import fingerprint
from framesift.types import Basis, Question, Role, Selection, Slot, VideoInfo
from framesift.types.vectors import Array
from framesift.video.frames import fetch_available, frame_numbers, on_screen_times
from framesift.video.given_frames import GivenFrames

Overlay = Literal["aligned", "blank", "shuffled", "none"]
OVERLAYS: tuple[Overlay, ...] = get_args(Overlay)
BURST_STEP_S = 0.2
# Decoded images are cached up to this size in all; those beyond it are decoded again.
CACHE_BYTES = 512 * 2**20


@dataclass(frozen=True, eq=False, repr=False)
class Frame:
    """One selected frame of a video.

    Attributes:
        slot: Its place among the candidates, its role and its event.
        text: What is drawn on it; "" for nothing.
        is_damaged: Whether it was decoded with errors.
    """

    slot: Slot
    text: str
    is_damaged: bool
    _position: int
    _exhibit: "RenderedSelection"
    _load: Callable[[int], Image.Image]

    @property
    def time_s(self) -> float:
        """When it is shown, in seconds; of several videos, on their joint timeline."""
        return self.slot.time_s

    @property
    def index(self) -> int:
        """Its position among the candidates of the index."""
        return self.slot.index

    @property
    def role(self) -> Role:
        """What it was selected for."""
        return self.slot.role

    @property
    def relevance(self) -> float:
        """How well the image matches the question: a cosine."""
        return self.slot.relevance

    @property
    def number(self) -> int:
        """Its number in the video, from 0, in the order of presentation."""
        return self._exhibit.numbers[self._position]

    @property
    def reason(self) -> str:
        """A sentence that says why it was selected."""
        return self._exhibit.reasons[self._position].why[0]

    @cached_property
    def image(self) -> Image.Image:
        """The image with its text, decoded when it is first used."""
        return self._load(self._position)

    def __repr__(self) -> str:
        return f"Frame({self._exhibit.label(self.time_s)}, {self.role}, {self.text!r})"


@dataclass(frozen=True)
class ShownVideo:
    """A video of an exhibit: its name among several, its file, and where it starts on their joint timeline."""

    name: str
    path: Path
    info: VideoInfo
    start_s: float = 0.0
    frames: GivenFrames | None = None

    def numbers(self, times_s: Sequence[float]) -> list[int]:
        """The numbers of the frames at these times, from 0."""
        return frame_numbers(self.path, times_s) if self.frames is None else self.frames.find(times_s)

    def on_screen(self, times_s: Sequence[float]) -> list[float]:
        """When the frames on screen at these times are shown."""
        if self.frames is None:
            return on_screen_times(self.path, times_s)
        return [float(self.frames.times_s[k]) for k in self.frames.find(times_s)]

    def fetch(self, times_s: Sequence[float], short_side: int | None) -> Iterator[Array | None]:
        """Decode the frames at these ascending times; None for one that can't be decoded."""
        if self.frames is None:
            return (image for _, image in fetch_available(self.path, times_s, short_side=short_side))
        scale = min(1.0, (short_side or min(self.frames.size)) / min(self.frames.size))
        width, height = (max(1, round(scale * side)) for side in self.frames.size)
        return (self.frames.images([k], size=(width, height))[0] for k in self.frames.find(times_s))

    def to_dict(self) -> dict[str, Any]:
        info = self.info
        video = {"name": self.name, "duration_s": info.duration_s, "width": info.width, "height": info.height}
        return video | {
            "fps": info.fps,
            "codec": info.codec,
            "fingerprint": "" if self.frames else fingerprint(self.path),
        }


@dataclass(frozen=True, eq=False)
class RenderedSelection:
    """A selection with the images of its frames: `images()` yields them. `Exhibit` is one that can be saved.

    overlay: "aligned" draws each event's text on its own frame; "blank" the same band without text, "shuffled" the same
    texts on each other's frames (by `seed`), "none" nothing: the three controls of the paper's ablation.
    videos: one, or several in the order of their joint timeline. size: the shorter side in pixels, None for the
    video's own.
    """

    videos: tuple[ShownVideo, ...]
    selection: Selection
    overlay: Overlay
    seed: int
    size: int | None
    _decoded: dict[float, Image.Image] = field(default_factory=dict, repr=False)

    @property
    def indices(self) -> list[int]:
        """The frames' positions among the candidates, ascending."""
        return self.selection.indices

    @property
    def times_s(self) -> list[float]:
        """When the frames are shown, in seconds, ascending."""
        return self.selection.times_s

    @property
    def method(self) -> str:
        """The name of the selector."""
        return self.selection.method

    @property
    def trace(self) -> Mapping[str, Any]:
        """What was decided and why: JSON values."""
        return self.selection.trace

    @property
    def warnings(self) -> tuple[str, ...]:
        """What was lost, guessed or odd in the video, its text and this selection."""
        return self.selection.warnings

    @property
    def basis(self) -> Basis:
        """The data the selection was made from; one without candidates where that is not recorded."""
        return self.selection.basis or Basis(np.zeros(0), np.zeros(0), self.info.duration_s)

    @property
    def question(self) -> Question | None:
        return self.basis.question

    @property
    def video(self) -> Path:
        """The file, of several the first."""
        return self.videos[0].path

    @property
    def info(self) -> VideoInfo:
        """Facts about the video, of several about the first, with the joint duration."""
        last = self.videos[-1]
        return replace(self.videos[0].info, duration_s=last.start_s + last.info.duration_s)

    @property
    def several(self) -> bool:
        return len(self.videos) > 1

    @property
    def names(self) -> list[str]:
        """The names of the videos, writable anywhere."""
        return [readable(video.name) for video in self.videos]

    def place(self, time_s: float) -> tuple[ShownVideo, float]:
        """The video at a time of the joint timeline, and the time in it."""
        return _place(self.videos, time_s)

    def label(self, time_s: float, write: Callable[[float], str] = clock) -> str:
        """A time as people read it, after the name of its video where there are several."""
        video, own_s = self.place(time_s)
        return f"{readable(video.name)} {write(own_s)}" if self.several else write(own_s)

    @cached_property
    def numbers(self) -> tuple[int, ...]:
        """The frames' numbers in their videos, from 0, in the order of presentation; read from the file's packets."""
        by_video = frames_by_video(self.videos, self.times_s)
        return tuple(number for video, own_s in by_video for number in video.numbers(own_s))

    @cached_property
    def reasons(self) -> list[Reason]:
        """Why each frame was selected."""
        return explain(self.selection)

    @cached_property
    def frames(self) -> tuple[Frame, ...]:
        """The frames in chronological order, each with the text that this overlay draws on it."""
        return tuple(self._frames(self.image))

    def _frames(self, load: Callable[[int], Image.Image]) -> Iterator[Frame]:
        texts = {
            "aligned": self._texts,
            "shuffled": _shuffle(self._texts, self.seed),
        }.get(self.overlay, [""] * len(self.selection))
        for position, (slot, text) in enumerate(zip(self.selection.slots, texts, strict=True)):
            yield Frame(slot, text, slot.index in self.basis.damaged, position, self, load)

    def __len__(self) -> int:
        return len(self.selection)

    def __iter__(self) -> Iterator[Frame]:
        """The frames in order of time. Images that are used in that order are decoded in one pass."""
        images, decoded = self.images(), 0

        def load(position: int) -> Image.Image:
            nonlocal decoded
            if position < decoded:
                return self.image(position)
            image = next(islice(images, position - decoded, None))
            decoded = position + 1
            return image

        return self._frames(load)

    @overload
    def __getitem__(self, position: int) -> Frame: ...
    @overload
    def __getitem__(self, position: slice) -> tuple[Frame, ...]: ...
    def __getitem__(self, position: int | slice) -> Frame | tuple[Frame, ...]:
        return self.frames[position]

    def __repr__(self) -> str:
        names, frames = ", ".join(self.names), counted(len(self), "frame")
        return f"{type(self).__name__}({names!r}, {frames}, overlay {self.overlay!r})"

    def image(self, position: int) -> Image.Image:
        """The image of one frame as a reader sees it."""
        ((_, image),) = self.bare_images([self.times_s[position]])
        return self.draw(position, image)

    def images(self) -> Iterator[Image.Image]:
        """Yield each frame's image as a reader sees it, in the order of `frames`, decoded in one pass."""
        for position, (_, image) in enumerate(self.bare_images(self.times_s)):
            yield self.draw(position, image)

    def draw(self, position: int, image: Image.Image) -> Image.Image:
        """Draw the overlay on the decoded image of the frame at this position."""
        # These load the typesetting, which times and JSON don't need.
        from framesift.rendering.overlay import render

        if self.overlay == "blank":
            return render(image, self._texts[position], blank=True)
        return render(image, self.frames[position].text)

    def bare_images(self, times_s: Sequence[float]) -> Iterator[tuple[float, Image.Image]]:
        """Yield the decoded images at these candidate times, ascending, each once, without overlay.

        A frame that can't be decoded is an InputError if it is selected, else it is skipped.
        """
        times_s = sorted(set(times_s))
        cached_bytes = sum(3 * image.width * image.height for image in self._decoded.values())
        new_s = set(times_s) - self._decoded.keys()
        by_video = frames_by_video(self.videos, sorted(new_s))
        fetched = (array for video, own_s in by_video for array in video.fetch(own_s, self.size))
        for time_s in times_s:
            if time_s not in new_s:
                yield time_s, self._decoded[time_s]
            elif (array := next(fetched)) is not None:
                image = Image.fromarray(array)
                cached_bytes += array.nbytes
                if cached_bytes <= CACHE_BYTES:
                    self._decoded[time_s] = image
                yield time_s, image
            elif time_s in self.times_s:
                video, own_s = self.place(time_s)
                raise InputError(f"{video.path} can't be decoded at {rounded_clock(own_s)}; the file is damaged there")

    def with_overlay(self, overlay: Overlay, *, seed: int | None = None) -> Self:
        """The same frames with another overlay; cached images are not decoded again."""
        return replace(self, overlay=check_overlay(overlay), seed=self.seed if seed is None else seed)

    def with_bursts(self, count: int) -> Self:
        """The same with up to `count` frames in place of each: those nearest to it in steps of 0.2 s, by time."""
        if count == 1:
            return self
        slots = {slot.time_s: slot for slot in self.selection.slots}
        for slot in self.selection.slots:
            video, own_s = self.place(slot.time_s)
            around = [own_s + BURST_STEP_S * k for k in sorted(range(1 - count, count), key=lambda k: (abs(k), -k))]
            shown_s = video.on_screen([time_s for time_s in around if 0 <= time_s <= video.info.duration_s])
            for shown in list(dict.fromkeys([own_s, *shown_s]))[1:count]:
                time_s = round(video.start_s + shown, 6) if self.several else shown
                slots.setdefault(time_s, replace(slot, time_s=time_s, event=None))
        return replace(self, selection=replace(self.selection, slots=tuple(slots.values())))

    def to_dict(self) -> dict[str, Any]:
        """The contents of `selection.json`: the selection, the video, and each slot's frame number, text and damage."""
        data = self.selection.to_dict()
        for slot, frame in zip(data["slots"], self.frames, strict=True):
            video, own_s = self.place(frame.slot.time_s)
            slot |= {"clock": clock(own_s), "frame": frame.number, "text": frame.text}
            slot["damaged"] = frame.is_damaged
            slot |= {"video": video.name, "video_time_s": own_s} if self.several else {}
        videos: dict[str, Any] = {"video": self.videos[0].to_dict()}
        if self.several:
            videos = {"videos": [video.to_dict() | {"start_s": video.start_s} for video in self.videos]}
        return {
            "schema": data["schema"],
            "framesift": __version__,
            **videos,
            "overlay": {"mode": self.overlay, "seed": self.seed},
            "size": {"shorter_side": self.size},
            **data,
        }

    @property
    def _texts(self) -> list[str]:
        return [slot.text for slot in self.selection.slots]


def frames_by_video(videos: Sequence[ShownVideo], times_s: Sequence[float]) -> Iterator[tuple[ShownVideo, list[float]]]:
    """Each video that has frames at these ascending times of the joint timeline, and their times in it."""
    places = (_place(videos, time_s) for time_s in times_s)
    for video, own in groupby(places, key=itemgetter(0)):
        yield video, [own_s for _, own_s in own]


def _place(videos: Sequence[ShownVideo], time_s: float) -> tuple[ShownVideo, float]:
    video = next((video for video in reversed(videos) if time_s >= video.start_s), videos[0])
    return video, round(time_s - video.start_s, 6) if len(videos) > 1 else time_s


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
