"""Small helpers with no knowledge of video."""
