"""GCR: Ground, Cover, Refine."""
