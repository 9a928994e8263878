"""Timestamped text of a video: subtitles, text tracks, speech and screen text, and questions about it."""
