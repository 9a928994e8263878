"""A sample video of ten minutes, rendered from the photographs that come with scikit-image.

They are in the public domain or CC0 and installed with that package. The camera pans and zooms over them, subtitles
give the spoken text, and a rocket on its launch pad is shown for a few seconds.
"""

import random
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from importlib.util import find_spec
from pathlib import Path

import numpy as np
from PIL import Image

from framesift._utils.files import atomic_path, output_error, write_text
from framesift._utils.text import clock
from framesift.errors import MissingExtra
from framesift.progress import Progress, ignore_progress
from framesift.types import Event, Question

WIDTH, HEIGHT, FPS = 640, 360, 10
VERSION = 2  # part of the file name: increased whenever the content changes
FILE_NAME = f"sample-{VERSION}.mp4"

QUESTION = Question(
    "What stands on the launch pad, and why was the start put off?",
    ("A rocket; because of the wind", "A crane; because of the rain", "A plane; because of a strike"),
)


@dataclass(frozen=True)
class SampleScene:
    """One photograph, its duration, and the speech over it: (start within the scene, duration, text)."""

    photograph: str
    seconds: int
    speech: tuple[tuple[float, float, str], ...] = ()


SCENES = (
    SampleScene("coffee.png", 38, ((4, 4, "Every morning starts the same way: one cup, no sugar."),)),
    SampleScene("chelsea.png", 52, ((6, 5, "The cat has the window to herself until noon."),)),
    SampleScene("brick.png", 30),
    SampleScene("page.png", 44, ((5, 5, "I have read this page ten times and still like it."),)),
    SampleScene("astronaut.png", 58, ((8, 5, "She trained eleven years for six days up there."),)),
    SampleScene("grass.png", 34, ((3, 4, "Трава здесь почти не растёт."),)),
    SampleScene("motorcycle_left.png", 49, ((7, 4, "He took the engine apart twice."),)),
    SampleScene("coins.png", 36, ((5, 4, "They found the coins under the floor."),)),
    SampleScene("hubble_deep_field.jpg", 55, ((9, 6, "Each of these points is a galaxy of its own."),)),
    SampleScene("gravel.png", 28),
    SampleScene("rocket.jpg", 6),
    SampleScene("camera.png", 47, ((12, 6, "The launch was put off because of the wind, for the third time."),)),
    SampleScene("chelsea.png", 33, ((4, 4, "Кошка всё ещё у окна."),)),
    SampleScene("moon.png", 48, ((8, 5, "Nobody has been back since seventy-two."),)),
    SampleScene("coffee.png", 42, ((10, 4, "And in the evening, a second cup."),)),
)


def sample_events() -> list[Event]:
    """The speech of the sample video, as in the .srt file beside it."""
    events, start = [], 0.0
    for scene in SCENES:
        events += [Event(start + at, start + at + length, text) for at, length, text in scene.speech]
        start += scene.seconds
    return events


def sample_video(folder: Path, *, progress: Progress = ignore_progress) -> Path:
    """The path of the sample video in `folder`; rendered on the first call."""
    path = folder / FILE_NAME
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

    folder = photographs()
    with av.open(str(path), "w") as container:
        stream = container.add_stream("libx264", rate=FPS, options={"preset": "veryfast", "crf": "30", "g": "50"})
        stream.width, stream.height, stream.pix_fmt = WIDTH, HEIGHT, "yuv420p"
        stream.codec_context.time_base = Fraction(1, FPS)
        done = 0
        for scene_number, scene in enumerate(SCENES):
            with Image.open(folder / scene.photograph) as opened:
                photograph = opened.convert("RGB")
            for box in camera(photograph.size, scene.seconds * FPS, random.Random(scene_number)):  # noqa: S311 (no secret)
                image = photograph.resize((WIDTH, HEIGHT), Image.Resampling.BILINEAR, box=box)
                container.mux(stream.encode(av.VideoFrame.from_ndarray(np.asarray(image), format="rgb24")))
                done += 1
            progress("sample video", done, sum(scene.seconds for scene in SCENES) * FPS)
        container.mux(stream.encode(None))


def camera(size: tuple[int, int], frames: int, rng: random.Random) -> Iterator[tuple[float, float, float, float]]:
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
