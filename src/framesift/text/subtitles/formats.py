"""Which format a text is in: by what it holds, then by its name."""

from collections.abc import Callable
from dataclasses import dataclass

from framesift.text.subtitles.cues import NotSubtitles, Parsed
from framesift.text.subtitles.json_formats import looks_like_json, parse_json
from framesift.text.subtitles.line_formats import (
    looks_like_microdvd,
    looks_like_sbv,
    looks_like_subrip,
    parse_microdvd,
    parse_sbv,
    parse_subrip,
    parse_webvtt,
)
from framesift.text.subtitles.sami import looks_like_sami, parse_sami
from framesift.text.subtitles.substation import looks_like_substation, parse_substation
from framesift.text.subtitles.xml_formats import parse_ttml, parse_youtube_xml, xml_root


@dataclass(frozen=True)
class Format:
    """A kind of subtitle file. `endings` that other kinds of file share are in SHARED_ENDINGS."""

    name: str
    endings: tuple[str, ...]
    looks_like: Callable[[str], bool]
    parse: Callable[[str], Parsed]


# In the order in which they are asked: the surest marks first.
FORMATS = (
    Format("WebVTT", (".vtt", ".webvtt"), lambda text: text.lstrip().startswith("WEBVTT"), parse_webvtt),
    Format("JSON", (".json", ".jsonl", ".json3", ".ndjson"), looks_like_json, parse_json),
    Format("TTML", (".ttml", ".dfxp", ".itt", ".xml"), lambda text: xml_root(text) == "tt", parse_ttml),
    Format(
        "YouTube XML",
        (".srv3", ".srv2", ".srv1", ".xml"),
        lambda text: xml_root(text) in ("timedtext", "transcript"),
        parse_youtube_xml,
    ),
    Format("SubStation", (".ass", ".ssa"), looks_like_substation, parse_substation),
    Format("SAMI", (".smi", ".sami"), looks_like_sami, parse_sami),
    Format("MicroDVD", (".sub",), looks_like_microdvd, parse_microdvd),
    Format("SubRip", (".srt",), looks_like_subrip, parse_subrip),
    Format("SBV", (".sbv",), looks_like_sbv, parse_sbv),
)
ENDINGS = (".srt", *dict.fromkeys(ending for known in FORMATS for ending in known.endings if ending != ".srt"))
SHARED_ENDINGS = frozenset((".json", ".jsonl", ".ndjson", ".xml", ".sub"))


# Lines, tags and JSON objects each cost many times their length in memory. A day of speech, word by word, has 10^6.
MAX_PARTS = 4_000_000


def check_parts(text: str) -> None:
    """Refuse a text of more lines, tags or objects than any subtitle file has."""
    for mark, parts in (("\n", "lines"), ("<", "tags"), ("{", "braces"), ("[", "brackets")):
        if text.count(mark) > MAX_PARTS:
            raise NotSubtitles(f"it holds more than {MAX_PARTS:,} {parts}", text)


def find_format(text: str, ending: str) -> Format | None:
    """The format whose mark the text bears, else the one its ending names, else None."""
    for known in FORMATS:
        if known.looks_like(text):
            return known
    return next((known for known in FORMATS if ending in known.endings), None)
