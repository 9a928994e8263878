"""framesift: the few real frames of a long video that let a vision-language model answer a question.

Names load when first used, so `import framesift` is quick and pulls in nothing heavy.
"""

import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from framesift import corpus
    from framesift._utils.version import __version__
    from framesift.encoders.registry import encoders
    from framesift.errors import FramesiftError, InputError, OptionError, ReaderError
    from framesift.indexing.index import index
    from framesift.mcp.agent_tools import agent_tools
    from framesift.pipeline.config import PipelineConfig
    from framesift.pipeline.pipeline import Pipeline, select, select_many
    from framesift.readers.base import ask, readers
    from framesift.rendering.exhibit import Exhibit, exhibit
    from framesift.selection.registry import Selector, select_frames, selectors
    from framesift.text.finding import find_events
    from framesift.text.subtitles.reading import read_events
    from framesift.types import Answer, Event, Evidence, Question, Selection, Slot, VideoIndex, VideoInfo, Window
    from framesift.types.lookup import Lookup

# In the order a user meets them: what flows, the calls, the settings, what can go wrong.
_HOME = {
    "Event": "types",
    "Question": "types",
    "VideoInfo": "types",
    "VideoIndex": "types",
    "Evidence": "types",
    "Slot": "types",
    "Selection": "types",
    "Answer": "types",
    "Window": "types",
    "Lookup": "types.lookup",
    "index": "indexing.index",
    "read_events": "text.subtitles.reading",
    "find_events": "text.finding",
    "select_frames": "selection.registry",
    "Pipeline": "pipeline.pipeline",
    "PipelineConfig": "pipeline.config",
    "select": "pipeline.pipeline",
    "select_many": "pipeline.pipeline",
    "exhibit": "rendering.exhibit",
    "Exhibit": "rendering.exhibit",
    "ask": "readers.base",
    "readers": "readers.base",
    "encoders": "encoders.registry",
    "corpus": "corpus",
    "agent_tools": "mcp.agent_tools",
    "selectors": "selection.registry",
    "Selector": "selection.registry",
    "FramesiftError": "errors",
    "InputError": "errors",
    "OptionError": "errors",
    "ReaderError": "errors",
    "__version__": "_utils.version",
}

__all__ = [
    "Answer",
    "Event",
    "Evidence",
    "Exhibit",
    "FramesiftError",
    "InputError",
    "Lookup",
    "OptionError",
    "Pipeline",
    "PipelineConfig",
    "Question",
    "ReaderError",
    "Selection",
    "Selector",
    "Slot",
    "VideoIndex",
    "VideoInfo",
    "Window",
    "__version__",
    "agent_tools",
    "ask",
    "corpus",
    "encoders",
    "exhibit",
    "find_events",
    "index",
    "read_events",
    "readers",
    "select",
    "select_frames",
    "select_many",
    "selectors",
]


class _Package(ModuleType):
    """Keeps a public name what it is when a subpackage of the same name is imported.

    `fs.readers` lists the readers and `framesift.readers` is also a package; importing the package would otherwise put
    the module in the function's place.
    """

    def __setattr__(self, name: str, value: Any) -> None:
        if not (name in ("readers", "encoders") and isinstance(value, ModuleType)):
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
