"""Benchmarks: data sets as published, one row per answer, and scores that say how sure they are."""
