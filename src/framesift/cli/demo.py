"""The command demo: `framesift ask` on a sample video."""

import argparse
import os
import shlex
import sys
from pathlib import Path

from framesift._utils.output_folder import add_file
from framesift.cli.arguments import AddCommand
from framesift.cli.output import ProgressBar
from framesift.selection.selector import DEFAULT_METHOD

FOLDER = "framesift-demo"


def add_commands(add: AddCommand) -> None:
    summary = "make a sample video and the report of a question about it"
    demo = add("demo", _demo, summary, "framesift demo")
    frames, output = demo.group("which frames"), demo.group("output")
    frames.add(
        "--method",
        "NAME",
        f"how frames are selected, one of `framesift selectors` (default: {DEFAULT_METHOD})",
        default=DEFAULT_METHOD,
    )
    frames.add_argument("-b", "--budget", type=int, default=16, metavar="N", help="how many frames (default: 16)")
    output.add("--out", "DIR", f"folder to write (default: {FOLDER})", default=FOLDER)
    output.switch("--force", "replace the report of another video in --out DIR")
    demo.finish("print the selection and the answer as JSON")


def _demo(args: argparse.Namespace) -> int:
    """`framesift ask` on a video made on the spot, with the one reader that needs no model."""
    from framesift.demo.video import FILE_NAME, QUESTION, sample_video
    from framesift.rendering.export import check_free
    from framesift.selection.registry import check_budget, get_selector
    from framesift.store.store import default_store

    check_budget(args.budget)
    get_selector(args.method)
    check_free(args.out, force=args.force or os.path.isfile(Path(args.out, FILE_NAME)))
    if not args.json:
        print("The sample video is made once and stored; so is its index.", file=sys.stderr)
    with ProgressBar(show=not args.json) as bar:
        video = sample_video(default_store() / ".demo", progress=bar)
    command = ["ask", str(video), QUESTION.text, "--reader", "similarity"]
    command += [part for option in QUESTION.options for part in ("--option", option)]
    command += [
        "--method",
        args.method,
        "--budget",
        str(args.budget),
        "--out",
        args.out,
        "--force",
        "--format",
        "video",
    ]
    if not args.json:
        print(f"$ framesift {shlex.join(command)}\n")
    code: int = args.run_command([*command, "--json"] if args.json else command)
    if code == 0:  # the folder then holds the video with its subtitles, ready for further commands
        subtitles = video.with_suffix(".srt")
        add_file(args.out, subtitles.name, subtitles.read_text(encoding="utf-8"))
    return code
