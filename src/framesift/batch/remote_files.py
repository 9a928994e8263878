"""Remote videos and subtitles: copied to this machine while they are in use."""

import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from urllib.parse import urlsplit

from framesift._utils.credentials import public_url
from framesift._utils.requirements import require
from framesift.batch.listing import is_url
from framesift.errors import FramesiftError, InputError, MissingExtra
from framesift.progress import Progress

# Left free beside the copy: indexes are usually written to the same disk.
SPARE_BYTES = 512 * 2**20


@contextmanager
def local_file(url: str, progress: Progress) -> Iterator[Path]:
    """The file itself, or a temporary copy of one at a URL of any scheme that fsspec supports."""
    if not is_url(url):
        yield Path(url)
        return
    require("fsspec", "corpus")
    from fsspec.callbacks import Callback
    from fsspec.core import url_to_fs

    shown = public_url(url)
    try:
        remote, path = url_to_fs(url)
        size = int(remote.info(path).get("size") or 0)
    except FileNotFoundError:
        raise InputError(f"{shown} does not exist; expected a video") from None
    except ImportError as error:  # with the name of the storage backend's package
        remedy = ": pip install 'framesift[corpus]'" if url.startswith("http") else ""
        raise MissingExtra(
            f"{shown} can't be read, because a package is missing: {_first_line(error)}{remedy}"
        ) from error
    # Every storage backend raises errors of its own package.
    except Exception as error:
        raise InputError(f"{shown} can't be reached ({_first_line(error)})") from error
    directory = tempfile.gettempdir()
    free = shutil.disk_usage(directory).free
    if free < size + SPARE_BYTES:
        raise FramesiftError(
            f"{shown} is {size / 1e6:.0f} MB, {directory} has {free / 1e6:.0f} MB free; free some space or set TMPDIR"
        )
    handle, name = tempfile.mkstemp(suffix=PurePosixPath(urlsplit(url).path).suffix, prefix="framesift-")
    os.close(handle)
    received = Callback(size, hooks={"progress": lambda size, value: progress("download", value, max(size, value))})
    try:
        try:
            remote.get_file(path, name, callback=received)
        except Exception as error:
            raise FramesiftError(
                f"{shown}: the download stopped after {received.value / 1e6:.0f} MB ({_first_line(error)})"
            ) from error
        yield Path(name)
    finally:
        Path(name).unlink(missing_ok=True)


def _first_line(error: Exception) -> str:
    """Without the query of any URL, which may be signed."""
    return re.sub(r"\?\S+", "", (str(error).splitlines() or [type(error).__name__])[0])[:200]
