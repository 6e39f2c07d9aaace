"""What happened in a game, action by action, and what a deal brought.

All of it lies open on the table when it happens, so every player may be told.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from chinese_ten_env.cards import CARD_NAMES, NUM_CARDS, card_list
from chinese_ten_env.engine import (
    DEAL,
    OVER,
    PLAY,
    TAKE_WITH_STOCK,
    Games,
    copy_games,
    flip_next,
    play_before_flip,
    points,
)
from chinese_ten_env.game import Game
from chinese_ten_env.rules import HAND_CARDS, Rules

HAND, STOCK = "hand", "stock"


class Step(NamedTuple):
    """What one action did."""

    deal: int
    """The number of its deal, from 0."""
    player: int
    action: int
    parts: list[dict[str, Any]]
    """The card from the hand and the card from the stock, as far as the action brought them: where
    it came ``from``, the ``card``, what it ``takes``, and whether its player is still ``choosing``.
    """
    sheet: list[dict[str, Any]] | None
    """What the deal brought, by player, if the action ended it."""

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, ready for JSON."""
        return self._asdict() | {"action": CARD_NAMES[self.action]}


def steps(game: Game) -> list[Step]:
    """Return what each action of a game did."""
    replay, told = game.replay(), []
    for action in game.history:
        told.append(step(replay, action))
        replay.play(action)
    return told


def step(game: Game, action: int) -> Step:
    """Return what a legal action would do in a game, which stays as it is."""
    games = copy_games(game.games)
    games["match"] = DEAL  # so that a deal that ends is still there to be read
    player, phase = game.player, int(games["phase"][0])
    card = action if phase == PLAY else card_list(games["pending"][0])[0]
    pile = int(games["captured"][0, player])
    flips = play_before_flip(games, action)
    parts = [_part(STOCK if phase == TAKE_WITH_STOCK else HAND, card, pile, games, player)]
    if flips:
        pile = int(games["captured"][0, player])
        flipped = int(games["deck"][0, NUM_CARDS - HAND_CARDS + games["turn"][0]])
        flip_next(games, flipped)
        parts.append(_part(STOCK, flipped, pile, games, player))
    ended = games["phase"][0] == OVER
    return Step(game.deals, player, action, parts, sheet(games, game.rules) if ended else None)


def _part(source: str, card: int, pile: int, games: Games, player: int) -> dict[str, Any]:
    taken = int(games["captured"][0, player]) & ~pile & ~(1 << card)
    return {
        "from": source,
        "card": CARD_NAMES[card],
        "takes": [CARD_NAMES[number] for number in card_list(taken)],
        "choosing": int(games["pending"][0]) == 1 << card,
    }


def sheet(games: Games, rules: Rules) -> list[dict[str, Any]]:
    """Return what a finished deal brought each player: scoring cards, levy, points and net."""
    rows = []
    for player, won in enumerate(points(games, rules)[0].tolist()):
        pile = card_list(np.uint64(games["captured"][0, player]))
        scoring = [(CARD_NAMES[card], rules.points[card]) for card in pile if rules.points[card]]
        levy = won - sum(value for _, value in scoring)
        net = round(won - rules.par, 2)
        rows.append({"cards": scoring, "levy": levy, "points": won, "net": net})
    return rows
