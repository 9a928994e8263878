"""Folders of output: a run replaces the files of the run before it, and nothing else.

A folder lists the files that were written to it, in `.framesift-files.json`. The list is untrusted: a name counts only
if it is a file inside the folder that is reached without symbolic links. Files that are not listed stay.
"""

import contextlib
import json
import os
import shutil
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from framesift._utils.files import StrPath, is_temporary, no_empty_folders, output_error, remove_stale, temporary_name
from framesift._utils.json import load_json
from framesift._utils.records import FilePath, read_record
from framesift.errors import InputError

LIST = ".framesift-files.json"


@dataclass(frozen=True)
class OutputList:
    """The files of a folder that this package wrote, by relative name."""

    files: tuple[FilePath, ...]
    schema: str = "framesift.files/1"


@contextlib.contextmanager
def output_folder(path: StrPath, *, keep: bool = False) -> Iterator[Path]:
    """A temporary folder whose files are in `path` when the block succeeds; it is removed when the block fails.

    keep: add to the files of the earlier run. A new file with the name of one that was not written by this package
    raises InputError, a disk that is full before the new files are complete OutputError; the folder is then as before.
    """
    target = Path(os.path.realpath(path))
    is_new = not os.path.isdir(target)
    # Inside an existing folder, which may be a mounted one: files are renamed only within a file system.
    with staging_folder(path, target.parent if is_new else target) as new:
        yield new
        if is_new:
            _write_list(new, _files_in(new))
            new.rename(target)
        else:
            _merge(new, target, keep=keep)


@contextlib.contextmanager
def staging_folder(path: StrPath, parent: Path) -> Iterator[Path]:
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


def add_file(folder: StrPath, name: str, text: str) -> None:
    """Write a text file to a folder of output, beside the others."""
    with output_folder(folder, keep=True) as new:
        (new / name).write_text(text, encoding="utf-8")


def is_unused(folder: Path) -> bool:
    """Whether a folder is empty, apart from what a killed process left."""
    try:
        return all(is_temporary(path) for path in folder.iterdir())
    except OSError as error:
        raise output_error(folder, error) from error


def listed_files(folder: Path) -> set[str]:
    """The names that the folder lists, also of files that a killed process did not write; none without a list."""
    try:
        return set(
            read_record(OutputList, load_json((folder / LIST).read_bytes(), LIST, "a list of files"), LIST).files
        )
    except (OSError, InputError):
        return set()


def _write_list(folder: Path, names: Iterable[str]) -> None:
    text = json.dumps(asdict(OutputList(tuple(sorted(names)))), indent=1)  # ASCII: names may be undecodable
    (folder / LIST).write_text(text, encoding="ascii")


def _files_in(folder: Path) -> set[str]:
    """The relative names of the files of a folder and its subfolders."""
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}


def _merge(new: Path, target: Path, *, keep: bool) -> None:
    """Move the new files into the target, and remove those of the earlier run."""
    names = _files_in(new)
    # Only files without links and other ways out of the folder.
    listed = {name: f"{target}/{name}" for name in listed_files(target) - {LIST}}
    own = {name for name, path in listed.items() if os.path.isfile(path) and os.path.realpath(path) == path}
    _check_free_names(target, names - own)
    removed = set() if keep else own - names
    # Until the end the list names the files of both runs: the next run then removes what a killed one left.
    _write_list(new, own | names)
    os.replace(new / LIST, target / LIST)
    # Deeper files first, so that a process that is killed leaves either report complete, with the frames it refers to.
    for name in sorted(names, key=lambda name: (-name.count("/"), name)):
        (target / name).parent.mkdir(parents=True, exist_ok=True)
        os.replace(new / name, target / name)
    for name in removed:
        (target / name).unlink()
    _write_list(new, own - removed | names)
    os.replace(new / LIST, target / LIST)
    for folder in sorted({parent for name in removed for parent in Path(name).parents if parent.name}, reverse=True):
        with contextlib.suppress(OSError):  # not empty
            (target / folder).rmdir()


def _check_free_names(target: Path, names: Iterable[str]) -> None:
    """Reject names in use, and folders that are files or symbolic links."""
    for name in sorted(names):
        parents = [target / parent for parent in Path(name).parents if parent.name]
        for path in (*parents[::-1], target / name):
            if path.is_symlink() or (path.exists() and (path == target / name or not path.is_dir())):
                raise InputError(f"{path} was not written by framesift and stays; move it or choose another directory")
