"""Visual demand d_q: whether a question asks about what is visible or about speech, by keyword rules on its stem.

The paper's rules are in a supplement that is not public; these are ours, in the two tables below.
docs/concepts/method.md reports how well they separate LongVideoBench's questions.
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
# A quotation counts as speech, unless these words around it indicate that it is written in the frame.
WRITTEN_BEFORE = (
    r"texts?|words?|letters?|written|writes|reads?|reading|logo|sign|label(?:led|ed)?|titled?|print(?:ed)?|numbers?|"
    r"characters?|names?|named"
)
WRITTEN_AFTER = r"(?:(?:is|are) )?(?:text|written|on (?:it|them))"
SPOKEN_BEFORE = r"subtitles?|captions?|mention(?:s|ed|ing)?|phrase"
QUOTED_LINE, QUOTED_WRITING = "a quoted line", "quoted writing"

_TEXTUAL = re.compile("|".join(rf"\b(?:{cue})\b" for cue in TEXTUAL_CUES))
_VISUAL = re.compile("|".join(rf"\b(?:{cue})\b" for cue in VISUAL_CUES))
_QUOTATION = re.compile(
    r"(?<!\w)(?:'[^\n]{2,400}?'|‘[^’\n]{2,400}’|“[^”\n]{2,400}”|\"[^\"\n]{2,400}\"|「[^」\n]{1,400}」)(?!\w)"
)
_WRITTEN_BEFORE = re.compile(rf"\b(?:{WRITTEN_BEFORE})\b")
_WRITTEN_AFTER = re.compile(rf"\W*(?:{WRITTEN_AFTER})\b")
_SPOKEN_BEFORE = re.compile(rf"\b(?:{SPOKEN_BEFORE})\b")
_REACH = 60  # characters before a quotation that determine its kind


def visual_demand(stem: str, *, textual: float = 0.2, visual: float = 0.8, neutral: float = 0.5) -> VisualDemand:
    """d_q of a question's stem: `textual` if it has only textual cues, `visual` if only visual ones, else `neutral`.

    The result is a float that carries its `kind` and the `cues` that determined it.
    """
    textual_cues, visual_cues = find_cues(stem)
    if textual_cues and visual_cues:
        kind, value = "both", neutral
    elif textual_cues:
        kind, value = "textual", textual
    elif visual_cues:
        kind, value = "visual", visual
    else:
        kind, value = "neither", neutral
    cues = [f"textual: {cue}" for cue in textual_cues] + [f"visual: {cue}" for cue in visual_cues]
    return VisualDemand(value, kind, cues)


def find_cues(stem: str) -> tuple[list[str], list[str]]:
    """The textual and the visual cues of a stem, each once, in the order they occur."""
    text = stem.lower().replace("’s", "'s")
    textual: dict[str, None] = {}
    visual: dict[str, None] = {}
    for quotation in _QUOTATION.finditer(text):
        before = text[max(0, quotation.start() - _REACH) : quotation.start()]
        written = _WRITTEN_BEFORE.search(before) or _WRITTEN_AFTER.match(text, quotation.end())
        if written and not _SPOKEN_BEFORE.search(before):
            visual[QUOTED_WRITING] = None
        else:
            textual[QUOTED_LINE] = None
    # Quoted words are not the question's own, so they are not cues.
    own_words = _QUOTATION.sub(" … ", text)
    textual |= dict.fromkeys(match.group() for match in _TEXTUAL.finditer(own_words))
    visual |= dict.fromkeys(match.group() for match in _VISUAL.finditer(own_words))
    return list(textual), list(visual)


def resolve_demand(demand: float | str | Callable[[str], float], stem: str) -> float:
    """d_q by the keyword rules ("rules"), a constant, or a function of the stem."""
    if demand == "rules":
        return visual_demand(stem)
    if callable(demand):
        return demand(stem)
    if isinstance(demand, str):
        raise InputError(f"visual_demand is {demand!r}; expected 'rules', a number from 0 to 1, or a function")
    return demand
