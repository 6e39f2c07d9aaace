"""`chinese-ten replay`: a saved game as a page that anyone can open, as a film, or as a picture."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from chinese_ten_env.files import write_whole
from chinese_ten_env.game import Game

SUMMARY = "write a saved game as one HTML file, to step through it, as a film, or as a picture"

_PAGE, _DRAWING, _PICTURE = ".html", ".svg", ".png"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    parser.add_argument("game", type=Path, metavar="FILE.json", help="what Game.to_json wrote")
    parser.add_argument(
        "--out",
        type=Path,
        required=True,
        metavar="FILE",
        help="what to write: a page.html, a film.gif or film.mp4, a picture.svg or picture.png",
    )
    parser.add_argument(
        "--at", type=int, metavar="N", help="for a picture: after how many actions (all)"
    )
    parser.add_argument(
        "--player", type=int, metavar="P", help="for films and pictures: as this player sees it"
    )
    parser.add_argument(
        "--size",
        type=int,
        nargs=2,
        default=(800, 600),
        metavar=("W", "H"),
        help="for films and pictures (800 600)",
    )
    parser.add_argument("--theme", choices=("light", "dark"), default="light", help="(light)")


def run(options: argparse.Namespace) -> int:
    """Write the file and return the exit status: 2 if an argument is wrong."""
    try:
        game = read_game(options.game)
        write(game, options)
    except (ImportError, OSError, ValueError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    print(f"{options.out}: {len(game.history)} actions")
    return 0


def write(game: Game, options: argparse.Namespace) -> None:
    """Write what the file is named for; ValueError, OSError, ImportError if it cannot be."""
    from chinese_ten_env.render import draw, film, raster
    from chinese_ten_env.web.session import after
    from chinese_ten_env.web.share import share

    out, player, at = options.out, options.player, options.at
    known = (_PAGE, *film.SUFFIXES, _DRAWING, _PICTURE)
    if out.suffix not in known:
        raise ValueError(f"--out: the name ends in one of {', '.join(known)}, not {out.name!r}")
    if player is not None and not 0 <= player < game.rules.num_players:
        raise ValueError(f"--player: from 0 to {game.rules.num_players - 1}, not {player}")
    if at is not None and not 0 <= at <= len(game.history):
        raise ValueError(f"--at: from 0 to {len(game.history)}, not {at}")
    look: dict[str, Any] = {"size": tuple(options.size), "theme": options.theme}
    if out.suffix in film.SUFFIXES:
        film.write_film(out, list(film.pictures(game, player, **look)))
        return
    if out.suffix == _PAGE:
        write_whole(out, share(game))
        return
    scene = (game if at is None else after(game, at)).board(player)
    if out.suffix == _DRAWING:
        write_whole(out, draw(scene, **look))
    else:
        raster.write_png(out, scene, **look)


def read_game(path: Path) -> Game:
    """Return the game of a file; OSError, or a ValueError that names the file and the field."""
    try:
        return Game.from_json(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{path}: {error}") from None
