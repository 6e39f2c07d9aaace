"""A game of an arena once more, card by card."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from chinese_ten_env.arena.duplicate import check_count, choose_rules
from chinese_ten_env.arena.lineup import Lineup, distinct_names
from chinese_ten_env.engine import OVER, Games
from chinese_ten_env.game import Game
from chinese_ten_env.rules import Rules


def replay(
    policies: Sequence[Any],
    deal: int,
    seating: int = 0,
    variant: str = "mainland",
    num_players: int | None = None,
    deals: int = 1000,
    seed: int | np.integer[Any] = 0,
    *,
    names: Sequence[str] | None = None,
    rules: Rules | None = None,
    **switches: Any,
) -> Game:
    """Return a game that these policies play in `cross_play`, with all that was played.

    `policies` are those of one lineup, in any order; `deal` and `seating` are what
    ``games.parquet`` calls so. The rest are the arguments of `cross_play`; its number of deals
    matters, since a policy is asked about many games at once and draws for all of them together. A
    search given a time plays what it finds in that time. ValueError says what is wrong.
    """
    rules = choose_rules(rules, variant, num_players, switches)
    for name, value, low in (("deals", deals, 1), ("deal", deal, 0), ("seating", seating, 0)):
        check_count(name, value, low)
    labels = distinct_names(policies, names)
    order = sorted(range(len(labels)), key=labels.__getitem__)  # as in cross_play
    lineup = Lineup(
        [policies[index] for index in order],
        rules,
        int(seed),
        [labels[index] for index in order],
    )
    count = len(lineup.seats)
    if deal >= deals or seating >= count:
        raise ValueError(
            f"there are deals 0 to {deals - 1} in seatings 0 to {count - 1}, and no deal {deal} in "
            f"seating {seating}"
        )
    start, stop = next(part for part in lineup.parts(int(deals)) if part[0] <= deal < part[1])
    index = (deal - start) * count + seating
    game = Game(rules, seed=lineup.first_deck + deal)

    def watch(games: Games, cards: npt.NDArray[np.int64]) -> None:
        if games["phase"][index] != OVER:
            game.play(int(cards[index]))

    lineup.play(start, stop, watch)
    return game
