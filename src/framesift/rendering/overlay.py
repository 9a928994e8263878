"""The words spoken at a frame, on a band along its bottom.

The band lies inside the frame's own canvas and is as low as its text allows, so that it hides little of the picture.
"""

import math

from PIL import Image

from framesift.rendering.typesetting.layout import TextBlock, lay_out

# Shares of the frame's height.
MOST_BAND = 0.22
SIZES = (0.065, 0.06, 0.055, 0.05, 0.045, 0.04)
# Share of the frame's width left free at each side.
SIDE = 0.025
MOST_LINES = 3
OPACITY = 0.75
# Nearly bold. Of 90 frames shrunk to 384 × 384 (six sentences, five photographs, three sizes) rapidocr saw no text on
# nine where letters were regular, all of one long line, and on none at this weight.
WEIGHT = 650.0
# Above and below the text, in ems.
PADDING = 0.22
# Smaller letters cannot be told apart in any font, so on a tiny frame they are a larger share of its height.
LEAST_PIXELS = 8.0


def render(picture: Image.Image, text: str, *, blank: bool = False) -> Image.Image:
    """The picture with its text on a band. blank: the band that the text would need, without the text.

    The picture itself stays as it is, and so does each pixel above the band. Where there is nothing to draw, because
    the text is empty or no font has its letters, a copy without band comes back.
    """
    shown = picture.copy() if picture.mode in ("RGB", "L") else picture.convert("RGB")
    width, height = shown.size
    most = math.floor(MOST_BAND * height)
    side = round(SIDE * width)
    block = _block(text, width - 2 * side, height, most)
    if not block.lines or not most:
        return shown
    padding = PADDING * block.size
    top = height - min(most, math.ceil(block.height + 2 * padding))
    band = shown.crop((0, top, width, height)).point(lambda level: round(level * (1 - OPACITY)))
    if not blank:
        block.draw(band, (side, (band.height - block.height) // 2), "white", within=width - 2 * side, centred=True)
    shown.paste(band, (0, top))
    return shown


def _block(text: str, width: int, height: int, most: int) -> TextBlock:
    sizes = sorted({max(share * height, LEAST_PIXELS) for share in SIZES}, reverse=True)
    # The text's own height at each size is what is left of the band after its padding.
    fitting = [size for size in sizes if size <= most] or [max(1.0, float(most))]
    room = most - 2 * PADDING * fitting[-1]
    return lay_out(text, max(1, width), sizes=fitting, lines=MOST_LINES, height=room, weight=WEIGHT)
