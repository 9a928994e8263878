"""Answers: from a model's reply to the record, and from the record to lines of text."""

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from framesift._utils.text import clock, counted, shortened
from framesift.readers import failures
from framesift.readers.parsing import FRAME_NUMBER, cited_times, parse_choice, strip_control, strip_thinking
from framesift.types import Answer, Question

if TYPE_CHECKING:
    from framesift.rendering.exhibit import Exhibit

LETTER_TOKENS = 32  # lmms-eval's limit for LongVideoBench
FREE_TOKENS = 512
REPLY_CHARACTERS = 200  # shown of a reply that names no option


def answer_from_reply(question: Question, reply: str, *, note: str = "", **fields: Any) -> Answer:
    """Parse a reply: the option it names, or its text as a free answer. fields: the other fields of `Answer`."""
    text = strip_control(strip_thinking(reply))
    if not question.choices:
        return Answer(text, raw=reply, parsed=bool(text), note=note, **fields)
    choice = parse_choice(reply, question)
    text = text if choice is None else question.choices[choice]
    return Answer(text, choice, reply, choice is not None, note=note, **fields)


def reply_limit(question: Question, max_tokens: int | None) -> int:
    """The most tokens of a reply: the given number, or what its kind of question needs."""
    return max_tokens or (LETTER_TOKENS if question.choices else FREE_TOKENS)


def answer_about(
    exhibit: "Exhibit", question: Question, reply: str, *, truncated_after: int | None = None, **fields: Any
) -> Answer:
    """Parse a reply about an exhibit. truncated_after: the limit of tokens that it reached."""
    times_s, frames = tuple(exhibit.times_s), tuple(exhibit.numbers)
    answer = answer_from_reply(question, reply, times_s=times_s, frames=frames, **fields)
    # A letter before the truncation is still an answer.
    if truncated_after and not (question.choices and answer.parsed):
        return replace(answer, note=failures.truncated(truncated_after))
    return answer


def answer_lines(answer: Answer, question: Question, *, report: str = "") -> list[str]:
    """Format an answer: the option or the free text, the frames it cites, any note, tokens and seconds.

    report: the URL of the exhibit's report; cited frames are linked to it.
    """
    if not question.choices:
        lines = [answer.text or "no answer: the reply is empty"]
        for k in cited_frames(answer):
            several = bool(answer.videos)
            label = f"{answer.videos[k]} {clock(answer.video_times_s[k])}" if several else clock(answer.times_s[k])
            lines.append(f"  {label}  {report}#frame-{k + 1}" if report else f"  {label}")
    elif answer.choice is not None:
        lines = [f"{answer.letter}. {answer.text}"]
    else:
        reply = shortened(strip_control(answer.raw), REPLY_CHARACTERS)
        lines = [f"no answer: the reply names no single option ({reply!r})"]
    if answer.note:
        lines.append(f"note: {answer.note}")
    return [*lines, _cost_line(answer)]


def cited_frames(answer: Answer) -> list[int]:
    """The positions of the frames that a free answer cites; of several videos, by the name before a time."""
    if not answer.videos:
        return sorted({answer.times_s.index(time_s) for time_s in cited_times(answer.text, answer.times_s)})
    # "Frame 3" is a number among all frames; a time belongs to the video named last before it.
    cited = {int(k) - 1 for k in FRAME_NUMBER.findall(answer.text) if 1 <= int(k) <= len(answer.times_s)}
    names = sorted(set(answer.videos), key=len, reverse=True)
    parts = re.split(f"({'|'.join(map(re.escape, names))})", FRAME_NUMBER.sub(" ", answer.text))
    for name, text in zip(parts[1::2], parts[2::2], strict=True):
        own = [k for k, video in enumerate(answer.videos) if video == name]
        times = cited_times(text, [answer.video_times_s[k] for k in own])
        cited |= {k for k in own if answer.video_times_s[k] in times}
    return sorted(cited)


def _cost_line(answer: Answer) -> str:
    parts = [counted(len(answer.times_s), "frame"), f"text {answer.text_mode}"]
    if answer.tokens is not None:
        parts.append(f"{answer.tokens:,} tokens")
    if answer.seconds is not None:
        parts.append(f"{answer.seconds:.1f} s")
    return f"({answer.reader}: {', '.join(parts)})"
