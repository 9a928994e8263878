"""Draw the selection of every selector on one relevance curve: one SVG each, for docs/selectors.md.

    python docs/selectors/draw.py VIDEO [--subtitles FILE] [--question TEXT] [--encoder offline] [--budget 16]

Object search uses a stand-in detector: the index's encoder compares each cell of a grid with the phrases. It has no
boxes, so relations inside a frame are not detected; the figures show how a search proceeds, not its quality. Methods
that need trained weights or a model on a server are omitted; those that can do without follow their rules.
"""

import argparse
from pathlib import Path

import numpy as np

import framesift as fs
from framesift.encoders.base import encode_long_texts
from framesift.encoders.registry import get_encoder, get_text_encoder
from framesift.indexing.video_frames import VideoFrames
from framesift.rendering.palette import ROLE_COLOURS
from framesift.selection.gcr.demand import visual_demand
from framesift.selection.lexical import EventWords
from framesift.selection.looking.access import CELL_SIZE
from framesift.selection.looking.object_names import RuleBasedNamer
from framesift.types import Lookup
from framesift.types.lookup import Box

QUESTION = "Why is the woman angry with the man on the bridge, and what does the robot do in front of the church?"
WIDTH, HEIGHT, MARGIN = 720, 96, 16
POINTS = 360  # of the curve


class WholeFrameDetector:
    """Scores each frame of a grid as a whole with an image and text encoder."""

    def __init__(self, encoder):
        self.name, self._encoder = f"{encoder.name}, whole frames", encoder

    def detect(self, images, phrases):
        phrase_vectors = self._encoder.encode_texts(list(phrases)).astype(np.float64)
        return [self._boxes(image, phrases, phrase_vectors) for image in images]

    def _boxes(self, grid, phrases, phrase_vectors):
        width, height = CELL_SIZE
        corners = [(x, y) for y in range(0, grid.shape[0], height) for x in range(0, grid.shape[1], width)]
        cells = [np.ascontiguousarray(grid[y : y + height, x : x + width]) for x, y in corners]
        cosines = self._encoder.encode_images(cells) @ phrase_vectors.T
        return [
            Box(phrase, float(max(cosine, 0.0)), x, y, x + width, y + height)
            for (x, y), row in zip(corners, cosines, strict=True)
            for phrase, cosine in zip(phrases, row, strict=True)
        ]


def build_evidence(args):
    """The evidence of the question with the inputs of all selectors, and what they may look at."""
    encoder = get_encoder(args.encoder)
    index = fs.index(args.video, encoder=args.encoder, fps=1, store=args.store)
    question = fs.Question(args.question)
    events = fs.read_events(args.subtitles) if args.subtitles else []
    text_encoder = get_text_encoder("minilm")
    event_scores, event_vectors = None, np.zeros((0, 1))
    if events:
        event_vectors = encode_long_texts(text_encoder, [event.text for event in events]).astype(np.float64)
        event_scores = event_vectors @ encode_long_texts(text_encoder, [question.text])[0]

    def score_events(texts):
        return encode_long_texts(text_encoder, texts).astype(np.float64) @ event_vectors.T

    lookup = Lookup(
        frames=VideoFrames(args.video, index.times_s),
        detector=WholeFrameDetector(encoder),
        objects=RuleBasedNamer().name_objects(question),
        question=question,
        encode_texts=lambda texts: encode_long_texts(encoder, texts),
        score_events=score_events,
    )
    evidence = fs.Evidence(
        index.times_s,
        index.info.duration_s,
        index.vectors,
        encode_long_texts(encoder, [question.query_text])[0],
        events,
        event_scores=event_scores,
        lexical_scores=EventWords([event.text for event in events]).scores(question.query_text),
        visual_demand=visual_demand(question.text),
    )
    return evidence, lookup


def draw(selection, evidence):
    """The relevance curve with a line at every selected frame, coloured by role."""
    inner, floor = WIDTH - 2 * MARGIN, HEIGHT - 22
    low, high = evidence.relevance.min(), evidence.relevance.max()

    def x(time_s):
        return MARGIN + inner * time_s / evidence.duration_s

    def y(value):
        return floor - (floor - 22) * (value - low) / (high - low)

    sampled = np.linspace(0, len(evidence) - 1, min(POINTS, len(evidence))).astype(int)
    curve = " ".join(f"{x(evidence.times_s[i]):.1f},{y(evidence.relevance[i]):.1f}" for i in sampled)
    lines = ""
    for slot in selection.slots:
        across, up, colour = f"{x(slot.time_s):.1f}", f"{y(slot.relevance):.1f}", ROLE_COLOURS[slot.role]
        lines += f'<path d="M{across} {floor}V{up}" stroke="{colour}" stroke-width="1.5"/>'
        lines += f'<circle cx="{across}" cy="{up}" r="2.5" fill="{colour}"/>'
    minutes = "".join(
        f'<text x="{x(60 * m):.1f}" y="{HEIGHT - 7}" text-anchor="middle">{m}:00</text>'
        for m in range(0, int(evidence.duration_s // 60) + 1, 2)
    )
    inspected = selection.trace["looked_at"]
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}" '
        f'font-family="sans-serif" font-size="10" fill="#666"><title>{selection.method}</title>'
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#fff"/><text x="{MARGIN}" y="14" font-size="12" fill="#222">'
        f"{selection.method}</text>"
        f'<text x="{WIDTH - MARGIN}" y="14" text-anchor="end">{inspected} of {len(evidence)} frames inspected</text>'
        f'<polyline points="{curve}" fill="none" stroke="#aaa"/>{lines}<path d="M{MARGIN} {floor}H{WIDTH - MARGIN}" '
        f'stroke="#ccc"/>{minutes}</svg>\n'
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("video")
    parser.add_argument("--subtitles")
    parser.add_argument("--question", default=QUESTION)
    parser.add_argument("--encoder", default="offline")
    parser.add_argument("--budget", type=int, default=16)
    parser.add_argument("--methods", help="names with commas between them (default: all that can run)")
    parser.add_argument("--store", help="folder of the indexes")
    parser.add_argument("--out", type=Path, default=Path(__file__).parent)
    args = parser.parse_args()
    evidence, lookup = build_evidence(args)
    names = args.methods.split(",") if args.methods else fs.selectors()
    for name in names:
        selector = fs.selectors()[name]
        if {"network", "model"} & set(selector.needs):
            continue
        selection = fs.select_frames(evidence, budget=args.budget, method=name, lookup=lookup)
        (args.out / f"{name}.svg").write_text(draw(selection, evidence), encoding="utf-8")
        print(selection)


if __name__ == "__main__":
    main()
