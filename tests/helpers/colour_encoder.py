"""An encoder from another package that crashes, hangs or is slow, depending on the video's colour."""

import ctypes
import os
import time

import numpy as np


class ColourEncoder:
    """Mean colours; crashes on red, hangs on blue, is slow on green.

    While the file that HOLD names exists, green hangs as well.
    """

    name, dim, batch_size, fingerprint = "test-encoder", 4, 4, "feedfacefeedface"

    def __init__(self, device="auto"):
        pass

    def encode_images(self, frames):
        rows = np.ones((len(frames), 4), np.float32)
        for row, frame in zip(rows, frames, strict=True):
            red, green, blue = np.asarray(frame).reshape(-1, 3).mean(axis=0)
            if red > 200 and green < 60 and blue < 60:
                ctypes.string_at(0)
            if blue > 200 and red < 60 and green < 60:
                time.sleep(3600)
            if green > 200 and red < 60 and blue < 60:
                time.sleep(0.02)
                while os.path.exists(os.environ.get("HOLD", "")):
                    time.sleep(0.01)
            row[:3] = red / 255, green / 255, blue / 255
        return rows / np.linalg.norm(rows, axis=1, keepdims=True)

    def encode_texts(self, texts):
        wanted = {"red": 0, "green": 1, "blue": 2}
        rows = np.full((len(texts), 4), 1e-3, np.float32)
        for row, text in zip(rows, texts, strict=True):
            for word in text.lower().split():
                row[wanted.get(word, 3)] = 1
        return rows / np.linalg.norm(rows, axis=1, keepdims=True)
