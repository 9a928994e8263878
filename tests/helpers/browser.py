"""A headless Chromium, and tabs that record their requests and console messages."""

import os
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

# The headless build of the same browser first: a page takes a third of the time.
NAMES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


@contextmanager
def open_browser() -> Iterator[Any]:
    """Start the Chromium of the system; skip the test if there is none."""
    sync_api = pytest.importorskip("playwright.sync_api", reason="playwright comes with framesift[dev]")
    executable = next(filter(None, map(shutil.which, NAMES)), None)
    if executable is None:
        pytest.skip(f"no Chromium on this machine (looked for {', '.join(NAMES)})")
    # Chromium's sandbox refuses to run as root.
    as_root = ["--no-sandbox"] if hasattr(os, "geteuid") and os.geteuid() == 0 else []
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=executable, args=as_root)
        yield browser
        browser.close()


# Sixteen times slower than usual: a busy machine still reads the position where playback began.
SLOW_PLAYBACK = "addEventListener('loadedmetadata', (event) => { event.target.playbackRate = 0.0625; }, true);"
PATIENCE_S = 120


def settles(page: Any, true: Callable[[], bool], seconds: float = PATIENCE_S) -> bool:
    """Whether the condition becomes true in time. Playwright's own waiting needs eval, which the pages forbid."""
    deadline = time.monotonic() + seconds
    while not true():
        if time.monotonic() > deadline:
            print(f"{page.url} shows: {page.inner_text('body')[:2000]}")  # noqa: T201 (pytest shows it with the failure)
            return False
        page.wait_for_timeout(20)
    return True


class Tab:
    """One page in a context of its own: `complaints` lists its console messages and errors."""

    def __init__(self, browser: Any, **context: Any) -> None:
        self.context = browser.new_context(**context)
        self.context.add_init_script(SLOW_PLAYBACK)
        self.page = self.context.new_page()
        self.page.set_default_timeout(1000 * PATIENCE_S)
        self.complaints: list[str] = []
        self.page.on("console", lambda message: self.complaints.append(message.text))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))

    def settles(self, true: Callable[[], bool]) -> bool:
        """Whether it becomes true within two minutes."""
        return settles(self.page, true)

    def spills(self) -> bool:
        """Whether the page can be scrolled sideways."""
        return bool(self.page.evaluate("document.documentElement.scrollWidth > document.documentElement.clientWidth"))


class Opened(Tab):
    """A page from disk: `requests` lists what it fetched except data URLs."""

    def __init__(self, browser: Any, file: Path, **context: Any) -> None:
        # Smooth scrolling would move what a test points at.
        super().__init__(browser, reduced_motion="reduce", **context)
        self.requests: list[str] = []
        self.page.on("request", lambda request: self._record(request.url))
        self.page.goto(file.as_uri())

    def _record(self, url: str) -> None:
        if not url.startswith("data:"):
            self.requests.append(url)

    def text(self, selector: str) -> str:
        return str(self.page.locator(selector).first.text_content())

    def focused(self) -> str:
        """The frame whose card or marker has the focus, else the focused element's id."""
        return str(
            self.page.evaluate(
                "document.activeElement.closest('[data-frame]')?.dataset.frame ?? document.activeElement.id"
            )
        )
