"""One tab of a headless Chromium on the server's pages, with its requests and console messages."""

from typing import Any

from helpers.browser import PATIENCE_S, SLOW_PLAYBACK, settles

DESKTOP = {"width": 1280, "height": 900}
PHONE = {"width": 360, "height": 740}
QUESTION = "Why was the launch put off?"
ASKED = "?q=Why+was+the+launch+put+off%3F&n=6"


class Visit:
    """One tab: `outside` lists requests to other hosts, `complaints` console messages and errors."""

    def __init__(self, browser: Any, url: str, **context: Any) -> None:
        self.context = browser.new_context(**{"viewport": DESKTOP, "accept_downloads": True} | context)
        self.context.add_init_script(SLOW_PLAYBACK)
        self.page = self.context.new_page()
        self.page.set_default_timeout(1000 * PATIENCE_S)
        self.outside: list[str] = []
        self.complaints: list[str] = []
        self.page.on("request", lambda request: self._note(request.url, url))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("console", lambda message: self.complaints.append(message.text))

    def _note(self, requested: str, server: str) -> None:
        if not requested.startswith((server, "data:", "blob:")):
            self.outside.append(requested)

    def settles(self, true: Any) -> bool:
        return settles(self.page, true)

    def arrives(self, path: str) -> None:
        """Wait until the tab shows an address with this path, however it was led there."""
        assert self.settles(lambda: path in self.page.url)
        self.page.wait_for_load_state()

    def cards(self) -> int:
        return int(self.page.locator(".card").count())

    def at_s(self) -> float:
        """The player's position."""
        return float(self.page.evaluate("document.getElementById('video').currentTime"))

    def ask(self, question: str = QUESTION) -> None:
        self.page.fill("#question", question)
        self.page.press("#question", "Enter")
        assert self.settles(lambda: self.cards() > 0)

    def spills(self) -> bool:
        return bool(self.page.evaluate("document.documentElement.scrollWidth > document.documentElement.clientWidth"))
