"""The colour and the name of each role, shared by the contact sheet, the report and the web page."""

# White text on each has a contrast of at least 4.5 : 1, and the four differ in lightness as well as in hue.
ROLE_COLOURS = {
    "ground": "#c2410c",
    "visual": "#1d4ed8",
    "context": "#64748b",
    "refined": "#7e22ce",
}

# The same hues for dark pages, on which those above are too dark; near-black text on each has at least 7 : 1.
ROLE_COLOURS_DARK = {
    "ground": "#fb923c",
    "visual": "#8ab4ff",
    "context": "#a9b4c4",
    "refined": "#d2a8ff",
}

# What a role is called where people read it: what of the frame matches the question, or why it is there at all.
ROLE_NAMES = {"ground": "text", "visual": "picture", "context": "between", "refined": "added"}
