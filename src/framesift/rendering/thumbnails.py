"""The pictures of an exhibit in the sizes that the contact sheet and the report want, gathered in one pass.

Only small pictures are held: the full-size ones go by one at a time.
"""

import base64
import io
from collections.abc import Callable
from dataclasses import dataclass, field

from PIL import Image

from framesift.progress import Progress, ignore_progress
from framesift.rendering.exhibit import Exhibit
from framesift.rendering.reasons import Reason, reasons

THUMB = 480  # longest side on the contact sheet
NEAR = 240  # longest side of a frame that nearly was
# The report's longest side by how many pictures it holds, so that the file stays fit to be mailed.
PAGE_SIDES = ((16, 1280), (64, 960), (10**9, 640))
PAGE_QUALITY = 82


@dataclass
class Album:
    """Per slot: a thumbnail, the report's JPEG as a data URL and its size; and the frames that nearly were, by time."""

    reasons: list[Reason]
    thumbs: list[Image.Image] = field(default_factory=list)
    pages: list[str] = field(default_factory=list)
    sizes: list[tuple[int, int]] = field(default_factory=list)
    near: dict[float, str] = field(default_factory=dict)


def gather(
    exhibit: Exhibit,
    *,
    pictures: int | None = None,
    each: Callable[[int, Image.Image], None] | None = None,
    progress: Progress = ignore_progress,
) -> Album:
    """Look once at every frame of the exhibit and every one that nearly was.

    pictures: how many the report will hold in all, by default this exhibit's. each: called with a frame's place and
    its finished picture at full size.
    """
    album = Album(reasons(exhibit.selection))
    side = next(side for most, side in PAGE_SIDES if (pictures or len(exhibit)) <= most)
    places = {time_s: place for place, time_s in enumerate(exhibit.selection.times_s)}
    near = {near.time_s for reason in album.reasons for near in reason.nearly}
    wanted = sorted(places.keys() | near)
    for done, (time_s, bare) in enumerate(exhibit.bare_pictures(wanted), 1):
        if time_s in near:
            album.near[time_s] = data_url(_shrunk(bare, NEAR), quality=75)
        if time_s in places:
            picture = exhibit.draw(places[time_s], bare)
            if each is not None:
                each(places[time_s], picture)
            page = _shrunk(picture, side)
            album.pages.append(data_url(page, quality=PAGE_QUALITY))
            album.sizes.append(page.size)
            album.thumbs.append(_shrunk(picture, THUMB))
        progress("frames", done, len(wanted))
    return album


def data_url(picture: Image.Image, *, quality: int) -> str:
    """The picture as a JPEG inside a URL."""
    return "data:image/jpeg;base64," + base64.b64encode(jpeg(picture, quality=quality)).decode("ascii")


def jpeg(picture: Image.Image, *, quality: int) -> bytes:
    buffer = io.BytesIO()
    picture.save(buffer, "JPEG", quality=quality)
    return buffer.getvalue()


def _shrunk(picture: Image.Image, side: int) -> Image.Image:
    scale = side / max(picture.size)
    if scale >= 1:
        return picture
    size = (max(1, round(picture.width * scale)), max(1, round(picture.height * scale)))
    return picture.resize(size, Image.Resampling.LANCZOS)
