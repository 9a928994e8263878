"""Budgets in tokens: `--max-tokens-in`."""

import argparse
import sys
from collections.abc import Sequence

from framesift._utils.text import counted
from framesift.cli.settings import given_layers
from framesift.errors import OptionError
from framesift.pipeline.config import PipelineConfig
from framesift.types import Question


def fit_config(args: argparse.Namespace, config: PipelineConfig, questions: Sequence[Question]) -> PipelineConfig:
    """The configuration with the budget that fits into `--max-tokens-in`; one that is given must fit."""
    most, reading = args.max_tokens_in, config.reading
    if most is None:
        return config
    if most < 1:
        raise OptionError(f"--max-tokens-in is {most}; expected at least 1")
    if not isinstance(reading.reader, str):
        raise OptionError("there is no reader whose tokens could be counted; expected --reader local:MODEL or a URL")
    from framesift.readers.token_budget import token_counter
    from framesift.video.frames import probe

    counter = token_counter(
        reading.reader,
        reading.reader_options,
        videos=[probe(path) for path in args.videos],
        questions=questions,
        text_mode=reading.text_mode,
    )
    is_given = any("budget" in layer for layer in given_layers(args))
    budget = config.selection.budget if is_given else counter.most_frames(most, reading.size)
    tokens = counter.count(max(1, budget), reading.size)
    frames = f"{counted(tokens.frames, 'frame')} of {tokens.size[0]} × {tokens.size[1]}"
    if tokens.total > most:
        raise OptionError(
            f"--max-tokens-in is {most}; {frames} with the text are {tokens.total} tokens for {counter.model}: "
            "raise it, choose smaller frames (--set size=PIXELS), or select fewer frames (--budget)"
        )
    print(
        f"{frames}: {tokens.frame_tokens:,} tokens and about {tokens.text_tokens:,} of text, {tokens.total:,} of "
        f"{most:,} for {counter.model}",
        file=sys.stderr,
    )
    return config.replace(budget=budget)
