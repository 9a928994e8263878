"""The public names, as type checkers see them; `__init__.py` loads each from here when it is first used."""

from framesift import corpus as corpus
from framesift._utils.version import __version__ as __version__
from framesift.encoders.registry import encoders as encoders
from framesift.errors import (
    FramesiftError as FramesiftError,
)
from framesift.errors import (
    InputError as InputError,
)
from framesift.errors import (
    OptionError as OptionError,
)
from framesift.errors import (
    ReaderError as ReaderError,
)
from framesift.indexing.index import index as index
from framesift.mcp.agent_tools import agent_tools as agent_tools
from framesift.pipeline.config import PipelineConfig as PipelineConfig
from framesift.pipeline.video import (
    Video as Video,
)
from framesift.pipeline.video import (
    ask as ask,
)
from framesift.pipeline.video import (
    open as open,
)
from framesift.pipeline.video import (
    select as select,
)
from framesift.pipeline.video import (
    select_many as select_many,
)
from framesift.readers.base import readers as readers
from framesift.rendering.exhibit import Exhibit as Exhibit
from framesift.rendering.exhibit import exhibit as exhibit
from framesift.selection.registry import (
    Selector as Selector,
)
from framesift.selection.registry import (
    select_frames as select_frames,
)
from framesift.selection.registry import (
    selectors as selectors,
)
from framesift.text.finding import find_events as find_events
from framesift.text.subtitles.reading import read_events as read_events
from framesift.types import (
    Answer as Answer,
)
from framesift.types import (
    Event as Event,
)
from framesift.types import (
    Evidence as Evidence,
)
from framesift.types import (
    Question as Question,
)
from framesift.types import (
    Selection as Selection,
)
from framesift.types import (
    Slot as Slot,
)
from framesift.types import (
    VideoIndex as VideoIndex,
)
from framesift.types import (
    VideoInfo as VideoInfo,
)
from framesift.types import (
    Window as Window,
)
