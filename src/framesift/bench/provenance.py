"""The provenance of a table or plot: commands, versions, encoder, prompts and data, as lines of text."""

from collections import defaultdict
from collections.abc import Iterable, Sequence

from framesift._utils.text import counted
from framesift.batch.results import Result, Run
from framesift.bench.items import fingerprint

MOST_NAMES = 10  # of videos in one line


def describe(rows: Sequence[Result], runs: Iterable[Run]) -> tuple[str, ...]:
    """Describe how these rows were used: commands, data, encoder, prompts, versions, and what was missing."""
    wanted = {row.run for row in rows}
    used = [run for run in runs if run.id in wanted]
    lines = [f"command: {text}" for text in _once(run.command for run in used)]
    lines += [f"data: {text}" for text in _data(rows)]
    lines += [f"encoder: {text}" for text in _once(_encoder(row, used) for row in rows)]
    texts = {name: text for run in used for name, text in run.prompts.items()}
    prompts = _once(row.prompt for row in rows)
    lines += [f"prompt {name}: {texts[name]!r}" if name in texts else f"prompt: {name}" for name in prompts]
    if any(row.reader and not row.prompt_times for row in rows):
        lines.append("prompt: without the frames' times")
    lines += [f"times written as: {name}" for name in _once(row.times_written for row in rows) if name != "none"]
    lines += [f"frames sent as: {name}" for name in _once(row.frames_as for row in rows)]
    lines += [f"versions: {_listed(run)}" for run in _distinct(used)]
    lines += [f"missing: {text}" for text in _once(text for run in used for text in run.missing)]
    lines += [f"note: {text}" for text in _once(text for run in used for text in run.notes)]
    warned = sorted({row.video_id for row in rows if row.warnings})
    if warned:
        videos = counted(len({row.video_id for row in rows}), "video")
        lines.append(f"warnings: on {len(warned)} of {videos} ({_some(warned)})")
    unknown = len([row for row in rows if row.run not in {run.id for run in used}])
    if unknown:
        lines.append(f"{unknown} of {len(rows)} rows have no record of their run")
    return tuple(lines)


def _data(rows: Sequence[Result]) -> list[str]:
    """Each data set's questions with their fingerprint, equal to `Dataset.fingerprint`."""
    ids: dict[tuple[str, str], set[str]] = defaultdict(set)
    for row in rows:
        ids[row.dataset, row.annotation].add(row.item_id)
    return [
        f"{name}, {counted(len(found), 'question')}, fingerprint {fingerprint(name, annotation, found)}"
        for (name, annotation), found in ids.items()
    ]


def _some(names: Sequence[str]) -> str:
    more = len(names) - MOST_NAMES
    return ", ".join(names[:MOST_NAMES]) + (f" and {more} more" if more > 0 else "")


def _encoder(row: Result, runs: Sequence[Run]) -> str:
    prints = {run.encoder_fingerprint[:12] for run in runs if run.encoder == row.encoder and run.encoder_fingerprint}
    return f"{row.encoder} ({', '.join(sorted(prints))})" if prints else row.encoder


def _listed(run: Run) -> str:
    return ", ".join(f"{name} {number}" for name, number in run.versions.items())


def _distinct(runs: Sequence[Run]) -> list[Run]:
    return list({_listed(run): run for run in runs if run.versions}.values())


def _once(texts: Iterable[str]) -> list[str]:
    return [text for text in dict.fromkeys(texts) if text]
