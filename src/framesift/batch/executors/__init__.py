"""Where batch work runs: local processes or a Ray cluster."""
