"""The manifest of an entry of the store: its schema, the checks when it is read, and what is derived from it."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from framesift._utils.json import check_digest, load_json
from framesift._utils.records import FilePath, read_record
from framesift.errors import InputError, StoreError
from framesift.types import VideoInfo
from framesift.video.timeline import TIMELINE_RULES

MANIFEST = "manifest.json"
SCHEMA: Literal["framesift.kept/1"] = "framesift.kept/1"
# The rules by which candidates are chosen and marked. An index made by others is built again; raise it with the rules.
SAMPLING_RULES = 3
# The rules by which chance levels are computed, in the same way.
CHANCE_RULES = 1


@dataclass(frozen=True)
class _ManifestVideo:
    path: FilePath = ""
    duration_s: float | None = None


@dataclass(frozen=True)
class _ManifestSampling:
    warnings: tuple[str | FilePath, ...] = ()  # may name files
    fps: float | str | None = None
    fps_used: float | None = None
    mode: str = ""


@dataclass(frozen=True)
class _ManifestFields:
    """Fields of a manifest that are used without a check of their own; there are more, by kind."""

    schema: Literal["framesift.kept/1"]
    kind: Literal["index", "events", "texts", "reply", "timeline", "chance"]
    sha256: str
    key: Mapping[str, str] = field(default_factory=dict)
    video: _ManifestVideo = _ManifestVideo()
    sampling: _ManifestSampling = _ManifestSampling()
    candidates: int | None = None
    seconds: float | None = None
    made_by: str = ""
    warnings: tuple[str | FilePath, ...] = ()


def read_manifest(folder: Path) -> dict[str, Any]:
    """Read the manifest of an entry; StoreError if it is not a valid one."""
    try:
        manifest: dict[str, Any] = load_json((folder / MANIFEST).read_bytes(), "the manifest", "that of an entry")
        read_record(_ManifestFields, manifest, "the manifest")
        check_digest(manifest, "the manifest")
    except InputError as error:
        raise StoreError(str(error)) from None
    return manifest


def manifest_warnings(manifest: dict[str, Any]) -> tuple[str, ...]:
    """The warnings stored with an index or with events."""
    return (*manifest.get("sampling", {}).get("warnings", ()), *manifest.get("warnings", ()))


def is_current(folder: Path) -> bool:
    """Whether the entry in a folder, if there is a readable one, was made by the current rules."""
    try:
        manifest = read_manifest(folder)
    except (StoreError, OSError):
        return True
    return has_current_rules(manifest)


def has_current_rules(manifest: dict[str, Any]) -> bool:
    """Whether an entry was made by the current rules, if any apply to its kind."""
    rules = {"index": SAMPLING_RULES, "timeline": TIMELINE_RULES, "chance": CHANCE_RULES}.get(manifest["kind"])
    return rules is None or manifest.get("rules") == rules


def info_from(data: dict[str, Any], path: str) -> VideoInfo:
    """The VideoInfo of a manifest, with the current path of the video."""
    return replace(read_record(VideoInfo, {**data, "path": ""}, "the manifest: video"), path=path)
