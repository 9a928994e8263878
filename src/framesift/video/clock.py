"""Repair of a stream's timestamps: one clock for the whole file, for all of its streams.

A step forward is a gap and keeps its time: the part in between is missing, and subtitles count it. Repaired are steps
back, as where recordings were joined, and steps forward that no recording contains.
"""

import bisect
import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from framesift.types.vectors import Array

# A longer step forward is damage or another recording: the clock of MPEG streams starts anywhere and restarts after
# 26.5 hours, so that half of that is as likely a step back.
LONGEST_GAP_S = 12 * 3600
# Shorter steps forward are never questioned (FFmpeg's own limit for a discontinuity).
QUESTIONED_S = 10
# In an array of ticks, in place of a missing one.
NO_TIME = np.iinfo(np.int64).min
# How many deviating runs of packets are looked past to find the one that continues the clock.
MOST_DEVIATING_RUNS = 8


@dataclass(frozen=True)
class Jump:
    """A repaired discontinuity: the stored times step by so many ticks before this packet."""

    packet: int
    step: int


@dataclass(frozen=True)
class ClockShifts:
    """Seconds to add to the stored times, by the position of a packet in the file."""

    positions: tuple[int, ...] = ()
    shifts: tuple[Fraction, ...] = ()

    def at(self, position: int | None) -> Fraction:
        """The shift of a packet stored at this byte."""
        run = bisect.bisect_right(self.positions, -1 if position is None else position) - 1
        return self.shifts[run] if run >= 0 else Fraction(0)


def repair(stored: Array, durations: Array, tick: Fraction, *, steps_back: bool) -> tuple[Array, list[Jump]]:
    """The ticks to add to the time of each packet (P,), and where they change.

    stored (P,): decoding times, or NO_TIME; durations (P,). steps_back: whether a step back is a discontinuity in this
    format.
    """
    runs = _continuous_runs(stored, durations, tick)
    offsets = np.zeros(len(stored), dtype=np.int64)
    jumps = []
    questioned, longest = int(QUESTIONED_S / tick), int(LONGEST_GAP_S / tick)
    offset = 0
    end: int | None = None
    returns_at = 0
    for k, run in enumerate(runs):
        shift = offset
        if end is not None:
            slack = int(durations[run.first - 1]) if steps_back else longest
            step = run.start + offset - end
            if k < returns_at:
                shift = end - run.start
            elif not -slack <= step <= questioned:
                returns_at = _return(runs, k, end - offset, slack, questioned)
                if returns_at or not -slack <= step <= longest:
                    shift = end - run.start
                    jumps.append(Jump(run.first, step))
                    offset = offset if returns_at else shift
        offsets[run.first : run.first + run.count] = shift
        end = run.end + shift
    return offsets, jumps


@dataclass(frozen=True)
class _PacketRun:
    """Packets whose stored times follow one another."""

    first: int
    count: int
    start: int
    end: int


def _continuous_runs(stored: Array, durations: Array, tick: Fraction) -> list[_PacketRun]:
    timed = np.flatnonzero(stored != NO_TIME)
    if not len(timed):
        return []
    starts = stored[timed]
    ends = starts + durations[timed]
    steps = starts[1:] - ends[:-1]
    breaks = np.flatnonzero((steps < -durations[timed[1:] - 1]) | (steps > int(QUESTIONED_S / tick))) + 1
    firsts = [0, *timed[breaks].tolist(), len(stored)]
    bounds = zip(starts[np.append(0, breaks)].tolist(), ends[np.append(breaks - 1, -1)].tolist(), strict=True)
    return [
        _PacketRun(first, after - first, *bound)
        for (first, after), bound in zip(itertools.pairwise(firsts), bounds, strict=True)
    ]


def _return(runs: Sequence[_PacketRun], k: int, end: int, slack: int, questioned: int) -> int:
    """The run that continues at `end` after run k and its followers deviated from the clock; 0 if there is none."""
    length = 0
    for j in range(k + 1, min(k + 1 + MOST_DEVIATING_RUNS, len(runs))):
        length += runs[j - 1].end - runs[j - 1].start
        is_back = runs[j].start < runs[k].start if runs[k].start > end else runs[j].start > runs[k].start
        if is_back and -slack <= runs[j].start - (end + length) <= questioned:
            return j
    return 0
