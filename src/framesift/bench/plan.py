"""The plan of a benchmark run: methods with options, budgets, text modes and readers, from flags or YAML.

methods: [gcr, uniform]          names of `framesift selectors`
budgets: [8, 32]
text_modes: [aligned]            none, blank, prompt, tagged, shuffled, aligned
readers: {LLaVA-OV: local:llava-onevision-7b}     or a list of addresses; none: only frames
ablate: [ground, cover, refine]  gcr without each of these, beside gcr
sweep: {alpha_ground: [1/8, 3/8]}                 each value beside the default
set: {vsi.detector: NAME}        an option of one method, or of all that have it
per_dataset: {longvideobench: {bolt.alpha: 2.5}}  options of a method on one data set
query: stem                      what of a question is compared; with its options by default: stem+options
size: 360                        the frames' shorter side in pixels; the video's by default
encoder, fps, mode, device, store, events, seed, event_encoder, visual_demand, namer, blank_frames, unchanged_frames:
one value each, for all choices; fps is 1, blank_frames keep and unchanged_frames encode by default, as in the paper
times: false                     the prompt without the frames' times
uniform_frames: video            uniform takes its frames from the whole video, not from the candidates
blocks: [{methods: [gcr], text_modes: [aligned]}] each with its own settings instead of those above
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from itertools import product
from typing import Any, Literal

from framesift._utils.json import parse_scalar
from framesift._utils.records import Name, read_record, read_value, shown
from framesift._utils.text import suggestion
from framesift.batch.results import UNIFORM
from framesift.batch.settings import ReaderSpec, SelectionChoice
from framesift.bench.datasets import DATASETS
from framesift.errors import InputError, OptionError
from framesift.indexing.index import IndexSettings
from framesift.pipeline.config import PipelineConfig, ReaderSettings, SelectionSettings
from framesift.readers.prompts import check_text_mode
from framesift.selection.gcr.method import STAGES
from framesift.selection.registry import check_budget, check_options, get_selector, method_for_demand
from framesift.text.finding import AUTO, NONE

WITHOUT = "without"
PAPER = {"fps": 1.0, "blank_frames": "keep", "unchanged_frames": "encode"}  # of PipelineConfig, as in the paper's runs
DEFAULTS: dict[str, Any] = {"methods": ["gcr", "uniform"], "budgets": [8, 32], "text_modes": ["aligned"]}
_FIELDS = {"methods": "method", "budgets": "budget", "text_modes": "text_mode"}  # of a SelectionChoice
_BLOCK = (*_FIELDS, "ablate", "sweep", "set", "query", "size")
_CONFIG = (*(f.name for f in fields(IndexSettings)), "seed", "event_encoder", "visual_demand", "namer", "blank_frames")
_DATA = ("datasets", "groups", "ids", "sample", "limit", "allow_missing")


@dataclass(frozen=True)
class _PlanSettings:
    """What a plan sets for all its choices, besides settings of the pipeline."""

    events: Literal["subtitles", "speech", "none"] = "subtitles"
    times: bool = True
    uniform_frames: Literal["candidates", "video"] = "candidates"


_OWN = tuple(f.name for f in fields(_PlanSettings))
SETTINGS = (*_BLOCK, "per_dataset", "readers", *_CONFIG, *_OWN, *_DATA, "blocks")


@dataclass(frozen=True)
class BenchmarkPlan:
    """The choices in the order they were named, each once, and what is the same for all of them.

    No reader: frames are chosen and can be scored as evidence. times: whether prompts have the frames' times.
    """

    choices: tuple[SelectionChoice, ...]
    readers: tuple[ReaderSpec, ...]
    config: PipelineConfig
    times: bool

    def narrowed(self, **wanted: Sequence[str]) -> "BenchmarkPlan":
        """Keep only these methods, budgets or text_modes; one that is not in the plan is an error."""
        choices = list(self.choices)
        for name, values in wanted.items():
            available = dict.fromkeys(str(getattr(choice, _FIELDS[name])) for choice in self.choices)
            if unknown := [value for value in values if value not in available]:
                expected = f"expected one of {', '.join(available)}"
                raise OptionError(f"{name} has {shown(unknown[0])}, which is not in this plan; {expected}")
            choices = [choice for choice in choices if str(getattr(choice, _FIELDS[name])) in values]
        if not choices:
            raise OptionError("no condition of this plan has all of these; give fewer")
        return replace(self, choices=tuple(choices))


def make_plan(settings: Mapping[str, Any], dataset: str = "") -> BenchmarkPlan:
    """The plan for a data set from settings as YAML or flags give them: lists, or texts with commas between.

    An unknown setting is an error that lists the valid ones.
    """
    _check_known(settings, SETTINGS, "the plan")
    given = {name: value for name, value in settings.items() if value is not None}
    own = read_record(_PlanSettings, given, "the plan")
    is_whole = own.uniform_frames == "video"
    per_dataset = read_value(dict[str, dict[str, Any]], given.get("per_dataset") or {}, "per_dataset")
    listed = given.get("datasets") or ()
    _check_known(
        per_dataset, (*DATASETS, *words(listed if isinstance(listed, str) else [*listed], "datasets")), "per_dataset"
    )
    for name in (name for options in per_dataset.values() for name in options):
        method, _, option = name.partition(".")
        check_options(method, {option: None}, get_selector(method).options)
    choices: dict[str, SelectionChoice] = {}
    for block in read_value(tuple[dict[str, Any], ...], given.get("blocks") or ({},), "the plan: blocks"):
        _check_known(block, _BLOCK, "a block of the plan")
        settings = DEFAULTS | {name: given[name] for name in _BLOCK if name in given} | block
        for choice in _choices(settings, per_dataset.get(dataset, {})):
            choices.setdefault(repr(choice), replace(choice, whole_video=is_whole and choice.method == UNIFORM))
    config = PipelineConfig(
        **PAPER | {name: given[name] for name in _CONFIG if name in given},
        subtitles=AUTO if own.events == "subtitles" else NONE,
        speech=AUTO if own.events == "speech" else NONE,
        method=method_for_demand([choice.method for choice in choices.values()]),
    )
    return BenchmarkPlan(tuple(choices.values()), readers_of(given.get("readers")), config, own.times)


def readers_of(value: Any, known: Mapping[str, Any] | None = None) -> tuple[ReaderSpec, ...]:
    """Addresses, NAME=address, or a mapping of names to addresses or to {reader: address, option: value …}.

    known: readers by name, which a name alone means.
    """
    readers = []
    pairs = value.items() if isinstance(value, Mapping) else (_named(w, known or {}) for w in words(value, "readers"))
    for name, reader in pairs:
        options = dict(reader) if isinstance(reader, Mapping) else {"reader": reader}
        address = options.pop("reader", None)
        if not isinstance(address, str):
            raise OptionError(f"the reader {name!r} has no address; expected a URL, local:MODEL or similarity")
        readers.append(ReaderSpec(address, options, str(name)))
    return tuple(readers)


def words(value: Any, name: str) -> list[str]:
    """A list's parts, or a text's between commas, as texts; none is an empty list."""
    parts = value.split(",") if isinstance(value, str) else read_value(tuple[Name, ...], value or (), name)
    return [part.strip() for part in parts if part.strip()]


def pairs_of(value: Any, name: str) -> dict[str, Any]:
    """NAME=VALUE texts, or a mapping, as a mapping."""
    given = read_value(dict[str, Any] | tuple[str, ...], value or (), name)
    if isinstance(given, dict):
        return given
    pairs = {}
    for text in given:
        key, equals, item = text.partition("=")
        if not equals or not key.strip():
            raise OptionError(f"{name} {text!r} sets nothing; expected NAME=VALUE")
        pairs[key.strip()] = item.strip()
    return pairs


def _choices(block: Mapping[str, Any], own: Mapping[str, Any]) -> list[SelectionChoice]:
    """own: options of the data set."""
    names = {name: words(block[name], name) for name in _FIELDS}
    if empty := [name for name in names if not names[name]]:
        raise OptionError(f"{empty[0]} is empty; expected at least one")
    budgets = [check_budget(parse_scalar(text)) for text in names["budgets"]]
    modes = [check_text_mode(text) for text in names["text_modes"]]
    variants = _variants(names["methods"], block, own)
    query = SelectionSettings(query=block.get("query", SelectionSettings.query)).query
    size = ReaderSettings(size=block.get("size")).size
    return [
        SelectionChoice(method, options, budget, mode, query, size)
        for (method, options), budget, mode in product(variants, budgets, modes)
    ]


def _variants(
    methods: Sequence[str], block: Mapping[str, Any], own: Mapping[str, Any]
) -> list[tuple[str, dict[str, Any]]]:
    """Each method with those of its options that differ from its defaults."""
    options_of = {method: get_selector(method).options for method in methods}
    base: dict[str, dict[str, Any]] = {method: {} for method in methods}
    for name, value in pairs_of(block.get("set"), "set").items():
        for method, option in _methods_with(name, options_of):
            base[method][option] = parse_scalar(value) if isinstance(value, str) else value
    for name, value in own.items():
        method, _, option = name.partition(".")
        if method in base:
            base[method][option] = value
    ablated = words(block.get("ablate"), "ablate")
    if unknown := [stage for stage in ablated if stage not in STAGES]:
        raise OptionError(f"ablate has {shown(unknown[0])}; expected some of {', '.join(STAGES)}")
    swept = {name: words(values, f"sweep of {name}") for name, values in pairs_of(block.get("sweep"), "sweep").items()}
    tried = [(WITHOUT, ablated)] * bool(ablated) + list(swept.items())
    variants = list(base.items())
    for name, values in tried:
        for method, option in _methods_with(name, options_of):
            variants += [(method, base[method] | {option: parse_scalar(value)}) for value in values]
    found = []
    for method, options in variants:
        known = options_of[method]
        check_options(method, options, known)
        found.append((method, {name: value for name, value in options.items() if value != known[name]}))
    return found


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


def _check_known(settings: Iterable[Any], known: Sequence[str], location: str) -> None:
    unknown = [name for name in settings if name not in known]
    if unknown:
        raise InputError(f"{location} has no setting {shown(unknown[0])}; {suggestion(str(unknown[0]), known)}")


def _named(text: str, known: Mapping[str, Any]) -> tuple[str, Any]:
    """The name and the address of NAME=address; an address of its own may hold "=" behind its "/" or ":"."""
    if text in known:
        return text, known[text]
    name, equals, address = text.partition("=")
    return (name.strip(), address.strip()) if equals and not set(name) & set(":/@?") else ("", text)
