"""`python -m framesift` is the command `framesift`."""

import sys

from framesift.cli import main

sys.exit(main())
