"""A sample video of ten minutes, rendered from the photographs that come with scikit-image.

They are in the public domain or CC0 and installed with that package. A camera moves over them in shots of a few
seconds, with cuts and cross-fades, and subtitles give the spoken text (`story`).
"""

import math
import random
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from importlib.util import find_spec
from itertools import chain
from pathlib import Path
from typing import Any

import av
import numpy as np
from PIL import Image, ImageChops, ImageDraw, ImageFont

from framesift._utils.files import atomic_path, output_error, write_text
from framesift.demo.story import SCENES, TITLE, TITLE_CARD
from framesift.errors import MissingExtra
from framesift.progress import Progress, ignore_progress
from framesift.text.subtitles.timed_blocks import to_srt
from framesift.types import Event, Question
from framesift.types.vectors import Array

WIDTH, HEIGHT, FPS = 640, 360, 10
VERSION = 4  # part of the file name: increased whenever the content changes
FILE_NAME = f"sample-{VERSION}.mp4"
SHOWN_NAME = f"{TITLE} (sample).mp4"  # of the copy in a library
FADE_FRAMES = 8
ZOOM_EVERY = 8  # the other shots move by whole pixels, which needs no resampling and is quick to encode
ENCODING = {"preset": "ultrafast", "qp": "28", "g": "50", "threads": "1"}

Crop = tuple[float, float, float, float]  # left, top, right, bottom
Render = Callable[[int], Array]  # frame k of a shot: (1.5·HEIGHT, WIDTH), planes one below another
Planes = list[Image.Image]  # brightness, blue and red difference, each of full size, in limited range

QUESTION = Question(
    "What stands on the launch pad, and why was the start put off?",
    ("A rocket; because of the wind", "A crane; because of the rain", "A plane; because of a strike"),
)

# Contrast, saturation, and what is added to the blue and red difference.
LOOKS = {
    "day": (1.0, 1.0, 0.0, 0.0),
    "evening": (0.85, 0.9, -10.0, 10.0),
    "night": (0.6, 0.7, 12.0, -6.0),
    "archive": (0.95, 0.0, -8.0, 6.0),
}


def sample_events() -> list[Event]:
    """The speech of the sample video, as in the .srt file beside it."""
    events, start = [], 0.0
    for scene in SCENES:
        if scene.text and scene.photograph != TITLE_CARD:
            events.append(Event(start + scene.said_s[0], start + scene.said_s[1], scene.text))
        start += scene.seconds
    return events


def sample_video(folder: Path, *, name: str = FILE_NAME, progress: Progress = ignore_progress) -> Path:
    """The path of the sample video in `folder`; rendered on the first call."""
    path = folder / name
    if not path.exists():
        try:
            with atomic_path(path) as temporary:
                _write(temporary, progress)
                write_text(path.with_suffix(".srt"), to_srt(sample_events()))
        except OSError as error:
            raise output_error(path, error, "free some space or set another store") from error
    return path


def _write(path: Path, progress: Progress) -> None:
    total, done = sum(scene.seconds for scene in SCENES) * FPS, 0
    with av.open(str(path), "w") as container, ThreadPoolExecutor(2) as pool:
        stream = container.add_stream("libx264", rate=FPS, options=ENCODING)
        stream.width, stream.height, stream.pix_fmt = WIDTH, HEIGHT, "yuv420p"
        stream.codec_context.time_base = Fraction(1, FPS)
        shots = [pool.submit(_encoded, number) for number in range(len(SCENES))]
        try:
            for shot in shots:
                for packet in shot.result():
                    packet.stream, packet.pts, packet.dts = stream, done, done
                    container.mux(packet)
                    done += 1
                progress("sample video", done, total)
        finally:
            pool.shutdown(cancel_futures=True)


def _encoded(number: int) -> "list[av.Packet[Any]]":
    """The packets of a shot, one per frame. It has an encoder of its own, so that two are rendered at a time."""
    encoder = av.CodecContext.create("libx264", "w")
    encoder.width, encoder.height, encoder.pix_fmt = WIDTH, HEIGHT, "yuv420p"
    encoder.time_base, encoder.options = Fraction(1, FPS), ENCODING
    frames = (av.VideoFrame.from_ndarray(image, format="yuv420p") for image in _frames(number))
    return [packet for frame in chain(frames, [None]) for packet in encoder.encode(frame)]


def _frames(number: int) -> Iterator[Array]:
    """The frames of a shot; in a fade they are mixed with those of the shot before, which goes on."""
    scene, render = SCENES[number], _renderer(number)
    before = _renderer(number - 1) if scene.fades and number else None
    for k in range(scene.seconds * FPS):
        frame = render(k)
        if before is not None and k < FADE_FRAMES:
            share = (k + 1) / (FADE_FRAMES + 1)
            earlier = before(SCENES[number - 1].seconds * FPS + k)
            frame = np.rint((1 - share) * earlier + share * frame).astype(np.uint8)
        yield frame


def _renderer(number: int) -> Render:
    """The function that renders frame k of a shot; it goes on for a fade beyond the shot's end."""
    scene = SCENES[number]
    if scene.photograph == TITLE_CARD:
        card = _resized(_planes(_title_card(scene.text), scene.look))
        return lambda _: card
    with Image.open(photographs() / scene.photograph) as opened:
        planes = _planes(opened.convert("RGB"), scene.look)
    frames = scene.seconds * FPS + FADE_FRAMES
    move = _zoom if number % ZOOM_EVERY == 0 else _pan
    render = move(planes, frames, random.Random(number))  # noqa: S311 (no secret)
    return _crossed(render, _silhouette(scene.crossed_by), frames) if scene.crossed_by else render


def _pan(planes: Planes, frames: int, rng: random.Random) -> Render:
    """A camera that moves over the photograph in a straight line, by whole pixels."""
    width, height = planes[0].size
    scale = WIDTH / (rng.uniform(0.72, 1.0) * min(width, height * WIDTH / HEIGHT))
    size = max(round(width * scale), WIDTH), max(round(height * scale), HEIGHT)
    y, cb, cr = (np.asarray(plane.resize(size, Image.Resampling.BICUBIC)) for plane in planes)
    room = size[0] - WIDTH, size[1] - HEIGHT
    first, last = ((rng.random() * room[0], rng.random() * room[1]) for _ in range(2))

    def render(k: int) -> Array:
        share = k / frames
        swayed = zip(first, last, _sway(k), room, strict=True)
        left, top = (min(max(round(a + (b - a) * share + sway), 0), most) for a, b, sway, most in swayed)
        whole, half = ((slice(top, top + HEIGHT, n), slice(left, left + WIDTH, n)) for n in (1, 2))
        return _frame(y[whole], cb[half], cr[half])

    return render


def _zoom(planes: Planes, frames: int, rng: random.Random) -> Render:
    """A camera that moves and changes its focal length."""
    size = planes[0].size
    boxes = list(camera(size, frames, rng))

    def render(k: int) -> Array:
        left, top, right, bottom = boxes[k]
        scale = (right - left) / WIDTH
        x, y = (scale * sway for sway in _sway(k))
        x, y = min(max(x, -left), size[0] - right), min(max(y, -top), size[1] - bottom)
        box = left + x, top + y, right + x, bottom + y
        return _resized(planes, box)

    return render


def _crossed(render: Render, silhouette: Image.Image, frames: int) -> Render:
    """The shot with a dark shape that moves through it."""

    def cross(k: int) -> Array:
        frame = render(k)
        left = round(k / frames * (WIDTH + silhouette.width)) - silhouette.width
        top = HEIGHT - silhouette.height - 20 + round(8 * math.sin(k * 1.3))
        image = Image.fromarray(frame[:HEIGHT])
        image.paste(30, (left, top), silhouette)
        frame[:HEIGHT] = np.asarray(image)
        return frame

    return cross


def _resized(planes: Planes, box: Crop | None = None) -> Array:
    """A part of the image as a frame: the two differences have half its size."""
    pairs = zip(planes, (1, 2, 2), strict=True)
    return _frame(*(plane.resize((WIDTH // n, HEIGHT // n), Image.Resampling.BILINEAR, box=box) for plane, n in pairs))


def _frame(*planes: Array | Image.Image) -> Array:
    """The planes one below another."""
    return np.concatenate([np.asarray(plane).reshape(-1, WIDTH) for plane in planes])


def _sway(k: int) -> tuple[float, float]:
    """How many pixels a camera in the hand is off at frame k."""
    return 4 * math.sin(0.5 * k), 2 * math.sin(0.37 * k)


def _planes(image: Image.Image, look: str) -> Planes:
    contrast, saturation, blue, red = LOOKS[look]
    y, cb, cr = image.convert("YCbCr").split()
    chroma = [(value - 128) * saturation * 224 / 255 + 128 for value in range(256)]
    return [
        y.point([round(16 + value * contrast * 219 / 255) for value in range(256)]),
        cb.point([round(level + blue) for level in chroma]),
        cr.point([round(level + red) for level in chroma]),
    ]


def _title_card(text: str) -> Image.Image:
    card = Image.new("RGB", (WIDTH, HEIGHT), (18, 24, 34))
    title, _, below = text.partition(" / ")
    draw = ImageDraw.Draw(card)
    draw.text((WIDTH / 2, HEIGHT / 2 - 16), title, (240, 236, 226), ImageFont.load_default(44), anchor="mm")
    draw.text((WIDTH / 2, HEIGHT / 2 + 32), below, (170, 178, 190), ImageFont.load_default(22), anchor="mm")
    return card


def _silhouette(name: str) -> Image.Image:
    """The mask of the dark shape of a picture, 200 pixels wide."""
    with Image.open(photographs() / name) as opened:
        mask = ImageChops.invert(opened.convert("L"))
    return mask.resize((200, 200 * mask.height // mask.width))


def camera(size: tuple[int, int], frames: int, rng: random.Random) -> Iterator[Crop]:
    """Yield crop boxes that move from one random position and size to another."""
    width, height = size
    whole = min(width, height * WIDTH / HEIGHT)
    first, last = ((rng.uniform(0.72, 1.0) * whole, rng.random(), rng.random()) for _ in range(2))
    for k in range(frames):
        share = k / max(frames - 1, 1)
        w, x, y = (a + (b - a) * share for a, b in zip(first, last, strict=True))
        h = w * HEIGHT / WIDTH
        left, top = x * (width - w), y * (height - h)
        yield left, top, min(left + w, width), min(top + h, height)


def photographs() -> Path:
    """The folder of scikit-image's photographs, found without importing it."""
    spec = find_spec("skimage")
    if spec is None or spec.origin is None:
        raise MissingExtra("the demo needs scikit-image's photographs: pip install 'framesift[offline]'")
    return Path(spec.origin).parent / "data"
