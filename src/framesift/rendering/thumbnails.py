"""The images of an exhibit in the sizes of the contact sheet and the report, made in one pass.

Only small images are kept in memory; full-size ones are passed on one at a time.
"""

import base64
import io
from collections.abc import Callable
from dataclasses import dataclass, field

from PIL import Image

from framesift.progress import Progress, ignore_progress
from framesift.rendering.reasons import explain
from framesift.rendering.rendered_selection import RenderedSelection
from framesift.selection.explainer import Reason

SHEET_SIDE = 480  # longest side on the contact sheet
ALTERNATIVE_SIDE = 240  # longest side of a frame that was not selected
# (most images, longest side): the more images a report has, the smaller they are, so that it can be sent by mail.
REPORT_SIDES = ((16, 1280), (64, 960), (10**9, 640))
REPORT_QUALITY = 82


@dataclass
class ReportImages:
    """Per slot: its reasons, a thumbnail for the sheet, the report's image as a URL and its size.

    alternatives: image URLs of frames that were not selected, by time.
    """

    reasons: list[Reason]
    thumbnails: list[Image.Image] = field(default_factory=list)
    urls: list[str] = field(default_factory=list)
    sizes: list[tuple[int, int]] = field(default_factory=list)
    alternatives: dict[float, str] = field(default_factory=dict)


def collect_images(
    exhibit: RenderedSelection,
    *,
    count: int | None = None,
    on_frame: Callable[[int, Image.Image], None] | None = None,
    progress: Progress = ignore_progress,
) -> ReportImages:
    """Decode every selected frame and every alternative once, and resize them for the sheet and the report.

    count: the number of images in the whole report, by default this exhibit's. on_frame: called with a frame's position
    and its rendered image at full size.
    """
    images = ReportImages(explain(exhibit.selection))
    side = next(side for most, side in REPORT_SIDES if (count or len(exhibit)) <= most)
    positions = {time_s: position for position, time_s in enumerate(exhibit.times_s)}
    alternatives = {other.time_s for reason in images.reasons for other in reason.alternatives}
    times_s = sorted(positions.keys() | alternatives)
    for done, (time_s, decoded) in enumerate(exhibit.bare_images(times_s), 1):
        if time_s in alternatives:
            images.alternatives[time_s] = data_url(shrink(decoded, ALTERNATIVE_SIDE), quality=75)
        if time_s in positions:
            image = exhibit.draw(positions[time_s], decoded)
            if on_frame is not None:
                on_frame(positions[time_s], image)
            small = shrink(image, side)
            images.urls.append(data_url(small, quality=REPORT_QUALITY))
            images.sizes.append(small.size)
            images.thumbnails.append(shrink(image, SHEET_SIDE))
        progress("frames", done, len(times_s))
    return images


def data_url(image: Image.Image, *, quality: int) -> str:
    """Encode an image as a JPEG inside a data URL."""
    return "data:image/jpeg;base64," + base64.b64encode(jpeg(image, quality=quality)).decode("ascii")


def jpeg(image: Image.Image, *, quality: int, **settings: int) -> bytes:
    buffer = io.BytesIO()
    image.save(buffer, "JPEG", quality=quality, **settings)
    return buffer.getvalue()


def shrink(image: Image.Image, side: int) -> Image.Image:
    """The image with its longest side reduced to this."""
    small = image.copy()
    small.thumbnail((side, side), Image.Resampling.LANCZOS, reducing_gap=None)
    return small


def short_side(width: int, height: int, longest: int) -> int | None:
    """The shorter side at which the longer one has `longest` pixels; None for an image that is smaller."""
    return max(1, -(-min(width, height) * longest // max(width, height))) if max(width, height) > longest else None
