"""Selectors that look at frames, detect objects, run a network or ask a model, through a `Lookup`."""
