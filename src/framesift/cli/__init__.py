"""The command line: parse, call the public API, show progress, print. One module per group of commands.

Exit codes: 0 done, 2 bad usage or input, 1 anything else (one of several videos failed, say), 130 stopped by Ctrl-C,
143 by SIGTERM. This module imports next to nothing, so that a signal is handled from the start.
"""

import sys
from collections.abc import Sequence


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code; argv: by default the arguments of this process."""
    from framesift.cli import signals

    if argv is None:
        signals.exit_on_signals()
    try:
        from framesift.cli.parser import run_command

        return run_command(sys.argv[1:] if argv is None else argv)
    except (ImportError, AttributeError, TypeError) as error:
        from framesift._utils.requirements import explain_mismatch

        sentence = explain_mismatch(error)
        if not sentence:
            raise
        print(f"framesift: {sentence}", file=sys.stderr)
        return 2
    except KeyboardInterrupt as stop:
        code = signals.exit_code(stop)
    if argv is None:
        signals.exit_without_threads(code)
    return code
