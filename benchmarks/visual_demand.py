"""Measure how well the keyword rules for visual demand separate questions about speech from visual questions.

    python benchmarks/visual_demand.py lvb_val.json

LongVideoBench's question categories that start with T refer to subtitles, the others to what is visible. The rules
were tuned on the rows at even positions; the rows at odd positions are held out.
"""

import argparse
import json
from collections import Counter

import framesift as fs


def area_under_curve(low, high):
    """The chance that one of `high` lies above one of `low`, ties counted half."""
    below, above = Counter(low), Counter(high)
    wins = sum(n * m * (1.0 if b > a else 0.5 if a == b else 0.0) for a, n in below.items() for b, m in above.items())
    return wins / (len(low) * len(high))


def report(name, rows):
    text = [float(fs.visual_demand(row["question"])) for row in rows if row["question_category"].startswith("T")]
    visual = [float(fs.visual_demand(row["question"])) for row in rows if not row["question_category"].startswith("T")]

    def share(values, test):
        return f"{sum(map(test, values)) / len(values):.1%}"

    cells = [
        name,
        str(len(text)),
        share(text, lambda d: d <= 0.5),
        str(len(visual)),
        share(visual, lambda d: d >= 0.5),
        share(visual, lambda d: d > 0.5),
        f"{area_under_curve(text, visual):.3f}",
    ]
    print("| " + " | ".join(cells) + " |")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("annotations", help="LongVideoBench's lvb_val.json")
    with open(parser.parse_args().annotations, encoding="utf-8") as file:
        rows = json.load(file)
    print("| rows | T questions | d_q ≤ 0.5 | other questions | d_q ≥ 0.5 | d_q = 0.8 | area under the curve |")
    print("|---|---:|---:|---:|---:|---:|---:|")
    report("even (tuned on)", rows[::2])
    report("odd (held out)", rows[1::2])


if __name__ == "__main__":
    main()
