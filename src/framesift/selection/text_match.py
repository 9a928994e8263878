"""How well words stand in a text: as they are, or with spelling mistakes."""

import re

FUZZY_THRESHOLD = 0.5  # below it, a word is another one
MAX_CHARACTERS = 400  # of a text that is compared as a whole: the time grows with the square


def similarity(first: str, second: str) -> float:
    """1 − edit distance / length of the longer text."""
    first, second = first[:MAX_CHARACTERS], second[:MAX_CHARACTERS]
    if not first or not second:
        return float(first == second)
    row = list(range(len(second) + 1))
    for i, a in enumerate(first, 1):
        above_left, row[0] = row[0], i
        for j, b in enumerate(second, 1):
            above_left, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, above_left + (a != b))
    return 1.0 - row[-1] / max(len(first), len(second))


def match_text(query: str, text: str) -> float:
    """1 if the text contains the query, else how similar they are as a whole."""
    query, text = query.lower().strip(), text.lower().strip()
    return 1.0 if query and query in text else similarity(query, text)


def match_words(query: str, text: str) -> float:
    """1 if the text contains the query, else the worst of the best matches of its words; 0 below one half."""
    query, text = query.lower().strip(), text.lower().strip()
    if query and query in text:
        return 1.0
    words = dict.fromkeys(re.findall(r"[a-z0-9']+", text))
    if not words:
        return 0.0
    together = min(max(similarity(part, word) for word in words) for part in query.split()) if query else 0.0
    if " " in query and together >= FUZZY_THRESHOLD:
        return together
    best = max(similarity(query, word) for word in words)
    return best if best >= FUZZY_THRESHOLD else 0.0
