"""What the report shows, as JSON values: one lane for each method, over one video and one question."""

import itertools
import platform
from collections.abc import Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from framesift._utils.text import clock, readable
from framesift._utils.version import __version__
from framesift.rendering.exhibit import Exhibit
from framesift.rendering.reasons import short_clock
from framesift.rendering.thumbnails import Album
from framesift.types import Basis

_TOLD_VERSIONS = ("numpy", "av", "pillow", "torch", "transformers")


def view_of(exhibits: Sequence[Exhibit], albums: Sequence[Album], *, json_text: str) -> dict[str, Any]:
    """exhibits: of one video and question, one per method; albums: their pictures; json_text: what can be copied."""
    first = exhibits[0]
    info, basis, question = first.info, first.selection.basis, first.question
    name = readable(first.video.name)
    return {
        "video": {
            "name": name,
            "duration_s": info.duration_s,
            "width": info.width,
            "height": info.height,
            "fps": info.fps,
            "beside": [name, f"../{name}"],
        },
        "question": "" if question is None else question.text,
        "options": [] if question is None else [[k, text] for k, text in question.choices.items()],
        "curve": _curve(basis),
        "events": [_event_row(event) for event in (() if basis is None else basis.events)],
        "lanes": [_lane(exhibit, album) for exhibit, album in zip(exhibits, albums, strict=True)],
        "settings": _settings(exhibits),
        "json": json_text,
    }


def _curve(basis: Basis | None) -> dict[str, list[float]]:
    if basis is None:
        return {"times_s": [], "relevance": []}
    return {
        "times_s": [round(float(value), 3) for value in basis.times_s],
        "relevance": [round(float(value), 5) for value in basis.relevance],
    }


def _event_row(event: Any) -> dict[str, Any]:
    return {"start_s": event.start_s, "end_s": event.end_s, "text": event.text, "source": event.source}


def _lane(exhibit: Exhibit, album: Album) -> dict[str, Any]:
    selection = exhibit.selection
    trace = selection.trace
    notes = [trace["note"]] if "note" in trace else []
    looked_at, candidates = trace.get("looked_at"), trace.get("candidates")
    if looked_at is not None and looked_at != candidates:
        notes.append(f"{selection.method} looked at {looked_at} of {candidates} candidates.")
    if "refine" in trace:
        notes.append(_refine_note(trace["refine"]))
    return {
        "method": selection.method,
        "budget": selection.budget,
        "summary": repr(selection),
        "notes": notes,
        "frames": [_frame_row(exhibit, album, place) for place in range(len(exhibit))],
        "omitted": _omitted(exhibit),
        "swaps": _swaps(exhibit),
    }


def _frame_row(exhibit: Exhibit, album: Album, place: int) -> dict[str, Any]:
    frame, reason = exhibit.frames[place], album.reasons[place]
    slot = frame.slot
    width, height = album.sizes[place]
    alt = f"Frame at {clock(slot.time_s)}, {slot.role}" + (
        f", with the words: {frame.text[:200]}" if frame.text else ""
    )
    return {
        "id": f"{exhibit.selection.method}-{place + 1}",
        "number": place + 1,
        "time_s": slot.time_s,
        "clock": clock(slot.time_s),
        "role": slot.role,
        "relevance": slot.relevance,
        "frame": frame.number,
        "text": frame.text,
        "picture": album.pages[place],
        "width": width,
        "height": height,
        "alt": alt,
        "why": list(reason.why),
        "nearly": [
            {
                "time_s": near.time_s,
                "clock": clock(near.time_s),
                "sentence": near.sentence,
                "picture": album.near.get(near.time_s, ""),
            }
            for near in reason.nearly
        ],
    }


def _omitted(exhibit: Exhibit) -> list[dict[str, Any]]:
    """The stretches between chosen frames: as Refine valued them where it ran, else as they are."""
    selection, basis = exhibit.selection, exhibit.selection.basis
    regions: Sequence[Mapping[str, Any]] = selection.trace.get("refine", {}).get("regions", ())
    if regions:
        return [
            {
                "start_s": row["start_s"],
                "end_s": row["end_s"],
                "note": f"Worth {row['value']:.2f} to Refine: {row['outcome']}.",
            }
            for row in regions
        ]
    if basis is None:
        return []
    rows = []
    bounds = [-1, *selection.indices, len(basis.times_s)]
    for before, after in itertools.pairwise(bounds):
        if after - before > 1:
            start_s, end_s = float(basis.times_s[before + 1]), float(basis.times_s[after - 1])
            rows.append({"start_s": start_s, "end_s": end_s, "note": f"{after - before - 1} candidates left out."})
    return rows


def _swaps(exhibit: Exhibit) -> list[dict[str, Any]]:
    basis = exhibit.selection.basis
    if basis is None:
        return []
    rows = []
    for swap in exhibit.selection.trace.get("refine", {}).get("swaps", ()):
        out_s, in_s = float(basis.times_s[swap["out"]]), float(basis.times_s[swap["in"]])
        note = f"{short_clock(in_s)} came in for {short_clock(out_s)}: worth {swap['margin']:.2f} more."
        rows.append({"out_s": out_s, "in_s": in_s, "margin": swap["margin"], "note": note})
    return rows


def _refine_note(refine: Mapping[str, Any]) -> str:
    if not refine.get("ran"):
        return f"Refine did not run: {refine.get('reason', '')}."
    count = len(refine.get("swaps", ()))
    made = "no swap" if not count else "one swap" if count == 1 else f"{count} swaps"
    return f"Refine ran and made {made}: {refine['reason']}."


def _settings(exhibits: Sequence[Exhibit]) -> list[list[str]]:
    first = exhibits[0]
    basis, info = first.selection.basis, first.info
    rows = [
        [
            "video",
            f"{readable(first.video.name)}, {info.width}×{info.height}, {info.fps:.3g} frames a second, {info.codec}",
        ],
        ["encoder", basis.encoder if basis is not None and basis.encoder else "not told"],
        ["candidates", str(len(basis.times_s)) if basis is not None else "not told"],
        ["events", str(len(basis.events)) if basis is not None else "not told"],
        ["overlay", first.overlay + (f", seed {first.seed}" if first.overlay == "shuffled" else "")],
    ]
    for exhibit in exhibits:
        selection = exhibit.selection
        rows.append(["method", f"{selection.method}, budget {selection.budget}"])
        own = "" if len(exhibits) == 1 else f"{selection.method}: "
        rows += [[own + name, str(value)] for name, value in selection.trace.get("options", {}).items()]
    rows.append(["framesift", __version__])
    rows += [[name, found] for name in _TOLD_VERSIONS if (found := _version(name))]
    rows.append(["Python", platform.python_version()])
    return rows


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return ""
