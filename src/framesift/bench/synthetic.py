"""A small data set made on the spot, with evidence planted at known times. The selftest runs on it.

Every video shows photographs that come with scikit-image under a slowly moving camera, while somebody talks every few
seconds about something else. Three questions are put to each:

- told: one spoken line holds the answer, and the picture then has nothing to do with it. Ground's case.
- seen: a photograph that the question names stands for a few seconds while nobody speaks. Cover's case.
- hidden: the video opens or ends with a few hurried seconds, out of focus, of the question's subject, which elsewhere
  stands sharp and at length: there are the peaks of relevance, and what looks like them is passed over. Refine's case.
"""

import json
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import numpy as np
from PIL import Image, ImageFilter

from framesift._utils.files import atomic_path, write_text
from framesift.video.sample_video import camera, photographs

VERSION = 4
VIDEOS, SECONDS = 8, 240
WIDTH, HEIGHT, FPS = 320, 180, 2
SEEN_S, HIDDEN_S, FLASH_S, PEAK_S = 4, (6, 7, 8, 9, 10), 2, 12
TALK_EVERY_S, TALK_S = 11, 4
SLOW, NEAR, HURRIED = "slow", "near", "hurried"
# The part of the photograph's width that a shot shows; a near one draws back slowly.
NEAR_PART, HURRIED_PART = (0.35, 0.6), 0.6
BLUR = 3  # pixels
NAME = "selftest"
KINDS = ("told", "seen", "hidden")

BACKGROUNDS = (
    *("brick.png", "gravel.png", "hubble_deep_field.jpg", "moon.png", "retina.jpg", "text.png", "ihc.png", "cell.png"),
    *("color.png", "logo.png", "clock_motion.png", "page.png", "astronaut.png"),
)
FLASH = "grass.png"
# Photograph, what it shows, and two things it does not.
SUBJECTS = (
    ("chelsea.png", "a cat", "a dog", "a rabbit"),
    ("coffee.png", "a cup of coffee", "a glass of wine", "a bowl of soup"),
    ("motorcycle_left.png", "a motorcycle", "a sailing boat", "a tractor"),
    ("rocket.jpg", "a rocket", "a lighthouse", "a windmill"),
    ("camera.png", "a man with a camera", "a woman with a violin", "a child with a kite"),
    ("coins.png", "old coins", "glass marbles", "rusty keys"),
)
# Question, the line that answers it, the answer, and two others.
STORIES = (
    (
        "According to the speaker, why was the concert put off?",
        "The concert was put off because of the flood.",
        "because of the flood",
        "because of a strike",
        "because of the heat",
    ),
    (
        "What does the narrator say the letter was hidden under?",
        "They found the letter hidden under the old piano.",
        "under the piano",
        "under the stairs",
        "under a stone",
    ),
    (
        "Who does the speaker say paid for the bridge?",
        "In the end a baker paid for the whole bridge.",
        "a baker",
        "a banker",
        "a bishop",
    ),
    (
        "Why does she say she left the village?",
        "She left the village because the school had closed.",
        "because the school closed",
        "because of a quarrel",
        "because of the winter",
    ),
    (
        "What does the narrator say the island is named after?",
        "The island is named after a lost ship.",
        "a lost ship",
        "a saint",
        "a bird",
    ),
    (
        "According to the speaker, what ruined the harvest?",
        "That year the hail ruined the whole harvest.",
        "the hail",
        "the drought",
        "the beetles",
    ),
    (
        "What does he say the tunnel was built for?",
        "The tunnel was built to carry salt to the coast.",
        "to carry salt",
        "to carry coal",
        "to hide soldiers",
    ),
    (
        "Who does the narrator say painted the ceiling?",
        "Two sisters painted the ceiling in one summer.",
        "two sisters",
        "a monk",
        "an apprentice",
    ),
)
SMALL_TALK = (
    *("Let us go on for a while.", "It took longer than anyone thought.", "Nobody was in a hurry that day."),
    *("We will come back to this later.", "There is more to it than that.", "I still think of it now and then."),
    *("He never told me his name.", "You get used to the noise.", "The radio was on in the next room."),
    *("My sister remembers it differently.", "Somebody had left the door open.", "It was almost time for dinner."),
    *("They all laughed at that.", "That was the easy part.", "You can imagine the rest."),
    *("I had to ask twice.", "We waited for the others.", "It was quiet after that."),
    *("Nothing much happened for an hour.", "The neighbours had seen it before.", "I wrote it down that evening."),
    *("Then the phone rang again.",),
)


@dataclass(frozen=True)
class Shot:
    """A photograph on screen from `start_s` on: under a slow camera, from near by, or hurried and out of focus."""

    photograph: str
    start_s: int
    seconds: int
    style: str = SLOW


@dataclass(frozen=True)
class Script:
    """A video before it is made: shots, lines (start, end, words), and the questions' rows but for the video's name."""

    shots: tuple[Shot, ...]
    lines: tuple[tuple[float, float, str], ...]
    questions: tuple[dict[str, object], ...]


def make_planted(
    folder: Path,
    *,
    videos: int = VIDEOS,
    seconds: int = SECONDS,
    progress: Callable[[Path, int, int], None] | None = None,
) -> Path:
    """The data set's JSONL, made in `folder` where it is not there yet. The same on any machine but for the encoder."""
    path = folder / f"{NAME}.jsonl"
    folder.mkdir(parents=True, exist_ok=True)
    rows = []
    for number in range(videos):
        script = write_script(number, seconds)
        video = folder / f"{number + 1}-{VERSION}-{seconds}.mp4"
        if not video.exists():
            with atomic_path(video) as temporary:
                _film(temporary, script, number)
        if progress is not None:
            progress(path, number + 1, videos)
        subtitles = [{"start_s": a, "end_s": b, "text": text} for a, b, text in script.lines]
        rows += [{"video": video.name, "subtitles": subtitles, **row} for row in script.questions]
    text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    return write_text(path, text)


def write_script(number: int, seconds: int = SECONDS) -> Script:
    """Where everything stands in a video, by its number alone."""
    rng = random.Random(f"{NAME} {VERSION} {number}")  # noqa: S311 (repeatable, no secret)
    seen, hidden = rng.sample(SUBJECTS, 2)
    special = [(seen[0], SEEN_S, SLOW), (hidden[0], PEAK_S, NEAR), (hidden[0], PEAK_S, NEAR)]
    rng.shuffle(special)
    hurried = [(hidden[0], rng.choice(HIDDEN_S), HURRIED), (FLASH, FLASH_S, SLOW)]
    backgrounds = rng.sample(BACKGROUNDS, len(BACKGROUNDS))
    lengths = _parts(seconds - sum(shot[1] for shot in (*special, *hurried)), len(backgrounds), rng)
    places = sorted(rng.sample(range(1, len(backgrounds)), len(special)))
    order = []
    for k, (background, length) in enumerate(zip(backgrounds, lengths, strict=True)):
        if k in places:
            order.append(special[places.index(k)])
        order.append((background, length, SLOW))
    shots, at = [], 0
    for photograph, length, style in [*hurried, *order] if number % 2 else [*order, *reversed(hurried)]:
        shots.append(Shot(photograph, at, length, style))
        at += length
    seen_shot = next(shot for shot in shots if shot.photograph == seen[0])
    hidden_shot = next(shot for shot in shots if shot.style == HURRIED)
    story = STORIES[number % len(STORIES)]
    lines, told = _talk(shots, seen_shot, hidden_shot, story[1], rng)
    questions = (
        _row(number, "told", story[0], story[2:], told, rng),
        _row(number, "seen", "Which of these is seen for a moment?", seen[1:], _span(seen_shot), rng),
        _row(
            number, "hidden", "Which of these is shown out of focus, in a hurry?", hidden[1:], _span(hidden_shot), rng
        ),
    )
    return Script(tuple(shots), tuple(lines), questions)


def _talk(
    shots: list[Shot], seen: Shot, hidden: Shot, line: str, rng: random.Random
) -> tuple[list[tuple[float, float, str]], tuple[float, float]]:
    """What is said and when, none of it over the planted pictures, and the span of the line that answers."""
    end = shots[-1].start_s + shots[-1].seconds
    starts = []
    for start in range(3, end - TALK_S, TALK_EVERY_S):
        at = start + rng.random() * (TALK_EVERY_S - TALK_S - 1)
        if all(at > shot.start_s + shot.seconds or at + TALK_S < shot.start_s for shot in (seen, hidden)):
            starts.append(round(at, 2))
    subjects = {seen.photograph, hidden.photograph}

    def over(start: float) -> str:
        return next(s.photograph for s in reversed(shots) if s.start_s <= start)

    told = rng.choice([at for at in starts if not {over(at), over(at + TALK_S)} & subjects])
    words = rng.sample(SMALL_TALK, min(len(starts), len(SMALL_TALK)))
    lines = [(at, at + TALK_S, line if at == told else words[k % len(words)]) for k, at in enumerate(starts)]
    return lines, (told, told + TALK_S)


def _row(
    number: int,
    kind: str,
    question: str,
    options: tuple[str, ...],
    span: tuple[float, float],
    rng: random.Random,
) -> dict[str, object]:
    """options: the right one first; they are shuffled here."""
    shuffled = rng.sample(options, len(options))
    return {
        "id": f"{number + 1}-{kind}",
        "question": question,
        "options": shuffled,
        "answer": shuffled.index(options[0]),
        "group": kind,
        "category": kind,
        "moments": [list(span)],
    }


def _span(shot: Shot) -> tuple[float, float]:
    """The seconds in which every frame shows the shot: its last one begins before the next shot does."""
    return float(shot.start_s), shot.start_s + shot.seconds - 1 / FPS


def _parts(whole: int, count: int, rng: random.Random) -> list[int]:
    """Whole numbers that sum to `whole`, none far from the mean."""
    weights = [rng.uniform(0.6, 1.4) for _ in range(count)]
    ends = [round(whole * sum(weights[: k + 1]) / sum(weights)) for k in range(count)]
    return [b - a for a, b in zip([0, *ends], ends, strict=False)]


def _film(path: Path, script: Script, number: int) -> None:
    import av

    folder = photographs()
    with av.open(str(path), "w", format="mp4") as container:
        stream = container.add_stream("libx264", rate=FPS, options={"preset": "veryfast", "crf": "28", "g": "20"})
        stream.width, stream.height, stream.pix_fmt = WIDTH, HEIGHT, "yuv420p"
        stream.codec_context.time_base = Fraction(1, FPS)
        for place, shot in enumerate(script.shots):
            with Image.open(folder / shot.photograph) as opened:
                photograph = opened.convert("RGB")
            rng = random.Random(f"{number} {place}")  # noqa: S311 (repeatable, no secret)
            for box in _boxes(photograph.size, shot, rng):
                picture = photograph.resize((WIDTH, HEIGHT), Image.Resampling.BILINEAR, box=box)
                if shot.style == HURRIED:
                    picture = picture.filter(ImageFilter.GaussianBlur(BLUR))
                container.mux(stream.encode(av.VideoFrame.from_ndarray(np.asarray(picture), format="rgb24")))
        container.mux(stream.encode(None))


def _boxes(size: tuple[int, int], shot: Shot, rng: random.Random) -> Iterator[tuple[float, float, float, float]]:
    if shot.style == SLOW:
        yield from camera(size, shot.seconds * FPS, rng)
        return
    width, height = size
    whole = min(width, height * WIDTH / HEIGHT)
    x, y = rng.random(), rng.random()
    for k in range(shot.seconds * FPS):
        if shot.style == HURRIED and k % FPS == 0:
            x, y = rng.random(), rng.random()
        w = whole * (
            HURRIED_PART
            if shot.style == HURRIED
            else NEAR_PART[0] + (NEAR_PART[1] - NEAR_PART[0]) * k / shot.seconds / FPS
        )
        h = w * HEIGHT / WIDTH
        left, top = x * (width - w), y * (height - h)
        yield left, top, left + w, top + h
