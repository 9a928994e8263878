"""The report: one HTML file that shows the chosen frames, why each was chosen, and what was left out.

It holds all it needs and asks for nothing: style, script and pictures are inside, and its own policy forbids the rest.
Every string of the view is taken as hostile; `_text` and `_data` are the only ways into the page.
"""

import base64
import hashlib
import html
import json
import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from importlib.resources import files
from string import Template
from typing import Any

from framesift.rendering.palette import ROLE_COLOURS, ROLE_COLOURS_DARK
from framesift.types.question import option_letter

ROLE_SENTENCES = {
    "ground": "Shows a moment whose words fit the question; those words are drawn on the frame.",
    "visual": "One of the frames that look most like what the question asks about.",
    "context": "Tells the rest of the story, so that the frames do not all show the same.",
    "refined": "Speaks for a stretch first left out, which turned out to be worth more than a context frame.",
}
# Each imports only from those before it, so that joined in this order they are one script.
SCRIPTS = ("scale.js", "rows.js", "timeline.js", "report.js")
LONG_QUESTION = 160  # characters: set smaller from here on
LONG_SETTING = 80  # characters: gets a row of its own
FEW_FRAMES = 5  # below this the cards are larger
MANY_FRAMES = 60  # from here on only pictures, times and roles; the rest is one click away
PICTURE = re.compile(r"data:image/(?:jpeg|png|webp|gif|avif);base64,[A-Za-z0-9+/]+={0,2}")

# Characters that HTML cannot hold are shown by their pictures, so that nothing vanishes or turns into markup.
_UNFIT = {code: chr(0x2400 + code) for code in range(0x20) if chr(code) not in "\t\n"}
_UNFIT |= {0x7F: "\u2421"} | dict.fromkeys([*range(0x80, 0xA0), *range(0xD800, 0xE000)], "\ufffd")


def render_report(view: Mapping[str, Any]) -> str:
    """The whole page for one question on one video: one lane for a selection, several to compare methods."""
    page = _Page(view)
    style = roles_style() + _asset("timeline.css") + _asset("style.css")
    script = _script()
    policy = (
        f"default-src 'none'; script-src {_hash(script)}; style-src {_hash(style)}; img-src data:; "
        "media-src 'self' file:; base-uri 'none'; form-action 'none'"
    )
    name = str(view["question"]) or str(view["video"]["name"])
    return Template(_asset("page.html")).substitute(
        policy=policy,
        title=_text(_shortened(name, 120)),
        style=style,
        video=page.video(),
        question=page.question(),
        options=page.options(),
        summary=page.summary(),
        legend=page.legend(),
        lanes="\n".join(page.lane(k) for k in range(len(page.lanes))),
        beneath=page.beneath_timeline(),
        lists=page.lists(),
        settings="\n".join(_setting(name, value) for name, value in view["settings"]),
        printed="\n".join(f'<p class="printed" dir="auto">{_text(lane["summary"])}</p>' for lane in page.lanes),
        json=_text(view["json"]),
        data=page.data(),
        script=script,
    )


class _Page:
    """The parts of the page, in the order they stand on it; keeps track of the pictures already written."""

    def __init__(self, view: Mapping[str, Any]) -> None:
        self.view = view
        self.lanes: Sequence[Mapping[str, Any]] = view["lanes"]
        self.names = [_shortened(lane["method"], 60) for lane in self.lanes]
        self.written: dict[str, int] = {}
        holders: dict[int, list[int]] = {}
        for k, lane in enumerate(self.lanes):
            for frame in lane["frames"]:
                holders.setdefault(int(frame["frame"]), []).append(k)
        self.holders = holders

    def video(self) -> str:
        video = self.view["video"]
        facts = f"{_clock(video['duration_s'])} · {int(video['width'])} × {int(video['height'])}"
        if video.get("fps"):
            facts += f" · {video['fps']:.4g} frames per second"
        return f'<bdi title="{_text(video["name"])}">{_text(_shortened(video["name"], 90))}</bdi> <span>{facts}</span>'

    def question(self) -> str:
        question = str(self.view["question"])
        if not question.strip():
            return f'<h1 dir="auto">{_text(_shortened(self.view["video"]["name"], 90))}</h1>'
        if len(question) <= LONG_QUESTION:
            return f'<h1 dir="auto">{_text(question)}</h1>'
        # Focusable, so that the arrow keys scroll it where there is no script to unfold it.
        return f'<h1 dir="auto" class="long folded" tabindex="0">{_text(question)}</h1>'

    def options(self) -> str:
        rows = [
            f'<li><span class="letter">{option_letter(k)}</span><div class="said" dir="auto">{_text(option)}</div></li>'
            for k, option in self.view["options"]
        ]
        return f'<ol class="options" aria-label="Options">{"".join(rows)}</ol>' if rows else ""

    def summary(self) -> str:
        candidates = len(self.view["curve"]["times_s"])
        out_of = f" out of {candidates:,} candidate frames" if candidates else ""
        video = f"from a video of {_clock(self.view['video']['duration_s'])}"
        if len(self.lanes) == 1:
            chosen = _frames(len(self.lanes[0]["frames"])) + " chosen"
        else:
            most = max((len(lane["frames"]) for lane in self.lanes), default=0)
            chosen = f"{len(self.lanes)} methods, each choosing up to {_frames(most)}"
        return f"{chosen}{out_of}, {video}. The colour and shape of a frame’s label say why it is there:"

    def legend(self) -> str:
        counts = Counter(frame["role"] for lane in self.lanes for frame in lane["frames"])
        rows = []
        for role in ROLE_SENTENCES:
            if counts[role]:
                count = f'<span class="count">{_frames(counts[role])}</span>' if len(self.lanes) == 1 else ""
                rows.append(f"<li>{_pill(role)}{count}<p>{ROLE_SENTENCES[role]}</p></li>")
        return "\n".join(rows)

    def lane(self, place: int) -> str:
        lane = self.lanes[place]
        frames = lane["frames"]
        kinds = ["frames"]
        if any(frame["height"] > frame["width"] for frame in frames):
            kinds.append("tall")
        if len(self.lanes) > 1:
            kinds.append("strip")
        elif len(frames) < FEW_FRAMES and "tall" not in kinds:
            kinds.append("few")
        elif len(frames) > MANY_FRAMES:
            kinds.append("many")
        roles = Counter(frame["role"] for frame in frames)
        counts = ", ".join(f"{roles[role]} {role}" for role in ROLE_SENTENCES if roles[role])
        beneath = f'<p class="beneath">{_frames(len(frames))}: {counts}</p>' if len(self.lanes) > 1 else ""
        heading = "The frames, in order" if len(self.lanes) == 1 else f"<bdi>{_text(self.names[place])}</bdi>"
        notes = "".join(f'<li dir="auto">{_text(note)}</li>' for note in lane["notes"])
        cards = "\n".join(self.card(place, frame, k) for k, frame in enumerate(frames))
        return (
            f'<section aria-labelledby="lane-{place}"><h2 id="lane-{place}">{heading}</h2>'
            + beneath
            + (f'<ul class="notes">{notes}</ul>' if notes else "")
            + f'<ol class="{" ".join(kinds)}">\n{cards}\n</ol></section>'
        )

    def card(self, place: int, frame: Mapping[str, Any], k: int) -> str:
        role = frame["role"]
        also = self._also(place, frame)
        lazy = len(self.lanes[place]["frames"]) > MANY_FRAMES
        picture = self._picture(frame["picture"], frame["alt"], (frame["width"], frame["height"]), lazy=lazy)
        label = f"Open frame {int(frame['number'])}, {_clock(frame['time_s'])}, {role}"
        words = (
            f'<span class="words" dir="auto">{_text(_shortened(frame["text"], 300))}</span>' if frame["text"] else ""
        )
        because = f'<span class="because" dir="auto">{_text(frame["why"][0])}</span>' if frame["why"] else ""
        # The first lane's frames can be linked to from outside: report.html#frame-3.
        anchor = f' id="frame-{int(frame["number"])}"' if place == 0 else ""
        return (
            f'<li class="card role-{_role(role)}" data-frame="{place}-{k}"{anchor}>'
            f'<button type="button" class="open" aria-label="{_text(label)}">'
            f'<span class="shot">{picture}</span>'
            f'<span class="line"><span class="number">{int(frame["number"])}</span>'
            f'<span class="time">{_clock(frame["time_s"])}</span>{_pill(role)}</span>'
            + words
            + because
            + (f'<span class="also">also in <bdi>{_text(also)}</bdi></span>' if also else "")
            + f"</button><details><summary>Why this frame</summary>{self._story(frame, also)}</details></li>"
        )

    def _story(self, frame: Mapping[str, Any], also: str) -> str:
        """What the dialog shows beside the picture; without script it unfolds under the card."""
        parts = []
        if frame["why"]:
            why = "".join(f'<li dir="auto">{_text(sentence)}</li>' for sentence in frame["why"])
            parts.append(f'<div><h3>Why it was chosen</h3><ul class="why">{why}</ul></div>')
        if frame["text"]:
            parts.append(
                f'<div><h3>Words on the frame</h3><blockquote dir="auto">{_text(frame["text"])}</blockquote></div>'
            )
        if frame["nearly"]:
            rows = "".join(self._near(near) for near in frame["nearly"])
            parts.append(f'<div><h3>What was nearly chosen</h3><ul class="near">{rows}</ul></div>')
        facts = [
            ("Time", f"<bdi>{_text(_shortened(frame['clock'], 40))}</bdi>"),
            ("Frame number", f"{int(frame['frame']):,}".replace(",", "\u202f")),
        ]
        if _is_finite(frame["relevance"]):
            facts.append(("Relevance", f"{frame['relevance']:.4f}".replace("-", "−")))
        if also:
            facts.append(("Also chosen by", f"<bdi>{_text(also)}</bdi>"))
        rows = "".join(f"<dt>{name}</dt><dd>{value}</dd>" for name, value in facts)
        parts.append(f'<div><h3>In the video</h3><dl class="facts">{rows}</dl></div>')
        return f'<div class="story">{"".join(parts)}</div>'

    def _near(self, near: Mapping[str, Any]) -> str:
        picture = self._picture(near["picture"], f"The video at {_clock(near['time_s'])}")
        time = f"<strong><bdi>{_text(_shortened(near['clock'], 40))}</bdi></strong>"
        words = f'<div>{time}<p dir="auto">{_text(near["sentence"])}</p></div>'
        return f"<li>{picture}{words}</li>" if picture else f'<li class="bare">{words}</li>'

    def _also(self, place: int, frame: Mapping[str, Any]) -> str:
        others = [self.names[k] for k in self.holders[int(frame["frame"])] if k != place]
        return ", ".join(dict.fromkeys(others))

    def _picture(self, source: str, alt: str, size: tuple[int, int] | None = None, *, lazy: bool = True) -> str:
        """The picture as <img>; one that was written before only points to where it stands."""
        if not PICTURE.fullmatch(source):
            return ""
        room = f' width="{int(size[0])}" height="{int(size[1])}"' if size else ""
        loading = ' loading="lazy"' if lazy else ""
        known = self.written.get(source)
        if known is None:
            known = self.written[source] = len(self.written)
            held = f'src="{source}" data-picture="{known}"'
        else:
            held = f'data-same="{known}"'
        return f'<img {held}{room} alt="{_text(alt)}"{loading} decoding="async">'

    def beneath_timeline(self) -> str:
        parts = [
            "The whole video from left to right; point at anything, or reach it by Tab and the arrow keys, to read it."
        ]
        if any(lane["omitted"] for lane in self.lanes):
            parts.append("Grey bars are the stretches left out.")
        if any(lane["swaps"] for lane in self.lanes):
            parts.append("An arrow leads from a frame that gave way to the one that took its place.")
        return " ".join(parts)

    def lists(self) -> str:
        """Swaps and stretches left out, in words: what the timeline shows, for those who read rather than look."""
        out = []
        for lane, name in zip(self.lanes, self.names, strict=True):
            swaps = [(f"{_clock(s['out_s'])} → {_clock(s['in_s'])}", s["note"]) for s in lane["swaps"]]
            left = [(f"{_clock(o['start_s'])} – {_clock(o['end_s'])}", o["note"]) for o in lane["omitted"]]
            named = f", <bdi>{_text(name)}</bdi>" if len(self.lanes) > 1 else ""
            for title, rows in (("Swaps", swaps), ("Stretches left out", left)):
                if rows:
                    listed = "".join(f'<li><span>{a}</span><span dir="auto">{_text(b)}</span></li>' for a, b in rows)
                    summary = f"<summary>{title}{named} ({len(rows)})</summary>"
                    out.append(f'<details class="lists">{summary}<ul tabindex="0">{listed}</ul></details>')
        return "\n".join(out)

    def data(self) -> str:
        """What the script draws the timeline from. Pictures stay out: it takes them from the cards."""
        view = self.view
        kept_frame = ("number", "time_s", "role", "text")
        lanes = [
            {
                "name": self.names[place],
                "caption": f"\u2068{self.names[place]}\u2069 · {_frames(len(lane['frames']))}",
                "frames": [
                    {"id": f"{place}-{k}"} | {key: frame[key] for key in kept_frame}
                    for k, frame in enumerate(lane["frames"])
                ],
                "omitted": [{key: o[key] for key in ("start_s", "end_s", "note")} for o in lane["omitted"]],
                "swaps": [{key: s[key] for key in ("out_s", "in_s", "note")} for s in lane["swaps"]],
            }
            for place, lane in enumerate(self.lanes)
        ]
        return _data(
            {
                "video": {"name": view["video"]["name"], "beside": list(view["video"]["beside"])},
                "duration_s": view["video"]["duration_s"],
                "curve": {
                    "times_s": [_rounded(time_s, 3) for time_s in view["curve"]["times_s"]],
                    "relevance": [_rounded(value, 5) for value in view["curve"]["relevance"]],
                },
                "events": [{key: event[key] for key in ("start_s", "end_s", "text")} for event in view["events"]],
                "lanes": lanes,
            }
        )


def _text(value: object) -> str:
    """For element content and quoted attributes."""
    return html.escape(str(value).translate(_UNFIT), quote=True)


def _data(value: object) -> str:
    """JSON that no parser of HTML can take for markup: nothing in it but ASCII, and no angle brackets."""
    written = json.dumps(value, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    return written.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _asset(name: str) -> str:
    return files("framesift.rendering.report").joinpath("assets", name).read_text(encoding="utf-8")


def _script() -> str:
    """The modules as one: a page opened from disk may not import, so the import lines go."""
    return "".join(re.sub(r"^import .*;\n", "", _asset(name), flags=re.MULTILINE) for name in SCRIPTS)


def roles_style() -> str:
    def rules(colours: Mapping[str, str]) -> str:
        return ":root{" + "".join(f"--role-{role}:{colour};" for role, colour in colours.items()) + "}"

    return f"{rules(ROLE_COLOURS)}@media (prefers-color-scheme:dark){{{rules(ROLE_COLOURS_DARK)}}}\n"


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def _role(role: str) -> str:
    return role if role in ROLE_COLOURS else "context"


def _pill(role: str) -> str:
    return f'<span class="role role-{_role(role)}" data-role="{_role(role)}">{_text(role)}</span>'


def _setting(name: object, value: object) -> str:
    wide = ' class="wide"' if len(str(value)) > LONG_SETTING else ""
    return f'<div{wide}><dt dir="auto">{_text(name)}</dt><dd dir="auto">{_text(value)}</dd></div>'


def _clock(time_s: float) -> str:
    whole = max(0, math.floor(time_s + 1e-6)) if _is_finite(time_s) else 0
    return f"{whole // 3600}:{whole // 60 % 60:02d}:{whole % 60:02d}"


def _frames(count: int) -> str:
    return f"{count} frame" if count == 1 else f"{count} frames"


def _shortened(text: object, most: int) -> str:
    text = " ".join(str(text).split())
    return text if len(text) <= most else text[: most - 1] + "…"


def _is_finite(value: Any) -> bool:
    return isinstance(value, (int, float)) and math.isfinite(value)


def _rounded(value: Any, digits: int) -> float | None:
    return round(float(value), digits) if _is_finite(value) else None
