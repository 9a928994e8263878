"""MLVU's multiple-choice tasks.

Dev: DIR/json/1_plotQA.json … 7_topic_reasoning.json with `video`, `duration`, `question`, `candidates`, `answer` (an
option's text), `question_type`, and DIR/video/1_plotQA/{video} …; DIR/MLVU/json is found too. Test: test-ground-truth/
test_mcq_gt.json with the same fields and `question_id`, and DIR/video/{video}. The generation tasks 8 and 9 have no
options and are omitted. Dev questions have no ids; they get task and index, from 0. There are no subtitles.

MLVU reports the mean of its tasks' accuracies. Here every question has equal weight; the tasks are reported as well.
"""

from pathlib import Path

from framesift._utils.records import FilePath, Name, Seconds, read_field
from framesift._utils.text import readable
from framesift.bench.datasets.annotations import (
    AnnotationRow,
    first_file,
    joined_hash,
    options_of,
    question_of,
    read_rows,
)
from framesift.bench.items import Dataset, Item, find_missing
from framesift.errors import InputError
from framesift.types.question import resolve_option

NAME = "mlvu"
# The paper's three kinds of task.
GROUPS = {
    "topic_reasoning": "Holistic",
    "anomaly_reco": "Holistic",
    "plotQA": "Single detail",
    "findNeedle": "Single detail",
    "needle": "Single detail",
    "needleQA": "Single detail",
    "ego": "Single detail",
    "sportsQA": "Single detail",
    "tutorialQA": "Single detail",
    "order": "Multi detail",
    "count": "Multi detail",
}
_TASKS = ("1_plotQA", "2_needle", "3_ego", "4_count", "5_order", "6_anomaly_reco", "7_topic_reasoning")
_TEST = ("test-ground-truth/test_mcq_gt.json", "test_mcq_gt.json", "*/test-ground-truth/test_mcq_gt.json")


def load(folder: Path) -> Dataset:
    for root in (folder, folder / "MLVU"):
        files = [root / "json" / f"{task}.json" for task in _TASKS]
        existing = [path for path in files if path.is_file()]
        if existing:
            return _dev(root, existing, [path.name for path in files if path not in existing])
    tests = [path for name in _TEST for path in sorted(folder.glob(name))] if folder.is_dir() else [folder]
    if not tests or not tests[0].is_file():
        raise InputError(f"{folder} has neither json/{_TASKS[0]}.json nor {_TEST[0]}; expected MLVU as published")
    rows, annotation = read_rows(tests[0])
    root = folder if folder.is_dir() else folder.parent
    items = tuple(
        _item(row, root, read_field(row, "question_id", Name, f"{tests[0]}, {k}", str(k)), "", f"{tests[0]}, {k}")
        for k, row in enumerate(rows)
    )
    return Dataset(NAME, items, annotation, find_missing(items))


def _dev(root: Path, files: list[Path], absent: list[str]) -> Dataset:
    items: list[Item] = []
    hashes = []
    for path in files:
        rows, digest = read_rows(path)
        hashes.append(digest)
        items += [_item(row, root, f"{path.stem}-{k}", path.stem, f"{path}, {k}") for k, row in enumerate(rows)]
    notes = (f"{len(absent)} of {len(_TASKS)} tasks are missing ({', '.join(absent)})",) if absent else ()
    return Dataset(NAME, tuple(items), joined_hash(hashes), find_missing(items), notes)


def _item(row: AnnotationRow, root: Path, name: str, task: str, location: str) -> Item:
    options = options_of(row, "candidates", location)
    kind = read_field(row, "question_type", Name, location)
    video = read_field(row, "video", FilePath, location)
    paths = [root / "video" / task / video] if task else []
    return Item(
        dataset=NAME,
        id=name,
        video_id=readable(video),
        video=first_file([*paths, root / "video" / video, root / "videos" / video]),
        question=question_of(row, options, location),
        answer=resolve_option(read_field(row, "answer", Name, location), options, location),
        group=GROUPS.get(kind, kind),
        published_group=kind,
        categories=(kind,),
        duration_s=read_field(row, "duration", Seconds, location, None),
    )
