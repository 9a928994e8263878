"""Web page and HTTP API: a local server in front of the pipeline."""
