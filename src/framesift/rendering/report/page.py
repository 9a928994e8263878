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
LONG_SETTING = 80  # characters: gets a row of its own
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
    page = _Page(view)
    question, video = str(view["question"]), view["video"]
    facts = f"{_length(video['duration_s'])} · {int(video['width'])} × {int(video['height'])}"
    facts += f" · {video['fps']:.4g} frames per second" if video.get("fps") else ""
    heading = question if question.strip() else shortened(video["name"], 90)
    return render_template(
        "rendering/report/templates/report.html",
        policy=policy,
        style=style,
        scripts=scripts,
        title=shortened(heading, 120),
        heading=heading,
        is_long=len(heading) > LONG_QUESTION,
        video={
            "name": video["name"],
            "short_name": shortened(video["name"], 90),
            "facts": facts if len(view["videos"]) == 1 else "",
        },
        options=[(option_letter(position), text) for position, text in view["options"]],
        note=view["note"],
        warnings=view["warnings"],
        answers=view.get("answers", ()),
        summary=page.summary(),
        legend=page.legend(),
        lanes=[page.lane(k) for k in range(len(page.lanes))],
        timeline_note=page.timeline_note(),
        listings=page.listings(),
        settings=[(name, value, len(str(value)) > LONG_SETTING) for name, value in view["settings"]],
        selections=[lane["summary"] for lane in page.lanes],
        json=view["json"],
        data=page.data(),
    )


def roles_style() -> str:
    """CSS variables with the colour of each role, for light and dark pages."""

    def rules(colours: Mapping[str, str]) -> str:
        return ":root{" + "".join(f"--role-{role}:{colour};" for role, colour in colours.items()) + "}"

    return f"{rules(ROLE_COLOURS)}@media (prefers-color-scheme:dark){{{rules(ROLE_COLOURS_DARK)}}}\n"


class _Page:
    """The template's values, in the order of the page; tracks which images the page already contains."""

    def __init__(self, view: Mapping[str, Any]) -> None:
        self.view = view
        self.lanes: Sequence[Mapping[str, Any]] = view["lanes"]
        self.names = [shortened(lane["method"], 60) for lane in self.lanes]
        self.image_ids: dict[str, int] = {}
        self.lanes_of_frame: dict[tuple[str, int], list[int]] = {}
        for k, lane in enumerate(self.lanes):
            for frame in lane["frames"]:
                self.lanes_of_frame.setdefault(self._frame_key(frame), []).append(k)

    def summary(self) -> str:
        times_s, window = self.view["curve"]["times_s"], self.view["window"]
        candidates = len(times_s) if window is None else sum(window[0] <= time_s <= window[1] for time_s in times_s)
        out_of = f" out of {candidates:,} candidate frame{'' if candidates == 1 else 's'}" if candidates else ""
        durations_s = [video["duration_s"] for video in self.view["videos"]]
        video = f"from a video of {_length(self.view['video']['duration_s'])}"
        if len(durations_s) > 1:
            video = f"from {len(durations_s)} videos of {_length(sum(durations_s))} in all"
        if window is not None:
            video += f", of which only {_clock(window[0])} to {_clock(window[1])} was considered"
        if len(self.lanes) == 1:
            selected = counted(len(self.lanes[0]["frames"]), "frame") + " selected"
        else:
            largest = max((len(lane["frames"]) for lane in self.lanes), default=0)
            selected = f"{len(self.lanes)} methods, each selecting up to {counted(largest, 'frame')}"
        return f"{selected}{out_of}, {video}. What the colours mean:"

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

    def legend(self) -> list[dict[str, Any]]:
        counts = Counter(frame["role"] for lane in self.lanes for frame in lane["frames"])
        show_count = len(self.lanes) == 1
        return [
            {"role": _role(role), "count": counted(counts[role], "frame") if show_count else "", "sentence": sentence}
            for role, sentence in ROLE_SENTENCES.items()
            if counts[role]
        ]

    def lane(self, position: int) -> dict[str, Any]:
        lane = self.lanes[position]
        frames, is_comparison = lane["frames"], len(self.lanes) > 1
        classes = ["frames"]
        if any(frame["height"] > frame["width"] for frame in frames):
            classes.append("tall")
        if is_comparison:
            classes.append("strip")
        elif len(frames) < FEW_FRAMES and "tall" not in classes:
            classes.append("few")
        elif len(frames) > MANY_FRAMES:
            classes.append("many")
        cards = [self._frame(position, k, frame) for k, frame in enumerate(frames)]
        roles = Counter(frame["role"] for frame in frames)
        is_folded = not is_comparison and 0 < roles["context"] < len(frames)
        counts = ", ".join(f"{roles[role]} {ROLE_NAMES[role]}" for role in ROLE_SENTENCES if roles[role])
        return {
            "heading": self.names[position] if is_comparison else "Selected frames, in order of time",
            "counts": f"{counted(len(frames), 'frame')}: {counts}" if is_comparison else "",
            "notes": lane["notes"],
            "classes": " ".join(classes),
            "frames": [cards[k] for k, frame in enumerate(frames) if not is_folded or frame["role"] != "context"],
            "fillers": [cards[k] for k, frame in enumerate(frames) if is_folded and frame["role"] == "context"],
        }

    def _frame(self, position: int, k: int, frame: Mapping[str, Any]) -> dict[str, Any]:
        is_lazy = len(self.lanes[position]["frames"]) > MANY_FRAMES
        size = frame["width"], frame["height"]
        others = (self.names[other] for other in self.lanes_of_frame[self._frame_key(frame)] if other != position)
        return {
            "id": f"{position}-{k}",
            # The first lane's frames have addresses: report.html#frame-3.
            "anchor": f"frame-{frame['number']}" if position == 0 else "",
            "number": frame["number"],
            "time": self.label(frame["time_s"]),
            "role": _role(frame["role"]),
            "is_damaged": frame["damaged"],
            "image": self._image(frame["image"], frame["alt"], size, is_lazy=is_lazy),
            "text": frame["text"],
            "excerpt": "" if frame["role"] == "ground" and frame["why"] else shortened(frame["text"], 300),
            "why": frame["why"],
            "details": " ".join(frame["details"]),
            "alternatives": [
                {
                    "image": self._image(row["image"], f"The video at {self.label(row['time_s'])}"),
                    "time": shortened(row["clock"], 40),
                    "sentence": row["sentence"],
                }
                for row in frame["nearly"]
            ],
            "full_time": shortened(frame["clock"], 40),
            "video_frame": f"{frame['frame']:,}".replace(",", "\u202f"),
            "relevance": f"{frame['relevance']:.4f}".replace("-", "−"),
            "also_in": ", ".join(dict.fromkeys(others)),
        }

    def _image(
        self, source: str, alt: str, size: tuple[int, int] | None = None, *, is_lazy: bool = True
    ) -> dict[str, Any] | None:
        """The values of an <img>. An image that the page already contains is referred to by its id."""
        if not source:
            return None
        image = {"source": source, "is_first": source not in self.image_ids, "size": size, "alt": alt}
        return image | {"id": self.image_ids.setdefault(source, len(self.image_ids)), "is_lazy": is_lazy}

    def timeline_note(self) -> str:
        whole = "The whole video" if len(self.view["videos"]) == 1 else "All videos, one after the other,"
        parts = [f"{whole} from left to right. Point at an item, or use Tab and the arrow keys, for details."]
        if self.view["window"] is not None:
            parts.append("Shaded parts were not considered.")
        if any(lane["omitted"] for lane in self.lanes):
            parts.append("Grey bars are omitted segments.")
        if any(lane["swaps"] for lane in self.lanes):
            parts.append("An arrow leads from a replaced frame to the frame that replaced it.")
        return " ".join(parts)

    def listings(self) -> list[dict[str, Any]]:
        """Swaps and omitted segments as text: what the timeline shows, for screen readers and print."""
        listings = []
        for lane, name in zip(self.lanes, self.names, strict=True):
            swaps = [(f"{self.label(row['out_s'])} → {self.label(row['in_s'])}", row["note"]) for row in lane["swaps"]]
            omitted = [
                (f"{self.label(row['start_s'])} – {self.label(row['end_s'])}", row["note"]) for row in lane["omitted"]
            ]
            for title, rows in (("Swaps", swaps), ("Omitted segments", omitted)):
                if rows:
                    method = name if len(self.lanes) > 1 else ""
                    listings.append({"title": title, "method": method, "rows": rows})
        return listings

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


def _role(role: str) -> dict[str, str]:
    """A role's name, and the known role in whose style it is shown."""
    return {"name": ROLE_NAMES.get(role, role), "style": role if role in ROLE_COLOURS else "context"}


def _clock(time_s: float) -> str:
    return short_clock(math.floor(time_s + 1e-6))


def _length(duration_s: float) -> str:
    """A duration as a clock time, or in seconds where a clock would show almost nothing."""
    return duration_text(duration_s) if 0 < duration_s < SHORT_VIDEO_S else _clock(duration_s)
