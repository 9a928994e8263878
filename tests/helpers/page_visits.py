"""One tab of a headless Chromium on the server's pages, with its requests and console messages."""

from typing import Any

from helpers.browser import Tab

PHONE = {"width": 360, "height": 740}
QUESTION = "Why was the launch put off?"
ASKED = "?q=Why+was+the+launch+put+off%3F&n=6"
KEEP_TEXTS = """globalThis.shownTexts = new Set();
new MutationObserver((changes) => {
  for (const { target, addedNodes } of changes)
    for (const node of [target, ...addedNodes]) if (node.nodeType === Node.TEXT_NODE) shownTexts.add(node.data);
}).observe(document, { subtree: true, childList: true, characterData: true });"""


class Visit(Tab):
    """`outside` lists requests to other hosts."""

    def __init__(self, browser: Any, url: str, **context: Any) -> None:
        super().__init__(browser, **{"viewport": {"width": 1280, "height": 900}, "reduced_motion": "reduce"} | context)
        self.context.add_init_script(KEEP_TEXTS)
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

    def has_shown(self, text: str) -> bool:
        """Whether the page has shown this text, which another may have replaced since."""
        return bool(self.page.evaluate("text => shownTexts.has(text)", text))

    def shows_image(self, selector: str) -> None:
        """Wait until the first such image, of a frame of 96 pixels, is visible and loaded."""
        image = self.page.locator(selector).first
        assert self.settles(lambda: image.is_visible() and image.evaluate("one => one.naturalWidth") == 96)

    def at_s(self) -> float:
        """The player's position."""
        return float(self.page.evaluate("document.getElementById('video').currentTime"))

    def is_paused(self) -> bool:
        return bool(self.page.evaluate("document.getElementById('video').paused"))

    def is_complete(self) -> bool:
        """Whether a question about a video with text shows all that the page loads beside the frames, in any order."""
        parts = (".card", ".tl-chapters", "#transcript:not([hidden])", "#history:not([hidden])")
        return self.can_play() and all(self.page.locator(part).count() > 0 for part in parts)

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


class HeldReply:
    """The reply to a tab's first GET of a path: fetched at once, and sent when told to."""

    def __init__(self, tab: Visit, path: str) -> None:
        self._page = tab.page
        self._route: Any = None
        self._reply: Any = None
        tab.page.route(path, self._handle)

    @property
    def is_held(self) -> bool:
        return self._reply is not None

    def _handle(self, route: Any) -> None:
        if self._route is not None or route.request.method != "GET":
            route.continue_()
            return
        self._route = route  # before it is answered: others may be asked meanwhile
        self._reply = route.fetch()

    def send(self) -> None:
        """Send it, and wait until the page has dealt with it."""
        with self._page.expect_response(lambda response: response.request == self._route.request) as arrived:
            self._route.fulfill(response=self._reply)
        arrived.value.finished()
        self._page.evaluate("new Promise((done) => setTimeout(done))")
