"""Indexing: the loop that decodes, encodes and stores a video, and what belongs to it."""
