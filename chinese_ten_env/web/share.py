"""A whole game as one HTML file that needs neither a server nor the network."""

from __future__ import annotations

import base64
import hashlib
import html
import json
from collections.abc import Sequence
from importlib import resources

from chinese_ten_env.game import Game
from chinese_ten_env.render import board
from chinese_ten_env.web.session import after
from chinese_ten_env.web.steps import steps
from chinese_ten_env.web.told import facts, picture, sheets


def share(game: Game, players: Sequence[str | None] | None = None) -> str:
    """Return a page in which one steps through all positions of a game, with every card shown.

    `players` [P] are the names of policies, None for a person.
    """
    folder = resources.files("chinese_ten_env.web") / "page"
    script = (folder / "share.js").read_text(encoding="utf-8")
    style = (folder / "page.css").read_text(encoding="utf-8")
    who = list(players or [None] * game.rules.num_players)
    boards = []
    for actions in range(len(game.history) + 1):
        scene = board(after(game, actions).games, game.rules)
        boards.append(picture(scene, "wide", who))
    told = steps(game)
    data = facts(game) | {
        "players": who,
        "steps": [one.to_dict() for one in told],
        "sheets": sheets(told),
        "boards": boards,
    }
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    # Data of JSON in a page must not contain what would end their element.
    text = json.dumps(data).replace("<", "\\u003c")
    title = html.escape(f"Chinese Ten: {game.rules.variant}, {game.rules.num_players} players")
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; \
style-src 'unsafe-inline'; script-src 'sha256-{digest}'; img-src data:">
<title>{title}</title>
<style>
{style}
</style>
</head>
<body>
<main class="share">
<h1>{title}</h1>
<div id="board" class="board"></div>
<nav class="buttons">
<button type="button" id="first">|&lt;</button>
<button type="button" id="back">&lt;</button>
<output id="number"></output>
<button type="button" id="forward">&gt;</button>
<button type="button" id="last">&gt;|</button>
</nav>
<p id="happened" aria-live="polite"></p>
</main>
<script type="application/json" id="game">{text}</script>
<script>{script}</script>
</body>
</html>
"""
