"""SigLIP, SigLIP 2 and CLIP checkpoints through transformers (4.50 or later, 5 included).

Weights are read from safetensors files on this machine only; `fetch` alone accesses the model hub. On a CPU, images are
preprocessed by transformers' PIL processors, as the others need torchvision; on a GPU, by the GPU.
"""

import math
import re
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np

from framesift._utils.machine import free_memory
from framesift._utils.records import FilePath, read_field
from framesift._utils.requirements import is_installed, require
from framesift.encoders.base import (
    EncoderInfo,
    ImageInput,
    files_digest,
    pick_device,
    read_config,
    split_by_tokens,
    to_rgb,
    to_unit,
)
from framesift.encoders.image_tensors import ImageLayout, Resample, Size, prepare_images
from framesift.errors import FramesiftError, InputError
from framesift.types.vectors import Array

EXTRA = "siglip"
HUB_NAME = re.compile(r"[A-Za-z0-9][\w.-]*/[\w.-]+")
CHECKPOINTS = {
    "siglip": "google/siglip-so400m-patch14-384",
    "siglip-base": "google/siglip-base-patch16-384",
    "siglip2": "google/siglip2-so400m-patch14-384",
    "clip": "openai/clip-vit-large-patch14",
}
PREFERRED = ("siglip", "siglip2", "siglip-base")  # the order in which "auto" tries them
SUMMARIES = {
    "siglip": "SigLIP SoViT-400m at 384 pixels, the paper's family",
    "siglip-base": "SigLIP base at 384 pixels, smaller and faster",
    "siglip2": "SigLIP 2 SoViT-400m at 384 pixels, reads many languages",
    "clip": "CLIP ViT-L/14 at 224 pixels, for comparison",
}
NEEDED_FILES = ("*.json", "*.txt", "*.model", "*.safetensors")
CHAT_TEMPLATE = "*.jinja"  # of readers, which are downloaded alike

# The share of free memory a batch may take; on a CPU larger batches are not faster, so it is capped.
MEMORY_SHARE = 0.25
MAX_GPU_BATCH = 128
# Images per call of the network on a GPU. While it runs, the next arrays are copied to the GPU; with images that are
# there, fewer calls wait less for the interpreter's lock, which the threads that decode a video take.
GPU_CHUNK = 32
GPU_CHUNK_THERE = 64
CPU_BYTES = 192 * 1024**2
MAX_CPU_BATCH = 16
TEXT_BATCH = 64
_RESAMPLES: dict[Any, Resample] = {2: "bilinear", 3: "bicubic"}  # by Pillow's numbers


# By kind of model: the image processor's class.
FAMILIES = {"siglip": "SiglipImageProcessor", "siglip2": "Siglip2ImageProcessor", "clip": "CLIPImageProcessor"}


def describe(name: str) -> EncoderInfo:
    """Whether a built-in checkpoint is usable here, and if not, the command to run."""
    remedy = f"framesift pull {name}" if _is_installed() else "pip install 'framesift[siglip]'"
    return EncoderInfo(name, SUMMARIES[name], "" if is_ready(name) else remedy)


def is_ready(name: str) -> bool:
    """Whether both the packages and the weights are on this machine."""
    return _is_installed() and find_weights(name) is not None


def load(name: str, *, device: str) -> "DualEncoder":
    """Load a checkpoint by built-in name, folder or hub name from the files on this machine."""
    return DualEncoder(name, weights_folder(name), device=device)


def folder_fingerprint(folder: Path) -> str:
    """The fingerprint of a checkpoint's files, without loading the model."""
    return files_digest(sorted(p for pattern in NEEDED_FILES for p in folder.glob(pattern))).hex()[:16]


def find_weights(name: str) -> Path | None:
    """The folder with the complete config and safetensors weights of a checkpoint; None if there is none."""
    if name not in CHECKPOINTS and Path(name).is_dir():
        if not has_weights(Path(name)):
            raise InputError(f"{name} has no config.json with safetensors weights; expected the folder of a checkpoint")
        return Path(name)
    repository = CHECKPOINTS.get(name, name)
    # Importing the hub's client takes longer than a selection; most machines can be answered without it.
    cache = Path(require("huggingface_hub.constants", EXTRA).HF_HUB_CACHE)
    if not (cache / f"models--{repository.replace('/', '--')}").is_dir():
        return None
    config = require("huggingface_hub", EXTRA).try_to_load_from_cache(repository, "config.json")
    cached = Path(config).parent if isinstance(config, str) else None
    return cached if cached is not None and has_weights(cached) else None


def weights_folder(name: str) -> Path:
    """The folder of a checkpoint's weights, as `find_weights`; FramesiftError, with the command, if there is none."""
    folder = find_weights(name)
    if folder is None:
        require("torch", EXTRA)
        repository = CHECKPOINTS.get(name, name)
        raise FramesiftError(f"the weights of {repository} are not on this machine: framesift pull {name}")
    return folder


def has_weights(folder: Path) -> bool:
    """Whether a folder has config.json and all its safetensors files."""
    if not (folder / "config.json").is_file():
        return False
    shards = folder / "model.safetensors.index.json"
    if shards.is_file():
        try:
            names = set(read_field(read_config(shards), "weight_map", dict[str, FilePath], str(shards)).values())
        except InputError:
            return False
        return all((folder / name).is_file() for name in names)
    return (folder / "model.safetensors").is_file()


def fetch(repository: str) -> Path:
    """Download the config and safetensors weights of a checkpoint, never pickles, into the hub cache."""
    hub = require("huggingface_hub", EXTRA)
    try:
        folder = Path(hub.snapshot_download(repository, allow_patterns=[*NEEDED_FILES, CHAT_TEMPLATE]))
    except hub.errors.RepositoryNotFoundError as error:
        raise FramesiftError(
            f"the model hub has no {repository}, or it needs a login: huggingface-cli login"
        ) from error
    # The hub client raises errors of several HTTP libraries without a common base class.
    except Exception as error:
        place = "copy the checkpoint to a folder and name that as the encoder"
        raise FramesiftError(f"the model hub can't be reached for {repository}: try again, or {place}") from error
    if not has_weights(folder):
        raise FramesiftError(f"{repository} has no safetensors weights; choose a checkpoint that does")
    return folder


def gpu_streams(torch: Any, device: str) -> list[Any]:
    """The streams in which images are prepared and encoded, beside the default one; None in place of them on a CPU."""
    return [torch.cuda.Stream(device) if device.startswith("cuda") else None for _ in range(2)]


def in_rows(model: Any) -> Any:
    """Let the vectors of patches lie in rows, as transformers leaves them in columns, which slows down every layer."""
    for module in model.modules():
        if hasattr(module, "patch_embedding"):
            module.register_forward_hook(lambda _module, _inputs, output: output.contiguous())
    return model


class DualEncoder:
    """An image and a text encoder with a joint space, from a checkpoint folder.

    float32 on a CPU; on a GPU bfloat16 where it is native, else float16. logit_scale and logit_bias turn a cosine into
    the model's logit, scale · cosine + bias; CLIP has no bias.
    """

    def __init__(self, name: str, folder: Path, *, device: str) -> None:
        torch, transformers = require("torch", EXTRA), require("transformers", EXTRA)
        self.name = name
        self._folder = folder
        self._torch = torch
        kind = model_type(folder, FAMILIES)
        # SigLIP was trained on lower-case text padded to its full 64 tokens; other input degrades its vectors.
        self._is_siglip = kind != "clip"
        self._device = pick_device(torch, device)
        self._processor = load_processor(transformers, FAMILIES[kind], folder)
        self._layout = image_layout(self._processor) if self._device.startswith("cuda") else None
        self.image_device = None if self._layout is None else self._device
        self._streams = gpu_streams(torch, self._device)
        self._tokenizer = transformers.AutoTokenizer.from_pretrained(folder, local_files_only=True)
        with no_progress_bar(transformers):
            model = transformers.AutoModel.from_pretrained(folder, use_safetensors=True, local_files_only=True)
        self.logit_scale = math.exp(model.logit_scale.item())
        self.logit_bias = model.logit_bias.item() if hasattr(model, "logit_bias") else 0.0
        self._model = in_rows(model.to(device=self._device, dtype=_precision(torch, self._device)).eval())
        settings = model.config
        self.text_limit = int(settings.text_config.max_position_embeddings)
        self.image_side = _side(self._processor, settings.vision_config)
        self.batch_size = fitting_batch(torch, self._device, settings.vision_config, self.image_side)
        self.dim = self.encode_texts([""]).shape[1]

    @cached_property
    def fingerprint(self) -> str:
        return folder_fingerprint(self._folder)

    def encode_images(self, images: Sequence[ImageInput]) -> Array:
        """(n, dim) float32 unit rows, a batch at a time."""
        if not images:
            return np.empty((0, self.dim), dtype=np.float32)
        with self._torch.inference_mode():
            if self._layout is not None:
                return to_unit(self._encode_on_gpu(images, self._layout))
            parts = [images[start : start + self.batch_size] for start in range(0, len(images), self.batch_size)]
            return to_unit(np.concatenate([self._encode_image_batch(part) for part in parts]))

    def encode_texts(self, texts: Sequence[str]) -> Array:
        """(n, dim) float32 unit rows; tokens beyond the limit are truncated."""
        batches = [
            self._encode_text_batch(texts[start : start + TEXT_BATCH]) for start in range(0, len(texts), TEXT_BATCH)
        ]
        return to_unit(np.concatenate(batches)) if batches else np.empty((0, self.dim), dtype=np.float32)

    def split_text(self, text: str) -> list[str]:
        """Split a text between words into pieces within the token limit."""
        return split_by_tokens(text, limit=self.text_limit, count=self.count_tokens)

    def _encode_image_batch(self, images: Sequence[ImageInput]) -> Array:
        inputs = self._processor(images=[to_rgb(image) for image in images], return_tensors="pt").to(self._device)
        inputs["pixel_values"] = inputs["pixel_values"].to(self._model.dtype)
        return _to_array(self._model.get_image_features(**inputs))

    def _encode_on_gpu(self, images: Sequence[ImageInput], layout: ImageLayout) -> Array:
        """Encode images prepared on the GPU, where one chunk is uploaded while the network runs on another."""
        torch, (upload, network) = self._torch, self._streams
        features = []
        # Videos are decoded in the default stream.
        upload.wait_stream(torch.cuda.default_stream(self._device))
        chunk = GPU_CHUNK_THERE if all(isinstance(image, torch.Tensor) for image in images) else GPU_CHUNK
        for start in range(0, len(images), size := min(self.batch_size, chunk)):
            with torch.cuda.stream(upload):
                part = images[start : start + size]
                pixels = prepare_images(part, layout, device=self._device, dtype=self._model.dtype)
            network.wait_stream(upload)
            with torch.cuda.stream(network):
                pixels.record_stream(network)
                features.append(_features(self._model.get_image_features(pixel_values=pixels)))
        with torch.cuda.stream(network):
            return _to_array(torch.cat(features))

    def _encode_text_batch(self, texts: Sequence[str]) -> Array:
        inputs = self._tokenizer(
            [self._cased(text) for text in texts],
            padding="max_length" if self._is_siglip else True,
            truncation=True,
            max_length=self.text_limit,
            return_tensors="pt",
        ).to(self._device)
        with self._torch.inference_mode():
            return _to_array(self._model.get_text_features(**inputs))

    def _cased(self, text: str) -> str:
        return text.lower() if self._is_siglip else text

    def count_tokens(self, text: str) -> int:
        # verbose=False: transformers would warn about texts beyond the limit.
        return len(self._tokenizer(self._cased(text), verbose=False)["input_ids"])


def model_type(folder: Path, known: Collection[str]) -> str:
    """The type of the model in a checkpoint's folder; InputError if it is not among the known ones."""
    kind: str = read_field(read_config(folder / "config.json"), "model_type", str, str(folder))
    if kind not in known:
        raise InputError(f"{folder} contains a model of type {kind!r}; expected one of {', '.join(known)}")
    return kind


def load_processor(transformers: Any, name: str, folder: Path) -> Any:
    """The image processor of this class, the one by PIL, which has another name in transformers 5."""
    processor = getattr(transformers, f"{name}Pil", None) or getattr(transformers, name)
    return processor.from_pretrained(folder, local_files_only=True)


def _is_installed() -> bool:
    return is_installed("torch", "transformers", "huggingface_hub", "PIL")


def _features(outputs: Any) -> Any:
    """The features: a tensor in transformers 4, an output object in 5."""
    return getattr(outputs, "pooler_output", outputs)


def _to_array(outputs: Any) -> Array:
    values: Array = _features(outputs).float().cpu().numpy()
    return values


def image_layout(processor: Any) -> ImageLayout | None:
    """What an image processor of transformers does; None if it does anything else."""
    steps = [getattr(processor, name, None) for name in ("do_resize", "do_rescale", "do_normalize")]
    resample = _RESAMPLES.get(getattr(processor, "resample", None))
    rescale = getattr(processor, "rescale_factor", None)
    if not all(steps) or resample is None or rescale != 1 / 255 or hasattr(processor, "max_num_patches"):
        return None
    size = dict(processor.size)
    layout = partial(ImageLayout, mean=processor.image_mean, std=processor.image_std, resample=resample)
    if not getattr(processor, "do_center_crop", False):
        return layout((int(size["height"]), int(size["width"]))) if size.get("height") else None
    crop = int(processor.crop_size["height"]), int(processor.crop_size["width"])
    shortest = int(size.get("shortest_edge") or 0)
    return layout(partial(_with_shortest_edge, shortest), crop=crop) if max(crop) <= shortest else None


def _with_shortest_edge(length: int, image: Size) -> Size:
    """The size of an image with its shorter side resized to this length, as transformers computes it."""
    height, width = image
    longer = int(length * max(image) / min(image))
    return (length, longer) if height <= width else (longer, length)


def _precision(torch: Any, device: str) -> Any:
    if device == "cpu":
        return torch.float32
    if device.startswith("cuda") and torch.cuda.get_device_capability(device) >= (8, 0):
        return torch.bfloat16
    return torch.float16


def _side(processor: Any, vision: Any) -> int:
    """The input size in pixels: of the square, or of the shorter side."""
    patches = getattr(processor, "max_num_patches", None)
    if patches:
        return round(math.sqrt(patches)) * int(processor.patch_size)
    size = dict(processor.size)
    return int(size.get("height") or size.get("shortest_edge") or vision.image_size)


def fitting_batch(torch: Any, device: str, vision: Any, side: int) -> int:
    """Images per batch that fit into free memory, by the widest layer and the attention of one image."""
    tokens = (side // int(vision.patch_size)) ** 2 + 1
    values = tokens * (vision.intermediate_size + 8 * vision.hidden_size) + vision.num_attention_heads * tokens**2
    if device.startswith("cuda"):
        free, _ = torch.cuda.mem_get_info(device)
        return int(min(max(MEMORY_SHARE * free / (2 * values), 1), MAX_GPU_BATCH))
    free = free_memory()
    usable = CPU_BYTES if free is None else min(CPU_BYTES, MEMORY_SHARE * free)
    return int(min(max(usable / (4 * values), 1), MAX_CPU_BATCH))


@contextmanager
def no_progress_bar(transformers: Any) -> Iterator[None]:
    """Hide the progress bar of transformers while loading."""
    logging = transformers.utils.logging
    shown = logging.is_progress_bar_enabled()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        if shown:
            logging.enable_progress_bar()
