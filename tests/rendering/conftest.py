from collections.abc import Iterator

import pytest

from framesift.rendering.typesetting import fonts
from helpers.showcase import make_video
from helpers.writing_systems import look_for_fonts_anew


@pytest.fixture(autouse=True)
def packaged_fonts_only(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Nothing depends on which fonts a machine has."""
    monkeypatch.setattr(fonts, "system_folders", lambda: [])
    look_for_fonts_anew()
    yield
    look_for_fonts_anew()


@pytest.fixture
def latin_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """As after a plain install on a machine without fonts."""
    monkeypatch.setattr(fonts, "OWN_PACKAGES", ("fontpkg_arimo",))
    monkeypatch.setattr(fonts, "FONT_GROUPS", ())
    monkeypatch.setattr(fonts, "CARRIERS", ())
    look_for_fonts_anew()


@pytest.fixture(scope="session")
def video(tmp_path_factory):
    return make_video(tmp_path_factory.mktemp("film"))
