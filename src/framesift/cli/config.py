"""The commands about settings: settings, which lists them, and config, which keeps the user's own."""

import argparse
from collections.abc import Iterator
from dataclasses import fields
from inspect import signature
from typing import Any

from framesift._utils.files import write_text
from framesift.cli.arguments import AddCommand
from framesift.cli.output import print_json
from framesift.cli.settings import (
    OWNERS,
    PLAIN,
    assignment,
    config_path,
    environment_settings,
    merged,
    setting_value,
    sort_options,
    user_settings,
)
from framesift.errors import OptionError
from framesift.pipeline.config import RECORDS, PipelineConfig
from framesift.readers.base import check_reader_options
from framesift.readers.time_formats import TIME_FORMATS
from framesift.selection.registry import DEFAULT_METHOD

TITLES = {
    "index": "how videos are decoded and encoded",
    "text": "where the timestamped text comes from",
    "selection": "which frames are selected",
    "reading": "how frames are shown, and who answers",
}
READER_TITLE = "options of readers"
READER_OPTIONS = {
    "max_tokens": "longest reply in tokens (None: 32 with options, 512 without)",
    "preset": "wording of the prompt: longvideobench, videomme or bare",
    "times": "whether the prompt has the frames' times",
    "time_format": "how the frames' times are written: " + ", ".join(TIME_FORMATS),
    "longest_side": "pixels to which the longest side of a frame is shrunk for a server",
    "quality": "quality of the JPEG files sent to a server, from 1 to 95",
    "frames_as": "video (exact times need vLLM 0.20 or later; else images) or images",
    "timeout_s": "seconds to wait for a server's reply",
    "retries": "how often a request is repeated after 429, 5xx or a lost connection",
    "key_variable": "environment variable that holds the server's key",
    "temperature": "temperature of the server's sampling",
    "device_map": "of local models: auto spreads the model over all GPUs",
    "frame_max_pixels": "of local Qwen models: the most pixels of a frame",
    "frame_tokens": "of local Gemma models: the most tokens of a frame",
}


def add_commands(add: AddCommand) -> None:
    config = add(
        "config", _config, "show your own settings, or change them", "framesift config reader=http://localhost:8000/v1"
    )
    what = config.group("what to change")
    what.add(
        "assignments",
        "NAME=VALUE",
        "a setting to keep for every later command; without a value it is removed",
        nargs="*",
        default=[],
    )
    config.finish("print the file's path and its settings as JSON")
    settings = add("settings", _settings, "list every setting for --set and --config", "framesift settings")
    settings.finish("print the list as JSON")


def _config(args: argparse.Namespace) -> int:
    import yaml

    path, values = config_path(), user_settings()
    pairs = [(text, *assignment(text, "")) for text in args.assignments]
    for name in (name for _, name, value in pairs if not value):
        values = _without(values, name)
    values = _with(values, [text for text, _, value in pairs if value])
    if pairs:
        write_text(path, yaml.safe_dump(values, sort_keys=False, allow_unicode=True))
    if args.json:
        print_json({"path": str(path), "settings": values})
    elif values:
        print(f"{path}:\n{path.read_text(encoding='utf-8')}", end="")
    else:
        print(f"{path} holds no settings; keep one with: framesift config reader=http://localhost:8000/v1")
    return 0


def _without(values: dict[str, Any], name: str) -> dict[str, Any]:
    """The settings without this one, or without this option of the method or the reader."""
    option = name.rpartition(".")[2]
    home = name if name in values else next((each for each in OWNERS if option in values.get(each, {})), None)
    if home is None:
        raise OptionError(f"{name} is not set in {config_path()}; framesift config prints what is")
    left = {} if home == name else {each: value for each, value in values[home].items() if each != option}
    return {each: value for each, value in values.items() if each != home and OWNERS.get(each) != name} | (
        {home: left} if left else {}
    )


def _with(values: dict[str, Any], texts: list[str]) -> dict[str, Any]:
    """The settings with those of NAME=VALUE in addition, checked."""
    if not texts:
        return values
    named = dict(map(assignment, texts))
    values = merged(values, {name: setting_value(name, text) for name, text in named.items() if name in PLAIN})
    method = values.get("method", DEFAULT_METHOD)
    reader = merged(values, environment_settings()).get("reader")
    rest = [text for text in texts if assignment(text)[0] not in PLAIN]
    options, of_reader = sort_options(rest, [method], reader)
    if isinstance(reader, str):
        check_reader_options(reader, of_reader)
    own = {"options": options[method], "reader_options": of_reader}
    values = merged(values, {name: value for name, value in own.items() if value})
    PipelineConfig.from_dict(values)
    return values


def _settings(args: argparse.Namespace) -> int:
    rows = list(_rows())
    if args.json:
        print_json([{name: value for name, value in row.items() if value is not None} for row in rows])
        return 0
    title = ""
    for row in rows:
        if row["group"] != title:
            print("\n" * bool(title) + row["group"])
            title = row["group"]
        choices = f": {', '.join(row['choices'])}" if row["choices"] else ""
        print(f"  {row['name']:<18} {row['default']!s:<14} {row['help']}{choices}")
    print("\noptions of the methods: framesift selectors")
    return 0


def _rows() -> Iterator[dict[str, Any]]:
    """Each setting and each option of a reader: group, name, default, choices and help."""
    for record, title in TITLES.items():
        for declared in fields(RECORDS[record]):
            if declared.name not in OWNERS:
                yield {
                    "group": title,
                    "name": declared.name,
                    "default": declared.default,
                    "choices": declared.metadata["argument"].get("choices"),
                    "help": declared.metadata["help"],
                }
    from framesift.readers.local import LocalReader
    from framesift.readers.openai import OpenAIReader

    parameters = signature(LocalReader).parameters | signature(OpenAIReader).parameters
    for name, described in READER_OPTIONS.items():
        default = parameters[name].default
        yield {"group": READER_TITLE, "name": name, "default": default, "choices": None, "help": described}
