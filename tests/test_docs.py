"""The documentation names what exists: commands, settings, selectors, modules, files; one example is run."""

import json
import re
import shlex
import tomllib
from importlib import import_module
from pathlib import Path

import framesift as fs
from framesift.cli.bench import expand_shorthand
from framesift.cli.parser import build_parser
from helpers.clips import make_clip

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
EXAMPLES = sorted(path for path in (ROOT / "examples").iterdir() if path.is_file())


COMMANDS = next(action.choices for action in build_parser()._actions if isinstance(action.choices, dict))
NAMES = [name for name in fs.__all__ if name not in ("__version__", "corpus")]
NAMES += [f"corpus.{name}" for name in fs.corpus.__all__]


def read(*names):
    return "".join((ROOT / name).read_text(encoding="utf-8") for name in names)


def test_every_command_selector_and_public_name_has_its_entry():
    for pages, entry, names in (
        (["docs/cli.md"], "| `framesift {}` |", COMMANDS),
        (["docs/selectors.md", "docs/looking-selectors.md"], "**`{}`**", fs.selectors()),
        (["docs/api.md"], "::: framesift.{}\n", NAMES),
    ):
        text = read(*pages)
        assert [name for name in names if entry.format(name) not in text] == []


def test_every_command_in_the_pages_is_one_that_the_parser_takes():
    for page in PAGES:
        for block in re.findall(r"```sh\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL):
            for line in re.findall(r"^framesift (?!--)(.*)", block.replace("\\\n", " "), re.MULTILINE):
                build_parser().parse_args(expand_shorthand(shlex.split(line, comments=True)))


def test_every_extra_in_the_pages_exists():
    extras = set(tomllib.loads(read("pyproject.toml"))["project"]["optional-dependencies"])
    for page in [*PAGES, *(ROOT / "examples").glob("*.md"), *(ROOT / "skills").rglob("*.md")]:
        named = re.findall(r"framesift\[([\w,]+)\]", page.read_text(encoding="utf-8"))
        assert {extra for names in named for extra in names.split(",")} <= extras, page


def test_every_import_in_pages_and_examples_works():
    for page in [*PAGES, *EXAMPLES]:
        for module, names in re.findall(r"from (framesift[\w.]*) import ([\w, ]+)", page.read_text(encoding="utf-8")):
            loaded = import_module(module)
            assert [name for name in names.split(", ") if not hasattr(loaded, name)] == [], page


def test_own_vectors_select_and_show_frames(tmp_path, monkeypatch):
    (code,) = re.findall(r"### Your own vectors\n.*?```python\n(.*?)```", read("docs/selection.md"), re.DOTALL)
    monkeypatch.chdir(tmp_path)
    make_clip(tmp_path / "film.mp4", fps=24, seconds=6)
    exec(code, {})  # noqa: S102 (of this repository)
    for folder in ("evidence", "evidence-aks"):
        slots = json.loads((tmp_path / folder / "selection.json").read_text(encoding="utf-8"))["slots"]
        assert [slot["frame"] for slot in slots] == [round(24 * slot["time_s"]) for slot in slots]
        assert len(slots) == 8


def test_every_file_named_in_the_pages_exists():
    pattern = re.compile(r"(?<![\w/.-])((?:benchmarks|docs|examples|tests)/[\w./-]+\.(?:py|yaml|md|svg|jpg|ipynb))")
    for page in PAGES:
        for path in pattern.findall(page.read_text(encoding="utf-8")):
            assert (ROOT / path).exists(), f"{page} names {path}"


def test_every_step_of_a_question_is_a_function_in_its_file():
    pattern = re.compile(r"^\| \d+ \| `([\w/]+\.py)` \| `(?:\w+\.)?(\w+)` \|", re.MULTILINE)
    steps = pattern.findall(read("docs/architecture.md"))
    assert 8 < len(steps) <= 12
    for file, function in steps:
        assert f"def {function}(" in read(f"src/framesift/{file}")


def test_version_agrees_with_changelog_and_citation():
    assert f"## [{fs.__version__}] - " in read("CHANGELOG.md")
    assert f"\nversion: {fs.__version__}\n" in read("CITATION.cff")
