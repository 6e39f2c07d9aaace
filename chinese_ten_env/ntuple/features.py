"""What an n-tuple network sees of a game: the numbers of the few features that are true of it.

A card is in one of four places: gone, in the own hand, on the table, or unseen. Where the four
cards of a rank are is one feature, looked up by a code; cards of one colour that score alike may
be swapped, and the four ranks behind nine are alike, so that there are about a hundred codes for a
rank. Thirteen of these say all about the cards; further features tell the time, and what the
table says of the other hands: cards that a player left lying, he could seldom take.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from chinese_ten_env.bits import EMPTY, ONE, U64
from chinese_ten_env.cards import NUM_CARDS
from chinese_ten_env.engine import NO_CARD, NOBODY, levy_taker
from chinese_ten_env.jit import kernel
from chinese_ten_env.machine import lowest
from chinese_ten_env.observation import known_bottom, unseen_cards
from chinese_ten_env.rules import HAND_CARDS, MAX_PLAYERS, Rules

RANKS, SUITS = 13, 4
CODES = 4**SUITS
"""Ways in which the four cards of a rank can lie in four places."""

PARTNER_RANK = np.array([8 - rank if rank < 9 else rank for rank in range(RANKS)])
"""The rank that each rank captures."""

PHASES = 3
HAND_SIZES = HAND_CARDS // 2 + 1

# Behind the codes of the ranks, one after the other.
MOMENT = 0
"""The turn and the phase."""
LAST_PLAYED = MOMENT + HAND_CARDS * PHASES
"""The last card that anybody played, if it lies on the table."""
LAST_FLIPPED = LAST_PLAYED + NUM_CARDS
"""The last card flipped, if it lies on the table."""
LAID = LAST_FLIPPED + NUM_CARDS
"""A card on the table that a player laid from the hand; players from the own seat on."""
BOTTOM = LAID + MAX_PLAYERS * NUM_CARDS
"""The bottom card of the stock, if it is known and there."""
LEVY = BOTTOM + NUM_CARDS
"""The player who is owed the red-five levy."""
DEALER = LEVY + MAX_PLAYERS
"""The player who deals; this and what follows only where play can turn."""
REVERSED = DEALER + MAX_PLAYERS
"""Play goes against the seat order."""
HAND_SIZE = REVERSED + 1
"""How many cards each of the others holds."""
MORE = HAND_SIZE + (MAX_PLAYERS - 1) * HAND_SIZES
"""Features beside the codes."""

MOST = RANKS + 3 + HAND_CARDS + 4 + MAX_PLAYERS - 1
"""Features that can be true at once: codes, the moment and two last cards, laid cards, the rest."""

# Suits as a number to the same bits with a gap behind each.
_SPREAD = np.array([sum((suits >> k & 1) << 2 * k for k in range(SUITS)) for suits in range(16)])


def rank_codes(rules: Rules) -> tuple[npt.NDArray[np.int32], int]:
    """Return the feature of each code of each rank, int32 [13, 256], and how many there are.

    A code holds two bits for each suit: 0 gone, 1 hand, 2 table, 3 unseen.
    """
    table = np.empty((RANKS, CODES), dtype=np.int32)
    found: dict[tuple[int, ...], int] = {}
    for rank in range(RANKS):
        points = [int(value) for value in rules.points[SUITS * rank : SUITS * (rank + 1)]]
        kind = min(rank, 9)  # T, J, Q and K differ in nothing but their names
        for code in range(CODES):
            places = [code >> 2 * suit & 3 for suit in range(SUITS)]
            for one, other in ((0, 3), (1, 2)):  # the black suits, the red suits
                if points[one] == points[other] and places[one] > places[other]:
                    places[one], places[other] = places[other], places[one]
            key = (kind, *points, *places)
            table[rank, code] = found.setdefault(key, len(found))
    return table, len(found)


@kernel
def write_features(view: Any, codes: Any, first: int, out: Any) -> int:
    """Write the features of a view to `out` [MOST] and return how many there are.

    The first 13 are those of the ranks, by `codes` [13, 256]; the others begin at `first`.
    """
    me, table = view.viewer, view.table
    hand, unseen = view.hands[me], unseen_cards(view)
    held, lying = hand | unseen, table | unseen  # the low and the high bit of each place
    for rank in range(RANKS):
        shift = U64(SUITS * rank)
        low, high = held >> shift & U64(15), lying >> shift & U64(15)
        out[rank] = codes[rank, _SPREAD[low] + 2 * _SPREAD[high]]
    count = RANKS
    out[count] = first + MOMENT + PHASES * view.turn + view.phase
    count += 1
    if view.last_played != NO_CARD and table & ONE << U64(view.last_played) != EMPTY:
        out[count] = first + LAST_PLAYED + view.last_played
        count += 1
    if view.last_flipped != NO_CARD and table & ONE << U64(view.last_flipped) != EMPTY:
        out[count] = first + LAST_FLIPPED + view.last_flipped
        count += 1
    seat = me
    for place in range(view.num_players):
        laid = view.played[seat] & table
        while laid != EMPTY:
            out[count] = first + LAID + NUM_CARDS * place + lowest(laid)
            count += 1
            laid &= laid - ONE
        seat = seat + 1 if seat + 1 < view.num_players else 0
    bottom = known_bottom(view)
    if bottom != EMPTY:
        out[count] = first + BOTTOM + lowest(bottom)
        count += 1
    taker = levy_taker(view)
    if taker != NOBODY:
        out[count] = first + LEVY + _places_on(view, me, taker)
        count += 1
    if view.sweep_reverses:
        out[count] = first + DEALER + _places_on(view, me, view.dealer)
        count += 1
        if view.direction < 0:
            out[count] = first + REVERSED
            count += 1
        seat = me
        for place in range(view.num_players - 1):
            seat = seat + 1 if seat + 1 < view.num_players else 0
            out[count] = first + HAND_SIZE + HAND_SIZES * place + view.hand_sizes[seat]
            count += 1
    return count


@kernel
def _places_on(view: Any, me: int, seat: int) -> int:
    return seat - me if seat >= me else seat - me + view.num_players
