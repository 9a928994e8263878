"""The settings that a run of questions sends to its workers, as JSON values."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from framesift._utils.settings import check_count
from framesift.batch.items import RunItem
from framesift.batch.results import CANDIDATES, WHOLE_VIDEO, Result, own_options
from framesift.pipeline.config import PipelineConfig, SelectionSettings
from framesift.readers.base import Reader
from framesift.text.finding import NONE
from framesift.types.question import QueryText


@dataclass(frozen=True)
class SelectionChoice:
    """One way to select frames and to show them. options: the method's own.

    query: what of the question is compared. size: the frames' shorter side in pixels, None for the video's.
    whole_video: all frames of the video are candidates, for a method that uses no vectors.
    """

    method: str
    options: Mapping[str, Any]
    budget: int
    text_mode: str
    query: QueryText = SelectionSettings.query
    size: int | None = None
    whole_video: bool = False

    @property
    def frames_key(self) -> str:
        """Equal for choices that select the same frames in the same size."""
        options = sorted(self.options.items())
        return repr((self.method, options, self.budget, self.query, self.size, self.whole_video))


@dataclass(frozen=True)
class ReaderSpec:
    """A reader by name or address, or an object, and its own options.

    name: in rows; empty for its own, and in a run without readers. width: requests in flight; None for what it takes.
    prompt, times and time_format are those of the reader itself: its preset, whether its prompt has the frames' times,
    and how they are written.
    """

    reader: str | Reader
    options: Mapping[str, Any]
    name: str = ""
    width: int | None = None
    prompt: str = ""
    times: bool = True
    time_format: str = "auto"

    def described(self, model: Reader) -> "ReaderSpec":
        """This record with what the reader itself says, as JSON values."""
        width = int(getattr(model, "concurrency", 1)) if self.width is None else self.width
        check_count("concurrency", width)
        return replace(
            self,
            reader=self.reader if isinstance(self.reader, str) else "",
            name=self.name or str(getattr(model, "name", type(model).__name__)),
            width=width,
            prompt=str(getattr(model, "preset", "")),
            times=bool(getattr(model, "times", True)),
            time_format=str(getattr(model, "time_format", "auto")),
        )


NO_READER = ReaderSpec("", {}, width=1)


@dataclass(frozen=True)
class RowJob:
    """One row to produce. row: its identity."""

    item: RunItem
    choice: SelectionChoice
    reader: ReaderSpec
    row: Result


@dataclass(frozen=True)
class QuestionSettings:
    """How the items of a run become rows: every choice with every reader. run: the Run of the result files."""

    results: str
    run: Mapping[str, Any]
    config: Mapping[str, Any]
    choices: tuple[SelectionChoice, ...]
    readers: tuple[ReaderSpec, ...]
    identity: Mapping[str, Any]  # `config` of every row

    @classmethod
    def from_dict(cls, value: Mapping[str, Any]) -> "QuestionSettings":
        choices = tuple(SelectionChoice(**choice) for choice in value["choices"])
        readers = tuple(ReaderSpec(**reader) for reader in value["readers"])
        return cls(**{**value, "choices": choices, "readers": readers})

    @property
    def width(self) -> int:
        """The most requests in flight of any reader."""
        return max(reader.width or 1 for reader in self.readers)

    def jobs(self, item: RunItem) -> Iterator[RowJob]:
        """The rows of an item, each once."""
        facts = {"dataset": self.run["dataset"], **item.facts, "video_id": item.video_id}
        seen = set()
        for choice in self.choices:
            for reader in self.readers:
                config = {
                    **self.identity,
                    "prompt_times": reader.times,
                    "time_format": reader.time_format,
                    "query": choice.query,
                    "size": choice.size if reader.name else None,
                    "uniform_frames": WHOLE_VIDEO if choice.whole_video else CANDIDATES,
                }
                row = Result(
                    **facts,
                    item_id=item.id,
                    method=choice.method,
                    options=own_options(choice.method, choice.options, self.identity["seed"]),
                    budget=choice.budget,
                    # Without a reader no text is shown: the frames are the same in every mode.
                    text_mode=choice.text_mode if reader.name else "none",
                    reader=reader.name,
                    prompt=reader.prompt,
                    config=config,
                    window=item.window,
                )
                if row.key not in seen:
                    seen.add(row.key)
                    yield RowJob(item, choice, reader, row)


def row_identity(config: PipelineConfig) -> dict[str, Any]:
    """The settings of a run, by name, that its rows have as `config`."""
    names = ["encoder", "seed", "query", "event_encoder", "visual_demand", "namer", "blank_frames", "unchanged_frames"]
    names += ["burst"] if config.selection.burst > 1 else []
    values = config.to_dict()
    return {**{name: values[name] for name in names}, "fps": config.index.rate, "events": text_source(config)}


def text_source(config: PipelineConfig) -> str:
    """What a run takes its timestamped text from: "subtitles", "speech" or "none"."""
    if config.text.speech != NONE:
        return "speech"
    return "none" if config.text.subtitles == NONE else "subtitles"
