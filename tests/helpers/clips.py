"""Small videos made on the spot, and an encoder that needs no model: the picture's colours on a grid."""

from fractions import Fraction

import av
import numpy as np
from PIL import Image


class GridEncoder:
    """Mean colours of a 4 × 4 grid. Any object with these members is an encoder."""

    name = "grid"
    dim = 49
    fingerprint = "0123456789abcdef"
    batch_size = 8

    def __init__(self):
        self.seen = 0

    def encode_images(self, pictures):
        self.seen += len(pictures)
        rows = [np.asarray(Image.fromarray(np.asarray(p)).resize((4, 4), Image.Resampling.BOX)) for p in pictures]
        rows = np.stack(rows).reshape(len(rows), -1).astype(np.float32)
        return unit(np.concatenate((rows / 255 - 0.5, np.full((len(rows), 1), 0.1, np.float32)), axis=1))

    def encode_texts(self, texts):
        rows = np.zeros((len(texts), self.dim), np.float32)
        for row, text in zip(rows, texts, strict=True):
            row[[ord(c) % (self.dim - 1) for c in text]] = 1.0
        return unit(rows)


def unit(rows):
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def make_clip(path, seconds=20, fps=5, size=(96, 64), seed=0):
    """A clip whose colours change every few seconds."""
    rng = np.random.default_rng(seed)
    colours = rng.integers(0, 256, (seconds, 2, 3), dtype=np.uint8)
    with av.open(str(path), "w") as container:
        stream = container.add_stream("mpeg4", rate=fps)
        stream.width, stream.height, stream.pix_fmt = *size, "yuv420p"
        stream.codec_context.time_base = Fraction(1, fps)
        for k in range(seconds * fps):
            picture = np.empty((size[1], size[0], 3), np.uint8)
            picture[: size[1] // 2], picture[size[1] // 2 :] = colours[k // fps // 3]
            picture[:8, : 8 + 2 * (k % 20)] = 255
            for packet in stream.encode(av.VideoFrame.from_ndarray(picture, format="rgb24")):
                container.mux(packet)
        for packet in stream.encode(None):
            container.mux(packet)
    return path
