import logging
import sys
from pathlib import Path

import pytest

from framesift.rendering.typesetting import fonts, shaping
from helpers.writing_systems import clear_font_caches, wrap


def font_file(package: str) -> Path:
    return next(path for path in fonts._files_in(fonts._package_folders(package)) if "Italic" not in path.name)


def install_system_fonts(folder, names, monkeypatch):
    """Use only system fonts. names: file name → the package that the font is copied from."""
    for name, package in names.items():
        (folder / name).write_bytes(font_file(package).read_bytes())
    monkeypatch.setattr(fonts, "system_folders", lambda: [folder])
    monkeypatch.setattr(fonts, "OWN_PACKAGES", ())
    clear_font_caches()


def test_base_install_has_european_letters(latin_only):
    assert [letter for letter in "aßếЯқΩא♪…₽" if fonts.find(letter) is None] == []


def test_letters_without_a_font_are_left_out_and_reported_once(latin_only, caplog):
    with caplog.at_level(logging.WARNING):
        assert [wrap(text, 10) for text in ("สวัสดี", "ประเทศไทย", "ab สวัสดี c")] == [[], [], ["ab c"]]
    (record,) = caplog.records
    assert "Thai" in record.message


def test_remedy_names_the_extra_where_it_is_not_installed(monkeypatch, caplog):
    monkeypatch.setattr(fonts, "OWN_PACKAGES", ("fontpkg_arimo", "a_package_that_is_not_there"))
    fonts.report("ก", "Thai letters")
    assert "framesift[fonts]" in caplog.text


def test_damaged_files_are_skipped_and_regular_fonts_precede_bold_ones(tmp_path, monkeypatch):
    install_system_fonts(tmp_path, {"Regular.ttf": "fontpkg_arimo", "A-Bold.ttf": "fontpkg_hind_siliguri"}, monkeypatch)
    assert fonts.find("আ").covers("a")  # which the bold one has too
    whole = (tmp_path / "Regular.ttf").read_bytes()
    damaged = {"Aa.ttf": whole[:4000], "Bb.ttf": b"", "Cc.otf": b"\x00\x01\x00\x00" + b"\xff" * 400}
    for name, content in (damaged | {"Dd.ttc": b"ttcf" + b"\xff" * 400}).items():
        (tmp_path / name).write_bytes(content)
    (tmp_path / "Ee.ttf").mkdir()
    clear_font_caches()
    assert fonts.find("a").name == "Arimo Regular" and fonts.find("ก") is None


def test_no_system_font_is_opened_for_letters_of_a_package(tmp_path, monkeypatch):
    own = fonts.OWN_PACKAGES
    install_system_fonts(tmp_path, {f"Font{k}.ttf": "fontpkg_noto_sans_thai" for k in range(5)}, monkeypatch)
    monkeypatch.setattr(fonts, "OWN_PACKAGES", own)
    clear_font_caches()
    monkeypatch.setattr(fonts, "system_folders", lambda: pytest.fail("the fonts of the system were listed"))
    assert fonts.find("a").name == "Arimo Regular" and fonts._open.cache_info().currsize == 1


def test_font_collection_gives_the_face_of_the_language():
    names = {language: fonts.find("直", language).name for language in ("ja", "ko", "zh")}
    assert names == {"ja": "Noto Sans CJK JP", "ko": "Noto Sans CJK KR", "zh": "Noto Sans CJK SC"}


@pytest.mark.skipif(sys.platform in ("win32", "darwin"), reason="folders of Linux")
def test_linux_font_folders_follow_the_environment(monkeypatch):
    monkeypatch.undo()
    monkeypatch.setenv("XDG_DATA_DIRS", "/one:/two")
    monkeypatch.setenv("XDG_DATA_HOME", "/mine")
    assert fonts.system_folders()[:3] == [Path("/mine/fonts"), Path("/one/fonts"), Path("/two/fonts")]


def test_punctuation_takes_the_font_of_its_neighbour():
    letters = shaping.read_paragraph("中，“文”", 100).letters
    assert {letter.face.name for letter in letters} == {"Noto Sans CJK SC"}
