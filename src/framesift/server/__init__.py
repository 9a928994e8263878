"""The web page and its HTTP API: a local server that drives the whole river and adds nothing to it."""
