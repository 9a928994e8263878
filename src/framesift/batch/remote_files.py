"""Videos that lie elsewhere: copied to this machine for as long as they are indexed, one per worker at a time."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from urllib.parse import urlsplit

from framesift._utils.optional import require
from framesift.batch.executors.base import Tell
from framesift.errors import FramesiftError, InputError

CHUNK_BYTES = 4 * 2**20
# What must stay free beside the copy: indexes are written to this disk too, as a rule.
SPARE_BYTES = 512 * 2**20


@contextmanager
def local_copy(url: str, tell: Tell, folder: str | None = None) -> Iterator[Path]:
    """The file behind a URL of any kind that fsspec knows, removed again afterwards."""
    require("fsspec", "corpus")
    from fsspec.core import url_to_fs

    try:
        remote, path = url_to_fs(url)
        size = int(remote.info(path).get("size") or 0)
    except FileNotFoundError:
        raise InputError(f"{url} is not there; expected a video") from None
    # Each kind of storage has errors of its own, from packages we do not know.
    except Exception as error:
        raise InputError(f"{url} can't be reached ({_first_line(error)})") from error
    place = folder or tempfile.gettempdir()
    free = shutil.disk_usage(place).free
    if free < size + SPARE_BYTES:
        raise FramesiftError(
            f"{url} has {size / 1e6:.0f} MB and {place} {free / 1e6:.0f} MB free; free some space or set TMPDIR"
        )
    handle, name = tempfile.mkstemp(suffix=PurePosixPath(urlsplit(url).path).suffix, prefix="framesift-", dir=place)
    try:
        with os.fdopen(handle, "wb") as copy:
            try:
                with remote.open(path, "rb") as file:
                    done = 0
                    while chunk := file.read(CHUNK_BYTES):
                        copy.write(chunk)
                        done += len(chunk)
                        tell(done, max(size, done))
            except Exception as error:
                raise FramesiftError(f"{url} broke off after {done / 1e6:.0f} MB ({_first_line(error)})") from error
        yield Path(name)
    finally:
        Path(name).unlink(missing_ok=True)


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0][:200]
