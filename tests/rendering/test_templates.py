"""HTML templates: escaping by default, in every template of the package."""

import re
from pathlib import Path

import pytest
from jinja2 import UndefinedError

import framesift
from framesift._utils import templates

PACKAGE = Path(framesift.__file__).parent


def render(source: str, **context: object) -> str:
    return templates.html_environment().from_string(source).render(context)


def test_values_are_escaped():
    assert render("{{ text }}", text="<b>'\"&") == "&lt;b&gt;&#39;&#34;&amp;"


def test_characters_that_html_does_not_allow_are_replaced():
    assert render("{{ text }}", text="a\x00b\x1bc\x9fd\ud800e\tf\n.") == "a␀b␛c\ufffdd\ufffde\tf\n."


def test_json_cannot_end_its_script():
    written = render("{{ data|tojson }}", data={"text": "</script>\u2028&'"})
    assert written.isascii() and not set("<>&'") & set(written)


def test_unknown_variable_is_an_error():
    with pytest.raises(UndefinedError):
        render("{{ missing }}")


def test_only_styles_and_scripts_are_inserted_unescaped():
    paths = sorted(PACKAGE.rglob("templates/*.html"))
    assert len(paths) >= 3
    for path in paths:
        assert set(re.findall(r"\{\{ (\w+)\|safe \}\}", path.read_text())) <= {"style", "script"}, path
        assert path.read_text().count("safe") == len(re.findall(r"\{\{ \w+\|safe \}\}", path.read_text())), path
