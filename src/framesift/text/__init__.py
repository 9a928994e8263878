"""Timestamped text: subtitle files, embedded tracks, speech, screen text."""
