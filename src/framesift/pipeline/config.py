"""PipelineConfig: every setting of the pipeline, declared once with its default, its check and its help text.

Flags of the command line, JSON fields and YAML keys are derived from it or checked against it.
"""

import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from framesift._utils.credentials import check_reader_address
from framesift._utils.json import load_json
from framesift._utils.records import MAX_DEPTH, read_value, shown
from framesift._utils.text import suggestion
from framesift.errors import InputError, MissingExtra, OptionError
from framesift.indexing.index import UNCHANGED_FRAMES, UnchangedFrames, check_sampling, check_unchanged_frames
from framesift.readers.prompts import TEXT_MODES, check_text_mode
from framesift.rendering.exhibit import Q_FRAME_SCALES, check_exhibit_options
from framesift.rendering.rendered_selection import OVERLAYS, Overlay, Scales
from framesift.selection.registry import (
    DEFAULT_METHOD,
    Method,
    check_budget,
    check_demand,
    check_options,
    get_selector,
    uses_demand,
)
from framesift.selection.skipping import BLANK_FRAMES, BlankFrames, check_blank_frames
from framesift.text.finding import AUTO, NONE
from framesift.text.speech import check_engine
from framesift.types.window import Window, parse_time, read_window
from framesift.video.cuda import DECODES, Decode, check_decode
from framesift.video.frames import MODES, Fps, Mode

if TYPE_CHECKING:
    from framesift.encoders.base import Encoder
    from framesift.readers.base import Reader
    from framesift.text.object_names import ObjectNamer

# Settings without a check of their own: by the type of a JSON value, and those that may be objects.
_KINDS: Mapping[str, Any] = {
    "device": str,
    "language": str | None,
    "speech": str,
    "screen_text": bool,
    "seed": int,
    "event_encoder": str | None,
    "concurrency": int | None,
}
_TYPES: Mapping[str, Any] = {
    "store": str | os.PathLike | None,
    "subtitles": str | os.PathLike,
    "options": Mapping,
    "reader_options": Mapping,
}
_EXPECTED = {"store": "a directory", "subtitles": "a subtitle file, auto or none"}
_EXPECTED |= {"options": "names and values", "reader_options": "names and values"}

VisualDemandSetting = float | str | Callable[[str], float]
Default = TypeVar("Default")


def setting(default: Default, description: str, **argument: Any) -> Default:
    """Declare a setting: its default, what it is, and what argparse needs to read it from a flag."""
    metadata = {"help": description, "argument": argument}
    value: Default = field(default=default, metadata=metadata)
    return value


def parse_fps(value: Any) -> Fps:
    """Candidates per second: "auto", or a number, which may come as text."""
    try:
        return "auto" if value == "auto" else float(value)
    except (TypeError, ValueError, OverflowError):
        raise OptionError(f"fps is {shown(value)}; expected a number above 0, or auto") from None


def parse_visual_demand(value: Any) -> VisualDemandSetting:
    """How much the question asks of the frames: "rules", a number, or a function of the question."""
    if value == "rules" or callable(value):
        return value  # type: ignore[no-any-return]  # checked in the line above
    try:
        demand = float(value)
    except (TypeError, ValueError, OverflowError):
        demand = -1.0
    if not 0 <= demand <= 1:
        raise OptionError(f"visual_demand is {shown(value)}; expected rules, or a number from 0 (text) to 1 (frames)")
    return demand


def parse_scales(value: Any) -> Scales:
    """(count, scale) pairs: given as such, as text like 4:1/2,8:1/4, or by the name q-frame."""
    if value == "q-frame":
        return Q_FRAME_SCALES
    try:
        pairs = [pair.split(":") for pair in value.split(",")] if isinstance(value, str) else value
        return tuple((int(count), float(Fraction(scale))) for count, scale in pairs)
    except (TypeError, ValueError, ArithmeticError):
        raise OptionError(f"scales is {shown(value)}; expected pairs like 4:1/2,8:1/4") from None


@dataclass(frozen=True, repr=False)
class PipelineConfig:
    """Every setting of the pipeline, checked when it is made.

    The defaults are the paper's where the paper has any. `from_file` reads JSON or YAML, `from_dict` a mapping,
    `to_dict` gives JSON values. `options` are the method's own, `reader_options` the reader's.
    """

    # The index
    encoder: "str | Encoder" = setting("auto", "auto, siglip, offline, …, or a checkpoint's folder")
    fps: Fps = setting("auto", "candidates per second, or auto", metavar="RATE")
    mode: Mode = setting("exact", "how candidates are decoded", choices=MODES)
    unchanged_frames: UnchangedFrames = setting(
        "reuse",
        "candidates that show the same as the one before: reuse its vector or encode them",
        choices=UNCHANGED_FRAMES,
    )
    device: str = setting("auto", "auto, cpu, cuda or mps")
    decode: Decode = setting("auto", "where videos are decoded; auto: cuda if the encoder runs there", choices=DECODES)
    store: str | os.PathLike[str] | None = setting(
        None, "folder of the indexes (default: the user's cache folder)", metavar="DIR"
    )
    # Timestamped text
    subtitles: str | os.PathLike[str] = setting(AUTO, "a subtitle file, auto or none", metavar="FILE")
    language: str | None = setting(None, "language of subtitles and speech, as in en", metavar="CODE")
    speech: str = setting(AUTO, "speech recognition: auto, none, moonshine, whisper:…", metavar="ENGINE")
    screen_text: bool = setting(False, "also read the text on the screen", action="store_true")
    # The selection
    method: Method = setting(DEFAULT_METHOD, "a name of `framesift selectors`", metavar="NAME")
    budget: int = setting(32, "how many frames", type=int, metavar="N")
    options: Mapping[str, Any] = field(default_factory=dict, metadata={"help": "options of the method"})
    seed: int = setting(0, "of the method's random draws and the shuffled overlay", type=int, metavar="N")
    visual_demand: VisualDemandSetting = setting(
        "rules",
        "0 (text) to 1 (frames), or rules: from the question's words; of gcr and q-gate",
        metavar="SHARE",
    )
    event_encoder: str | None = setting(
        None, "minilm: compare events with the question by a sentence encoder (default: the encoder)", metavar="NAME"
    )
    blank_frames: BlankFrames = setting(
        "skip", "frames that show nothing (black, white, a fade): skip or keep them", choices=BLANK_FRAMES
    )
    from_s: float | None = setting(
        None, "start of the window to consider, as 600, 10:00 or 1:10:00 (default: the video's)", metavar="TIME"
    )
    to_s: float | None = setting(
        None, "end of the window, as for a question about what came before (default: the video's)", metavar="TIME"
    )
    namer: "ObjectNamer | str | None" = setting(
        None, "server that names the objects to search for (default: noun phrases by rule)", metavar="URL"
    )
    # The exhibit
    overlay: Overlay = setting("aligned", "text on the frames", choices=OVERLAYS)
    size: int | None = setting(None, "shorter side of the frames (default: the video's)", type=int, metavar="PIXELS")
    scales: Scales = setting(
        (),
        "shrink frames by rank of relevance, as 4:1/2,8:1/4,32:1/8, which q-frame stands for",
        metavar="PAIRS",
    )
    # The reader
    reader: "str | Reader | None" = setting(
        None, "http://HOST:PORT/v1[#MODEL], local:MODEL, or similarity (weak, needs no model)", metavar="READER"
    )
    reader_options: Mapping[str, Any] = field(default_factory=dict, metadata={"help": "options of the reader"})
    text_mode: str = setting("aligned", "how the events' text is shown to the reader", choices=TEXT_MODES)
    concurrency: int | None = setting(
        None, "questions in flight at a time (default: what the reader takes)", type=int, metavar="N"
    )

    def __post_init__(self) -> None:
        set_field = object.__setattr__
        for name, kind in _KINDS.items():
            try:
                read_value(kind, getattr(self, name), name)
            except InputError as error:
                raise OptionError(str(error)) from None
        for name, types in _TYPES.items():
            if not isinstance(getattr(self, name), types):
                raise OptionError(f"{name} is {shown(getattr(self, name))}; expected {_EXPECTED[name]}")
        set_field(self, "fps", parse_fps(self.fps))
        set_field(self, "visual_demand", parse_visual_demand(self.visual_demand))
        set_field(self, "scales", parse_scales(self.scales))
        for name in ("from_s", "to_s"):
            set_field(self, name, parse_time(getattr(self, name), name))
        set_field(self, "options", dict(self.options))
        set_field(self, "reader_options", dict(self.reader_options))
        check_sampling(self.fps, self.mode)
        check_unchanged_frames(self.unchanged_frames)
        check_decode(self.decode)
        check_budget(self.budget)
        selector = get_selector(self.method)
        check_options(selector.name, self.options, selector.options)
        for address in (self.reader, self.namer):
            if isinstance(address, str):
                check_reader_address(address)
        check_demand(self.method, self.visual_demand)
        check_exhibit_options(self.overlay, self.size, self.scales)
        check_text_mode(self.text_mode)
        check_blank_frames(self.blank_frames)
        self.window  # noqa: B018 (an empty one is an error)
        if self.speech != NONE:
            check_engine(self.speech)
        if self.concurrency is not None and self.concurrency < 1:
            raise OptionError(f"concurrency is {self.concurrency!r}; expected a whole number of at least 1")
        if os.fspath(self.subtitles) not in (AUTO, NONE) and not Path(self.subtitles).is_file():
            raise InputError(f"{self.subtitles} is not a file; expected a subtitle file, auto or none")

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> "PipelineConfig":
        """Read settings by name; an unknown name is an error that suggests a valid one."""
        known = [f.name for f in fields(cls)]
        unknown = [name for name in data if name not in known]
        if unknown:
            raise OptionError(f"there is no setting {shown(unknown[0])}; {suggestion(unknown[0], known)}")
        return cls(**data)

    @classmethod
    def from_file(cls, path: str | os.PathLike[str]) -> "PipelineConfig":
        """Read settings from a .json, .yaml or .yml file."""
        return cls.from_dict(read_settings(path))

    def to_dict(self) -> dict[str, Any]:
        """JSON values; a method, an encoder, a reader or a namer given as an object becomes its name."""
        values = {f.name: _json_value(getattr(self, f.name)) for f in fields(self)}
        return values | {"method": get_selector(self.method).name, "scales": [list(pair) for pair in self.scales]}

    def for_method(self, method: Method, **changes: Any) -> "PipelineConfig":
        """These settings for another method, without a visual demand where it uses none."""
        demand = self.visual_demand if uses_demand(method) else "rules"
        return replace(self, method=method, visual_demand=demand, **changes)

    @property
    def window(self) -> Window | None:
        """The part of the video to consider; None for all of it."""
        return read_window(self.from_s, self.to_s)

    @property
    def method_options(self) -> dict[str, Any]:
        """The method's options, with the seed where the method draws."""
        seeded = "seed" in get_selector(self.method).options
        return ({"seed": self.seed} if seeded else {}) | dict(self.options)


def read_settings(path: str | os.PathLike[str]) -> dict[str, Any]:
    """The mapping in a JSON or YAML file."""
    file = Path(path)
    try:
        text = file.read_text(encoding="utf-8-sig")
        is_json = file.suffix.lower() == ".json"
        settings = load_json(text, str(file), "settings as JSON") if is_json else _parse_yaml(text)
    except InputError:
        raise
    except (OSError, ValueError) as error:
        reason = " ".join(str(getattr(error, "strerror", None) or error).split())
        raise InputError(f"{file} can't be read ({reason}); expected settings as JSON or YAML") from None
    if not isinstance(settings, dict) or not all(isinstance(name, str) for name in settings):
        raise InputError(f"{file} has no settings; expected names and values")
    return settings


def _parse_yaml(text: str) -> Any:
    try:
        import yaml
    except ImportError:
        raise MissingExtra("YAML settings need PyYAML: pip install 'framesift[bench]'") from None
    depth = 0
    for bracket in re.findall(r"[\[\]{}]", text):
        depth += 1 if bracket in "[{" else -1
        if depth > MAX_DEPTH:  # PyYAML's time grows with the square of the depth
            raise ValueError("it is nested too deeply")
    try:
        return yaml.safe_load(text)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    except (yaml.YAMLError, ValueError, ArithmeticError, LookupError, TypeError, AttributeError) as error:
        # PyYAML's own constructors of dates, numbers and merge keys raise these.
        raise ValueError(str(error)) from None


def _json_value(value: Any) -> Any:
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if value is None or isinstance(value, str | int | float | Mapping | tuple):
        return value
    return getattr(value, "name", type(value).__name__)
