"""Every file of records that this package reads: a valid example of it, and what a command does with it.

`file_uses(folder)` builds the examples in an empty folder. A use must end normally or with a FramesiftError, whatever
the content of its file.
"""

import contextlib
import json
import logging
import shutil
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from functools import partial
from logging.handlers import BufferingHandler
from pathlib import Path

import framesift as fs
from framesift.errors import FramesiftError
from framesift.indexing.index import PART_SIZE
from framesift.library.files import read_json
from framesift.library.jobs import Job
from framesift.search.search import search
from framesift.store.fingerprint import fingerprint
from framesift.store.maintenance import describe, prune
from framesift.store.store import Store, cached_text_vectors
from helpers.clips import make_clip
from helpers.encoders import GridEncoder
from helpers.fault_tries import Fault, quiet, run_command
from helpers.mutations import mutations
from helpers.published_annotations import lvb_row, mme_row, write
from helpers.result_rows import RUN, answers
from helpers.small_dataset import FirstOption, make_dataset, small_plan

EVENTS = [fs.Event(2.0, 4.0, "The coffee is cold"), fs.Event(6.0, 7.5, "So is the tea")]
MAX_MESSAGE = 6000  # characters: a sentence with one long name in it


@dataclass(frozen=True)
class FileUse:
    """A file as it should be, and what reads it. kind: of `mutations.KINDS`. `use` is called once it is mutated."""

    name: str
    kind: str
    path: Path
    data: bytes
    use: Callable[[Path], object]


def try_mutations(file: FileUse, count: int, seed: int = 0) -> Counter[str]:
    """Use `count` mutations of a file; how many were accepted and rejected. Other errors get a note of the mutation."""
    outcomes: Counter[str] = Counter()
    try:
        for name, data in mutations(file.kind, file.data, count, seed):
            file.path.parent.mkdir(parents=True, exist_ok=True)
            file.path.write_bytes(data)
            try:
                with quiet():
                    file.use(file.path)
                outcomes["accepted"] += 1
            except FramesiftError as error:
                if not 10 < len(str(error)) < MAX_MESSAGE:
                    raise RuntimeError(f"{file.name}: {name}: {len(str(error))} characters") from error
                outcomes["rejected"] += 1
            except Exception as error:
                error.add_note(f"{file.name}: {name}")
                raise
    finally:
        file.path.parent.mkdir(parents=True, exist_ok=True)
        file.path.write_bytes(file.data)
    return outcomes


def file_uses(folder: Path) -> Iterator[FileUse]:
    """The files of all kinds, built below `folder`."""
    dataset = make_dataset(folder / "data", videos=2)
    own = folder / "data" / "small.jsonl"
    yield from _evidence_lists(folder, own)
    yield from _evidence_sets(folder, Path(dataset.items[0].video))
    yield from _results(folder)
    yield from _own_data(folder, own)
    yield from _published_data(folder)
    yield from _settings(folder, own)
    yield from _video_lists(folder)
    clip = Path(dataset.items[0].video)
    yield from _selections(folder, clip)
    yield from _questions(folder, clip)
    yield from _store(folder, clip)
    jobs = [asdict(Job(number, "index", "a.mp4", "a.mp4")) for number in "12"]
    yield _file("server queue", folder / "queue.json", jobs, partial(read_json, kind=tuple[Job, ...]))


def _evidence_lists(folder: Path, own: Path) -> Iterator[FileUse]:
    ids = ["0-A", "0-B", "1-A", "1-B"]
    times = [{"id": name, "times_s": [1.0, 2.5, 8.0], "frame_timestamps": None} for name in ids]
    numbers = [{"question_id": name, "keyframe_indices": [5, 11, 40], "fps": 5.0} for name in ids]
    unrated = [{"uid": name, "frame_idx": [5, 11, 40]} for name in ids]

    use = partial(_command, "bench", "evidence", str(own), "--selections")
    use_rated = partial(_command, "bench", "evidence", str(own), "--fps", "5", "--selections")

    yield _file("evidence times", folder / "times.json", times, use)
    yield _file("evidence times by line", folder / "times.jsonl", times, use)
    yield _file("evidence frame numbers", folder / "numbers.jsonl", numbers, use)
    yield _file("evidence frame numbers of a video", folder / "unrated.jsonl", unrated, use)
    listed = write(folder / "valid-times.json", times)
    named = write(folder / "valid-numbers.json", {name: [5, 11, 40] for name in ids})
    yield _file("evidence frame numbers by id", folder / "named.json", named.read_text(), use_rated)
    yield _file("evidence frame lists", folder / "lists.json", [[5, 11, 40]] * 4, use_rated)
    use_rates = partial(_command, "bench", "evidence", str(own), "--selections", str(named), "--fps-from")
    yield _file("evidence frame rates", folder / "rates.json", {"0.mp4": 5, "1.mp4": 5.0}, use_rates)
    use_scenes = partial(_command, "bench", "evidence", str(own), "--selections", str(listed), "--scenes")
    scenes = "id,scene_id,start,end\n0-A,1,0:01,0:03\n0-A,2,5,6\n1-B,1,1.5,00:00:04\n"
    yield _file("scenes", folder / "scenes.csv", scenes, use_scenes)


def _evidence_sets(folder: Path, clip: Path) -> Iterator[FileUse]:
    from framesift.bench.evidence_runs import run_evidence_set, score_table
    from framesift.bench.evidence_sets import read_evidence_set
    from framesift.bench.plan import make_plan

    sentences = [{"start_s": 0, "end_s": 2.5, "text": "A cup."}, {"start_s": "0:03", "end_s": 6, "text": "A pen."}]
    questions = [
        {"video": "v", "question": "What?", "options": ["a", "b"], "first": 0, "last": 1},
        {"video": "w", "question": "Where?", "spans": [[0, 2], [3, "0:04"]], "id": "x"},
    ]
    videos = {"v": sentences, "w": {"sentences": ["One.", "Two."], "duration_s": 12}}
    transcripts = {"videos": videos, "questions": questions}
    rows = [
        {"qid": 7, "query": "a cup", "curve": [0.1, 0.4, 0.2], "windows": [[0, 2]]},
        {"id": "b", "video": "v", "curve": [0, 1], "times_s": [1, 4], "duration_s": 6, "windows": [[3, 5], [0, 1]]},
    ]

    config = fs.PipelineConfig(encoder=GridEncoder(), store=folder / "set-store")
    choices = make_plan({"methods": "uniform,text", "budgets": "2"}).choices

    def use(path: Path) -> None:
        data = read_evidence_set(path)
        score_table(data, run_evidence_set(data, choices, config, substitute=clip))

    yield _file("transcript set", folder / "transcripts.json", transcripts, use)
    yield _file("moment set", folder / "moments.jsonl", rows, use)


def _results(folder: Path) -> Iterator[FileUse]:
    options = {"alpha_ground": 0.125}
    rows = [*answers(n=6), *answers("uniform", n=6), *answers(n=4, budget=16), *answers(n=4, options=options)]
    rows += [replace(row, text_mode="none", error="a sentence" if k else "") for k, row in enumerate(answers(n=2))]
    lines = [RUN.to_dict(), *(row.to_dict() for row in rows)]
    report = partial(_command, "bench", "report", "--no-plots", "--out", folder / "report")
    yield _file("results", folder / "results" / "a.jsonl", lines, report)


def _own_data(folder: Path, own: Path) -> Iterator[FileUse]:
    from framesift.bench.datasets import load_dataset
    from framesift.bench.runner import run_benchmark

    listed = write(folder / "list.json", [{"id": "0-A", "times_s": [1.0]}])
    rows = [json.loads(line) for line in own.read_text().splitlines()]
    rows[1] |= {"subtitles": [{"start_s": 1.0, "end_s": 2, "text": "The coffee is cold"}], "category": ["a", "b"]}
    rows[2] |= {"duration_s": 12.0, "category": "c", "moments": [1, [2, 4], [5.5, 6]]}
    cells = "video,subtitles,question,options,answer,id,group,duration_s,moments\n"
    cells += "0.mp4,0.srt,Cold?,yes|no,A,0-A,clips,12,2.5\n1.mp4,,Why?,a | b | c,2,1-A,,0:12,\n"

    use = partial(_command, "bench", "evidence", "--selections", listed, "--allow-missing")

    def run(path: Path) -> None:
        dataset = load_dataset(str(path)).with_files(allow_missing=True)
        results = folder / "bench-results"
        shutil.rmtree(results, ignore_errors=True)
        run_benchmark(dataset, small_plan(FirstOption(), methods="gcr", store=folder / "bench-store"), results)
        _command("bench", "report", str(results), "--no-plots", "--data", str(path))

    data = own.parent
    yield _file("own questions by line", data / "own.jsonl", rows, use)
    yield _file("own questions", data / "own.json", rows, use)
    yield _file("own questions in a table", data / "own.csv", cells, use)
    yield _file("own questions run", data / "run.jsonl", rows[:3], run)


def _published_data(folder: Path) -> Iterator[FileUse]:
    from framesift.batch.items import read_clip_events
    from framesift.bench.datasets import load_dataset

    def load(name: str, root: Path, _: Path) -> None:
        dataset = load_dataset(name, root)
        for item in dataset.with_files(allow_missing=True).items:
            if isinstance(item.subtitles, Path):
                read_clip_events(item.subtitles, offset_s=item.subtitles_offset_s, duration_s=item.duration_s or 60.0)

    asked = {"uid": "1", "question": "What?\n(A) this\n(B) that", "answer": "A", "question_type": ["x"]}
    asked |= {"time_reference": "00:10-00:12"}
    ego = [{"q_uid": name, "question": "What?", **{f"option {k}": f"this {k}" for k in range(5)}} for name in "ab"]
    task = {"video": "v.mp4", "duration": 20.0, "question": "What?", "candidates": ["x", "y"], "answer": "y"}
    videos = ("lvb/videos/a", "lvb/videos/b", "ego/videos/a", "ego2/videos/a", "mlvu/video/v", "lvbench/videos/v")
    for video in (*videos, "mme/data/vid001", "mme/data/vid002"):
        write(folder / f"{video}.mp4", "")
    write(folder / "ego" / "questions.json", ego)
    write(folder / "ego2" / "subset_answers.json", {"a": 1, "b": 2})
    for name, root, file, content in (
        ("longvideobench", "lvb", "lvb_val.json", [lvb_row("a_0"), lvb_row("b_0")]),
        ("videomme", "mme", "videomme.json", [mme_row("001-1"), mme_row("002-1")]),
        ("lvbench", "lvbench", "video_info.meta.jsonl", [{"key": "v", "type": "sport", "qa": [asked]}]),
        ("egoschema", "ego", "subset_answers.json", {"a": 1, "b": 2}),
        ("egoschema", "ego2", "questions.json", ego),
        ("mlvu", "mlvu", "json/1_plotQA.json", [task | {"question_type": "plotQA"}]),
    ):
        yield _file(f"{name} {file}", folder / root / file, content, partial(load, name, folder / root))


def _settings(folder: Path, own: Path) -> Iterator[FileUse]:
    from framesift.bench.plan import make_plan
    from framesift.pipeline.config import PipelineConfig, read_settings

    plan = (
        "methods: [gcr, uniform]\nbudgets: [8, 32]\ntext_modes: [aligned]\nreaders: {Small: similarity}\n"
        "ablate: [ground]\nsweep: {alpha_ground: [1/8, 3/8]}\nset: {gcr.alpha_ground: 0.25}\nfps: 1\n"
        "seed: 3\nevents: subtitles\n"
        "blocks: [{methods: [gcr], text_modes: [none]}, {budgets: '4,8'}]\nlimit: 3\ngroups: [clips]\n"
        f"datasets: {{{own}: null}}\n"
    )
    config = {"encoder": "offline", "fps": 2.0, "mode": "fast", "budget": 8, "method": "gcr", "seed": 1}
    config |= {"options": {"alpha_ground": 0.25}, "speech": "none", "size": 224, "reader_options": {"preset": "x"}}

    # As `bench run` does, up to the choice of questions.
    run = partial(_command, "bench", "run", "--ids", "nothing")
    yield _file("plan", folder / "plan.yaml", plan, lambda path: make_plan(read_settings(path)))
    yield _file("plan run", folder / "plan-run.yaml", plan, run)
    yield _file("settings", folder / "settings.json", config, PipelineConfig.from_file)
    yield _file("settings in YAML", folder / "settings.yaml", json.dumps(config), PipelineConfig.from_file)


def _video_lists(folder: Path) -> Iterator[FileUse]:
    from framesift.batch.journal import read_journal
    from framesift.batch.listing import list_videos

    rows = [{"path": "a.mp4", "subtitles": "a.srt"}, {"video": "https://host/b.mp4"}, {"file": "c.mp4"}]
    cells = "video,subtitles\na.mp4,a.srt\nb.mp4,\n"
    row = {"path": "a.mp4", "fingerprint": "f" * 32, "frames": 9, "warnings": ["odd"]}
    journal = [{"path": "a.mp4", "event": "started"}, {"path": "a.mp4", "event": "done", "row": row}]
    lists = folder / "lists"
    yield _file("video list by line", lists / "videos.jsonl", rows, list_videos)
    yield _file("video list", lists / "videos.csv", cells, list_videos)
    yield _file("video list in text", lists / "videos.txt", "# a\na.mp4\nb.mp4\n", list_videos)
    yield _file("journal", lists / "journal.jsonl", journal, read_journal)


def _selections(folder: Path, clip: Path) -> Iterator[FileUse]:
    model = GridEncoder()
    index = fs.index(clip, model, store=folder / "selection-store")
    question = fs.Question("Is it cold?", options=("yes", "no"))
    selection = fs.select(index, question, events=EVENTS, budget=4, encoder=model, store=folder / "selection-store")

    def read(path: Path) -> fs.Selection:
        restored = fs.Selection.from_json(path.read_text(encoding="utf-8", errors="surrogateescape"))
        assert fs.Selection.from_json(restored.to_json()) == restored
        str(restored), repr(restored)
        return restored

    def save(path: Path) -> None:
        fs.exhibit(clip, read(path), size=32).save(folder / "exhibit", force=True)

    yield _file("selection.json", folder / "selection.json", selection.to_json(), read)
    yield _file("selection.json, exhibited", folder / "shown.json", selection.to_json(), save)


def _questions(folder: Path, clip: Path) -> Iterator[FileUse]:
    from framesift.batch.items import RunItem, read_items

    model = GridEncoder()
    index = fs.index(clip, model, store=folder / "question-store")
    rows = [{"question": "Is it cold?", "options": ["yes", "no"], "id": "a"}, "Why? A) this B) that"]
    rows += [{"text": "Who?", "choices": {"A": "he", "B": "she"}, "qid": 7}]
    cells = 'id,question,options\na,Is it cold?,yes | no\nb,Why?,"[""x"", ""y""]"\n'
    columns = "question,a,b,c\nIs it cold?,yes,no,\nWhy?,x,y,z\n"
    asked = {"video": "0.mp4", "question": "Is it cold?", "options": ["yes", "no"], "answer": "A", "subtitles": "0.srt"}

    def use(path: Path) -> None:
        from framesift.text.questions import read_questions

        questions = read_questions(path)
        for selection in fs.select_many(index, [row.question for row in questions], encoder=model, budget=2):
            selection.to_json()
        json.dumps([asdict(row) | {"row": {}} for row in questions], ensure_ascii=False, allow_nan=False).encode()

    def items(path: Path) -> None:
        for item in read_items(path):
            RunItem.from_dict(json.loads(json.dumps(item.to_dict(), allow_nan=False)))

    yield _file("questions", folder / "questions.json", {"questions": rows}, use)
    yield _file("questions by line", folder / "questions.jsonl", rows, use)
    yield _file("questions in a table", folder / "questions.csv", cells, use)
    yield _file("questions with option columns", folder / "columns.csv", columns, use)
    yield _file("questions in text", folder / "questions.txt", "Is it cold? A) yes B) no\nWhy?\n", use)
    yield _file("questions on videos", folder / "data" / "asked.jsonl", [asked] * 2, items)


class SmallStore:
    """A store of one clip, its events and their text vectors, and what can be got from it, as sets of values."""

    def __init__(self, root: Path, clip: Path) -> None:
        self.root, self.clip, self.model = root, clip, GridEncoder()
        fs.index(clip, self.model, store=root)
        Store(root).save_events(fingerprint(clip), "subtitles", EVENTS, str(clip))

    def search(self) -> set[object]:
        hits = search("cold milk", encoder=self.model, store=self.root)
        frames = {(hit.video, hit.time_s, hit.relevance) for hit in hits if hit.relevance is not None}
        return frames | {(hit.video, hit.event, hit.event_relevance) for hit in hits if hit.event is not None}

    def events(self) -> set[object]:
        events, _ = Store(self.root).load_events(fingerprint(self.clip), "subtitles") or ((), ())
        return set(events)

    def vectors(self) -> set[object]:
        index = fs.index(self.clip, self.model, store=self.root)
        texts = cached_text_vectors(self.model, [event.text for event in EVENTS], self.root)
        arrays = (index.times_s, index.frames, index.is_blank, index.is_damaged, texts)
        return {index.info, index.warnings, index.encoder, *(array.tobytes() for array in arrays)}

    def maintained(self) -> set[object]:
        """The same after the store was listed and pruned."""
        json.dumps([describe(entry) for entry in Store(self.root).entries()], allow_nan=False)
        prune(Store(self.root), max_bytes=10**9)
        return self.vectors()


def _store(folder: Path, clip: Path) -> Iterator[FileUse]:
    """The files of a store: a damaged one is rebuilt or reported, and never used."""
    store = SmallStore(folder / "store", clip)
    expected = {name: getattr(store, name)() for name in ("search", "events", "vectors", "maintained")}
    root, whole = store.root, folder / "store-copy"
    shutil.copytree(root, whole)

    def restore() -> None:
        shutil.rmtree(root)
        shutil.copytree(whole, root)

    def use(path: Path) -> None:
        data = path.read_bytes()
        try:
            for name, values in expected.items():
                with logged_warnings() as warnings:
                    found = getattr(store, name)()
                # Events are not computed again, and a search goes on without what is damaged.
                is_reported = name in ("search", "events") and bool(warnings)
                if found != values and not (is_reported and found < values):
                    raise Fault("poisoned", f"{name}: other values than before the file was changed")
                restore()
                path.write_bytes(data)
        finally:
            restore()

    for path in sorted(path for path in root.rglob("*") if path.is_file()):
        name = f"store {path.parent.name.partition('-')[0]} {path.name.partition('-')[0]}{path.suffix}"
        yield _file(name, path, path.read_bytes(), use)
    yield _unfinished_index(folder)


def _unfinished_index(folder: Path) -> FileUse:
    """The stored part of an interrupted run; the next run uses it, or starts over."""
    clip = make_clip(folder / "long.mkv", seconds=PART_SIZE + 12, fps=1)
    root = folder / "unfinished"
    expected = fs.index(clip, GridEncoder(), 1.0, store=folder / "finished").frames.tobytes()

    def interrupt(stage: str, done: float, total: float) -> None:
        if done == PART_SIZE:
            raise KeyboardInterrupt

    with contextlib.suppress(KeyboardInterrupt):
        fs.index(clip, GridEncoder(), 1.0, store=root, progress=interrupt)
    (part,) = root.rglob("*.safetensors")

    def use(path: Path) -> None:
        try:
            if fs.index(clip, GridEncoder(), 1.0, store=root).frames.tobytes() != expected:
                raise Fault("poisoned", "other vectors than those of a run without an interruption")
        finally:
            shutil.rmtree(root)
            path.parent.mkdir(parents=True)

    return _file("store part", part, part.read_bytes(), use)


@contextlib.contextmanager
def logged_warnings() -> Iterator[list[logging.LogRecord]]:
    handler = BufferingHandler(10**6)
    handler.setLevel(logging.WARNING)
    log = logging.getLogger("framesift")
    log.addHandler(handler)
    try:
        yield handler.buffer
    finally:
        log.removeHandler(handler)


def _file(name: str, path: Path, content: object, use: Callable[[Path], object]) -> FileUse:
    """Write an example; what is no text or bytes as JSON, in lines if the path ends so."""
    kind = path.suffix[1:].replace("txt", "bytes")
    if isinstance(content, list) and kind == "jsonl":
        content = "".join(json.dumps(row) + "\n" for row in content)
    elif not isinstance(content, str | bytes):
        content = json.dumps(content)
    data = content.encode() if isinstance(content, str) else content
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return FileUse(name, kind, path, data, use)


def _command(*words: object) -> None:
    """Run a command in this process; its one sentence becomes a FramesiftError again."""
    if sentence := run_command(list(map(str, words))):
        raise FramesiftError(sentence)
