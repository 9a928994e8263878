"""One tab of a headless Chromium on the server's pages, with its requests and console messages."""

from typing import Any

from helpers.browser import Tab

PHONE = {"width": 360, "height": 740}
QUESTION = "Why was the launch put off?"
ASKED = "?q=Why+was+the+launch+put+off%3F&n=6"


class Visit(Tab):
    """`outside` lists requests to other hosts."""

    def __init__(self, browser: Any, url: str, **context: Any) -> None:
        super().__init__(browser, **{"viewport": {"width": 1280, "height": 900}, "reduced_motion": "reduce"} | context)
        self.outside: list[str] = []
        self.page.on("request", lambda request: self._note(request.url, url))

    def _note(self, requested: str, server: str) -> None:
        if not requested.startswith((server, "data:", "blob:")):
            self.outside.append(requested)

    def arrives(self, path: str) -> None:
        """Wait until the tab shows an address with this path, however it was led there."""
        assert self.settles(lambda: path in self.page.url)
        self.page.wait_for_load_state()

    def cards(self) -> int:
        return int(self.page.locator(".card").count())

    def shows(self, cards: int) -> None:
        assert self.settles(lambda: self.cards() == cards)

    def shows_text(self, selector: str, text: str) -> None:
        """Wait until the first such element contains the text."""
        found = self.page.locator(selector)
        assert self.settles(lambda: found.count() > 0 and text in found.first.text_content())

    def shows_image(self, selector: str) -> None:
        """Wait until the first such image, of a frame of 96 pixels, is visible and loaded."""
        image = self.page.locator(selector).first
        assert self.settles(lambda: image.is_visible() and image.evaluate("one => one.naturalWidth") == 96)

    def at_s(self) -> float:
        """The player's position."""
        return float(self.page.evaluate("document.getElementById('video').currentTime"))

    def is_paused(self) -> bool:
        return bool(self.page.evaluate("document.getElementById('video').paused"))

    def can_play(self) -> bool:
        return bool(self.page.evaluate("document.getElementById('video').readyState >= 1"))

    def ask(self, question: str = QUESTION) -> None:
        self.page.fill("#question", question)
        self.page.press("#question", "Enter")
        assert self.settles(lambda: self.cards() > 0)

    def drag(self, first: float, last: float) -> None:
        """Drag on the timeline, from and to these shares of its width."""
        plot = self.page.locator(".tl-svg")
        width = plot.bounding_box()["width"]
        plot.hover(position={"x": width * first, "y": 60})
        self.page.mouse.down()
        plot.hover(position={"x": width * last, "y": 60}, force=True)
        self.page.mouse.up()
