"""The vLLM plug-in: a video loader that selects frames by the question of the request.

`register` is what the entry-point group `vllm.general_plugins` names. vLLM passes a request's `media_io_kwargs` to the
loader: {"video": {"question": "…", "num_frames": 16}}.
"""

import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from framesift.errors import InputError
from framesift.pipeline.config import MOST, SelectionSettings
from framesift.pipeline.video import open as open_video
from framesift.types.vectors import Array

NAME = "framesift"


def register() -> None:
    """Register the loader with vLLM."""
    from vllm.envs import VLLM_VIDEO_LOADER_BACKEND
    from vllm.multimodal.video import VIDEO_LOADER_REGISTRY

    VIDEO_LOADER_REGISTRY.register(NAME)(VideoLoader)
    if VLLM_VIDEO_LOADER_BACKEND == NAME:
        # vLLM 0.24 and later prefer the loader of a model's processor to the one that this variable names.
        getattr(VIDEO_LOADER_REGISTRY, "processor2backend", {}).clear()


class VideoLoader:
    """Loads the frames of a video as vLLM's own loaders do."""

    @staticmethod
    def load_bytes(
        data: bytes,
        num_frames: int = MOST,
        *,
        question: str | None = None,
        burst: int = SelectionSettings.burst,
        **_: Any,
    ) -> tuple[Array, dict[str, Any]]:
        """(F, H, W, 3) the selected frames, and the metadata from which vLLM's models take their times.

        question: without one, frames that together represent the video best. _: arguments of other loaders.
        """
        by_question: dict[str, Any] = {} if question else {"method": "adaptive-greedy", "weight": 0.0}
        with tempfile.TemporaryDirectory(prefix="framesift-") as folder:
            path = Path(folder, "video")
            path.write_bytes(data)
            try:
                # The GPU's memory is vLLM's.
                video = open_video(path, device="cpu", budget=num_frames, burst=burst, **by_question)
                found = video.select(question or "the video", overlay="none")
                frames = np.stack([np.asarray(image) for image in found.images()])
            except InputError as error:
                raise InputError(str(error).replace(str(path), "the video")) from None
        return frames, {**found.video_timing(), "video_backend": NAME, "do_sample_frames": False}
