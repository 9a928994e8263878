"""Self-contained HTML pages for refused requests and unknown addresses."""

from framesift.rendering.templates import csp_hash, read_asset, render_template

TITLES = {401: "Token required", 403: "Access denied", 404: "Page not found"}
OTHER_TITLE = "The request failed"

_STYLE = read_asset("server/templates/error.css")
# The style is inline and allowed by its hash, because the server's own files are not served without the token.
POLICY = (
    f"default-src 'none'; style-src {csp_hash(_STYLE)}; img-src data:; form-action 'self'; base-uri 'none'; "
    "frame-ancestors 'none'"
)


def render_error_page(status: int, sentence: str) -> str:
    """Render the page shown in a browser for a response of this status."""
    return render_template(
        "server/templates/error.html",
        style=_STYLE,
        status=status,
        title=TITLES.get(status, OTHER_TITLE),
        sentence=f"{sentence}. Check the address, or start from the library." if status == 404 else sentence,
    )
