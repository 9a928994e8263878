"""Visual demand d_q: does a question ask for what is seen, or for what is said? Keyword rules on its stem alone.

The paper keeps its rules in a supplement that is not public; these are ours, in two tables below.
docs/concepts/method.md shows how well they separate LongVideoBench's questions.
"""

import re
from collections.abc import Callable

from framesift.errors import InputError
from framesift.types import VisualDemand

# Each entry is a regular expression on the lower-case stem, matched on word boundaries.
TEXTUAL_CUES = (
    r"subtitles?|captions?|transcripts?|dialogues?|lyrics?|voice-?over",
    r"says?|said|saying|mention(?:s|ed|ing)?|narrat(?:or|ors|es?|ed|ing|ion)|phrase",
    r"talk(?:s|ed|ing)? about|speaks? (?:about|of)|discuss(?:es|ed)?|tells?|told|claim(?:s|ed)?",
    r"according to (?!the video)|in the words of|quot(?:e|es|ed)",
    r"why|explain(?:s|ed)?|reasons?|purpose|motivation",
    r"main (?:topic|idea|point|theme|message|argument)|summar(?:y|i[sz]es?)|conclu(?:des?|sion)",
    r"(?:think|believe|suggest|recommend|argue)s?|opinion|attitude",
)
VISUAL_CUES = (
    r"colou?r(?:s|ed|ful)?|black|white|red|blue|green|yellow|gr[ae]y|brown|pink|purple|orange|golden|silver|blonde?",
    r"wear(?:s|ing)?|worn|dressed|cloth(?:es|ing)|outfit|(?:t-)?shirts?|hat|glasses|hair(?:style|ed)?|beard",
    r"how many|number of|how often",
    r"(?:on-?)?screen|picture|image|photo|painting|footage|scenes?|background|animat(?:ed|ion)",
    r"(?:on|to|from|at) the (?:left|right|top|bottom)|(?:left|right) (?:side|hand)|corner|behind|in front of|next to",
    r"shapes?|patterns?|material|look(?:s|ed)? like|appearance|stand(?:s|ing)|sit(?:s|ting)",
    r"hold(?:s|ing)?|carr(?:ies|ying)|gestures?|facial expressions?|actions?|doing|does (?:\w+ ){1,4}(?:do|next)",
    r"appear(?:s|ed|ing)?|visible|seen|shown|displayed|depicted",
    r"objects?|items?|logo|written|reads",
)
# A quotation is a line somebody speaks, unless these words around it say that it is to be read on the picture.
WRITTEN_BEFORE = (
    r"texts?|words?|letters?|written|writes|reads?|reading|logo|sign|label(?:led|ed)?|titled?|print(?:ed)?|numbers?|"
    r"characters?|names?|named"
)
WRITTEN_AFTER = r"(?:(?:is|are) )?(?:text|written|on (?:it|them))"
HEARD_BEFORE = r"subtitles?|captions?|mention(?:s|ed|ing)?|phrase"
QUOTED_LINE, QUOTED_WRITING = "a quoted line", "quoted writing"

_TEXTUAL = re.compile("|".join(rf"\b(?:{cue})\b" for cue in TEXTUAL_CUES))
_VISUAL = re.compile("|".join(rf"\b(?:{cue})\b" for cue in VISUAL_CUES))
_QUOTATION = re.compile(
    r"(?<!\w)(?:'[^\n]{2,400}?'|‘[^’\n]{2,400}’|“[^”\n]{2,400}”|\"[^\"\n]{2,400}\"|「[^」\n]{1,400}」)(?!\w)"
)
_WRITTEN_BEFORE = re.compile(rf"\b(?:{WRITTEN_BEFORE})\b")
_WRITTEN_AFTER = re.compile(rf"\W*(?:{WRITTEN_AFTER})\b")
_HEARD_BEFORE = re.compile(rf"\b(?:{HEARD_BEFORE})\b")
_REACH = 60  # characters before a quotation in which its kind is looked for


def visual_demand(stem: str, *, textual: float = 0.2, visual: float = 0.8, neutral: float = 0.5) -> VisualDemand:
    """d_q of a question's stem: `textual` if only words about speech occur, `visual` if only words about sight do,
    `neutral` for both or neither. The result is a float that carries its `kind` and the `cues` that decided it.
    """
    heard, seen = find_cues(stem)
    if heard and seen:
        kind, value = "both", neutral
    elif heard:
        kind, value = "textual", textual
    elif seen:
        kind, value = "visual", visual
    else:
        kind, value = "neither", neutral
    return VisualDemand(value, kind, [f"textual: {cue}" for cue in heard] + [f"visual: {cue}" for cue in seen])


def find_cues(stem: str) -> tuple[list[str], list[str]]:
    """The textual and the visual cues of a stem, each once, in the order they occur."""
    text = stem.lower().replace("’s", "'s")
    heard: dict[str, None] = {}
    seen: dict[str, None] = {}
    for quotation in _QUOTATION.finditer(text):
        before = text[max(0, quotation.start() - _REACH) : quotation.start()]
        written = _WRITTEN_BEFORE.search(before) or _WRITTEN_AFTER.match(text, quotation.end())
        if written and not _HEARD_BEFORE.search(before):
            seen[QUOTED_WRITING] = None
        else:
            heard[QUOTED_LINE] = None
    # What is quoted is somebody else's words: they say nothing of what the question wants.
    own_words = _QUOTATION.sub(" … ", text)
    heard |= dict.fromkeys(match.group() for match in _TEXTUAL.finditer(own_words))
    seen |= dict.fromkeys(match.group() for match in _VISUAL.finditer(own_words))
    return list(heard), list(seen)


def resolve_demand(demand: float | str | Callable[[str], float], stem: str) -> float:
    """d_q by the keyword rules ("rules"), as a constant, or from a function of the stem."""
    if demand == "rules":
        return visual_demand(stem)
    if callable(demand):
        return demand(stem)
    if isinstance(demand, str):
        raise InputError(f"visual_demand is {demand!r}; expected 'rules', a number from 0 to 1, or a function")
    return demand
