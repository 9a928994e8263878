"""Many videos or questions: executors, the journal, result files, search."""
