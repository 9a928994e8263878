"""Encoders of other packages: the classes and functions that they register as entry points `framesift.encoders`."""

import inspect
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from framesift._utils.plugins import Plugin, reason
from framesift.encoders.base import Encoder, EncoderInfo, ImageInput
from framesift.errors import FramesiftError, PluginError
from framesift.types.vectors import Array

KIND = "encoder"  # entry points of the group framesift.encoders
EXPECTED = "a class or function that takes device="
MEMBERS = ("name", "dim", "encode_images", "encode_texts")


class PluginEncoder:
    """The encoder of another package; an error in it, or a result that is not (n, dim) numbers, is a PluginError.

    Optional members are the encoder's own.
    """

    def __init__(self, plugin: Plugin, encoder: Encoder) -> None:
        missing = [member for member in MEMBERS if not hasattr(encoder, member)]
        if missing:
            raise PluginError(f"{plugin.title} has no {missing[0]}; expected the members {', '.join(MEMBERS)}")
        self._plugin, self._encoder = plugin, encoder
        self.name, self.dim = encoder.name, encoder.dim

    def __getattr__(self, name: str) -> Any:
        return getattr(self._encoder, name)

    def encode_images(self, images: Sequence[ImageInput]) -> Array:
        """(n, dim) rows of images."""
        return self._rows(self._encoder.encode_images, images)

    def encode_texts(self, texts: Sequence[str]) -> Array:
        """(n, dim) rows of texts."""
        return self._rows(self._encoder.encode_texts, texts)

    def _rows(self, encode: Callable[[Any], Array], inputs: Sequence[Any]) -> Array:
        title = self._plugin.title
        try:
            rows = np.asarray(encode(inputs))
        except FramesiftError:
            raise
        except Exception as error:
            raise PluginError(f"{title} failed ({reason(error)}); report it to its authors") from error
        if rows.shape != (len(inputs), self.dim) or rows.dtype.kind not in "fiu":
            got = f"{rows.dtype} of shape {rows.shape}"
            raise PluginError(f"{title} returned {got}; expected numbers of shape {(len(inputs), self.dim)}")
        return rows


def load(plugin: Plugin, device: str) -> Encoder:
    """Create the encoder; whatever goes wrong is a PluginError."""
    return PluginEncoder(plugin, plugin.create(plugin.load(EXPECTED), device=device))


def describe(plugin: Plugin) -> EncoderInfo:
    """The encoder with the first line of its docstring, or with the reason why it can't be used."""
    origin = f"from {plugin.package}"
    try:
        summary = (inspect.getdoc(plugin.load(EXPECTED)) or origin).splitlines()[0]
    except FramesiftError as error:
        return EncoderInfo(plugin.name, origin, str(error))
    return EncoderInfo(plugin.name, summary)
