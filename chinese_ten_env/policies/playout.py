"""Playing a deal out to its end, inside search.

The quick rule weighs what greedy weighs, but roughly: what a card takes, a quarter more of it if
another could take it first; what a card that is laid gives away; and what the card could still take
of the unseen ones. It needs a tenth of greedy's time and loses half a point a deal to it (mainland,
two players), where the rule that takes the most and else lays the least loses four and a half.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from chinese_ten_env.bits import EMPTY, ONE, U64
from chinese_ten_env.cards import PARTNERS
from chinese_ten_env.engine import DEAL, OVER, PLAY, play_card
from chinese_ten_env.jit import kernel
from chinese_ten_env.machine import lowest
from chinese_ten_env.observation import unseen_cards
from chinese_ten_env.policies.greedy import best_card
from chinese_ten_env.policies.values import alike, loot_of, most_of, sum_of

QUICK, GREEDY = range(2)
PLAYOUTS = ("quick", "greedy")
"""The rules that play out, by number."""

# Tuned as greedy's: on duplicate deals against it.
_AT_RISK = 2.0  # a point taken that another could have taken
_SAFE = 0.4  # a point taken that only this hand could have taken
_LAID = 0.3  # a point laid that nobody can take
_OFFERED = 0.8  # a point laid that an unseen card can take
_REACH = 0.55  # a point that the card could have taken later


@kernel
def quick_card(game: Any, values: Any) -> int:
    """Return the card that the quick rule plays, from what ``game.viewer`` sees, who is on turn."""
    best, chosen = -np.inf, -1
    rest = game.legal
    playing, unseen = game.phase == PLAY, unseen_cards(game)
    while rest != EMPTY:
        card = lowest(rest)
        bit = ONE << U64(card)
        rest ^= bit
        worth = most_of(bit, values)
        if playing:
            targets, later = game.table & PARTNERS[card], unseen & PARTNERS[card]
            if targets != EMPTY:
                at_risk = unseen & alike(card) != EMPTY
                worth += loot_of(targets, values) * (_AT_RISK if at_risk else _SAFE)
            else:
                worth *= -_OFFERED if later != EMPTY else -_LAID
            worth -= _REACH * sum_of(later, values)
        if worth > best:
            best, chosen = worth, card
    return chosen


@kernel
def play_out(game: Any, rule: int, values: Any) -> None:
    """Play a game to the end of its deal by one of `PLAYOUTS`; a match ends there too.

    Whoever is on turn sees only what is his to see.
    """
    game.match = DEAL
    while game.phase != OVER:
        game.viewer = game.player
        play_card(
            game,
            best_card(game, values) if rule == GREEDY else quick_card(game, values),
        )
