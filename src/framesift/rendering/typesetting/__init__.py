"""Typesetting of text in any script: fonts, shaping, writing direction, line breaks, layout."""
