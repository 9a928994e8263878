"""The encoder interface, texts beyond an encoder's limit, and what the models and their checkpoints share."""

import bisect
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

import numpy as np

from framesift._utils.json import load_json
from framesift._utils.records import shown
from framesift._utils.requirements import require
from framesift.errors import InputError, OptionError
from framesift.types.vectors import Array, unit_rows

if TYPE_CHECKING:
    from PIL.Image import Image

ImageInput: TypeAlias = "Image | Array"

UNKNOWN = "unknown"  # the fingerprint of an encoder without one
BLOCKS, BLOCK_BYTES = 32, 16 * 1024  # read from each file of weights, evenly spaced, including both ends
MAX_PIECES = 64  # of a text; at 64 tokens each they hold 3,000 words, more than any question or subtitle


class TextEncoder(Protocol):
    """Encodes texts as unit vectors."""

    name: str

    def encode_texts(self, texts: Sequence[str]) -> Array:
        """(n, dim) float32 unit rows. Text beyond the encoder's limit is truncated: see `encode_long_texts`."""


class Encoder(TextEncoder, Protocol):
    """Encodes images and texts as unit vectors of one space.

    Optional members, which the built-in encoders have: `image_side` (the input size in pixels), `fingerprint`
    (changes with the weights or the preprocessing), `batch_size` (images per batch that fit this machine),
    `split_text(text)` (splits a text into pieces within the limit), and `image_device` (the GPU on which
    `encode_images` takes uint8 tensors (height, width, 3), such as "cuda"; None for the CPU). SigLIP and CLIP also have
    `logit_scale` and `logit_bias`.
    """

    dim: int

    def encode_images(self, images: Sequence["ImageInput"]) -> Array:
        """(n, dim) float32 unit rows of PIL images or uint8 RGB arrays (height, width, 3)."""


@dataclass(frozen=True)
class EncoderInfo:
    """An encoder by name, and what it still needs on this machine."""

    name: str
    summary: str
    why_not: str = ""  # the command to run; empty if it is available

    @property
    def available(self) -> bool:
        return not self.why_not


def fingerprint_of(encoder: TextEncoder) -> str:
    """The fingerprint of an encoder; UNKNOWN if it has none."""
    return str(getattr(encoder, "fingerprint", UNKNOWN))


def encode_long_texts(encoder: TextEncoder, texts: Sequence[str]) -> Array:
    """(n, dim) float32 unit rows of texts of any length.

    A text beyond the encoder's limit is split between words; the unit vectors of the pieces are averaged and the mean
    is normalised; of a text in more than MAX_PIECES pieces, as many evenly spaced ones are taken. All pieces are
    encoded together.
    """
    split: Callable[[str], list[str]] | None = getattr(encoder, "split_text", None)
    if split is None or not texts:
        return encoder.encode_texts(texts)
    pieces = [_evenly_spaced(split(text)) for text in texts]
    vectors = encoder.encode_texts([piece for parts in pieces for piece in parts])
    counts = np.array([len(parts) for parts in pieces])
    starts = np.cumsum(counts) - counts
    means: Array = vectors[starts].copy()
    for row in np.flatnonzero(counts > 1):
        total = vectors[starts[row] : starts[row] + counts[row]].sum(axis=0, dtype=np.float64)
        means[row] = total / np.linalg.norm(total)
    return means


def _evenly_spaced(pieces: list[str]) -> list[str]:
    count = len(pieces)
    return pieces if count <= MAX_PIECES else [pieces[k * count // MAX_PIECES] for k in range(MAX_PIECES)]


def split_by_tokens(text: str, *, limit: int, count: Callable[[str], int]) -> list[str]:
    """Split a text between words into pieces of at most `limit` tokens, each as long as possible.

    count: the number of tokens of a piece. A single word beyond the limit, as in scripts without spaces, is split
    between characters. A text within the limit is returned unchanged.
    """
    if count(text) <= limit:
        return [text]

    def fitting(units: Sequence[str], joint: str) -> int:
        """How many of the first units fit when joined; a token is taken for no more than 16 characters."""
        lengths = range(1, min(len(units), 16 * limit) + 1)
        return bisect.bisect_right(lengths, limit, key=lambda length: count(joint.join(units[:length])))

    pieces = []
    words = text.split()
    while words:
        if length := fitting(words, " "):
            pieces.append(" ".join(words[:length]))
            del words[:length]
            continue
        word = words.pop(0)
        while (length := max(1, fitting(word, ""))) < len(word):
            pieces.append(word[:length])
            word = word[length:]
        if count(word) <= limit:
            words.insert(0, word)  # the words after it may share its piece
        else:
            pieces.append(word)
    return pieces


def to_rgb(image: "ImageInput") -> "Image":
    """Convert a PIL image of any mode or a uint8 RGB array (height, width, 3) to a PIL image in RGB."""
    from PIL import Image

    if isinstance(image, Image.Image):
        return image.convert("RGB")
    return Image.fromarray(check_image(image))


def check_image(image: Any) -> Array:
    """Reject what is not a uint8 RGB array (height, width, 3)."""
    if not isinstance(image, np.ndarray):
        raise InputError(f"an image is of type {type(image).__name__}; expected a PIL image or a uint8 array")
    if image.dtype != np.uint8 or image.ndim != 3 or image.shape[2] != 3 or not image.size:
        raise InputError(f"an image is {image.dtype} {image.shape}; expected uint8 (height, width, 3)")
    return image


def to_unit(values: Array) -> Array:
    """Normalise rows to unit length, in float64, and return float32."""
    rows: Array = unit_rows(values.astype(np.float64), "vectors") if len(values) else values
    return rows.astype(np.float32)


def pick_device(torch: Any, device: str) -> str:
    """Resolve "auto", or check that the given device is available."""
    gpus = range(torch.cuda.device_count() if torch.cuda.is_available() else 0)
    found = [*(f"cuda:{number}" for number in gpus), *["mps"] * torch.backends.mps.is_available(), "cpu"]
    if device == "auto":
        return found[0].partition(":")[0]
    if device not in found and f"{device}:0" not in found:
        raise OptionError(f"device is {device!r}; expected auto, or what PyTorch finds here: {', '.join(found)}")
    return device


def read_config(path: Path) -> dict[str, Any]:
    """The object in a JSON file of a checkpoint, such as config.json; anything else is an InputError."""
    config = load_json(path.read_bytes(), str(path), "a checkpoint's settings")
    if not isinstance(config, dict):
        raise InputError(f"{path} is {shown(config)}; expected a checkpoint's settings")
    return config


def files_digest(paths: Iterable[Path]) -> bytes:
    """Digest of the names, sizes and evenly spaced blocks of files: any retraining changes it, at constant cost."""
    digest = blake2b(digest_size=16)
    for path in paths:
        size = path.stat().st_size
        digest.update(f"{path.name}:{size}:".encode())
        last = max(size - BLOCK_BYTES, 0)
        with path.open("rb") as file:
            for start in sorted({last * k // (BLOCKS - 1) for k in range(BLOCKS)}):
                file.seek(start)
                digest.update(file.read(BLOCK_BYTES))
    return digest.digest()


def load_network(model: Path | bytes) -> Any:
    """A session of onnxruntime on the CPU.

    It has one thread, and callers run it in several: an operator shared by several threads waits for the slowest, which
    on a busy machine can take ten times as long.
    """
    onnxruntime = require("onnxruntime", "offline")
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    # Sharing equal constants would be a fifth of the time of loading MiniLM, and changes no result.
    skipped = ["ConstantSharing"]
    return onnxruntime.InferenceSession(model, options, ["CPUExecutionProvider"], disabled_optimizers=skipped)
