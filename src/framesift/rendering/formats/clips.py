"""clips/: an MP4 file for each moment, with its sound and its text."""

from pathlib import Path

from framesift.rendering.formats.base import Export
from framesift.rendering.formats.cut_lists import file_moments
from framesift.video.clips import Cut, write_clip


def write_clips(export: Export, cut: Cut) -> None:
    """Write the clips; several videos have a folder each, by their names."""
    moments = file_moments(export)
    for number, moment in enumerate(moments, 1):
        folder = export.folder / "clips" / (Path(moment.video.name).name if export.exhibit.several else "")
        folder.mkdir(parents=True, exist_ok=True)
        text = export.events(moment.video)
        target = folder / f"{number:04d}_{moment.name}.mp4"
        write_clip(moment.video.path, target, moment.start_s, moment.end_s, cut=cut, text=text)
        export.progress("clips", number, len(moments))
