"""The overlay: an event's text on a band along the bottom of the frame.

The band lies inside the frame and is only as high as its text, so that it covers little of the image.
"""

import math

from PIL import Image

from framesift.rendering.typesetting.layout import TextBlock, lay_out

# Fractions of the frame's height.
MAX_BAND = 0.22
SIZES = (0.065, 0.06, 0.055, 0.05, 0.045, 0.04)
# Fraction of the frame's width left free at each side.
SIDE_MARGIN = 0.025
MAX_LINES = 3
OPACITY = 0.75
# Nearly bold. On 90 frames scaled to 384 × 384 (six sentences, five photographs, three sizes) rapidocr found no text on
# nine in regular weight, all of them one long line, and found it on all at this weight.
WEIGHT = 650.0
# Above and below the text, in ems.
PADDING = 0.22
# Smaller text is illegible in any font; on small frames it takes a larger fraction of the height.
MIN_TEXT_PIXELS = 8.0


def render(image: Image.Image, text: str, *, blank: bool = False) -> Image.Image:
    """Return a copy of the image with the text on a band. blank: draw the band of that text without the text.

    The pixels above the band are unchanged. If there is nothing to draw, because the text is empty or no font has its
    glyphs, the copy has no band.
    """
    result = image.copy() if image.mode in ("RGB", "L") else image.convert("RGB")
    width, height = result.size
    max_height = math.floor(MAX_BAND * height)
    margin = round(SIDE_MARGIN * width)
    block = _block(text, width - 2 * margin, height, max_height)
    if not block.lines or not max_height:
        return result
    padding = PADDING * block.size
    top = height - min(max_height, math.ceil(block.height + 2 * padding))
    band = result.crop((0, top, width, height)).point(lambda level: round(level * (1 - OPACITY)))
    if not blank:
        block.draw(band, (margin, (band.height - block.height) // 2), "white", within=width - 2 * margin, centred=True)
    result.paste(band, (0, top))
    return result


def _block(text: str, width: int, height: int, max_height: int) -> TextBlock:
    sizes = sorted({max(fraction * height, MIN_TEXT_PIXELS) for fraction in SIZES}, reverse=True)
    # The height left for the text is the band without its padding.
    fitting = [size for size in sizes if size <= max_height] or [max(1.0, float(max_height))]
    text_height = max_height - 2 * PADDING * fitting[-1]
    return lay_out(text, max(1, width), sizes=fitting, lines=MAX_LINES, height=text_height, weight=WEIGHT)
