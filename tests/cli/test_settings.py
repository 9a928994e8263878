"""Settings: where they are given, which of them decides, and the commands that list and keep them."""

import json
from pathlib import Path

import pytest

from framesift.cli import main
from framesift.cli.parser import GROUPS, build_parser
from framesift.cli.settings import config_from, config_path, configs_from

ASK = ("ask", "a.mp4", "Cold?")


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.delenv("FRAMESIFT_READER", raising=False)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def keep(text):
    config_path().parent.mkdir(parents=True, exist_ok=True)
    config_path().write_text(text)


def read(*words):
    return config_from(build_parser().parse_args([*ASK, *words]))


def test_users_file_is_in_the_config_folder(home, monkeypatch):
    assert config_path() == home / "config" / "framesift" / "config.yaml"
    monkeypatch.delenv("XDG_CONFIG_HOME")
    assert config_path() == Path.home() / ".config" / "framesift" / "config.yaml"


def test_ask_selects_as_many_frames_as_the_question_needs_unless_a_number_is_given():
    assert read().selection.budget == read("--budget", "auto").selection.budget == "auto"
    assert read("--set", "budget=auto").selection.method_options == {"stop": True}
    assert read("-b", "8").selection.budget == 8
    keep("budget: 4")
    assert read().selection.budget == 4
    assert config_from(build_parser().parse_args(["select", *ASK[1:]])).selection.budget == 4


def test_flag_precedes_file_of_the_command_precedes_variable_precedes_users_file(home, monkeypatch):
    keep("reader: similarity\nbudget: 4\nseed: 7")
    assert read().reading.reader == "similarity"
    monkeypatch.setenv("FRAMESIFT_READER", "http://here/v1")
    assert read().reading.reader == "http://here/v1"
    (home / "own.yaml").write_text("reader: http://there/v1\nbudget: 5")
    assert read("--config", "own.yaml").reading.reader == "http://there/v1"
    config = read("--config", "own.yaml", "--reader", "local:x", "--set", "budget=6")
    assert (config.reading.reader, config.selection.budget, config.selection.seed) == ("local:x", 6, 7)


def test_set_takes_settings_options_of_the_method_and_of_the_reader():
    words = ["fps=2", "screen_text=true", "floor=1/4", "size=null", "timeout_s=5", "reader.retries=0"]
    config = read("--reader", "http://h/v1", *(word for text in words for word in ("--set", text)))
    assert (config.index.fps, config.text.screen_text, config.reading.size) == (2.0, True, None)
    assert config.selection.options == {"floor": 0.25}
    assert config.reading.reader_options == {"timeout_s": 5, "retries": 0}


def test_options_in_a_file_end_where_another_method_or_reader_is_named():
    keep("method: sift\noptions: {floor: 0.3}\nreader: http://h/v1\nreader_options: {retries: 1}")
    config = read("--method", "topk", "--reader", "similarity")
    assert not config.selection.options and not config.reading.reader_options
    assert read("--set", "low=0.1").selection.options == {"floor": 0.3, "low": 0.1}


def test_compare_gives_each_method_the_options_that_it_has():
    args = build_parser().parse_args(["compare", "a.mp4", "Cold?", "--set", "seed=3", "--set", "mmr.weight=1"])
    configs = configs_from(args, ["sift", "mmr", "adaptive-greedy"])
    assert [dict(config.selection.options) for config in configs.values()] == [{}, {"weight": 1}, {}]


@pytest.mark.parametrize(
    ("text", "message"), [("bugdet: 4", "did you mean budget?"), ("budget: many", "budget is 'many'")]
)
def test_error_in_the_users_file_names_it(text, message, capsys):
    keep(text)
    assert main(["select", "a.mp4", "Cold?"]) == 2
    err = capsys.readouterr().err
    assert err.startswith(f"framesift: {config_path()}: ") and message in err


def test_config_keeps_prints_and_removes_settings(capsys):
    assert main(["config", "reader=http://h/v1", "timeout_s=9", "budget=4", "floor=0.1"]) == 0
    assert read().reading.reader_options == {"timeout_s": 9} and read().selection.options == {"floor": 0.1}
    assert main(["config", "timeout_s=", "budget="]) == 0
    capsys.readouterr()
    assert main(["config"]) == 0
    out = capsys.readouterr().out
    assert out.startswith(f"{config_path()}:\n") and "reader: http://h/v1" in out and "budget" not in out
    assert main(["config", "reader=", "floor=", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"path": str(config_path()), "settings": {}}


def test_settings_are_listed_with_default_choices_and_help(capsys):
    assert main(["settings"]) == 0
    assert (
        "unchanged_frames" in (out := capsys.readouterr().out) and "timeout_s" in out and "framesift selectors" in out
    )
    assert main(["settings", "--json"]) == 0
    rows = {row["name"]: row for row in json.loads(capsys.readouterr().out)}
    assert rows["mode"]["default"] == "exact" and rows["mode"]["choices"] == ["exact", "fast", "keyframes"]
    assert rows["budget"]["help"] and rows["retries"]["default"] == 3


def parsers(parser, name=""):
    yield name, parser
    for action in parser._actions:
        for each, command in action.choices.items() if isinstance(action.choices, dict) else ():
            yield from parsers(command, f"{name} {each}".strip())


def test_help_of_every_command_fits_a_screen(monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    for name, parser in parsers(build_parser()):
        lines = parser.format_help().splitlines()
        assert len(lines) <= 40 and max(map(len, lines)) <= 100, name
        assert lines[0].startswith(f"example: framesift {name}"[:19] if name else "try: framesift demo")


def test_select_and_ask_have_at_most_22_flags():
    for name, parser in parsers(build_parser()):
        if name in ("select", "ask"):
            assert len([action for action in parser._actions if action.option_strings]) <= 22


def test_main_help_lists_every_command_in_a_group():
    commands = {name for name, _ in parsers(build_parser()) if name and " " not in name}
    assert commands == {name for names in GROUPS.values() for name in names}
