"""The frames of a video for selectors: decoded, and scored if needed, on demand."""

import os
from collections.abc import Callable, Iterable, Sequence

import numpy as np

from framesift.encoders.base import Encoder
from framesift.errors import InputError
from framesift.indexing.index import decoded_side
from framesift.types.vectors import Array
from framesift.video.frames import fetch
from framesift.video.given_frames import resize_all


class JointFrames:
    """A `FrameSource` over several videos: their sources in order, and how many candidates each has."""

    def __init__(self, sources: "Sequence[VideoFrames]", counts: Sequence[int]) -> None:
        self._owners = [(source, k) for source, count in zip(sources, counts, strict=True) for k in range(count)]
        self.size = sources[0].size

    def scores(self, indices: Sequence[int]) -> Array:
        return np.array(self._ask(indices, lambda source, own: source.scores(own)))

    def images(self, indices: Sequence[int], *, size: tuple[int, int]) -> list[Array]:
        return self._ask(indices, lambda source, own: source.images(own, size=size))

    def _ask(self, indices: Sequence[int], ask: "Callable[[VideoFrames, list[int]], Iterable[Array]]") -> list[Array]:
        """The values of these candidates in their order; each video is asked once."""
        own: dict[VideoFrames, list[int]] = {}
        for index in indices:
            source, number = self._owners[index]
            own.setdefault(source, []).append(number)
        values = {
            (source, number): value
            for source, numbers in own.items()
            for number, value in zip(numbers, ask(source, numbers), strict=True)
        }
        return [values[self._owners[index]] for index in indices]


class VideoFrames:
    """A `FrameSource` over a video file. times_s: the presentation times of the candidates, as in its index.

    With an encoder and the text vector of the question it also computes scores, so that a video can be searched
    without an index: `Lookup(frames=VideoFrames(…))`. size: width and height of the video.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        times_s: Sequence[float] | Array,
        *,
        encoder: Encoder | None = None,
        query: Array | None = None,
        size: tuple[int, int] = (0, 0),
    ) -> None:
        self.size = size
        self._path, self._times_s = path, np.asarray(times_s, dtype=np.float64)
        self._encoder, self._query = encoder, query

    def scores(self, indices: Sequence[int]) -> Array:
        if self._encoder is None or self._query is None:
            raise InputError("frames can't be scored without an encoder; pass encoder= and query=")
        query = np.asarray(self._query, dtype=np.float64)
        out = np.empty(len(indices))
        for start in range(0, len(indices), batch := int(getattr(self._encoder, "batch_size", 16))):
            part = indices[start : start + batch]
            rows = self._encoder.encode_images(self._decode(part, decoded_side(self._encoder)))
            out[start : start + batch] = rows.astype(np.float64) @ query
        return out

    def images(self, indices: Sequence[int], *, size: tuple[int, int]) -> list[Array]:
        return resize_all(self._decode(indices, min(size)), size)

    def _decode(self, indices: Sequence[int], short_side: int | None) -> list[Array]:
        """Decode frames in the order given; the file is read once, by ascending time."""
        ascending = sorted(set(indices))
        fetched = fetch(self._path, self._times_s[ascending].tolist(), short_side=short_side)
        by_index = dict(zip(ascending, (image for _, image in fetched), strict=True))
        return [by_index[index] for index in indices]
