"""Decoding of subtitle files, which do not declare their encoding and often are not in UTF-8."""

import codecs
from collections import Counter

from framesift.text.subtitles.base import NotSubtitles

_BYTE_ORDER_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),  # before UTF-16, whose mark is a prefix of it
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
# The encodings of subtitles in practice; unrestricted, the detector also proposes those of mainframes.
_CANDIDATES = [
    *("cp1252", "cp1250", "cp1251", "cp1253", "cp1254", "cp1255", "cp1256", "cp1257", "cp1258", "cp874"),
    *("cp932", "euc_jp", "gb18030", "big5", "cp949", "koi8_r", "johab"),
]
# The Latin code pages differ in a few letters, which the detector confuses on short texts. So each code page is scored
# by how well one of its languages explains these letters; on a tie the first wins.
_ALPHABETS = {
    "cp1252": ("àâçéèêëîïôùûüœ", "äöüß", "áéíñóúü", "àáâãçéêíóôõú", "àèéìíòóù", "åäöé", "åæøéò", "áéíóöúæ"),
    "cp1250": ("ąćęłńóśźż", "áčďéěíňóřšťúůýž", "áäčďéíĺľňóôŕšťúýž", "áéíóöőúüű", "čćđšž", "ăâîşţ"),
    "cp1254": ("çğıöşüâî",),
    "cp1257": ("ąčęėįšųūž", "āčēģīķļņšūž", "äöõüšž"),
}
_PUNCTUATION = frozenset("¡¿«»‹›“”„‘’‚–—…°€£§©®·♪\xa0")
_SAMPLE_BYTES = 32_768
_SAMPLE_LINES = 1000
_CONTROLS = bytes(k for k in range(32) if not chr(k).isspace())


def decode(data: bytes) -> tuple[str, str, Counter[str]]:
    """Return the text with "\\n" line ends, its encoding, and the count of damaged characters."""
    text, encoding = _decode(data)
    damaged = text.count("\ufffd")
    text = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
    return text, encoding, Counter({"characters replaced": damaged} if damaged else {})


def _decode(data: bytes) -> tuple[str, str]:
    for mark, encoding in _BYTE_ORDER_MARKS:
        if data.startswith(mark):
            return data[len(mark) :].decode(encoding, "replace"), encoding
    if encoding := _wide_encoding(data[:_SAMPLE_BYTES]):
        return data.decode(encoding, "replace"), encoding
    sample = data[:_SAMPLE_BYTES]
    # A text may have stray control characters, but not one in fifteen (random bytes have one in ten).
    if (len(sample) - len(sample.translate(None, _CONTROLS))) * 15 > len(sample):
        raise NotSubtitles("it is binary, not text", data[:40].decode("latin-1"))
    try:
        return data.decode("utf-8"), "utf-8"
    except UnicodeDecodeError:
        text = data.decode("utf-8", "replace")
    # A few bad bytes among many good characters are damage; another encoding gives bad ones almost everywhere.
    non_ascii = sum(1 for character in text if character > "\x7f") if len(text) < len(data) else 0
    if text.count("\ufffd") * 20 <= non_ascii:
        return text, "utf-8"
    from charset_normalizer import from_bytes  # slow to import, and most files are UTF-8

    # The times between these lines carry no information on the encoding.
    lines = [line for line in data.splitlines() if not line.isascii()]
    sample = b"\n".join(lines[:_SAMPLE_LINES])[: 2 * _SAMPLE_BYTES]
    best = from_bytes(sample, cp_isolation=_CANDIDATES, threshold=0.5).best()
    encoding = best.encoding if best is not None else "cp1252"
    if encoding in _ALPHABETS:
        encoding = max(_ALPHABETS, key=lambda page: _alphabet_share(sample, page))
    return data.decode(encoding, "replace"), encoding


def _alphabet_share(sample: bytes, page: str) -> float:
    """Return the largest share of the sample's non-ASCII letters that one language of a code page uses."""
    counts = Counter(sample.decode(page, "replace").lower())
    non_ascii = {letter: n for letter, n in counts.items() if letter > "\x7f" and letter not in _PUNCTUATION}
    return max(sum(non_ascii.get(letter, 0) for letter in alphabet) for alphabet in _ALPHABETS[page]) / max(
        1, sum(non_ascii.values())
    )


def _wide_encoding(sample: bytes) -> str:
    """Detect UTF-16 without a byte order mark: times and line ends are ASCII, so many of every second byte are zero."""
    even, odd = sample[::2].count(0), sample[1::2].count(0)
    if max(even, odd) < len(sample) // 20 or not sample:
        return ""
    encoding = "utf-16-le" if odd > 9 * even else "utf-16-be" if even > 9 * odd else ""
    text = sample.decode(encoding, "replace") if encoding else ""
    return encoding if sum(" " <= character <= "~" for character in text) * 20 > len(text) else ""
