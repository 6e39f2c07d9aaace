"""Bitboards and random numbers inside kernels: the few operations that need care in numba.

Only ``uint64`` values may touch a bitboard: a signed operand would turn the result into ``int64``,
and a mixture into ``float64``.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from chinese_ten_env.cards import FAMILY_OF_FOUR, NUM_CARDS
from chinese_ten_env.jit import kernel
from chinese_ten_env.machine import nth, popcount, reverse

U64 = np.uint64
EMPTY = U64(0)
ONE = U64(1)

_SUIT_BITS = U64(0b1111)
_FIRST_SUITS = U64(sum(1 << bit for bit in range(0, NUM_CARDS, 4)))
_MAKING_TEN_WIDTH = 36  # the cards A to 9
_SAME_RANK = U64(int(FAMILY_OF_FOUR) >> _MAKING_TEN_WIDTH << _MAKING_TEN_WIDTH)  # T J Q K

# --- sets -----------------------------------------------------------------------------------


@kernel
def first(n: int) -> np.uint64:
    """Return the set of the n lowest cards: a number as a thermometer, 0 <= n <= 52."""
    return (ONE << U64(n)) - ONE


@kernel
def capturing(cards: np.uint64) -> np.uint64:
    """Return every card, wherever it is, whose rank can capture one of `cards`."""
    suits = cards | cards >> ONE
    suits |= suits >> U64(2)
    ranks = (suits & _FIRST_SUITS) * _SUIT_BITS
    # A to 9 capture the rank that lies as far from 9 as they from A: the mirror image.
    return reverse(ranks << U64(64 - _MAKING_TEN_WIDTH)) | (ranks & _SAME_RANK)


# --- random numbers -------------------------------------------------------------------------
# SplitMix64 (Steele, Lea and Flood 2014): the state is a counter that grows by GAMMA, and each
# word is a hash of it. A seed is the first state. The same seed gives the same deals on every
# platform and with every version of NumPy.

GAMMA = U64(0x9E3779B97F4A7C15)
_LOW_HALF = U64(0xFFFFFFFF)


@kernel
def mix(state: np.uint64) -> np.uint64:
    """Return the random word of a SplitMix64 state."""
    word = (state ^ (state >> U64(30))) * U64(0xBF58476D1CE4E5B9)
    word = (word ^ (word >> U64(27))) * U64(0x94D049BB133111EB)
    return word ^ (word >> U64(31))


@kernel
def scale(word: np.uint64, n: int) -> np.uint64:
    """Return a number below n from the upper half of a random word; n / 2**32 away from uniform."""
    return ((word >> U64(32)) * U64(n)) >> U64(32)


@kernel
def pick(bits: np.uint64, word: np.uint64) -> int:
    """Return a random card of a set that is not empty."""
    return nth(bits, scale(word, popcount(bits)))


@kernel
def draw(state: np.uint64, n: int) -> tuple[np.uint64, np.uint64]:
    """Return the next state and a number below n, exactly uniform (Lemire 2019), 0 < n < 2**32."""
    size = U64(n)
    state += GAMMA
    product = (mix(state) >> U64(32)) * size
    if product & _LOW_HALF < size:
        threshold = ((_LOW_HALF + ONE) - size) % size
        while product & _LOW_HALF < threshold:
            state += GAMMA
            product = (mix(state) >> U64(32)) * size
    return state, product >> U64(32)


@kernel
def shuffle(deck: Any, state: np.uint64) -> np.uint64:
    """Fill `deck` (uint8 [52]) with all cards in random order and return the next state.

    The inside-out form of the Fisher-Yates shuffle: card i goes to a uniform place among the first
    i + 1, and the card that lay there moves to place i.
    """
    deck[0] = 0
    for card in range(1, NUM_CARDS):
        state, place = draw(state, card + 1)
        deck[card] = deck[place]
        deck[place] = card
    return state
