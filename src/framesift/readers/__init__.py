"""Readers: models that look at an exhibit and answer the question."""
