"""A sample video of ten minutes, rendered from the photographs that come with scikit-image.

They are in the public domain or CC0 and installed with that package. A camera moves over them in shots of a few
seconds, with cuts and cross-fades, and subtitles give the spoken text (`sample_story`).
"""

import math
import random
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from fractions import Fraction
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

import numpy as np
from PIL import Image, ImageChops, ImageDraw, ImageFont

from framesift._utils.files import atomic_path, output_error, write_text
from framesift._utils.text import clock
from framesift.errors import MissingExtra
from framesift.progress import Progress, ignore_progress
from framesift.types import Event, Question
from framesift.types.vectors import Array
from framesift.video.sample_story import SCENES, TITLE, Look, SampleScene

WIDTH, HEIGHT, FPS = 640, 360, 10
VERSION = 3  # part of the file name: increased whenever the content changes
FILE_NAME = f"sample-{VERSION}.mp4"
SHOWN_NAME = f"{TITLE} (sample).mp4"  # of the copy in a library
FADE_FRAMES = 8
ENCODING = {"preset": "superfast", "crf": "30", "g": "50", "bf": "0", "threads": "1"}
FRAMES_AHEAD = 32  # rendered before they are encoded; bounds memory

Crop = tuple[float, float, float, float]  # left, top, right, bottom

QUESTION = Question(
    "What stands on the launch pad, and why was the start put off?",
    ("A rocket; because of the wind", "A crane; because of the rain", "A plane; because of a strike"),
)

# Contrast, saturation, and what is added to the blue and red difference.
LOOKS: dict[Look, tuple[float, float, float, float]] = {
    "day": (1.0, 1.0, 0.0, 0.0),
    "evening": (0.85, 0.9, -10.0, 10.0),
    "night": (0.6, 0.7, 12.0, -6.0),
    "archive": (0.95, 0.0, -8.0, 6.0),
}


class Planes(NamedTuple):
    """An image as video stores it: brightness, and blue and red difference at half size, in limited range."""

    y: Image.Image
    cb: Image.Image
    cr: Image.Image


def sample_events() -> list[Event]:
    """The speech of the sample video, as in the .srt file beside it."""
    events, start = [], 0.0
    for scene in SCENES:
        events += [Event(start + at, start + at + length, text) for at, length, text in scene.speech]
        start += scene.seconds
    return events


def sample_video(folder: Path, *, name: str = FILE_NAME, progress: Progress = ignore_progress) -> Path:
    """The path of the sample video in `folder`; rendered on the first call."""
    path = folder / name
    if not path.exists():
        try:
            with atomic_path(path) as temporary:
                _write(temporary, progress)
                write_text(path.with_suffix(".srt"), _as_srt(sample_events()))
        except OSError as error:
            raise output_error(path, error, "free some space or set another store") from error
    return path


def _as_srt(events: list[Event]) -> str:
    def at(time_s: float) -> str:
        return f"0{clock(time_s)}".replace(".", ",")

    cues = (f"{k}\n{at(e.start_s)} --> {at(e.end_s)}\n{e.text}\n" for k, e in enumerate(events, 1))
    return "\n".join(cues)


def _write(path: Path, progress: Progress) -> None:
    import av

    total = sum(scene.seconds for scene in SCENES) * FPS
    with av.open(str(path), "w") as container, ThreadPoolExecutor(2) as pool:
        stream = container.add_stream("libx264", rate=FPS, options=ENCODING)
        stream.width, stream.height, stream.pix_fmt = WIDTH, HEIGHT, "yuv420p"
        stream.codec_context.time_base = Fraction(1, FPS)
        for done, image in enumerate(_run_ahead(pool, _frames()), 1):
            container.mux(stream.encode(av.VideoFrame.from_ndarray(image, format="yuv420p")))
            if done % FPS == 0:
                progress("sample video", done, total)
        container.mux(stream.encode(None))


def _run_ahead(pool: ThreadPoolExecutor, calls: Iterable[Callable[[], Array]]) -> Iterator[Array]:
    """The results of the calls in their order, while a few of the next ones run."""
    running: deque[Future[Array]] = deque()
    for call in calls:
        running.append(pool.submit(call))
        if len(running) > FRAMES_AHEAD:
            yield running.popleft().result()
    while running:
        yield running.popleft().result()


def _frames() -> Iterator[Callable[[], Array]]:
    """A call for every frame of the video that renders it: (1.5·HEIGHT, WIDTH), planes one below another."""
    before = None
    for number, scene in enumerate(SCENES):
        render = _renderer(scene, number)
        for k in range(scene.seconds * FPS):
            yield partial(_frame, render, k, before if scene.fades and k < FADE_FRAMES else None)
        before = partial(_later, render, scene.seconds * FPS)


def _later(render: Callable[[int], Planes], frames: int, k: int) -> Planes:
    return render(frames + k)


def _frame(render: Callable[[int], Planes], k: int, before: Callable[[int], Planes] | None) -> Array:
    """Frame k of a shot; in a fade mixed with the shot before, which goes on."""
    planes = render(k)
    if before is not None:
        share = (k + 1) / (FADE_FRAMES + 1)
        planes = Planes(*(Image.blend(a, b, share) for a, b in zip(before(k), planes, strict=True)))
    return np.concatenate([np.asarray(plane).reshape(-1, WIDTH) for plane in planes])


def _renderer(scene: SampleScene, number: int) -> Callable[[int], Planes]:
    """The function that renders frame k of a shot; it goes on for a fade beyond the shot's end."""
    if scene.title:
        card = _planes(_title_card(scene.title), "day", size=(WIDTH, HEIGHT))
        return lambda _: card
    with Image.open(photographs() / scene.photograph) as opened:
        photograph = opened.convert("RGB")
    planes = _planes(photograph, scene.look, size=photograph.size)
    boxes = list(camera(photograph.size, scene.seconds * FPS + FADE_FRAMES, random.Random(number)))  # noqa: S311 (no secret)
    silhouette = _silhouette(scene.crossed_by) if scene.crossed_by else None

    def render(k: int) -> Planes:
        box = _sway(boxes[k], k, photograph.size)
        x, y = (half / whole for half, whole in zip(planes.cb.size, photograph.size, strict=True))
        half_box = (box[0] * x, box[1] * y, box[2] * x, box[3] * y)
        half_size = (WIDTH // 2, HEIGHT // 2)
        frame = Planes(
            planes.y.resize((WIDTH, HEIGHT), Image.Resampling.BILINEAR, box=box),
            planes.cb.resize(half_size, Image.Resampling.BILINEAR, box=half_box),
            planes.cr.resize(half_size, Image.Resampling.BILINEAR, box=half_box),
        )
        if silhouette is not None:
            share = k / len(boxes)
            left = round(share * (WIDTH + silhouette.width)) - silhouette.width
            top = HEIGHT - silhouette.height - 20 + round(8 * math.sin(k * 1.3))
            frame.y.paste(30, (left, top), silhouette)
        return frame

    return render


def _planes(image: Image.Image, look: Look, *, size: tuple[int, int]) -> Planes:
    contrast, saturation, blue, red = LOOKS[look]
    y, cb, cr = image.convert("YCbCr").split()
    half = (max(size[0] // 2, 1), max(size[1] // 2, 1))
    return Planes(
        y.point([round(16 + value * contrast * 219 / 255) for value in range(256)]),
        *(
            plane.resize(half, Image.Resampling.BOX).point(
                [round(128 + (value - 128) * saturation * 224 / 255 + tint) for value in range(256)]
            )
            for plane, tint in ((cb, blue), (cr, red))
        ),
    )


def _title_card(text: str) -> Image.Image:
    card = Image.new("RGB", (WIDTH, HEIGHT), (18, 24, 34))
    first, *others = text.split("\n")
    draw = ImageDraw.Draw(card)
    draw.text((WIDTH / 2, HEIGHT / 2 - 16), first, (240, 236, 226), ImageFont.load_default(44), anchor="mm")
    draw.text((WIDTH / 2, HEIGHT / 2 + 32), " ".join(others), (170, 178, 190), ImageFont.load_default(22), anchor="mm")
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


def _sway(box: Crop, k: int, size: tuple[int, int]) -> Crop:
    """The box moved a little, as a camera in the hand."""
    left, top, right, bottom = box
    x, y = 0.006 * (right - left) * math.sin(0.5 * k), 0.006 * (bottom - top) * math.sin(0.37 * k)
    x, y = min(max(x, -left), size[0] - right), min(max(y, -top), size[1] - bottom)
    return left + x, top + y, right + x, bottom + y


def photographs() -> Path:
    """The folder of scikit-image's photographs, found without importing it."""
    spec = find_spec("skimage")
    if spec is None or spec.origin is None:
        raise MissingExtra("the demo needs scikit-image's photographs: pip install 'framesift[offline]'")
    return Path(spec.origin).parent / "data"
