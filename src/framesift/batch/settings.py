"""The settings that a run sends to its workers, as JSON values."""

from dataclasses import dataclass

from framesift.store.indexing import Fps, Mode
from framesift.store.store import Key


@dataclass(frozen=True)
class IndexSettings:
    """How every video of a run is indexed. events: also store the subtitles of each video, for `search`."""

    store: str
    encoder: str
    encoder_fingerprint: str
    fps: Fps
    mode: Mode
    device: str = "auto"
    events: bool = True

    def key(self, video: str) -> Key:
        rate = "auto" if self.fps == "auto" else f"{float(self.fps):g}"
        return Key(video, self.encoder, self.encoder_fingerprint, rate, self.mode)
