"""What selectors get about questions beyond vectors: frames, objects, the events' scores, text vectors and models."""

import os
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from framesift.encoders.base import UNKNOWN, Encoder, encode_long_texts, fingerprint_of
from framesift.encoders.registry import get_encoder, get_text_encoder, load_models
from framesift.errors import FramesiftError
from framesift.indexing.video_frames import JointFrames, VideoFrames
from framesift.pipeline.config import PipelineConfig, SelectionSettings
from framesift.pipeline.prepared import PreparedVideo
from framesift.progress import Progress, ignore_progress
from framesift.selection.chance import UNRELATED, ChanceLevels, chance_levels, compare_with_chance, word_scores
from framesift.selection.lexical import EventWords, quoting
from framesift.selection.looking.object_names import LanguageModelNamer, ObjectNamer, RuleBasedNamer
from framesift.selection.registry import get_selector
from framesift.store.fingerprint import fingerprint
from framesift.store.store import Store, cached_text_vectors, levels_name
from framesift.types import Event, Question, Selection, VideoIndex
from framesift.types.lookup import SERVER_OPTIONS, FrameSource, Lookup
from framesift.types.vectors import Array
from framesift.types.window import candidates_in

if TYPE_CHECKING:
    from framesift.encoders.base import TextEncoder


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


def with_chance(
    video: PreparedVideo, selection: Selection, encoder: Encoder, config: PipelineConfig, *, is_partial: bool = False
) -> Selection:
    """The selection with `basis.chance`. is_partial: the video is not indexed yet, so that its levels will change."""
    basis = selection.basis
    if basis is None or basis.question is None or not len(video.index):
        return selection
    text_encoder = (
        encoder if config.selection.event_encoder is None else get_text_encoder(config.selection.event_encoder)
    )
    levels = video.chance_levels.get(text_encoder.name)
    if levels is None:
        levels = _levels(video, encoder, text_encoder, config, is_stored=not is_partial)
        video.chance_levels[text_encoder.name] = levels
    considered = np.setdiff1d(basis.considered, basis.skipped)
    text = basis.question.query_text
    query = encode_long_texts(text_encoder, [text])
    words = _word_scores([text], query, video, basis.events, text_encoder, config)[:, 0]
    quoted = quoting([event.text for event in basis.events], text)
    chance = compare_with_chance(levels, basis.relevance[considered], words, quoted)
    return replace(selection, basis=replace(basis, chance=chance))


def _levels(
    video: PreparedVideo, encoder: Encoder, text_encoder: "TextEncoder", config: PipelineConfig, *, is_stored: bool
) -> ChanceLevels:
    """What unrelated questions score in a video, from the store or computed now."""
    store, content, name = Store(config.index.store), "", ""
    encoders = [fingerprint_of(encoder), fingerprint_of(text_encoder)]
    if is_stored and not video.videos and UNKNOWN not in encoders and os.path.isfile(video.path):
        content = fingerprint(video.path)
        name = levels_name(video.index.frames, [*encoders, UNRELATED, [event.text for event in video.events]])
        stored = store.load_levels(content, name)
        if stored is not None:
            return ChanceLevels(*stored)
    frames = video.index.vectors.products(cached_text_vectors(encoder, UNRELATED, config.index.store))
    queries = cached_text_vectors(text_encoder, UNRELATED, config.index.store)
    words = _word_scores(UNRELATED, queries, video, video.events, text_encoder, config)
    levels = chance_levels(frames, words)
    if name:
        store.save_levels(content, name, (levels.low, levels.high, levels.words), str(video.path))
    return levels


def _word_scores(
    texts: Sequence[str],
    queries: Array,
    video: PreparedVideo,
    events: Sequence[Event],
    encoder: "TextEncoder",
    config: PipelineConfig,
) -> Array:
    """(E, K) how well the events match each of the texts, whose vectors are queries (K, D)."""
    if not events:
        return np.zeros((0, len(texts)))
    is_all = len(events) == len(video.events)
    spoken = [event.text for event in events]
    if is_all and config.selection.event_encoder is None and video.event_vectors is not None:
        vectors = video.event_vectors
    else:
        vectors = cached_text_vectors(encoder, spoken, config.index.store)
    shared = video.event_words if is_all else EventWords(spoken)
    lexical = np.stack([shared.scores(text) for text in texts], axis=1)
    return word_scores(vectors.astype(np.float64) @ queries.T, lexical)


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


def make_lookups(
    index: VideoIndex,
    questions: Sequence[Question],
    events: Sequence[Event],
    settings: SelectionSettings,
    *,
    encoder: str | Encoder,
    store: str | os.PathLike[str] | None,
) -> list[Lookup] | None:
    """What a selector may look at or ask about each question, but for its options; None if it looks at nothing."""
    selector = get_selector(settings.method)
    if not selector.takes_lookup:
        return None

    def encode_texts(texts: Sequence[str]) -> Array:
        return encode_long_texts(get_encoder(encoder) if isinstance(encoder, str) else encoder, texts)

    def score(texts: Sequence[str]) -> Array:
        return score_events(texts, events, settings.event_encoder or encoder, store)

    lookup = Lookup(frames=frame_source(index), encode_texts=encode_texts, score_events=score)
    named = _resolve_namer(settings.namer) if "objects" in selector.needs else None
    return [
        replace(lookup, question=question, objects=None if named is None else named.name_objects(question))
        for question in questions
    ]


def resolve_options(
    index: VideoIndex,
    settings: SelectionSettings,
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
    options = settings.method_options
    resolved = load_models(options)
    defaults = get_selector(settings.method).options
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
