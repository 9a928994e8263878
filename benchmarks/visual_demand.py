"""Measure how well the keyword rules for visual demand separate questions about speech from visual questions.

    python benchmarks/visual_demand.py lvb_val.json
    python benchmarks/visual_demand.py tests/selection/demand_questions.tsv

LongVideoBench's question categories that start with T refer to subtitles, the others to what is visible. The rules
were tuned on the rows at even positions; the rows at odd positions are held out. The second file lists questions and
statements as people type them, each with its half (tuned, held-out) and the kind that a person gave it.
"""

import argparse
import csv
import json
from collections import Counter
from pathlib import Path

from framesift.selection.gcr.demand import visual_demand

KINDS = ("textual", "both", "neither", "visual")


def area_under_curve(low, high):
    """The chance that one of `high` lies above one of `low`, ties counted half."""
    below, above = Counter(low), Counter(high)
    wins = sum(n * m * (1.0 if b > a else 0.5 if a == b else 0.0) for a, n in below.items() for b, m in above.items())
    return wins / (len(low) * len(high))


def print_kinds(halves):
    """One row per half and label: how many of its questions the rules call textual, both, neither and visual."""
    print("| questions | label | " + " | ".join(KINDS) + " | neutral share |")
    print("|---|---|" + "---:|" * (len(KINDS) + 1))
    for half, questions in halves.items():
        for label in sorted(set(questions.values())):
            kinds = Counter(visual_demand(text).kind for (_, text), given in questions.items() if given == label)
            neutral = (kinds["both"] + kinds["neither"]) / kinds.total()
            cells = [half, label, *(str(kinds[kind]) for kind in KINDS), f"{neutral:.1%}"]
            print("| " + " | ".join(cells) + " |")


def print_separation(halves):
    """One row per half of LongVideoBench: the share of questions on the right side of 0.5."""
    print(
        "\n| questions | T with d_q ≤ 0.5 | others with d_q ≥ 0.5 | others with d_q = 0.8 | area under the ROC curve |"
    )
    print("|---|---:|---:|---:|---:|")
    for half, questions in halves.items():
        demands = [(label, float(visual_demand(text))) for (_, text), label in questions.items()]
        text = [d for label, d in demands if label == "T"]
        visual = [d for label, d in demands if label != "T"]
        shares = (
            sum(d <= 0.5 for d in text) / len(text),
            sum(d >= 0.5 for d in visual) / len(visual),
            sum(d > 0.5 for d in visual) / len(visual),
        )
        print(f"| {half} | " + " | ".join(f"{x:.1%}" for x in shares) + f" | {area_under_curve(text, visual):.3f} |")


def print_agreement(halves):
    """One row per half of the list: how often the rules give the kind that a person gave."""
    print("\n| questions | agree |\n|---|---:|")
    for half, questions in halves.items():
        kinds = ((visual_demand(text).kind, label) for (_, text), label in questions.items())
        agree = sum(label == ("neutral" if kind in ("both", "neither") else kind) for kind, label in kinds)
        print(f"| {half} | {agree} of {len(questions)} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "questions", type=Path, help="LongVideoBench's lvb_val.json, or a table with half, kind, question"
    )
    path = parser.parse_args().questions
    halves = {}  # half -> {(row number, question): label}
    with path.open(encoding="utf-8", newline="") as file:
        if path.suffix == ".json":
            for k, row in enumerate(json.load(file)):
                half = "odd (held out)" if k % 2 else "even (tuned on)"
                label = "T" if row["question_category"].startswith("T") else "other"
                halves.setdefault(half, {})[k, row["question"]] = label
        else:
            for k, row in enumerate(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)):
                halves.setdefault(row["half"], {})[k, row["question"]] = row["kind"]
    print_kinds(halves)
    if path.suffix == ".json":
        print_separation(halves)
    else:
        print_agreement(halves)


if __name__ == "__main__":
    main()
