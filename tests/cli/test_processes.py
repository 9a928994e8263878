"""Commands as processes: what they import, and outputs that are closed before they end."""

import json
import os
import subprocess
import sys

import pytest

from framesift._utils.output_folder import LIST

# Slow to import, and of no use for choosing frames of an indexed video with the offline encoder.
UNUSED = {"torch", "transformers", "huggingface_hub", "efficientnet_lite_pytorch", "sentence_transformers", "fastapi"}
UNUSED |= {"uvicorn", "ray", "pyarrow", "pandas", "scipy", "sklearn", "matplotlib", "skimage", "openai"}
LIST_MODULES = """
import json, sys
from framesift._utils.output_folder import LIST
from framesift.cli import main
code = main(sys.argv[2:])
with open(sys.argv[1], "w") as file:
    json.dump([code, sorted(sys.modules)], file)
"""
EXHIBIT = {LIST, "frames", "report.html", "selection.json", "sheet.jpg"}


@pytest.fixture
def closed_pipe():
    """A pipe that nobody reads."""
    end, pipe = os.pipe()
    os.close(end)
    yield pipe
    os.close(pipe)


@pytest.fixture
def select(clip):
    return ["select", str(clip), "-q", "Is it cold?", "--budget", "2", "--encoder", "offline", "--out", "out"]


def run(*words, stderr=subprocess.PIPE, **streams):
    return subprocess.run([sys.executable, "-m", "framesift", *words], text=True, stderr=stderr, **streams)


def files(folder):
    return {path.name for path in folder.iterdir()}


def test_selection_on_an_indexed_video_imports_no_model_library(select, place):
    command = [sys.executable, "-c", LIST_MODULES, "modules.json", *select]
    subprocess.run(command, check=True, capture_output=True)
    code, modules = json.loads((place / "modules.json").read_text())
    assert code == 0 and files(place / "out") == EXHIBIT
    assert not UNUSED & set(modules)


def test_exhibit_is_complete_when_both_outputs_are_closed(select, place, closed_pipe):
    assert run(*select, stdout=closed_pipe, stderr=closed_pipe).returncode == 0
    assert files(place / "out") == EXHIBIT


@pytest.mark.parametrize("words", [["selectors", "--json"], ["--help"]])
def test_command_that_only_prints_ends_quietly_when_the_output_is_closed(words, closed_pipe):
    done = run(*words, stdout=closed_pipe)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.skipif(sys.platform == "win32", reason="a shell of POSIX starts programs without an output")
def test_command_started_without_outputs_succeeds(select, place):
    command = [sys.executable, "-m", "framesift", *select]
    subprocess.run(["/bin/sh", "-c", 'exec "$@" >&- 2>&-', "sh", *command], check=True)
    assert files(place / "out") == EXHIBIT
