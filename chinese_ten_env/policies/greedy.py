"""A strong rule of thumb: take what is worth most now, and mind what it costs.

Greedy looks one action ahead, at views only. It takes the action with the highest sum, in points,
of

- what the action captures, the capturing card included, and the red-five levy if it earns it;
- what the coming flip may take, on average over the unseen cards;
- less what stays for the others: the chance that one of them holds or flips a card that can take
  it before the turn comes back, times what he would gain;
- plus what stays for the hand: the chance that nobody has taken it by then, times what the hand
  would gain;
- less the reach of the hand card: the points of the unseen cards that it could take later;
- less a part of the points of a card that is only laid.

It looks at each rank on the table by itself, takes all unseen cards to be equally likely to be
anywhere, and ignores what earlier play tells about the hands, who the others are, in which order
they play, a turn of the direction, and the score of the match. A bottom card that it knows counts
as seen and nothing more: it is flipped in the last turn, where nothing is left to choose. Equal
sums go to the lowest card, so greedy is deterministic.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from chinese_ten_env.bits import EMPTY, ONE, U64
from chinese_ten_env.cards import FAMILY_OF_FOUR, NUM_CARDS, PARTNERS, RED_FIVES
from chinese_ten_env.engine import PLAY, POINT_BITS, TAKE_WITH_STOCK, Games
from chinese_ten_env.jit import kernel
from chinese_ten_env.machine import lowest, popcount
from chinese_ten_env.observation import unseen_cards

# Tuned on duplicate deals against the rule that takes what is worth most and else lays the least
# valuable card; one set for all variants. They need no precision: a fifth more or less of any of
# them changes no variant's result by more than a fifth of a point a deal.
_OFFER = 1.7  # a point left for the others
_THEIR_CARD = 0.5  # how much of it counts the card that they capture with
_FUTURE = 0.8  # a point left for the hand
_REACH = 0.55  # a point that the hand card could have taken later
_REACH_AGAIN = 0.7  # the same for each further card of its rank in the hand
_LAID = 0.3  # a point of a card that is laid

_RANK = U64(0b1111)


@kernel
def _write_points(view: Any, points: Any) -> None:
    """Write the points of every card to `points` [52]."""
    for card in range(NUM_CARDS):
        value = U64(0)
        for bit in range(POINT_BITS):
            value |= (view.point_bits[bit] >> U64(card) & ONE) << U64(bit)
        points[card] = value


@kernel
def _sum(cards: np.uint64, points: Any) -> float:
    """Return the points of all cards of a set."""
    total = 0.0
    while cards != EMPTY:
        total += points[lowest(cards)]
        cards &= cards - ONE
    return total


@kernel
def _most(cards: np.uint64, points: Any) -> float:
    """Return the points of the card of a set that is worth most."""
    most = 0.0
    while cards != EMPTY:
        most = max(most, points[lowest(cards)])
        cards &= cards - ONE
    return most


@kernel
def _is_triple(lying: np.uint64) -> bool:
    """Tell whether cards of one rank on the table are three that the fourth takes together."""
    return popcount(lying) == 3 and lying & FAMILY_OF_FOUR != EMPTY


@kernel
def _one_capture(targets: np.uint64) -> np.uint64:
    """Return what one capture takes of its possible targets: the lowest, three at once, nothing."""
    if targets == EMPTY or _is_triple(targets):
        return targets
    return ONE << U64(lowest(targets))


@kernel
def _levy(view: Any, card: np.uint64, targets: np.uint64) -> float:
    """Return what a capture brings as red-five levy from all others together."""
    taken = card | targets
    if view.levy_on_pile:
        taken |= view.captured[view.viewer]
    elif card & RED_FIVES == EMPTY:
        return 0.0
    return view.levy * (view.num_players - 1.0) if taken & RED_FIVES == RED_FIVES else 0.0


@kernel
def _levy_at_stake(view: Any, lying: np.uint64, partners: np.uint64) -> float:
    """Return the levy that one of `partners` would bring by taking the red five among `lying`."""
    if lying & RED_FIVES == EMPTY or partners & RED_FIVES == EMPTY:
        return 0.0
    return view.levy * (view.num_players - 1.0)


@kernel
def _gain(view: Any, points: Any, card: np.uint64, taken: np.uint64) -> float:
    """Return what a card brings by capturing `taken`, or costs by being laid if that is empty."""
    if taken == EMPTY:
        return -_LAID * _sum(card, points)
    return _sum(card | taken, points) + _levy(view, card, taken)


@kernel
def _reach(points: Any, card: int, hand: np.uint64, unseen: np.uint64) -> float:
    """Return the worth of keeping a hand card for the unseen cards that it can take."""
    worth = _REACH * _sum(unseen & PARTNERS[card], points)
    alike = hand & _RANK << U64(card & ~3)
    for _ in range(popcount(alike) - 1):
        worth *= _REACH_AGAIN
    return worth


@kernel
def _others_see(view: Any) -> float:
    """Return how many unseen cards the others hold or flip before the turn comes back."""
    cards = view.num_players - 1
    for seat in range(view.num_players):
        if seat != view.viewer:
            cards += view.hand_sizes[seat]
    return float(cards)


@kernel
def _chance_of_none(count: int, part: float) -> float:
    """Return about how likely it is that a part of the unseen holds none of `count` of them."""
    chance = 1.0
    for _ in range(count):
        chance *= max(0.0, 1.0 - part)
    return chance


@kernel
def _outlook(
    view: Any, points: Any, lying: np.uint64, hand: np.uint64, unseen: np.uint64, others_see: float
) -> float:
    """Return what the cards `lying` on the table, all of one rank, promise from now on."""
    if lying == EMPTY:
        return 0.0
    partners = PARTNERS[lowest(lying)]
    loot = _sum(lying, points) if _is_triple(lying) else _most(lying, points)
    worth, stays = 0.0, 1.0
    takers = unseen & partners
    if takers != EMPTY:
        count, cards = popcount(takers), popcount(unseen)
        with_what = (_sum(takers, points) + _levy_at_stake(view, lying, takers)) / count
        if view.phase != TAKE_WITH_STOCK:
            flipped = count / cards
            worth += flipped * (loot + with_what)
            stays -= flipped
        untaken = _chance_of_none(count, others_see / cards)
        worth -= _OFFER * stays * (1.0 - untaken) * (loot + _THEIR_CARD * with_what)
        stays *= untaken
    takers = hand & partners
    if takers != EMPTY:
        with_what = _most(takers, points) + _levy_at_stake(view, lying, takers)
        worth += _FUTURE * stays * (loot + with_what)
    return worth


@kernel
def _best_card(view: Any, points: Any) -> int:
    """Return the legal card with the highest sum."""
    table, hand, unseen = view.table, view.hands[view.viewer], unseen_cards(view)
    others_see = _others_see(view)
    best, best_card = -np.inf, -1
    rest = view.legal
    while rest != EMPTY:
        action = lowest(rest)
        bit = ONE << U64(action)
        rest ^= bit
        if view.phase == PLAY:
            card, targets, kept = bit, table & PARTNERS[action], hand ^ bit
            cost = _reach(points, action, hand, unseen)
        else:
            card, targets, kept, cost = view.pending, bit, hand, 0.0
        # Only the cards of one rank on the table change: those that are taken or joined.
        changing = lowest(targets) if targets != EMPTY else action
        lying = table & _RANK << U64(changing & ~3)
        cost += _outlook(view, points, lying, hand, unseen, others_see)
        while True:
            taken = _one_capture(targets)
            left = lying ^ taken if taken != EMPTY else lying | card
            value = _gain(view, points, card, taken) - cost
            value += _outlook(view, points, left, kept, unseen, others_see)
            if value > best:
                best, best_card = value, action
            targets ^= taken
            if targets == EMPTY:
                break
    return best_card


@kernel
def _choose(views: Any, points: Any, cards: Any) -> None:
    """Write the choice for each view to `cards` [B]; `points` [52] is scratch."""
    for index in range(len(views)):
        _write_points(views[index], points)
        cards[index] = _best_card(views[index], points)


def greedy(views: Games, rng: np.random.Generator) -> npt.NDArray[np.int64]:
    """Return the card that promises most for each view, int64 [B]; `rng` is not used."""
    cards = np.empty(len(views), dtype=np.int64)
    _choose(views, np.zeros(NUM_CARDS), cards)
    return cards
