"""`chinese-ten leaderboard`: its options, and the run."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from chinese_ten_env.arena import command
from chinese_ten_env.rules import make_rules

SUMMARY = (
    "a standing table of policies, to which yours can be added: only what is missing is played"
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    command.add_rules(parser)
    parser.add_argument(
        "--folder",
        type=Path,
        default=Path("leaderboard"),
        metavar="DIR",
        help="where leaderboards are, a folder each, as DIR/mainland-2 (leaderboard)",
    )
    parser.add_argument(
        "--add",
        nargs="+",
        default=[],
        metavar="POLICY",
        help="a name, an ONNX file or the folder of a run, to add; of files a copy is kept",
    )
    parser.add_argument("--name", metavar="NAME", help="for the policy to add, if it is one")
    parser.add_argument(
        "--withdraw", nargs="+", default=[], metavar="NAME", help="policies to take off"
    )
    parser.add_argument(
        "--deals",
        type=int,
        metavar="N",
        help="decks, the same for all; of one that is there, more than before (1000)",
    )
    parser.add_argument("--seed", type=int, metavar="S", help="of the decks of a new one (0)")
    command.add_crew(parser)


def run(options: argparse.Namespace) -> int:
    """Play what is missing, print the table and return the exit status, as that of `arena` is."""
    if not command.has_extra():
        return 2
    from chinese_ten_env.arena.leaderboard import Leaderboard

    try:
        if options.name is not None and len(options.add) != 1:
            raise ValueError("--name is for one policy: give it with one --add")
        rules = make_rules(options.variant, options.players)
        place = options.folder / f"{rules.variant}-{rules.num_players}"
        board = Leaderboard(place, rules=rules, deals=options.deals, seed=options.seed)
        for name in options.withdraw:
            board.withdraw(name)
        for policy in options.add:
            board.add(policy, options.name)
        result = board.result() if board.is_complete else None
    except (ValueError, KeyError, ImportError) as error:
        print(f"error: {error.args[0] if error.args else error}", file=sys.stderr)
        return 2
    if result is not None:
        return command.show(result, place)
    arguments = command.crew_arguments(options)
    return command.play(lambda progress: board.play(progress=progress, **arguments), place)
