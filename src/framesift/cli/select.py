"""The commands that select frames: select and compare."""

import itertools
import os
import re
import sys
from argparse import Namespace
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from framesift._utils.json import dump_json
from framesift._utils.output_folder import output_folder
from framesift._utils.text import clock, counted, printable
from framesift.cli.arguments import AddCommand, Parser
from framesift.cli.output import ProgressBar, print_json, print_warnings
from framesift.cli.settings import PLAIN, add_all_settings, add_settings, config_from, configs_from, given_layers
from framesift.errors import FramesiftError, OptionError
from framesift.text.questions import QuestionRow, read_questions
from framesift.types import Question, Selection
from framesift.types.question import option_letter
from framesift.video.files import VIDEO_SUFFIXES

if TYPE_CHECKING:
    from framesift.pipeline.config import PipelineConfig
    from framesift.pipeline.video import Video
    from framesift.rendering.exhibit import Exhibit

VIDEO = "video"  # the format that puts the video beside the report
CLIPS = {"copy": "clips", "exact": "clips-exact"}  # the formats of --clips
EXAMPLE = 'framesift select video.mp4 "Why was the launch put off?" --budget 8'
WITH_VIDEO = "put the video beside the report, which plays it"


def add_commands(add: AddCommand) -> None:
    select = add("select", _select, "pick the frames of a video that answer a question, and say why", EXAMPLE)
    add_question(select)
    add_exhibit_options(select)
    clips = "also MP4 clips, cut at key frames (copy) or exactly (exact)"
    cuts: dict[str, Any] = {"nargs": "?", "const": "copy", "choices": tuple(CLIPS), "metavar": "CUT"}
    select.group("output").add_argument("--clips", help=clips, **cuts)
    select.finish("print the selections as JSON")

    example = 'framesift compare video.mp4 "Who is on the bridge?" --methods sift,uniform'
    compare = add("compare", _compare, "put several methods' frames for a question into one report", example)
    add_question(compare)
    compare.group("which frames").add(
        "--methods",
        "NAME,NAME",
        "two or more of `framesift selectors`, with commas between (default: sift,gcr,uniform,topk)",
        default="sift,gcr,uniform,topk",
    )
    _add_frames(compare)
    _add_output(compare)
    compare.group("output").add_argument("--format", action="append", default=[], choices=(VIDEO,), help=WITH_VIDEO)
    settable = [name for name in PLAIN if name not in ("method", "reader")]
    add_all_settings(compare, settable, "the methods (METHOD.NAME=VALUE for one of them)")
    compare.finish("print the selections as JSON")


def add_question(command: Parser) -> None:
    asked = command.group("what to ask")
    asked.add("videos", "VIDEO", "a video, or several that share the frames", nargs="+")
    asked.add("words", '"QUESTION"', 'at the end; may hold options: "Why? A) wind B) rain"', nargs="*", default=[])
    asked.add_argument("-q", "--question", metavar="TEXT", help="the question, if it is not the last argument")
    option = "a possible answer; repeat it for each"
    asked.add_argument("-o", "--option", action="append", default=[], metavar="TEXT", help=option)


def add_exhibit_options(command: Parser, **defaults: Any) -> None:
    """The arguments that select and ask share. defaults: of settings, where they are not the setting's."""
    command.set_defaults(defaults=defaults)
    command.group("what to ask").add("--questions", "FILE", "ask every question of this JSON, CSV or text file")
    _add_frames(command, "burst", "method", **defaults)
    command.group("which frames").add(
        "--max-tokens-in", "N", "as many frames as fit into a prompt of N tokens", type=int
    )
    add_settings(command.group("which frames"), "prefer")
    _add_output(command)
    output = command.group("output")
    output.add("--format", "NAME", "also write video, edl, vtt, jsonl, …; repeatable", action="append", default=[])
    output.switch("--no-exhibit", "print the frames' times and write nothing")
    add_settings(command.group("model"), "reader")
    add_all_settings(command, owners="the method or the reader")


def _add_frames(command: Parser, *settings: str, **defaults: Any) -> None:
    add_settings(command.group("what to ask"), "from_s", "to_s")
    add_settings(command.group("which frames"), "budget", *settings, "subtitles", "encoder", **defaults)


def _add_output(command: Parser) -> None:
    output = command.group("output")
    output.add("--out", "DIR", "folder to write (default: VIDEO-evidence)")
    output.switch("--force", "replace the files of an earlier run in --out DIR")


@dataclass(eq=False)
class SavedExhibit:
    """The exhibit of one question.

    folder: where it was written, if it was; failure: why not, or why its run's lists were not.
    """

    asked: QuestionRow
    exhibit: "Exhibit"
    folder: Path | None = None
    failure: FramesiftError | None = None

    def to_dict(self) -> dict[str, Any]:
        return ({"id": self.asked.id} if self.asked.id else {}) | self.exhibit.to_dict() | _places(self.folder)


class ExhibitRun:
    """The exhibits of a command's questions. The arguments are checked at once; `select` and `write` do the work.

    asked: the questions, as given or from a file. config: by the flags.
    """

    LIST = "exhibits.json"  # of many questions: what was written for each

    def __init__(self, args: Namespace) -> None:
        from framesift.rendering.export_formats import LISTS, check_formats

        self.args, self.asked = args, questions_from(args)
        args.format += [CLIPS[args.clips]] if args.clips else []
        self.config = _fit_config(args, config_from(args), [row.question for row in self.asked])
        self._rows: dict[str, list[dict[str, Any]]] = {}  # by file
        self._lists = [name for name in LISTS if args.questions and name in args.format]
        check_formats([name for name in args.format if name != VIDEO])
        self._out = _out_folder(args)
        if not args.no_exhibit:
            from framesift.rendering.export import REPORT, check_free  # loads the typesetting

            args.stored = bool(args.questions)
            check_free(self._out, force=args.force, marker=self.LIST if args.questions else REPORT)

    def select(self) -> None:
        """Prepare the video, and select frames for every question."""
        self.video = open_video(self.args, self.config)
        with ProgressBar(show=not self.args.json, unit=" calls") as bar:
            questions, windows = [row.question for row in self.asked], [row.window for row in self.asked]
            selected = self.video.select_many(questions, windows=windows, progress=bar)
            self.exhibits = [self.video.compare_with_chance(found) for found in selected]

    def write_all(self) -> Iterator[SavedExhibit]:
        """The exhibit of each question, up to the first that can't be written."""
        for number in range(len(self.asked)):
            yield (saved := self._write(number))
            if saved.failure is not None:
                return

    def _write(self, number: int) -> SavedExhibit:
        """Print the frames of a question, and write its exhibit unless none is wanted."""
        args, row, exhibit = self.args, self.asked[number], self.exhibits[number]
        selection = exhibit.selection
        if not args.json:
            _print_question(row.question)
            if window := exhibit.basis.window:
                print(f"Considered: {' – '.join(map(clock, window))}\n")
            print(exhibit, end="\n\n", flush=True)  # saving takes longer
            _print_match(exhibit)
            _print_own_warnings(selection, self.video.warnings)
        saved = SavedExhibit(row, exhibit)
        if args.no_exhibit:
            return saved
        folder = self._out / _folder_name(number + 1, row) if args.questions else self._out
        formats = [name for name in args.format if name not in (*self._lists, VIDEO)]
        try:
            saved.folder = _save(args, [exhibit], folder, formats=formats, row=row.row)
            if args.questions:
                self._add_to_lists(row, exhibit, folder)
        except FramesiftError as error:
            saved.failure = error
        if saved.folder and not args.json:
            _print_own_warnings(exhibit.selection, selection.warnings)
        return saved

    def _add_to_lists(self, row: QuestionRow, exhibit: "Exhibit", saved_in: Path) -> None:
        """Rewrite the files that list all questions so far: exhibits, and those of the formats with a row for each."""
        from framesift.rendering.export_formats import list_file, list_row

        times = exhibit.times_s
        own = {self.LIST: {"question": row.question.text, "folder": saved_in.name, "times_s": times}}
        own |= {name: list_row(exhibit, row.row, name, f"{saved_in.name}/") for name in self._lists}
        with output_folder(self._out, keep=True) as folder:
            for name, fields in own.items():
                rows = self._rows.setdefault(name, [])
                rows.append(fields)
                file, text = (name, dump_json(rows)) if name == self.LIST else list_file(name, rows)
                (folder / file).write_text(text, encoding="utf-8")


def _select(args: Namespace) -> int:
    run = ExhibitRun(args)
    run.select()
    results = []
    try:
        for saved in run.write_all():
            results.append(saved.to_dict() if args.json else {})
    finally:
        print_results(args, results)
    if saved.failure is not None:
        raise saved.failure
    return 0


def print_results(args: Namespace, results: list[dict[str, Any]]) -> None:
    """Print what `--json` prints, also after an error where there are results."""
    if args.json and results:
        print_json(results if args.questions else results[0])


def _print_match(exhibit: "Exhibit") -> None:
    """Print that nothing in the video matches the question well, if so, and why there are no more frames."""
    chance = exhibit.basis.chance
    for sentence in (exhibit.trace.get("stopped"), chance and chance.note):
        if sentence:
            print(f"{sentence}\n")


def _print_own_warnings(selection: Selection, known: Sequence[str]) -> None:
    """Print the warnings of a selection; those of the video are printed when it is prepared."""
    print_warnings(text for text in selection.warnings if text not in known)


def questions_from(args: Namespace) -> list[QuestionRow]:
    """The question behind the videos or of -q, with the options of -o, or those of the file of --questions."""
    if args.questions is not None:
        if args.question is not None or args.option:
            raise OptionError("both --questions and -q/-o were given; expected one or the other")
        return read_questions(args.questions)
    if args.question is None:
        *videos, last = args.videos
        if not videos or _is_file(last):
            stray = next((word for word in args.videos if not _is_file(word)), None)
            problem = "there is no question" if stray is None else f"{stray!r} is not a file"
            written = f'framesift {args.argv[0]} VIDEO "Why was …?"'
            raise OptionError(f"{problem}; write the video, then the question: {written}")
        args.videos, args.question = videos, last
    if stray := [word for word in args.videos[1:] if not _is_file(word)]:
        raise OptionError(f"{stray[0]!r} is not a file; put a text of several words in quotation marks")
    return [QuestionRow(Question(args.question, args.option or None))]


def _is_file(word: str) -> bool:
    """Whether a word is a video and not a question: it exists, or ends as videos do."""
    return os.path.exists(word) or word.lower().endswith(VIDEO_SUFFIXES)


def _fit_config(args: Namespace, config: "PipelineConfig", questions: Sequence[Question]) -> "PipelineConfig":
    """The configuration with the budget that fits into `--max-tokens-in`; one that is given must fit."""
    most, reading = args.max_tokens_in, config.reading
    if most is None:
        return config
    if most < 1:
        raise OptionError(f"--max-tokens-in is {most}; expected at least 1")
    if not isinstance(reading.reader, str):
        raise OptionError("there is no reader whose tokens could be counted; expected --reader local:MODEL or a URL")
    from framesift.pipeline.config import AUTO
    from framesift.readers.token_budget import token_counter
    from framesift.video.frames import probe

    counter = token_counter(
        reading.reader,
        reading.reader_options,
        videos=[probe(path) for path in args.videos],
        questions=questions,
        text_mode=reading.text_mode,
    )
    given = [layer["budget"] for layer in given_layers(args) if "budget" in layer][-1:]
    is_fixed = given not in ([], [AUTO])
    size = reading.size if is_fixed else counter.preferred_size(reading.prefer, reading.size)
    budget = config.selection.most if is_fixed else counter.most_frames(most, size)
    tokens = counter.count(max(1, budget), size)
    frames = f"{counted(tokens.frames, 'frame')} of {tokens.size[0]} × {tokens.size[1]}"
    if tokens.total > most:
        raise OptionError(
            f"--max-tokens-in is {most}; {frames} with the text are {tokens.total} tokens for {counter.model}: "
            "raise it, choose smaller frames (--set size=PIXELS), or select fewer frames (--budget)"
        )
    print(
        f"{frames}: {tokens.frame_tokens:,} tokens and about {tokens.text_tokens:,} of text, {tokens.total:,} of "
        f"{most:,} for {counter.model}",
        file=sys.stderr,
    )
    return (config.at_most(budget) if given == [AUTO] else config.replace(budget=budget)).replace(size=size)


def open_video(args: Namespace, config: "PipelineConfig") -> "Video":
    """The video with its index and events; progress, sources and warnings go to the error output."""
    from framesift.pipeline import video as video_module

    with ProgressBar(", ".join(Path(name).name for name in args.videos), show=not args.json) as bar:
        video = video_module.open(args.videos, config, progress=bar)
    if not args.json:
        names = [span.name for span in video.index.videos] or [video.path.name]
        for name, one in zip(names, video.videos or (video,), strict=True):
            candidates = counted(len(one.index), "candidate")
            facts = f"{clock(one.index.info.duration_s)}, {candidates}, encoder {one.index.encoder}"
            sources = ", ".join(f"{source.events} from {source.name}" for source in one.text.sources)
            print(f"{printable(name)}: {facts}", file=sys.stderr)
            print(f"events: {printable(sources) or 'none found; frames carry no text'}", file=sys.stderr)
        print_warnings(video.warnings, () if video.events else video.text.notes)
    return video


def _out_folder(args: Namespace) -> Path:
    """The folder of --out, or one in the working directory with the video's name, which every run replaces."""
    if args.out is not None:
        return Path(args.out)
    args.force = True
    more = f"-and-{len(args.videos) - 1}-more" if len(args.videos) > 1 else ""
    kind = "exhibits" if args.questions else "evidence"
    return Path(f"{Path(args.videos[0]).stem}{more}-{kind}")


def _save(args: Namespace, exhibits: list["Exhibit"], folder: Path, **files: Any) -> Path:
    """Write the report of a question's exhibits, by one method or several; where it is."""
    from framesift.rendering.export import save

    with ProgressBar(show=not args.json) as bar:
        saved = save(exhibits, folder, force=args.force, with_video=VIDEO in args.format, progress=bar, **files)
    if not args.json:
        how_to_keep = " (the next run replaces it; keep it with --out DIR)" if args.out is None else ""
        print(f"Report: {saved / 'report.html'}{how_to_keep}\n")
    return saved


def _places(folder: Path | None) -> dict[str, str]:
    """The fields of the JSON that say where an exhibit is."""
    return {} if folder is None else {"saved": str(folder), "report": str(folder / "report.html")}


def _folder_name(number: int, row: QuestionRow) -> str:
    """003-why-was-the-start-put-off: sorts as in the file and names the question."""
    words = re.sub(r"[^a-z0-9]+", "-", (row.id or row.question.text).lower()).strip("-")[:48].strip("-")
    return f"{number:03d}-{words}" if words else f"{number:03d}"


def _print_question(question: Question) -> None:
    print(f"Question: {printable(question.text)}")
    for position, option in question.choices.items():
        print(f"  {option_letter(position)}. {printable(option)}")
    print()


def _compare(args: Namespace) -> int:
    from framesift.rendering.export import check_free

    methods = list(dict.fromkeys(name.strip() for name in args.methods.split(",") if name.strip()))
    if len(methods) < 2:
        raise OptionError(f"--methods is {args.methods!r}; expected two or more names with commas between them")
    question = questions_from(args)[0].question
    configs = configs_from(args, methods)
    out = _out_folder(args)
    check_free(out, force=args.force)
    video = open_video(args, configs[methods[0]])
    exhibits = []
    for method, config in configs.items():
        one = replace(video, config=config)
        with ProgressBar(method, show=not args.json, unit=" calls") as bar:
            exhibits.append(one.select(question, progress=bar))
    if not args.json:
        _print_question(question)
        _print_match(exhibits[0])
        _print_comparison(exhibits)
    known = list(video.warnings)
    for selection in (exhibit.selection for exhibit in exhibits):
        if not args.json:
            _print_own_warnings(selection, known)
        known += [text for text in selection.warnings if text not in known]
    saved: Path | None = None
    try:
        saved = _save(args, exhibits, out)
    finally:
        if args.json:
            selections = {exhibit.method: exhibit.to_dict() for exhibit in exhibits}
            print_json({"selections": selections, "warnings": known, **_places(saved)})
    return 0


def _largest_gap(exhibit: "Exhibit") -> float:
    """The longest time without a selected frame, in the window or in any of the videos."""
    spans = [(video.start_s, video.start_s + video.info.duration_s) for video in exhibit.videos]
    if exhibit.basis.window:
        spans = [exhibit.basis.window]
    gaps = []
    for start_s, end_s in spans:
        inside = [time_s for time_s in exhibit.times_s if start_s <= time_s <= end_s]
        gaps += [after - before for before, after in itertools.pairwise([start_s, *inside, end_s])]
    return max(gaps)


def _print_comparison(exhibits: list["Exhibit"]) -> None:
    """A line per method: frames chosen and scored, relevance, largest gap, text, and those the first has too."""
    first = exhibits[0].selection
    head = f"{'frames':>6} {'scored':>10} {'relevance':>10} {'largest gap':>12} {'with text':>10}"
    print(f"{'method':<16} {head}  as {first.method}")
    for exhibit in exhibits:
        selection = exhibit.selection
        mean = sum(slot.relevance for slot in selection.slots) / len(selection)
        texts = sum(1 for frame in exhibit.frames if frame.text)
        line = f"{len(selection):>6} {selection.looked_at:>10} {mean:>10.3f}"
        line += f" {_largest_gap(exhibit):>10.1f} s {texts:>10}"
        print(f"{selection.method:<16} {line}  {len(set(first.indices) & set(selection.indices))}")
    print(flush=True)  # saving takes longer
