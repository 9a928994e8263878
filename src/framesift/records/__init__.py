"""The records that flow through the rooms, each checked where it is made and never changed after."""

from framesift.records.answer import Answer
from framesift.records.evidence import Evidence
from framesift.records.question import Question, VisualDemand
from framesift.records.selection import ROLES, SELECTION_SCHEMA, Basis, Role, Selection, Slot
from framesift.records.video import Event, SubtitleTrack, VideoIndex, VideoInfo
from framesift.records.words import clock, printable, readable

__all__ = [
    "ROLES",
    "SELECTION_SCHEMA",
    "Answer",
    "Basis",
    "Event",
    "Evidence",
    "Question",
    "Role",
    "Selection",
    "Slot",
    "SubtitleTrack",
    "VideoIndex",
    "VideoInfo",
    "VisualDemand",
    "clock",
    "printable",
    "readable",
]
