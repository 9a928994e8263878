"""The pipeline: its settings, its steps, and what selectors get."""
