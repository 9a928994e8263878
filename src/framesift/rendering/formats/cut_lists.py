"""Cut lists for editing programs and players: the moments around the selected frames, one after another."""

import html
import json
from collections.abc import Sequence
from fractions import Fraction
from itertools import accumulate, groupby
from pathlib import Path
from typing import Any

from framesift._utils.templates import render_template
from framesift._utils.text import clock, printable
from framesift.errors import InputError
from framesift.rendering.formats.base import Export, Moment
from framesift.rendering.rendered_selection import ShownVideo

USUAL_RATE = Fraction(25)  # of a video that does not say its own


def file_moments(export: Export) -> list[Moment]:
    """The moments of an exhibit whose videos are files."""
    if any(video.frames is not None for video in export.exhibit.videos):
        raise InputError("moments need the file of a video; this one was given as frames")
    return export.moments


def write_edl(export: Export) -> None:
    """moments.edl: an edit decision list in CMX 3600, with timecodes at the first video's frame rate."""
    moments = file_moments(export)
    rate = _rate(moments[0].video)
    lines = [f"TITLE: {_title(export)}", "FCM: NON-DROP FRAME"]
    for number, (moment, (start, length, at)) in enumerate(zip(moments, _places(moments, rate), strict=True), 1):
        ends = (_timecode(frame, rate) for frame in (start, start + length, at, at + length))
        lines += ["", f"{number:03d}  AX       V     C        {' '.join(ends)}"]
        lines += [f"* FROM CLIP NAME: {_name(moment.video)}", f"* COMMENT: {moment.title}"]
    export.write("moments.edl", "\n".join(lines) + "\n")


def write_otio(export: Export) -> None:
    """moments.otio: a timeline of OpenTimelineIO; a marker in each clip has its text."""
    moments = file_moments(export)
    rate = _rate(moments[0].video)
    clips = []
    for moment, (start, length, _) in zip(moments, _places(moments, rate), strict=True):
        whole = _otio_range(0, round(moment.video.info.duration_s * rate), rate)
        url = moment.video.path.resolve().as_uri()
        media = {"OTIO_SCHEMA": "ExternalReference.1", "target_url": url, "available_range": whole}
        marked = _otio_range(start, length, rate)
        marker = {"OTIO_SCHEMA": "Marker.2", "name": moment.title, "color": "GREEN", "marked_range": marked}
        clips.append(
            {
                "OTIO_SCHEMA": "Clip.2",
                "name": _name(moment.video),
                "source_range": marked,
                "media_references": {"DEFAULT_MEDIA": media},
                "active_media_reference_key": "DEFAULT_MEDIA",
                "markers": [marker],
            }
        )
    kinds = ["Video", "Audio"] if any(moment.video.info.has_audio for moment in moments) else ["Video"]
    tracks = [{"OTIO_SCHEMA": "Track.1", "name": kind, "kind": kind, "children": clips} for kind in kinds]
    stack = {"OTIO_SCHEMA": "Stack.1", "name": "tracks", "children": tracks}
    timeline = {"OTIO_SCHEMA": "Timeline.1", "name": _title(export), "tracks": stack}
    export.write("moments.otio", json.dumps(timeline, ensure_ascii=False, indent=1))


def write_fcpxml(export: Export) -> None:
    """moments.fcpxml: a project of Final Cut Pro, which DaVinci Resolve reads as well."""
    moments, videos = file_moments(export), export.exhibit.videos
    rate = _rate(moments[0].video)
    places = _places(moments, rate)
    assets = [
        {
            "id": f"r{number}",
            "name": _name(video),
            "src": video.path.resolve().as_uri(),
            "duration": _xml_time(round(video.info.duration_s * rate), rate),
            "has_audio": video.info.has_audio,
        }
        for number, video in enumerate(videos, 2)
    ]
    clips = []
    for moment, place in zip(moments, places, strict=True):
        start, length, at = (_xml_time(frames, rate) for frames in place)
        asset = assets[videos.index(moment.video)]
        clips.append({"ref": asset["id"], "name": moment.title, "offset": at, "start": start, "duration": length})
    text = render_template(
        "rendering/formats/fcpxml.xml",
        info=moments[0].video.info,
        frame=_xml_time(1, rate),
        assets=assets,
        title=_title(export),
        duration=_xml_time(places[-1][2] + places[-1][1], rate),
        clips=clips,
    )
    export.write("moments.fcpxml", text + "\n")


def write_vtt(export: Export) -> None:
    """moments.vtt: the moments as WebVTT chapters, which players show; a file for each of several videos."""
    for video, moments in groupby(file_moments(export), key=lambda moment: moment.video):
        cues = [
            f"{_stamp(moment.start_s)} --> {_stamp(moment.end_s)}\n{html.escape(moment.title, quote=False)}\n"
            for moment in moments
        ]
        name = f"moments-{Path(video.name).name}.vtt" if export.exhibit.several else "moments.vtt"
        export.write(name, "\n".join(["WEBVTT\n", *cues]))


def write_ffconcat(export: Export) -> None:
    """moments.ffconcat: the moments as one input of FFmpeg, which needs `-safe 0` for files of other folders."""
    lines = ["ffconcat version 1.0"]
    for moment in file_moments(export):
        quoted = str(moment.video.path.resolve()).replace("'", r"'\''")
        lines += [f"file '{quoted}'", f"inpoint {moment.start_s:.3f}", f"outpoint {moment.end_s:.3f}"]
    export.write("moments.ffconcat", "\n".join(lines) + "\n")


def _title(export: Export) -> str:
    asked = export.exhibit.question
    return ", ".join(export.exhibit.names) if asked is None else printable(asked.text)


def _name(video: ShownVideo) -> str:
    return printable(Path(video.name).name)


def _rate(video: ShownVideo) -> Fraction:
    return Fraction(video.info.fps).limit_denominator(1001) if video.info.fps else USUAL_RATE


def _places(moments: Sequence[Moment], rate: Fraction) -> list[tuple[int, int, int]]:
    """Of each moment its first frame in the video, its number of frames, and its first frame in the cut."""
    starts = [round(moment.start_s * rate) for moment in moments]
    lengths = [max(1, round(m.end_s * rate) - start) for m, start in zip(moments, starts, strict=True)]
    return list(zip(starts, lengths, accumulate(lengths[:-1], initial=0), strict=True))


def _timecode(frame: int, rate: Fraction) -> str:
    """hh:mm:ss:ff, non-drop: 30 frames to a second of 29.97."""
    base = max(1, round(rate))
    seconds, rest = divmod(frame, base)
    return f"{seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}:{rest:02d}"


def _otio_range(start: int, length: int, rate: Fraction) -> dict[str, Any]:
    times = {"start_time": start, "duration": length}
    own = {name: {"OTIO_SCHEMA": "RationalTime.1", "rate": float(rate), "value": n} for name, n in times.items()}
    return {"OTIO_SCHEMA": "TimeRange.1"} | own


def _xml_time(frames: int, rate: Fraction) -> str:
    """Seconds as a fraction: 1001/30000s."""
    seconds = frames / rate
    return f"{seconds.numerator}/{seconds.denominator}s" if seconds.denominator > 1 else f"{seconds.numerator}s"


def _stamp(time_s: float) -> str:
    """The time with two digits for the hours, as WebVTT asks for."""
    return clock(time_s).rjust(12, "0")
