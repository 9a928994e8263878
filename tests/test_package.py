"""The package as a whole: quick to import, and every public name where it says it is."""

import doctest
import inspect
import pickle
import pkgutil
import subprocess
import sys
from dataclasses import fields, is_dataclass
from importlib import import_module

import pytest

import framesift as fs


def loaded_by(statement):
    """The modules that a statement loads in a new process."""
    code = f"import sys; {statement}; print(*sys.modules)"
    return set(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split())


def test_import_pulls_in_nothing_heavy():
    assert not {"torch", "av", "numpy", "openai", "PIL", "transformers"} & loaded_by("import framesift")


def test_selectors_import_no_other_stage():
    names = loaded_by("import framesift; framesift.selectors()")
    stages = {name.split(".")[1] for name in names if name.startswith("framesift.")}
    assert stages == {"selection", "types", "errors", "_utils"}


def test_functions_that_use_the_package_can_be_pickled():
    assert pickle.loads(pickle.dumps(fs)) is fs  # noqa: S301


def test_unknown_name_is_an_attribute_error():
    assert not hasattr(fs, "no_such_name")


def test_every_public_name_is_the_same_after_all_modules_are_loaded():
    before = {name: getattr(fs, name) for name in fs.__all__}
    for module in pkgutil.walk_packages(fs.__path__, "framesift."):
        if not module.name.endswith(("lmms_model", "__main__", "executors.worker")):
            import_module(module.name)
    assert {name: getattr(fs, name) for name in fs.__all__} == before and len(before) <= 32
    assert all(callable(getattr(fs.corpus, name)) for name in fs.corpus.__all__)


PUBLIC = [name for name in fs.__all__ if name not in ("__version__", "corpus")]


@pytest.mark.parametrize("name", PUBLIC)
def test_docstring_of_a_public_name_is_complete(name):
    thing = getattr(fs, name)
    text = inspect.getdoc(thing)
    if inspect.isclass(thing) and issubclass(thing, Exception):
        return
    assert "\nExample:\n" in text
    if inspect.isfunction(thing):
        given = inspect.signature(thing).parameters
        assert [each for each in given if f"    {each}: " not in text.replace("*", "")] == []
        assert "\nReturns:\n" in text
    elif is_dataclass(thing):
        assert [f.name for f in fields(thing) if f.name[0] != "_" and f"    {f.name}: " not in text] == []


@pytest.mark.parametrize("name", PUBLIC)
def test_example_of_a_public_name_prints_what_it_says(name, tmp_path, monkeypatch):
    (tmp_path / "clip.srt").write_text("1\n00:00:01,000 --> 00:00:02,000\nThe wind was too strong.\n")
    monkeypatch.chdir(tmp_path)
    example = doctest.DocTestParser().get_doctest(inspect.getdoc(getattr(fs, name)), {}, name, None, 0)
    assert doctest.DocTestRunner().run(example).failed == 0
