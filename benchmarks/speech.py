"""How much of what is said in a film is heard at the right time.

    python benchmarks/speech.py film.mp4 film.srt [--engine moonshine]

A word of the .srt counts as found when an event with the same word, not yet taken by another, lies within 2 s of its
cue. Case and punctuation do not count. The share of the heard words that the .srt has tells how much was misheard.
"""

import argparse
import re
import resource
import time

from framesift.text.speech import engine_name, recognise

SLACK_S = 2.0
PROCESSES = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)  # the largest of its children: moonshine works in those
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


def count_found(written, heard):
    left = list(heard)
    found = 0
    for start, end, word in written:
        match = next((h for h in left if h[2] == word and h[0] - SLACK_S <= end and h[1] + SLACK_S >= start), None)
        if match is not None:
            left.remove(match)
            found += 1
    return found


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
    took = time.perf_counter() - started
    written = list(read_words(arguments.subtitles))
    heard = [(event.start_s, event.end_s, word) for event in events for word in split(event.text)]
    found = count_found(written, heard)
    print(
        "| engine | events | .srt words found within 2 s | heard words in it | × real time | peak memory, processes |"
    )
    print("|---|---:|---:|---:|---:|---:|")
    cells = [
        engine_name(arguments.engine),
        str(len(events)),
        f"{found} of {len(written)} ({found / max(len(written), 1):.1%})",
        f"{found} of {len(heard)} ({found / max(len(heard), 1):.1%})",
        f"{max(lengths, default=0.0) / took:.0f}",
        " and ".join(f"{resource.getrusage(who).ru_maxrss / 1000:.0f}" for who in PROCESSES) + " MB",
    ]
    print("| " + " | ".join(cells) + " |")


if __name__ == "__main__":
    main()
