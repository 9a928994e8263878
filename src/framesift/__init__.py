"""framesift: the few real frames of a long video that let a vision-language model answer a question.

Names load when first used, so `import framesift` is quick and pulls in nothing heavy.
"""

import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from framesift import corpus as corpus
    from framesift._utils.version import __version__ as __version__
    from framesift.encoders.registry import encoders as encoders
    from framesift.errors import (
        FramesiftError as FramesiftError,
        InputError as InputError,
        OptionError as OptionError,
        ReaderError as ReaderError,
    )
    from framesift.indexing.index import index as index
    from framesift.mcp.agent_tools import agent_tools as agent_tools
    from framesift.pipeline.config import PipelineConfig as PipelineConfig
    from framesift.pipeline.video import (
        Video as Video,
        ask as ask,
        open as open,
        select as select,
        select_many as select_many,
    )
    from framesift.readers.base import readers as readers
    from framesift.rendering.exhibit import Exhibit as Exhibit, exhibit as exhibit
    from framesift.selection.registry import (
        Selector as Selector,
        select_frames as select_frames,
        selectors as selectors,
    )
    from framesift.text.finding import find_events as find_events
    from framesift.text.subtitles.reading import read_events as read_events
    from framesift.types import (
        Answer as Answer,
        Event as Event,
        Evidence as Evidence,
        Question as Question,
        Selection as Selection,
        Slot as Slot,
        VideoIndex as VideoIndex,
        VideoInfo as VideoInfo,
        Window as Window,
    )

# In the order a user meets them: what flows, the calls, the settings, what can go wrong.
_NAMES = {
    "types": ("Event", "Question", "VideoInfo", "VideoIndex", "Evidence", "Slot", "Selection", "Answer", "Window"),
    "indexing.index": ("index",),
    "text.subtitles.reading": ("read_events",),
    "text.finding": ("find_events",),
    "pipeline.video": ("open", "Video", "select", "select_many", "ask"),
    "pipeline.config": ("PipelineConfig",),
    "rendering.exhibit": ("exhibit", "Exhibit"),
    "readers.base": ("readers",),
    "encoders.registry": ("encoders",),
    "corpus": ("corpus",),
    "mcp.agent_tools": ("agent_tools",),
    "selection.registry": ("select_frames", "selectors", "Selector"),
    "errors": ("FramesiftError", "InputError", "OptionError", "ReaderError"),
    "_utils.version": ("__version__",),
}
__all__ = sorted(sum(_NAMES.values(), ()))


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
    for home, names in _NAMES.items():
        if name in names:
            module = import_module(f"framesift.{home}")
            value = globals()[name] = module if home == name else getattr(module, name)
            return value
    raise AttributeError(f"module 'framesift' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
