"""The frozen records passed between the stages, each validated when it is created."""

from framesift.types.answer import Answer
from framesift.types.evidence import Evidence
from framesift.types.lookup import Lookup
from framesift.types.question import Question, VisualDemand
from framesift.types.selection import ROLES, SELECTION_SCHEMA, Basis, CandidateIndex, Role, Selection, Slot
from framesift.types.vectors import Array
from framesift.types.video import Event, SubtitleTrack, VideoIndex, VideoInfo, VideoSpan
from framesift.types.window import Window

__all__ = [
    "ROLES",
    "SELECTION_SCHEMA",
    "Answer",
    "Array",
    "Basis",
    "CandidateIndex",
    "Event",
    "Evidence",
    "Lookup",
    "Question",
    "Role",
    "Selection",
    "Slot",
    "SubtitleTrack",
    "VideoIndex",
    "VideoInfo",
    "VideoSpan",
    "VisualDemand",
    "Window",
]
