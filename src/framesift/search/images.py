"""Images to search for: from a file, or the frame of a video."""

import io
import os
from pathlib import Path

import PIL
from PIL import Image

from framesift.errors import InputError
from framesift.video.frames import fetch

MAX_IMAGE_BYTES = 20 * 2**20
MAX_PIXELS = 50_000_000
SIDE = 768  # of the image that is encoded, which encoders make smaller


def decode_image(data: bytes, name: str) -> Image.Image:
    """An image from the bytes of a file of any usual format; InputError for what is none, or too large."""
    try:
        with Image.open(io.BytesIO(data)) as opened:
            if opened.width * opened.height > MAX_PIXELS:
                raise InputError(f"{name} has {opened.width} × {opened.height} pixels; expected at most 50 million")
            opened.draft("RGB", (SIDE, SIDE))
            image = opened.convert("RGB")
    except (OSError, ValueError, SyntaxError, PIL.UnidentifiedImageError, Image.DecompressionBombError) as error:
        raise InputError(
            f"{name} can't be read as an image ({error}); expected a JPEG, PNG, WebP or GIF file"
        ) from None
    image.thumbnail((SIDE, SIDE))
    return image


def named_image(name: str) -> Image.Image:
    """The image in a file, or the frame of VIDEO@SECONDS."""
    video, _, seconds = name.rpartition("@")
    if video and not os.path.exists(name):
        try:
            time_s = float(seconds)
        except ValueError:
            raise InputError(f"{name!r} ends in {seconds!r}; expected seconds, as in film.mp4@83.5") from None
        return frame_image(video, time_s)
    try:
        with open(name, "rb") as file:
            data = file.read(MAX_IMAGE_BYTES + 1)
    except OSError as error:
        raise InputError(f"{name!r} can't be read ({error.strerror}); expected an image, or VIDEO@SECONDS") from None
    if len(data) > MAX_IMAGE_BYTES:
        raise InputError(f"{name!r} is larger than {MAX_IMAGE_BYTES // 2**20} MiB; expected a smaller image")
    return decode_image(data, repr(name))


def frame_image(video: str | Path, time_s: float) -> Image.Image:
    """The frame on screen at a time of a video."""
    ((_, array),) = fetch(video, [time_s], short_side=SIDE)
    return Image.fromarray(array)
