"""Open-vocabulary detectors through transformers: OWLv2 and Grounding DINO find objects by phrases.

As with encoders, weights are read from safetensors files on this machine; nothing is downloaded.
Boxes are computed from the raw outputs of the models, as the helpers of transformers change between versions.
"""

from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from framesift._utils.optional import require
from framesift.encoders.base import ImageInput, pick_device, to_rgb
from framesift.encoders.siglip import load_processor, model_type, weights_folder
from framesift.types.lookup import Box
from framesift.types.vectors import Array

EXTRA = "siglip"
CHECKPOINTS = {
    "owlv2": "google/owlv2-base-patch16-ensemble",
    "grounding-dino": "IDEA-Research/grounding-dino-tiny",
}


# By kind of model: the image processor's class, and the minimum confidence of a box.
FAMILIES = {"owlv2": ("Owlv2ImageProcessor", 0.1), "grounding-dino": ("GroundingDinoImageProcessor", 0.25)}


@cache
def load(name: str, *, threshold: float | None = None) -> "PhraseDetector":
    """Load a detector by built-in name, folder or hub name from the files on this machine; cached.

    threshold: the minimum confidence of a box; by default that of its family.
    """
    return PhraseDetector(name, weights_folder(CHECKPOINTS.get(name, name)), threshold)


class PhraseDetector:
    """OWLv2 or Grounding DINO from a checkpoint folder, in float32, one image at a time."""

    def __init__(self, name: str, folder: Path, threshold: float | None) -> None:
        torch, transformers = require("torch", EXTRA), require("transformers", EXTRA)
        kind = model_type(folder, FAMILIES)
        processor, usual = FAMILIES[kind]
        self.name = name
        self.threshold = usual if threshold is None else threshold
        self._torch, self._device = torch, pick_device(torch, "auto")
        self._processor = load_processor(transformers, processor, folder)
        self._tokenizer = transformers.AutoTokenizer.from_pretrained(folder, local_files_only=True)
        model = transformers.AutoModelForZeroShotObjectDetection.from_pretrained(
            folder, use_safetensors=True, local_files_only=True
        )
        self._model = model.to(self._device).eval()
        self._score: Callable[..., tuple[Array, Array]] = self._score_owl if kind == "owlv2" else self._score_dino

    def detect(self, images: Sequence[ImageInput], phrases: Sequence[str]) -> list[list[Box]]:
        """The boxes of the phrases in each image, most confident first; a box has its most likely phrase."""
        wanted = list(dict.fromkeys(phrase for phrase in phrases if phrase.strip()))
        if not wanted:
            return [[] for _ in images]
        return [self._boxes(image, wanted) for image in images]

    def _boxes(self, image: ImageInput, phrases: list[str]) -> list[Box]:
        rgb = to_rgb(image)
        inputs = self._processor(images=[rgb], return_tensors="pt").to(self._device)
        with self._torch.inference_mode():
            scores, corners = self._score(dict(inputs), phrases, rgb.size)
        best = scores.argmax(axis=1)
        top = scores[np.arange(len(scores)), best]
        order = [k for k in np.argsort(-top, kind="stable").tolist() if top[k] >= self.threshold]
        return [Box(phrases[best[k]], float(top[k]), *corners[k].tolist()) for k in order]

    def _score_owl(self, inputs: dict[str, Any], phrases: list[str], size: tuple[int, int]) -> tuple[Array, Array]:
        """(P, phrases) confidences and (P, 4) corners. Images are padded to a square at the right and bottom."""
        limit = int(self._model.config.text_config.max_position_embeddings)
        words = self._tokenizer(phrases, padding="max_length", max_length=limit, truncation=True, return_tensors="pt")
        tokens = {key: words[key].to(self._device) for key in ("input_ids", "attention_mask")}
        out = self._model(**tokens, **inputs)
        return _confidences(out.logits[0]), _corners(_array(out.pred_boxes[0]), (max(size), max(size)), size)

    def _score_dino(self, inputs: dict[str, Any], phrases: list[str], size: tuple[int, int]) -> tuple[Array, Array]:
        """(Q, phrases) confidences and (Q, 4) corners. The phrases are one text, a full stop after each."""
        text = " ".join(f"{phrase.lower().replace('.', ' ').strip()}." for phrase in phrases)
        words = self._tokenizer(
            [text], truncation=True, max_length=self._model.config.max_text_len, return_tensors="pt"
        )
        out = self._model(**words.to(self._device), **inputs)
        tokens = words["input_ids"][0].tolist()
        stops = [k for k, token in enumerate(tokens) if token == self._tokenizer.convert_tokens_to_ids(".")]
        confident = _confidences(out.logits[0])
        # A phrase scores as its most confident token; a phrase truncated by the token limit is not found.
        scores = np.zeros((len(confident), len(phrases)))
        for k, (start, stop) in enumerate(zip([0, *stops], stops, strict=False)):
            if stop > start + 1:
                scores[:, k] = confident[:, start + 1 : stop].max(axis=1)
        return scores, _corners(_array(out.pred_boxes[0]), size, size)


def _array(tensor: Any) -> Array:
    return tensor.cpu().double().numpy()


def _confidences(logits: Any) -> Array:
    return _array(logits.cpu().double().sigmoid())


def _corners(boxes: Array, scale: tuple[int, int], size: tuple[int, int]) -> Array:
    """(n, 4) left, top, right, bottom in pixels, clipped to the image, from centre and size relative to `scale`."""
    centre, half = boxes[:, :2], boxes[:, 2:] / 2
    corners = np.concatenate((centre - half, centre + half), axis=1) * np.array(scale * 2)
    return corners.clip(0.0, np.array(size * 2, dtype=np.float64))
