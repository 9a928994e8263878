"""The examples run from start to end, on a short version of the sample video."""

import os
import subprocess
import sys
from pathlib import Path

import nbclient
import nbformat
import pytest

from framesift.demo import video as sample_video
from helpers.short_story import short_story

pytestmark = pytest.mark.slow

EXAMPLES = Path(__file__).parent.parent / "examples"
SCRIPTS = sorted(EXAMPLES.glob("*.py"))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder to run in, with a sample video of three scenes where the examples expect it."""
    folder = tmp_path_factory.mktemp("examples")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sample_video, "SCENES", short_story())
        sample_video.sample_video(folder / "demo")
    return folder


def test_every_example_is_listed():
    listed = (EXAMPLES / "README.md").read_text(encoding="utf-8")
    assert all(f"({path.name})" in listed for path in [*SCRIPTS, *EXAMPLES.glob("*.ipynb")])


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_script_runs(script, folder):
    for engine in ("ray", "daft"):
        if script.name.startswith(engine):
            pytest.importorskip(engine)
    environment = os.environ | {"FRAMESIFT_STORE": str(folder / "store")}
    done = subprocess.run(
        [sys.executable, str(script)], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip()


def test_notebook_runs(folder, monkeypatch):
    monkeypatch.setenv("FRAMESIFT_STORE", str(folder / "store"))
    notebook = nbformat.read(EXAMPLES / "pipeline.ipynb", as_version=4)
    client = nbclient.NotebookClient(notebook, timeout=300, resources={"metadata": {"path": str(folder)}})
    client.execute()
    last = notebook.cells[-1].outputs[0]
    assert "A rocket; because of the wind" in last["text"]
