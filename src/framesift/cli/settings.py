"""Flags from the declared settings, and a PipelineConfig from what was given.

A setting is the first of: a flag or `--set`, `--config FILE`, the variable FRAMESIFT_READER, the user's file, the
default. Options of a method or a reader hold for the one that is named beside them.
"""

import argparse
import os
from argparse import Namespace
from collections.abc import Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

from framesift._utils.json import parse_scalar
from framesift._utils.settings import check_names
from framesift._utils.text import suggestion
from framesift.cli.arguments import Group, Parser
from framesift.errors import FramesiftError, OptionError
from framesift.indexing.index import IndexSettings
from framesift.pipeline.config import RECORDS, PipelineConfig, read_settings
from framesift.readers.base import option_names
from framesift.selection.registry import DEFAULT_METHOD, get_selector, method_for_demand
from framesift.text.finding import TextSettings

READER_VARIABLE = "FRAMESIFT_READER"
NO_READER = (
    "there is no reader: add --reader http://HOST:PORT/v1, or name it once with framesift config reader=… or in "
    f"{READER_VARIABLE}"
)

DECLARED = {declared.name: declared for record in RECORDS.values() for declared in fields(record)}
OWNERS = {"options": "method", "reader_options": "reader"}  # whose options these are
PLAIN = tuple(name for name in DECLARED if name not in OWNERS)  # settings with one value
INDEX_SETTINGS = tuple(declared.name for declared in fields(IndexSettings) if declared.name != "quick")
TEXT_SETTINGS = tuple(declared.name for declared in fields(TextSettings))
# What commands without these arguments have in place of them.
COMMON: dict[str, Any] = {
    "defaults": {},
    "config": None,
    "set": (),
    "settable": PLAIN,
    "clips": None,
    "questions": None,
}
FLAGS = {
    "from_s": ("--from",),
    "to_s": ("--to",),
    "budget": ("-b", "--budget"),
}  # where they are not the setting's name


def add_settings(group: Group, *names: str, **defaults: Any) -> None:
    """A flag for each of these settings, with its default, choices and help from where it is declared.

    defaults: those of this command, which are also its argument `defaults`, where they are not the setting's.
    """
    for name in names:
        described = DECLARED[name].metadata["help"]
        default = defaults.get(name, DECLARED[name].default)
        if isinstance(default, str | int) and default is not False and "default" not in described:
            described += f" (default: {default})"
        group.add_argument(
            *FLAGS.get(name, (f"--{name.replace('_', '-')}",)),
            dest=name,
            default=argparse.SUPPRESS,
            help=described,
            **DECLARED[name].metadata["argument"],
        )


def add_all_settings(command: Parser, settable: Sequence[str] = PLAIN, owners: str = "") -> None:
    """`--set` for settings without a flag, and `--config`.

    settable: the settings that this command uses. owners: whose options it takes as well.
    """
    group = command.group("all settings")
    options = f", or an option of {owners}" if owners else ""
    group.add(
        "--set", "NAME=VALUE", f"a setting of `framesift settings`{options}; repeatable", action="append", default=[]
    )
    group.add("--config", "FILE", "settings from a JSON or YAML file; flags take precedence")
    command.set_defaults(settable=tuple(settable))


def config_from(args: Namespace) -> PipelineConfig:
    """The configuration of a command that runs one method."""
    return next(iter(configs_from(args).values()))


def configs_from(args: Namespace, methods: Sequence[str] = ()) -> dict[str, PipelineConfig]:
    """The configuration for each method, by default for the one that was chosen."""
    user = user_settings()
    try:
        return _configs(merged(args.defaults, user, environment_settings(), *given_layers(args)), args, methods)
    except FramesiftError as error:
        name = str(error).partition(" is ")[0]
        if name in user and name not in merged(*given_layers(args)):
            raise OptionError(f"{config_path()}: {error}") from None
        if name in FLAGS and hasattr(args, name):
            raise OptionError(f"{FLAGS[name][-1]}{str(error).removeprefix(name)}") from None
        raise


def given_layers(args: Namespace) -> list[dict[str, Any]]:
    """The settings of `--config`, those of flags, and those of `--set` without the options."""
    flags = {name: getattr(args, name) for name in DECLARED if hasattr(args, name)}
    assigned = map(assignment, args.set)
    values = {name: setting_value(name, text) for name, text in assigned if name in args.settable}
    return [read_layer(args.config) if args.config else {}, flags, values]


def _configs(values: Mapping[str, Any], args: Namespace, methods: Sequence[str]) -> dict[str, PipelineConfig]:
    settable = args.settable
    chosen = values.get("method", DEFAULT_METHOD)
    names = list(methods) or [chosen]
    texts = [text for text in args.set if assignment(text)[0] not in settable]
    reader = values.get("reader") if "reader" in settable else None
    given, reader_options = sort_options(texts, names if methods or "method" in settable else (), reader, settable)
    options = {name: (values.get("options", {}) if name == chosen else {}) | given.get(name, {}) for name in names}
    read = {"reader_options": values.get("reader_options", {}) | reader_options}
    first = method_for_demand(names)
    config = PipelineConfig.from_dict({**values, **read, "method": first, "options": options[first]})
    return {name: config.for_method(name, options=options[name]) for name in names}


def sort_options(
    texts: Sequence[str], methods: Sequence[str], reader: Any, settable: Sequence[str] = PLAIN
) -> tuple[dict[str, dict[str, Any]], dict[str, Any]]:
    """The options by method, and those of the reader, of `name=value`, `METHOD.name=value` and `reader.name=value`."""
    options_of = {method: get_selector(method).options for method in methods}
    by_method: dict[str, dict[str, Any]] = {method: {} for method in methods}
    own = {}
    readers = option_names(reader) if texts and isinstance(reader, str) else []
    for name, text in map(assignment, texts):
        owner, dot, option = name.partition(".")
        if dot and owner == "reader" and reader is not None:
            own[option] = parse_scalar(text)
            continue
        named = {owner: options_of[owner]} if dot and owner in options_of else options_of
        option = option if named is not options_of else name
        matching = [method for method, options in named.items() if option in options]
        for method in matching:
            by_method[method][option] = parse_scalar(text)
        if not matching and option in readers:
            own[option] = parse_scalar(text)
        elif not matching:
            of_methods = [option for options in options_of.values() for option in options]
            others = [] if named is not options_of else [*settable, *readers]
            what = " or ".join([*named, *([reader] if isinstance(reader, str) else [])])
            what = f"neither a setting nor an option of {what}" if what else "no setting of this command"
            near = suggestion(option, dict.fromkeys([*others, *of_methods]), "`framesift settings` lists them")
            raise OptionError(f"{name} is {what}; {near}")
    return by_method, own


def assignment(text: str, flag: str = "--set") -> tuple[str, str]:
    """The name and the value of NAME=VALUE."""
    name, equals, value = text.partition("=")
    if not equals or not name.strip():
        raise OptionError(f"{flag} {text!r} sets nothing; expected NAME=VALUE".strip())
    return name.strip(), value.strip()


def setting_value(name: str, text: str) -> Any:
    """The value of a setting that was given as text."""
    argument = DECLARED[name].metadata["argument"]
    return parse_scalar(text) if "action" in argument or "type" in argument else text


def merged(*layers: Mapping[str, Any]) -> dict[str, Any]:
    """Settings of which the later take precedence; options end where another method or reader is named."""
    values: dict[str, Any] = {}
    for layer in layers:
        for options, owner in OWNERS.items():
            if owner in layer and layer[owner] != values.get(owner, layer[owner]):
                values.pop(options, None)
        own = {name: {**values.get(name, {}), **layer[name]} for name in OWNERS if isinstance(layer.get(name), Mapping)}
        values |= {**layer, **own}
    return values


def read_layer(path: str | os.PathLike[str]) -> dict[str, Any]:
    """The settings in a file; an unknown name is an error that names the file."""
    settings = read_settings(path)
    try:
        check_names(settings, *RECORDS.values())
    except FramesiftError as error:
        raise OptionError(f"{path}: {error}") from None
    return settings


def config_path() -> Path:
    """The user's file of settings, which need not exist."""
    return Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config", "framesift", "config.yaml")


def user_settings() -> dict[str, Any]:
    """The settings in the user's file."""
    path = config_path()
    return read_layer(path) if path.exists() else {}


def environment_settings() -> dict[str, Any]:
    reader = os.environ.get(READER_VARIABLE)
    return {"reader": reader} if reader else {}
