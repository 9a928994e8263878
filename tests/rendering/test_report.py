"""The report as a file: its contents, its policy, and the escaping of untrusted text."""

import base64
import hashlib
import re
from html.parser import HTMLParser
from typing import Any

import pytest

from framesift.rendering.report.page import ROLE_SENTENCES, SCRIPTS, render_report
from helpers.report_views import UNTRUSTED, image_url, make_untrusted_view, make_view

VOID = {"meta", "img", "br", "input", "link", "hr"}


class Parsed(HTMLParser):
    """The page as a parser reads it: elements with their attributes and text, and end tags that close nothing."""

    def __init__(self, page: str) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[int] = []
        self.elements: list[tuple[str, dict[str, str | None], list[str]]] = []
        self.mismatched: list[str] = []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs), []))
        if tag not in VOID:
            self.open.append(len(self.elements) - 1)

    def handle_endtag(self, tag: str) -> None:
        if not self.open or self.elements[self.open.pop()][0] != tag:
            self.mismatched.append(tag)

    def handle_data(self, data: str) -> None:
        for k in self.open:
            self.elements[k][2].append(data)

    def texts(self, tag: str, **attributes: str) -> list[str]:
        named = {name.rstrip("_"): value for name, value in attributes.items()}
        return [
            "".join(text)
            for element, attrs, text in self.elements
            if element == tag and all(value in (attrs.get(name) or "").split() for name, value in named.items())
        ]


def as_rendered(text: str) -> str:
    """The text with the characters that HTML does not allow replaced, as the templates do it."""
    controls = {code: 0x2400 + code for code in range(32) if code not in (9, 10)}
    return text.translate(controls).replace("\ud800", "\ufffd")


def read(view: dict[str, Any]) -> Parsed:
    return Parsed(render_report(view))


VIEWS = {
    "plain": make_view(),
    "three methods": make_view(methods=("gcr", "mmr", "uniform")),
    "no events, no curve": make_view(events=0, candidates=0),
    "untrusted": make_untrusted_view(),
}


@pytest.mark.parametrize("view", VIEWS.values(), ids=VIEWS.keys())
def test_page_is_well_formed_and_embeds_every_image_once(view):
    page = render_report(view)
    parsed = Parsed(page)
    assert parsed.mismatched == [] and parsed.open == []
    ids = [attrs["id"] for _, attrs, _ in parsed.elements if "id" in attrs]
    assert len(ids) == len(set(ids))
    assert {page.count(frame["image"] + '"') for lane in view["lanes"] for frame in lane["frames"]} == {1}


def test_image_shared_by_two_methods_is_embedded_once_and_referred_to():
    view = make_view(methods=("gcr", "mmr"))
    shared = view["lanes"][1]["frames"][0]["image"] = view["lanes"][0]["frames"][2]["image"]
    page = render_report(view)
    assert page.count(shared) == page.count('data-same-as="2"') == 1


def test_page_refers_to_nothing_outside_itself():
    page = re.sub(r"data:image/[a-z]+;base64,[A-Za-z0-9+/=]+", "", render_report(make_view()))
    assert re.search(r"https?:|url\(|@import|^import ", page, re.MULTILINE) is None
    for tag, attrs, _ in Parsed(page).elements:
        assert tag not in {"link", "iframe", "object", "embed", "base", "form"}
        assert (attrs.get("href") or "#").startswith("#")


def test_policy_allows_the_scripts_and_style_of_the_page_and_no_other():
    parsed = read(make_view())
    (policy,) = [attrs["content"] for _, attrs, _ in parsed.elements if "http-equiv" in attrs]
    texts = [*parsed.texts("script", type="module"), *parsed.texts("style")]
    assert len(texts) == policy.count("sha256-") == len(SCRIPTS) + 1
    for text in texts:
        assert base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() in policy
    assert policy.startswith("default-src 'none'") and "unsafe" not in policy
    assert not [attrs for _, attrs, _ in parsed.elements if "style" in attrs]


def test_untrusted_text_is_never_markup_and_has_automatic_direction():
    page = render_report(make_untrusted_view())
    parsed = Parsed(page)
    page.encode()
    assert "<!--" not in page
    assert len(parsed.texts("script")) == len(SCRIPTS) + 1 and len(parsed.texts("style")) == 1
    assert not [name for _, attrs, _ in parsed.elements for name in attrs if name.startswith("on")]
    assert parsed.texts("div", class_="option") == [as_rendered(text) for text in UNTRUSTED]
    assert parsed.texts("textarea")[0].strip() == UNTRUSTED[6]
    assert parsed.texts("h1")[0] == as_rendered(" ".join(UNTRUSTED))
    for tag, attrs, text in parsed.elements:
        if tag in {"h1", "blockquote"} or attrs.get("class") in {"option", "event-text", "reason"}:
            assert attrs.get("dir") == "auto", (tag, "".join(text)[:40])


@pytest.mark.parametrize(("duration_s", "shown"), [(734.0, "0:12:14"), (0.04, "0.04 s")])
def test_summary_states_frames_candidates_and_duration(duration_s, shown):
    view = make_view(frames=1)
    view["video"]["duration_s"] = duration_s
    (summary,) = read(view).texts("p", class_="summary")
    assert summary.startswith(f"1 frame selected out of 300 candidate frames, from a video of {shown}.")


def test_legend_lists_only_the_roles_that_occur():
    (legend,) = read(make_view(frames=2)).texts("ul", class_="legend")
    assert [role for role, sentence in ROLE_SENTENCES.items() if sentence in legend] == ["ground", "visual"]


def test_explanations_are_in_the_page_without_script():
    view = make_view(frames=3)
    view["lanes"][0]["frames"][0]["nearly"][0]["image"] = image_url(999)
    page = render_report(view)
    for frame, text in zip(view["lanes"][0]["frames"], Parsed(page).texts("details"), strict=False):
        assert all(shown in text for shown in (*frame["why"], frame["clock"], frame["nearly"][0]["sentence"]))
    assert page.count(image_url(999)) == 1


def test_strip_of_portrait_frames_is_tall():
    view = make_view(methods=("gcr", "mmr"))
    view["lanes"][1]["frames"][0] |= {"width": 54, "height": 96}
    page = read(view)
    assert (len(page.texts("ol", class_="strip")), len(page.texts("ol", class_="tall"))) == (2, 1)


def test_heading_without_a_question_is_the_video_name():
    assert read(make_view(question="")).texts("h1") == ["film.mp4"]


def test_frame_selected_by_two_methods_names_the_other():
    view = make_view(methods=("gcr", "mmr"))
    view["lanes"][1]["frames"][0]["frame"] = view["lanes"][0]["frames"][0]["frame"]
    assert read(view).texts("span", class_="also") == ["also in mmr", "also in gcr"]


def test_warnings_have_a_box_before_the_frames():
    page = render_report(make_view() | {"warnings": ["frames <are> missing", "the text is odd"]})
    (box,) = Parsed(page).texts("aside", class_="warnings")
    assert box.split("\n") == ["Warnings about this video", "", "frames <are> missing", "the text is odd", ""]
    assert page.index('class="warnings"') < page.index('class="summary"')
    assert read(make_view()).texts("aside") == []
