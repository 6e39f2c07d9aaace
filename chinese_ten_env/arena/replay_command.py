"""`chinese-ten game`: its options, and what they do."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from chinese_ten_env.arena.command import add_rules
from chinese_ten_env.arena.replay import replay
from chinese_ten_env.files import write_whole
from chinese_ten_env.policies import PolicyError
from chinese_ten_env.rules import make_rules

SUMMARY = "write a game of an arena as JSON, with every card that was played"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    add_rules(parser)
    parser.add_argument(
        "--policies", nargs="+", required=True, metavar="POLICY", help="who plays, as in `arena`"
    )
    parser.add_argument("--deal", type=int, default=0, metavar="D", help="which deal (0)")
    parser.add_argument("--seating", type=int, default=0, metavar="S", help="which seating (0)")
    parser.add_argument(
        "--deals", type=int, default=1000, metavar="N", help="how many the arena has (1000)"
    )
    parser.add_argument("--seed", type=int, default=0, metavar="S", help="that of the arena (0)")
    parser.add_argument(
        "--out", type=Path, metavar="FILE", help="where to write it (the standard output)"
    )


def run(options: argparse.Namespace) -> int:
    """Play and write; return the exit status: 1 if a policy failed, 2 if an argument is wrong."""
    try:
        game = replay(
            options.policies,
            options.deal,
            options.seating,
            rules=make_rules(options.variant, options.players),
            deals=options.deals,
            seed=options.seed,
        )
    except PolicyError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    except (ValueError, ImportError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    if options.out is None:
        print(game.to_json())
        return 0
    try:
        write_whole(options.out, game.to_json() + "\n")
    except OSError as error:
        print(f"error: {options.out} cannot be written: {error}", file=sys.stderr)
        return 2
    return 0
