from collections.abc import Iterator

import pytest

from framesift.rendering.typesetting import fonts
from helpers.browser import open_browser
from helpers.showcase import make_video
from helpers.writing_systems import clear_font_caches


@pytest.fixture(autouse=True)
def packaged_fonts_only(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Make the tests independent of the fonts of the machine."""
    monkeypatch.setattr(fonts, "system_folders", lambda: [])
    clear_font_caches()
    yield
    clear_font_caches()


@pytest.fixture
def latin_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """The fonts of a base install on a machine without system fonts."""
    monkeypatch.setattr(fonts, "OWN_PACKAGES", ("fontpkg_arimo",))
    clear_font_caches()


@pytest.fixture(scope="session")
def video(tmp_path_factory):
    return make_video(tmp_path_factory.mktemp("video"))


@pytest.fixture(scope="package")
def browser():
    with open_browser() as chromium:
        yield chromium
