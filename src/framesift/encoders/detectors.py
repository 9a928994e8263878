"""Open-vocabulary detectors through transformers: OWLv2 and Grounding DINO find what words describe.

As with encoders, weights are read from safetensors files already on this machine; nothing is downloaded unasked.
Boxes are computed here from the models' raw outputs, because transformers' own helpers change with its versions.
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from framesift._utils.optional import require
from framesift.encoders.base import pick_device, to_rgb
from framesift.encoders.siglip import find_weights, has_weights
from framesift.errors import FramesiftError, InputError
from framesift.types.frame_source import Box
from framesift.types.vectors import Array

if TYPE_CHECKING:
    from framesift.encoders.base import Picture

EXTRA = "siglip"
CHECKPOINTS = {
    "owlv2": "google/owlv2-base-patch16-ensemble",
    "grounding-dino": "IDEA-Research/grounding-dino-tiny",
}


@dataclass(frozen=True)
class Family:
    """How one kind of detector is called: its picture processor's class, and from what confidence a box counts."""

    processor: str
    threshold: float


FAMILIES = {
    "owlv2": Family("Owlv2ImageProcessor", threshold=0.1),
    "grounding-dino": Family("GroundingDinoImageProcessor", threshold=0.25),
}


@cache
def load(name: str, *, device: str = "auto", threshold: float | None = None) -> "WordDetector":
    """A detector by one of our names, by folder or by hub name, from what is on this machine; loaded once.

    threshold: the least confidence of a box; by default the family's own.
    """
    require("torch", EXTRA)
    require("transformers", EXTRA)
    wanted = CHECKPOINTS.get(name, name)
    if Path(wanted).is_dir():
        folder: Path | None = Path(wanted)
        if not has_weights(Path(wanted)):
            raise InputError(f"{wanted} holds no config.json with safetensors weights; expected a detector's folder")
    else:
        folder = find_weights(wanted)
    if folder is None:
        raise FramesiftError(f"the weights of {wanted} are not on this machine: framesift pull {wanted}")
    return WordDetector(name, folder, device=device, threshold=threshold)


class WordDetector:
    """OWLv2 or Grounding DINO from a checkpoint folder, in float32; one picture at a time."""

    def __init__(self, name: str, folder: Path, *, device: str = "auto", threshold: float | None = None) -> None:
        torch, transformers = require("torch", EXTRA), require("transformers", EXTRA)
        kind = json.loads((folder / "config.json").read_text(encoding="utf-8")).get("model_type")
        if kind not in FAMILIES:
            raise InputError(f"{folder} holds a model of type {kind!r}; expected one of {', '.join(FAMILIES)}")
        family, local = FAMILIES[kind], {"local_files_only": True}
        self.name = name
        self.threshold = family.threshold if threshold is None else threshold
        self._torch, self._device = torch, pick_device(torch, device)
        processor = getattr(transformers, f"{family.processor}Pil", None)  # its name in transformers 5
        self._processor = (processor or getattr(transformers, family.processor)).from_pretrained(folder, **local)
        self._tokenizer = transformers.AutoTokenizer.from_pretrained(folder, **local)
        models = transformers.AutoModelForZeroShotObjectDetection
        self._model = models.from_pretrained(folder, use_safetensors=True, **local).to(self._device).eval()
        self._ask: Callable[..., tuple[Array, Array]] = self._ask_owl if kind == "owlv2" else self._ask_dino

    def detect(self, pictures: Sequence["Picture"], phrases: Sequence[str]) -> list[list[Box]]:
        """For each picture the boxes of any of the phrases, most confident first; a box has its likeliest phrase."""
        wanted = list(dict.fromkeys(phrase for phrase in phrases if phrase.strip()))
        if not wanted:
            return [[] for _ in pictures]
        return [self._boxes(picture, wanted) for picture in pictures]

    def _boxes(self, picture: "Picture", phrases: list[str]) -> list[Box]:
        image = to_rgb(picture)
        inputs = self._processor(images=[image], return_tensors="pt").to(self._device)
        with self._torch.inference_mode():
            scores, corners = self._ask(dict(inputs), phrases, image.size)
        best = scores.argmax(axis=1)
        top = scores[np.arange(len(scores)), best]
        order = [k for k in np.argsort(-top, kind="stable").tolist() if top[k] >= self.threshold]
        return [Box(phrases[best[k]], float(top[k]), *corners[k].tolist()) for k in order]

    def _ask_owl(self, inputs: dict[str, Any], phrases: list[str], size: tuple[int, int]) -> tuple[Array, Array]:
        """(P, phrases) confidences and (P, 4) corners. Pictures are padded to a square, at the right and the bottom."""
        limit = int(self._model.config.text_config.max_position_embeddings)
        words = self._tokenizer(phrases, padding="max_length", max_length=limit, truncation=True, return_tensors="pt")
        asked = {key: words[key].to(self._device) for key in ("input_ids", "attention_mask")}
        out = self._model(**asked, **inputs)
        return _sigmoid(_array(out.logits[0])), _corners(_array(out.pred_boxes[0]), (max(size), max(size)), size)

    def _ask_dino(self, inputs: dict[str, Any], phrases: list[str], size: tuple[int, int]) -> tuple[Array, Array]:
        """(Q, phrases) confidences and (Q, 4) corners. The phrases are one text, a full stop after each."""
        text = " ".join(f"{phrase.lower().replace('.', ' ').strip()}." for phrase in phrases)
        words = self._tokenizer(
            [text], truncation=True, max_length=self._model.config.max_text_len, return_tensors="pt"
        )
        out = self._model(**words.to(self._device), **inputs)
        tokens = words["input_ids"][0].tolist()
        stops = [k for k, token in enumerate(tokens) if token == self._tokenizer.convert_tokens_to_ids(".")]
        confident = _sigmoid(_array(out.logits[0]))
        # Of a phrase's tokens the most confident speaks; a phrase cut off by the model's limit is not found.
        scores = np.zeros((len(confident), len(phrases)))
        for k, (start, stop) in enumerate(zip([0, *stops], stops, strict=False)):
            if stop > start + 1:
                scores[:, k] = confident[:, start + 1 : stop].max(axis=1)
        return scores, _corners(_array(out.pred_boxes[0]), size, size)


def _array(tensor: Any) -> Array:
    values: Array = tensor.float().cpu().numpy().astype(np.float64)
    return values


def _sigmoid(values: Array) -> Array:
    out: Array = 1.0 / (1.0 + np.exp(-values.clip(-700.0, 700.0)))
    return out


def _corners(boxes: Array, scale: tuple[int, int], size: tuple[int, int]) -> Array:
    """(n, 4) left, top, right, bottom in pixels, inside the picture, from centre and size as shares of `scale`."""
    centre, half = boxes[:, :2], boxes[:, 2:] / 2
    corners = np.concatenate((centre - half, centre + half), axis=1) * np.array(scale * 2)
    inside: Array = corners.clip(0.0, np.array(size * 2, dtype=np.float64))
    return inside
