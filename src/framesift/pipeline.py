"""A question put to an indexed video: from words to vectors to frames."""

import os
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from framesift.types import Event, Question, Selection, VideoIndex
from framesift.types.frame_source import FrameSource, Objects
from framesift.types.vectors import Array

if TYPE_CHECKING:
    from framesift.encoders.base import Encoder
    from framesift.text.object_names import ObjectNamer


def select(
    index: VideoIndex,
    question: Question | str,
    *,
    events: Sequence[Event] = (),
    budget: int = 32,
    method: str = "gcr",
    encoder: "str | Encoder | None" = None,
    event_encoder: str | None = None,
    visual_demand: float | str | Callable[[str], float] = "rules",
    namer: "ObjectNamer | str | None" = None,
    store: "str | os.PathLike[str] | None" = None,
    **options: object,
) -> Selection:
    """Choose the frames of a video that help to answer a question.

    events: timestamped text of the video. budget: how many frames. method: a name of `selectors()`; options: that
    selector's own. visual_demand: "rules", a number from 0 (words) to 1 (pictures), or a function of the question.
    encoder: of the words; by default the one named in the index, and it must be the one that made it. event_encoder:
    "minilm" compares events with the question by a sentence encoder, which is better at text than SigLIP's; by default
    the paper's way, the encoder itself. namer: of the objects that some selectors look for; by default noun phrases by
    rule, or the address of an OpenAI-type server that is asked for them. A detector or network among the options may be
    a name or a path. store: where the events' vectors are kept; they are computed once.
    """
    return select_many(
        index,
        [question],
        queries=None,
        events=events,
        event_features=None,
        budget=budget,
        method=method,
        encoder=encoder,
        event_encoder=event_encoder,
        visual_demand=visual_demand,
        namer=namer,
        store=store,
        **options,
    )[0]


def select_many(
    index: VideoIndex,
    questions: Sequence[Question | str],
    *,
    queries: Array | None = None,
    events: Sequence[Event] = (),
    event_features: Array | None = None,
    budget: int = 32,
    method: str = "gcr",
    encoder: "str | Encoder | None" = None,
    event_encoder: str | None = None,
    visual_demand: float | str | Callable[[str], float] = "rules",
    namer: "ObjectNamer | str | None" = None,
    store: "str | os.PathLike[str] | None" = None,
    **options: object,
) -> list[Selection]:
    """Select for each of many questions on one video, with one product for all relevances.

    queries (Q, D) and event_features (E, D): text vectors, if you have them; else the index's own encoder makes them.
    """
    from framesift.selection.batch_select import select_from_vectors

    asked = [Question(question) if isinstance(question, str) else question for question in questions]
    event_scores = None
    if events and event_encoder is not None and asked:
        event_scores = _scores_of_events(asked, events, event_encoder, store)
    if (queries is None and asked) or (events and event_features is None and event_scores is None):
        from framesift.encoders.base import encode_long_texts, get_encoder
        from framesift.store.text_vectors import kept_vectors

        named = index.encoder if encoder is None else encoder
        model = get_encoder(named) if isinstance(named, str) else named
        if queries is None:
            queries = encode_long_texts(model, [question.query_text for question in asked])
        if events and event_features is None and event_scores is None:
            event_features = kept_vectors(model, [event.text for event in events], store)
    source, objects = _sight(index, asked, method, namer)
    return select_from_vectors(
        index,
        asked,
        queries=queries,
        events=events,
        event_features=event_features,
        event_scores=event_scores,
        budget=budget,
        method=method,
        visual_demand=visual_demand,
        source=source,
        objects=objects,
        **_loaded(options),
    )


def _sight(
    index: VideoIndex, questions: Sequence[Question], method: str, namer: "ObjectNamer | str | None"
) -> tuple[FrameSource | None, list[Objects] | None]:
    """The frames themselves and the objects to look for, for the selectors that want them."""
    from framesift.selection.registry import get_selector

    needs = get_selector(method).needs
    source: FrameSource | None = None
    objects: list[Objects] | None = None
    if "pictures" in needs:
        from framesift.store.video_frames import VideoFrames

        source = VideoFrames(index.info.path, index.times_s)
    if "objects" in needs:
        named_by = _namer(namer)
        objects = [named_by.name_objects(question) for question in questions]
    return source, objects


def _namer(namer: "ObjectNamer | str | None") -> "ObjectNamer":
    from framesift.text.object_names import LanguageModelNamer, RuleBasedNamer

    if isinstance(namer, str):
        from framesift.readers.openai import OpenAIReader

        return LanguageModelNamer(OpenAIReader(namer).complete)
    return namer or RuleBasedNamer()


def _loaded(options: dict[str, object]) -> dict[str, object]:
    """The options, with a detector or network given by name loaded from this machine."""
    from importlib import import_module

    rooms = {"detector": "framesift.encoders.detectors", "network": "framesift.encoders.temporal"}
    named = {name: value for name, value in options.items() if name in rooms and isinstance(value, str | os.PathLike)}
    return options | {name: import_module(rooms[name]).load(os.fspath(value)) for name, value in named.items()}


def _scores_of_events(
    questions: Sequence[Question],
    events: Sequence[Event],
    event_encoder: str,
    store: "str | os.PathLike[str] | None",
) -> Array:
    """(Q, E) cosines of questions and events by a text encoder of their own."""
    from framesift.encoders.base import encode_long_texts, get_text_encoder
    from framesift.store.text_vectors import kept_vectors

    model = get_text_encoder(event_encoder)
    asked = encode_long_texts(model, [question.query_text for question in questions])
    return asked.astype(np.float64) @ kept_vectors(model, [event.text for event in events], store).T
