"""PipelineConfig: every setting of the pipeline, in four records that declare each once.

`IndexSettings` and `TextSettings` are where they are used. Flags of the command line, JSON fields and YAML keys are
derived from the records or checked against them.
"""

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

from framesift._utils.credentials import check_reader_address
from framesift._utils.files import StrPath
from framesift._utils.json import load_json
from framesift._utils.records import shown
from framesift._utils.settings import check_count, check_names, check_settings, setting
from framesift.errors import BudgetError, FramesiftError, InputError, OptionError
from framesift.indexing.index import IndexSettings
from framesift.readers.base import Reader, check_reader_options
from framesift.readers.prompts import TEXT_MODES, TextMode
from framesift.rendering.rendered_selection import OVERLAYS, Overlay
from framesift.selection.batch_select import BLANK_FRAMES, BlankFrames
from framesift.selection.registry import (
    DEFAULT_METHOD,
    Method,
    check_budget,
    check_demand,
    check_options,
    get_selector,
    uses_demand,
)
from framesift.text.finding import TextSettings
from framesift.types.question import QUERY_TEXTS, QueryText
from framesift.types.window import Window, parse_time, read_window

if TYPE_CHECKING:
    from framesift.selection.looking.object_names import ObjectNamer

Prefer = Literal["auto", "frames", "pixels"]
PREFERENCES: tuple[Prefer, ...] = get_args(Prefer)

AUTO = "auto"  # as a budget: as many frames as the question needs
MOST = 32  # the default budget, and what an automatic one ends at

VisualDemandSetting = float | str | Callable[[str], float]


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


def int_or_auto(value: str) -> int | str:
    """Read a budget."""
    return value if value == AUTO else int(value)


@dataclass(frozen=True)
class SelectionSettings:
    """Which frames are selected. options: the method's own."""

    method: Method = setting(DEFAULT_METHOD, "a method of `framesift selectors`", metavar="NAME")
    budget: int | str = setting(
        MOST,
        "how many frames, or auto: as needed",
        type=int_or_auto,
        metavar="N",
    )
    burst: int = setting(1, "frames, 0.2 s apart, for each selected one", type=int, metavar="N")
    options: Mapping[str, Any] = field(default_factory=dict, metadata={"help": "options of the method"})
    seed: int = setting(0, "seed of methods that draw at random, and of the shuffled overlay", type=int, metavar="N")
    visual_demand: VisualDemandSetting = setting(
        "rules",
        "what gcr and q-gate look at, from 0 (text) to 1 (frames); rules: by the question's words",
        metavar="SHARE",
    )
    query: QueryText = setting(
        "stem+options", "what of a question is compared with frames and text", choices=QUERY_TEXTS
    )
    event_encoder: str | None = setting(
        None, "minilm compares text with the question by a sentence encoder (default: the encoder)", metavar="NAME"
    )
    blank_frames: BlankFrames = setting(
        "skip", "skip or keep frames that show nothing, such as black ones and fades", choices=BLANK_FRAMES
    )
    from_s: float | None = setting(None, "start of the part to consider: 600, 10:00 or 1:10:00", metavar="TIME")
    to_s: float | None = setting(None, "end of the part to consider", metavar="TIME")
    namer: "ObjectNamer | str | None" = setting(
        None, "server that names the objects to search for (default: rules find noun phrases)", metavar="URL"
    )

    def __post_init__(self) -> None:
        if isinstance(self.budget, str) and self.budget != AUTO:
            raise BudgetError(f"budget is {shown(self.budget)}; expected a whole number of at least 1, or auto")
        check_budget(self.most)
        check_settings(self)
        check_count("burst", self.burst)
        if self.burst > self.most:
            raise OptionError(f"burst is {self.burst} for a budget of {self.most} frames; expected at most the budget")
        object.__setattr__(self, "visual_demand", parse_visual_demand(self.visual_demand))
        for name in ("from_s", "to_s"):
            object.__setattr__(self, name, parse_time(getattr(self, name), name))
        selector = get_selector(self.method)
        check_options(selector.name, self.options, selector.options)
        if isinstance(self.namer, str):
            check_reader_address(self.namer)
        check_demand(self.method, self.visual_demand)
        self.window  # noqa: B018 (an empty one is an error)

    @property
    def most(self) -> int:
        """The most frames."""
        return MOST if self.budget == AUTO else self.budget  # type: ignore[return-value]  # checked when it is made

    @property
    def moments(self) -> int:
        """How many frames a method selects, each of which a burst takes the place of."""
        return self.most // self.burst

    @property
    def window(self) -> Window | None:
        """The part of the video to consider; None for all of it."""
        return read_window(self.from_s, self.to_s)

    @property
    def method_options(self) -> dict[str, Any]:
        """The method's options, with the seed where the method draws, and told to stop for an automatic budget.

        A method that has no option `stop` selects the most frames then.
        """
        known = get_selector(self.method).options
        given = {"seed": self.seed} | ({"stop": True} if self.budget == AUTO else {})
        return {name: value for name, value in given.items() if name in known} | dict(self.options)


@dataclass(frozen=True)
class ReaderSettings:
    """How frames are shown, and who answers. reader_options: the reader's own."""

    reader: str | Reader | None = setting(
        None,
        "http://HOST:PORT/v1[#MODEL], local:MODEL or similarity",
        metavar="READER",
    )
    reader_options: Mapping[str, Any] = field(default_factory=dict, metadata={"help": "options of the reader"})
    text_mode: TextMode = setting("aligned", "how the reader is shown the text", choices=TEXT_MODES)
    overlay: Overlay = setting("aligned", "which text is written on the frames", choices=OVERLAYS)
    size: int | None = setting(
        None, "shorter side of the frames in pixels (default: the video's)", type=int, metavar="PIXELS"
    )
    prefer: Prefer = setting(
        "auto",
        "for a limit of tokens: frames or pixels",
        choices=PREFERENCES,
        metavar="WHAT",
    )
    concurrency: int | None = setting(
        None, "questions sent at a time (default: what the reader accepts)", type=int, metavar="N"
    )

    def __post_init__(self) -> None:
        check_settings(self)
        if isinstance(self.reader, str):
            check_reader_options(self.reader, self.reader_options)
        check_count("size", self.size)
        check_count("concurrency", self.concurrency)


RECORDS: Mapping[str, Any] = {
    "index": IndexSettings,
    "text": TextSettings,
    "selection": SelectionSettings,
    "reading": ReaderSettings,
}


@dataclass(frozen=True, init=False)
class PipelineConfig:
    """Every setting, checked when it is made.

    Args:
        **settings: By name, or by record: `PipelineConfig(text=TextSettings(language="en"))`. The defaults are the
            paper's where the paper has any.

    Attributes:
        index: How videos are decoded and encoded.
        text: Which timestamped text is used.
        selection: Which frames are selected.
        reading: How frames are shown, and who answers.

    Raises:
        OptionError: A setting is unknown or out of range.

    Example:
        >>> import framesift as fs
        >>> config = fs.PipelineConfig(budget=8, method="gcr")
        >>> config.replace(budget=16).selection.budget
        16
        >>> fs.PipelineConfig.from_dict(config.to_dict()) == config
        True
    """

    index: IndexSettings
    text: TextSettings
    selection: SelectionSettings
    reading: ReaderSettings

    def __init__(self, **settings: Any) -> None:
        records = {name: settings.pop(name) if name in settings else record() for name, record in RECORDS.items()}
        check_names(settings, *RECORDS.values())
        for name, record in records.items():
            if not isinstance(record, RECORDS[name]):
                raise OptionError(f"{name} is {shown(record)}; expected {RECORDS[name].__name__}(…)")
            own = {f.name: settings[f.name] for f in fields(record) if f.name in settings}
            object.__setattr__(self, name, replace(record, **own) if own else record)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> "PipelineConfig":
        """Read settings by name; an unknown name is an error that suggests a valid one."""
        return cls(**data)

    @classmethod
    def from_file(cls, path: StrPath) -> "PipelineConfig":
        """Read settings from a .json, .yaml or .yml file."""
        return cls(**read_settings(path))

    def replace(self, **settings: Any) -> "PipelineConfig":
        """These settings with others in place of some."""
        return PipelineConfig(**{name: getattr(self, name) for name in RECORDS}, **settings)

    def values(self) -> dict[str, Any]:
        """Every setting by name."""
        records = [getattr(self, name) for name in RECORDS]
        return {f.name: getattr(record, f.name) for record in records for f in fields(record)}

    def to_dict(self) -> dict[str, Any]:
        """JSON values; a method, an encoder, a reader or a namer given as an object becomes its name."""
        values = {name: _json_value(value) for name, value in self.values().items()}
        return values | {"method": get_selector(self.selection.method).name}

    def at_most(self, most: int) -> "PipelineConfig":
        """These settings with as many frames as the question needs, up to `most`."""
        options = replace(self.selection, budget=AUTO).method_options
        return self.replace(budget=most, options=options)

    def for_method(self, method: Method, **changes: Any) -> "PipelineConfig":
        """These settings for another method, without a visual demand where it uses none."""
        demand = self.selection.visual_demand if uses_demand(method) else "rules"
        return self.replace(method=method, visual_demand=demand, **changes)


def read_settings(path: StrPath) -> dict[str, Any]:
    """The mapping in a JSON or YAML file."""
    import yaml

    file = Path(path)
    try:
        text = file.read_text(encoding="utf-8-sig")
        is_json = file.suffix.lower() == ".json"
        settings = load_json(text, str(file), "settings as JSON") if is_json else yaml.safe_load(text)
    except FramesiftError:
        raise
    except Exception as error:  # PyYAML's own constructors of dates, numbers and merge keys raise many kinds
        reason = " ".join(str(getattr(error, "strerror", None) or error).split())
        raise InputError(f"{file} can't be read ({reason}); expected settings as JSON or YAML") from None
    if not isinstance(settings, dict) or not all(isinstance(name, str) for name in settings):
        raise InputError(f"{file} has no settings; expected names and values")
    return settings


def _json_value(value: Any) -> Any:
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if value is None or isinstance(value, str | int | float | Mapping | tuple):
        return value
    return getattr(value, "name", getattr(value, "__name__", type(value).__name__))
