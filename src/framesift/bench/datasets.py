"""The data sets as published, and files of your own, each read into a Dataset.

To add one: a function from its folder to a Dataset, whose docstring documents the expected layout, in `DATASETS`.
"""

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from framesift._utils.files import StrPath
from framesift._utils.json import load_json
from framesift._utils.records import REQUIRED, FilePath, Name, Seconds, read_field, read_value
from framesift._utils.tables import read_bytes
from framesift._utils.text import counted, readable, suggestion
from framesift.bench.items import FILE, AnnotationRow, Dataset, Item, Spans, content_hash, find_annotation, read_rows
from framesift.errors import InputError, UnknownName
from framesift.text.questions import parse_question_row
from framesift.types import Event, Question
from framesift.types.question import resolve_option, strip_option_letters

NAMES: Any = tuple[Name, ...]
OWN_ENDINGS = (".jsonl", ".json", ".csv")

# LongVideoBench's duration groups by the paper's.
LONGVIDEOBENCH_GROUPS = {"15": "Short", "60": "Short", "600": "Medium", "3600": "Long"}
# `position` counts frames at 24 a second, whatever the file's own rate: in the validation set the positions reach up to
# 24 × duration and, but for one damaged entry, no further; of 33 scenes that KFS-Bench marked in seconds on its own, 31
# contain a position within 2 s at 24 a second, and none at 25 or 30.
POSITIONS_PER_S = 24.0
# Durations are rounded, and the last frame may begin a little past them.
PAST_END_S = 1.0

VIDEOMME_FILES = ("videomme/*.parquet", "*.parquet", "*.jsonl", "videomme*.json", "*.json", "videomme*.csv", "*.csv")
VIDEOMME_V2_FILES = ("test*.parquet", "*/test*.parquet", "*.parquet", "*.jsonl", "*.json", "*.csv")
VIDEOMME_GROUPS = {"short": "Short", "medium": "Medium", "long": "Long"}
VIDEOMME_WITHOUT_SUBTITLES = 156
# The figure by categories joins task types.
VIDEOMME_FAMILIES = {
    "Temporal Perception": "Perception",
    "Spatial Perception": "Perception",
    "Attribute Perception": "Perception",
    "Action Recognition": "Recognition",
    "Object Recognition": "Recognition",
    "OCR Problems": "OCR",
    "Counting Problem": "Counting",
    "Temporal Reasoning": "Reasoning",
    "Spatial Reasoning": "Reasoning",
    "Action Reasoning": "Reasoning",
    "Object Reasoning": "Reasoning",
    "Information Synopsis": "Synopsis",
}

# The paper's three kinds of task.
MLVU_GROUPS = {
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
MLVU_TASKS = ("1_plotQA", "2_needle", "3_ego", "4_count", "5_order", "6_anomaly_reco", "7_topic_reasoning")
MLVU_TEST = ("test-ground-truth/test_mcq_gt.json", "test_mcq_gt.json", "*/test-ground-truth/test_mcq_gt.json")

EGOSCHEMA_DURATION_S = 180.0

_SPAN = re.compile(r"^\s*([\d:.]+)\s*(?:[-–~]\s*([\d:.]+))?\s*$")


@dataclass(frozen=True)
class _Row:
    """A row of an annotation; calling it reads one field. location: starts the messages."""

    values: AnnotationRow
    location: str

    def __call__(self, name: str, kind: Any = Name, default: Any = REQUIRED) -> Any:
        return read_field(self.values, name, kind, self.location, default)

    def item(self, video: str, file: Path, options: Sequence[str], answer: object, group: str, **facts: Any) -> Item:
        """The question of this row, by default without a group of another published name. facts: further fields."""
        return Item(
            video_id=readable(video),
            video=file,
            question=facts.pop("question", None) or Question(self("question", str), options),
            answer=resolve_option(answer, options, self.location),
            group=group,
            **{"published_group": group} | facts,
        )


@dataclass(frozen=True)
class _SubtitleRow:
    start_s: Seconds
    end_s: Seconds
    text: str


def load_dataset(name: str, folder: StrPath | None = None) -> Dataset:
    """Load a data set from its directory, or from a file of your own.

    name: one of `DATASETS`, or the path of a JSONL. folder: the data set as published, or its annotation file. A
    missing video is not an error here: `Dataset.with_files` checks the selected questions.
    """
    if name in DATASETS:
        if not folder:
            raise InputError(f"{name} needs its directory; give it with --data")
        return DATASETS[name](Path(folder))
    if name.lower().endswith(OWN_ENDINGS):
        return load_own(Path(folder or "") / name)
    expected = f"expected one of {', '.join(DATASETS)}, or a JSONL file"
    raise UnknownName(f"there is no data set {name!r}; {suggestion(name, DATASETS, expected)}")


def load_longvideobench(folder: Path) -> Dataset:
    """LongVideoBench: DIR/lvb_val.json, videos/{video_path}, subtitles/{subtitle_path}.

    The paper's Short is the data set's 15 and 60 together, Medium its 600, Long its 3600. Subtitles count from the
    original video, of which some questions show a clip: `starting_timestamp_for_subtitles` is subtracted.
    """
    path = find_annotation(folder, ("lvb_val.json", "*/lvb_val.json"), "LongVideoBench")
    rows, annotation = _rows(path)
    root = path.parent
    items = []
    damaged = []
    for row in rows:
        name, duration_s = row("id"), row("duration", Seconds)
        moments = [frame / POSITIONS_PER_S for frame in row("position", tuple[int, ...], ())]
        inside = sorted({moment for moment in moments if 0 <= moment <= duration_s + PAST_END_S})
        damaged += [name for moment in moments if moment not in inside]
        group, video, subtitles = row("duration_group"), row("video_path", FilePath), row("subtitle_path", FilePath)
        items.append(
            row.item(
                row("video_id"),
                _find(root, ("videos", ""), video),
                row("candidates", NAMES),
                row("correct_choice", int | Name),
                LONGVIDEOBENCH_GROUPS.get(group, group),
                id=name,
                published_group=group,
                categories=(row("question_category"),),
                duration_s=duration_s,
                subtitles=_find(root, ("subtitles", ""), subtitles),
                subtitles_offset_s=-row("starting_timestamp_for_subtitles", Seconds, 0.0),
                moments_s=tuple(inside),
            )
        )
    outside = f"omitted: {counted(len(damaged), 'moment')} outside the video ({', '.join(damaged)})"
    return Dataset("longvideobench", tuple(items), annotation, (outside,) if damaged else ())


def load_videomme(folder: Path) -> Dataset:
    """Video-MME: videomme/test-00000-of-00001.parquet (or JSON, CSV), data/{videoID}.mp4, subtitle/{videoID}.srt.

    Options are published with their letters, which are stripped. 744 of the 900 videos have subtitles: the absence of
    up to 156 subtitle files is expected and not reported as missing.
    """
    rows, annotation, root = _published(folder, VIDEOMME_FILES, "Video-MME")
    items = []
    for row in rows:
        group, video = row("duration").strip().lower(), row("videoID")
        items.append(
            row.item(
                video,
                _find(root, ("data", "videos", "video"), f"{video}.mp4"),
                _lettered_options(row),
                row("answer"),
                VIDEOMME_GROUPS.get(group, group),
                id=row("question_id"),
                published_group=group,
                categories=(row("task_type"),),
                subtitles=_find(root, ("subtitle", "subtitles"), f"{video}.srt"),
            )
        )
    return _without_subtitles("videomme", items, annotation, VIDEOMME_WITHOUT_SUBTITLES)


def load_videomme_v2(folder: Path) -> Dataset:
    """Video-MME-v2: test.parquet (or JSON, CSV), videos/{video_id}.mp4, subtitle/{video_id}.jsonl with a word per line.
    Rows have `video_id`, `question`, `options`, `answer` (a letter) and, if there, `level`, `second_head` and
    `question_id`, for which their position, from 0, stands in.

    The groups are the levels. Every question has equal weight, and the score by groups of related questions is not
    computed. Videos without a subtitle file are asked about without, unless none has one.
    """
    rows, annotation, root = _published(folder, VIDEOMME_V2_FILES, "Video-MME-v2")
    items = []
    for k, row in enumerate(rows):
        video, level, kind = row("video_id", FilePath), row("level", Name, ""), row("second_head", Name, "")
        items.append(
            row.item(
                video,
                _find(root, ("videos", "data", "video"), f"{video}.mp4"),
                _lettered_options(row),
                row("answer"),
                f"Level {level}" if level.isdecimal() else level,
                id=row("question_id", Name, str(k)),
                published_group=level,
                categories=(kind,) if kind else (),
                subtitles=_find(root, ("subtitle", "subtitles"), f"{video}.jsonl"),
            )
        )
    return _without_subtitles("videomme-v2", items, annotation)


CLUE_ROUNDING_S = 0.5  # clues are marked in whole seconds


def load_cgbench(folder: Path) -> Dataset:
    """CG-Bench: cgbench_mini.json (its 3,000 questions) or cgbench.json, cg_videos_720p/{video_uid}.mp4,
    cg_subtitles/{video_uid}.srt. Rows have `qid`, `video_uid`, `question`, `choices`, `right_answer` (a letter),
    `clue_intervals` ([[start, end], …] in seconds), `duration`, `domain` and `sub_category`.

    Every clue interval is a scene, with half a second on each side. The groups are the domains. Videos without a
    subtitle file are asked about without, unless none has one.
    """
    path = find_annotation(folder, ("cgbench_mini.json", "cgbench.json", "*/cgbench_mini.json"), "CG-Bench")
    rows, annotation = _rows(path)
    root = path.parent
    items = []
    late = []
    for row in rows:
        name, duration_s, video = row("qid"), row("duration", Seconds), row("video_uid", FilePath)
        clues = row("clue_intervals", tuple[tuple[Seconds, Seconds], ...])
        late += [name for start_s, _ in clues if start_s > duration_s]
        items.append(
            row.item(
                video,
                _find(root, ("cg_videos_720p", "videos"), f"{video}.mp4"),
                row("choices", NAMES),
                row("right_answer"),
                row("domain"),
                id=name,
                categories=(row("sub_category"),),
                duration_s=duration_s,
                subtitles=_find(root, ("cg_subtitles", "subtitles"), f"{video}.srt"),
                scenes=tuple(((max(0.0, a - CLUE_ROUNDING_S), z + CLUE_ROUNDING_S),) for a, z in clues),
            )
        )
    outside = (f"{counted(len(late), 'clue')} after the end of the video ({', '.join(late)})",) if late else ()
    return _without_subtitles("cgbench", items, annotation, notes=outside)


def _lettered_options(row: _Row) -> tuple[str, ...]:
    """The options of a list, or of a text with a line each, without their letters."""
    published = row.values.get("options")
    lines = published.splitlines() if isinstance(published, str) else row("options", NAMES)
    return without_letters(line for line in lines if line.strip())


def _without_subtitles(
    name: str, items: Sequence[Item], annotation: str, most: int | None = None, notes: tuple[str, ...] = ()
) -> Dataset:
    """The data set, of which up to `most` videos, by default all but one, are published without a subtitle file."""
    files = {item.subtitles for item in items if isinstance(item.subtitles, Path)}
    bare = {path for path in files if not path.is_file()}
    if not 0 < len(bare) <= (len(files) - 1 if most is None else most):
        return Dataset(name, tuple(items), annotation, notes)
    items = [replace(item, subtitles=None) if item.subtitles in bare else item for item in items]
    note = f"{counted(len(bare), 'video')} without subtitles, as published; their questions are asked without"
    return Dataset(name, tuple(items), annotation, (*notes, note))


def load_mlvu(folder: Path) -> Dataset:
    """MLVU's multiple-choice tasks.

    Dev: DIR/json/1_plotQA.json … 7_topic_reasoning.json with `video`, `duration`, `question`, `candidates`, `answer`
    (an option's text), `question_type`, and DIR/video/1_plotQA/{video} …; DIR/MLVU/json is found too. Test:
    test-ground-truth/test_mcq_gt.json with the same fields and `question_id`, and DIR/video/{video}. The generation
    tasks 8 and 9 have no options and are omitted. Dev questions have no ids; they get task and index, from 0. There are
    no subtitles.

    MLVU reports the mean of its tasks' accuracies. Here every question has equal weight; the tasks are reported too.
    """
    for root in (folder, folder / "MLVU"):
        paths = {task: root / "json" / f"{task}.json" for task in MLVU_TASKS}
        absent = [path.name for path in paths.values() if not path.is_file()]
        if len(absent) < len(paths):
            items = []
            annotation = ""
            for task, path in paths.items():
                if path.is_file():
                    rows, digest = _rows(path)
                    annotation += digest
                    items += [_mlvu_item(row, root, f"{task}-{k}", task) for k, row in enumerate(rows)]
            notes = (f"{len(absent)} of {len(paths)} tasks are missing ({', '.join(absent)})",) if absent else ()
            return Dataset("mlvu", tuple(items), content_hash(annotation.encode()), notes)
    rows, annotation, root = _published(folder, MLVU_TEST, "MLVU")
    items = [_mlvu_item(row, root, row("question_id", Name, str(k)), "") for k, row in enumerate(rows)]
    return Dataset("mlvu", tuple(items), annotation)


def _mlvu_item(row: _Row, root: Path, name: str, task: str) -> Item:
    kind, video = row("question_type"), row("video", FilePath)
    return row.item(
        video,
        _find(root, (f"video/{task}", "video", "videos"), video),
        row("candidates", NAMES),
        row("answer"),
        MLVU_GROUPS.get(kind, kind),
        id=name,
        published_group=kind,
        categories=(kind,),
        duration_s=row("duration", Seconds, None),
    )


def load_egoschema(folder: Path) -> Dataset:
    """EgoSchema: DIR/questions.json with `q_uid`, `question`, `option 0` … `option 4`; DIR/subset_answers.json with the
    500 public answers by q_uid; DIR/videos/{q_uid}.mp4, three minutes each. Or the Parquet form: Subset/*.parquet with
    `question_idx`, `video_idx`, `question`, `option`, `answer`, and videos/{video_idx}.mp4.

    The other answers are not public; their questions are omitted and counted. There are no subtitles and no groups.
    """
    path = find_annotation(folder, ("questions.json", "*/questions.json", "Subset/*.parquet"), "EgoSchema")
    rows, annotation = _rows(path)
    if path.suffix == ".parquet":
        items = []
        for row in rows:
            ids, answer = (row("question_idx"), row("video_idx")), row("answer")
            number = int(answer) if answer.isdecimal() else answer
            options = without_letters(row("option", NAMES))
            items.append(_egoschema_item(row, path.parent.parent, ids, options, number))
        return Dataset("egoschema", tuple(items), annotation)
    answers_path = path.parent / "subset_answers.json"
    listed = load_json(read_bytes(answers_path, FILE), str(answers_path), "EgoSchema's public answers")
    answers = read_value(Mapping[str, int | Name], listed, str(answers_path))
    items = []
    for row in rows:
        name = row("q_uid", Name, "")
        if name in answers:
            options = tuple(row(f"option {k}") for k in range(5))
            items.append(_egoschema_item(row, path.parent, (name, name), options, answers[name]))
    if not items:
        raise InputError(f"{answers_path} answers none of the questions in {path}; download both from the same release")
    private = len(rows) - len(items)
    notes = (f"omitted: {counted(private, 'question')} without a public answer",) if private else ()
    annotation = content_hash((annotation + json.dumps(answers, sort_keys=True)).encode())
    return Dataset("egoschema", tuple(items), annotation, notes)


def _egoschema_item(row: _Row, root: Path, ids: tuple[str, str], options: Sequence[str], answer: object) -> Item:
    """ids: of the question and its video."""
    file = _find(root, ("videos", "videos/videos", "good_clips_git"), f"{ids[1]}.mp4")
    facts = {"id": ids[0], "published_group": "subset", "duration_s": EGOSCHEMA_DURATION_S}
    return row.item(ids[1], file, options, answer, "Subset", **facts)


def load_lvbench(folder: Path) -> Dataset:
    """LVBench: DIR/video_info.meta.jsonl (or data/ before it), one line a video: `key`, `type`, and `qa` with `uid`,
    `question` (its options in it, a line each: "(A) …"), `answer` (a letter), `question_type` (a list),
    `time_reference`. Videos are found as all_videos/, videos/ or video/ {key}.mp4. There are no subtitles.

    `time_reference`, "mm:ss-mm:ss", is taken as one scene. A question of several types counts in each, as in the
    original.
    """
    videos, annotation, root = _published(folder, ("video_info.meta.jsonl", "data/video_info.meta.jsonl"), "LVBench")
    items = []
    unread = []
    for video in videos:
        key, kind = video("key"), video("type", Name, "")
        for asked in video("qa", tuple[Mapping[str, Any], ...]):
            row = _Row(asked, f"{video.location}, of {key}")
            name, reference = row("uid"), row("time_reference", str, "")
            types = row("question_type", Name | NAMES)
            question = Question(row("question", str))
            if not question.options:
                expected = "expected a question and a line for each option"
                raise InputError(f"{row.location} is {question.text[:60]!r}; {expected}")
            scenes = _time_reference(reference, row.location)
            unread += [name] if reference.strip() and not scenes else []
            items.append(
                row.item(
                    key,
                    _find(root, ("all_videos", "videos", "video"), f"{key}.mp4"),
                    question.options,
                    row("answer"),
                    kind,
                    id=name,
                    question=question,
                    categories=types if isinstance(types, tuple) else (types,),
                    scenes=scenes,
                )
            )
    notes = (f"unreadable: {counted(len(unread), 'time reference')} ({', '.join(unread[:5])})",) if unread else ()
    return Dataset("lvbench", tuple(items), annotation, notes)


def _time_reference(text: str, location: str) -> tuple[Spans, ...]:
    """The scene of "00:15-01:19" or "00:15"; none if it can't be read."""
    span = _SPAN.match(text)
    if not span:
        return ()
    start_s, end_s = (read_value(Seconds, part, location) for part in (span[1], span[2] or span[1]))
    return (((start_s, end_s),),) if end_s >= start_s else ()


def load_own(path: Path) -> Dataset:
    """Your own questions: JSON Lines (or JSON, CSV), one object each.

        {"video": "clips/a.mp4", "subtitles": "clips/a.srt", "question": "…", "options": ["…", "…"], "answer": "B",
         "group": "indoor", "id": "a-1", "category": "counting", "duration_s": 93.5, "moments": [12.0, [40, 44.5]],
         "until": 60.0}

    Required: video, question, options, answer (a letter, an index from 0, or the option's text). subtitles is a file or
    a list of {"start_s", "end_s", "text"}. In moments, a number is a time and a pair a scene. from_s and to_s are the
    part of the video that is considered; until is to_s, of a question asked at that time. Paths are relative to the
    file.
    """
    rows, annotation = _rows(path)
    dataset = readable(path.stem)
    items = []
    for number, row in enumerate(rows, 1):
        asked = parse_question_row(row.values, row.location)
        options = without_letters(asked.question.options)
        if not options:
            raise InputError(f"{row.location} has no options; expected the answers to choose from")
        video, category, moments = row("video", FilePath), row("category", Name | NAMES, ()), _moments(row)
        items.append(
            row.item(
                video,
                path.parent / video,
                options,
                row("answer", int | Name),
                row("group", Name, ""),
                id=asked.id or f"{dataset}-{number}",
                question=Question(asked.question.text, options),
                categories=category if isinstance(category, tuple) else (category,),
                duration_s=row("duration_s", Seconds, None),
                subtitles=_own_subtitles(row, path.parent),
                moments_s=tuple(moment for moment in moments if not isinstance(moment, tuple)),
                scenes=tuple((moment,) for moment in moments if isinstance(moment, tuple)),
                window=asked.window,
            )
        )
    return Dataset(dataset, tuple(items), annotation)


def _own_subtitles(row: _Row, root: Path) -> Path | tuple[Event, ...] | None:
    if isinstance(row.values.get("subtitles"), list):
        cues: tuple[_SubtitleRow, ...] = row("subtitles", tuple[_SubtitleRow, ...])
        return tuple(Event(cue.start_s, cue.end_s, cue.text) for cue in cues) or None
    name = row("subtitles", FilePath, None)
    return None if name is None else root / name


def _moments(row: _Row) -> tuple[float | tuple[float, float], ...]:
    value = row.values.get("moments")
    if isinstance(value, str) and value.strip():  # a cell of a table
        is_list = value.strip()[0] == "["
        listed = load_json(value, f"{row.location}: moments", "seconds, or pairs of them") if is_list else [value]
        row = replace(row, values={"moments": listed})
    moments: tuple[float | tuple[float, float], ...] = row("moments", tuple[Seconds | tuple[Seconds, Seconds], ...], ())
    return moments


def without_letters(options: Iterable[str]) -> tuple[str, ...]:
    """Strip "A. ", "(B) " … from the options if each has the letter of its position; else leave them unchanged."""
    return tuple(strip_option_letters(dict(enumerate(options))).values())


def _rows(path: Path) -> tuple[list[_Row], str]:
    rows, annotation = read_rows(path)
    return [_Row(row, f"{path}, question {k}") for k, row in enumerate(rows, 1)], annotation


def _published(folder: Path, names: Sequence[str], dataset: str) -> tuple[list[_Row], str, Path]:
    """The rows of the first of these files, their hash, and the data set's directory, also for a path to the file."""
    rows, annotation = _rows(find_annotation(folder, names, dataset))
    return rows, annotation, folder.parent if folder.is_file() else folder


def _find(root: Path, folders: Sequence[str], name: str) -> Path:
    """The file in the first of these folders that has it, else in the first one, to be reported as missing."""
    paths = [root / folder / name for folder in folders]
    return next((path for path in paths if path.is_file()), paths[0])


DATASETS: dict[str, Callable[[Path], Dataset]] = {
    "longvideobench": load_longvideobench,
    "videomme": load_videomme,
    "videomme-v2": load_videomme_v2,
    "mlvu": load_mlvu,
    "egoschema": load_egoschema,
    "lvbench": load_lvbench,
    "cgbench": load_cgbench,
}
