"""Line breaking: where a line may end."""

from collections.abc import Sequence
from functools import cache
from itertools import accumulate
from typing import Any

# As in UAX #14 and the Japanese kinsoku rules: none of these may begin a line …
_NO_START = set("、。，．：；？！,.:;?!)]}）］｝〉》」』】〕”’»›…‥・ー々ゝゞヽヾ〜%％‰℃°")
_NO_START |= set("ぁぃぅぇぉっゃゅょゎゕゖァィゥェォッャュョヮヵヶ")
_NO_START_AFTER_SPACE = set("?!:;»%")  # French puts a space before them
# … and none of these may end one.
_NO_END = set("([{（［｛〈《「『【〔“‘«‹¡¿$¥￥€£#＃")
_HYPHENS = set("-‐–—")
# Scripts written without spaces.
_IDEOGRAPHIC = {"Hani", "Hira", "Kana", "Bopo", "Yiii"}
_WITHOUT_SPACES = {"Thai"}


def breaks(clusters: Sequence[str], scripts: Sequence[str]) -> list[bool]:
    """For each cluster, whether a line may end after it. scripts: ISO 15924, "" for characters without a script."""
    allowed = [False] * len(clusters)
    for k in range(len(clusters) - 1):
        before, after = clusters[k], clusters[k + 1]
        if after == " ":
            continue
        if before == " ":
            allowed[k] = after[0] not in _NO_START_AFTER_SPACE
        elif before[0] in _HYPHENS:
            allowed[k] = bool(k) and clusters[k - 1] != " " and after[0].isalpha()
        elif _is_ideographic(before, scripts[k]) or _is_ideographic(after, scripts[k + 1]):
            allowed[k] = before[0] not in _NO_END and after[0] not in _NO_START
    for start, end in _runs(scripts, _WITHOUT_SPACES):
        for k in _word_ends(clusters[start:end]):
            allowed[start + k] = True
    return allowed


def _is_ideographic(cluster: str, script: str) -> bool:
    return script in _IDEOGRAPHIC or "\u3000" <= cluster[0] <= "\u30ff" or "\uff01" <= cluster[0] <= "\uff60"


def _runs(scripts: Sequence[str], wanted: set[str]) -> list[tuple[int, int]]:
    """Ranges of consecutive clusters in one of the wanted scripts."""
    runs, k = [], 0
    while k < len(scripts):
        end = k
        while end < len(scripts) and scripts[end] in wanted:
            end += 1
        if end > k:
            runs.append((k, end))
        k = end + 1
    return runs


def _word_ends(clusters: Sequence[str]) -> list[int]:
    """Indices of the clusters that end a Thai word, except the last."""
    sizes = list(accumulate(map(len, clusters)))
    ends = set(accumulate(map(len, _thai().parse("".join(clusters)))))
    return [k for k, size in enumerate(sizes[:-1]) if size in ends]


@cache
def _thai() -> Any:
    import budoux

    return budoux.load_default_thai_parser()
