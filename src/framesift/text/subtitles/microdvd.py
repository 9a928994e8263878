"""MicroDVD (.sub): {first frame}{last frame}text."""

import re

from framesift.text.subtitles.base import Cue, ParsedCues, SubtitleFormat
from framesift.text.subtitles.markup import OVERRIDE, clean_lines

# FFmpeg's assumption for a file that does not state its frame rate.
DEFAULT_FPS = 24000 / 1001

_FRAMES = re.compile(r"\s*\{(\d{1,9})\}\s*\{(\d{0,9})\}(.*)", re.ASCII)
_STYLE_CODE = re.compile(r"\{[a-z]:[^{}]*\}", re.IGNORECASE)
_ITALIC_SLASH = re.compile(r"^[ \t]*/", re.MULTILINE)


class MicroDVD(SubtitleFormat):
    """MicroDVD. The text of the first cue may be the frame rate."""

    name = "MicroDVD"
    endings = (".sub",)

    def matches(self, text: str) -> bool:
        return any(map(_FRAMES.match, text[:4096].split("\n")[:20]))

    def parse(self, text: str) -> ParsedCues:
        parsed = ParsedCues()
        fps = 0.0
        for line in text.split("\n"):
            if not (match := _FRAMES.match(line)):
                parsed.skip(line.strip())
                continue
            first, last, content = int(match[1]), int(match[2]) if match[2] else None, match[3]
            if not fps:
                fps = _parse_frame_rate(content) if first <= 1 and (last or 0) <= 1 else 0.0
                if fps:
                    continue
                fps = DEFAULT_FPS
                parsed.repairs["frame rate assumed"] = 1
            parsed.cues.append(Cue(first / fps, None if last is None else last / fps, _clean(content), ""))
        return parsed


def _clean(text: str) -> tuple[str, ...]:
    """Clean the text of a cue: "|" separates lines, {y:i} and a leading "/" are styles."""
    text = _STYLE_CODE.sub("", OVERRIDE.sub("", text)).replace("|", "\n")
    return clean_lines(_ITALIC_SLASH.sub("", text))


def _parse_frame_rate(text: str) -> float:
    try:
        fps = float(text.strip()[:20].replace(",", "."))
    except ValueError:
        return 0.0
    return fps if 1 <= fps <= 1000 else 0.0
