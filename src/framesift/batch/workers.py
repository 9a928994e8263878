"""The workers: what one process does with a video to index, or with questions to answer."""

import shutil
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

from framesift.batch.executors.base import Task
from framesift.batch.journal import file_stamp
from framesift.batch.listing import is_url
from framesift.batch.remote_files import local_copy, local_file
from framesift.batch.settings import IndexSettings
from framesift.encoders.base import get_encoder, identify
from framesift.errors import FramesiftError
from framesift.progress import Progress
from framesift.store.events import AUTO, search_events
from framesift.store.fingerprint import fingerprint
from framesift.store.indexing import index
from framesift.store.store import INDEX, Store
from framesift.store.text_vectors import kept_vectors
from framesift.types import VideoIndex

EVENTS = "corpus"  # the name under which a corpus stores its videos' subtitles


class IndexWorker:
    """Indexes videos; the encoder is loaded at the first that needs it."""

    def __init__(self, settings: dict[str, Any]) -> None:
        self.settings = IndexSettings(**settings)
        self.store = Store(self.settings.store)
        name, weights = identify(self.settings.encoder)
        if weights != self.settings.encoder_fingerprint:
            raise FramesiftError(
                f"the weights of {name} on this machine differ from those of the machine that started the run; "
                "install the same weights everywhere"
            )

    def __call__(self, task: Task, progress: Progress) -> dict[str, Any]:
        path = task.name
        with local_file(path, progress) as file:
            stamp = file_stamp(path)
            video = fingerprint(file)
            built = False

            def on_progress(stage: str, done: float, expected: float) -> None:
                nonlocal built
                built = True
                progress(stage, done, expected)

            settings = self.settings
            video_index = index(
                file,
                settings.encoder,
                settings.fps,
                settings.mode,
                progress=on_progress,
                store=self.store,
                device=settings.device,
                source=path if is_url(path) else None,
            )
            if settings.events:
                self._store_events(file, task, video_index, video, progress)
        payload = self.store.root / settings.key(video).folder / INDEX
        return {
            "fingerprint": video,
            "frames": len(video_index),
            "duration_s": video_index.info.duration_s,
            "bytes": payload.stat().st_size,
            "status": "indexed" if built else "kept",
            "stamp": stamp,
        }

    def _store_events(self, file: Path, task: Task, video_index: VideoIndex, video: str, progress: Progress) -> None:
        """Store the subtitles beside or inside the video, and their vectors; no speech is recognised here."""
        subtitles = str(task.data.get("subtitles", ""))
        source: AbstractContextManager[str | Path] = nullcontext(subtitles or AUTO)
        if is_url(subtitles):
            source = local_copy(subtitles, progress)
        with source as subtitle_file:
            found = search_events(file, subtitles=subtitle_file, recognise_speech=False, store=self.store)
        stored = self.store.load_events(video, EVENTS)
        if stored is not None and stored != list(found.events):
            shutil.rmtree(self.store.root / video / f"events-{EVENTS}", ignore_errors=True)
        if found.events:
            self.store.save_events(video, EVENTS, found.events, task.name)
            kept_vectors(get_encoder(video_index.encoder), [event.text for event in found.events], self.store.root)
