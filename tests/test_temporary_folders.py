"""Nothing of the user's is written to: the folders that framesift and libraries use by default are temporary ones."""

import subprocess
import sys
import tempfile

SHOW_FOLDERS = """
import os, platformdirs
from framesift.store.store import default_store
kinds = ("cache", "config", "data", "state")
print(os.path.expanduser("~"), default_store(), os.environ["HF_HUB_CACHE"], sep="\\n")
print(*(getattr(platformdirs, f"user_{kind}_dir")("framesift") for kind in kinds), sep="\\n")
"""


def test_default_folders_are_temporary_here_and_in_commands(capsys):
    exec(SHOW_FOLDERS, {})  # noqa: S102 (our own text)
    here = capsys.readouterr().out
    started = subprocess.run([sys.executable, "-c", SHOW_FOLDERS], capture_output=True, text=True, check=True)
    assert started.stdout == here
    assert all(folder.startswith(f"{tempfile.gettempdir()}/framesift-tests-") for folder in here.splitlines())
