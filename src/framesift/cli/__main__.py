"""`python -m framesift.cli` is the command `framesift`."""

import sys

from framesift.__main__ import main

sys.exit(main())
