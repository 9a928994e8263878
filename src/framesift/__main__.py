"""The command `framesift`, also as `python -m framesift`."""

import sys

from framesift.cli import main

__all__ = ["main"]

if __name__ == "__main__":
    sys.exit(main())
