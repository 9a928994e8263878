"""EgoSchema: DIR/questions.json with `q_uid`, `question`, `option 0` … `option 4`; DIR/subset_answers.json with the 500
public answers by q_uid; DIR/videos/{q_uid}.mp4, three minutes each. Or the Parquet form: Subset/*.parquet with
`question_idx`, `video_idx`, `question`, `option`, `answer`, and videos/{video_idx}.mp4.

The other answers are not public; their questions are omitted and counted. There are no subtitles and no groups.
"""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path

from framesift._utils.json import load_json
from framesift._utils.records import Name, read_field, read_value
from framesift.bench.datasets.annotations import (
    AnnotationRow,
    find_annotation,
    first_file,
    joined_hash,
    options_of,
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
        content = answers_path.read_bytes()
    except OSError as error:
        reason = error.strerror or error
        raise InputError(f"{answers_path} can't be read ({reason}); expected EgoSchema's public answers") from None
    listed = load_json(content, str(answers_path), "EgoSchema's public answers")
    answers = read_value(Mapping[str, int | Name], listed, str(answers_path))
    items = tuple(
        item for k, row in enumerate(rows, 1) for item in _items(row, path.parent, answers, f"{path}, question {k}")
    )
    if not items:
        raise InputError(f"{answers_path} answers none of the questions in {path}; download both from the same release")
    private = len(rows) - len(items)
    notes = (f"omitted: {counted(private, 'question')} without a public answer",) if private else ()
    annotation = joined_hash([digest, json.dumps(answers, sort_keys=True)])
    return Dataset(NAME, items, annotation, find_missing(items), notes)


def _items(row: AnnotationRow, root: Path, answers: Mapping[str, object], location: str) -> Iterator[Item]:
    """The question, if its answer is public."""
    name = read_field(row, "q_uid", Name, location, "")
    if name in answers:
        options = tuple(read_field(row, f"option {k}", Name, location) for k in range(5))
        yield _make_item(row, name, name, root, options=options, answer=answers[name], location=location)


def _from_parquet(row: AnnotationRow, root: Path, location: str) -> Item:
    options = without_letters(options_of(row, "option", location))
    answer = read_field(row, "answer", Name, location)
    name, video = (read_field(row, key, Name, location) for key in ("question_idx", "video_idx"))
    number = int(answer) if answer.isdecimal() else answer
    return _make_item(row, name, video, root, options=options, answer=number, location=location)


def _make_item(
    row: AnnotationRow, name: str, video: str, root: Path, *, options: tuple[str, ...], answer: object, location: str
) -> Item:
    folders = ("videos", "videos/videos", "good_clips_git")
    return Item(
        dataset=NAME,
        id=name,
        video_id=video,
        video=first_file(root / folder / f"{video}.mp4" for folder in folders),
        question=question_of(row, options, location),
        answer=resolve_option(answer, options, location),
        group="Subset",
        published_group="subset",
        duration_s=DURATION_S,
    )
