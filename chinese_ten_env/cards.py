"""Cards as numbers, names and bitboards.

A card is an integer ``4 * rank + suit`` in ``0..51`` with the ranks A 2 .. 9 T J Q K and the suits
C D H S, so ``AC`` is 0 and ``KS`` is 51. A set of cards is a bitboard: a ``uint64`` whose bit ``c``
stands for card ``c``. Records and kernels hold bitboards; people read and write names.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable
from typing import Any

import numpy as np

RANKS = "A23456789TJQK"
SUITS = "CDHS"
NUM_CARDS = len(RANKS) * len(SUITS)
CARD_NAMES = tuple(rank + suit for rank in RANKS for suit in SUITS)
"""[52] the name of each card, in card order."""

_NUMBERS = {name: number for number, name in enumerate(CARD_NAMES)}
_RANK_BITS = (1 << len(SUITS)) - 1


def card(name: str) -> int:
    """Return the number of a card name; ValueError if there is no such card."""
    number = _NUMBERS.get(name.strip().upper())
    if number is None:
        raise ValueError(
            f"{name!r} is not a card: write a rank of {RANKS} and a suit of {SUITS}, such as 'TD'"
        )
    return number


def parse_card(entry: Any) -> int:
    """Return the number of a card given by name or number; ValueError if it is neither."""
    if isinstance(entry, str):
        return card(entry)
    if isinstance(entry, (bool, np.bool_)):
        raise ValueError(f"{entry!r} is not a card: give a name or a number")
    try:
        number = operator.index(entry)
    except TypeError:
        raise ValueError(f"{entry!r} is not a card: give a name or a number") from None
    return _NUMBERS[card_name(number)]


def card_name(number: int) -> str:
    """Return the name of a card number; ValueError if it is not in 0..51."""
    if not 0 <= number < NUM_CARDS:
        raise ValueError(f"{number!r} is not a card number: 0..{NUM_CARDS - 1}")
    return CARD_NAMES[number]


def bitboard(cards: str | Iterable[int | str]) -> np.uint64:
    """Return the set of cards named in a text such as ``"AH 9C"``, or listed, by name or number."""
    names = cards.split() if isinstance(cards, str) else cards
    bits = 0
    for entry in names:
        number = parse_card(entry)
        if bits >> number & 1:
            raise ValueError(f"card {CARD_NAMES[number]} is named twice")
        bits |= 1 << number
    return np.uint64(bits)


def card_list(bits: int | np.uint64) -> list[int]:
    """Return the card numbers of a bitboard in ascending order."""
    rest, numbers = int(bits), []
    while rest:
        lowest = rest & -rest
        numbers.append(lowest.bit_length() - 1)
        rest ^= lowest
    return numbers


def card_names(bits: int | np.uint64) -> str:
    """Return the names of a bitboard in card order, separated by blanks."""
    return " ".join(CARD_NAMES[number] for number in card_list(bits))


def is_red(number: int) -> bool:
    """Tell whether a card is a diamond or a heart."""
    return SUITS[number % len(SUITS)] in "DH"


def partner_rank(rank: int) -> int:
    """Return the rank that a rank captures: A to 9 make ten together, T J Q K and 5 pair up."""
    return 8 - rank if rank < 9 else rank


def _partners(number: int) -> int:
    return (_RANK_BITS << len(SUITS) * partner_rank(number // len(SUITS))) & ~(1 << number)


DECK = np.uint64((1 << NUM_CARDS) - 1)
"""All cards."""

PARTNERS = np.array([_partners(number) for number in range(NUM_CARDS)], dtype=np.uint64)
"""[52] the cards that each card can capture."""

FAMILY_OF_FOUR = bitboard([f"{rank}{suit}" for rank in "5TJQK" for suit in SUITS])
"""The ranks that capture their own: only these can lie as three or four of a kind."""

RED_FIVES = bitboard("5D 5H")
