"""The record that describes a selector: its function, its options, what it needs and where it was published."""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from framesift.types import Selection

DEFAULT_METHOD = "sift"

# Inputs a selector can need beyond the relevance of each frame, with the description `framesift selectors` prints.
NEEDS = {
    "vectors": "the frames' vectors",
    "events": "timestamped text",
    "words": "the words that the question shares with that text",
    "demand": "the question's visual demand",
    "pictures": "the decoded frames",
    "detector": "an open-vocabulary detector",
    "objects": "the objects a question names",
    "model": "a model on an OpenAI-type server",
    "network": "trained weights of its own",
    "peers": "pip install 'framesift[peers]'",
}


@dataclass(frozen=True)
class Selector:
    """A registered selector: `run(evidence, budget, **options)` with its options and their defaults.

    paper: where it was published. needs: keys of NEEDS, the inputs it uses beyond the relevance of each frame.
    problem: why it can't be used; only a selector of another package may have one.
    """

    name: str
    run: Callable[..., Selection]
    summary: str
    options: Mapping[str, object]
    paper: str = ""
    needs: tuple[str, ...] = ()
    problem: str = ""

    @classmethod
    def of(
        cls, name: str, run: Callable[..., Selection], summary: str, *, paper: str = "", needs: tuple[str, ...] = ()
    ) -> "Selector":
        """Describe a function `(evidence, budget, *, option=default, …) → Selection`; its signature has the options."""
        parameters = inspect.signature(run).parameters.values()
        options = {p.name: p.default for p in parameters if p.kind is p.KEYWORD_ONLY}
        return cls(name, run, summary, options, paper, needs)


Method = str | Selector | Callable[..., Selection]  # a name of `selectors()`, or the selector itself
