"""Font selection: which font draws which letters.

Fonts inside Python packages come first, so that images look the same on every machine; system fonts are used only for
letters that those lack. A font file is opened when it is first needed. Letters that no font has are left out, with one
warning per script, because an empty box carries no information.
"""

import importlib.util
import logging
import os
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from unicodedata import category

import uharfbuzz as hb

INSTALL = "pip install 'framesift[fonts]'"

# Packages that are dependencies of framesift, in the order of preference.
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
SUFFIXES = {".ttf", ".otf", ".ttc", ".otc"}
REGULAR = 400.0
# A file with more faces than this is damaged.
MAX_FACES = 64

# Words in the name of a font that is not regular and upright.
_UNUSUAL = (
    *("bold", "italic", "oblique", "light", "thin", "black", "heavy", "medium", "condensed", "narrow", "mono", "serif"),
    *("rotated", "display", "kufi", "nastaliq", "demi"),
)
# Fonts of emoji, blanks and boxes claim letters that they do not draw.
_NOT_TEXT = ("emoji", "lastresort", "blank", "wingdings", "webdings", "barcode", "icons")
# Han characters share code points across languages: the faces of the package that have a language's forms.
_REGIONS = {"ja": "cjkjp", "ko": "cjkkr", "zh": "cjksc"}

log = logging.getLogger(__name__)
_missing: set[str] = set()  # scripts


@dataclass(frozen=True, eq=False)
class Typeface:
    """One face of a font file. Lengths are in font units, `units` per em."""

    name: str
    font: hb.Font
    units: int
    letters: hb.Set
    weight: float = REGULAR

    def covers(self, text: str) -> bool:
        return _covers(self.letters, text)


def find(cluster: str, language: str = "", weight: float = REGULAR) -> Typeface | None:
    """Find the first font that has all of a grapheme cluster, else the first that has its base letter, else None.

    weight: 400 is regular, 700 bold. It applies to variable fonts only: those of the packages, except the CJK one.
    """
    face = _find(cluster, language if language in _REGIONS else "")
    return face and _weighted(face, weight)


def report(character: str, script: str) -> None:
    """Warn once per script that no font has its letters."""
    if script in _missing:
        return
    is_installed = all(importlib.util.find_spec(package) for package in OWN_PACKAGES)
    remedy = "install a font for them" if is_installed else INSTALL
    _missing.add(script)
    log.warning("no font has %s such as U+%04X, so they are left out; %s", script, ord(character), remedy)


@cache
def _find(cluster: str, language: str) -> Typeface | None:
    for wanted in (cluster, cluster[:1]):
        # Searching every font for each of many letters that none has would take seconds.
        is_missing = _all_letters.cache_info().currsize and not _covers(_all_letters(), wanted)
        for face in () if is_missing else _faces(language):
            if face.covers(wanted):
                return face
    _all_letters()
    return None


def _covers(letters: hb.Set, text: str) -> bool:
    # Joiners, controls and selectors need no glyph of their own.
    return all(ord(c) in letters or category(c) in ("Cf", "Cc") or "\ufe00" <= c <= "\ufe0f" for c in text)


@cache
def _all_letters() -> hb.Set:
    """Every letter of every font; computed after a failed search, when all files are open anyway."""
    letters = hb.Set()
    for face in _faces(""):
        letters.update(face.letters)
    return letters


def _faces(language: str) -> Iterator[Typeface]:
    # Other fonts are searched for where those of the packages lack a letter: listing all of them takes a while.
    for files in (_own_files, _other_files):
        for path in files():
            faces = _open(path)
            region = _REGIONS.get(language)
            yield from sorted(faces, key=lambda face: region not in _simple(face.name)) if region else faces


@cache
def _own_files() -> tuple[Path, ...]:
    """The font files of OWN_PACKAGES, in order of preference."""
    return tuple(dict.fromkeys(path for package in OWN_PACKAGES for path in _files_in(_package_folders(package))))


@cache
def _other_files() -> tuple[Path, ...]:
    """The font files of the system, in order of preference."""
    return tuple(dict.fromkeys(_files_in(system_folders())))


def _package_folders(package: str) -> list[Path]:
    """The directories of a package, located without importing it."""
    try:
        spec = importlib.util.find_spec(package)
    except (ImportError, ValueError):
        return []
    return [Path(folder) for folder in (spec.submodule_search_locations or ())] if spec else []


def system_folders() -> list[Path]:
    """The font directories of the system and the user."""
    home = Path(os.path.expanduser("~"))  # unlike Path.home, never fails
    if sys.platform == "win32":
        windows, user = os.environ.get("WINDIR", r"C:\Windows"), os.environ.get("LOCALAPPDATA", "")
        return [Path(windows, "Fonts"), *([Path(user, "Microsoft", "Windows", "Fonts")] if user else [])]
    if sys.platform == "darwin":
        return [Path("/System/Library/Fonts"), Path("/Library/Fonts"), home / "Library" / "Fonts"]
    own = os.environ.get("XDG_DATA_HOME") or str(home / ".local" / "share")
    shared = os.environ.get("XDG_DATA_DIRS") or "/usr/local/share:/usr/share"
    return [*(Path(folder, "fonts") for folder in (own, *shared.split(":")) if folder), home / ".fonts"]


def _files_in(folders: Iterable[Path]) -> list[Path]:
    """The font files in these folders, in order of preference, independent of the order of directory listings."""
    files = [Path(path, name) for folder in folders for path, _, names in os.walk(folder) for name in names]
    return sorted(
        (path for path in files if path.suffix.lower() in SUFFIXES and not _contains(path.stem, _NOT_TEXT)),
        key=lambda path: (*_rank(path.stem), str(path)),
    )


def _simple(name: str) -> str:
    return "".join(filter(str.isalnum, name.lower()))


def _contains(name: str, words: Iterable[str]) -> int:
    return sum(word in _simple(name) for word in words)


def _rank(name: str) -> tuple[int, int, str]:
    """Sort key: regular before other styles, then short names first."""
    return _contains(name, _UNUSUAL), len(name), name


@cache
def _open(path: Path) -> tuple[Typeface, ...]:
    """The faces of a file that have outlines, regular ones first; none if the file is damaged."""
    try:
        blob = hb.Blob.from_file_path(str(path))
        faces = [_load(blob, k) for k in range(min(hb.Face(blob).count, MAX_FACES))]
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
        font.set_variations({"wght": weight})  # HarfBuzz clamps it to the range of the font
    return font


@cache
def _weighted(face: Typeface, weight: float) -> Typeface:
    return face if weight == face.weight else replace(face, font=_font(face.font.face, weight), weight=weight)
