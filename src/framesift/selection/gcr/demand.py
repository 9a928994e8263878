"""Visual demand d_q: whether a question asks about what is visible or about speech, by keyword rules on its stem.

The paper's rules are in a supplement that is not public; these are ours, in the tables below.
benchmarks/results/visual_demand.md reports how well they separate LongVideoBench's questions and a list of typed ones.
"""

import re
from collections.abc import Callable

from framesift.errors import InputError
from framesift.types import VisualDemand


def any_form_of(verbs: str) -> str:
    """A pattern for the inflected forms of regular verbs; irregular forms are listed like verbs of their own."""
    return "|".join(map(_forms, verbs.split()))


def _forms(verb: str) -> str:
    if verb.endswith("e"):
        return rf"{verb[:-1]}(?:e[sd]?|ing)"
    if verb.endswith("y") and verb[-2] not in "aeou":
        return rf"{verb[:-1]}(?:y|ies|ied|ying)"
    return rf"{verb}(?:e?s|{verb[-1]}?(?:ed|ing))?"


# Each entry is a regular expression on the lower-case stem, matched on word boundaries.
TEXTUAL_CUES = (
    r"subtitles?|captions?|transcripts?|dialogues?|lyrics?|voice-?over|narrat(?:ors?|ion)|phrase",
    # Verbs whose content is words.
    any_form_of(
        "accuse admit advise announce apologise apologize argue ask assure beg blame boast brag claim comment complain "
        "compliment confess congratulate convince criticise criticize declare deny disagree exclaim forbid forbade "
        "gossip greet hint inform inquire insist insult joke mention mock mumble murmur mutter narrate nickname "
        "persuade plead pledge praise predict proclaim promise propose quote recite recommend refuse remark "
        "remind reply request respond say said scold suggest swear swore sworn tease tell told thank threaten "
        "translate urge vow warn wish"
    ),
    # The -ing forms of these usually describe what somebody is seen doing: "a man explaining something at a desk".
    r"(?:chat|discuss|explain|scream|shout|sing|speak|talk|whisper|yell)(?:e?s|t?ed)?|spoken?|sang|sung",
    r"(?:describ|introduc)e(?:s|d(?! (?:by|in) the video))?|(?:defin|conclud|summari[sz])e[sd]?|interview(?:s|ed)",
    r"(?:chatt|speak|sing|talk)ing (?:about|of)|lie[sd]? (?:to (?!the)|about)",
    r"(?:what|whom?) (?:is|are|was) (?:(?!who|that)\w+ ){1,4}"
    r"(?:describ|discuss|explain|scream|shout|sing|talk|whisper|yell)ing",
    # Naming, but not a phone call.
    r"(?<!phone )(?<!video )call(?:s|ed|ing)?(?! (?:an?|in|off|police|security|the (?:police|cops|fire|doctor))\b)",
    r"(?:answer|question)(?:s|ed|ing)?(?! (?:the (?:door|phone|bell)|marks?)\b)",
    r"(?:order|command)(?:s|ed) (?:\w+ ){1,4}to|stat(?:ed|ing)|reported|refers? to",
    r"advice|apolog(?:y|ies)|arguments?|announcements?|confession|excuses?|explanations?|moral|proposals?|punch ?line",
    r"recommendations?|responses?|suggestions?|threats?|topics?|warnings?",
    r"according to (?!what|(?:the|this) (?:\w+ )?(?:video|clip|film|footage|scene))|in the words of|meant by|means? by",
    r"what(?: is|'s) (?:it|(?:the|this|that|his|her|their) (?:\w+ ){1,2})about",
    r"why|how come|reasons?|purpose|point of (?!view)|motivation|motives?",
    r"(?:main|core|central|key) (?:focus|idea|message|points?|subject)|themes?|subject of|summary|conclusion|gist",
    r"thinks?|thought|believes?|believed|(?:feels?|felt) about|opinions?|attitude",
)
VISUAL_CUES = (
    r"colou?r(?:s|ed|ful)?|black|white|red|blue|green|yellow|gr[ae]y|brown|pink|purple|orange|golden|silver|blonde?",
    r"wear(?:s|ing)?|wore|worn|dressed|cloth(?:es|ing)|outfit|(?:t-)?shirts?|hat|glasses|hair(?:style|ed)?|beard",
    r"how many|number of|how often",
    r"(?:on-?)?screen|pictures?|images?|photos?|paintings?|footage|scenes?|background|animat(?:ed|ion)|close-?up",
    r"(?:on|at) the (?:left|right|top|bottom)|(?:to|from) the (?:left|right)|(?:left|right) (?:side|hand)",
    r"(?:which|what|both) sides?|which (?:way|direction)|corner|behind|in front of|next to",
    r"shapes?|patterns?|material|look(?:s|ed)? like|appearance|stand(?:s|ing)|sit(?:s|ting)",
    r"hold(?:s|ing)?|carr(?:y|ies|ied|ying)|point(?:s|ed|ing) (?:at|to)|gestures?|facial expressions?|actions?",
    r"doing|(?:do|does|did) (?:\w+ ){1,6}(?:do|next)",
    r"appear(?:s|ed|ing)?|visible|seen|shown|displayed|depicted",
    r"objects?|items?|logo|written|reads",
    r"(?:what|which) (?:(?:kind|sort|type) of )?(?:animal|bird|building|car|device|drink|flag|flower|food|fruit|"
    r"furniture|ingredient|instrument|machine|plant|tool|toy|vegetable|vehicle|weapon)s?",
)
# Weak cues decide only where the stem has none of the above.
WEAK_TEXTUAL_CUES = (
    r"conversations?|speech(?! bubble)|names?|named|languages?|stor(?:y|ies)",
    r"songs?|poems?|messages?|lessons?|interviews?|caus(?:es?|ed)|meaning",
    any_form_of("agree decide hope learn teach taught want"),
)
WEAK_VISUAL_CUES = (
    # Physical actions.
    any_form_of(
        "arrive bend bent bite blow break broke broken burn catch caught chase clap climb collapse crash crawl cross "
        "cut dance dive drag drink drive drop eat enter explode fall fell fight flip fly grab hide hit hug jump kick "
        "kiss kneel knelt knock lift nod open peel pick play pour pull punch push put raise ride roll shake "
        "shook shoot shot shut sleep slide slip smash smile spill spin spray steal stole stir swim swing throw "
        "threw thrown tie touch turn twist walk wash wave wipe wrap"
    ),
    r"clos(?:es|ed|ing)|hand(?:s|ed|ing)|land(?:s|ed|ing)|plac(?:es|ed|ing)|ran|run(?:s|ning)|scor(?:es|ed|ing)|featured",
    r"what happens (?:to|when|as|after|while)|where(?: is| are| does| do| did|'s)|(?:is|are) there",
    r"weather|sunny|rain(?:s|ing|y)?|snow(?:s|ing|y)?|day or night|dark|bright",
)
# What somebody asks of the reader is no cue to speech: "tell me what colour the car is", "what do you think he holds".
REQUEST = (
    r"^\W*(?:please )?(?:(?:can|could|would|will) you (?:please )?)?(?:(?:tell|remind) (?:me|us)|say(?= how| wh))|"
    r"(?:can|could) you tell|do you think|would you say|(?:best|accurately|correctly) describes?|the question is|"
    r", say,|let'?s say|that is to say"
)
VISUAL_REQUEST = r"^\W*(?:please )?(?:(?:can|could|would|will) you (?:please )?)?(?:describe|show (?:me|us))"

# A quotation, and what an object "says", count as speech, unless these words indicate writing in the frame.
WRITTEN_BEFORE = (
    r"texts?|words?|letters?|written|writes|reads?|reading|logo|sign|label(?:led|ed)?|titled?|print(?:ed)?|numbers?|"
    r"characters?|names?|named|it says"
)
WRITTEN_AFTER = r"(?:(?:is|are) )?(?:text|written|on (?:it|them))"
WRITTEN_SAYS = (
    r"(?:texts?|words?|letters?|logo|signs?|labels?|titles?|posters?|banners?|headlines?|stickers?|inscription)"
    r"(?: (?!wh|d[oi]|he |she |they |it |subtitles|captions)\w+){0,4} (?:says?|saying|said)|"
    r"(?:do|does|did) the (?:(?:black|white)?board|badge|clock|display|letter|menu|newspaper|note|page|screen) say|"
    r"it (?:says?|said)(?=\W{1,9}(?:on|in|above|below|under|at|…))"
)
SPOKEN_BEFORE = r"subtitles?|captions?|mention(?:s|ed|ing)?|phrase"
QUOTED_LINE, QUOTED_WRITING = "a quoted line", "quoted writing"

# The tables are English: of a stem in another language ("Was hat er gesagt?"), only quotations count.
ENGLISH_WORDS = r"the|what|which|who|whose|where|when|why|how|does|did|is|are|he|she|his|her|and|with"
OTHER_WORDS = (
    r"der|die|das|und|ist|er|sie|wer|wie|warum|que|qué|por|quién|cuál|cómo|dónde|los|las|una|est|qui|quelle?|dans|des|"
    r"che|cosa|perché|chi|het|een|wat|hoe|waarom|quem|como|onde|och|vad|hva|hvad"
)


def _compile(*cues: str) -> re.Pattern[str]:
    return re.compile(rf"\b(?:{'|'.join(cues)})\b")


_TEXTUAL, _WEAK_TEXTUAL = _compile(*TEXTUAL_CUES), _compile(*WEAK_TEXTUAL_CUES)
_VISUAL, _WEAK_VISUAL = _compile(*VISUAL_CUES), _compile(*WEAK_VISUAL_CUES)
_REQUEST, _VISUAL_REQUEST = re.compile(rf"(?:{REQUEST})(?!\w)"), re.compile(rf"(?:{VISUAL_REQUEST})\b")
_QUOTATION = re.compile(
    r"(?<!\w)(?:'[^\n]{1,400}?'|‘[^‘\n]{2,400}?’|\"[^\"\n]{2,400}\")(?!\w)|"
    r"“[^“”\n]{2,400}”|«[^«»\n]{2,400}»|„[^„“”\n]{2,400}[“”]|「[^「」\n]{1,400}」"
)
_WRITTEN_BEFORE, _SPOKEN_BEFORE = _compile(WRITTEN_BEFORE), _compile(SPOKEN_BEFORE)
_WRITTEN_AFTER = re.compile(rf"\W{{0,3}}(?:{WRITTEN_AFTER})\b")
_WRITTEN_SAYS = _compile(WRITTEN_SAYS)
_ENGLISH, _OTHER = _compile(ENGLISH_WORDS), _compile(OTHER_WORDS)
_REACH = 60  # characters before a quotation that determine its kind


def visual_demand(stem: str) -> VisualDemand:
    """d_q of a question's stem: 0.2 if it has only textual cues, 0.8 if only visual ones, else 0.5.

    The result is a float that carries its `kind` and the `cues` that determined it.
    """
    spoken, seen = find_cues(stem)
    kind = ("both" if seen else "textual") if spoken else ("visual" if seen else "neither")
    cues = [f"textual: {cue}" for cue in spoken] + [f"visual: {cue}" for cue in seen]
    return VisualDemand({"textual": 0.2, "visual": 0.8}.get(kind, 0.5), kind, cues)


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
    if not _is_english(own_words):
        return list(textual), list(visual)
    visual |= _matches(_VISUAL_REQUEST, own_words) | _matches(_WRITTEN_SAYS, own_words)
    for pattern in (_REQUEST, _VISUAL_REQUEST, _WRITTEN_SAYS):
        own_words = pattern.sub(" … ", own_words)
    textual |= _matches(_TEXTUAL, own_words)
    visual |= _matches(_VISUAL, own_words)
    if not textual and not visual:
        textual, visual = _matches(_WEAK_TEXTUAL, own_words), _matches(_WEAK_VISUAL, own_words)
    return list(textual), list(visual)


def _matches(pattern: re.Pattern[str], text: str) -> dict[str, None]:
    return dict.fromkeys(match.group().strip() for match in pattern.finditer(text))


def _is_english(text: str) -> bool:
    return bool(_ENGLISH.search(text)) or not _OTHER.search(text)


def resolve_demand(demand: float | str | Callable[[str], float], stem: str) -> float:
    """d_q by the keyword rules ("rules"), a constant, or a function of the stem."""
    if demand == "rules":
        return visual_demand(stem)
    if callable(demand):
        return demand(stem)
    if isinstance(demand, str):
        raise InputError(f"visual_demand is {demand!r}; expected 'rules', a number from 0 to 1, or a function")
    return demand
