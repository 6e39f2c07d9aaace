"""The policy that takes what is worth most now, and else lays the least valuable card."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from chinese_ten_env.bits import EMPTY, ONE, U64, lowest, popcount
from chinese_ten_env.cards import PARTNERS
from chinese_ten_env.engine import PLAY, POINT_BITS, Games
from chinese_ten_env.jit import kernel


@kernel
def _points(view: Any, cards: np.uint64) -> int:
    points = 0
    for bit in range(POINT_BITS):
        points += popcount(cards & view.point_bits[bit]) << bit
    return points


@kernel
def _most(view: Any, cards: np.uint64) -> int:
    most = 0
    while cards != EMPTY:
        most = max(most, _points(view, cards & (~cards + ONE)))
        cards &= cards - ONE
    return most


@kernel
def _choose(views: Any, cards: Any) -> None:
    for index in range(len(views)):
        view = views[index]
        rest, best = view.legal, -1000
        while rest != EMPTY:
            card = lowest(rest)
            rest &= rest - ONE
            value = _points(view, ONE << U64(card))
            if view.phase == PLAY:
                targets = view.table & PARTNERS[card]
                value = value + _most(view, targets) + 1 if targets != EMPTY else -value
            if value > best:
                best, cards[index] = value, card


def greedy(views: Games, rng: np.random.Generator) -> npt.NDArray[np.int64]:
    """Return the card worth most now for each view, int64 [B]."""
    cards = np.empty(len(views), dtype=np.int64)
    _choose(views, cards)
    return cards
