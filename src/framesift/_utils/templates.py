"""HTML templates: one Jinja2 environment that escapes by default, for the reports and the error pages."""

import base64
import hashlib
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from jinja2 import Environment


# Characters that HTML does not allow are replaced by visible ones, so that none is dropped or changes the markup:
# controls by their control pictures, C1 controls and lone surrogates by U+FFFD.
_DISALLOWED = {code: chr(0x2400 + code) for code in range(0x20) if chr(code) not in "\t\n"}
_DISALLOWED |= {0x7F: "\u2421"} | dict.fromkeys([*range(0x80, 0xA0), *range(0xD800, 0xE000)], "\ufffd")


def render_template(path: str, **context: Any) -> str:
    """Render the template at `path` inside the package, such as "server/templates/error.html"."""
    return html_environment().get_template(path).render(context)


def render_notebook(
    *, strips: Sequence[Mapping[str, Any]] = (), tables: Sequence[Mapping[str, Any]] = (), answer: Any = None
) -> str:
    """What a notebook shows: an answer, strips of frames, and tables, each with a title."""
    return render_template("_utils/notebook.html", strips=strips, tables=tables, answer=answer)


def read_asset(path: str) -> str:
    """Read a style or script at `path` inside the package."""
    return files("framesift").joinpath(path).read_text(encoding="utf-8")


def csp_hash(text: str) -> str:
    """The Content-Security-Policy source that allows exactly this inline style or script."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


@cache
def html_environment() -> "Environment":
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("framesift", ""),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=lambda value: (
            value.translate(_DISALLOWED) if isinstance(value, str) and not hasattr(value, "__html__") else value
        ),
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.policies["json.dumps_kwargs"] = {"allow_nan": False, "separators": (",", ":")}
    return environment
