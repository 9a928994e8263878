"""The store on disk: one folder per computed result, written atomically.

    STORE/<video's content>/<encoder>-<its fingerprint>-<sampling>/index.safetensors   times_s, frames (float16), flags
                                                                  manifest.json        its origin, checksum, own digest
    STORE/<video's content>/<the same>.part/000128.safetensors …                       parts of an unfinished run
    STORE/<video's content>/events-<engine>/events.json, manifest.json                 speech or screen text
    STORE/<video's content>/timeline/timeline.safetensors, manifest.json               its packets: see `timelines`
    STORE/<video's content>/chance-<vectors and text>/levels.json, manifest.json       what unrelated questions score
    STORE/texts/<encoder>-<its fingerprint>-<texts>/vectors.safetensors, manifest.json text vectors
    STORE/replies/<model>-<message>/reply.json, manifest.json                          a model's replies to selectors

Files and folders are renamed into place. What several processes need at the same time one computes, and the others
wait for it (`load_or_compute`). Where files can't be locked each computes it, and the first to finish provides it.
"""

import hashlib
import json
import logging
import os
import re
import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from framesift._utils.files import StrPath, atomic_folder, is_temporary, output_error, write_bytes
from framesift._utils.json import check_digest, load_json, with_digest
from framesift._utils.locks import file_lock
from framesift._utils.records import read_record, read_value
from framesift.encoders.base import UNKNOWN, TextEncoder, encode_long_texts, fingerprint_of
from framesift.errors import FramesiftError, InputError, NotStored, StoreError
from framesift.progress import Progress, ignore_progress
from framesift.types import Event, VideoIndex, VideoInfo
from framesift.types.vectors import Array, UnitRows, is_long, unit_rows
from framesift.video.timeline import TIMELINE_RULES

STORE_VARIABLE = "FRAMESIFT_STORE"
SCHEMA = "framesift.kept/1"
MANIFEST = "manifest.json"
# The rules by which candidates are chosen and marked. An index made by others is built again; raise it with the rules.
SAMPLING_RULES = 3
# The rules by which chance levels are computed, in the same way.
CHANCE_RULES = 2
ROWS_AT_A_TIME = 256  # of an index, read at a time
TEXTS_AT_A_TIME = 1024  # encoded between two calls of progress
PART, TEXTS, REPLIES = ".part", "texts", "replies"
QUICK = "quick"  # the mode of an index of key frames that is used until the finished one is there
PAYLOADS = {"index": "index.safetensors", "events": "events.json", "texts": "vectors.safetensors"}  # by kind of entry
PAYLOADS |= {"reply": "reply.json", "timeline": "timeline.safetensors", "chance": "levels.json"}
INDEX = PAYLOADS["index"]

Payload = TypeVar("Payload")
Arrays = dict[str, Array]

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class IndexKey:
    """What identifies an index: the content of a video, an encoder and the sampling."""

    video: str
    encoder: str
    encoder_fingerprint: str
    fps: str
    mode: str
    unchanged_frames: str

    @property
    def folder(self) -> Path:
        ending = "" if self.unchanged_frames == "encode" else f"-{self.unchanged_frames}"
        return Path(self.video) / f"{self.encoder_prefix}{self.fps}fps-{self.mode}{ending}"

    @property
    def encoder_prefix(self) -> str:
        """How the names of the encoder's folders begin, whatever the sampling."""
        return f"{_slug(self.encoder)}-{self.encoder_fingerprint[:12]}-"


@dataclass(frozen=True, eq=False)
class StoredCandidates:
    """Candidates as stored: times_s (N,), frames (N, D), is_blank (N,) and is_damaged (N,).

    missed_s: the times up to the last candidate at which no frame could be decoded.
    """

    times_s: Array
    frames: Array
    is_blank: Array
    is_damaged: Array
    missed_s: Array

    def __len__(self) -> int:
        return len(self.times_s)

    @classmethod
    def join(cls, parts: "Iterable[StoredCandidates]", count: int) -> "StoredCandidates":
        """All candidates of consecutive parts, which have so many. Memory holds the vectors of one part more."""
        flags: dict[str, list[Array]] = {name: [] for name in _TYPES if name != "frames"}
        frames, done = np.empty((0, 0), np.float16), 0
        for part in parts:
            frames = frames if done else np.empty((count, part.frames.shape[1]), np.float16)
            frames[done : done + len(part)] = part.frames
            done += len(part)
            for name, values in flags.items():
                values.append(getattr(part, name))
        return cls(frames=frames[:done], **{name: np.concatenate(values) for name, values in flags.items()})

    def take(self, indices: Array) -> "StoredCandidates":
        """The candidates at these indices."""
        names = [name for name in _TYPES if name != "missed_s"]
        return replace(self, **{name: getattr(self, name)[indices] for name in names})

    def arrays(self) -> dict[str, Array]:
        arrays = {name: getattr(self, name).astype(kind, copy=False) for name, kind in _TYPES.items()}
        return arrays | {"rules": np.array([SAMPLING_RULES])}

    @classmethod
    def unpack(cls, payload: bytes) -> "StoredCandidates":
        tensors = unpack_arrays(payload)
        _check_rules(tensors["rules"])
        return cls(*(tensors[name] for name in _TYPES))


def _check_rules(rules: Array) -> None:
    if rules.tolist() != [SAMPLING_RULES]:
        raise StoreError("the candidates were chosen by other rules")


_TYPES = {"times_s": np.float64, "frames": np.float16, "is_blank": bool, "is_damaged": bool, "missed_s": np.float64}


@dataclass(frozen=True)
class StoreEntry:
    """One entry of the store, with its manifest."""

    folder: Path
    manifest: dict[str, Any]
    bytes: int
    used_s: float  # last read or write, seconds since 1970
    problem: str = ""  # why it can't be used; empty if it can

    @property
    def video_path(self) -> str:
        return str(self.manifest.get("video", {}).get("path", ""))

    @property
    def warnings(self) -> tuple[str, ...]:
        """What was lost, guessed or odd in the video or its text."""
        return manifest_warnings(self.manifest)


def default_store() -> Path:
    """FRAMESIFT_STORE if it is set, else a folder in the user's cache."""
    if named := os.environ.get(STORE_VARIABLE):
        return Path(named)
    from platformdirs import user_cache_path

    return user_cache_path("framesift", appauthor=False) / "indexes"


class Store:
    """Indexes, events, timelines and text vectors under one folder.

    stored_only: `load_or_compute` computes nothing and raises NotStored.
    """

    def __init__(self, root: StrPath | None = None, *, stored_only: bool = False) -> None:
        self.root = Path(root) if root is not None else default_store()
        self.stored_only = stored_only
        if self.root.is_file():
            raise InputError(f"the store {self.root} is a file; expected a directory")

    def load(self, key: IndexKey, path: str) -> VideoIndex | None:
        """Load the index of `key`; None if there is none, or one by other sampling rules. A damaged one is removed."""
        return self.load_entry(
            self.index_folder(key), "index", lambda file, manifest: _index_from(file, manifest, path)
        )

    def index_folder(self, key: IndexKey) -> Path:
        """Where the index of `key` is: one in which every candidate is encoded serves as one that reuses vectors."""
        folder, encoded = self.root / key.folder, self.root / replace(key, unchanged_frames="encode").folder
        return encoded if not (folder / MANIFEST).exists() and (encoded / MANIFEST).exists() else folder

    def save(self, key: IndexKey, candidates: StoredCandidates, manifest: dict[str, Any]) -> None:
        """Write the finished index and remove its parts and the quick one. One that another process wrote stays."""
        self.save_entry(self.root / key.folder, "index", candidates.arrays(), {**manifest, "key": asdict(key)})
        self.remove_parts(key)
        if key.mode != QUICK:
            shutil.rmtree(self.root / replace(key, mode=QUICK).folder, ignore_errors=True)

    def load_or_compute(
        self,
        name: str,
        load: Callable[[], Payload | None],
        compute: Callable[[], Payload],
        wait: Callable[[], object],
    ) -> Payload:
        """What `load` finds, else what `compute` makes and stores, in one process at a time for a name.

        wait: called while another process computes it; afterwards `load` is tried again.
        """
        found = load()
        if found is not None:
            return found
        if self.stored_only:
            raise NotStored(f"{name} is not stored; index the video first")
        digest = hashlib.blake2b(name.encode(), digest_size=16).hexdigest()
        with file_lock(self.root / f".lock-{digest}", wait):
            found = load()  # another process may have stored it by now
            return compute() if found is None else found

    def load_events(self, video: str, name: str) -> tuple[list[Event], tuple[str, ...]] | None:
        """The events that `name` found in the video with this fingerprint, and its warnings; None if not stored."""
        folder = self.root / video / f"events-{_slug(name)}"
        return self.load_entry(
            folder, "events", lambda file, manifest: (events_from(file.read_bytes()), tuple(manifest["warnings"]))
        )

    def save_events(
        self, video: str, name: str, events: Sequence[Event], path: str, *, warnings: Sequence[str] = ()
    ) -> None:
        payload = json.dumps([asdict(event) for event in events], ensure_ascii=False).encode()
        manifest = {"video": {"path": absolute_source(path)}, "made_by": name, "events": len(events)}
        manifest |= {"warnings": list(warnings)}
        self._save_if_writable(self.root / video / f"events-{_slug(name)}", "events", payload, manifest)

    def load_texts(self, encoder: TextEncoder, texts: Sequence[str]) -> Array | None:
        """Load the vectors of these texts, in this order; None if they are not stored."""
        return self.load_entry(
            self._texts_folder(encoder, texts), "texts", lambda file, _: unpack_arrays(file.read_bytes())["vectors"]
        )

    def save_texts(self, encoder: TextEncoder, texts: Sequence[str], vectors: Array) -> None:
        manifest = {"key": {"encoder": encoder.name}, "texts": len(texts)}
        vectors = vectors.astype(np.float32, copy=False)
        self._save_if_writable(self._texts_folder(encoder, texts), "texts", {"vectors": vectors}, manifest)

    def load_reply(self, model: str, digest: str) -> str | None:
        """Load a model's reply to the message with this digest; None if it is not stored."""
        folder = self.root / REPLIES / f"{_slug(model)}-{digest}"
        return self.load_entry(folder, "reply", lambda file, _: str(json.loads(file.read_bytes())))

    def save_reply(self, model: str, digest: str, reply: str) -> None:
        folder = self.root / REPLIES / f"{_slug(model)}-{digest}"
        self._save_if_writable(folder, "reply", json.dumps(reply).encode(), {"made_by": model})

    def load_levels(self, video: str, name: str) -> list[float] | None:
        """The chance levels stored under a name of `levels_name` for the video with this fingerprint."""
        return self.load_entry(self.root / video / name, "chance", lambda file, _: list(json.loads(file.read_bytes())))

    def save_levels(self, video: str, name: str, levels: Sequence[float], path: str) -> None:
        """Store levels beside the video's index, if it has one."""
        folder = self.root / video / name
        if folder.parent.is_dir():
            manifest = {"video": {"path": absolute_source(path)}}
            self._save_if_writable(folder, "chance", json.dumps(list(levels)).encode(), manifest)

    def load_entry(self, folder: Path, kind: str, read: Callable[[Path, dict[str, Any]], Payload]) -> Payload | None:
        """What `read` makes of the file of an entry's payload, and its manifest. A damaged one is removed.

        None if there is none, or one by other rules.
        """
        try:
            manifest = read_manifest(folder)
            if not _has_current_rules(manifest):
                log.info("%s was made by other rules and is made again", folder)
                return None
            value = read(check_payload(folder, kind, manifest), manifest)
        except FileNotFoundError:  # or another process is replacing or pruning it
            return None
        except (StoreError, KeyError, TypeError, ValueError, OSError) as error:
            log.warning("%s is damaged (%s) and is computed again", folder, error)
            shutil.rmtree(folder, ignore_errors=True)
            return None
        with suppress(OSError):  # a read-only store is still readable
            os.utime(folder / MANIFEST)
        return value

    def _save_if_writable(self, folder: Path, kind: str, payload: bytes | Arrays, manifest: dict[str, Any]) -> None:
        """Save an entry. A store that can't be written is logged once: the result can be used all the same."""
        try:
            self.save_entry(folder, kind, payload, manifest)
        except FramesiftError as error:
            log_unwritable(self.root, error.__cause__ or error)

    def save_entry(
        self, folder: Path, kind: str, payload: bytes | Arrays, manifest: dict[str, Any], *, replace: bool = False
    ) -> None:
        """Write payload and manifest atomically; without `replace`, a current entry of another process stays."""
        manifest = {"schema": SCHEMA, "kind": kind, "rules": _rules(kind), **manifest}
        with _write_errors(folder):
            try:
                with atomic_folder(folder, replace=replace or current_manifest(folder) is None) as temporary:
                    file = temporary / PAYLOADS[kind]
                    if isinstance(payload, bytes):
                        file.write_bytes(payload)
                    else:
                        _write_arrays(file, payload)
                    manifest["sha256"] = _checksum(file)
                    (temporary / MANIFEST).write_text(json.dumps(with_digest(manifest), indent=1), encoding="utf-8")
            except OSError:
                if not (folder / MANIFEST).exists():
                    raise

    def index_warnings(self, key: IndexKey) -> tuple[str, ...] | None:
        """The warnings stored with the index of `key`; None if there is no current one. Reads only its manifest."""
        manifest = current_manifest(self.index_folder(key))
        return None if manifest is None else manifest_warnings(manifest)

    def save_part(self, key: IndexKey, start: int, candidates: StoredCandidates) -> None:
        """Store the candidates from `start` on, so that an interrupted run can resume here."""
        folder, payload = self._parts_folder(key), pack_arrays(candidates.arrays())
        with _write_errors(folder):
            write_bytes(folder / f"{start:06d}.safetensors", payload + hashlib.sha256(payload).digest())

    def load_parts(self, key: IndexKey, start: int = 0) -> Iterator[StoredCandidates]:
        """Yield the contiguous parts from candidate `start` on; those after a gap or damage are ignored."""
        while (path := self._parts_folder(key) / f"{start:06d}.safetensors").exists():
            try:
                data = path.read_bytes()
                if hashlib.sha256(data[:-32]).digest() != data[-32:]:
                    break
                part = StoredCandidates.unpack(data[:-32])
            except (OSError, KeyError, StoreError):
                break
            yield part
            start += len(part)

    def remove_parts(self, key: IndexKey) -> None:
        shutil.rmtree(self._parts_folder(key), ignore_errors=True)

    def entries(self, video: str = "*") -> Iterator[StoreEntry]:
        """Yield all entries, or those of a video's fingerprint, with damaged and unfinished ones, by folder name."""
        if not self.root.is_dir():
            return
        # Hidden folders belong to others, such as the server's queue.
        for parent in sorted(path for path in self.root.glob(video) if path.is_dir() and path.name[0] != "."):
            for folder in sorted(path for path in parent.iterdir() if path.is_dir() or is_temporary(path)):
                yield _entry(folder)

    def remove(self, entry: StoreEntry) -> None:
        """Delete an entry, and the folder of its video after the last one."""
        with suppress(OSError):
            entry.folder.unlink()  # a file that a killed process was writing
        shutil.rmtree(entry.folder, ignore_errors=True)
        if entry.folder.exists():
            raise FramesiftError(f"{entry.folder} can't be removed; check the permissions of the store")
        if not any(entry.folder.parent.iterdir()):
            entry.folder.parent.rmdir()

    def _parts_folder(self, key: IndexKey) -> Path:
        folder = self.root / key.folder
        return folder.with_name(folder.name + PART)

    def _texts_folder(self, encoder: TextEncoder, texts: Sequence[str]) -> Path:
        digest = hashlib.blake2b(json.dumps(list(texts)).encode(), digest_size=16).hexdigest()
        return self.root / TEXTS / f"{_slug(encoder.name)}-{fingerprint_of(encoder)[:12]}-{digest}"


def read_manifest(folder: Path) -> dict[str, Any]:
    """Read the manifest of an entry; StoreError if it is not the one that was written."""
    try:
        manifest = load_json((folder / MANIFEST).read_bytes(), "the manifest", "that of an entry")
        if not isinstance(manifest, dict):
            raise StoreError("the manifest is not an object")
        check_digest(manifest, "the manifest")
    except InputError as error:
        raise StoreError(str(error)) from None
    return manifest


def manifest_warnings(manifest: dict[str, Any]) -> tuple[str, ...]:
    """The warnings stored with an index or with events."""
    return (*manifest.get("sampling", {}).get("warnings", ()), *manifest.get("warnings", ()))


def current_manifest(folder: Path) -> dict[str, Any] | None:
    """The manifest of an entry made by the current rules; None if there is none that can be read."""
    with suppress(StoreError, OSError):
        if _has_current_rules(manifest := read_manifest(folder)):
            return manifest
    return None


def _has_current_rules(manifest: dict[str, Any]) -> bool:
    return manifest.get("schema") == SCHEMA and manifest.get("rules") == _rules(manifest["kind"])


def _rules(kind: str) -> object:
    """The rules by which entries of this kind are made now; None if none apply to it."""
    return {"index": SAMPLING_RULES, "timeline": TIMELINE_RULES, "chance": CHANCE_RULES}.get(kind)


def absolute_source(path: str) -> str:
    """An absolute path; a URL is returned unchanged."""
    return path if "://" in path else os.path.abspath(path)


def read_payload(folder: Path, kind: str, manifest: dict[str, Any]) -> bytes:
    """The content of an entry; StoreError if it is not the one that was written."""
    return check_payload(folder, kind, manifest).read_bytes()


def check_payload(folder: Path, kind: str, manifest: dict[str, Any]) -> Path:
    """The file of an entry's content; StoreError if it is not the one that was written."""
    file = folder / PAYLOADS[kind]
    if _checksum(file) != manifest["sha256"]:
        raise StoreError("the checksum does not match")
    return file


def _checksum(file: Path) -> str:
    with file.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()


def _index_from(file: Path, manifest: dict[str, Any], path: str) -> VideoIndex:
    with open_arrays(file) as tensors:
        _check_rules(tensors.get_tensor("rules"))
        times_s, is_blank, is_damaged = map(tensors.get_tensor, ("times_s", "is_blank", "is_damaged"))
        shape = tensors.get_slice("frames").get_shape()
    frames = np.empty(shape, dtype=np.float16 if is_long(shape) else np.float32)
    for start in range(0, len(frames), ROWS_AT_A_TIME):
        # Opened each time: what is read of an open file counts as memory of the process.
        rows = slice(start, min(start + ROWS_AT_A_TIME, len(frames)))
        with open_arrays(file) as tensors:
            halves = tensors.get_slice("frames")[rows]
        # Half precision changes the length of a row by up to 1e-3: normalise again, in float32.
        frames[rows] = halves if is_long(shape) else unit_rows(halves, "frames")
    info = read_record(VideoInfo, manifest["video"] | {"path": ""}, "the manifest: video")
    return VideoIndex(
        replace(info, path=path),
        times_s,
        frames,
        manifest["key"]["encoder"],
        warnings=manifest_warnings(manifest),
        is_blank=is_blank,
        is_damaged=is_damaged,
        build_seconds=None if manifest.get("resumed", True) else float(manifest["seconds"]),
    )


def pack_arrays(arrays: Arrays) -> bytes:
    """The arrays in the format safetensors."""
    from safetensors.numpy import save

    return save(arrays)


def _write_arrays(file: Path, arrays: Arrays) -> None:
    """Write what `pack_arrays` returns without holding it in memory."""
    from safetensors import SafetensorError
    from safetensors.numpy import save_file

    try:
        save_file(arrays, file)
    except SafetensorError as error:
        number = re.search(r"os error (\d+)", str(error))
        raise OSError(int(number[1]) if number else 0, str(error)) from None


@contextmanager
def open_arrays(file: Path) -> Iterator[Any]:
    """The arrays of a file, to read each or parts of it; StoreError if they are damaged."""
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(str(file), "numpy") as tensors:
            yield tensors
    except SafetensorError as error:
        raise StoreError(str(error)) from None


def unpack_arrays(payload: bytes) -> dict[str, Array]:
    """The arrays of packed bytes, by name; StoreError if they are damaged."""
    from safetensors import SafetensorError
    from safetensors.numpy import load

    try:
        return load(payload)
    except SafetensorError as error:
        raise StoreError(str(error)) from None


def events_from(payload: bytes) -> list[Event]:
    """The events of an entry's payload; InputError if they are damaged."""
    return list(read_value(tuple[Event, ...], load_json(payload, "the list", "events"), "the list of events"))


def cached_text_vectors(
    encoder: TextEncoder,
    texts: Sequence[str],
    store: StrPath | None,
    *,
    progress: Progress = ignore_progress,
) -> Array:
    """Encode texts as (n, D) float32 unit rows, or read them from the store if they were encoded before.

    Equal texts are encoded once. Without a fingerprint, versions of an encoder can't be distinguished, so its vectors
    are not stored. progress: counts distinct texts.
    """
    opened = Store(store)
    vectors = opened.load_texts(encoder, texts)
    if vectors is None:
        numbers = {text: k for k, text in enumerate(dict.fromkeys(texts))}
        distinct = list(numbers)
        parts = []
        for start in range(0, max(len(distinct), 1), TEXTS_AT_A_TIME):
            progress("encoding text", start, len(distinct))
            parts.append(encode_long_texts(encoder, distinct[start : start + TEXTS_AT_A_TIME]))
        vectors = np.concatenate(parts)[[numbers[text] for text in texts]]
        if fingerprint_of(encoder) != UNKNOWN:
            opened.save_texts(encoder, texts, vectors)
    return vectors


def levels_name(frames: UnitRows, parts: Sequence[object]) -> str:
    """The name of chance levels: it identifies the frames' vectors and the other parts that they depend on."""
    digest = hashlib.blake2b(json.dumps([CHANCE_RULES, *parts]).encode(), digest_size=8)
    for block in frames.float32_blocks():
        digest.update(block.data)
    return f"chance-{digest.hexdigest()}"


def _slug(name: str) -> str:
    """A name reduced to characters that are safe in file names."""
    return re.sub(r"[^A-Za-z0-9.]+", "_", name).strip("_.")[-60:] or "x"


def _entry(folder: Path) -> StoreEntry:
    size, used = 0, 0.0
    for file in list(folder.rglob("*")) or [folder]:  # a process may just have made it
        try:
            status = file.stat()
        except OSError:
            continue
        size += status.st_size
        used = max(used, status.st_mtime)
    if is_temporary(folder) or folder.name.endswith(PART):
        return StoreEntry(folder, {}, size, used, "unfinished")
    try:
        manifest = read_manifest(folder)
    except (StoreError, OSError) as error:
        return StoreEntry(folder, {}, size, used, f"damaged: {error}")
    problem = "" if _has_current_rules(manifest) else "made by an earlier version; built again when the video is used"
    return StoreEntry(folder, manifest, size, used, problem)


_unwritable: set[Path] = set()  # the stores that were logged


def log_unwritable(root: Path, error: BaseException) -> None:
    """Log, once per process, that the store can't be written and results are not stored."""
    if root not in _unwritable:
        _unwritable.add(root)
        reason = getattr(error, "strerror", None) or error
        log.warning("the store %s can't be written (%s): results are used but not stored", root, reason)


@contextmanager
def _write_errors(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        remedy = f"free some space or choose another folder with {STORE_VARIABLE}"
        raise output_error(folder.parent, error, remedy) from error
