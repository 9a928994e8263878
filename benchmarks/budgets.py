"""The table of automatic budgets in benchmarks/results/sift.md: `--budget auto` beside a fixed number of frames.

    python benchmarks/budgets.py SET [SET …] --video tears_of_steel_426.mp4

SET is an evidence set (docs/evidence-sets.md): make_tutorials and make_moments in benchmarks/evidence.py write two of
the four. The fixed budgets are 1 to 18 frames, with straight lines between them.
"""

import argparse
from pathlib import Path

import numpy as np

import framesift as fs
from framesift.batch.settings import SelectionChoice
from framesift.bench.evidence_runs import run_evidence_set, score_table
from framesift.bench.evidence_sets import read_evidence_set
from framesift.pipeline.config import MOST

FIXED = range(1, 19)


def print_row(path, video):
    data = read_evidence_set(path)
    choices = [SelectionChoice("sift", {}, budget, "none") for budget in FIXED]
    choices.append(SelectionChoice("sift", {"stop": True}, MOST, "none"))
    results = run_evidence_set(data, choices, fs.PipelineConfig(encoder="offline"), substitute=video)
    numbers = [[cell.number for cell in line[1:-2]] for line in score_table(data, results).rows]
    scores = 1 if data.kind == "moments" else 2  # of each budget; the first one counts here
    fixed, found = numbers[0][: scores * len(FIXED) : scores], numbers[1][-scores]
    counts = [len(row.times_s) for row in results.rows if row.budget == MOST]
    mean, same = np.mean(counts), np.interp(np.mean(counts), FIXED, fixed)
    needed = np.interp(found, np.maximum.accumulate(fixed), FIXED)
    low, high = np.percentile(counts, (10, 90))
    cells = f"{mean:.1f} ({low:.0f} to {high:.0f})", f"{found:.1f}", f"{same:.1f}", f"{found - same:+.1f}"
    print(f"| {data.name} | {' | '.join(cells)} | {needed:.1f} | {100 * (1 - mean / needed):.0f} % |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("sets", type=Path, nargs="+")
    parser.add_argument("--video", required=True, help="its frames stand for those of the sets")
    args = parser.parse_args()
    print("| | frames, mean (10 to 90 %) | found | fixed budget | gain | fixed budget needs | fewer frames |")
    print("|---|---:|---:|---:|---:|---:|---:|")
    for path in args.sets:
        print_row(path, args.video)


if __name__ == "__main__":
    main()
