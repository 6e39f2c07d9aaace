"""`chinese-ten replay`: a saved game as a page that anyone can open."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from chinese_ten_env.game import Game

SUMMARY = "write a saved game as one HTML file, to step through it"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    parser.add_argument("game", type=Path, metavar="FILE.json", help="what Game.to_json wrote")
    parser.add_argument(
        "--out", type=Path, required=True, metavar="FILE.html", help="the page to write"
    )


def run(options: argparse.Namespace) -> int:
    """Write the page and return the exit status: 2 if an argument is wrong."""
    from chinese_ten_env.web.share import share

    try:
        game = read_game(options.game)
        options.out.write_text(share(game), encoding="utf-8")
    except (OSError, ValueError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    print(f"{options.out}: {len(game.history)} actions")
    return 0


def read_game(path: Path) -> Game:
    """Return the game of a file; OSError, or a ValueError that names the file and the field."""
    try:
        return Game.from_json(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{path}: {error}") from None
