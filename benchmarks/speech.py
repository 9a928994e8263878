"""Accuracy and speed of speech recognition, against a subtitle file or a text.

    python benchmarks/speech.py video.mp4 video.srt [--engine moonshine]
    python benchmarks/speech.py narration.wav narration.txt

Recall: the share of the words of the .srt that are recognised within 2 s of their cue; those of a .txt match anywhere.
Precision: the share of the recognised words that match one of the reference. Each word matches at most once; case and
punctuation are ignored. Repeated: words that end an event and begin the next one, at most a second later: the longest
run of two or more among the last six and the first six, or the one word on both sides. Overlaps: events that begin
before the previous one ends.
"""

import argparse
import itertools
import math
import re
import resource
import time
from difflib import SequenceMatcher

from framesift.text.speech import engine_name, recognise

SLACK_S = 2.0
BORDER_S, BORDER_WORDS = 1.0, 6
PROCESSES = (
    resource.RUSAGE_SELF,
    resource.RUSAGE_CHILDREN,
)  # moonshine runs in child processes; this is the largest of them
CUE = re.compile(r"(\d+):(\d+):(\d+)[,.](\d+) --> (\d+):(\d+):(\d+)[,.](\d+)[^\n]*\n(.*?)(?:\n\s*\n|\Z)", re.DOTALL)


def read_words(path):
    """(start, end, word) of each word, with its cue's times; any time in a file without cues."""
    with open(path, encoding="utf-8-sig") as file:
        text = file.read()
    if "-->" not in text:
        yield from ((-math.inf, math.inf, word) for word in split(text))
    for *numbers, lines in CUE.findall(text):
        start, end = (
            3600 * int(h) + 60 * int(m) + int(s) + int(ms) / 1000 for h, m, s, ms in (numbers[:4], numbers[4:])
        )
        yield from ((start, end, word) for word in split(lines))


def split(text):
    return re.findall(r"[^\W_]+(?:'[^\W_]+)*", text.lower().replace("’", "'"))


def count_matches(reference, recognised):
    unmatched = list(recognised)
    matches = 0
    for start, end, word in reference:
        match = next((h for h in unmatched if h[2] == word and h[0] - SLACK_S <= end and h[1] + SLACK_S >= start), None)
        if match is not None:
            unmatched.remove(match)
            matches += 1
    return matches


def count_repeated(events):
    """Count the words that end an event and begin the next one again."""
    repeated = 0
    for before, after in itertools.pairwise(events):
        last, first = split(before.text)[-BORDER_WORDS:], split(after.text)[:BORDER_WORDS]
        if after.start_s - before.end_s <= BORDER_S and last and first:
            run = SequenceMatcher(None, last, first, autojunk=False).find_longest_match().size
            repeated += run if run >= 2 else last[-1] == first[0]
    return repeated


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("video")
    parser.add_argument("reference", help="an .srt file, or a text without times")
    parser.add_argument("--engine", default="auto")
    arguments = parser.parse_args()
    lengths = []
    started = time.perf_counter()
    events = recognise(
        arguments.video, arguments.engine, None, progress=lambda _stage, _done, total: lengths.append(total)
    )
    seconds = time.perf_counter() - started
    reference = list(read_words(arguments.reference))
    recognised = [(event.start_s, event.end_s, word) for event in events for word in split(event.text)]
    matches = count_matches(reference, recognised)
    minutes = max(lengths, default=0.0) / 60
    overlaps = sum(after.start_s < before.end_s for before, after in itertools.pairwise(events))
    titles = ["engine", "events", "words per minute", "of the reference", "repeated", "overlaps", "recall", "precision"]
    print("| " + " | ".join([*titles, "× real time", "peak memory, processes"]) + " |")
    print("|---|" + "---:|" * 9)
    cells = [
        engine_name(arguments.engine),
        str(len(events)),
        f"{len(recognised) / max(minutes, 1e-9):.1f}",
        f"{len(reference) / max(minutes, 1e-9):.1f}",
        str(count_repeated(events)),
        str(overlaps),
        f"{matches} of {len(reference)} ({matches / max(len(reference), 1):.1%})",
        f"{matches} of {len(recognised)} ({matches / max(len(recognised), 1):.1%})",
        f"{60 * minutes / seconds:.0f}",
        " and ".join(f"{resource.getrusage(who).ru_maxrss / 1000:.0f}" for who in PROCESSES) + " MB",
    ]
    print("| " + " | ".join(cells) + " |")


if __name__ == "__main__":
    main()
