"""Request and response models of the API; the pipeline's own records keep their fields."""

from dataclasses import dataclass
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, Json, StringConstraints, model_validator

from framesift.library.catalog import PreparedSummary, VideoFacts
from framesift.library.jobs import Job
from framesift.pipeline.chapters import Chapter
from framesift.pipeline.config import MOST, ReaderSettings
from framesift.readers.prompts import TextMode
from framesift.search.search import SearchBy
from framesift.selection.selector import DEFAULT_METHOD
from framesift.types import Event, Role, Slot
from framesift.video.clips import Cut

MAX_BUDGET = 256
MAX_METHODS = 4
MAX_CLIP_S = 600
MAX_MOMENTS = 100
MAX_VIDEOS = 500  # named in a request
# No NUL and no lone surrogate: neither can be written to a text file.
BoundedText = Annotated[str, StringConstraints(max_length=4000, pattern=r"^[^\x00]*$")]
VideoIds = Annotated[list[Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{16}$")]], Field(max_length=MAX_VIDEOS)]
Times = Annotated[list[Annotated[float, Field(ge=0, lt=1e7)]], Field(max_length=MAX_BUDGET)]
BoundedName = Annotated[str, StringConstraints(min_length=1, max_length=100, pattern=r"^[^\x00]*$")]


class RequestModel(BaseModel):
    model_config = ConfigDict(extra="forbid")


class ErrorRecord(BaseModel):
    """An error message for a person."""

    detail: str


@dataclass(frozen=True)
class JobRecord(Job):
    """Indexing of one video. `done` of `total`: 0 of 0 where it is unknown.

    `position`: 0 while it runs, 1 for the job that is next. `candidates`: the frames that a question with `partial` can
    use before the video is ready.
    """

    candidates: int = 0


@dataclass(frozen=True, kw_only=True)
class VideoRecord(VideoFacts):
    """A video of the library. `known` is false until the file has been probed; `problem`: why it can't be used.

    `version` changes with the file; it is `?v=` of the URLs of its images. `words`: the video's timestamped text, null
    before it is indexed. `warnings`: what was lost, guessed or odd in this video and its text. `beside`: the subtitle
    files of an upload, of which the first is used. `examples`: questions to try, from its text and its pictures.
    """

    id: str
    version: str
    name: str
    uploaded: bool
    known: bool
    indexed: bool
    ready: bool
    words: PreparedSummary | None
    warnings: list[str]
    beside: list[str]
    job: JobRecord | None
    examples: list[str]


@dataclass(frozen=True, kw_only=True)
class ChapterRecord(Chapter):
    """A chapter; `image` is the URL of a small JPEG of its most typical frame."""

    image: str


class LibraryRecord(BaseModel):
    videos: list[VideoRecord]
    folder: str = Field(description="The name of the directory the server was started with; empty without one.")
    upload_bytes: int = Field(description="The largest video that can be uploaded.")


class MethodRecord(BaseModel):
    name: str
    summary: str
    paper: str
    needs: list[str]
    available: bool
    why_not: str
    options: dict[str, Any]


class Choices(BaseModel):
    """What can be chosen: methods, text modes, readers, and what each role means."""

    version: str
    methods: list[MethodRecord]
    text_modes: list[str]
    readers: list[str]
    added_readers: list[str] = Field(description="The readers among them that were added on the page.")
    roles: dict[str, str]
    encoder: str
    subtitle_endings: list[str] = Field(description="The suffixes of subtitle files.")


class QuestionRequest(RequestModel):
    """A question and the settings of the selection. Options may also be in the question: "Why …? A) this B) that"."""

    question: Annotated[BoundedText, Field(min_length=1, examples=["Why was the launch put off?"])]
    options: Annotated[list[BoundedText], Field(max_length=26)] = []
    budget: Annotated[int, Field(ge=1, le=MAX_BUDGET)] | Literal["auto"] = MOST
    text_mode: TextMode = ReaderSettings.text_mode
    visual_demand: Annotated[float, Field(ge=0, le=1)] | None = Field(
        default=None, description="0 (spoken) to 1 (visual); by default estimated from the question."
    )
    from_s: Annotated[float, Field(ge=0)] | None = Field(
        default=None, description="Start of the part of the video to consider, in seconds; by default the video's."
    )
    to_s: Annotated[float, Field(ge=0)] | None = Field(
        default=None, description="End of the part of the video to consider, in seconds; by default the video's."
    )
    pinned_s: Times = Field(
        default=[], description="Times of frames to keep: they take the places of the weakest beyond the budget."
    )
    removed_s: Times = Field(default=[], description="Times of frames to leave out, with those within two seconds.")
    settings: dict[BoundedName, dict[BoundedName, Any]] = Field(
        default={}, description="Options of methods, by method."
    )
    partial: bool = Field(
        default=False,
        description="Select from what is indexed so far instead of the error 409 while a video is being indexed.",
    )


class SelectRequest(QuestionRequest):
    method: BoundedName = DEFAULT_METHOD


class TracedSelectRequest(SelectRequest):
    trace: bool = Field(default=False, description="Return how the method decided; it can be large.")


class ViewRequest(QuestionRequest):
    methods: Annotated[list[BoundedName], Field(min_length=1, max_length=MAX_METHODS)] = [DEFAULT_METHOD]


class AskRequest(SelectRequest):
    reader: Annotated[str, StringConstraints(min_length=1, max_length=300)] = "similarity"


class LibraryAskRequest(AskRequest):
    """A question about several videos."""

    reader: Annotated[str, StringConstraints(max_length=300)] = Field(
        default="", description="Empty: frames are selected, and nobody is asked."
    )
    videos: Annotated[VideoIds, Field(description="By id; by default all that are indexed.")] = []


class MomentRecord(BaseModel):
    """A moment of a video that matches a search; `image` is the URL of a small JPEG."""

    video: str
    name: str
    time_s: float
    image: str
    relevance: float | None = Field(description="The cosine with the frame; null if it was found by its text only.")
    event_relevance: float | None = Field(description="The cosine with the text; null if it was found by its frame.")
    event: Event | None
    stands_out: bool = Field(description="Whether it matches better than it would unrelated questions.")
    strength: float = Field(description="How far it is from the level of unrelated questions, 0, to the best, 1.")
    start_s: float = Field(description="Where the stretch around it starts that matches more than half as well.")
    end_s: float


class EvidenceRecord(MomentRecord):
    """A selected frame of one of several videos, why it was selected, and whether the answer cites it."""

    why: list[str]
    cited: bool


class LibraryAnswer(BaseModel):
    """The frames that several videos share, in order of the videos and of time, and a reader's answer about them."""

    videos: list[str] = Field(description="The ids of the videos that were asked about.")
    left_out: int = Field(
        default=0, description="How many others were not, because a search found better moments in these."
    )
    frames: list[EvidenceRecord]
    note: str = Field(description="That nothing matches the question; else empty.")
    warnings: list[str]
    answer: "AnswerRecord | None" = Field(description="Its times are on the timeline of all videos, one after another.")


class SearchQuery(RequestModel):
    """What to search for: a text, or frames like that of a video at a time; and in which videos."""

    text: BoundedText = ""
    like: str | None = Field(default=None, max_length=64, description="The video whose frame to look for, by its id.")
    at_s: Annotated[float, Field(ge=0, lt=1e7)] = 0.0
    video: Annotated[VideoIds, Field(description="Search only these videos; by default all.")] = []
    limit: Annotated[int, Field(ge=1, le=MAX_MOMENTS)] = 24
    by: SearchBy = Field(default="both", description="By frames, by timestamped text, or by both.")


class ClipQuery(RequestModel):
    """A part of a video."""

    from_s: Annotated[float, Field(ge=0, lt=1e7)]
    to_s: Annotated[float, Field(ge=0, lt=1e7, description=f"At most {MAX_CLIP_S} s after from_s.")]
    cut: Cut = Field(default="copy", description="copy: from the last key frame before; exact: encoded again.")

    @model_validator(mode="after")
    def check_length(self) -> Self:
        if not 0 < self.to_s - self.from_s <= MAX_CLIP_S:
            raise ValueError(f"to_s is not after from_s, or more than {MAX_CLIP_S} s")
        return self


class SelectedFrameRecord(BaseModel):
    """Where to get a selected frame, and why it was selected."""

    time_s: float
    role: Role
    image: str = Field(description="The URL of a small JPEG.")
    full_image: str = Field(description="The URL of a JPEG as large as the video.")
    why: list[str]


class SelectionRecord(BaseModel):
    """`Selection.to_dict()`: what `framesift select --json` prints, without the file names, and the frames' URLs."""

    schema_: str = Field(alias="schema")
    method: str
    budget: int
    slots: list[Slot]
    trace: dict[str, Any] = Field(description="How the method decided; empty unless `trace` was set.")
    warnings: list[str] = Field(description="Those of the video, and what is odd in this selection.")
    basis: dict[str, Any] | None
    frames: list[SelectedFrameRecord] = Field(description="The frames of the slots, in the same order.")


class AnswerRecord(BaseModel):
    """`Answer.to_dict()`, with the times of the frames that the answer cites and the selection's warnings."""

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
    warnings: list[str]


class RenameRequest(RequestModel):
    title: Annotated[BoundedText, Field(max_length=200)]


class AddReaderRequest(RequestModel):
    """An OpenAI-type server. The key is kept on the server and never sent back."""

    address: Annotated[str, StringConstraints(min_length=1, max_length=300, pattern=r"^[^\x00]*$")] = Field(
        examples=["http://localhost:8001/v1#model"]
    )
    key: Annotated[str, StringConstraints(max_length=500, pattern=r"^[\x21-\x7e]*$")] = ""


class ReadersRecord(BaseModel):
    readers: list[str]
    added: list[str]


ExportFormat = Literal["zip", "json", "report"]


class ExportQuery(ViewRequest):
    """The query of an export: a view's fields, in the singular where they may be repeated, and the form."""

    model_config = ConfigDict(extra="ignore")

    format: ExportFormat = "zip"
    options: Annotated[list[BoundedText], Field(max_length=26, alias="option")] = []
    methods: Annotated[list[BoundedName], Field(min_length=1, max_length=MAX_METHODS, alias="method")] = [
        DEFAULT_METHOD
    ]
    settings: Json[dict[BoundedName, dict[BoundedName, Any]]] = Field(
        default="{}", validate_default=True, description="The `settings` of a request's body, as JSON."
    )
    kept: str | None = Field(
        default=None, pattern=r"^[0-9a-f]{16}$", description="A kept question, whose answers are exported too."
    )


def error_responses(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """Error statuses of a route, for the OpenAPI schema."""
    return {status: {"model": ErrorRecord} for status in statuses}
