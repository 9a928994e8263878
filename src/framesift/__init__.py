"""framesift: the few real frames of a long video that let a vision-language model answer a question.

Names load when first used, so `import framesift` is quick and pulls in nothing heavy.
"""

import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from framesift import corpus
    from framesift._utils.version import __version__
    from framesift.errors import (
        BudgetError,
        FramesiftError,
        InputError,
        MissingExtra,
        OptionError,
        ReaderError,
        UnknownName,
    )
    from framesift.indexing.index import index
    from framesift.mcp.agent_tools import agent_tools
    from framesift.pipeline.config import PipelineConfig
    from framesift.pipeline.pipeline import Pipeline, PreparedVideo, select, select_many
    from framesift.readers.base import ask, ask_many, readers
    from framesift.rendering.exhibit import Exhibit, events_for, exhibit
    from framesift.selection.gcr.config import GCRConfig
    from framesift.selection.gcr.demand import visual_demand
    from framesift.selection.registry import Selector, select_frames, selectors
    from framesift.text.finding import find_events
    from framesift.text.questions import parse_question, read_questions
    from framesift.text.subtitles.reading import read_events
    from framesift.types import (
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
        VideoSpan,
        VisualDemand,
        Window,
    )
    from framesift.types.lookup import Box, Detector, FrameSource, Lookup, Objects, Relation
    from framesift.types.vectors import UnitRows

# In the order a user meets them: what flows, the calls, the settings, what can go wrong.
_HOME = {
    "Event": "types",
    "Question": "types",
    "VideoInfo": "types",
    "SubtitleTrack": "types",
    "VideoIndex": "types",
    "VideoSpan": "types",
    "Evidence": "types",
    "Slot": "types",
    "Selection": "types",
    "Basis": "types",
    "Answer": "types",
    "VisualDemand": "types",
    "Window": "types",
    "UnitRows": "types.vectors",
    "FrameSource": "types.lookup",
    "Lookup": "types.lookup",
    "Objects": "types.lookup",
    "Relation": "types.lookup",
    "Box": "types.lookup",
    "Detector": "types.lookup",
    "index": "indexing.index",
    "read_events": "text.subtitles.reading",
    "find_events": "text.finding",
    "parse_question": "text.questions",
    "read_questions": "text.questions",
    "select_frames": "selection.registry",
    "Pipeline": "pipeline.pipeline",
    "PipelineConfig": "pipeline.config",
    "PreparedVideo": "pipeline.pipeline",
    "select": "pipeline.pipeline",
    "select_many": "pipeline.pipeline",
    "exhibit": "rendering.exhibit",
    "Exhibit": "rendering.exhibit",
    "events_for": "rendering.exhibit",
    "ask": "readers.base",
    "ask_many": "readers.base",
    "readers": "readers.base",
    "corpus": "corpus",
    "agent_tools": "mcp.agent_tools",
    "selectors": "selection.registry",
    "Selector": "selection.registry",
    "visual_demand": "selection.gcr.demand",
    "GCRConfig": "selection.gcr.config",
    "FramesiftError": "errors",
    "InputError": "errors",
    "BudgetError": "errors",
    "OptionError": "errors",
    "UnknownName": "errors",
    "MissingExtra": "errors",
    "ReaderError": "errors",
    "__version__": "_utils.version",
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
    "Lookup",
    "MissingExtra",
    "Objects",
    "OptionError",
    "Pipeline",
    "PipelineConfig",
    "PreparedVideo",
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
    "VideoSpan",
    "VisualDemand",
    "Window",
    "__version__",
    "agent_tools",
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


class _Package(ModuleType):
    """Keeps a public name what it is when a subpackage of the same name is imported.

    `fs.readers` lists the readers and `framesift.readers` is also a package; importing the package would otherwise put
    the module in the function's place.
    """

    def __setattr__(self, name: str, value: Any) -> None:
        if not (name == "readers" and isinstance(value, ModuleType)):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'framesift' has no attribute {name!r}")
    from importlib import import_module

    home = import_module(f"framesift.{_HOME[name]}")
    value = home if _HOME[name] == name else getattr(home, name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
