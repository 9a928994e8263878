"""What selectors get about questions beyond vectors: frames, objects, the events' scores, text vectors and models."""

import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from framesift.encoders.base import Encoder, encode_long_texts
from framesift.encoders.registry import get_encoder, get_text_encoder, load_models
from framesift.errors import FramesiftError
from framesift.progress import Progress, ignore_progress
from framesift.selection.model_calls import SERVER_OPTIONS, QuestionContext
from framesift.selection.registry import Method, get_selector
from framesift.store.text_vectors import cached_text_vectors
from framesift.store.video_frames import JointFrames, VideoFrames
from framesift.text.object_names import LanguageModelNamer, ObjectNamer, RuleBasedNamer
from framesift.types import Event, Question, VideoIndex
from framesift.types.frame_source import FrameSource, Objects
from framesift.types.vectors import Array
from framesift.types.window import candidates_in


def score_events(
    texts: Sequence[str],
    events: Sequence[Event],
    encoder: str | Encoder,
    store: str | os.PathLike[str] | None,
) -> Array:
    """(K, E) cosines of texts and events by a text encoder."""
    model = get_text_encoder(encoder) if isinstance(encoder, str) else encoder
    rows = encode_long_texts(model, texts)
    return rows.astype(np.float64) @ cached_text_vectors(model, [event.text for event in events], store).T


def visual_inputs(
    index: VideoIndex, questions: Sequence[Question], method: Method, namer: ObjectNamer | str | None
) -> tuple[FrameSource | None, list[Objects] | None]:
    """The frames and the objects to search for, for the selectors that need them."""
    selector = get_selector(method)
    source: FrameSource | None = None
    objects: list[Objects] | None = None
    if "pictures" in selector.needs or "detector" in selector.options:
        source = frame_source(index)
    if "objects" in selector.needs:
        resolved = _resolve_namer(namer)
        objects = [resolved.name_objects(question) for question in questions]
    return source, objects


def frame_source(index: VideoIndex) -> FrameSource:
    """The decoded candidates of an index, of one video or of several."""
    size = index.info.width, index.info.height
    if not index.videos:
        return VideoFrames(index.info.path, index.times_s, size=size)
    sources, counts = [], []
    for video in index.videos:
        candidates = candidates_in(index.times_s, (video.start_s, video.start_s + video.duration_s))
        times_s = index.times_s[candidates.start : candidates.stop] - video.start_s
        sources.append(VideoFrames(video.path, times_s, size=size))
        counts.append(len(candidates))
    return JointFrames(sources, counts)


def question_contexts(
    questions: Sequence[Question],
    events: Sequence[Event],
    method: Method,
    *,
    encoder: str | Encoder,
    event_encoder: str | None,
    store: str | os.PathLike[str] | None,
) -> list[QuestionContext] | None:
    """What a selector with the option `context` gets about each question; None for the others."""
    if "context" not in get_selector(method).options:
        return None

    def encode_texts(texts: Sequence[str]) -> Array:
        return encode_long_texts(get_encoder(encoder) if isinstance(encoder, str) else encoder, texts)

    def score(texts: Sequence[str]) -> Array:
        return score_events(texts, events, event_encoder or encoder, store)

    return [QuestionContext(question, encode_texts, score) for question in questions]


def resolve_options(
    index: VideoIndex,
    method: Method,
    options: Mapping[str, Any],
    store: str | os.PathLike[str] | None,
    *,
    encoder: str | Encoder,
    questions: int = 1,
    progress: Progress = ignore_progress,
) -> dict[str, Any]:
    """The method's options, with a detector or network given by name or path and a model given by address loaded.

    The option `fps` is the video's frame rate unless it is given; `logit_scale` and `logit_bias` are those of a SigLIP
    encoder, whose probabilities they turn cosines into. progress counts the calls of models, up to the option
    `calls` for each of the questions.
    """
    resolved = load_models(options)
    defaults = get_selector(method).options
    if "fps" in defaults and index.info.fps > 0:
        resolved.setdefault("fps", index.info.fps)
    if "logit_scale" in defaults and "logit_scale" not in options:
        resolved |= _logits(encoder)
    limit = options.get("calls", defaults.get("calls"))
    most, made = questions * (limit if isinstance(limit, int) else 1), 0

    def count_call() -> None:
        nonlocal made
        made += 1
        progress("model calls", made, max(made, most))

    for name in SERVER_OPTIONS:
        if isinstance(resolved.get(name), str):
            from framesift.readers.chat import ChatModel

            resolved[name] = ChatModel(resolved[name], store, on_reply=count_call)
    return resolved


def _logits(encoder: str | Encoder) -> dict[str, float]:
    try:
        model = get_encoder(encoder) if isinstance(encoder, str) else encoder
    except FramesiftError:
        return {}  # the caller's own vectors, by an encoder that can't be loaded here
    bias = getattr(model, "logit_bias", 0.0)
    return {"logit_scale": model.logit_scale, "logit_bias": bias} if bias else {}  # type: ignore[attr-defined]


def _resolve_namer(namer: ObjectNamer | str | None) -> ObjectNamer:
    if isinstance(namer, str):
        from framesift.readers.openai import OpenAIReader

        return LanguageModelNamer(OpenAIReader(namer).complete)
    return namer or RuleBasedNamer()
