"""Synthetic views for the report, with any number of frames, events and methods."""

import base64
import io
import itertools
import math
from typing import Any

from PIL import Image

ROLES = ("ground", "visual", "context", "refined")

UNTRUSTED = (
    "</script><script>window.broken = 1</script>",
    "<!-- <script> --!><img src=x onerror='window.broken=2'>",
    "\"' onmouseover=window.broken=3 x='",
    "\u202egnihtemos\u2066 back to front",
    "line\u2028separator\u2029 and \x00\x08\x1b controls \ud800",
    "&lt;b&gt; &amp; ]]> {{ }} ${x} $y \\u003c",
    "</textarea></style></title><svg onload=window.broken=4>",
    "غدا نلتقي في المحطة",
    "W" * 10_000,
)


def image_url(k: int, width: int = 96, height: int = 54) -> str:
    """A small image, different for each k."""
    image = Image.new("RGB", (width, height), ((37 * k) % 256, (91 * k + 40) % 256, (153 * k + 80) % 256))
    image.putpixel((k % width, k // width), (255, 255, 255))
    buffer = io.BytesIO()
    image.save(buffer, "PNG")
    return "data:image/png;base64," + base64.b64encode(buffer.getvalue()).decode()


def clock(time_s: float) -> str:
    return f"{int(time_s) // 3600}:{int(time_s) // 60 % 60:02d}:{time_s % 60:06.3f}"


def make_lane(method: str, frames: int, duration_s: float, *, shift: float, first_image: int) -> dict[str, Any]:
    rows: list[dict[str, Any]] = []
    for k in range(frames):
        time_s = round((k + 0.5 + shift) / (frames + 1) * duration_s, 3)
        role = ROLES[k % 4]
        rows.append(
            {
                "id": f"{method}-{k + 1}",
                "number": k + 1,
                "time_s": time_s,
                "clock": clock(time_s),
                "role": role,
                "relevance": 0.1 + 0.001 * k,
                "damaged": False,
                "frame": round(time_s * 24),
                "text": f"Text of frame {k + 1}." if role in ("ground", "context") else "",
                "image": image_url(first_image + k),
                "width": 96,
                "height": 54,
                "alt": f"The video at {clock(time_s)}",
                "why": [f"Reason {k + 1} of {method}.", "Nothing removed it."],
                "details": [f"Score {k}."],
                "nearly": [
                    {"time_s": time_s + 1, "clock": clock(time_s + 1), "sentence": "It came second.", "image": ""}
                ],
            }
        )
    swaps = []
    if frames > 3:
        swaps.append(
            {"out_s": 0.1 * duration_s, "in_s": rows[3]["time_s"], "margin": 0.12, "note": "Its value is higher."}
        )
    edges = [0.0, *(frame["time_s"] for frame in rows), duration_s]
    omitted = [
        {"start_s": a + 0.5, "end_s": b - 0.5, "note": f"Segment {k + 1} has nothing new."}
        for k, (a, b) in enumerate(itertools.pairwise(edges))
        if b - a > 2
    ]
    return {
        "method": method,
        "budget": frames,
        "summary": f"Selection({method}: {frames} frames)",
        "notes": ["Refine ran."],
        "frames": rows,
        "omitted": omitted,
        "swaps": swaps,
    }


def make_view(
    frames: int = 8,
    methods: tuple[str, ...] = ("gcr",),
    *,
    duration_s: float = 734.2,
    candidates: int = 300,
    events: int = 40,
    question: str = "Why does Tom leave?",
) -> dict[str, Any]:
    """A view for `render_report`. The methods select frames at different times."""
    times_s = [k * duration_s / max(1, candidates) for k in range(candidates)]
    return {
        "video": {
            "name": "film.mp4",
            "duration_s": duration_s,
            "width": 426,
            "height": 178,
            "fps": 24.0,
        },
        "videos": [
            {"name": "film.mp4", "start_s": 0.0, "duration_s": duration_s, "beside": ["film.mp4", "../film.mp4"]},
        ],
        "question": question,
        "options": [[0, "He is late"], [1, "He is bored"]],
        "warnings": [],
        "note": "",
        "window": None,
        "curve": {
            "times_s": times_s,
            "relevance": [0.1 + 0.05 * math.sin(k / 7) for k in range(candidates)],
            "chance": None,
        },
        "events": [
            {
                "start_s": k * duration_s / max(1, events),
                "end_s": (k + 0.6) * duration_s / max(1, events),
                "text": f"Event {k + 1}.",
                "source": "subtitles",
            }
            for k in range(events)
        ],
        "lanes": [
            make_lane(method, frames, duration_s, shift=0.2 * k, first_image=1 + k * frames)
            for k, method in enumerate(methods)
        ],
        "settings": [["encoder", "offline"], ["budget", str(frames)], ["framesift", "0.1.0"]],
        "json": '{\n "method": "gcr"\n}',
    }


def make_untrusted_view() -> dict[str, Any]:
    """A view in which every string from a user or a file is one of UNTRUSTED."""
    view = make_view(frames=len(UNTRUSTED), methods=("gcr", "mmr"), events=len(UNTRUSTED))
    view["video"]["name"] = view["videos"][0]["name"] = UNTRUSTED[0]
    view["question"] = " ".join(UNTRUSTED)
    view["options"] = list(enumerate(UNTRUSTED))
    view["warnings"] = list(UNTRUSTED)
    view["settings"] = [[text, text] for text in UNTRUSTED]
    view["json"] = UNTRUSTED[6]
    for event, text in zip(view["events"], UNTRUSTED, strict=True):
        event["text"] = text
    for lane, method in zip(view["lanes"], (UNTRUSTED[0], UNTRUSTED[8]), strict=True):
        lane["method"] = lane["summary"] = method
        lane["notes"] = list(UNTRUSTED)
        for frame, text in zip(lane["frames"], UNTRUSTED, strict=True):
            frame["text"] = frame["alt"] = frame["clock"] = text
            frame["why"] = frame["details"] = [text]
            frame["nearly"][0]["sentence"] = frame["nearly"][0]["clock"] = text
        for row in (*lane["omitted"], *lane["swaps"]):
            row["note"] = UNTRUSTED[1]
    return view
