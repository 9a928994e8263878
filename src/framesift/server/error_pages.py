"""Pages that need nothing but themselves: for who is not let in yet, and for addresses where there is nothing."""

import base64
import hashlib
import html

STYLE = """
:root { color-scheme: light dark }
:root { --paper: #faf9f7; --surface: #fff; --ink: #1c1a18; --muted: #5d5853; --field: #8d867f }
@media (prefers-color-scheme: dark) {
  :root { --paper: #151413; --surface: #1f1d1b; --ink: #f2efeb; --muted: #b3aca3; --field: #7d766f }
}
html { font: 100%/1.55 system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif }
body { margin: 0; display: grid; min-height: 90vh; place-items: center; background: var(--paper); color: var(--ink) }
main { max-width: 26rem; padding: 1.5rem; overflow-wrap: anywhere }
strong { font-weight: 650; letter-spacing: -0.01em }
h1 { margin: 1.5rem 0 0; font-size: 1.5rem; line-height: 1.2; letter-spacing: -0.02em }
p { margin: 0.75rem 0 0; color: var(--muted) }
a { color: inherit; text-underline-offset: 0.2em }
form { display: flex; flex-wrap: wrap; align-items: end; gap: 0.75rem; margin-top: 1.5rem }
label { flex: 1 1 12rem; color: var(--muted); font-size: 0.875rem }
input, button { box-sizing: border-box; font: inherit; padding: 0.45rem 0.75rem; border-radius: 7px }
input { display: block; width: 100%; margin-top: 0.2rem; border: 1px solid var(--field) }
input { background: var(--surface); color: var(--ink) }
button { border: 1px solid var(--ink); background: var(--ink); color: var(--paper); cursor: pointer }
:focus-visible { outline: 3px solid #3b7bbf; outline-offset: 2px }
"""
PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>{title} · framesift</title>
<meta name="viewport" content="width=device-width, initial-scale=1"><link rel="icon" href="data:,">
<style>{style}</style></head>
<body><main><strong>framesift</strong><h1>{title}</h1><p>{sentence}</p>{more}</main></body></html>
"""
FIELD = """<form action="/" method="get"><label>Token
<input type="password" name="token" autocomplete="off" autofocus required></label><button>Open</button></form>"""
BACK = """<p><a href="/">To the library</a></p>"""

# Its one style is let in by what it says, as the server's own files are not to be had without the token.
_MARK = base64.b64encode(hashlib.sha256(STYLE.encode()).digest()).decode()
POLICY = (
    f"default-src 'none'; style-src 'sha256-{_MARK}'; img-src data:; form-action 'self'; base-uri 'none'; "
    "frame-ancestors 'none'"
)


def page_of(status: int, sentence: str) -> str:
    """What a person sees for an answer of this status."""
    if status == 401:
        return _page("A token is needed", sentence, FIELD)
    if status == 404:
        return _page("Nothing is here", "Check the address, or go on from the library.", BACK)
    return _page("Not let in" if status == 403 else "That did not work", sentence, "")


def _page(title: str, sentence: str, more: str) -> str:
    return PAGE.format(title=title, style=STYLE, sentence=html.escape(sentence), more=more)
