"""Font selection: which font draws which letters.

Fonts inside Python packages come first, so that images look the same on every machine; system fonts are used only for
letters that those lack. A font file is opened when it is first needed. Letters that no font has are left out, with one
warning per script, because an empty box carries no information.
"""

import importlib.util
import logging
import os
import sys
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cache, partial
from importlib.metadata import entry_points
from itertools import chain
from pathlib import Path

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
# Entry point groups under which other packages register fonts.
FONT_GROUPS = ("fontpkg.family", "fonts_ttf")
# Packages that contain fonts without an entry point.
UNREGISTERED_PACKAGES = ("matplotlib",)
SUFFIXES = {".ttf", ".otf", ".ttc", ".otc"}
REGULAR = 400.0
# A file with more faces than this is damaged.
MAX_FACES = 64

# Sans-serif screen fonts of common systems; others follow in the order of their names.
PREFERRED = (
    *("notosans", "dejavusans", "liberationsans", "arimo", "opensans", "roboto", "arial", "segoeui", "tahoma"),
    *("sfpro", "helvetica", "lucidagrande", "leelawad", "nirmala", "mangal", "kohinoor", "thonburi", "geezapro"),
    *("sourcehansans", "pingfang", "hiragino", "applesdgothic", "msyh", "microsoftyahei", "yugoth", "meiryo"),
    *("malgun", "nanumgothic", "wqy", "droidsans", "ubuntu", "freesans", "unifont"),
)
# Words in the name of a font that is not regular and upright.
_UNUSUAL = (
    *("bold", "italic", "oblique", "light", "thin", "black", "heavy", "medium", "condensed", "narrow", "mono", "serif"),
    *("rotated", "display", "kufi", "nastaliq", "demi"),
)
# Fonts of emoji, blanks and boxes claim letters that they do not draw.
_NOT_TEXT = ("emoji", "lastresort", "blank", "wingdings", "webdings", "barcode", "icons")
# Han characters share code points across languages: these words in the name of a font indicate whose forms it has.
_REGIONS = {
    "ja": ("cjkjp", "sansjp", "hiragino", "yugoth", "meiryo", "msgothic", "ipa", "takao", "vlgothic"),
    "ko": ("cjkkr", "sanskr", "applesdgothic", "malgun", "nanum", "gulim", "baekmuk"),
    "zh": ("cjksc", "sanssc", "sanscn", "pingfang", "msyh", "microsoftyahei", "simhei", "wqy"),
}

log = logging.getLogger(__name__)
_missing: dict[str, str] = {}


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
    _missing[script] = f"no font has {script} such as U+{ord(character):04X}, so they are left out; {remedy}"
    log.warning(_missing[script])


def missing() -> tuple[str, ...]:
    """The warnings about all scripts that were left out so far."""
    return tuple(_missing.values())


def is_invisible(character: str) -> bool:
    """Whether a character needs no glyph of its own: joiners, selectors, controls."""
    return unicodedata.category(character) in ("Cf", "Cc") or "\ufe00" <= character <= "\ufe0f"


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
    return all(ord(c) in letters or is_invisible(c) for c in text)


@cache
def _all_letters() -> hb.Set:
    """Every letter of every font; computed after a failed search, when all files are open anyway."""
    letters = hb.Set()
    for face in _faces(""):
        letters.update(face.letters)
    return letters


def _faces(language: str) -> Iterator[Typeface]:
    # Other fonts are searched for where those of the packages lack a letter: listing all of them takes a while.
    for files in (_own_files, partial(_ranked, language)):
        for path in files():
            faces = _open(path)
            yield from sorted(faces, key=lambda face: not _is_regional(face.name, language)) if language else faces


@cache
def _own_files() -> tuple[Path, ...]:
    """The font files of OWN_PACKAGES, in order of preference."""

    def key(path: Path) -> tuple[object, ...]:
        return *_rank(path.stem), str(path)

    files = (sorted(_files_in(_package_folders(package)), key=key) for package in OWN_PACKAGES)
    return tuple(dict.fromkeys(chain.from_iterable(files)))


@cache
def _ranked(language: str) -> tuple[Path, ...]:
    """The other font files in order of preference, independent of the order of directory listings."""

    def key(item: tuple[Path, bool]) -> tuple[object, ...]:
        path, is_of_system = item
        return is_of_system, not _is_regional(path.stem, language), *_rank(path.stem), str(path)

    return tuple(path for path, _ in sorted(_font_files().items(), key=key))


@cache
def _font_files() -> dict[Path, bool]:
    """The font files of other packages and of the system, and whether they are of the system."""
    files: dict[Path, bool] = {}
    registered = {entry.module.partition(".")[0] for group in FONT_GROUPS for entry in entry_points(group=group)}
    for package in sorted(registered.union(UNREGISTERED_PACKAGES)):
        for path in _files_in(_package_folders(package)):
            files.setdefault(path, False)
    for path in _files_in(system_folders()):
        files.setdefault(path, True)
    return files


def _package_folders(package: str) -> list[Path]:
    """The directories of a package, located without importing it."""
    try:
        spec = importlib.util.find_spec(package)
    except (ImportError, ValueError):
        return []
    folders = [Path(folder) for folder in (spec.submodule_search_locations or ())] if spec else []
    return [folder / "mpl-data" / "fonts" / "ttf" for folder in folders] if package == "matplotlib" else folders


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


def _files_in(folders: Iterable[Path]) -> Iterator[Path]:
    for folder in folders:
        for path, _, names in os.walk(folder):  # skips unreadable directories
            for name in names:
                simple = _simple(name)
                if os.path.splitext(name)[1].lower() in SUFFIXES and not any(word in simple for word in _NOT_TEXT):
                    yield Path(path, name)


def _simple(name: str) -> str:
    return "".join(filter(str.isalnum, name.lower()))


def _rank(name: str) -> tuple[int, int, int, str]:
    """Sort key: regular before other styles, then PREFERRED, then short names first."""
    simple = _simple(name)
    family = next((k for k, start in enumerate(PREFERRED) if simple.startswith(start)), len(PREFERRED))
    return sum(word in simple for word in _UNUSUAL), family, len(simple), simple


def _is_regional(name: str, language: str) -> bool:
    simple = _simple(name)
    return any(word in simple for word in _REGIONS.get(language, ()))


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
