"""The synthetic benchmark of the self-test: generated videos with evidence at known times.

Every video shows photographs of scikit-image under a slowly moving camera, with unrelated speech every few seconds.
Each has three questions, one for each stage of GCR:

- spoken: one subtitle line has the answer, over unrelated frames (Ground).
- visual: a photograph named by the question is shown for a few seconds without speech (Cover).
- occluded: the video begins or ends with a few seconds of the question's subject, blurred and moving fast. Elsewhere
  the subject is shown sharp and for longer; relevance peaks there and similar frames are skipped (Refine).
"""

import json
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import numpy as np
from PIL import Image, ImageFilter

from framesift._utils.files import atomic_path, output_error, write_text
from framesift.demo.video import photographs
from framesift.progress import Progress

VERSION = 4
VIDEOS, SECONDS = 8, 240
WIDTH, HEIGHT, FPS = 320, 180, 2
VISUAL_S, OCCLUDED_S, FLASH_S, PEAK_S = 4, (6, 7, 8, 9, 10), 2, 12
SPEECH_PERIOD_S, SPEECH_S = 11, 4
SLOW, CLOSE, BLURRED = "slow", "close", "blurred"
# Share of the photograph's width in a shot; a close one zooms out slowly.
CLOSE_SHARE, BLURRED_SHARE = (0.35, 0.6), 0.6
BLUR = 3  # pixels
NAME = "selftest"
SPOKEN, VISUAL, OCCLUDED = "spoken", "visual", "occluded"
KINDS = (SPOKEN, VISUAL, OCCLUDED)

BACKGROUNDS = (
    *("brick.png", "gravel.png", "hubble_deep_field.jpg", "moon.png", "retina.jpg", "text.png", "ihc.png", "cell.png"),
    *("color.png", "logo.png", "clock_motion.png", "page.png", "astronaut.png"),
)
FLASH = "grass.png"
# Photograph, its subject, and two distractors.
SUBJECTS = [
    line.split(", ")
    for line in """\
chelsea.png, a cat, a dog, a rabbit
coffee.png, a cup of coffee, a glass of wine, a bowl of soup
motorcycle_left.png, a motorcycle, a sailing boat, a tractor
rocket.jpg, a rocket, a lighthouse, a windmill
camera.png, a man with a camera, a woman with a violin, a child with a kite
coins.png, old coins, glass marbles, rusty keys""".splitlines()
]
# Question, the line that answers it, the answer, and two distractors.
STORIES = (
    """\
According to the speaker, why was the concert put off?
The concert was put off because of the flood.
because of the flood
because of a strike
because of the heat""",
    """\
What does the narrator say the letter was hidden under?
They found the letter hidden under the old piano.
under the piano
under the stairs
under a stone""",
    """\
Who does the speaker say paid for the bridge?
In the end a baker paid for the whole bridge.
a baker
a banker
a bishop""",
    """\
Why does she say she left the village?
She left the village because the school had closed.
because the school closed
because of a quarrel
because of the winter""",
    """\
What does the narrator say the island is named after?
The island is named after a lost ship.
a lost ship
a saint
a bird""",
    """\
According to the speaker, what ruined the harvest?
That year the hail ruined the whole harvest.
the hail
the drought
the beetles""",
    """\
What does he say the tunnel was built for?
The tunnel was built to carry salt to the coast.
to carry salt
to carry coal
to hide soldiers""",
    """\
Who does the narrator say painted the ceiling?
Two sisters painted the ceiling in one summer.
two sisters
a monk
an apprentice""",
)
UNRELATED_LINES = """\
Let us go on for a while.
It took longer than anyone thought.
Nobody was in a hurry that day.
We will come back to this later.
There is more to it than that.
I still think of it now and then.
He never told me his name.
You get used to the noise.
The radio was on in the next room.
My sister remembers it differently.
Somebody had left the door open.
It was almost time for dinner.
They all laughed at that.
That was the easy part.
You can imagine the rest.
I had to ask twice.
We waited for the others.
It was quiet after that.
Nothing much happened for an hour.
The neighbours had seen it before.
I wrote it down that evening.
Then the phone rang again.""".splitlines()


@dataclass(frozen=True)
class Shot:
    """A photograph shown from `start_s` on: with a slow camera, as a close-up, or blurred and moving fast."""

    photograph: str
    start_s: int
    seconds: int
    style: str = SLOW

    @property
    def end_s(self) -> int:
        return self.start_s + self.seconds


@dataclass(frozen=True)
class Script:
    """The plan of a video: shots, lines (start, end, text), and the questions' rows without the video's name."""

    shots: tuple[Shot, ...]
    lines: tuple[tuple[float, float, str], ...]
    questions: tuple[dict[str, object], ...]


def make_synthetic(folder: Path, *, videos: int, seconds: int, progress: Progress) -> Path:
    """Generate the data set in `folder` if missing; its JSONL file. Only the video encoder may differ by machine."""
    rows = []
    for number in range(videos):
        script = write_script(number, seconds)
        video = folder / f"{number + 1}-{VERSION}-{seconds}.mp4"
        if not video.exists():
            try:
                with atomic_path(video) as temporary:
                    _encode_video(temporary, script, number)
            except OSError as error:
                raise output_error(folder, error) from error
        progress("making video", number + 1, videos)
        subtitles = [{"start_s": a, "end_s": b, "text": text} for a, b, text in script.lines]
        rows += [{"video": video.name, "subtitles": subtitles, **row} for row in script.questions]
    text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    return write_text(folder / f"{NAME}.jsonl", text)


def write_script(number: int, seconds: int = SECONDS) -> Script:
    """Plan a video; the result depends only on its number and length."""
    rng = random.Random(f"{NAME} {VERSION} {number}")  # noqa: S311 (repeatable, not a secret)
    visual, occluded = rng.sample(SUBJECTS, 2)
    subjects = [(visual[0], VISUAL_S, SLOW), (occluded[0], PEAK_S, CLOSE), (occluded[0], PEAK_S, CLOSE)]
    rng.shuffle(subjects)
    blurred = [(occluded[0], rng.choice(OCCLUDED_S), BLURRED), (FLASH, FLASH_S, SLOW)]
    backgrounds = rng.sample(BACKGROUNDS, len(BACKGROUNDS))
    lengths = _parts(seconds - sum(shot[1] for shot in (*subjects, *blurred)), len(backgrounds), rng)
    positions = sorted(rng.sample(range(1, len(backgrounds)), len(subjects)))
    order = [(background, length, SLOW) for background, length in zip(backgrounds, lengths, strict=True)]
    for k, subject in reversed(list(zip(positions, subjects, strict=True))):
        order.insert(k, subject)
    shots, start_s = [], 0
    for photograph, length, style in [*blurred, *order] if number % 2 else [*order, *reversed(blurred)]:
        shots.append(Shot(photograph, start_s, length, style))
        start_s += length
    visual_shot = next(shot for shot in shots if shot.photograph == visual[0])
    occluded_shot = next(shot for shot in shots if shot.style == BLURRED)
    story = STORIES[number % len(STORIES)].splitlines()
    lines, answer_span = _speech(shots, visual_shot, occluded_shot, story[1], rng)
    blurred_question = "Which of these is shown out of focus, in a hurry?"
    questions = (
        _row(number, SPOKEN, story[0], story[2:], answer_span, rng),
        _row(number, VISUAL, "Which of these is seen for a moment?", visual[1:], _span(visual_shot), rng),
        _row(number, OCCLUDED, blurred_question, occluded[1:], _span(occluded_shot), rng),
    )
    return Script(tuple(shots), tuple(lines), questions)


def _speech(
    shots: list[Shot], visual: Shot, occluded: Shot, line: str, rng: random.Random
) -> tuple[list[tuple[float, float, str]], tuple[float, float]]:
    """The lines, none of them over the two evidence shots, and the span of the line that answers."""
    starts = []
    for start in range(3, shots[-1].end_s - SPEECH_S, SPEECH_PERIOD_S):
        at = start + rng.random() * (SPEECH_PERIOD_S - SPEECH_S - 1)
        if all(at > shot.end_s or at + SPEECH_S < shot.start_s for shot in (visual, occluded)):
            starts.append(round(at, 2))
    evidence = {visual.photograph, occluded.photograph}

    def photograph_at(start: float) -> str:
        return next(s.photograph for s in reversed(shots) if s.start_s <= start)

    answer_s = rng.choice([at for at in starts if not {photograph_at(at), photograph_at(at + SPEECH_S)} & evidence])
    others = rng.sample(UNRELATED_LINES, min(len(starts), len(UNRELATED_LINES)))
    lines = [(at, at + SPEECH_S, line if at == answer_s else others[k % len(others)]) for k, at in enumerate(starts)]
    return lines, (answer_s, answer_s + SPEECH_S)


def _row(
    number: int,
    kind: str,
    question: str,
    options: Sequence[str],
    span: tuple[float, float],
    rng: random.Random,
) -> dict[str, object]:
    """A question's row. options: the right one first; they are shuffled here."""
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
    """The seconds in which every frame is of this shot."""
    return float(shot.start_s), shot.end_s - 1 / FPS


def _parts(whole: int, count: int, rng: random.Random) -> list[int]:
    """Whole numbers that sum to `whole`, none far from the mean."""
    weights = [rng.uniform(0.6, 1.4) for _ in range(count)]
    ends = [round(whole * sum(weights[: k + 1]) / sum(weights)) for k in range(count)]
    return [b - a for a, b in zip([0, *ends], ends, strict=False)]


def _encode_video(path: Path, script: Script, number: int) -> None:
    import av

    folder = photographs()
    with av.open(str(path), "w", format="mp4") as container:
        stream = container.add_stream("libx264", rate=FPS, options={"preset": "veryfast", "crf": "28", "g": "20"})
        stream.width, stream.height, stream.pix_fmt = WIDTH, HEIGHT, "yuv420p"
        stream.codec_context.time_base = Fraction(1, FPS)
        for index, shot in enumerate(script.shots):
            with Image.open(folder / shot.photograph) as opened:
                photograph = opened.convert("RGB")
            rng = random.Random(f"{number} {index}")  # noqa: S311 (repeatable, not a secret)
            for box in _boxes(photograph.size, shot, rng):
                frame = photograph.resize((WIDTH, HEIGHT), Image.Resampling.BILINEAR, box=box)
                if shot.style == BLURRED:
                    frame = frame.filter(ImageFilter.GaussianBlur(BLUR))
                container.mux(stream.encode(av.VideoFrame.from_ndarray(np.asarray(frame), format="rgb24")))
        container.mux(stream.encode(None))


def _boxes(size: tuple[int, int], shot: Shot, rng: random.Random) -> Iterator[tuple[float, float, float, float]]:
    """Yield the crop of the photograph (left, top, right, bottom) for each frame."""
    width, height = size
    whole = min(width, height * WIDTH / HEIGHT)
    frames = shot.seconds * FPS
    if shot.style == SLOW:
        first, last = ((rng.uniform(0.72, 1.0), rng.random(), rng.random()) for _ in range(2))
    else:
        x, y = rng.random(), rng.random()
    for k in range(frames):
        if shot.style == SLOW:
            share, x, y = (a + (b - a) * k / max(frames - 1, 1) for a, b in zip(first, last, strict=True))
        elif shot.style == CLOSE:
            share = CLOSE_SHARE[0] + (CLOSE_SHARE[1] - CLOSE_SHARE[0]) * k / frames
        else:
            share = BLURRED_SHARE
            if k % FPS == 0:
                x, y = rng.random(), rng.random()
        w = share * whole
        h = w * HEIGHT / WIDTH
        left, top = x * (width - w), y * (height - h)
        yield left, top, min(left + w, width), min(top + h, height)
