"""An open-vocabulary detector through transformers: OWLv2 finds objects by phrases.

As with encoders, weights are read from safetensors files on this machine; nothing is downloaded.
Boxes are computed from the raw outputs of the model, as the helpers of transformers change between versions.
"""

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from framesift._utils.requirements import require
from framesift.encoders.base import ImageInput, pick_device, to_rgb
from framesift.encoders.siglip import load_processor, model_type, weights_folder
from framesift.types.lookup import Box
from framesift.types.vectors import Array

EXTRA = "siglip"
NAME = "owlv2"
CHECKPOINT = "google/owlv2-base-patch16-ensemble"
THRESHOLD = 0.1


@cache
def load(name: str, *, threshold: float = THRESHOLD) -> "PhraseDetector":
    """Load a detector by built-in name, folder or hub name from the files on this machine; cached.

    threshold: the minimum confidence of a box.
    """
    return PhraseDetector(name, weights_folder(CHECKPOINT if name == NAME else name), threshold)


class PhraseDetector:
    """OWLv2 from a checkpoint folder, in float32, one image at a time."""

    def __init__(self, name: str, folder: Path, threshold: float) -> None:
        torch, transformers = require("torch", EXTRA), require("transformers", EXTRA)
        model_type(folder, [NAME])
        self.name, self.threshold = name, threshold
        self._torch, self._device = torch, pick_device(torch, "auto")
        self._processor = load_processor(transformers, "Owlv2ImageProcessor", folder)
        self._tokenizer = transformers.AutoTokenizer.from_pretrained(folder, local_files_only=True)
        model = transformers.Owlv2ForObjectDetection.from_pretrained(
            folder, use_safetensors=True, local_files_only=True
        )
        self._model = model.to(self._device).eval()

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

    def _score(self, inputs: dict[str, Any], phrases: list[str], size: tuple[int, int]) -> tuple[Array, Array]:
        """(P, phrases) confidences and (P, 4) corners. Images are padded to a square at the right and bottom."""
        limit = int(self._model.config.text_config.max_position_embeddings)
        words = self._tokenizer(phrases, padding="max_length", max_length=limit, truncation=True, return_tensors="pt")
        tokens = {key: words[key].to(self._device) for key in ("input_ids", "attention_mask")}
        out = self._model(**tokens, **inputs)
        scores, boxes = (tensor[0].cpu().double() for tensor in (out.logits, out.pred_boxes))
        return scores.sigmoid().numpy(), _corners(boxes.numpy(), size)


def _corners(boxes: Array, size: tuple[int, int]) -> Array:
    """(n, 4) left, top, right, bottom in pixels, clipped to the image, from centre and size relative to the square."""
    centre, half = boxes[:, :2], boxes[:, 2:] / 2
    corners = np.concatenate((centre - half, centre + half), axis=1) * max(size)
    return corners.clip(0.0, np.array(size * 2, dtype=np.float64))
