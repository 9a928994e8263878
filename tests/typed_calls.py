"""Calls of the public API as a user writes them; mypy checks this file, nothing runs it."""

from pathlib import Path

import framesift as fs


def first_frames(evidence: fs.Evidence, budget: int, *, skip: int = 0) -> fs.Selection:
    indices = range(len(evidence))[skip : skip + budget]
    slots = tuple(fs.Slot(k, float(evidence.times_s[k]), "context", 0.0) for k in indices)
    return fs.Selection(slots, "first", budget)


class Parrot:
    def answer(self, exhibit: fs.Exhibit, question: fs.Question, text_mode: str = "aligned") -> fs.Answer:
        return fs.Answer("B")


def questions_take_any_iterable_of_options() -> tuple[str, ...]:
    fs.Question("Why does Tom leave?", options=["He is late", "He is tired"])
    fs.Question("Why does Tom leave?", (option for option in "ab"))
    return fs.Question("Why does Tom leave?").options


def calls_of_the_quickstart(video: Path) -> fs.Answer:
    index = fs.index(video)
    question = fs.Question("Why does Tom leave?", options=["He is late", "He is tired"])
    selection: fs.Selection = fs.select(index, question, events=fs.find_events(video), budget=32, method=first_frames)
    fs.select_many(index, [question, "Who is she?"], method="gcr", alpha_ground=0.5)
    opened: fs.Video = fs.open([video], fs.PipelineConfig(method=first_frames, options={"skip": 2}), reader=Parrot())
    found: fs.Exhibit = opened.select(question, budget=8)
    seen: list[tuple[float, str, str, int]] = [(f.time_s, f.text, f.reason, f.image.width) for f in found]
    first: fs.Slot = selection[0]
    opened.ask(question, budget=len(seen) + first.index)
    fs.select(opened, question).save("evidence")
    return fs.ask(fs.exhibit(video, selection), question, reader=Parrot())
