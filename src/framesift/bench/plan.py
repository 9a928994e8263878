"""The plan of a benchmark run: methods with options, budgets, text modes and readers, from flags or YAML.

methods: [gcr, uniform]          names of `framesift selectors`
budgets: [8, 32]
text_modes: [aligned]            none, blank, prompt, tagged, shuffled, aligned
readers: {LLaVA-OV: local:llava-onevision-7b}     or a list of addresses; none: only frames
ablate: [ground, cover, refine]  gcr without each of these, beside gcr
sweep: {alpha_ground: [1/8, 3/8]}                 each value beside the default
set: {vsi.detector: NAME}        an option of one method, or of all that have it
encoder, fps, mode, device, store, events, seed, event_encoder, visual_demand, namer, blank_frames, unchanged_frames:
one value each, for all choices; fps is 1, blank_frames keep and unchanged_frames encode by default, as in the paper
times: false                     the prompt without the frames' times
uniform_frames: video            uniform takes its frames from the whole video, not from the candidates
blocks: [{methods: [gcr], text_modes: [aligned]}] each with its own settings instead of those above
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from pathlib import Path
from typing import Any

from framesift._utils.json import parse_scalar
from framesift._utils.records import shown
from framesift._utils.text import suggestion
from framesift.batch.results import CANDIDATES, UNIFORM, UNIFORM_FRAMES, WHOLE_VIDEO
from framesift.batch.settings import ReaderSpec, SelectionChoice
from framesift.errors import InputError, OptionError
from framesift.pipeline.config import PipelineConfig, read_settings
from framesift.readers.prompts import check_text_mode
from framesift.selection.gcr.config import STAGES
from framesift.selection.registry import check_budget, check_options, get_selector, method_for_demand
from framesift.text.finding import AUTO, NONE

EVENTS = ("subtitles", "speech", "none")
WITHOUT = "without"
DEFAULTS: dict[str, Any] = {"methods": ["gcr", "uniform"], "budgets": [8, 32], "text_modes": ["aligned"]}
_BLOCK = ("methods", "budgets", "text_modes", "ablate", "sweep", "set")
_CONFIG = (
    *("encoder", "fps", "mode", "device", "store", "seed", "event_encoder", "visual_demand", "namer"),
    *("blank_frames", "unchanged_frames"),
)
_WHOLE = (*_CONFIG, "events", "times", "uniform_frames")
PAPER = {"fps": 1.0, "blank_frames": "keep", "unchanged_frames": "encode"}  # of PipelineConfig, as in the paper's runs
_DATA = ("datasets", "groups", "ids", "sample", "limit", "allow_missing")
SETTINGS = (*_BLOCK, "readers", *_WHOLE, *_DATA, "blocks")


_OF_CHOICE: dict[str, Callable[[SelectionChoice], Any]] = {
    "methods": lambda choice: choice.method,
    "budgets": lambda choice: choice.budget,
    "text_modes": lambda choice: choice.text_mode,
}


@dataclass(frozen=True)
class BenchmarkPlan:
    """The choices in the order they were named, each once, and what is the same for all of them.

    No reader: frames are chosen and can be scored as evidence. times: whether prompts have the frames' times.
    """

    choices: tuple[SelectionChoice, ...]
    readers: tuple[ReaderSpec, ...] = ()
    config: PipelineConfig = field(default_factory=PipelineConfig)
    times: bool = True

    def narrowed(self, **wanted: Sequence[Any]) -> "BenchmarkPlan":
        """Keep only these methods, budgets or text_modes; one that is not in the plan is an error."""
        choices = list(self.choices)
        for name, values in wanted.items():
            of = _OF_CHOICE[name]
            available = list(dict.fromkeys(of(choice) for choice in self.choices))
            unknown = [value for value in values if value not in available]
            if unknown:
                listing = ", ".join(map(str, available))
                raise OptionError(
                    f"{name} has {shown(unknown[0])}, which is not in this plan; expected one of {listing}"
                )
            choices = [choice for choice in choices if of(choice) in values]
        if not choices:
            raise OptionError("no condition of this plan has all of these; give fewer")
        return replace(self, choices=tuple(choices))


def read_plan(path: str | Path) -> dict[str, Any]:
    """The settings of a plan's YAML file; an unknown one is an error that lists the valid ones."""
    settings = read_settings(path)
    _check_known(settings, SETTINGS, str(path))
    for k, block in enumerate(_blocks(settings, str(path)), 1):
        _check_known(block, _BLOCK, f"{path}, block {k}")
    return settings


def make_plan(settings: Mapping[str, Any]) -> BenchmarkPlan:
    """A plan from settings as YAML or flags give them: lists, or texts with commas between."""
    _check_known(settings, SETTINGS, "the plan")
    whole = {name: value for name in _WHOLE if (value := settings.get(name)) is not None}
    events, times = whole.pop("events", "subtitles"), whole.pop("times", True)
    frames_of_uniform = whole.pop("uniform_frames", CANDIDATES)
    if events not in EVENTS:
        raise OptionError(f"events is {shown(events)}; expected one of {', '.join(EVENTS)}")
    if not isinstance(times, bool):
        raise OptionError(f"times is {shown(times)}; expected true or false")
    if frames_of_uniform not in UNIFORM_FRAMES:
        raise OptionError(f"uniform_frames is {shown(frames_of_uniform)}; expected {' or '.join(UNIFORM_FRAMES)}")
    choices: dict[str, SelectionChoice] = {}
    for block in _blocks(settings, "the plan") or [{}]:
        merged = DEFAULTS | {name: settings[name] for name in _BLOCK if settings.get(name) is not None} | block
        for choice in _choices(merged):
            is_whole = frames_of_uniform == WHOLE_VIDEO and choice.method == UNIFORM
            choices.setdefault(repr(choice), replace(choice, whole_video=is_whole))
    config = PipelineConfig(
        **PAPER | whole,
        subtitles=AUTO if events == "subtitles" else NONE,
        speech=AUTO if events == "speech" else NONE,
        method=method_for_demand([choice.method for choice in choices.values()]),
    )
    return BenchmarkPlan(tuple(choices.values()), readers_of(settings.get("readers")), config, times)


def readers_of(value: Any) -> tuple[ReaderSpec, ...]:
    """Addresses, NAME=address, or a mapping of names to addresses or to {reader: address, option: value …}."""
    readers = []
    pairs = value.items() if isinstance(value, Mapping) else (_named(text) for text in words(value, "readers"))
    for name, reader in pairs:
        options = dict(reader) if isinstance(reader, Mapping) else {"reader": reader}
        address = options.pop("reader", None)
        if not isinstance(address, str):
            raise OptionError(f"the reader {name!r} has no address; expected a URL, local:MODEL or similarity")
        readers.append(ReaderSpec(address, str(name), options))
    return tuple(readers)


def words(value: Any, name: str) -> list[str]:
    """A list's parts, or a text's between commas, as texts; none is an empty list."""
    if value is None:
        return []
    parts = value.split(",") if isinstance(value, str) else value
    if not isinstance(parts, list | tuple) or any(isinstance(part, Mapping | list) for part in parts):
        raise OptionError(f"{name} is {value!r}; expected a list, or names with commas between them")
    return [str(part).strip() for part in parts if str(part).strip()]


def pairs_of(value: Any, name: str) -> dict[str, Any]:
    """NAME=VALUE texts, or a mapping, as a mapping."""
    if isinstance(value, Mapping):
        return {str(key): item for key, item in value.items()}
    if not isinstance(value, list | tuple | None):
        raise OptionError(f"{name} is {shown(value)}; expected NAME=VALUE")
    pairs = {}
    for text in value or ():
        key, equals, item = str(text).partition("=")
        if not equals or not key.strip():
            raise OptionError(f"{name} {text!r} sets nothing; expected NAME=VALUE")
        pairs[key.strip()] = item.strip()
    return pairs


def _choices(block: Mapping[str, Any]) -> Iterator[SelectionChoice]:
    methods = words(block["methods"], "methods")
    if not methods:
        raise OptionError("methods is empty; expected some of `framesift selectors`")
    budgets = [check_budget(_whole(text, "budgets")) for text in words(block["budgets"], "budgets")]
    modes = [check_text_mode(text) for text in words(block["text_modes"], "text_modes")]
    variants = _variants(methods, block)
    if not budgets or not modes:
        raise OptionError("budgets or text_modes is empty; expected at least one of each")
    for (method, options), budget, mode in product(variants, budgets, modes):
        yield SelectionChoice(method, options, budget, mode)


def _variants(methods: Sequence[str], block: Mapping[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    """Each method with those of its options that differ from its defaults."""
    options_of = {method: get_selector(method).options for method in methods}
    base: dict[str, dict[str, Any]] = {method: {} for method in methods}
    for name, value in pairs_of(block.get("set"), "set").items():
        for method, option in _methods_with(name, options_of):
            base[method][option] = parse_scalar(value) if isinstance(value, str) else value
    variants = [_variant(method, base[method]) for method in methods]
    ablated = words(block.get("ablate"), "ablate")
    unknown = [stage for stage in ablated if stage not in STAGES]
    if unknown:
        raise OptionError(f"ablate has {shown(unknown[0])}; expected some of {', '.join(STAGES)}")
    for method, option in _methods_with(WITHOUT, options_of) if ablated else ():
        variants += [_variant(method, base[method] | {option: stage}) for stage in ablated]
    for name, values in pairs_of(block.get("sweep"), "sweep").items():
        for method, option in _methods_with(name, options_of):
            swept = [parse_scalar(text) for text in words(values, f"sweep of {name}")]
            variants += [_variant(method, base[method] | {option: value}) for value in swept]
    return list({repr(variant): variant for variant in variants}.values())


def _variant(method: str, options: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    known = get_selector(method).options
    check_options(method, options, known)
    return method, {name: value for name, value in options.items() if value != known[name]}


def _methods_with(name: str, options_of: Mapping[str, Mapping[str, object]]) -> list[tuple[str, str]]:
    """The methods that have this option: "name" for all of them, "method.name" for one."""
    method, dot, own = name.partition(".")
    if dot and method in options_of:
        check_options(method, {own: None}, options_of[method])
        return [(method, own)]
    matches = [(method, name) for method, options in options_of.items() if name in options]
    if not matches:
        known = dict.fromkeys(option for options in options_of.values() for option in options)
        raise OptionError(f"none of {', '.join(options_of)} has an option {name!r}; {suggestion(name, known)}")
    return matches


def _blocks(settings: Mapping[str, Any], location: str) -> list[dict[str, Any]]:
    blocks = settings.get("blocks") or []
    if not isinstance(blocks, list) or not all(isinstance(block, dict) for block in blocks):
        raise InputError(f"{location}: blocks is not a list of settings; expected some of {', '.join(_BLOCK)} in each")
    return blocks


def _check_known(settings: Iterable[Any], known: Sequence[str], location: str) -> None:
    unknown = [name for name in settings if name not in known]
    if unknown:
        raise InputError(f"{location} has no setting {shown(unknown[0])}; {suggestion(str(unknown[0]), known)}")


def _named(text: str) -> tuple[str, str]:
    """NAME=address; an address of its own may hold "=" behind its "/" or ":"."""
    name, equals, address = text.partition("=")
    return (name.strip(), address.strip()) if equals and not set(name) & set(":/@?") else ("", text)


def _whole(text: str, name: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise OptionError(f"{name} has {shown(text)}; expected whole numbers") from None
