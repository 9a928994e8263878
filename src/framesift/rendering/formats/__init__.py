"""Files for other programs: a format is a function that writes an `Export`."""
