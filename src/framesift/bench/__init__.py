"""Benchmarks: data sets as published, one row per answer, and scores with confidence intervals."""
