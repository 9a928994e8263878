"""The data of the report as JSON values: one lane per method, for one video and one question."""

import itertools
import platform
from collections.abc import Sequence
from typing import Any

from framesift._utils.requirements import installed_version
from framesift._utils.text import counted, readable
from framesift._utils.version import __version__
from framesift.rendering.palette import ROLE_NAMES
from framesift.rendering.reasons import trace_errors
from framesift.rendering.rendered_selection import RenderedSelection
from framesift.rendering.thumbnails import ReportImages
from framesift.selection.explainer import short_clock
from framesift.selection.trace import RefineTrace, Trace
from framesift.types import Basis

_PACKAGES = ("numpy", "av", "pillow", "onnxruntime", "torch", "transformers")


def view_of(exhibits: Sequence[RenderedSelection], images: Sequence[ReportImages], *, json_text: str) -> dict[str, Any]:
    """Build the view of exhibits of one video and question, one per method. json_text: what the page offers to copy."""
    first = exhibits[0]
    info, basis, question = first.info, first.basis, first.question
    name = ", ".join(first.names)
    lanes = []
    for exhibit, own in zip(exhibits, images, strict=True):
        with trace_errors(exhibit.selection):
            lanes.append(_lane(exhibit, own))
    return {
        "video": {
            "name": name,
            "duration_s": info.duration_s,
            "width": info.width,
            "height": info.height,
            "fps": info.fps,
        },
        "videos": [
            {
                "name": readable(video.name),
                "start_s": video.start_s,
                "duration_s": video.info.duration_s,
                # Where a report looks for its file.
                "beside": [readable(video.name), f"../{readable(video.name)}"],
            }
            for video in first.videos
        ],
        "question": "" if question is None else question.text,
        "options": [] if question is None else [[k, text] for k, text in question.choices.items()],
        "warnings": list(dict.fromkeys(text for exhibit in exhibits for text in exhibit.warnings)),
        "note": "" if basis.chance is None else basis.chance.note,
        "window": None if basis.window is None else list(basis.window),
        "curve": _curve(basis),
        "events": [dict(vars(event)) for event in basis.events],
        "lanes": lanes,
        "settings": _settings(exhibits),
        "json": json_text,
    }


def _curve(basis: Basis) -> dict[str, Any]:
    return {
        "chance": None if basis.chance is None else [round(basis.chance.low, 5), round(basis.chance.high, 5)],
        "times_s": [round(float(value), 3) for value in basis.times_s],
        "relevance": [round(float(value), 5) for value in basis.relevance],
    }


def _lane(exhibit: RenderedSelection, images: ReportImages) -> dict[str, Any]:
    selection = exhibit.selection
    trace = Trace.of(selection)
    notes = [note for note in (trace.stopped, trace.note, trace.skipped) if note]
    if trace.looked_at != trace.candidates:
        notes.append(f"{selection.method} scored {trace.looked_at} of {trace.candidates} candidates.")
    refine = trace.refine or RefineTrace(False, "")
    if trace.refine is not None:
        notes.append(_refine_note(refine))
    return {
        "method": selection.method,
        "budget": selection.budget,
        "summary": repr(selection),
        "notes": notes,
        "frames": [_frame_row(exhibit, images, position) for position in range(len(exhibit))],
        "omitted": _omitted(exhibit, refine),
        "swaps": _swaps(exhibit, refine),
    }


def _frame_row(exhibit: RenderedSelection, images: ReportImages, position: int) -> dict[str, Any]:
    frame, reason = exhibit.frames[position], images.reasons[position]
    slot = frame.slot
    width, height = images.sizes[position]
    label = exhibit.label(slot.time_s)
    alt = f"{'Damaged frame' if frame.is_damaged else 'Frame'} at {label}, {ROLE_NAMES[slot.role]}"
    alt += f", with the text: {frame.text[:200]}" if frame.text else ""
    return {
        "id": f"{exhibit.method}-{position + 1}",
        "number": position + 1,
        "time_s": slot.time_s,
        "clock": label,
        "role": slot.role,
        "relevance": slot.relevance,
        "frame": frame.number,
        "damaged": frame.is_damaged,
        "text": frame.text,
        "image": images.urls[position],
        "width": width,
        "height": height,
        "alt": alt,
        "why": list(reason.why),
        "details": list(reason.details),
        "strength": round(reason.strength, 4),
        "nearly": [
            {
                "time_s": other.time_s,
                "clock": exhibit.label(other.time_s),
                "sentence": other.sentence,
                "image": images.alternatives.get(other.time_s, ""),
            }
            for other in reason.alternatives
        ],
    }


def _omitted(exhibit: RenderedSelection, refine: RefineTrace) -> list[dict[str, Any]]:
    """The segments between selected frames, with their evidence values where Refine ran."""
    basis = exhibit.basis
    if refine.regions:
        return [
            {"start_s": row.start_s, "end_s": row.end_s, "note": f"Evidence value {row.value:.2f}: {row.outcome}."}
            for row in refine.regions
        ]
    rows = []
    bounds = [basis.considered.start - 1, *exhibit.indices, basis.considered.stop]
    for before, after in itertools.pairwise(bounds) if len(basis.times_s) else ():
        if after - before > 1:
            start_s, end_s = float(basis.times_s[before + 1]), float(basis.times_s[after - 1])
            omitted = counted(after - before - 1, "candidate")
            rows.append({"start_s": start_s, "end_s": end_s, "note": f"{omitted} omitted."})
    return rows


def _swaps(exhibit: RenderedSelection, refine: RefineTrace) -> list[dict[str, Any]]:
    times_s, rows = exhibit.basis.times_s, []
    for swap in refine.swaps or () if len(times_s) else ():
        out_s, in_s = float(times_s[swap["out"]]), float(times_s[swap["in"]])
        note = f"Evidence value {swap['margin']:.2f} higher than that of the replaced frame."
        rows.append({"out_s": out_s, "in_s": in_s, "note": note})
    return rows


def _refine_note(refine: RefineTrace) -> str:
    if not refine.ran:
        return f"Refine did not run: {refine.reason}."
    count = len(refine.swaps or ())
    swaps = "no swap" if not count else "one swap" if count == 1 else f"{count} swaps"
    return f"Refine ran and made {swaps}: {refine.reason}."


def _settings(exhibits: Sequence[RenderedSelection]) -> list[list[str]]:
    first = exhibits[0]
    basis = first.basis
    rows = [
        [
            "video",
            f"{readable(video.name)}, {info.width}×{info.height}, {info.fps:.3g} frames per second, {info.codec}",
        ]
        for video in first.videos
        for info in [video.info]
    ]
    rows += [
        ["encoder", basis.encoder or "not recorded"],
        ["candidates", str(len(basis.considered) or "not recorded")],
        ["events", str(len(basis.events))],
        *([] if basis.window is None else [["window", " – ".join(map(short_clock, basis.window))]]),
        ["overlay", first.overlay + (f", seed {first.seed}" if first.overlay == "shuffled" else "")],
    ]
    for exhibit in exhibits:
        selection = exhibit.selection
        rows.append(["method", f"{selection.method}, budget {selection.budget}"])
        prefix = "" if len(exhibits) == 1 else f"{selection.method}: "
        options = Trace.of(selection).options
        rows += [[prefix + name, str(value) or "none"] for name, value in options.items()]
    rows.append(["framesift", __version__])
    rows += [[name, installed] for name in _PACKAGES if (installed := installed_version(name))]
    rows.append(["Python", platform.python_version()])
    return rows
