"""Flags from the declared settings, and a PipelineConfig from the flags that were given.

A flag that was not given is not in the namespace, so that the settings of `--config FILE` hold where no flag does.
"""

import argparse
from collections.abc import Callable, Sequence
from dataclasses import fields
from typing import Any

from framesift._utils.json import parse_scalar
from framesift.errors import OptionError
from framesift.indexing.index import IndexSettings
from framesift.pipeline.config import RECORDS, PipelineConfig, read_settings
from framesift.readers.time_formats import TIME_FORMATS
from framesift.selection.registry import DEFAULT_METHOD, check_options, get_selector
from framesift.text.finding import TextSettings

RunCommand = Callable[[argparse.Namespace], int]
# (name, what runs it, its summary) → its parser; None: the command has commands of its own
AddCommand = Callable[[str, RunCommand | None, str], argparse.ArgumentParser]

DECLARED = {declared.name: declared for record in RECORDS.values() for declared in fields(record)}
INDEX_SETTINGS = tuple(declared.name for declared in fields(IndexSettings))
TEXT_SETTINGS = tuple(declared.name for declared in fields(TextSettings))
SELECTION_SETTINGS = ("method", "budget", "seed", "visual_demand", "event_encoder", "blank_frames", "namer")
WINDOW_SETTINGS = ("from_s", "to_s")
FLAGS = {"from_s": ("--from",), "to_s": ("--to", "--until")}  # where they are not the setting's name
EXHIBIT_SETTINGS = ("overlay", "size")
READER_SETTINGS = ("reader", "text_mode", "concurrency")

# Flags for the reader options people change most; a reader without one of them lists those it has.
READER_FLAGS: dict[str, tuple[type, str]] = {
    "preset": (str, "wording of the prompt: longvideobench (default), videomme, bare"),
    "max_tokens": (int, "longest reply (default: 32 with options, 512 without)"),
    "longest_side": (int, "of each frame sent to a server, in pixels"),
    "quality": (int, "of each JPEG sent to a server, 1 to 95"),
    "timeout_s": (float, "seconds to wait for a server's reply"),
    "retries": (int, "how often a request is repeated after 429, 5xx or a lost connection"),
    "key_variable": (str, "environment variable with the server's key"),
    "time_format": (str, f"how the frames' times are written: {', '.join(TIME_FORMATS)} (default: auto, as trained)"),
    "frames_as": (str, "video (default; with exact times to vLLM 0.20 or later, else pictures) or pictures"),
    "device_map": (str, "for local models: auto spreads the model over all GPUs"),
}


def add_settings(command: argparse.ArgumentParser, *names: str) -> None:
    """A flag for each of these settings, with its default, choices and help from where it is declared."""
    for name in names:
        described = DECLARED[name].metadata["help"]
        default = DECLARED[name].default
        if isinstance(default, str | int) and default is not False and "default" not in described:
            described += f" (default: {default})"
        flags = FLAGS.get(name, (f"--{name.replace('_', '-')}",))
        command.add_argument(
            *flags, dest=name, default=argparse.SUPPRESS, help=described, **DECLARED[name].metadata["argument"]
        )


def add_method_options(command: argparse.ArgumentParser) -> None:
    command.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help="an option of the method")


def add_reader(command: argparse.ArgumentParser) -> None:
    add_settings(command, *READER_SETTINGS)
    command.add_argument("--no-times", action="store_true", help="leave the frames' times out of the prompt")
    for name, (kind, described) in READER_FLAGS.items():
        flag = "--timeout" if name == "timeout_s" else f"--{name.replace('_', '-')}"
        command.add_argument(flag, dest=f"reader_{name}", type=kind, metavar=kind.__name__.upper(), help=described)
    command.add_argument(
        "--reader-set", action="append", default=[], metavar="NAME=VALUE", help="any option of the reader"
    )


def add_config_file(command: argparse.ArgumentParser) -> None:
    described = "settings as JSON or YAML, by the names of PipelineConfig; flags take precedence"
    command.add_argument("--config", metavar="FILE", help=described)


def config_from(args: argparse.Namespace, **settings: Any) -> PipelineConfig:
    """The configuration: settings given here, then flags, then `--config`, then the defaults."""
    values: dict[str, Any] = read_settings(args.config) if getattr(args, "config", None) else {}
    values |= {name: getattr(args, name) for name in DECLARED if hasattr(args, name)} | settings
    if "set" in args and "options" not in settings:
        method = values.get("method", DEFAULT_METHOD)
        given = method_options(args.set, [method])[method]
        values["options"] = {**values.get("options", {}), **given}
    if "reader_set" in args:
        values["reader_options"] = {**values.get("reader_options", {}), **reader_options(args)}
    return PipelineConfig.from_dict(values)


def method_options(texts: Sequence[str], methods: Sequence[str]) -> dict[str, dict[str, Any]]:
    """The options of each method: `name=value` for every one that has it, `method.name=value` for one."""
    options_of = {method: get_selector(method).options for method in methods}
    chosen_options: dict[str, dict[str, Any]] = {method: {} for method in methods}
    for text in texts:
        name, value = _split_assignment(text, "--set")
        method, dot, option = name.partition(".")
        if dot and method in options_of:
            matching = [method]
        else:
            matching, option = [m for m in methods if name in options_of[m]], name
        first = matching[0] if matching else methods[0]
        check_options(first, {option: value}, options_of[first])
        for match in matching:
            chosen_options[match][option] = parse_scalar(value)
    return chosen_options


def reader_options(args: argparse.Namespace) -> dict[str, Any]:
    """The reader's options, from its flags and `--reader-set`."""
    options = {name: getattr(args, f"reader_{name}") for name in READER_FLAGS}
    options = {name: value for name, value in options.items() if value is not None}
    if args.no_times:
        options["times"] = False
    return options | {
        name: parse_scalar(value)
        for name, value in (_split_assignment(text, "--reader-set") for text in args.reader_set)
    }


def _split_assignment(text: str, flag: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or not name.strip():
        raise OptionError(f"{flag} {text!r} sets nothing; expected NAME=VALUE")
    return name.strip(), value.strip()
