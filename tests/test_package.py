"""The package as a whole: quick to import, and every public name where it says it is."""

import pkgutil
import subprocess
import sys
from importlib import import_module

import framesift as fs


def test_import_pulls_in_nothing_heavy():
    code = "import framesift, sys; print(*sorted({name.split('.')[0] for name in sys.modules}))"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert "framesift" in loaded
    assert not {"torch", "av", "numpy", "openai", "PIL", "transformers"} & set(loaded)


def test_every_public_name_can_be_used():
    assert all(getattr(fs, name) is not None for name in fs.__all__)
    assert len(fs.__all__) <= 32


def test_unknown_name_is_an_attribute_error():
    assert not hasattr(fs, "no_such_name")


def test_every_public_name_is_the_same_after_all_modules_are_loaded():
    before = {name: getattr(fs, name) for name in fs.__all__}
    for module in pkgutil.walk_packages(fs.__path__, "framesift."):
        if not module.name.endswith(("lmms_model", "__main__", "executors.worker")):
            import_module(module.name)
    assert {name: getattr(fs, name) for name in fs.__all__} == before
    assert all(callable(getattr(fs.corpus, name)) for name in fs.corpus.__all__)


def test_selectors_import_no_other_stage():
    code = (
        "import framesift, sys; framesift.selectors();"
        "print(*sorted(name.split('.')[1] for name in sys.modules if name.startswith('framesift.')))"
    )
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert set(loaded) == {"selection", "types", "errors", "_utils"}
