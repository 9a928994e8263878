"""EgoSchema: DIR/questions.json with `q_uid`, `question`, `option 0` … `option 4`; DIR/subset_answers.json with the 500
public answers by q_uid; DIR/videos/{q_uid}.mp4, three minutes each. Or the Parquet form: Subset/*.parquet with
`question_idx`, `video_idx`, `question`, `option`, `answer`, and videos/{video_idx}.mp4.

The other answers are not public; their questions are omitted and counted. There are no subtitles and no groups.
"""

import json
from pathlib import Path

from framesift.bench.datasets.annotations import (
    AnnotationRow,
    field_of,
    find_annotation,
    first_file,
    joined_hash,
    question_of,
    read_rows,
    without_letters,
)
from framesift.bench.items import Dataset, Item, counted, find_missing
from framesift.errors import InputError
from framesift.types.question import resolve_option

NAME = "egoschema"
DURATION_S = 180.0


def load(folder: Path) -> Dataset:
    path = find_annotation(folder, ["questions.json", "*/questions.json", "Subset/*.parquet"], "EgoSchema")
    rows, digest = read_rows(path)
    if path.suffix == ".parquet":
        root = path.parent.parent
        items = tuple(_from_parquet(row, root, f"{path}, question {k}") for k, row in enumerate(rows, 1))
        return Dataset(NAME, items, digest, find_missing(items))
    answers_path = path.parent / "subset_answers.json"
    try:
        text = answers_path.read_text(encoding="utf-8-sig")
        answers = json.loads(text)
    except (OSError, ValueError) as error:
        raise InputError(f"{answers_path} can't be read ({error}); expected EgoSchema's public answers") from None
    items = tuple(
        _item(row, path.parent, answers[row["q_uid"]], f"{path}, question {k}")
        for k, row in enumerate(rows, 1)
        if row.get("q_uid") in answers
    )
    if not items:
        raise InputError(f"{answers_path} answers none of the questions in {path}; download both from the same release")
    private = len(rows) - len(items)
    notes = (f"omitted: {counted(private, 'question')} without a public answer",) if private else ()
    annotation = joined_hash([digest, json.dumps(answers, sort_keys=True)])
    return Dataset(NAME, items, annotation, find_missing(items), notes)


def _item(row: AnnotationRow, root: Path, answer: object, location: str) -> Item:
    options = tuple(str(field_of(row, f"option {k}", location)) for k in range(5))
    name = str(row["q_uid"])
    return _make_item(name, name, root, question=(row.get("question"), options), answer=answer, location=location)


def _from_parquet(row: AnnotationRow, root: Path, location: str) -> Item:
    options = without_letters(field_of(row, "option", location))
    answer = field_of(row, "answer", location)
    name, video = str(field_of(row, "question_idx", location)), str(field_of(row, "video_idx", location))
    number = int(answer) if str(answer).isdigit() else answer
    return _make_item(name, video, root, question=(row.get("question"), options), answer=number, location=location)


def _make_item(
    name: str, video: str, root: Path, *, question: tuple[object, tuple[str, ...]], answer: object, location: str
) -> Item:
    text, options = question
    folders = ("videos", "videos/videos", "good_clips_git")
    return Item(
        dataset=NAME,
        id=name,
        video_id=video,
        video=first_file(root / folder / f"{video}.mp4" for folder in folders),
        question=question_of(text, options, location),
        answer=resolve_option(answer, options, location),
        group="Subset",
        published_group="subset",
        duration_s=DURATION_S,
    )
