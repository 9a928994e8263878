"""What questions need beyond the frames' vectors: encoders, scores of chance, what selectors look at or ask."""

import os
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from framesift.encoders.base import UNKNOWN, Encoder, TextEncoder, encode_long_texts, fingerprint_of
from framesift.encoders.registry import get_encoder, get_text_encoder, load_models
from framesift.errors import FramesiftError
from framesift.indexing.video_frames import JointFrames, VideoFrames
from framesift.pipeline.config import PipelineConfig
from framesift.pipeline.data import VideoData
from framesift.progress import Progress, ignore_progress
from framesift.selection.chance import UNRELATED, ChanceLevels, chance_levels, compare_with_chance, word_scores
from framesift.selection.lexical import EventWords, quoting
from framesift.selection.looking.object_names import LanguageModelNamer, ObjectNamer, RuleBasedNamer
from framesift.selection.registry import get_selector
from framesift.store.fingerprint import fingerprint
from framesift.store.store import Store, cached_text_vectors, levels_name
from framesift.types import Event, Question, Selection, VideoIndex
from framesift.types.lookup import SERVER_OPTIONS, FrameSource, Lookup
from framesift.types.vectors import Array, dot_products
from framesift.types.window import candidates_in


class Encoders:
    """The encoders of a video's frames and of its text, each loaded when it is first used."""

    def __init__(self, index: VideoIndex, config: PipelineConfig) -> None:
        self.config, self._index = config, index
        self.store = config.index.store

    @cached_property
    def frames(self) -> Encoder:
        named = self.config.index.encoder
        if isinstance(named, str):  # "auto" may mean another one by now
            return get_encoder(self._index.encoder, device=self.config.index.device)
        return named

    @cached_property
    def text(self) -> TextEncoder:
        named = self.config.selection.event_encoder
        return self.frames if named is None else get_text_encoder(named)

    def encode_events(self, events: Sequence[Event], *, progress: Progress = ignore_progress) -> Array | None:
        """The events' text vectors, computed once per text; None where the index's encoder does not compare them."""
        if not events:
            return None
        vectors = cached_text_vectors(self.text, [event.text for event in events], self.store, progress=progress)
        return vectors if self.config.selection.event_encoder is None else None

    def own_vectors(self, video: VideoData) -> Array | None:
        """The vectors of the video's events, unless these settings compare events by an encoder of their own."""
        return video.event_vectors if self.config.selection.event_encoder is None else None

    def encode_questions(self, questions: Sequence[Question]) -> Array:
        """(Q, D) the questions' text vectors by the index's encoder, for `Video.select(queries=…)`."""
        query = self.config.selection.query
        return encode_long_texts(self.frames, [question.compared(query) for question in questions])

    def score_events(self, texts: Sequence[str], events: Sequence[Event]) -> Array:
        """(K, E) cosines of texts and events."""
        return encode_long_texts(self.text, texts).astype(np.float64) @ self.text_vectors(events).T

    def text_vectors(self, events: Sequence[Event]) -> Array:
        """(E, D) the events' vectors by the encoder of text."""
        return cached_text_vectors(self.text, [event.text for event in events], self.store)


def with_chance(video: VideoData, selection: Selection, *, is_partial: bool = False) -> Selection:
    """The selection with `basis.chance`. is_partial: the video is not indexed yet, so that its levels will change."""
    basis, encoders = selection.basis, Encoders(video.index, video.config)
    if basis is None or basis.question is None or not len(video.index):
        return selection
    levels = levels_of(video, encoders, is_partial=is_partial)
    text = basis.question.compared(video.config.selection.query)
    words = _word_scores([text], video.encoded(encoders.text, [text]), video, basis.events, encoders)[:, 0]
    considered = np.setdiff1d(basis.considered, basis.skipped)
    quoted = quoting([event.text for event in basis.events], text)
    chance = compare_with_chance(levels, basis.relevance[considered], words, quoted)
    return replace(selection, basis=replace(basis, chance=chance))


def levels_of(video: VideoData, encoders: Encoders, *, is_partial: bool = False) -> ChanceLevels:
    """What unrelated questions score in a video, computed once. is_partial: as in `with_chance`."""
    known = video.chance_levels
    if encoders.text.name not in known:
        known[encoders.text.name] = _levels(video, encoders, is_stored=not is_partial)
    return known[encoders.text.name]


def _levels(video: VideoData, encoders: Encoders, *, is_stored: bool) -> ChanceLevels:
    """What unrelated questions score in a video, from the store or computed now."""
    store, content, name = Store(encoders.store), "", ""
    made_by = [fingerprint_of(encoders.frames), fingerprint_of(encoders.text)]
    if is_stored and not video.videos and UNKNOWN not in made_by and os.path.isfile(video.path):
        content = fingerprint(video.path)
        name = levels_name(video.index.vectors, [*made_by, UNRELATED, [event.text for event in video.events]])
        stored = store.load_levels(content, name)
        if stored is not None:
            return ChanceLevels(*stored)
    frames = video.index.vectors.products(cached_text_vectors(encoders.frames, UNRELATED, encoders.store))
    queries = cached_text_vectors(encoders.text, UNRELATED, encoders.store)
    levels = chance_levels(frames, _word_scores(UNRELATED, queries, video, video.events, encoders))
    if name:
        store.save_levels(content, name, (levels.low, levels.high, levels.words), str(video.path))
    return levels


def _word_scores(
    texts: Sequence[str], queries: Array, video: VideoData, events: Sequence[Event], encoders: Encoders
) -> Array:
    """(E, K) how well the events match each of the texts, whose vectors are queries (K, D)."""
    if not events:
        return np.zeros((0, len(texts)))
    spoken = [event.text for event in events]
    vectors, words = None, None
    if len(events) == len(video.events):  # what the questions of a video share
        vectors, words = encoders.own_vectors(video), video.event_words
    if vectors is None:
        vectors = cached_text_vectors(encoders.text, spoken, encoders.store)
    lexical = np.stack([(words or EventWords(spoken)).scores(text) for text in texts], axis=1)
    return word_scores(dot_products(vectors, queries), lexical)


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


def make_lookups(video: VideoData, questions: Sequence[Question], encoders: Encoders) -> list[Lookup] | None:
    """What a selector may look at or ask about each question, but for its options; None if it looks at nothing."""
    settings = encoders.config.selection
    selector = get_selector(settings.method)
    if not selector.takes_lookup:
        return None
    lookup = Lookup(
        frames=video.frames or frame_source(video.index),
        encode_texts=lambda texts: encode_long_texts(encoders.frames, texts),
        score_events=lambda texts: encoders.score_events(texts, video.events),
    )
    named = _resolve_namer(settings.namer) if "objects" in selector.needs else None
    return [
        replace(lookup, question=question, objects=None if named is None else named.name_objects(question))
        for question in questions
    ]


def resolve_options(index: VideoIndex, encoders: Encoders, *, questions: int, progress: Progress) -> dict[str, Any]:
    """The method's options, with a detector or network given by name or path and a model given by address loaded.

    The option `fps` is the video's frame rate unless it is given; `logit_scale` and `logit_bias` are those of a SigLIP
    encoder, whose probabilities they turn cosines into. progress counts the calls of models, up to the option
    `calls` for each of the questions.
    """
    settings = encoders.config.selection
    options = settings.method_options
    resolved = load_models(options)
    defaults = get_selector(settings.method).options
    if "fps" in defaults and index.info.fps > 0:
        resolved.setdefault("fps", index.info.fps)
    if "logit_scale" in defaults and "logit_scale" not in options:
        with suppress(FramesiftError):  # the caller's own vectors, by an encoder that can't be loaded here
            model: Any = encoders.frames
            if getattr(model, "logit_bias", 0.0):
                resolved |= {"logit_scale": model.logit_scale, "logit_bias": model.logit_bias}
    limit = options.get("calls", defaults.get("calls"))
    most, made = questions * (limit if isinstance(limit, int) else 1), 0

    def count_call() -> None:
        nonlocal made
        made += 1
        progress("model calls", made, max(made, most))

    for name in SERVER_OPTIONS:
        if isinstance(resolved.get(name), str):
            from framesift.readers.chat import ChatModel

            resolved[name] = ChatModel(resolved[name], encoders.store, on_reply=count_call)
    return resolved


def _resolve_namer(namer: ObjectNamer | str | None) -> ObjectNamer:
    if isinstance(namer, str):
        from framesift.readers.openai import OpenAIReader

        reader = OpenAIReader(namer)
        return LanguageModelNamer(lambda prompt: reader.reply([prompt]))
    return namer or RuleBasedNamer()
