"""The objects the routes work with, and the start and stop of their background threads."""

import threading
from dataclasses import dataclass

from framesift.errors import FramesiftError, InputError
from framesift.library.catalog import Catalog
from framesift.library.files import LibraryVideo, VideoFiles, public_message
from framesift.library.jobs import Job, JobQueue
from framesift.progress import Progress
from framesift.server.answering import Answering
from framesift.server.config import ServerConfig
from framesift.server.frame_images import FrameImages
from framesift.server.history import History
from framesift.server.page_readers import PageReaders


class ChangeCounter:
    """A counter raised whenever something the page shows has changed; event streams compare it with the last sent."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.value = 0

    def __call__(self) -> None:
        with self._lock:
            self.value += 1


@dataclass
class Services:
    """One set per application."""

    config: ServerConfig
    files: VideoFiles
    catalog: Catalog
    images: FrameImages
    queue: JobQueue
    answering: Answering
    history: History
    changes: ChangeCounter
    open_streams: int = 0
    active_uploads: int = 0
    closing: bool = False

    @classmethod
    def create(cls, config: ServerConfig) -> "Services":
        changes = ChangeCounter()
        files = VideoFiles(config.folder, config.state)
        catalog = Catalog(config.pipeline, config.state, changes)
        images = FrameImages(config.state / "frames")

        def work(job: Job, progress: Progress) -> None:
            if job.kind == "sample":
                from framesift.demo.video import sample_video

                sample_video(files.uploads, name=job.name, progress=progress)
            video = files.get(job.video)
            if video is None:
                raise InputError(f"{job.name!r} no longer exists")
            try:
                catalog.index(video, progress)
            except FramesiftError as error:
                raise FramesiftError(public_message(error, video)) from error

        queue = JobQueue(work, path=config.state / f"jobs-{files.folder_id}.json", changed=changes)
        readers = PageReaders(config.state / "readers.json", config.readers, only_public=config.is_shared)
        answering = Answering(catalog, images, readers)
        history = History(config.state / "history", answering, changes)
        return cls(config, files, catalog, images, queue, answering, history, changes)

    def start(self) -> None:
        self.catalog.start(self.files.list_videos)
        self.images.start()
        self.queue.start()

    def enqueue(self, video: LibraryVideo) -> Job:
        """Queue a video for indexing, unless it can't be read."""
        problem = self.catalog.facts(video).problem
        if problem:
            raise InputError(problem)
        return self.queue.add(video.id, video.name)

    def stop(self) -> None:
        self.closing = True
        self.catalog.stop()
        self.images.stop()
        self.history.save_running()
        self.queue.stop()
