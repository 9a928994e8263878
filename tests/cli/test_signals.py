"""Ctrl-C and SIGTERM: exit codes 130 and 143, one sentence, no traceback, no waiting for a silent server."""

import json
import signal
import subprocess
import sys
import threading

import pytest

from framesift.cli import main
from helpers.batch_videos import framesift, make_video
from helpers.strict_server import StrictServer

TIMEOUT_S = 120
QUESTION = {"id": "q", "video": "v.mp4", "question": "Red?", "options": ["yes", "no"], "answer": "B"}
STOPPED, KEPT = "framesift: stopped", "framesift: stopped; what was done so far is kept"
ASK = ("ask", "v.mp4", "-q", "Red?", "--budget", "2", "--encoder", "test-encoder", "--out", "x", "--reader")
ASK_MANY = ("ask", "v.mp4", "--questions", "q.jsonl", *ASK[4:])
BENCH = ("bench", "q.jsonl", "--budgets", "2", "--methods", "uniform", "--encoder", "test-encoder", "--out", "r")
CORPUS = ("corpus", "ask", "--questions", "q.jsonl", "--results", "r", "--encoder", "test-encoder", "--budget", "2")
# Sends the signal when the module of this number is imported, counted from the start of the command.
SIGNAL_AT_IMPORT = """
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)
import framesift
class Counter:
    left = int(sys.argv.pop(1))
    def find_spec(self, *_):
        Counter.left -= 1
        if Counter.left == 0:
            signal.raise_signal(signal.SIGINT)
sys.meta_path.insert(0, Counter())
from framesift.__main__ import main
sys.exit(main())
"""
# Sends it where its exception, if it raises one, is swallowed.
SIGNAL_SWALLOWED = """
import contextlib, signal, sys
class Finder:
    def find_spec(self, name, *_):
        if name == "fastapi":
            with contextlib.suppress(BaseException):
                signal.raise_signal(signal.SIGTERM)
sys.meta_path.insert(0, Finder())
from framesift.__main__ import main
sys.exit(main())
"""
NEW_MODULES = "import sys; before = set(sys.modules); import framesift.{}; print(*set(sys.modules) - before)"


class Silence:
    """What a request waits for that gets no reply while the test runs."""

    def __init__(self):
        self.reached, self.over = threading.Event(), threading.Event()

    def wait(self, timeout):
        self.reached.set()
        self.over.wait(TIMEOUT_S)


@pytest.fixture
def silent():
    with StrictServer() as server:
        server.hold = Silence()
        yield server
        server.hold.over.set()


@pytest.fixture
def site(place, own_store):
    make_video(place / "v.mp4")
    (place / "q.jsonl").write_text(json.dumps(QUESTION) + "\n")
    return place


def stop(server, number, *arguments, path):
    """Start a command, send it a signal while its reader is silent, and return its exit code and errors."""
    process = framesift(*arguments, path=path)
    try:
        assert server.hold.reached.wait(TIMEOUT_S), process.communicate(timeout=1)
        process.send_signal(number)
        _, errors = process.communicate(timeout=TIMEOUT_S)
    finally:
        process.kill()
    assert server.at_once == 1, "the command waited for the reply"
    assert "Traceback" not in errors
    return process.returncode, errors.splitlines()[-1]


@pytest.mark.parametrize(
    ("command", "sentence"),
    [
        (ASK, STOPPED),
        (ASK_MANY, KEPT),
        pytest.param((*BENCH, "--readers"), KEPT, marks=pytest.mark.slow),
        pytest.param((*CORPUS, "--workers", "1", "--reader"), KEPT, marks=pytest.mark.slow),
    ],
    ids=["ask", "ask-many", "bench", "corpus-ask"],
)
def test_ctrl_c_ends_a_command_while_the_server_is_silent(silent, site, plugin_folder, command, sentence):
    assert stop(silent, signal.SIGINT, *command, silent.url, path=plugin_folder) == (130, sentence)


def test_sigterm_ends_a_command_with_143_and_leaves_whole_files(silent, site, plugin_folder):
    assert stop(silent, signal.SIGTERM, *ASK, silent.url, path=plugin_folder) == (143, STOPPED)
    assert json.loads((site / "x" / "selection.json").read_text()) and not list(site.rglob("*.tmp"))


@pytest.mark.parametrize("number", [10, 300])
def test_ctrl_c_during_imports_prints_no_traceback(number, site):
    command = [sys.executable, "-c", SIGNAL_AT_IMPORT, str(number), "select", "v.mp4", "-q", "Red?", "--no-exhibit"]
    result = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_S, check=False)
    assert (result.returncode, result.stderr) == (130, STOPPED + "\n")


@pytest.mark.parametrize(("module", "own"), [("cli", {"cli"}), ("__main__", {"cli", "__main__"})])
def test_entry_point_imports_next_to_nothing(module, own):
    code = NEW_MODULES.format(module)
    listed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert {name for name in listed if "framesift" in name} == {"framesift", *(f"framesift.{name}" for name in own)}
    assert not {"argparse", "importlib.metadata", "numpy"} & set(listed)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["index", "v.mp4"], KEPT),
        (["select", "v.mp4", "--questions", "q.jsonl"], KEPT),
        (["select", "v.mp4", "--questions", "q.jsonl", "--no-exhibit"], STOPPED),
        (["select", "v.mp4", "-q", "Red?"], STOPPED),
    ],
)
def test_work_is_said_to_be_kept_only_where_it_is(arguments, sentence, site, monkeypatch, capsys):
    def interrupt(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("framesift.indexing.index.build_index", interrupt)
    monkeypatch.setattr("framesift.pipeline.video.build_index", interrupt)
    assert main(arguments) == 130
    assert capsys.readouterr().err == sentence + "\n"


def test_sigterm_ends_a_server_that_is_starting():
    command = [sys.executable, "-c", SIGNAL_SWALLOWED, "serve", "--port", "0"]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_S, check=False)
    assert (ended.returncode, ended.stderr) == (143, f"{STOPPED}\n")
