"""The registry of subtitle formats: detection by content, then by file ending."""

from framesift.text.subtitles.base import NotSubtitles, SubtitleFormat
from framesift.text.subtitles.json_cues import JsonCues
from framesift.text.subtitles.microdvd import MicroDVD
from framesift.text.subtitles.sami import SAMI
from framesift.text.subtitles.sbv import SBV
from framesift.text.subtitles.subrip import SubRip
from framesift.text.subtitles.substation import SubStation
from framesift.text.subtitles.ttml import TTML
from framesift.text.subtitles.webvtt import WebVTT
from framesift.text.subtitles.youtube_xml import YouTubeXml

# In the order of detection: the most specific content first.
FORMATS: tuple[SubtitleFormat, ...] = (
    WebVTT(),
    JsonCues(),
    TTML(),
    YouTubeXml(),
    SubStation(),
    SAMI(),
    MicroDVD(),
    SubRip(),
    SBV(),
)
# In the order of preference among sidecar files.
ENDINGS = tuple(dict.fromkeys((".srt", *(ending for each in FORMATS for ending in each.endings))))
# Endings that files other than subtitles have too.
SHARED_ENDINGS = frozenset((".json", ".jsonl", ".ndjson", ".xml", ".sub"))

# Lines, tags and JSON objects each take many times their length in memory. A day of speech, word by word, has 10^6.
MAX_PARTS = 4_000_000


def check_size(text: str) -> None:
    """Reject a text with more lines, tags or objects than any subtitle file has."""
    for character, parts in (("\n", "lines"), ("<", "tags"), ("{", "braces"), ("[", "brackets")):
        if text.count(character) > MAX_PARTS:
            raise NotSubtitles(f"it has more than {MAX_PARTS:,} {parts}", text)


def detect_format(text: str, ending: str) -> SubtitleFormat | None:
    """Return the first format whose content matches, else the first with this ending, else None."""
    by_content = next((each for each in FORMATS if each.matches(text)), None)
    return by_content or next((each for each in FORMATS if ending in each.endings), None)
