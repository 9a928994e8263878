"""Language codes and names as files spell them: "en", "eng", "en-US", "English"; and the script of a text."""

import unicodedata
from collections import Counter
from collections.abc import Iterable

# ISO 639-1, then the three-letter codes and the English name.
_SPELLINGS = """
ar ara arabic|bg bul bulgarian|bn ben bengali|ca cat catalan|cs ces cze czech|da dan danish|de deu ger german
el ell gre greek|en eng english|es spa spanish|et est estonian|eu eus baq basque|fa fas per persian|fi fin finnish
fr fra fre french|gl glg galician|he heb iw hebrew|hi hin hindi|hr hrv croatian|hu hun hungarian|hy hye arm armenian
id ind indonesian|is isl ice icelandic|it ita italian|ja jpn japanese|ka kat geo georgian|kk kaz kazakh|ko kor korean
lt lit lithuanian|lv lav latvian|mk mkd mac macedonian|mr mar marathi|ms msa may malay|nl nld dut dutch
no nor nb nob nn nno norwegian|pl pol polish|pt por portuguese|ro ron rum romanian|ru rus russian|sk slk slo slovak
sl slv slovenian|sq sqi alb albanian|sr srp serbian|sv swe swedish|sw swa swahili|ta tam tamil|te tel telugu
th tha thai|tl tgl fil tagalog|tr tur turkish|uk ukr ukrainian|ur urd urdu|vi vie vietnamese|zh zho chi chinese
"""
_CODES = {name: entry.split()[0] for entry in _SPELLINGS.replace("\n", "|").split("|") for name in entry.split()}
_UNDETERMINED = {"", "und", "unk", "mul", "zxx", "mis"}

# The scripts of the languages above that are not written in the Latin one, as Unicode's character names start.
_SCRIPTS = {
    **dict.fromkeys(("ar", "fa", "ur"), ("ARABIC",)),
    **dict.fromkeys(("bg", "mk", "ru", "uk"), ("CYRILLIC",)),
    **dict.fromkeys(("kk", "sr"), ("CYRILLIC", "LATIN")),
    **dict.fromkeys(("hi", "mr"), ("DEVANAGARI",)),
    **{"bn": ("BENGALI",), "el": ("GREEK",), "he": ("HEBREW",), "hy": ("ARMENIAN",), "ja": ("HIRAGANA", "KATAKANA")},
    **{"ka": ("GEORGIAN",), "ko": ("HANGUL",), "ta": ("TAMIL",), "te": ("TELUGU",), "th": ("THAI",), "zh": ("CJK",)},
}
# A text is in a language if this share of its letters is in the language's script: names may be in another one, and
# about half of a Japanese text is in Chinese characters.
_MIN_SCRIPT_SHARE = 0.3
_SAMPLED_LETTERS = 5000


def language_code(name: str | None) -> str:
    """Return the two-letter code if there is one, without the region; "" for undetermined."""
    base = _without_region(name or "")
    return "" if base in _UNDETERMINED else _CODES.get(base, base)


def is_language(name: str) -> bool:
    """Return whether a part of a file name is a language: "en", "pt-BR", "eng", "English"."""
    return _without_region(name) in _CODES.keys() | _UNDETERMINED - {""}


def _without_region(name: str) -> str:
    return name.strip().lower().replace("_", "-").partition("-")[0]


def may_be_in(language: str, texts: Iterable[str]) -> bool:
    """Return whether texts of unknown language are in the script of `language`, a two-letter code."""
    letters = Counter(unicodedata.name(c, "").partition(" ")[0] for c in _letters(texts))
    if language == "zh" and letters["HIRAGANA"] + letters["KATAKANA"] > _MIN_SCRIPT_SHARE * letters.total():
        return False
    return sum(letters[script] for script in _SCRIPTS.get(language, ("LATIN",))) >= _MIN_SCRIPT_SHARE * letters.total()


def _letters(texts: Iterable[str]) -> str:
    letters = ""
    for text in texts:
        letters += "".join(filter(str.isalpha, text))
        if len(letters) > _SAMPLED_LETTERS:
            break
    return letters
