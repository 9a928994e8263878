"""Why each frame of a selection was selected, by its selector, and what is unusual about the frame."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

from framesift._utils.records import shown
from framesift.errors import FramesiftError, InputError
from framesift.selection.explainer import Explainer, Reason, as_sentence, text_without_frame
from framesift.selection.registry import built_in
from framesift.types import Basis, Selection, Slot


@contextmanager
def trace_errors(selection: Selection) -> Iterator[None]:
    """Report an unusable trace, which may come from a file or another package, as an InputError."""
    try:
        yield
    except FramesiftError:
        raise
    except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError, StopIteration) as error:
        reason = f"{type(error).__name__}: {error}".rstrip(": ")
        raise InputError(
            f"the trace of a selection by {shown(selection.method)} can't be read ({reason}); select the frames again"
        ) from error


def explain(selection: Selection) -> list[Reason]:
    """One Reason per slot, in order, as its selector explains them."""
    if selection.basis is None:
        return [Reason((f"Selected by {selection.method} as {slot.role}.",)) for slot in selection.slots]
    selector = built_in(selection.method)
    with trace_errors(selection):
        explainer = (Explainer if selector is None else selector.explainer)(selection, selection.basis)
        return [_with_remarks(explainer.explain_slot(slot), slot, selection.basis) for slot in selection.slots]


def _with_remarks(reason: Reason, slot: Slot, basis: Basis) -> Reason:
    """The reason, with what is unusual about the frame; a burst's other frames have their distance for a reason."""
    distance_s = slot.time_s - float(basis.times_s[slot.index])
    if distance_s:
        side = "after" if distance_s > 0 else "before"
        return Reason((f"{abs(distance_s):.1f} s {side} the selected frame.",), strength=reason.strength)
    remarks = []
    if distant := text_without_frame(slot, basis.videos):
        remarks.append(as_sentence(distant))
    if slot.index in basis.damaged:
        remarks.append("The frame is damaged: it was decoded with errors, and no other frame covers its minute.")
    return replace(reason, why=(*reason.why, *remarks))
