"""The tools as an agent sees them: six methods whose docstrings and signatures are the definitions.

Each returns a Reply. Descriptions are short, because a client sends all of them with every request of the model.
"""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from mimetypes import guess_type
from typing import Annotated, Any, Literal

from PIL import Image
from pydantic import Field

from framesift._utils.text import counted, suggestion
from framesift.errors import FramesiftError, InputError, OptionError
from framesift.library.files import LibraryVideo, public_message
from framesift.library.session import Call, StillRunning
from framesift.mcp.replies import NOTICE, JpegImage, Reply, cited, data, describe_cost, encode_images, plain, times
from framesift.mcp.schemas import MOMENT, ToolDefinition, define, read_arguments
from framesift.mcp.session import AgentSession
from framesift.rendering.reasons import explain
from framesift.rendering.thumbnails import short_side
from framesift.search.images import frame_image, named_image
from framesift.search.search import Hit, match_note, search
from framesift.types import Event, Slot
from framesift.video.frames import fetch, on_screen_times, probe

MAX_BUDGET = 16
DEFAULT_SIDE = 768
LOOK_SIDE = 1536
# Base64 adds a third: with the text, a reply stays below the 1 MiB that Claude Desktop accepts.
REPLY_BYTES = 700_000
MAX_LISTED = 500
MAX_LOOKS = 8
MAX_CUES = 500
MAX_HITS = 50
TOOL_NAMES = ("list_videos", "watch", "read_transcript", "look", "search_library", "video_info")

Side = Annotated[int, Field(ge=64, le=4096)]  # pixels
Start = Annotated[float, Field(ge=0), MOMENT]
Budget = Annotated[int, Field(ge=1, le=MAX_BUDGET)]


@dataclass(frozen=True)
class ListedVideo:
    """A video, with what its container says. problem: why it can't be read, or empty."""

    name: str
    duration_s: float
    width: int
    height: int
    fps: float
    codec: str
    has_audio: bool
    is_indexed: bool
    problem: str


@dataclass(frozen=True)
class ListedCue:
    """A cue of the text. text: marked as data."""

    time_s: float
    text: str


@dataclass(frozen=True)
class ListedPlace:
    """A second of a video that matches, and the stretch around it that does. words: marked as data."""

    video: str
    time_s: float
    start_s: float
    end_s: float
    found_by: str
    is_weak: bool
    words: str


# `watch` and `look` have none: beside structured output, Codex shows its model no image, and Claude Code no text.
RESULTS: dict[str, type] = {
    "list_videos": ListedVideo,
    "read_transcript": ListedCue,
    "search_library": ListedPlace,
    "video_info": ListedVideo,
}


@dataclass(frozen=True)
class VideoTools:
    """The tools of a session for one call."""

    session: AgentSession
    call: Call

    def list_videos(self, contains: str = "", limit: Annotated[int, Field(ge=1, le=MAX_LISTED)] = 50) -> Reply:
        """List the videos that can be watched: name, length, and whether they are indexed.

        Use the names as the argument `video` of the other tools.

        Args:
            contains: Only names with this text in them.
            limit: The most names to return.

        Returns:
            One line per video.
        """
        wanted = contains.casefold()
        videos = [video for video in self.session.videos() if wanted in video.name.casefold()]
        if not videos:
            if contains:
                none = "No name holds this text; call list_videos without `contains`."
            elif self.session.folders.is_empty:
                none = "This server was started without folders; only http(s) URLs of videos can be watched."
            else:
                none = "There is no video in this server's folders."
            return Reply((none,))
        listed = [self._listed(video) for video in videos[:limit]]
        left = len(videos) - limit
        tail = f"{left} more: narrow the list with `contains` or raise `limit`." if left > 0 else ""
        return Reply.listing(f"{counted(len(videos), 'video')}. {NOTICE}", list(map(_video_line, listed)), listed, tail)

    def watch(
        self,
        video: str,
        question: str,
        budget: Budget | None = None,
        from_s: Start | None = None,
        to_s: Start | None = None,
        max_side: Side = DEFAULT_SIDE,
    ) -> Reply:
        """Get the few frames of a video that best answer a question, as images in order of time.

        Before each image: its time, the words said there and why it was chosen. A video that is new is indexed first;
        if that takes long, the reply says so: call again with the same arguments.

        Args:
            video: A name of list_videos, a path inside the server's folders, or an http(s) URL.
            question: What you want to know, as a full sentence; it steers which frames are chosen.
            budget: How many frames, by default as many as the question needs. More cost more tokens.
            from_s: Only consider the video from this second on.
            to_s: Only consider the video up to this second.
            max_side: Longest side of the images in pixels. Smaller costs fewer tokens.

        Returns:
            Texts and images.
        """
        if not question.strip():
            raise InputError("the question is empty; expected what you want to know about the video")
        with self.about(video) as found:
            prepared = self.session.prepared(found, self.call)
            info = prepared.index.info
            size = short_side(info.width, info.height, max_side)
            config = prepared.config.at_most(MAX_BUDGET) if budget is None else prepared.config.replace(budget=budget)
            with self.session.work_slots:
                asked = replace(prepared, config=config)
                chosen = asked.select(question, from_s=from_s, to_s=to_s, size=size, overlay="none")
                selection, pictures = chosen.selection, chosen.bare_images(chosen.times_s)
                images = encode_images(list(pictures), max_side, REPLY_BYTES)
            length = times(prepared.index.info.duration_s)
            text = f"{counted(len(prepared.events), 'cue')} of text" if prepared.events else "no text"
            heading = f"{counted(len(images), 'frame')} of {data(found.name)}, {length} long, {text}. {NOTICE}"
            if stopped := selection.trace.get("stopped"):
                heading += f"\n{stopped}"
            if selection.warnings:
                shown = "; ".join(public_message(warning, found) for warning in selection.warnings)
                heading += f"\nWarnings: {data(shown, 1000)}"
        parts: list[str | JpegImage] = [heading]
        reasons = [
            "Shown because of these words." if slot.role == "ground" and slot.event else _reason(reason.why[0])
            for slot, reason in zip(selection.slots, explain(selection), strict=True)
        ]
        for number, (slot, reason, image) in enumerate(zip(selection.slots, reasons, images, strict=True), 1):
            parts += [f"[{number}] {times(slot.time_s)}. {_words(slot, prepared.events)}{reason}", image]
        parts.append(
            f"{describe_cost(images)} Cite times as [{cited(selection.slots[0].time_s)}]. Other moments or details: "
            "look, read_transcript, or watch with from_s and to_s."
        )
        return Reply(tuple(parts))

    def read_transcript(
        self,
        video: str,
        contains: str = "",
        from_s: Start | None = None,
        to_s: Start | None = None,
        limit: Annotated[int, Field(ge=1, le=MAX_CUES)] = 100,
    ) -> Reply:
        """Read what is said in a video: subtitles, or recognised speech, one line per cue with its time.

        Args:
            video: A name of list_videos, a path inside the server's folders, or an http(s) URL.
            contains: Only cues with all of these words.
            from_s: Only cues from this second on.
            to_s: Only cues up to this second.
            limit: The most cues to return.

        Returns:
            One line per cue.
        """
        with self.about(video) as found:
            text = self.session.text(found, self.call)
        name, source = data(found.name), ", ".join(public_message(each.name, found) for each in text.sources)
        if not text.events:
            notes = "; ".join(public_message(note, found) for note in text.notes)
            return Reply((f"{name} has no words: {data(notes)}. Use `watch` for its frames.",))
        first, last = from_s or 0.0, float("inf") if to_s is None else to_s
        if first > last:
            raise OptionError(f"from_s is {first:g} and to_s {last:g}; expected from_s before to_s")
        words = contains.casefold().split()
        inside = [event for event in text.events if event.end_s >= first and event.start_s <= last]
        matching = [event for event in inside if all(word in event.text.casefold() for word in words)]
        if not matching:
            extent = min(event.start_s for event in text.events), max(event.end_s for event in text.events)
            which = " that hold all of `contains`" * bool(inside)
            return Reply((f"No words there{which}: those of {name} are from {' to '.join(map(times, extent))}.",))
        head = f"{len(matching)} of {counted(len(text.events), 'cue')}, from {data(source)}. {NOTICE}"
        lines = [f"{times(event.start_s)} {plain(event.text)}" for event in matching[:limit]]
        cues = [ListedCue(round(event.start_s, 3), data(event.text)) for event in matching[:limit]]
        left = len(matching) - limit
        tail = f"{left} more: call again with from_s={matching[limit].start_s:g}." if left > 0 else ""
        return Reply.listing(head, ["<data>", *lines, "</data>"], cues, tail)

    def look(
        self,
        video: str,
        times_s: Annotated[list[Annotated[float, MOMENT]], Field(min_length=1, max_length=MAX_LOOKS)],
        max_side: Side = LOOK_SIDE,
    ) -> Reply:
        """Get the exact frames on screen at given times, larger than in `watch`, to read text or see details.

        Args:
            video: A name of list_videos, a path inside the server's folders, or an http(s) URL.
            times_s: Seconds from the start of the video.
            max_side: Longest side of the images in pixels.

        Returns:
            Texts and images.
        """
        with self.about(video) as found, self.session.work_slots:
            shown_s = sorted(set(on_screen_times(found.path, times_s)))
            info = probe(found.path)
            arrays = fetch(found.path, shown_s, short_side=short_side(info.width, info.height, max_side))
            pictures = [(time_s, Image.fromarray(array)) for time_s, array in arrays]
            images = encode_images(pictures, max_side, REPLY_BYTES)
        parts: list[str | JpegImage] = [f"{counted(len(images), 'frame')} of {data(found.name)}. {NOTICE}"]
        for image in images:
            parts += [times(image.time_s), image]
        return Reply((*parts, describe_cost(images)))

    def search_library(
        self,
        text: str = "",
        by: Literal["both", "frames", "words"] = "both",
        limit: Annotated[int, Field(ge=1, le=MAX_HITS)] = 10,
        like_video: str | None = None,
        like_s: Annotated[float, MOMENT] = 0.0,
        only_video: str | None = None,
    ) -> Reply:
        """Find which of the indexed videos, at which seconds, match a text best, or look like a frame of a video.

        Args:
            text: What to find, such as "a red bus" or words that are said.
            by: Compare the text with the frames, with the words said, or both.
            limit: The most places to return.
            like_video: In place of a text: the video whose frame the places should look like, or an image file.
            like_s: The second of that frame.
            only_video: Search this video only.

        Returns:
            One line per place, best first.
        """
        if bool(text.strip()) == (like_video is not None):
            raise OptionError("expected a text to search for, or like_video; one of the two")
        listed_videos = self.session.videos()
        if only_video is not None:
            with self.about(only_video) as found:
                listed_videos = [found]
        videos = self.session.catalog.indexed(listed_videos)
        if not videos:
            return Reply(("No video is indexed yet; `watch` indexes one.",))
        config = self.session.config.pipeline
        with self.session.work_slots:
            query: str | Image.Image = text
            if like_video is not None:
                with self.about(like_video) as found:
                    is_image = (guess_type(found.path)[0] or "").startswith("image/")
                    query = named_image(str(found.path)) if is_image else frame_image(found.path, like_s)
            hits = search(
                query,
                limit=limit,
                by="events" if by == "words" else by,
                encoder=config.index.encoder,
                store=config.index.store,
                videos=videos,
            )
        head = f"{counted(len(hits), 'place')} in {counted(len(videos), 'indexed video')}, best first. {NOTICE}"
        head += f"\n{note}" if (note := match_note(hits)) else ""
        listed = [_listed_place(hit, videos[hit.fingerprint]) for hit in hits]
        return Reply.listing(head, [_place_line(rank, place) for rank, place in enumerate(listed, 1)], listed)

    def video_info(self, video: str) -> Reply:
        """Describe a video: length, size, sound, subtitles, whether it is indexed, and known problems.

        Args:
            video: A name of list_videos, a path inside the server's folders, or an http(s) URL.

        Returns:
            A few lines.
        """
        with self.about(video) as found:
            info = probe(found.path)
            prepared = self.session.prepared(found, self.call) if self.session.catalog.is_indexed(found) else None
        lines = [
            f"{data(found.name)}: {times(info.duration_s)} long, {info.width}×{info.height}, {info.fps:g} frames per "
            f"second, {info.codec}, {'with' if info.has_audio else 'without'} sound. {NOTICE}"
        ]
        tracks = [" ".join(filter(None, (track.language, track.title, track.codec))) for track in info.subtitle_tracks]
        if tracks:
            lines.append(f"Subtitle tracks: {data(', '.join(tracks))}")
        if prepared is None:
            lines.append("Not indexed yet; `watch` indexes it.")
            return Reply(("\n".join(lines),), results=[self._listed(found)])
        index, text = prepared.index, prepared.text
        sources = ", ".join(public_message(source.name, found) for source in text.sources)
        lines.append(f"Indexed: {counted(len(index), 'candidate frame')}, encoder {index.encoder}.")
        lines.append(f"Words: {counted(len(text.events), 'cue')} from {data(sources)}." if sources else "Words: none.")
        if prepared.warnings:
            lines.append(f"Warnings: {data(public_message('; '.join(prepared.warnings), found), 1000)}")
        return Reply(("\n".join(lines),), results=[self._listed(found)])

    @contextmanager
    def about(self, name: str) -> Iterator[LibraryVideo]:
        """The video of this name; errors inside the block name it as the tools do."""
        video = self.session.video(name, self.call)
        try:
            yield video
        except FramesiftError as error:
            raise InputError(public_message(error, video, mark=data)) from error

    def _listed(self, video: LibraryVideo) -> ListedVideo:
        facts = asdict(self.session.catalog.facts(video))
        del facts["fingerprint"]
        problem = facts.pop("problem") and "can't be read as a video"
        return ListedVideo(
            plain(video.name), **facts, is_indexed=self.session.catalog.is_indexed(video), problem=problem
        )


def definitions() -> list[ToolDefinition]:
    """The tools' definitions."""
    return [define(getattr(VideoTools, name), RESULTS.get(name)) for name in TOOL_NAMES]


def call_tool(session: AgentSession, name: str, arguments: Mapping[str, Any], call: Call) -> Reply:
    """Call a tool by its name; work that takes longer than the call may wait becomes a reply that says so."""
    if name not in TOOL_NAMES:
        raise OptionError(f"there is no tool {name[:60]!r}; {suggestion(name[:60], TOOL_NAMES)}")
    tool: Callable[..., Reply] = getattr(VideoTools, name)
    given = read_arguments(tool, arguments)
    try:
        return tool(VideoTools(session, call), **given)
    except StillRunning as running:
        return Reply((_describe_job(running, name),))


def _describe_job(running: StillRunning, tool: str) -> str:
    job = running.job
    share = f", {job.done / job.total:.0%} done" if job.total else ""
    queue = f" after {counted(job.position, 'other video')}" if job.position else ""
    return (
        f"Not ready yet: {job.phase or job.state}{queue}{share} after {time.time() - job.added_s:.0f} s. "
        f"Job {job.id} continues in the background. Call {tool} again with the same arguments to resume it."
    )


def _words(slot: Slot, events: Sequence[Event]) -> str:
    """The words of the frame's event, else those said at its time."""
    event = slot.event or next((each for each in events if each.start_s <= slot.time_s <= each.end_s), None)
    return "" if event is None else f"Words at {cited(event.start_s)}: {data(event.text)} "


def _reason(sentence: str) -> str:
    """Why a frame was chosen; a sentence that quotes the video's words is marked as data."""
    return data(sentence) if "“" in sentence else plain(sentence)


def _video_line(video: ListedVideo) -> str:
    state = "indexed" if video.is_indexed else "not indexed"
    return f"{data(video.name)} {video.problem or f'{times(video.duration_s)}, {state}'}"


def _listed_place(hit: Hit, video: LibraryVideo) -> ListedPlace:
    words = "" if hit.event is None else data(hit.event.text, 200)
    found_by = "frame and words" if hit.relevance is not None and hit.event else "words" if hit.event else "frame"
    moment_s, start_s, end_s = (round(each_s, 3) for each_s in (hit.time_s, hit.start_s, hit.end_s))
    return ListedPlace(plain(video.name), moment_s, start_s, end_s, found_by, not hit.stands_out, words)


def _place_line(rank: int, place: ListedPlace) -> str:
    words, weak = place.words and f": {place.words}", " (weak match)" if place.is_weak else ""
    span = f"{cited(place.start_s)}–{cited(place.end_s)}"
    return f"{rank}. {data(place.video)} at {times(place.time_s)}, in {span}, by {place.found_by}{weak}{words}"
