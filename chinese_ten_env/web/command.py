"""`chinese-ten play`: its options, and the server."""

from __future__ import annotations

import argparse
import socket
import sys
import threading
import webbrowser
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from chinese_ten_env.rules import CHOICES, VARIANTS, make_rules

SUMMARY = "play against policies in the browser, on this machine"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    parser.add_argument(
        "--variant", default="mainland", choices=VARIANTS, help="what is played (mainland)"
    )
    parser.add_argument(
        "--num-players", type=int, metavar="P", help="seats; the smallest number unless given"
    )
    parser.add_argument(
        "--match", choices=CHOICES["match"], help="one deal, or deals to a target of points (deal)"
    )
    parser.add_argument("--target", type=int, metavar="T", help="the points that end a match")
    parser.add_argument(
        "--opponents",
        nargs="+",
        default=["greedy"],
        metavar="POLICY",
        help="one for all other seats, or one for each in seat order: a name, a search such as "
        "pimc:64, the folder of a run, an ONNX file (greedy)",
    )
    parser.add_argument("--seat", type=int, metavar="S", help="yours; drawn unless given")
    parser.add_argument("--seed", type=int, metavar="S", help="of the first game")
    parser.add_argument("--practice", action="store_true", help="you may take moves back")
    parser.add_argument(
        "--replay", type=Path, metavar="FILE.json", help="look at a saved game instead"
    )
    parser.add_argument(
        "--host",
        default="127.0.0.1",
        help="where to listen (127.0.0.1, so that only this machine can play)",
    )
    parser.add_argument("--port", type=int, default=0, help="a free one unless given")
    parser.add_argument("--no-browser", action="store_true", help="only print the address")
    parser.add_argument(
        "--games",
        type=Path,
        metavar="FILE",
        help="the database in which games are kept; in your data folder unless given",
    )


def run(options: argparse.Namespace) -> int:
    """Serve until interrupted; return the exit status: 2 if an argument is wrong."""
    missing = [name for name in ("starlette", "uvicorn") if find_spec(name) is None]
    if missing:
        print(
            f"error: {' and '.join(missing)} not found: pip install 'chinese_ten_env[web]'",
            file=sys.stderr,
        )
        return 2
    try:
        serve(options)
    except (ImportError, OSError, ValueError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 0


def serve(options: argparse.Namespace) -> None:
    """Begin a game or open a replay, and serve it. ValueError, OSError if that cannot be."""
    import uvicorn

    from chinese_ten_env.web.replay_command import read_game
    from chinese_ten_env.web.server import LOCAL, Server, make_app
    from chinese_ten_env.web.store import Store, default_path

    wish = _wish(options)
    # As they were written, so that a file never has the name of a policy of the library.
    policies = {word: word for word in options.opponents}
    store = Store(options.games or default_path())
    try:
        server = Server(store, policies, {n: v for n, v in wish.items() if n != "seed"})
        if options.replay is not None:
            place = f"replays/{store.add_replay(read_game(options.replay).to_json())}"
        else:
            place = f"games/{server.begin(wish)[0]}"
        listener = socket.create_server((options.host, options.port))
        host, port = options.host, listener.getsockname()[1]
        address = f"http://{host}:{port}/{place}"
        print(f"playing at {address} (Ctrl-C ends it; games are kept in {store.path})", flush=True)
        if not options.no_browser:
            threading.Timer(0.5, webbrowser.open, (address,)).start()
        hosts = LOCAL if host in LOCAL else ("*",)
        config = uvicorn.Config(make_app(server, hosts), log_level="warning", access_log=False)
        uvicorn.Server(config).run(sockets=[listener])
    finally:
        store.close()


def _wish(options: argparse.Namespace) -> dict[str, Any]:
    """Return the fields of a request for the game that the options describe."""
    fields = ("variant", "match", "target", "opponents", "seat", "seed", "practice")
    wish = {name: getattr(options, name) for name in fields}
    wish["num_players"] = make_rules(options.variant, options.num_players).num_players
    return {name: value for name, value in wish.items() if value is not None}
