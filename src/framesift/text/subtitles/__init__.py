"""Subtitle files, with one module per format.

pysubs2 reads well-formed files, but one bad time or colour makes it reject the whole file, it expands XML entities, and
it reads neither frame and tick times nor YouTube's and the benchmarks' JSON. So the parsers here are separate and
tolerant; pysubs2 writes the files that they are tested on. `base.SubtitleFormat` lists the steps to add a format.
"""

from framesift.text.subtitles.reading import SubtitleReport, read_events, read_report
from framesift.text.subtitles.sidecars import find_sidecars, search_sidecars, sidecar_tags

__all__ = ["SubtitleReport", "find_sidecars", "read_events", "read_report", "search_sidecars", "sidecar_tags"]
