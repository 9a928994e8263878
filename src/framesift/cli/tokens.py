"""Budgets in tokens: `--max-tokens-in`."""

import argparse
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from framesift._utils.text import counted
from framesift.errors import OptionError
from framesift.pipeline.config import PipelineConfig, read_settings
from framesift.types import Question

if TYPE_CHECKING:
    from framesift.readers.token_budget import TokenCounter


def add_token_options(command: argparse.ArgumentParser) -> None:
    limit = "choose --budget and --size so that the prompt of --reader has at most so many tokens; either may be given"
    command.add_argument("--max-tokens-in", type=int, metavar="N", help=limit)


def fit_config(args: argparse.Namespace, config: PipelineConfig, questions: Sequence[Question]) -> PipelineConfig:
    """The configuration with the budget and the size of frames that fit into `--max-tokens-in`."""
    if args.max_tokens_in is None:
        return config
    if args.max_tokens_in < 1:
        raise OptionError(f"--max-tokens-in is {args.max_tokens_in}; expected at least 1")
    given = read_settings(args.config) if args.config else {}
    budget = config.selection.budget if hasattr(args, "budget") or "budget" in given else None
    counter = _counter(args, config, questions)
    plan = counter.fit(args.max_tokens_in, budget=budget, short_side=config.reading.size)
    tokens = plan.tokens
    about = "" if counter.is_exact else "about "
    per_frame = f", {plan.options['frame_tokens']} tokens each at most" if "frame_tokens" in plan.options else ""
    print(
        f"{counted(plan.budget, 'frame')} of {tokens.size[0]} × {tokens.size[1]} as {_how(counter)}{per_frame}: "
        f"{tokens.frame_tokens:,} tokens and {about}{tokens.text_tokens:,} of text at most, {tokens.total:,} of "
        f"{args.max_tokens_in:,} for {counter.model}",
        file=sys.stderr,
    )
    return config.replace(budget=plan.budget, size=plan.short_side, reader_options=plan.options)


def _counter(args: argparse.Namespace, config: PipelineConfig, questions: Sequence[Question]) -> "TokenCounter":
    from framesift.readers.token_budget import token_counter
    from framesift.video.frames import probe

    if not isinstance(config.reading.reader, str):
        raise OptionError("there is no reader whose tokens could be counted; expected --reader local:MODEL or a URL")
    videos = [probe(path) for path in args.videos]
    return token_counter(
        config.reading.reader,
        config.reading.reader_options,
        videos=videos,
        questions=questions,
        text_mode=config.reading.text_mode,
    )


def _how(counter: "TokenCounter") -> str:
    if counter.columns:
        return f"grids of {counter.columns**2}"
    return "one video" if counter.frames_as == "video" else "pictures"
