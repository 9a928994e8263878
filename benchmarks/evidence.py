"""The tables of evidence in benchmarks/results/evidence.md, from the published files of two data sets.

    python benchmarks/evidence.py FOLDER --video tears_of_steel_426.mp4 [--methods sift,gcr] [--out RESULTS]

FOLDER holds `highlight_val_release.jsonl` and `sample_val_preds.jsonl` (QVHighlights, github.com/jayleicn/moment_detr:
data/ and standalone_eval/), and `videos.json` and `train.json` (TutorialVQA, github.com/acolas1/TutorialVQAData).
Queries and questions are those listed in benchmarks/results/evidence-*.txt; benchmarks/results/evidence.md says what
was measured. The sets are written to a temporary folder, and `framesift bench evidence` scores the methods.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

RESULTS = Path(__file__).parent / "results"
METHODS = (
    "sift,gcr,text,vsi-lite,uniform,topk,mmr,bin-max,aks,bolt,q-frame,mdp3,wfs-sb,qca,adaptive-greedy,omp,lddr,focus"
)
BUDGETS = (4, 8, 16)


def listed(name):
    lines = (RESULTS / name).read_text(encoding="utf-8").splitlines()
    return [int(line) for line in lines if not line.startswith("#")]


def read_rows(path):
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def make_moments(folder, out):
    """Queries with the windows that people marked, and Moment-DETR's saliency scores as curves."""
    queries = {row["qid"]: row for row in read_rows(folder / "highlight_val_release.jsonl")}
    scores = {row["qid"]: row["pred_saliency_scores"] for row in read_rows(folder / "sample_val_preds.jsonl")}
    rows = [
        {
            "qid": qid,
            "query": queries[qid]["query"],
            "windows": queries[qid]["relevant_windows"],
            "model": [round(score, 4) for score in scores[qid]],
        }
        for qid in listed("evidence-moments.txt")
    ]
    out.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


def make_tutorials(folder, out):
    """Every second transcript, and questions with the sentences that answer them."""
    videos = json.loads((folder / "videos.json").read_text(encoding="utf-8"))[::2]
    train = json.loads((folder / "train.json").read_text(encoding="utf-8"))
    questions = [
        {"video": row["video_id"], "question": row["question"], "first": row["answer_start"], "last": row["answer_end"]}
        for row in (train[number] for number in listed("evidence-tutorials.txt"))
    ]
    sentences = {video["video_id"]: video["transcript"] for video in videos}
    out.write_text(json.dumps({"videos": sentences, "questions": questions}), encoding="utf-8")


def scores_of(files, args):
    """{(method, score, budget): (percent, low, high)} by `framesift bench evidence`."""
    command = [sys.executable, "-m", "framesift", "bench", "evidence", "--json"]
    command += [
        *map(str, files),
        "--video",
        args.video,
        "--encoder",
        "offline",
        "--methods",
        args.methods,
        "--budgets",
        ",".join(map(str, BUDGETS)),
    ]
    command += ["--out", args.out] if args.out else []
    found = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)  # noqa: S603 (our own)
    scores = {}
    for table in found["tables"]:
        print("\n".join(table["notes"]), file=sys.stderr)
        names = table["columns"][1:-2]
        for method, *cells in table["rows"]:
            for k, (name, cell) in enumerate(zip(names, cells, strict=False)):
                budget = BUDGETS[k * len(BUDGETS) // len(names)]
                scores[method["text"], name.split()[-1].lower(), budget] = cell["number"], cell["low"], cell["high"]
    return scores


def print_table(scores, methods, kinds):
    columns = [(kind, budget) for kind in kinds for budget in BUDGETS]
    print(f"\n| | {' | '.join(f'{kind} {budget}' for kind, budget in columns)} |\n|---|{'---:|' * len(columns)}")
    best = {column: max(scores[method, *column][0] for method in methods) for column in columns}
    for method in methods:
        cells = []
        for column in columns:
            value, low, high = scores[method, *column]
            number = f"**{value:.1f}**" if value == best[column] else f"{value:.1f}"
            cells.append("–" if column[0] == "words" and value == 0 else f"{number} ({low:.1f} … {high:.1f})")
        print(f"| {method} | {' | '.join(cells)} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, help="with the four published files")
    parser.add_argument("--video", required=True, help="its frames stand for those of the sets")
    parser.add_argument("--methods", default=METHODS)
    parser.add_argument("--out", help="keep a row per selection there; the same command continues")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        files = Path(folder, "tutorials.json"), Path(folder, "moments.jsonl")
        make_tutorials(args.folder, files[0])
        make_moments(args.folder, files[1])
        scores = scores_of(files, args)
    methods = args.methods.split(",")
    print_table(scores, methods, ("words", "windows"))
    print_table(scores, methods, ("frames",))


if __name__ == "__main__":
    main()
