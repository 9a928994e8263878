"""The command `framesift`, also as `python -m framesift`.

Little is imported before signals are handled: until then Ctrl-C raises KeyboardInterrupt inside an import.
"""

import os
import sys

try:
    from framesift.cli import main, signals

    signals.exit_on_signals()
except KeyboardInterrupt:
    os.write(2, b"framesift: stopped\n")
    os._exit(130)

__all__ = ["main"]

if __name__ == "__main__":
    sys.exit(main())
