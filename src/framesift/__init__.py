"""framesift: the few real frames of a long video that let a vision-language model answer a question.

Names load when first used, so `import framesift` is quick and pulls in nothing heavy.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from framesift import corpus
    from framesift.api import select, select_many
    from framesift.errors import (
        BudgetError,
        FramesiftError,
        InputError,
        MissingExtra,
        OptionError,
        ReaderError,
        UnknownName,
    )
    from framesift.exhibit.build import Exhibit, events_for, exhibit
    from framesift.library.build import index
    from framesift.library.events import find_events
    from framesift.media.subtitles import read_events
    from framesift.questions import parse_question, read_questions
    from framesift.read.base import ask, ask_many, readers
    from framesift.records import (
        Answer,
        Basis,
        Event,
        Evidence,
        Question,
        Selection,
        Slot,
        SubtitleTrack,
        VideoIndex,
        VideoInfo,
        VisualDemand,
    )
    from framesift.select.config import GCRConfig
    from framesift.select.demand import visual_demand
    from framesift.select.registry import Selector, select_frames, selectors
    from framesift.sources import Box, Detector, FrameSource, Objects, Relation
    from framesift.vectors import UnitRows

__version__ = "0.1.0"

# In the order a user meets them: what flows, the calls, the settings, what can go wrong.
_HOME = {
    "Event": "records",
    "Question": "records",
    "VideoInfo": "records",
    "SubtitleTrack": "records",
    "VideoIndex": "records",
    "Evidence": "records",
    "Slot": "records",
    "Selection": "records",
    "Basis": "records",
    "Answer": "records",
    "VisualDemand": "records",
    "UnitRows": "vectors",
    "FrameSource": "sources",
    "Objects": "sources",
    "Relation": "sources",
    "Box": "sources",
    "Detector": "sources",
    "index": "library.build",
    "read_events": "media.subtitles",
    "find_events": "library.events",
    "parse_question": "questions",
    "read_questions": "questions",
    "select_frames": "select.registry",
    "select": "api",
    "select_many": "api",
    "exhibit": "exhibit.build",
    "Exhibit": "exhibit.build",
    "events_for": "exhibit.build",
    "ask": "read.base",
    "ask_many": "read.base",
    "readers": "read.base",
    "corpus": "corpus",
    "selectors": "select.registry",
    "Selector": "select.registry",
    "visual_demand": "select.demand",
    "GCRConfig": "select.config",
    "FramesiftError": "errors",
    "InputError": "errors",
    "BudgetError": "errors",
    "OptionError": "errors",
    "UnknownName": "errors",
    "MissingExtra": "errors",
    "ReaderError": "errors",
}

__all__ = [
    "Answer",
    "Basis",
    "Box",
    "BudgetError",
    "Detector",
    "Event",
    "Evidence",
    "Exhibit",
    "FrameSource",
    "FramesiftError",
    "GCRConfig",
    "InputError",
    "MissingExtra",
    "Objects",
    "OptionError",
    "Question",
    "ReaderError",
    "Relation",
    "Selection",
    "Selector",
    "Slot",
    "SubtitleTrack",
    "UnitRows",
    "UnknownName",
    "VideoIndex",
    "VideoInfo",
    "VisualDemand",
    "__version__",
    "ask",
    "ask_many",
    "corpus",
    "events_for",
    "exhibit",
    "find_events",
    "index",
    "parse_question",
    "read_events",
    "read_questions",
    "readers",
    "select",
    "select_frames",
    "select_many",
    "selectors",
    "visual_demand",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'framesift' has no attribute {name!r}")
    home = import_module(f"framesift.{_HOME[name]}")
    value = home if _HOME[name] == name else getattr(home, name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
