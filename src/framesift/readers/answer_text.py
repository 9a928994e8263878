"""An answer in words, for the command line and the report."""

from framesift._utils.text import clock
from framesift.readers.parsing import cited_times, cleaned
from framesift.types import Answer, Question

REPLY_WORDS = 200  # of a reply that names no option, the most that is shown


def answer_lines(answer: Answer, question: Question, *, report: str = "") -> list[str]:
    """What to print: the option or the free answer, the frames it cites, any note, and what it cost.

    report: the address of the exhibit's report, where each cited frame is linked to.
    """
    if not question.choices:
        lines = [answer.text or "no answer: the reply is empty"]
        for time_s in cited_times(answer.text, answer.times_s):
            place = answer.times_s.index(time_s) + 1
            lines.append(f"  {clock(time_s)}  {report}#frame-{place}" if report else f"  {clock(time_s)}")
    elif answer.choice is not None:
        lines = [f"{answer.letter}. {answer.text}"]
    else:
        reply = " ".join(cleaned(answer.raw).split())
        reply = reply if len(reply) <= REPLY_WORDS else reply[: REPLY_WORDS - 1] + "…"
        lines = [f"no answer: the reply names no single option ({reply!r})"]
    if answer.note:
        lines.append(f"note: {answer.note}")
    return [*lines, _cost(answer)]


def _cost(answer: Answer) -> str:
    facts = [f"{len(answer.times_s)} frames", f"text {answer.text_mode}"]
    if answer.tokens is not None:
        facts.append(f"{answer.tokens:,} tokens")
    if answer.seconds is not None:
        facts.append(f"{answer.seconds:.1f} s")
    return f"({answer.reader}: {', '.join(facts)})"
