"""Budgets in tokens: `--max-tokens-in`, and `select --estimate`, which prints what a prompt costs."""

import argparse
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from framesift._utils.json import load_json
from framesift._utils.text import counted
from framesift.cli.output import print_json
from framesift.config import PipelineConfig, read_settings
from framesift.errors import InputError, OptionError
from framesift.types import Question

if TYPE_CHECKING:
    from framesift.readers.token_budget import PromptTokens, TokenCounter

BUDGETS = (4, 8, 16, 32, 64, 128)
LETTER_TOKENS, FREE_TOKENS = 32, 512  # the readers' limits of a reply, with options and without


def add_token_options(command: argparse.ArgumentParser, *, estimate: bool = False) -> None:
    limit = "choose --budget and --size so that the prompt of --reader has at most so many tokens; either may be given"
    command.add_argument("--max-tokens-in", type=int, metavar="N", help=limit)
    if estimate:
        described = "print the tokens of --reader per budget, and with --prices the cost, and select nothing"
        command.add_argument("--estimate", action="store_true", help=described)
        prices = 'JSON: {"MODEL": {"input": …, "output": …, "currency": "USD"}} per million tokens'
        command.add_argument("--prices", metavar="FILE", help=prices)


def fit_config(args: argparse.Namespace, config: PipelineConfig, questions: Sequence[Question]) -> PipelineConfig:
    """The configuration with the budget and the size of frames that fit into `--max-tokens-in`."""
    if args.max_tokens_in is None:
        return config
    if args.max_tokens_in < 1:
        raise OptionError(f"--max-tokens-in is {args.max_tokens_in}; expected at least 1")
    given = read_settings(args.config) if args.config else {}
    budget = config.budget if hasattr(args, "budget") or "budget" in given else None
    counter = _counter(args, config, questions)
    plan = counter.fit(args.max_tokens_in, budget=budget, short_side=config.size)
    tokens = plan.tokens
    about = "" if counter.is_exact else "about "
    per_frame = f", {plan.options['frame_tokens']} tokens each at most" if "frame_tokens" in plan.options else ""
    print(
        f"{counted(plan.budget, 'frame')} of {tokens.size[0]} × {tokens.size[1]} as {_how(counter)}{per_frame}: "
        f"{tokens.frame_tokens:,} tokens and {about}{tokens.text_tokens:,} of text at most, {tokens.total:,} of "
        f"{args.max_tokens_in:,} for {counter.model}",
        file=sys.stderr,
    )
    return replace(config, budget=plan.budget, size=plan.short_side, reader_options=plan.options)


def print_estimate(args: argparse.Namespace, config: PipelineConfig, questions: Sequence[Question]) -> int:
    """Print what a prompt costs for each of several budgets."""
    counter = _counter(args, config, questions)
    price = _price(args.prices, counter.model, str(config.reader)) if args.prices else {}
    reply = config.reader_options.get("max_tokens") or (LETTER_TOKENS if questions[0].choices else FREE_TOKENS)
    budgets = sorted({*BUDGETS, config.budget})
    rows = [_row(counter.count(frames, config.size), price, reply) for frames in budgets]
    if args.json:
        facts = {"model": counter.model, "frames_as": counter.frames_as, "text_is_exact": counter.is_exact}
        print_json(facts | {"budgets": rows})
        return 0
    width, height = rows[0]["size"]
    print(f"{counter.model}: frames of {width} × {height} as {_how(counter)}, at most {reply} tokens of reply\n")
    currency = price.get("currency", "")
    print(
        f"{'frames':>6} {'frame tokens':>13} {'text':>7} {'prompt':>9}"
        + (f" {'cost ' + currency:>12}" if price else "")
    )
    for row in rows:
        cost = f" {row['cost']:>12.5f}" if price else ""
        print(f"{row['frames']:>6} {row['frame_tokens']:>13,} {row['text_tokens']:>7,} {row['tokens']:>9,}{cost}")
    kind = "by the model's tokenizer" if counter.is_exact else "estimated, since its tokenizer is not on this machine"
    print(f"\ntext: {kind}, with the longest times of this video")
    return 0


def _row(tokens: "PromptTokens", price: Mapping[str, Any], reply: int) -> dict[str, Any]:
    row = {"frames": tokens.frames, "size": tokens.size, "frame_tokens": tokens.frame_tokens}
    row |= {"text_tokens": tokens.text_tokens, "tokens": tokens.total}
    if price:
        row["cost"] = (tokens.total * price["input"] + reply * price.get("output", 0.0)) / 1e6
        row["currency"] = price.get("currency", "")
    return row


def _counter(args: argparse.Namespace, config: PipelineConfig, questions: Sequence[Question]) -> "TokenCounter":
    from framesift.readers.token_budget import token_counter
    from framesift.video.frames import probe

    if not isinstance(config.reader, str):
        raise OptionError("there is no reader whose tokens could be counted; expected --reader local:MODEL or a URL")
    videos = [probe(path) for path in args.videos]
    return token_counter(
        config.reader, config.reader_options, videos=videos, questions=questions, text_mode=config.text_mode
    )


def _how(counter: "TokenCounter") -> str:
    if counter.columns:
        return f"grids of {counter.columns**2}"
    return "one video" if counter.frames_as == "video" else "pictures"


def _price(path: str, *names: str) -> dict[str, Any]:
    """The price of the first of these names in a price file."""
    try:
        with open(path, encoding="utf-8-sig") as file:
            prices = load_json(file.read(), path, "prices as JSON")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path} can't be read ({error}); expected prices as JSON") from None
    name = next((name for name in names if isinstance(prices, dict) and name in prices), None)
    if name is None:
        listed = ", ".join(map(str, prices)) if isinstance(prices, dict) else "no names"
        raise InputError(f"{path} has no price of {names[0]}; it has {listed}")
    price = prices[name]
    numbers = [price.get("input"), price.get("output", 0.0)] if isinstance(price, dict) else []
    if not numbers or any(isinstance(n, bool) or not isinstance(n, int | float) or not 0 <= n < 1e9 for n in numbers):
        raise InputError(
            f'{path}: the price of {name} is not {{"input": …, "output": …}} in numbers per million tokens'
        )
    return dict(price)
