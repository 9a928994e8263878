"""The report: one HTML file that shows the selected frames, why each was selected, and what was omitted.

The file is self-contained: styles, scripts and images are inside it, and its Content-Security-Policy forbids anything
else. Every string of the view is untrusted; the template escapes them all.
"""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from framesift._utils.templates import csp_hash, read_asset, render_template
from framesift._utils.text import counted, duration_text, shortened
from framesift.rendering.palette import ROLE_COLOURS, ROLE_COLOURS_DARK, ROLE_NAMES
from framesift.selection.explainer import short_clock
from framesift.types.question import option_letter

ROLE_SENTENCES = {
    "ground": "What is said or written there matches the question; the text is drawn on the frame.",
    "visual": "The picture is closer to what the question describes than most of the video.",
    "context": "Shows a part of the video between the other frames.",
    "refined": "Shows a part of the video that the frames selected first left out.",
}
ASSETS = "rendering/report/assets"
# In the order of their dependencies: each adds its functions to the global object `framesift`, the later ones use it.
SCRIPTS = ("scale.js", "rows.js", "tip.js", "zoom.js", "timeline.js", "markdown.js", "report.js")
LONG_QUESTION = 160  # characters: set smaller from here on
SHORT_VIDEO_S = 10
FEW_FRAMES = 5  # below this the cards are larger
MANY_FRAMES = 60  # above this a card shows the image, time and role only; the rest is one click away


def render_report(view: Mapping[str, Any]) -> str:
    """Render the page for one question on one video: one lane for a selection, several to compare methods."""
    style = roles_style() + read_asset(f"{ASSETS}/timeline.css") + read_asset(f"{ASSETS}/style.css")
    scripts = [read_asset(f"{ASSETS}/{name}") for name in SCRIPTS]
    policy = (
        f"default-src 'none'; script-src {' '.join(map(csp_hash, scripts))}; style-src {csp_hash(style)}; "
        "img-src data:; media-src 'self' file:; base-uri 'none'; form-action 'none'"
    )
    heading = view["question"] if view["question"].strip() else shortened(view["video"]["name"], 90)
    start_s, end_s = view["window"] or (-math.inf, math.inf)
    return render_template(
        "rendering/report/templates/report.html",
        policy=policy,
        style=style,
        scripts=scripts,
        view=view,
        page=_Page(view),
        heading=heading,
        is_long=len(heading) > LONG_QUESTION,
        candidates=sum(start_s <= time_s <= end_s for time_s in view["curve"]["times_s"]),
        counts=Counter(frame["role"] for lane in view["lanes"] for frame in lane["frames"]),
        roles={role: (ROLE_NAMES[role], sentence) for role, sentence in ROLE_SENTENCES.items()},
        many=MANY_FRAMES,
        letter=option_letter,
        counted=counted,
        shortened=shortened,
        clock=_clock,
        length=_length,
    )


def roles_style() -> str:
    """CSS variables with the colour of each role, for light and dark pages."""

    def rules(colours: Mapping[str, str]) -> str:
        return ":root{" + "".join(f"--role-{role}:{colour};" for role, colour in colours.items()) + "}"

    return f"{rules(ROLE_COLOURS)}@media (prefers-color-scheme:dark){{{rules(ROLE_COLOURS_DARK)}}}\n"


class _Page:
    """What of the page depends on other parts of it; tracks which images it already contains."""

    def __init__(self, view: Mapping[str, Any]) -> None:
        self.view = view
        self.lanes: Sequence[Mapping[str, Any]] = view["lanes"]
        self.names = [shortened(lane["method"], 60) for lane in self.lanes]
        self.image_ids: dict[str, int] = {}
        self.lanes_of_frame: dict[tuple[str, int], list[int]] = {}
        for k, lane in enumerate(self.lanes):
            for frame in lane["frames"]:
                self.lanes_of_frame.setdefault(self._frame_key(frame), []).append(k)

    def label(self, time_s: float) -> str:
        """A time as h:mm:ss, after the name of its video where there are several."""
        if len(self.view["videos"]) == 1:
            return _clock(time_s)
        video = self._video_at(time_s)
        return f"{shortened(video['name'], 40)} {_clock(time_s - video['start_s'])}"

    def _video_at(self, time_s: float) -> Mapping[str, Any]:
        videos = self.view["videos"]
        return next((video for video in reversed(videos) if time_s >= video["start_s"]), videos[0])

    def _frame_key(self, frame: Mapping[str, Any]) -> tuple[str, int]:
        """The same for frames of several lanes that are one frame of one video."""
        return self._video_at(frame["time_s"])["name"], frame["frame"]

    def also_in(self, position: int, frame: Mapping[str, Any]) -> str:
        """The other lanes that have a frame of the lane at this position."""
        others = (self.names[other] for other in self.lanes_of_frame[self._frame_key(frame)] if other != position)
        return ", ".join(dict.fromkeys(others))

    def classes(self, frames: Sequence[Mapping[str, Any]]) -> str:
        """The classes of a lane's list: how large its cards are."""
        is_tall = any(frame["height"] > frame["width"] for frame in frames)
        size = "few" if len(frames) < FEW_FRAMES and not is_tall else "many" if len(frames) > MANY_FRAMES else ""
        return " ".join(filter(None, ["frames", "tall" * is_tall, size if len(self.lanes) == 1 else "strip"]))

    def counts(self, frames: Sequence[Mapping[str, Any]]) -> str:
        """How many frames of a lane have each role."""
        counts = Counter(frame["role"] for frame in frames)
        return ", ".join(f"{counts[role]} {ROLE_NAMES[role]}" for role in ROLE_SENTENCES if counts[role])

    def image(
        self, source: str, alt: str, size: tuple[int, int] | None = None, *, is_lazy: bool = True
    ) -> dict[str, Any] | None:
        """The values of an <img>. An image that the page already contains is referred to by its id."""
        if not source:
            return None
        image = {"source": source, "is_first": source not in self.image_ids, "size": size, "alt": alt}
        return image | {"id": self.image_ids.setdefault(source, len(self.image_ids)), "is_lazy": is_lazy}

    def data(self) -> dict[str, Any]:
        """What the script draws the timeline from. Images are left out: it takes them from the cards."""
        view = self.view
        lanes = [
            {
                "name": name,
                "caption": f"\u2068{name}\u2069 · {counted(len(lane['frames']), 'frame')}",
                "frames": [
                    {"id": f"{position}-{k}"} | {key: frame[key] for key in ("number", "time_s", "role", "text")}
                    for k, frame in enumerate(lane["frames"])
                ],
                "omitted": lane["omitted"],
                "swaps": lane["swaps"],
            }
            for position, (lane, name) in enumerate(zip(self.lanes, self.names, strict=True))
        ]
        return {
            "videos": view["videos"],
            "duration_s": view["video"]["duration_s"],
            "window": view["window"],
            "curve": view["curve"],
            "events": view["events"],
            "lanes": lanes,
        }


def _clock(time_s: float) -> str:
    return short_clock(math.floor(time_s + 1e-6))


def _length(duration_s: float) -> str:
    """A duration as a clock time, or in seconds where a clock would show almost nothing."""
    return duration_text(duration_s) if 0 < duration_s < SHORT_VIDEO_S else _clock(duration_s)
