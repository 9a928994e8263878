"""One sentence per script, and functions to inspect what was drawn."""

import numpy as np
from PIL import Image

from framesift.rendering.typesetting import fonts
from framesift.rendering.typesetting.layout import lay_out
from framesift.rendering.typesetting.shaping import ShapedLine, read_paragraph
from framesift.types.vectors import Array

SENTENCES = {
    "Latin": "The fjord was carved by ice, wasn't it?",
    "Cyrillic": "Съешь же ещё этих мягких булок.",
    "Greek": "Ξεσκεπάζω την ψυχοφθόρα βδελυγμία.",
    "Arabic": "السلام عليكم ورحمة الله",
    "Hebrew": "שלום עולם, מה שלומך?",
    "Devanagari": "नमस्ते दुनिया, यह क्षत्रिय है।",
    "Thai": "สวัสดีชาวโลก วันนี้อากาศดี",
    "Chinese": "今天我们来看一看这座城市的历史。",
    "Japanese": "今日は東京の歴史について話しましょう。",
    "Korean": "오늘은 서울의 역사를 이야기합니다.",
    "Bengali": "আমার সোনার বাংলা",
    "Tamil": "தமிழ் மொழி",
    "Telugu": "తెలుగు భాష",
}


def shape(text: str) -> ShapedLine:
    """The text shaped as one line of any length."""
    (line,) = lay_out(text, 10_000, sizes=(20.0,), lines=1).lines
    return line


def wrap(text: str, width_em: float, *, lines: int = 3) -> list[str]:
    """The lines of a text laid out at one pixel per em."""
    return [line.text for line in lay_out(text, width_em, sizes=(1.0,), lines=lines).lines]


def differs(one: Image.Image, other: Image.Image) -> Array:
    """(H, W) bool: where the images differ."""
    pixels: Array = np.asarray(one) != np.asarray(other)
    return np.asarray(pixels.any(axis=2))


def clear_font_caches() -> None:
    """Clear every cache of font selection and shaping."""
    fonts._missing.clear()
    lists = (fonts._own_files, fonts._other_files)
    for cached in (fonts._find, fonts._weighted, *lists, fonts._open, fonts._all_letters):
        cached.cache_clear()
    read_paragraph.cache_clear()
