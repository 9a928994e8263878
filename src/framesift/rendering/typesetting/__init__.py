"""Text in any script, shaped and laid out."""
