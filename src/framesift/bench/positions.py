"""Scores by the number of evidence positions of a question: 1, 2, 3 or more.

Differences between selectors change sign there: one moment asks for the right frame, several for spread.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from framesift.bench.items import Item
from framesift.bench.metrics import signed
from framesift.bench.statistics import difference_interval, share_interval
from framesift.bench.tables import EMPTY, ResultTable, TableCell, word

MANY = 3
_HEADS = {"1": "1 position", "2": "2 positions", f"{MANY}+": f"{MANY} or more positions"}


@dataclass(frozen=True)
class ScoredLine:
    """A line of the table: the share of each question by id, and those of the baseline it is compared with, if any."""

    label: str
    shares: Mapping[str, float]
    baseline: Mapping[str, float] | None = None


def positions_of(item: Item) -> str:
    """ "1", "2" or "3+" annotated moments, or scenes where there is no moment; "" for neither."""
    count = len(item.moments_s) or len(item.scenes)
    return "" if not count else f"{MANY}+" if count >= MANY else str(count)


def positions_table(
    lines: Sequence[ScoredLine], items: Sequence[Item], *, score: str, baseline: str, notes: Sequence[str] = ()
) -> ResultTable | None:
    """The score of each line by number of positions, with paired differences; None if all questions have the same.

    score: the name of the shares. baseline: the name of what lines are compared with.
    """
    group_of = {item.id: positions_of(item) for item in items}
    video_of = {item.id: item.video_id for item in items}
    groups = [group for group in _HEADS if group in {group_of.get(name) for line in lines for name in line.shares}]
    if len(groups) < 2:
        return None
    rows = []
    for line in lines:
        cells = [word(line.label)]
        for group in groups:
            ids = [name for name in line.shares if group_of.get(name) == group]
            shared = [name for name in ids if line.baseline is not None and name in line.baseline]
            cells += [
                _share(line.shares, ids, video_of),
                _difference(line, shared, video_of),
                TableCell.count(len(ids)),
            ]
        rows.append(tuple(cells))
    return ResultTable(
        name="positions",
        title=f"{score} by number of evidence positions",
        columns=("Method", *(name for _ in groups for name in (f"{score} (%)", f"− {baseline} (pp)", "n"))),
        rows=tuple(rows),
        head=(("", 1), *((_HEADS[group], 3) for group in groups)),
        notes=(
            "In brackets: 95 % intervals clustered by video. Positions: annotated moments of the question. Differences "
            f"from {baseline} are paired, on the questions that both have, with intervals by a bootstrap over videos.",
            *notes,
        ),
    )


def _share(shares: Mapping[str, float], ids: Sequence[str], video_of: Mapping[str, str]) -> TableCell:
    if not ids:
        return EMPTY
    return TableCell.percent(share_interval([shares[name] for name in ids], [video_of[name] for name in ids]))


def _difference(line: ScoredLine, ids: Sequence[str], video_of: Mapping[str, str]) -> TableCell:
    if not ids or line.baseline is None:
        return EMPTY
    differences = [line.shares[name] - line.baseline[name] for name in ids]
    value, low, high = (100 * part for part in difference_interval(differences, [video_of[name] for name in ids]))
    return TableCell(signed(value, 2), value, low, high)
