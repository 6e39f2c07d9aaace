"""The `chinese-ten` command."""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Callable, Sequence
from typing import NamedTuple

import chinese_ten_env
from chinese_ten_env.arena import command as arena
from chinese_ten_env.arena import leaderboard_command as leaderboard
from chinese_ten_env.arena import replay_command as game
from chinese_ten_env.bench import command as bench
from chinese_ten_env.web import command as web
from chinese_ten_env.web import replay_command as replay

INTERRUPTED = 130
"""The exit status that a shell gives a program which ended by Ctrl-C."""


class Command(NamedTuple):
    """A subcommand: its line in the help, what adds its options, what runs it."""

    summary: str
    add_arguments: Callable[[argparse.ArgumentParser], None]
    run: Callable[[argparse.Namespace], int]
    """Returns the exit status."""


COMMANDS: dict[str, Command] = {
    "arena": Command(arena.SUMMARY, arena.add_arguments, arena.run),
    "bench": Command(bench.SUMMARY, bench.add_arguments, bench.run),
    "game": Command(game.SUMMARY, game.add_arguments, game.run),
    "leaderboard": Command(leaderboard.SUMMARY, leaderboard.add_arguments, leaderboard.run),
    "play": Command(web.SUMMARY, web.add_arguments, web.run),
    "replay": Command(replay.SUMMARY, replay.add_arguments, replay.run),
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line, that of the process unless given, and return the exit status."""
    parser = argparse.ArgumentParser(
        prog="chinese-ten", description="Chinese Ten as an environment for reinforcement learning."
    )
    version = f"chinese-ten {chinese_ten_env.__version__}"
    parser.add_argument("--version", action="version", version=version)
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for name, command in COMMANDS.items():
        sub = commands.add_parser(name, help=command.summary, description=command.summary)
        command.add_arguments(sub)
        sub.set_defaults(run=command.run)
    words = sys.argv[1:] if arguments is None else list(arguments)
    options = parser.parse_args(words)
    options.command_line = shlex.join([parser.prog, *words])  # reports tell it
    try:
        status: int = options.run(options)
    except KeyboardInterrupt:
        return INTERRUPTED
    return status


if __name__ == "__main__":
    sys.exit(main())
