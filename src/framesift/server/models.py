"""The API's records: what a request may say and what an answer holds. The river's own records pass as they are."""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from framesift.readers.prompts import TextMode
from framesift.server.jobs import Kind, State
from framesift.types import Role

MOST_BUDGET = 256
MOST_METHODS = 4
# No NUL and no half of a surrogate pair: neither can be in a text that is written to a file.
Words = Annotated[str, StringConstraints(max_length=4000, pattern=r"^[^\x00]*$")]
Name = Annotated[str, StringConstraints(min_length=1, max_length=100, pattern=r"^[^\x00]*$")]
Setting = bool | int | float | str | None


class Record(BaseModel):
    model_config = ConfigDict(extra="forbid")


class Problem(BaseModel):
    """What went wrong, in a sentence for a person."""

    detail: str


class Source(BaseModel):
    kind: str
    name: str
    events: int
    repairs: dict[str, int]


class WordsFound(BaseModel):
    """How much timestamped text there is, where from, and what was looked for in vain."""

    events: int
    sources: list[Source]
    notes: list[str]


class JobRecord(BaseModel):
    """One video on its way to being ready. `done` of `total`: 0 of 0 where it can't be told."""

    id: str
    kind: Kind
    video: str
    name: str
    state: State
    phase: str
    done: float
    total: float
    error: str
    added_s: float
    started_s: float | None
    finished_s: float | None


class Video(BaseModel):
    """A video of the library. `known` is false while its facts are being looked up; `problem`: why it can't be used."""

    id: str
    version: str = Field(description="Changes with the file; `?v=` of a picture's address.")
    name: str
    uploaded: bool
    known: bool
    problem: str
    duration_s: float
    width: int
    height: int
    fps: float
    codec: str
    has_audio: bool
    indexed: bool
    ready: bool
    words: WordsFound | None
    beside: list[str] = Field(description="The subtitle files of an upload, the one that is used first.")
    job: JobRecord | None


class Library(BaseModel):
    videos: list[Video]
    folder: str = Field(description="The name of the folder the server was started with, empty without one.")
    upload_bytes: int = Field(description="The largest video that can be uploaded.")


class AddByPath(Record):
    path: Annotated[str, StringConstraints(min_length=1, max_length=1000)] = Field(
        description="The path of a video inside the server's folder."
    )


class Method(BaseModel):
    name: str
    summary: str
    paper: str
    needs: list[str]
    available: bool
    why_not: str
    options: dict[str, Setting]


class Choices(BaseModel):
    """What the page offers: methods, ways to show text, readers, and what each role means."""

    version: str
    methods: list[Method]
    text_modes: list[str]
    readers: list[str]
    roles: dict[str, str]
    encoder: str
    subtitle_endings: list[str] = Field(description="What the names of subtitle files end in.")


class Ask(Record):
    """A question, and the knobs. Options may also stand inside the question: "Why …? A) this B) that"."""

    question: Annotated[Words, Field(min_length=1, examples=["Why was the launch put off?"])]
    options: Annotated[list[Words], Field(max_length=26)] = []
    budget: Annotated[int, Field(ge=1, le=MOST_BUDGET)] = 32
    visual_demand: Annotated[float, Field(ge=0, le=1)] | None = Field(
        default=None, description="0 (words) to 1 (pictures); by default read from the question."
    )
    settings: dict[Name, dict[Name, Setting]] = Field(default={}, description="Options of methods, by method.")


class AskOne(Ask):
    method: Name = "gcr"


class AskSeveral(Ask):
    methods: Annotated[list[Name], Field(min_length=1, max_length=MOST_METHODS)] = ["gcr"]
    text_mode: TextMode = "aligned"


class AskReader(AskOne):
    reader: Annotated[str, StringConstraints(min_length=1, max_length=300)] = "similarity"
    text_mode: TextMode = "aligned"


class EventRecord(BaseModel):
    start_s: float
    end_s: float
    text: str
    source: str


class SlotRecord(BaseModel):
    index: int
    time_s: float
    role: Role
    relevance: float
    event: EventRecord | None


class SelectionRecord(BaseModel):
    """`Selection.to_dict()`: what `framesift select --json` prints, without the files."""

    schema_: str = Field(alias="schema")
    method: str
    budget: int
    slots: list[SlotRecord]
    trace: dict[str, Any]
    basis: dict[str, Any] | None


class NearRow(BaseModel):
    time_s: float
    clock: str
    sentence: str
    picture: str


class FrameRow(BaseModel):
    """A chosen frame as the page shows it; `picture` is the address of a small JPEG."""

    id: str
    number: int
    time_s: float
    clock: str
    role: Role
    relevance: float
    frame: int
    text: str
    words: str = Field(description="The event's own words, whichever way text is shown.")
    picture: str
    width: int
    height: int
    alt: str
    why: list[str]
    nearly: list[NearRow]
    rank: int = Field(description="1 for the frame that tells most: the best words, the best picture, and so on.")


class Stretch(BaseModel):
    start_s: float
    end_s: float
    note: str


class Swap(BaseModel):
    out_s: float
    in_s: float
    margin: float
    note: str


class Lane(BaseModel):
    method: str
    budget: int
    summary: str
    notes: list[str]
    frames: list[FrameRow]
    omitted: list[Stretch]
    swaps: list[Swap]
    seconds: float = Field(description="How long the selection took.")


class Curve(BaseModel):
    times_s: list[float]
    relevance: list[float]


class View(BaseModel):
    """Everything the page draws for a question: the report's own view, with addresses in place of pictures."""

    video: str
    duration_s: float
    question: str
    options: list[tuple[int, str]]
    curve: Curve
    events: list[EventRecord]
    lanes: list[Lane]
    settings: list[tuple[str, str]]


class AnswerRecord(BaseModel):
    """`Answer.to_dict()`, with the times of the frames that the reply names."""

    letter: str | None
    text: str
    choice: int | None
    raw: str
    parsed: bool
    times_s: list[float]
    tokens: int | None
    seconds: float | None
    frames: list[int]
    reader: str
    text_mode: str
    note: str
    cited_s: list[float]


ExportFormat = Literal["zip", "json", "report"]
