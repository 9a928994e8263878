"""Stream parsing of XML subtitles: a large file builds no tree.

Files that declare entities are rejected: no subtitle needs them, and a few lines of them can expand to gigabytes.
"""

import re
from typing import NoReturn, Protocol
from xml.parsers import expat

from framesift.text.subtitles.base import UnreadableSubtitles
from framesift.text.subtitles.markup import unescape

_ROOT = re.compile(r"<(?:[\w-]{1,20}:)?(tt|timedtext|transcript)[\s>]", re.IGNORECASE)
_BARE_AMPERSAND = re.compile(r"&(?!(?:amp|lt|gt|quot|apos|#\d{1,7}|#x[0-9a-f]{1,6});)[a-z0-9]{0,31};?", re.IGNORECASE)
_NOT_XML = dict.fromkeys([*(k for k in range(32) if k not in (9, 10)), 0xFFFE, 0xFFFF])


class XmlHandlers(Protocol):
    """The callbacks of a document."""

    def start(self, tag: str, attributes: dict[str, str]) -> None: ...

    def text(self, content: str) -> None: ...

    def end(self, tag: str) -> None: ...


def subtitle_root(text: str) -> str:
    """Return the root element's name if it is that of a subtitle format, else ""."""
    match = _ROOT.search(text[:8192]) if text.lstrip()[:1] == "<" else None
    return match[1].lower() if match else ""


def parse_xml(text: str, handlers: XmlHandlers) -> None:
    """Call the handlers for a text; bare ampersands and HTML's entities are repaired first."""
    # Expat would apply the declared encoding, but the text is already decoded.
    text = re.sub(r"^\s*<\?xml[^<>]*\?>", "", text)
    text = _BARE_AMPERSAND.sub(_repair_entity, text.translate(_NOT_XML).strip())
    parser = expat.ParserCreate("utf-8")
    parser.buffer_text = True
    parser.StartElementHandler = handlers.start
    parser.CharacterDataHandler = handlers.text
    parser.EndElementHandler = handlers.end
    parser.EntityDeclHandler = _reject_entities
    try:
        parser.Parse(text.encode("utf-8", "replace"), True)
    except expat.ExpatError as error:
        lines = text.split("\n", error.lineno)
        line = lines[error.lineno - 1] if error.lineno <= len(lines) else ""
        reason = f"its XML is damaged at line {error.lineno}, {expat.ErrorString(error.code)}"
        raise UnreadableSubtitles(reason, line) from None


def _reject_entities(name: str, *_: object) -> NoReturn:
    raise UnreadableSubtitles("it declares XML entities, which are not supported", f"<!ENTITY {name}")


def _repair_entity(entity: re.Match[str]) -> str:
    """Replace HTML's entities by their characters and escape other ampersands."""
    character = unescape(entity[0])
    return character if character != entity[0] and character not in "<>&" else "&amp;" + entity[0][1:]
