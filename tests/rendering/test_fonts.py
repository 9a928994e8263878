import logging
import sys
from pathlib import Path

import pytest

from framesift.rendering.typesetting import fonts, shaping
from framesift.rendering.typesetting.layout import lay_out
from helpers.writing_systems import look_for_fonts_anew


def carrier(package: str) -> Path:
    return next(path for path in fonts._inside(fonts._package_folders(package)) if "Italic" not in path.name)


def put(folder: Path, names: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Fonts of the system: file name → the package whose font it is."""
    for name, package in names.items():
        (folder / name).write_bytes(carrier(package).read_bytes())
    monkeypatch.setattr(fonts, "system_folders", lambda: [folder])
    for packages in ("OWN_PACKAGES", "FONT_GROUPS", "CARRIERS"):
        monkeypatch.setattr(fonts, packages, ())
    look_for_fonts_anew()


@pytest.mark.parametrize("letter", ["a", "ß", "ế", "Я", "қ", "Ω", "א", "♪", "…", "₽"])
def test_plain_install_draws_european_letters(latin_only: None, letter: str) -> None:
    assert fonts.find(letter) is not None


def test_missing_script_is_named_once(latin_only: None, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        for text in ("สวัสดี", "ประเทศไทย", "สวัสดี abc"):
            lay_out(text, 100, sizes=(10,), lines=1)
    assert [record.message for record in caplog.records] == list(fonts.missing())
    assert len(fonts.missing()) == 1
    assert "Thai" in fonts.missing()[0]


def test_remedy_names_the_extra_where_it_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fonts, "OWN_PACKAGES", ("fontpkg_arimo", "a_package_that_is_not_there"))
    fonts.report("ก", "Thai letters")
    assert "framesift[fonts]" in fonts.missing()[0]


def test_package_comes_before_the_system(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own = fonts.OWN_PACKAGES
    put(tmp_path, {"NotoSans-Regular.ttf": "fontpkg_noto_sans_thai"}, monkeypatch)
    monkeypatch.setattr(fonts, "OWN_PACKAGES", own)
    look_for_fonts_anew()
    face = fonts.find("a")
    assert face is not None and face.name == "Arimo Regular"


def test_plain_font_comes_before_bold_and_preferred_before_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = {
        "Aaa-Bold.ttf": "fontpkg_noto_sans_thai",
        "Aaa.ttf": "fontpkg_noto_sans_devanagari",
        "DejaVuSans.ttf": "fontpkg_arimo",
    }
    put(tmp_path, names, monkeypatch)
    assert [path.name for path in fonts._ranked("")] == ["DejaVuSans.ttf", "Aaa.ttf", "Aaa-Bold.ttf"]


def test_choice_does_not_depend_on_the_order_of_a_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    paths = [Path("/b/Zeta.ttf"), Path("/a/Alpha.ttf"), Path("/c/NotoSansThai-Regular.ttf")]
    ranked = []
    for order in (paths, paths[::-1]):
        monkeypatch.setattr(fonts, "_inside", lambda folders, order=order: iter(order))
        fonts._found.cache_clear()
        fonts._ranked.cache_clear()
        ranked.append(fonts._ranked(""))
    assert ranked[0] == ranked[1]


def test_broken_files_are_passed_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(tmp_path, {"Whole.ttf": "fontpkg_arimo"}, monkeypatch)
    whole = (tmp_path / "Whole.ttf").read_bytes()
    (tmp_path / "Aaa.ttf").write_bytes(whole[:4000])
    (tmp_path / "Bbb.ttf").write_bytes(b"")
    (tmp_path / "Ccc.otf").write_bytes(b"\x00\x01\x00\x00" + b"\xff" * 400)
    (tmp_path / "Ddd.ttc").write_bytes(b"ttcf" + b"\xff" * 400)
    (tmp_path / "Eee.ttf").mkdir()
    look_for_fonts_anew()
    face = fonts.find("a")
    assert face is not None and face.name == "Arimo Regular"
    assert fonts.find("ก") is None


def test_no_system_font_is_opened_for_letters_of_a_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own = fonts.OWN_PACKAGES
    put(tmp_path, {f"Font{k}.ttf": "fontpkg_noto_sans_thai" for k in range(5)}, monkeypatch)
    monkeypatch.setattr(fonts, "OWN_PACKAGES", own)
    look_for_fonts_anew()
    fonts.find("a")
    assert fonts._open.cache_info().currsize == 1


def test_collection_gives_the_form_of_the_language() -> None:
    names = {language: fonts.find("直", language).name for language in ("ja", "ko", "zh")}
    assert names == {"ja": "Noto Sans CJK JP", "ko": "Noto Sans CJK KR", "zh": "Noto Sans CJK SC"}


@pytest.mark.skipif(sys.platform in ("win32", "darwin"), reason="folders of Linux")
def test_linux_folders_follow_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    monkeypatch.setenv("XDG_DATA_DIRS", "/one:/two")
    monkeypatch.setenv("XDG_DATA_HOME", "/mine")
    assert fonts.system_folders()[:3] == [Path("/mine/fonts"), Path("/one/fonts"), Path("/two/fonts")]


def test_sign_takes_the_font_of_its_neighbour() -> None:
    letters = shaping.read_paragraph("中，“文”", 100).letters
    assert {letter.face.name for letter in letters} == {"Noto Sans CJK SC"}
