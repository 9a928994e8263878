"""A sample video of ten minutes, rendered from the photographs that come with scikit-image.

They are in the public domain or CC0 and installed with that package. A camera moves over them in shots of a few
seconds, and subtitles give the spoken text (`story`).
"""

import random
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from importlib.util import find_spec
from itertools import chain
from pathlib import Path
from typing import Any

import av
from PIL import Image, ImageChops, ImageDraw, ImageFont

from framesift._utils.files import atomic_path, output_error, write_text
from framesift.demo.story import SCENES, TITLE, TITLE_CARD, SampleScene
from framesift.errors import MissingExtra
from framesift.progress import Progress, ignore_progress
from framesift.text.subtitles.timed_blocks import to_srt
from framesift.types import Event, Question

WIDTH, HEIGHT, FPS = 640, 360, 10
VERSION = 4  # part of the file name: increased whenever the content changes
FILE_NAME = f"sample-{VERSION}.mp4"
SHOWN_NAME = f"{TITLE} (sample).mp4"  # of the copy in a library
ENCODING = {"preset": "ultrafast", "qp": "28", "g": "50", "threads": "1"}

QUESTION = Question(
    "What stands on the launch pad, and why was the start put off?",
    ("A rocket; because of the wind", "A crane; because of the rain", "A plane; because of a strike"),
)

# The colour of the light, by which a photograph is multiplied.
LOOKS = {"day": (255, 255, 255), "evening": (235, 205, 175), "night": (120, 130, 165), "archive": (240, 225, 200)}


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
        shots = [pool.submit(_encoded, scene, number) for number, scene in enumerate(SCENES)]
        try:
            for shot in shots:
                for packet in shot.result():
                    packet.stream, packet.pts, packet.dts = stream, done, done
                    container.mux(packet)
                    done += 1
                progress("sample video", done, total)
        finally:
            pool.shutdown(cancel_futures=True)


def _encoded(scene: SampleScene, number: int) -> "list[av.Packet[Any]]":
    """The packets of a shot, one per frame. It has an encoder of its own, so that two are rendered at a time."""
    encoder = av.CodecContext.create("libx264", "w")
    encoder.width, encoder.height, encoder.pix_fmt = WIDTH, HEIGHT, "yuv420p"
    encoder.time_base, encoder.options = Fraction(1, FPS), ENCODING
    frames = map(av.VideoFrame.from_image, _frames(scene, number))
    return [packet for frame in chain(frames, [None]) for packet in encoder.encode(frame)]


def _frames(scene: SampleScene, number: int) -> Iterator[Image.Image]:
    """The frames of a shot: a camera moves over the photograph in a straight line, by whole pixels."""
    frames = scene.seconds * FPS
    if scene.photograph == TITLE_CARD:
        yield from [_title_card(scene.text)] * frames
        return
    with Image.open(photographs() / scene.photograph) as opened:
        photograph = opened.convert("L" if scene.look == "archive" else "RGB").convert("RGB")
    lit = ImageChops.multiply(photograph, Image.new("RGB", photograph.size, LOOKS[scene.look]))
    rng = random.Random(number)  # noqa: S311 (no secret)
    scale = max(WIDTH / lit.width, HEIGHT / lit.height) * rng.uniform(1.1, 1.3)
    image = lit.resize((round(lit.width * scale), round(lit.height * scale)), Image.Resampling.BICUBIC)
    room = image.width - WIDTH, image.height - HEIGHT
    first, last = ([rng.random() * side for side in room] for _ in range(2))
    for k in range(frames):
        left, top = (round(a + (b - a) * k / frames) for a, b in zip(first, last, strict=True))
        yield image.crop((left, top, left + WIDTH, top + HEIGHT))


def _title_card(text: str) -> Image.Image:
    card = Image.new("RGB", (WIDTH, HEIGHT), (18, 24, 34))
    title, _, below = text.partition(" / ")
    draw = ImageDraw.Draw(card)
    draw.text((WIDTH / 2, HEIGHT / 2 - 16), title, (240, 236, 226), ImageFont.load_default(44), anchor="mm")
    draw.text((WIDTH / 2, HEIGHT / 2 + 32), below, (170, 178, 190), ImageFont.load_default(22), anchor="mm")
    return card


def photographs() -> Path:
    """The folder of scikit-image's photographs, found without importing it."""
    spec = find_spec("skimage")
    if spec is None or spec.origin is None:
        raise MissingExtra("the demo needs scikit-image's photographs: pip install 'framesift[offline]'")
    return Path(spec.origin).parent / "data"
