"""The sample video."""
