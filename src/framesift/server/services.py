"""The objects the routes work with, and the start and stop of their background threads."""

import threading
from dataclasses import dataclass

from framesift.server.answer_tasks import AnswerTasks
from framesift.server.answering import Answering
from framesift.server.catalog import Catalog
from framesift.server.config import ServerConfig
from framesift.server.files import VideoFiles
from framesift.server.frame_images import FrameImages
from framesift.server.history import History
from framesift.server.jobs import JobQueue
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
    tasks: AnswerTasks
    changes: ChangeCounter
    open_streams: int = 0
    jobs_json: tuple[int, str] = (-1, "")  # the jobs as JSON, and the value of `changes` it was made at
    active_uploads: int = 0
    closing: bool = False

    @classmethod
    def create(cls, config: ServerConfig) -> "Services":
        changes = ChangeCounter()
        files = VideoFiles(config)
        catalog = Catalog(config, files, changes)
        images = FrameImages(config.state / "pictures")
        queue = JobQueue(
            config.state / "jobs.json", (catalog.index_frames, catalog.find_text), changes, files.folder_id
        )
        readers = PageReaders(config.state / "readers.json", config.readers, only_public=config.is_shared)
        answering = Answering(catalog, images, readers)
        history = History(config.state / "history", changes)
        tasks = AnswerTasks(answering, history)
        return cls(config, files, catalog, images, queue, answering, history, tasks, changes)

    def start(self) -> None:
        self.catalog.start()
        self.images.start()
        self.queue.start()

    def stop(self) -> None:
        self.closing = True
        self.catalog.stop()
        self.images.stop()
        self.tasks.save()
        self.queue.stop()
