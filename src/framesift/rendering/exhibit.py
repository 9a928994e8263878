"""The exhibit: what a reader gets to see, and what can be saved."""

import os
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from framesift._utils.files import StrPath
from framesift._utils.json import load_json
from framesift._utils.records import read_field, shown
from framesift._utils.requirements import require
from framesift._utils.settings import check_count
from framesift._utils.templates import render_notebook
from framesift._utils.text import counted, printable
from framesift.errors import InputError
from framesift.progress import Progress, as_progress
from framesift.rendering.rendered_selection import (
    Overlay,
    RenderedSelection,
    ShownVideo,
    check_overlay,
)
from framesift.selection.explainer import short_clock
from framesift.selection.registry import built_in
from framesift.types import Answer, Event, Selection
from framesift.types.vectors import Array
from framesift.video.frames import probe

INDICES_PER_SECOND = 1000  # milliseconds keep any time of a frame as a whole number
STRIP_SIDE = 320  # longest side of the frames in a notebook
SELECTION = "selection.json"


@dataclass(frozen=True, eq=False, repr=False)
class Exhibit(RenderedSelection):
    """The selected frames of a video, in order of time: a sequence of `Frame`, with images, text and reasons.

    Attributes:
        videos: The video, or several in the order of their joint timeline.
        selection: The indices, the roles and the decisions behind them.
        overlay: What is drawn on the frames: "aligned", each event's text on its own frame; "blank", the same band
            without text; "shuffled", the same texts on each other's frames; "none".
        seed: Of the shuffled texts.
        size: The shorter side in pixels; None for the video's own.

    Example:
        ```python
        found = fs.open("film.mp4").select("Why was the launch put off?", budget=8)
        for frame in found:
            print(frame.time_s, frame.text, frame.reason, frame.image.size)
        found.save("evidence")
        ```
    """

    def __str__(self) -> str:
        """A line with the time and the reason of each frame; the frames between the matches share the last line."""
        times = [printable(self.label(time_s, short_clock)) for time_s in self.times_s]
        between = [time for time, slot in zip(times, self.selection, strict=True) if slot.role == "context"]
        lines = [self._title, ""]
        for time, slot, reason in zip(times, self.selection, self.reasons, strict=True):
            if slot.role != "context" or len(between) == len(times):
                lines.append(f"{time:>{max(map(len, times))}}  {printable(' '.join(reason.why))}")
        if 0 < len(between) < len(times):
            lines += ["", f"Between these: {', '.join(between)}"]
        return "\n".join(lines)

    @property
    def _title(self) -> str:
        candidates = f" of {len(self.basis.considered)}" if self.selection.basis else ""
        return f"{counted(len(self), 'frame')}{candidates}, selected by {self.method}"

    def rows(self) -> list[dict[str, Any]]:
        """Plain values, a row per frame: `pandas.DataFrame(found.rows())`.

        Returns:
            Dictionaries with index, time_s, role, relevance, text, frame (its number in the video), reason and
            is_damaged; of several videos also video and video_time_s.
        """
        rows = []
        for frame, row in zip(self.frames, self.selection.rows(), strict=True):
            row |= {"text": frame.text, "frame": frame.number, "reason": frame.reason, "is_damaged": frame.is_damaged}
            video, own_s = self.place(frame.time_s)
            rows.append(row | ({"video": video.name, "video_time_s": own_s} if self.several else {}))
        return rows

    def messages(self) -> list[dict[str, Any]]:
        """The frames as a chat message in OpenAI's format: the time and image of each, then the question.

        Returns:
            What `client.chat.completions.create(messages=…)` takes.
        """
        from framesift.rendering.export_formats import openai_messages

        return openai_messages(self)

    def to_transformers(self) -> tuple[list[Array], Any]:
        """The frames as a video for a processor of transformers, with their exact times.

        Returns:
            The images as RGB arrays, and a `transformers.video_utils.VideoMetadata`.

        Raises:
            MissingExtra: transformers is not installed.

        Example:
            ```python
            frames, metadata = found.to_transformers()
            inputs = processor(text=text, videos=[frames], video_metadata=[metadata], do_sample_frames=False)
            ```
        """
        video_utils = require("transformers.video_utils", "readers")
        frames = [np.asarray(image) for image in self.images()]
        height, width = frames[0].shape[:2]
        timing = self.video_timing()
        return frames, video_utils.VideoMetadata(width=width, height=height, video_backend="framesift", **timing)

    def video_timing(self, *, depth: int = 1) -> dict[str, Any]:
        """The frames' times as models of video take them. depth: how often each frame is repeated."""
        indices = [round(time_s * INDICES_PER_SECOND) for time_s in self.times_s for _ in range(depth)]
        duration_s = float(self.info.duration_s)
        return {
            "fps": float(INDICES_PER_SECOND),
            "frames_indices": indices,
            "total_num_frames": max(round(duration_s * INDICES_PER_SECOND), max(indices) + 1, len(indices)),
            "duration": duration_s,
        }

    def strip(self) -> dict[str, Any]:
        """The frames as a notebook shows them: small, each with its time, text and reason."""
        from framesift.rendering.thumbnails import REPORT_QUALITY, data_url, shrink

        frames = [
            {
                "image": data_url(shrink(image, STRIP_SIDE), quality=REPORT_QUALITY),
                "time": self.label(frame.time_s, short_clock),
                "text": frame.text,
                "reason": frame.reason,
            }
            for frame, image in zip(self.frames, self.images(), strict=True)
        ]
        return {"title": self._title, "frames": frames}

    def _repr_html_(self) -> str:
        return render_notebook(strips=[self.strip()])

    def save(
        self,
        folder: StrPath,
        *,
        force: bool = False,
        with_video: bool = False,
        formats: Sequence[str] = (),
        row: Mapping[str, Any] | None = None,
        answers: Sequence[Answer] = (),
        progress: Progress | None = None,
    ) -> Path:
        """Write frames/, selection.json, sheet.jpg and report.html: all of them, or none.

        Args:
            folder: Where to.
            force: Replace the files of an existing exhibit; others in its folder stay.
            with_video: Put the video beside the report, which then plays it.
            formats: Further files: clips, jsonl, openai and the others of `framesift select --format`.
            row: The question's own row in its dataset, whose fields those files keep.
            answers: Of readers, shown in the report and written to answers.json.
            progress: Called with stage, done and total.

        Returns:
            The folder.

        Raises:
            InputError: The folder exists and `force` was not given, or can't be written.
        """
        from framesift.rendering.export import save  # loads the templates and the typesetting

        return save(
            [self],
            folder,
            force=force,
            with_video=with_video,
            formats=formats,
            row=row,
            answers=[(self.method, answer) for answer in answers],
            progress=as_progress(progress),
        )


class Comparison(tuple[Exhibit, ...]):
    """The frames that several methods select for one question: an exhibit for each."""

    __slots__ = ()

    def rows(self) -> list[dict[str, Any]]:
        """Plain values, a row per frame of each method."""
        return [{"method": found.method, **row} for found in self for row in found.rows()]

    def save(self, folder: StrPath, *, force: bool = False, with_video: bool = False) -> Path:
        """Write one report with a lane for each method; see `Exhibit.save`."""
        from framesift.rendering.export import save

        return save(self, folder, force=force, with_video=with_video)

    def _repr_html_(self) -> str:
        return render_notebook(strips=[found.strip() for found in self])


def exhibit(
    video: StrPath | Sequence[StrPath],
    selection: Selection | Exhibit | None = None,
    size: int | None = None,
    *,
    overlay: Overlay = "aligned",
    seed: int = 0,
) -> Exhibit:
    """Show a selection's frames from the video that it was made on, or open a saved exhibit.

    Args:
        video: The video, or the videos in order; or, without a selection, a folder that `Exhibit.save` wrote.
        selection: The frames. Text is drawn only on slots with an event.
        size: The shorter side in pixels, by default the video's own.
        overlay: What is drawn on the frames, as in `Exhibit`.
        seed: Of the shuffled texts.

    Returns:
        The frames, which are decoded when they are used.

    Raises:
        InputError: The video can't be read, or is not that of the selection.

    Example:
        ```python
        fs.exhibit("film.mp4", selection, size=720).save("evidence")
        again = fs.exhibit("evidence")
        ```
    """
    if selection is None:
        return open_exhibit(video)
    if isinstance(selection, Exhibit):
        selection = selection.selection
    if not isinstance(selection, Selection):
        raise InputError(f"the selection is {shown(selection)}; expected what framesift.select returns")
    check_overlay(overlay)
    check_count("size", size)
    if not len(selection):
        raise InputError("the selection has no frames; expected at least one")
    paths = [Path(video)] if isinstance(video, str | os.PathLike) else [Path(one) for one in video]
    spans = () if selection.basis is None else selection.basis.videos
    if len(paths) != max(1, len(spans)):
        raise InputError(f"{len(paths)} videos were given; expected the {max(1, len(spans))} of the selection")
    videos = [ShownVideo(s.name, path, probe(path), s.start_s) for path, s in zip(paths, spans, strict=False)]
    videos = videos or [ShownVideo(paths[0].name, paths[0], probe(paths[0]))]
    made = Exhibit(tuple(videos), selection, overlay, seed, size)
    made.numbers  # noqa: B018 (a time outside the video is an error here)
    return made


def open_exhibit(folder: Any) -> Exhibit:
    """Open a folder that `Exhibit.save` wrote, with its video in it, beside it or in the working directory."""
    if not isinstance(folder, str | os.PathLike) or not (file := Path(folder) / SELECTION).is_file():
        raise InputError(f"{shown(folder)} is not a saved exhibit; expected a folder with {SELECTION}, or a selection")
    data = load_json(file.read_bytes(), str(file), f"the {SELECTION} of a saved exhibit")
    selection = Selection.from_dict(data)
    stored = data.get("videos") or [data.get("video")]
    paths = [_find_video(file.parent, read_field(one, "name", str, str(file))) for one in stored]
    drawn, size = read_field(data, "overlay", Mapping[str, Any], str(file)), data.get("size") or {}
    mode, seed = check_overlay(drawn.get("mode", "")), read_field(drawn, "seed", int, str(file))
    return exhibit(paths, selection, size.get("shorter_side"), overlay=mode, seed=seed)


def _find_video(folder: Path, name: str) -> Path:
    places = (folder, folder.absolute().parent, Path())
    found = next((place / Path(name).name for place in places if (place / Path(name).name).is_file()), None)
    if found is None:
        raise InputError(f"{name} is neither in {folder} nor beside it; put it there")
    return found


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
