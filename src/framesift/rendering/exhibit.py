"""The exhibit: what a reader gets to see, and what can be saved."""

import os
from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from framesift.errors import InputError, OptionError
from framesift.progress import as_progress
from framesift.rendering.rendered_selection import (
    Overlay,
    RenderedSelection,
    ShownVideo,
    check_overlay,
    frames_by_video,
)
from framesift.selection.registry import built_in
from framesift.types import Answer, Event, Selection
from framesift.video.frames import frame_numbers, probe


@dataclass(frozen=True, eq=False, repr=False)
class Exhibit(RenderedSelection):
    """The rendered frames of a selection: `images()` yields the images, `save` writes them with a report.

    The fields are described at `RenderedSelection`.
    """

    def save(
        self,
        folder: str | os.PathLike[str],
        *,
        force: bool = False,
        with_video: bool = False,
        formats: Sequence[str] = (),
        row: Mapping[str, Any] | None = None,
        answers: Sequence[Answer] = (),
        progress: Callable[..., Any] | None = None,
    ) -> Path:
        """Write frames/, selection.json, sheet.jpg and report.html, and return the directory.

        force: replace the files of an existing exhibit; others in its directory stay. with_video: put the video beside
        the report, which then plays it. formats: further files, of `export_formats.FORMATS`; row: the question's own
        row in its dataset, whose fields those files keep. answers: of readers, shown in the report and written to
        answers.json. All files appear when complete, or none.
        """
        from framesift.rendering.export import save  # loads the templates and the typesetting

        return save(
            [self],
            folder,
            force=force,
            with_video=with_video,
            formats=formats,
            row=row,
            answers=[(self.selection.method, answer) for answer in answers],
            progress=as_progress(progress),
        )


def exhibit(
    video: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    selection: Selection,
    size: int | None = None,
    *,
    overlay: Overlay = "aligned",
    seed: int = 0,
) -> Exhibit:
    """Prepare a selection's frames for rendering from the video, or the videos in order, that it was made on.

    size: the shorter side in pixels, by default the video's own. overlay and seed as in `Exhibit`. Text is
    drawn only on slots with an event; `events_for` assigns events to the slots of a selector that uses none.
    """
    check_exhibit_options(overlay, size)
    if not len(selection):
        raise InputError("the selection has no frames; expected at least one")
    paths = [Path(video)] if isinstance(video, str | os.PathLike) else [Path(one) for one in video]
    spans = () if selection.basis is None else selection.basis.videos
    if len(paths) != max(1, len(spans)):
        raise InputError(f"{len(paths)} videos were given; expected the {max(1, len(spans))} of the selection")
    videos = [ShownVideo(s.name, path, probe(path), s.start_s) for path, s in zip(paths, spans, strict=False)]
    videos = videos or [ShownVideo(paths[0].name, paths[0], probe(paths[0]))]
    return make_exhibit(selection, videos, overlay=overlay, seed=seed, size=size)


def make_exhibit(
    selection: Selection,
    videos: Sequence[ShownVideo],
    *,
    overlay: Overlay,
    seed: int,
    size: int | None,
) -> Exhibit:
    """The frames of a selection, with their numbers in these videos."""
    by_video = frames_by_video(videos, selection.times_s)
    numbers = tuple(number for video, own_s in by_video for number in frame_numbers(video.path, own_s))
    return Exhibit(tuple(videos), selection, numbers, overlay, seed, size)


def check_exhibit_options(overlay: str, size: int | None) -> None:
    """Reject an unknown overlay and a size below one pixel."""
    check_overlay(overlay)
    if size is not None and (isinstance(size, bool) or not isinstance(size, int) or size < 1):
        raise OptionError(f"size is {size!r}; expected a number of pixels, at least 1")


def events_for(selection: Selection, events: Sequence[Event]) -> Selection:
    """Assign to each slot the event on screen at its time; of several, the one that started last.

    A selection whose method grounds its frames in events is returned unchanged: the method has decided on the text.
    """
    selector = built_in(selection.method)
    if (selector is not None and selector.gives_text) or any(slot.event for slot in selection.slots):
        return selection
    ordered = sorted(events, key=lambda event: event.start_s)
    starts = [event.start_s for event in ordered]
    slots = []
    for slot in selection.slots:
        started = ordered[: bisect_right(starts, slot.time_s)]
        latest = max((event for event in started if event.end_s >= slot.time_s), key=lambda e: e.start_s, default=None)
        slots.append(replace(slot, event=latest))
    return replace(selection, slots=tuple(slots))
