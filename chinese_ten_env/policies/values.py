"""What sets of cards are worth, looked up: for rules that weigh many sets of one rank."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from chinese_ten_env.bits import EMPTY, ONE, U64
from chinese_ten_env.cards import FAMILY_OF_FOUR, NUM_CARDS
from chinese_ten_env.engine import POINT_BITS
from chinese_ten_env.jit import kernel
from chinese_ten_env.machine import lowest, popcount

SUITS = U64(0b1111)
"""All cards of the lowest rank."""

_SETS = 16 * (NUM_CARDS // 4)
_SUM, _MOST = range(2)


def empty_values() -> npt.NDArray[np.float64]:
    """Return an array for `write_values` to write."""
    return np.empty((2, _SETS))


@kernel
def write_values(game: Any, values: Any) -> None:
    """Write what each set of cards of one rank is worth: all points, and those of the best card.

    The place of a set is 16 times its rank plus its suits as a number.
    """
    for place in range(_SETS):
        total = most = 0.0
        for suit in range(4):
            if place >> suit & 1:
                card = U64((place >> 4) * 4 + suit)
                points = U64(0)
                for bit in range(POINT_BITS):
                    points |= (game.point_bits[bit] >> card & ONE) << U64(bit)
                total += points
                most = max(most, np.float64(points))
        values[_SUM, place], values[_MOST, place] = total, most


@kernel
def same_values(game: Any, other: Any) -> bool:
    """Tell whether the cards of two games are worth the same."""
    for bit in range(POINT_BITS):
        if game.point_bits[bit] != other.point_bits[bit]:
            return False
    return True


@kernel
def _place(cards: np.uint64) -> int:
    rank = lowest(cards) >> 2
    return rank * 16 + int(cards >> U64(4 * rank) & SUITS)


@kernel
def sum_of(cards: np.uint64, values: Any) -> float:
    """Return the points of all cards of a set of one rank."""
    return values[_SUM, _place(cards)] if cards != EMPTY else 0.0


@kernel
def most_of(cards: np.uint64, values: Any) -> float:
    """Return the points of the card of a set of one rank that is worth most."""
    return values[_MOST, _place(cards)] if cards != EMPTY else 0.0


@kernel
def alike(card: int) -> np.uint64:
    """Return all cards of the rank of a card."""
    return SUITS << U64(card & ~3)


@kernel
def takes_three(targets: np.uint64) -> bool:
    """Tell whether cards of one rank on the table are three that the fourth takes together."""
    return popcount(targets) == 3 and targets & FAMILY_OF_FOUR != EMPTY


@kernel
def loot_of(targets: np.uint64, values: Any) -> float:
    """Return the points of what one capture takes of its possible targets, of one rank."""
    return sum_of(targets, values) if takes_three(targets) else most_of(targets, values)


@kernel
def without_twins(cards: np.uint64, values: Any) -> np.uint64:
    """Return the cards less those that a lower one equals in rank, colour and points.

    For actions: nothing else tells two cards apart that lie in one hand or on the table.
    """
    kept, rest = cards, cards
    while rest != EMPTY:
        card = lowest(rest)
        rest &= rest - ONE
        twin = card ^ 3  # C and S, D and H
        if twin < card and cards & ONE << U64(twin) != EMPTY:
            bit = ONE << U64(card)
            if most_of(bit, values) == most_of(ONE << U64(twin), values):
                kept ^= bit
    return kept
