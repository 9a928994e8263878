"""A few short clips with questions, and a reader that needs no model: what a run is tried on."""

import json
from dataclasses import replace

from framesift.batch.settings import ReaderSpec
from framesift.bench.datasets import load_dataset
from framesift.bench.plan import make_plan
from framesift.errors import ReaderError
from framesift.types import Answer
from helpers.clips import make_clip
from helpers.encoders import GridEncoder


class FirstOption:
    """Answers A, and counts how often it was asked."""

    name = "first"
    concurrency = 2

    def __init__(self, fails=()):
        self.asked = 0
        self.fails = set(fails)

    def answer(self, exhibit, question, text_mode="aligned"):
        self.asked += 1
        if question.text in self.fails:
            raise ReaderError("it would not say")
        return Answer(question.options[0], 0, "A", reader=self.name, text_mode=text_mode, tokens=7)


def make_dataset(folder, videos=2, **clip):
    """Two questions on each clip; the first is about a subtitle, and the right answers are A, B, A, B …"""
    folder.mkdir(parents=True, exist_ok=True)
    lines = []
    for k in range(videos):
        make_clip(folder / f"{k}.mp4", **{"seconds": 12, "seed": k, **clip})
        (folder / f"{k}.srt").write_text("1\n00:00:02,000 --> 00:00:04,000\nThe coffee is cold\n")
        for answer in "AB":
            line = {
                "video": f"{k}.mp4",
                "subtitles": f"{k}.srt",
                "question": f"Cold {answer}?",
                "options": ["yes", "no"],
            }
            lines.append(line | {"answer": answer, "id": f"{k}-{answer}", "moments": [[2, 4]], "group": "clips"})
    (folder / "small.jsonl").write_text("\n".join(map(json.dumps, lines)))
    return load_dataset(str(folder / "small.jsonl"))


def small_plan(reader=None, **settings):
    plan = make_plan({"methods": "gcr,uniform", "budgets": "4", **settings})
    readers = () if reader is None else (ReaderSpec(reader, {}),)
    return replace(plan, readers=readers, config=plan.config.replace(encoder=GridEncoder()))
