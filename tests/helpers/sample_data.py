"""Sample files too large for the repository; tests that need them are skipped where they are missing."""

import os
from pathlib import Path

SAMPLE_DATA = Path(os.environ.get("FRAMESIFT_SAMPLE_DATA", Path(__file__).parents[3] / "shared" / "data"))
