"""Warnings about a video: what its metadata and its packets contradict, and what could not be decoded."""

from collections.abc import Sequence

from framesift._utils.text import clock
from framesift.video.container import MICROSECOND, OpenedVideo
from framesift.video.timeline import Timeline

# The container's duration may include audio beyond the last frame; a larger difference is a warning.
DURATION_SLACK_S = 2.0
# Candidates at most this far apart are one stretch of damage.
SAME_STRETCH_S = 5.0
# A warning names this many stretches; the rest is a count.
MOST_NAMED = 5


def container_warnings(video: OpenedVideo, timeline: Timeline) -> list[str]:
    """Warnings about metadata that the packets contradict."""
    warnings = []
    seconds = float(timeline.duration)
    claimed = None
    if video.stream.duration:
        claimed = float(video.stream.duration * video.tick)
    elif video.container.duration and not video.container.streams.audio:
        claimed = float(video.container.duration * MICROSECOND)
    if claimed is not None and claimed - seconds > max(DURATION_SLACK_S, 0.01 * seconds):
        warnings.append(
            f"the metadata gives a duration of {claimed:.1f} s, but the last frame ends at {seconds:.1f} s: "
            f"{claimed - seconds:.1f} s are missing"
        )
    elif claimed is not None and seconds - claimed > max(DURATION_SLACK_S, 0.01 * seconds):
        warnings.append(f"the metadata gives a duration of {claimed:.1f} s, but the last frame ends at {seconds:.1f} s")
    if timeline.is_cut:
        warnings.append(f"reading failed at {seconds:.1f} s: the file is damaged there; only the part before is used")
    if timeline.jumps:
        warnings.append(
            f"the timestamps are discontinuous {timeline.jumps} times; time continues from frame to frame there"
        )
    return warnings


def decoding_warnings(damaged_s: Sequence[float], missed_s: Sequence[float], candidates: int) -> list[str]:
    """Warnings about candidates that are damaged, and about ones that could not be decoded."""
    warnings = []
    for times_s, what in (
        (missed_s, "could not be decoded and were skipped or replaced by the previous frame"),
        (damaged_s, "were decoded with errors"),
    ):
        if times_s:
            count = len(set(times_s))
            warnings.append(
                f"{count} of {candidates} candidates ({count / candidates:.0%}) {what}: the file is damaged at "
                f"{list_stretches(stretches(times_s))}"
            )
    return warnings


def stretches(times_s: Sequence[float]) -> list[tuple[float, float]]:
    """The first and last time of each group of times that are close together."""
    groups: list[tuple[float, float]] = []
    for time_s in sorted(times_s):
        if groups and time_s - groups[-1][1] <= SAME_STRETCH_S:
            groups[-1] = groups[-1][0], time_s
        else:
            groups.append((time_s, time_s))
    return groups


def list_stretches(groups: Sequence[tuple[float, float]]) -> str:
    """The stretches as clock times: the first few, then how many more."""
    named = [clock(a) if a == b else f"{clock(a)}-{clock(b)}" for a, b in groups[:MOST_NAMED]]
    more = len(groups) - len(named)
    return ", ".join(named) + (f" and {more} more places" if more > 1 else " and one more place" if more else "")
