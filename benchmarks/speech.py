"""Accuracy and speed of speech recognition, against a subtitle file.

    python benchmarks/speech.py video.mp4 video.srt [--engine moonshine]

Recall: the share of the words of the .srt that are recognised within 2 s of their cue. Precision: the share of the
recognised words that match one of the .srt. Each word matches at most once; case and punctuation are ignored.
"""

import argparse
import re
import resource
import time

from framesift.text.speech import engine_name, recognise

SLACK_S = 2.0
PROCESSES = (
    resource.RUSAGE_SELF,
    resource.RUSAGE_CHILDREN,
)  # moonshine runs in child processes; this is the largest of them
CUE = re.compile(r"(\d+):(\d+):(\d+)[,.](\d+) --> (\d+):(\d+):(\d+)[,.](\d+)[^\n]*\n(.*?)(?:\n\s*\n|\Z)", re.DOTALL)


def read_words(path):
    """(start, end, word) of each word, with its cue's times."""
    with open(path, encoding="utf-8-sig") as file:
        text = file.read()
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


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("video")
    parser.add_argument("subtitles", help="an .srt file")
    parser.add_argument("--engine", default="auto")
    arguments = parser.parse_args()
    lengths = []
    started = time.perf_counter()
    events = recognise(
        arguments.video, engine=arguments.engine, progress=lambda _stage, _done, total: lengths.append(total)
    )
    seconds = time.perf_counter() - started
    reference = list(read_words(arguments.subtitles))
    recognised = [(event.start_s, event.end_s, word) for event in events for word in split(event.text)]
    matches = count_matches(reference, recognised)
    print("| engine | events | recall within 2 s | precision | × real time | peak memory, processes |")
    print("|---|---:|---:|---:|---:|---:|")
    cells = [
        engine_name(arguments.engine),
        str(len(events)),
        f"{matches} of {len(reference)} ({matches / max(len(reference), 1):.1%})",
        f"{matches} of {len(recognised)} ({matches / max(len(recognised), 1):.1%})",
        f"{max(lengths, default=0.0) / seconds:.0f}",
        " and ".join(f"{resource.getrusage(who).ru_maxrss / 1000:.0f}" for who in PROCESSES) + " MB",
    ]
    print("| " + " | ".join(cells) + " |")


if __name__ == "__main__":
    main()
