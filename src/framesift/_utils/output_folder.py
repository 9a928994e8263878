"""Folders of output: a run replaces the files of the run before it, and nothing else.

A folder lists the files that were written to it, in `.framesift-files.json`. The list is untrusted: a name counts only
if it is a regular file inside the folder that is reached without symbolic links. Files that are not listed stay.
"""

import contextlib
import filecmp
import json
import os
import shutil
import stat
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from framesift._utils.files import (
    is_temporary,
    link_or_copy,
    no_empty_folders,
    output_error,
    remove_stale,
    temporary_name,
)
from framesift._utils.json import load_json
from framesift._utils.records import FilePath, read_record
from framesift.errors import InputError

LIST = ".framesift-files.json"
SCHEMA = "framesift.files/1"
LARGEST_LIST = 1 << 24  # bytes


@dataclass(frozen=True)
class OutputList:
    """The files of a folder that this package wrote, by relative name."""

    files: tuple[FilePath, ...]
    schema: str = SCHEMA


@contextlib.contextmanager
def output_folder(path: str | os.PathLike[str], *, keep: bool = False) -> Iterator[Path]:
    """A temporary folder whose files are in `path` when the block succeeds; it is removed when the block fails.

    keep: add to the files of the earlier run. A new file with the name of one that was not written by this package
    raises InputError, a full disk OutputError; the folder is then as before.
    """
    target = Path(os.path.realpath(path))
    is_new = not os.path.isdir(target)
    # Inside an existing folder, which may be a mounted one: files are renamed only within a file system.
    with staging_folder(path, target.parent if is_new else target) as stage:
        new = stage / "new"
        new.mkdir()
        yield new
        if is_new:
            write_list(new)
            new.rename(target)
        else:
            _merge(new, stage / "old", target, keep=keep)


@contextlib.contextmanager
def staging_folder(path: str | os.PathLike[str], parent: Path) -> Iterator[Path]:
    """A temporary folder in `parent`, in which the output `path` is prepared; afterwards it is removed.

    OSError becomes the sentence that `path` can't be written. Folders made for it stay only if they are not empty.
    """
    stage = temporary_name(parent / "stage")
    with no_empty_folders(parent):
        remove_stale(parent)
        try:
            stage.mkdir(parents=True)
            yield stage
        except OSError as error:
            raise output_error(path, error) from error
        finally:
            shutil.rmtree(stage, ignore_errors=True)


def add_file(folder: str | os.PathLike[str], name: str, text: str) -> Path:
    """Write a text file to a folder of output, beside the others."""
    with output_folder(folder, keep=True) as new:
        (new / name).write_text(text, encoding="utf-8")
    return Path(folder) / name


def is_unused(folder: Path) -> bool:
    """Whether a folder is empty, apart from what a killed process left."""
    try:
        return all(is_temporary(path) for path in folder.iterdir())
    except OSError as error:
        raise output_error(folder, error) from error


def has_output(folder: Path, name: str) -> bool:
    """Whether the folder lists this file, also if a process was killed before it was written."""
    return name in _listed(folder)


def write_list(folder: Path, names: Iterable[str] | None = None) -> None:
    """List these files in a folder, by default all that are in it."""
    record = OutputList(tuple(sorted(files_in(folder) if names is None else names)))
    text = json.dumps(asdict(record), indent=1)  # ASCII: names may be undecodable
    (folder / LIST).write_text(text, encoding="ascii")


def files_in(folder: Path) -> set[str]:
    """The relative names of the files of a folder and its subfolders."""
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}


def _listed(folder: Path) -> set[str]:
    """The names that the folder lists; none without a list that can be read."""
    path = folder / LIST
    if not _is_plain_file(folder, LIST) or path.stat().st_size > LARGEST_LIST:
        return set()
    try:
        return set(read_record(OutputList, load_json(path.read_bytes(), LIST, "a list of files"), LIST).files)
    except InputError:
        return set()


def _is_plain_file(folder: Path, name: str) -> bool:
    """Whether the name is a regular file inside the folder, reached without symbolic links."""
    path = folder / name
    try:
        is_inside = path.relative_to(folder).as_posix() == name and os.path.realpath(path.parent) == str(path.parent)
        return is_inside and stat.S_ISREG(path.lstat().st_mode)
    except (OSError, ValueError):
        return False


def _merge(new: Path, old: Path, target: Path, *, keep: bool) -> None:
    """Move the new files into the target, after a link to each file they replace; on any failure undo it."""
    names = files_in(new)
    own = {name for name in _listed(target) if _is_plain_file(target, name)} - {LIST}
    # The user's own: nothing to replace.
    same = {n for n in names - own if _is_plain_file(target, n) and filecmp.cmp(new / n, target / n, shallow=False)}
    _check_free_names(target, names - own - same)
    listed = (own if keep else set()) | (names - same)
    removed = set() if keep else own - names
    # Deeper files first, so that a process that is killed leaves either report complete, with the frames it refers to.
    placed = sorted(names - same, key=lambda name: (-name.count("/"), name))
    replaced = [*(own & names), *removed, *([LIST] if (target / LIST).exists() else [])]
    for name in replaced:
        (old / name).parent.mkdir(parents=True, exist_ok=True)
        link_or_copy(target / name, old / name)
    # Until the end the list names the files of both runs: the next run then removes what a killed one left.
    write_list(new, own | (names - same))
    with contextlib.ExitStack() as undo:
        for name in (LIST, *placed):
            _make_folders((target / name).parent, undo)
            if name in replaced:
                undo.callback(os.replace, old / name, target / name)
            else:
                undo.callback((target / name).unlink, missing_ok=True)
            os.replace(new / name, target / name)
        for name in removed:
            undo.callback(os.replace, old / name, target / name)
            (target / name).unlink()
        write_list(new, listed)
        os.replace(new / LIST, target / LIST)
        undo.pop_all()
    for folder in sorted({parent for name in removed for parent in Path(name).parents if parent.name}, reverse=True):
        with contextlib.suppress(OSError):  # not empty
            (target / folder).rmdir()


def _make_folders(folder: Path, undo: contextlib.ExitStack) -> None:
    for missing in [parent for parent in (folder, *folder.parents) if not parent.exists()][::-1]:
        missing.mkdir()
        undo.callback(missing.rmdir)


def _check_free_names(target: Path, names: Iterable[str]) -> None:
    """Reject names in use, and folders that are files or symbolic links."""
    for name in sorted({LIST, *names}):
        if name == LIST and _is_plain_file(target, LIST):
            continue
        parents = [target / parent for parent in Path(name).parents if parent.name]
        for path in (*parents[::-1], target / name):
            if path.is_symlink() or (path.exists() and (path == target / name or not path.is_dir())):
                raise InputError(f"{path} was not written by framesift and stays; move it or choose another directory")
