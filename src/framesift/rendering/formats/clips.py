"""clips/: an MP4 file for each moment, with its sound and its text."""

from pathlib import Path

from framesift.errors import InputError
from framesift.rendering.formats.base import Export
from framesift.video.clips import Cut, write_clip


def write_clips(export: Export, cut: Cut) -> None:
    """Write the clips; several videos have a folder each, by their names."""
    moments = export.moments
    for number, moment in enumerate(moments, 1):
        if moment.video.frames is not None:
            raise InputError("clips need the file of a video; this one was given as frames")
        folder = export.folder / "clips" / (Path(moment.video.name).name if export.exhibit.several else "")
        folder.mkdir(parents=True, exist_ok=True)
        text = export.events(moment.video)
        target = folder / f"{number:04d}_{moment.name}.mp4"
        write_clip(moment.video.path, target, moment.start_s, moment.end_s, cut=cut, text=text)
        export.progress("clips", number, len(moments))
