"""Which font draws which letters.

Fonts inside Python packages come first, so that a picture looks the same on every machine; the system's fonts draw only
what those lack. A font file is opened when a letter asks for it and no earlier. Letters that no font has are left out
and their script is named once: an empty box would tell the reader nothing.
"""

import importlib.util
import logging
import os
import sys
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cache
from importlib.metadata import entry_points
from pathlib import Path

import uharfbuzz as hb

INSTALL = "pip install 'framesift[fonts]'"

# The packages that framesift names as dependencies, in the order in which they are asked for a letter.
OWN_PACKAGES = (
    "fontpkg_arimo",
    "fontpkg_noto_sans_arabic",
    "fontpkg_noto_sans_devanagari",
    "fontpkg_noto_sans_thai",
    "noto_cjk_sans_otc",
    "fontpkg_hind_siliguri",
    "fontpkg_noto_sans_tamil",
    "fontpkg_noto_sans_telugu",
)
# Other packages that carry fonts announce them under these.
FONT_GROUPS = ("fontpkg.family", "fonts_ttf")
# Packages that carry fonts and do not announce them.
CARRIERS = ("matplotlib",)
SUFFIXES = {".ttf", ".otf", ".ttc", ".otc"}
REGULAR = 400.0
# A file with more fonts than this is broken.
MOST_FACES = 64

# Sans faces made for the screen, as far as a system may have them; the rest follow in the order of their names.
PREFERRED = (
    *("notosans", "dejavusans", "liberationsans", "arimo", "opensans", "roboto", "arial", "segoeui", "tahoma"),
    *("sfpro", "helvetica", "lucidagrande", "leelawad", "nirmala", "mangal", "kohinoor", "thonburi", "geezapro"),
    *("sourcehansans", "pingfang", "hiragino", "applesdgothic", "msyh", "microsoftyahei", "yugoth", "meiryo"),
    *("malgun", "nanumgothic", "wqy", "droidsans", "ubuntu", "freesans", "unifont"),
)
# Words in a font's name that say it is not the plain upright one.
_UNUSUAL = (
    *("bold", "italic", "oblique", "light", "thin", "black", "heavy", "medium", "condensed", "narrow", "mono", "serif"),
    *("rotated", "display", "kufi", "nastaliq", "demi"),
)
# Fonts of pictures, of blanks and of boxes cover letters that they do not draw.
_NO_LETTERS = ("emoji", "lastresort", "blank", "wingdings", "webdings", "barcode", "icons")
# One code for a Chinese and a Japanese character: these words in a font's name tell whose form it draws.
_REGIONS = {
    "ja": ("cjkjp", "sansjp", "hiragino", "yugoth", "meiryo", "msgothic", "ipa", "takao", "vlgothic"),
    "ko": ("cjkkr", "sanskr", "applesdgothic", "malgun", "nanum", "gulim", "baekmuk"),
    "zh": ("cjksc", "sanssc", "sanscn", "pingfang", "msyh", "microsoftyahei", "simhei", "wqy"),
}

log = logging.getLogger(__name__)
_missing: dict[str, str] = {}


@dataclass(frozen=True, eq=False)
class Typeface:
    """One font of a file. Lengths are in units of which `units` make an em."""

    name: str
    font: hb.Font
    units: int
    letters: hb.Set
    weight: float = REGULAR

    def covers(self, text: str) -> bool:
        return _covers(self.letters, text)


def find(cluster: str, language: str = "", weight: float = REGULAR) -> Typeface | None:
    """The first font that has all of a grapheme cluster, else the first that has its base letter, else none.

    weight: 400 is regular, 700 bold. Only variable fonts follow it, which those of the packages are but for Chinese.
    """
    face = _find(cluster, language if language in _REGIONS else "")
    return face and _weighted(face, weight)


def report(character: str, script: str) -> None:
    """Say once per script that no font has its letters."""
    if script in _missing:
        return
    is_installed = all(importlib.util.find_spec(package) for package in OWN_PACKAGES)
    remedy = "install a font that has them" if is_installed else INSTALL
    _missing[script] = f"no font here has {script} such as U+{ord(character):04X}; they are left out: {remedy}"
    log.warning(_missing[script])


def missing() -> tuple[str, ...]:
    """The sentences of all scripts that were left out so far."""
    return tuple(_missing.values())


def is_invisible(character: str) -> bool:
    """Whether a character asks for no glyph of its own: joiners, selectors, controls."""
    return unicodedata.category(character) in ("Cf", "Cc") or "\ufe00" <= character <= "\ufe0f"


@cache
def _find(cluster: str, language: str) -> Typeface | None:
    for wanted in (cluster, cluster[:1]):
        # Asking every font for each of many letters that none has would take seconds.
        is_hopeless = _drawable.cache_info().currsize and not _covers(_drawable(), wanted)
        for face in () if is_hopeless else _faces(language):
            if face.covers(wanted):
                return face
    _drawable()
    return None


def _covers(letters: hb.Set, text: str) -> bool:
    return all(ord(c) in letters or is_invisible(c) for c in text)


@cache
def _drawable() -> hb.Set:
    """Every letter of every font; computed after a search in vain, when all files have been opened anyway."""
    letters = hb.Set()
    for face in _faces(""):
        letters.update(face.letters)
    return letters


def _faces(language: str) -> Iterator[Typeface]:
    for path in _ranked(language):
        faces = _open(path)
        yield from sorted(faces, key=lambda face: not _is_regional(face.name, language)) if language else faces


@cache
def _ranked(language: str) -> tuple[Path, ...]:
    """Font files, the one to ask first first; never in the order in which a disk happens to list them."""

    def key(item: tuple[Path, int]) -> tuple[object, ...]:
        path, tier = item
        if tier < len(OWN_PACKAGES):
            return tier, *_rank(path.stem), str(path)
        return tier, not _is_regional(path.stem, language), *_rank(path.stem), str(path)

    return tuple(path for path, _ in sorted(_found().items(), key=key))


@cache
def _found() -> dict[Path, int]:
    """Font files and their tier: the place of the package in OWN_PACKAGES, then other packages, then the system."""
    others = len(OWN_PACKAGES)
    tiers: dict[Path, int] = {}
    for tier, package in enumerate(OWN_PACKAGES):
        for path in _inside(_package_folders(package)):
            tiers.setdefault(path, tier)
    announced = {entry.module.partition(".")[0] for group in FONT_GROUPS for entry in entry_points(group=group)}
    for package in sorted(announced.union(CARRIERS)):
        for path in _inside(_package_folders(package)):
            tiers.setdefault(path, others)
    for path in _inside(system_folders()):
        tiers.setdefault(path, others + 1)
    return tiers


def _package_folders(package: str) -> list[Path]:
    """Where a package lies, found without importing it."""
    try:
        spec = importlib.util.find_spec(package)
    except (ImportError, ValueError):
        return []
    places = [Path(place) for place in (spec.submodule_search_locations or ())] if spec else []
    return [place / "mpl-data" / "fonts" / "ttf" for place in places] if package == "matplotlib" else places


def system_folders() -> list[Path]:
    """Where this system and this user keep fonts."""
    home = Path(os.path.expanduser("~"))  # unlike Path.home, never fails
    if sys.platform == "win32":
        windows, user = os.environ.get("WINDIR", r"C:\Windows"), os.environ.get("LOCALAPPDATA", "")
        return [Path(windows, "Fonts"), *([Path(user, "Microsoft", "Windows", "Fonts")] if user else [])]
    if sys.platform == "darwin":
        return [Path("/System/Library/Fonts"), Path("/Library/Fonts"), home / "Library" / "Fonts"]
    own = os.environ.get("XDG_DATA_HOME") or str(home / ".local" / "share")
    shared = os.environ.get("XDG_DATA_DIRS") or "/usr/local/share:/usr/share"
    return [*(Path(place, "fonts") for place in (own, *shared.split(":")) if place), home / ".fonts"]


def _inside(folders: Iterable[Path]) -> Iterator[Path]:
    for folder in folders:
        for place, _, names in os.walk(folder):  # passes over what may not be read
            for name in names:
                simple = _simple(name)
                if os.path.splitext(name)[1].lower() in SUFFIXES and not any(word in simple for word in _NO_LETTERS):
                    yield Path(place, name)


def _simple(name: str) -> str:
    return "".join(filter(str.isalnum, name.lower()))


def _rank(name: str) -> tuple[int, int, int, str]:
    """Plain before unusual, then PREFERRED, then short names first."""
    simple = _simple(name)
    family = next((k for k, start in enumerate(PREFERRED) if simple.startswith(start)), len(PREFERRED))
    return sum(word in simple for word in _UNUSUAL), family, len(simple), simple


def _is_regional(name: str, language: str) -> bool:
    simple = _simple(name)
    return any(word in simple for word in _REGIONS.get(language, ()))


@cache
def _open(path: Path) -> tuple[Typeface, ...]:
    """The fonts of a file that have outlines, plain ones first; none if the file is broken."""
    try:
        blob = hb.Blob.from_file_path(str(path))
        faces = [_load(blob, k) for k in range(min(hb.Face(blob).count, MOST_FACES))]
    except (OSError, hb.HarfBuzzError, MemoryError, ValueError):
        return ()
    return tuple(sorted(filter(None, faces), key=lambda face: _rank(face.name)))


def _load(blob: hb.Blob, index: int) -> Typeface | None:
    face = hb.Face(blob, index)
    tags = set(face.table_tags)
    if not tags & {"glyf", "CFF ", "CFF2"} or tags & {"CBDT", "sbix", "COLR"} or not face.glyph_count or not face.upem:
        return None
    name = face.get_name(hb.OTNameIdPredefined.FULL_NAME) or ""
    return Typeface(name, _font(face, REGULAR), face.upem, face.unicodes)


def _font(face: hb.Face, weight: float) -> hb.Font:
    font = hb.Font(face)
    if any(axis.tag == "wght" for axis in face.axis_infos):
        font.set_variations({"wght": weight})  # HarfBuzz keeps it within what the font offers
    return font


@cache
def _weighted(face: Typeface, weight: float) -> Typeface:
    return face if weight == face.weight else replace(face, font=_font(face.font.face, weight), weight=weight)
