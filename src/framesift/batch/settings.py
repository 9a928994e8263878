"""The settings that a run sends to its workers, as JSON values."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from framesift.batch.items import RunItem
from framesift.batch.results import CANDIDATES, WHOLE_VIDEO, Result, own_options
from framesift.pipeline.config import PipelineConfig
from framesift.readers.base import Reader
from framesift.selection.selector import DEFAULT_METHOD
from framesift.text.finding import NONE


@dataclass(frozen=True)
class SelectionChoice:
    """One way to select frames and to show their text. options: the method's own.

    whole_video: all frames of the video are candidates, for a method that uses no vectors.
    """

    method: str = DEFAULT_METHOD
    options: Mapping[str, Any] = field(default_factory=dict)
    budget: int = 32
    text_mode: str = "aligned"
    whole_video: bool = False

    @property
    def frames_key(self) -> str:
        """Equal for choices that select the same frames."""
        return repr((self.method, sorted(self.options.items()), self.budget, self.whole_video))


@dataclass(frozen=True)
class ReaderSpec:
    """A reader by name or address, or an object. name: in rows; empty for its own. width: None for what it takes."""

    reader: str | Reader
    name: str = ""
    options: Mapping[str, Any] = field(default_factory=dict)
    width: int | None = None


@dataclass(frozen=True)
class RunReader:
    """A reader of a run. name: in rows; empty: no reader.

    address: as given. prompt: its preset. times: whether
    its prompt has the frames' times, time_format: how they are written. width: requests in flight at a time.
    """

    name: str = ""
    address: str = ""
    options: Mapping[str, Any] = field(default_factory=dict)
    prompt: str = ""
    times: bool = True
    time_format: str = "auto"
    width: int = 1


@dataclass(frozen=True)
class RowJob:
    """One row to produce. row: its identity."""

    item: RunItem
    choice: SelectionChoice
    reader: RunReader
    row: Result


@dataclass(frozen=True)
class QuestionSettings:
    """How the items of a run become rows: every choice with every reader. run: the Run of the result files."""

    results: str
    run: Mapping[str, Any]
    config: Mapping[str, Any]
    choices: tuple[SelectionChoice, ...]
    readers: tuple[RunReader, ...]
    identity: Mapping[str, Any]  # fields of every row

    @classmethod
    def from_dict(cls, value: Mapping[str, Any]) -> "QuestionSettings":
        choices = tuple(SelectionChoice(**choice) for choice in value["choices"])
        readers = tuple(RunReader(**reader) for reader in value["readers"])
        return cls(**{**value, "choices": choices, "readers": readers})

    def jobs(self, item: RunItem) -> Iterator[RowJob]:
        """The rows of an item, each once."""
        facts = {name: tuple(value) if isinstance(value, list) else value for name, value in item.facts.items()}
        seen = set()
        for choice in self.choices:
            for reader in self.readers:
                row = Result(
                    **{**facts, "video_id": item.video_id, **self.identity},
                    item_id=item.id,
                    method=choice.method,
                    budget=choice.budget,
                    options=own_options(choice.method, choice.options, self.identity["seed"]),
                    # Without a reader no text is shown: the frames are the same in every mode.
                    text_mode=choice.text_mode if reader.name else "none",
                    reader=reader.name,
                    prompt=reader.prompt,
                    prompt_times=reader.times,
                    time_format=reader.time_format,
                    uniform_frames=WHOLE_VIDEO if choice.whole_video else CANDIDATES,
                    from_s=None if item.window is None else item.window.from_s,
                    to_s=None if item.window is None else item.window.to_s,
                )
                if row.key not in seen:
                    seen.add(row.key)
                    yield RowJob(item, choice, reader, row)


def row_identity(config: PipelineConfig, dataset: str, encoder: str) -> dict[str, Any]:
    """The fields of a row that identify the configuration of its run. encoder: the resolved name."""
    demand, namer = config.selection.visual_demand, config.selection.namer
    return {
        "dataset": dataset,
        "encoder": encoder,
        "events": text_source(config),
        "fps": config.index.rate,
        "seed": config.selection.seed,
        "event_encoder": config.selection.event_encoder or "",
        "visual_demand": f"{demand:g}" if isinstance(demand, int | float) else _name(demand),
        "blank_frames": config.selection.blank_frames,
        "unchanged_frames": config.index.unchanged_frames,
        "namer": namer if isinstance(namer, str) else "" if namer is None else _name(namer),
    }


def text_source(config: PipelineConfig) -> str:
    """What a run takes its timestamped text from: "subtitles", "speech" or "none"."""
    if config.text.speech != NONE:
        return "speech"
    return "none" if config.text.subtitles == NONE else "subtitles"


def _name(value: Any) -> str:
    return str(
        value if isinstance(value, str) else getattr(value, "name", getattr(value, "__name__", type(value).__name__))
    )
