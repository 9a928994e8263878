"""Pictures and words into one space: vectors whose cosines say what shows what."""
