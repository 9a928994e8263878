"""What is kept: an index built once per video, found again by the video's content."""
