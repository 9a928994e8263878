"""Where tests write: a home folder and stores of their own; and the files they left in the repository."""

import os
import tempfile
from pathlib import Path

REPOSITORY = Path(__file__).parents[2]
CACHES = ("__pycache__", "site")  # and folders whose names begin with a dot: of tools that may run meanwhile
NAMED_FOLDERS = ("XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "HF_HOME")


def make_home() -> Path:
    """Make a temporary folder the home folder of this process and of those that it starts."""
    for name in (*NAMED_FOLDERS, "FRAMESIFT_READER"):
        os.environ.pop(name, None)
    os.environ["HOME"] = tempfile.mkdtemp(prefix="framesift-tests-")
    return Path.home()


def repository_files() -> set[Path]:
    files = set()
    for parent, folders, names in os.walk(REPOSITORY):
        folders[:] = [name for name in folders if not name.startswith(".") and name not in CACHES]
        files |= {Path(parent, name) for name in names if not name.startswith(".coverage")}
    return files
