"""Leaves out tests that need sample files where there are none, and lists all left out in one line; shared fixtures.

No test depends on time or chance: Hypothesis has no deadline, which a busy machine would exceed, and draws the same
examples in every run but a thorough one.
"""

import gc
import importlib
import logging
import os
import pkgutil
import shutil
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import hypothesis
import pytest

import framesift
from framesift._utils.machine import usable_cores
from helpers.batch_videos import install_encoder
from helpers.examples import IS_THOROUGH, UNCHECKED, examples
from helpers.plugin_packages import Packages
from helpers.sample_data import SAMPLE_DATA
from helpers.strict_server import StrictServer
from helpers.written_files import make_home, repository_files

LEFT_OUT = f"no sample files at {SAMPLE_DATA} (set FRAMESIFT_SAMPLE_DATA to their folder)"
NEED_OTHER_PACKAGES = ("framesift.bench.lmms_model",)  # which cap packages below our minimum versions

# Hundreds of tests start a command: without compiled modules each of them would compile the whole package.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
# The processes of a run share a temporary home folder, which libraries may write to; each has a store of its own.
# There are no models: those of this machine are not on every one, and "auto" would mean them.
WORKER = os.environ.get("PYTEST_XDIST_WORKER")
HOME = None if WORKER else make_home()
FILES_BEFORE = set() if WORKER else repository_files()
os.environ["FRAMESIFT_STORE"] = str(Path.home() / f"store-{WORKER or 'main'}")
os.environ["HF_HUB_CACHE"] = str(Path.home() / "models")
# Several processes run tests at once: further threads of each would only wait for one another.
for library in ("OMP", "OPENBLAS", "MKL"):
    os.environ.setdefault(f"{library}_NUM_THREADS", "1")
# No test uses TLS: reading the certificates for every client takes longer than most tests.
os.environ.pop("SSL_CERT_FILE", None)
os.environ["SSL_CERT_DIR"] = os.path.dirname(__file__)

hypothesis.settings.register_profile(
    "framesift",
    deadline=None,
    max_examples=examples(100),
    derandomize=not IS_THOROUGH,
    suppress_health_check=UNCHECKED,
)
hypothesis.settings.load_profile("framesift")


def pytest_xdist_auto_num_workers() -> int:
    """One process more than there are cores, for `-n auto`: tests wait for servers, commands and browsers."""
    return usable_cores() + 1


def pytest_collection_finish() -> None:
    """Import all modules: Hypothesis draws their constants too, whichever tests ran before in this process.

    The imported libraries are left out of every later garbage collection.
    """
    for module in pkgutil.walk_packages(framesift.__path__, "framesift."):
        if module.name not in NEED_OTHER_PACKAGES:
            importlib.import_module(module.name)
    gc.collect()
    gc.freeze()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if not SAMPLE_DATA.is_dir():
        for item in items:
            if item.get_closest_marker("sample_data"):
                item.add_marker(pytest.mark.skip(reason=LEFT_OUT))


def pytest_terminal_summary(terminalreporter: Any) -> None:
    skipped = terminalreporter.stats.get("skipped", [])
    reasons = Counter(report.longrepr[2].removeprefix("Skipped: ") for report in skipped)
    if reasons:
        parts = "; ".join(f"{count} – {reason}" for reason, count in reasons.most_common())
        terminalreporter.write_line(f"tests left out: {parts}")
    for file in sorted(repository_files() - FILES_BEFORE):
        terminalreporter.write_line(f"new in the repository, where tests leave nothing: {file}", red=True)


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Fail a run that leaves files in the repository."""
    if not WORKER and repository_files() - FILES_BEFORE:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_unconfigure() -> None:
    if HOME is not None:
        shutil.rmtree(HOME, ignore_errors=True)


@pytest.fixture(autouse=True)
def forget_log_handlers() -> Iterator[None]:
    """Remove the handler of a command that ran in this process: its stream is closed, and later records would fail."""
    before = list(logging.root.handlers)
    yield
    for handler in set(logging.root.handlers) - set(before):
        logging.root.removeHandler(handler)


@pytest.fixture(autouse=True)
def repeat_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Repeats failed requests to a reader without waiting in between."""
    if client := sys.modules.get("openai._base_client"):
        monkeypatch.setattr(client, "MAX_RETRY_DELAY", 0.0, raising=False)


@pytest.fixture
def packages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Packages]:
    """Installs packages with entry points for the time of a test."""
    installed = Packages(tmp_path / "site-packages", monkeypatch)
    yield installed
    installed.remove()


@pytest.fixture
def server() -> Iterator[StrictServer]:
    """A server of one chat model."""
    with StrictServer() as running:
        yield running


@pytest.fixture(scope="session")
def plugin_folder(tmp_path_factory):
    return install_encoder(tmp_path_factory.mktemp("packages") / "site-packages")


@pytest.fixture
def encoder(plugin_folder, monkeypatch):
    """The name of the test encoder, installed for this process and its workers."""
    monkeypatch.syspath_prepend(str(plugin_folder))
    return "test-encoder"
