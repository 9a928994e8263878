"""The command line: parse, call the public API, print. Exit codes: 0 done, 2 bad usage or input, 1 anything else."""

import argparse
import json
import sys
from collections.abc import Sequence

from framesift import __version__
from framesift.errors import FramesiftError


def main(argv: Sequence[str] | None = None) -> int:
    args = _parser().parse_args(argv)
    try:
        return int(args.run(args))
    except FramesiftError as error:
        print(f"framesift: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("framesift: stopped", file=sys.stderr)
        return 130
    except BrokenPipeError:  # the reader of our output has gone, as `head` does
        sys.stderr.close()
        return 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="framesift", description="Pick the frames of a video that answer a question.")
    parser.add_argument("--version", action="version", version=f"framesift {__version__}")
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")

    demo = commands.add_parser("demo", help="select from a made-up video and show what was decided and why")
    demo.add_argument("--method", default="gcr", help="a name of `framesift selectors` (default: gcr)")
    demo.add_argument("--budget", type=int, default=16, help="how many frames (default: 16)")
    demo.add_argument("--json", action="store_true", help="print the selection as JSON")
    demo.set_defaults(run=_demo)

    listing = commands.add_parser("selectors", help="list the ways to choose frames, with their options")
    listing.add_argument("--json", action="store_true", help="print the list as JSON")
    listing.set_defaults(run=_selectors)
    return parser


def _demo(args: argparse.Namespace) -> int:
    from framesift.demo import made_up_evidence
    from framesift.select import select_frames

    question, evidence = made_up_evidence()
    selection = select_frames(evidence, budget=args.budget, method=args.method)
    if args.json:
        print(selection.to_json(indent=2))
        return 0
    print(f"A made-up video of {evidence.duration_s:.0f} s, {len(evidence)} candidates, {len(evidence.events)} events.")
    print(f"Question: {question.text}\n")
    print(selection)
    if "ground" in selection.trace:
        print(
            f"\nd_q = {selection.trace['ground']['visual_demand']} ({selection.trace['ground']['demand_kind']}: "
            f"{', '.join(selection.trace['ground']['demand_cues']) or 'no cue'})"
        )
        print(f"Refine: {selection.trace['refine']['reason']}")
        for swap in selection.trace["refine"].get("swaps", []):
            print(f"  frame {swap['in']} came in for frame {swap['out']}, worth {swap['margin']:.3f} more")
    return 0


def _selectors(args: argparse.Namespace) -> int:
    from framesift.select import selectors

    known = selectors().values()
    if args.json:
        rows = [{"name": s.name, "summary": s.summary, "options": dict(s.options)} for s in known]
        print(json.dumps(rows, indent=2, default=repr))
        return 0
    for selector in known:
        print(f"{selector.name:<10} {selector.summary}")
        for name, default in selector.options.items():
            print(f"{'':<10}   {name} = {default!r}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
