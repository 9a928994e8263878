"""The store on disk: indexes, events and text vectors, computed once and identified by content."""
