"""Folders laid out as the data sets are published, with a few questions each and empty video files."""

import json
from pathlib import Path

from framesift.bench.items import Item
from framesift.types import Question
from helpers.sample_data import SAMPLE_DATA

ANNOTATIONS = SAMPLE_DATA / "annotations"


def write(path, value):
    path.parent.mkdir(parents=True, exist_ok=True)
    text = value if isinstance(value, str) else json.dumps(value)
    path.write_text(text, encoding="utf-8")
    return path


def lvb_row(name="a_0", **fields):
    video = name.rsplit("_", 1)[0]
    row = {
        "id": name, "video_id": video, "video_path": f"{video}.mp4", "subtitle_path": f"{video}_en.json",
        "question": "What does the man hold?", "candidates": ["a cup", "a pen", "a rope"], "correct_choice": 2,
        "position": [48, 240], "question_category": "S2O", "duration_group": 60, "duration": 20.0,
        "starting_timestamp_for_subtitles": 100,
    }  # fmt: skip
    return row | fields


def longvideobench(folder, rows, *, subtitles=()):
    write(folder / "lvb_val.json", rows)
    for row in rows:
        write(folder / "videos" / row["video_path"], "")
        write(folder / "subtitles" / row["subtitle_path"], list(subtitles))
    return folder


def mme_row(name="001-1", **fields):
    row = {
        "videoID": f"vid{name.split('-')[0]}", "duration": "short", "question_id": name, "task_type": "OCR Problems",
        "question": "What is written?", "options": ["A. Yes.", "B. No.", "C. A. Smith", "D. N/A"], "answer": "C",
    }  # fmt: skip
    return row | fields


def cgbench_row(number=0, clue=(10, 20), **fields):
    row = {
        "qid": number, "video_uid": f"u{number // 2}", "question": "How many birds are there?",
        "choices": ["One", "Two", "Three"], "right_answer": "B", "answer": "Two", "clue_intervals": [list(clue)],
        "duration": 64, "domain": "Nature", "sub_category": "Counting",
    }  # fmt: skip
    return row | fields


def item(name="q", video="v.mp4", **fields):
    """A question with two options, of a file that need not be there."""
    question = Question("What?", ("a", "b"))
    return Item(name, video, Path(video), question, **{"answer": 0, **fields})
