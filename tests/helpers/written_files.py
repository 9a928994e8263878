"""Where tests write: a home folder and stores of their own; and what they wrote elsewhere."""

import os
import tempfile
from pathlib import Path

from platformdirs import user_cache_path

REPOSITORY = Path(__file__).parents[2]
CACHES = ("__pycache__", "site")  # and folders whose names begin with a dot: of tools that may run meanwhile
NAMED_FOLDERS = ("XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "HF_HOME")


class RunFolders:
    """The temporary home folder of a run, which its worker processes and commands inherit."""

    def __init__(self) -> None:
        self._places = (REPOSITORY, user_cache_path("framesift", appauthor=False))
        self._before = self._files()
        self.home = Path(tempfile.mkdtemp(prefix="framesift-tests-"))
        for name in NAMED_FOLDERS:
            os.environ.pop(name, None)
        os.environ["HOME"] = str(self.home)

    def written_elsewhere(self) -> list[Path]:
        """The files that are new in the repository or in the user's cache."""
        return sorted(self._files() - self._before)

    def _files(self) -> set[Path]:
        files = set()
        for place in self._places:
            for parent, folders, names in os.walk(place):
                folders[:] = [name for name in folders if not name.startswith(".") and name not in CACHES]
                files |= {Path(parent, name) for name in names}
        return files
