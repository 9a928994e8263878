"""An answer printed as it arrives, with its citations as links to the report."""

import re
import sys
from collections.abc import Iterable, Iterator, Sequence

from framesift.readers.parsing import cited_times
from framesift.types import Answer

_CITATION = re.compile(r"\[[^\[\]\n]{1,40}\]")
_START_OF_CITATION = re.compile(r"\[[^\[\]\n]{0,40}\Z")


def print_stream(pieces: Iterable[str | Answer], times_s: Sequence[float], *, report: str) -> Answer:
    """Print "Answer:" and the pieces as they arrive, and return the Answer that follows them.

    report: the URL of the exhibit's report; on a terminal, cited times are links to it. After an error or Ctrl-C the
    line is ended, so that what is printed next starts on its own.
    """
    link_to = report if sys.stdout.isatty() else ""
    answers: list[Answer] = []

    def texts() -> Iterator[str]:
        for piece in pieces:
            if isinstance(piece, str):
                yield piece
            else:
                answers.append(piece)

    print("Answer: ", end="", flush=True)
    try:
        is_empty = True
        for text in link_citations(texts(), times_s, report=link_to):
            shown = text.lstrip() if is_empty else text
            is_empty = is_empty and not shown
            print(shown, end="", flush=True)
        if is_empty:
            text = answers[0].text or "no answer: the reply is empty"
            print(*link_citations([text], times_s, report=link_to), sep="", end="")
    finally:
        print(flush=True)
    return answers[0]


def link_citations(texts: Iterable[str], times_s: Sequence[float], *, report: str) -> Iterator[str]:
    """Yield the texts with each citation like [1:07] as a terminal's link to the frame in the report.

    What may be the start of a citation is held back until its end arrives. Without a report nothing changes.
    """
    if not report:
        yield from texts
        return

    def link(match: re.Match[str]) -> str:
        cited = cited_times(match[0], times_s)
        if len(cited) != 1:
            return match[0]
        return f"\033]8;;{report}#frame-{list(times_s).index(cited[0]) + 1}\033\\{match[0]}\033]8;;\033\\"

    held = ""
    for text in texts:
        held += text
        start = _START_OF_CITATION.search(held)
        end = start.start() if start else len(held)
        yield _CITATION.sub(link, held[:end])
        held = held[end:]
    yield held
