"""Video files: containers, timelines, decoding, colour, frames by time."""
