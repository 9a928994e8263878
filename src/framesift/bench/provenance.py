"""The provenance of a table: commands, versions, encoder, prompts and data, as lines of text."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from framesift._utils.text import counted
from framesift.batch.items import group_by
from framesift.batch.results import Result, Run
from framesift.bench.items import fingerprint

MOST_NAMES = 10  # of videos in one line


def describe(rows: Sequence[Result], runs: Mapping[str, Run]) -> tuple[str, ...]:
    """Describe how these rows were produced: commands, data, encoder, prompts, versions, and what was missing."""
    known = {row.run for row in rows}
    used = [run for run in runs.values() if run.id in known]
    lines = _labelled("command", (run.command for run in used))
    lines += _labelled("data", _data(rows))
    lines += _labelled("encoder", (_encoder(row, used) for row in rows))
    texts = {name: text for run in used for name, text in run.prompts.items()}
    prompts = dict.fromkeys(row.prompt for row in rows if row.prompt)
    lines += [f"prompt {name}: {texts[name]!r}" if name in texts else f"prompt: {name}" for name in prompts]
    if any(row.reader and not row.value("prompt_times") for row in rows):
        lines.append("prompt: without the frames' times")
    lines += _labelled("times written as", (row.times_written for row in rows if row.times_written != "none"))
    lines += _labelled("frames sent as", (row.frames_as for row in rows))
    versions = (", ".join(f"{name} {number}" for name, number in run.versions.items()) for run in used)
    lines += _labelled("versions", versions)
    lines += _labelled("missing", (text for run in used for text in run.missing))
    lines += _labelled("note", (text for run in used for text in run.notes))
    warned = sorted({row.video_id for row in rows if row.warnings})
    if warned:
        videos = counted(len({row.video_id for row in rows}), "video")
        more = f" and {len(warned) - MOST_NAMES} more" if len(warned) > MOST_NAMES else ""
        lines.append(f"warnings: on {len(warned)} of {videos} ({', '.join(warned[:MOST_NAMES])}{more})")
    unknown = sum(row.run not in runs for row in rows)
    if unknown:
        lines.append(f"{unknown} of {len(rows)} rows have no record of their run")
    return tuple(lines)


def _labelled(label: str, texts: Iterable[str]) -> list[str]:
    """A line for each text that is not empty, once."""
    return [f"{label}: {text}" for text in dict.fromkeys(texts) if text]


def _data(rows: Sequence[Result]) -> Iterator[str]:
    """Each data set's questions with their fingerprint, equal to `Dataset.fingerprint`."""
    for (name, annotation), part in group_by(rows, lambda row: (row.dataset, row.annotation)).items():
        found = {row.item_id for row in part}
        yield f"{name}, {counted(len(found), 'question')}, fingerprint {fingerprint(name, annotation, found)}"


def _encoder(row: Result, runs: Sequence[Run]) -> str:
    name = str(row.value("encoder"))
    prints = {run.encoder_fingerprint[:12] for run in runs if run.encoder == name and run.encoder_fingerprint}
    return f"{name} ({', '.join(sorted(prints))})" if prints else name
