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
from chinese_ten_env.cards import PARTNERS, RED_FIVES
from chinese_ten_env.engine import PLAY, TAKE_WITH_STOCK, Games
from chinese_ten_env.jit import kernel
from chinese_ten_env.machine import lowest, popcount
from chinese_ten_env.observation import unseen_cards
from chinese_ten_env.policies.values import (
    alike,
    empty_values,
    loot_of,
    most_of,
    same_values,
    sum_of,
    takes_three,
    write_values,
)

# Tuned on duplicate deals against the rule that takes what is worth most and else lays the least
# valuable card; one set for all variants. They need no precision: a fifth more or less of any of
# them changes no variant's result by more than a fifth of a point a deal.
_OFFER = 1.7  # a point left for the others
_THEIR_CARD = 0.5  # how much of it counts the card that they capture with
_FUTURE = 0.8  # a point left for the hand
_REACH = 0.55  # a point that the hand card could have taken later
_REACH_AGAIN = 0.7  # the same for each further card of its rank in the hand
_LAID = 0.3  # a point of a card that is laid


@kernel
def _one_capture(targets: np.uint64) -> np.uint64:
    """Return what one capture takes of its possible targets: the lowest, three at once, nothing."""
    if targets == EMPTY or takes_three(targets):
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
def _gain(view: Any, values: Any, card: np.uint64, taken: np.uint64) -> float:
    """Return what a card brings by capturing `taken`, or costs by being laid if that is empty."""
    if taken == EMPTY:
        return -_LAID * sum_of(card, values)
    return sum_of(card, values) + sum_of(taken, values) + _levy(view, card, taken)


@kernel
def _reach(values: Any, card: int, hand: np.uint64, unseen: np.uint64) -> float:
    """Return the worth of keeping a hand card for the unseen cards that it can take."""
    worth = _REACH * sum_of(unseen & PARTNERS[card], values)
    of_rank = hand & alike(card)
    for _ in range(popcount(of_rank) - 1):
        worth *= _REACH_AGAIN
    return worth


@kernel
def cards_of_others(view: Any) -> float:
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
    view: Any,
    values: Any,
    lying: np.uint64,
    hand: np.uint64,
    unseen: np.uint64,
    others_see: float,
) -> float:
    """Return what the cards `lying` on the table, all of one rank, promise from now on."""
    if lying == EMPTY:
        return 0.0
    partners = PARTNERS[lowest(lying)]
    loot = loot_of(lying, values)
    worth, stays = 0.0, 1.0
    takers = unseen & partners
    if takers != EMPTY:
        count, cards = popcount(takers), popcount(unseen)
        with_what = (sum_of(takers, values) + _levy_at_stake(view, lying, takers)) / count
        if view.phase != TAKE_WITH_STOCK:
            flipped = count / cards
            worth += flipped * (loot + with_what)
            stays -= flipped
        untaken = _chance_of_none(count, others_see / cards)
        worth -= _OFFER * stays * (1.0 - untaken) * (loot + _THEIR_CARD * with_what)
        stays *= untaken
    takers = hand & partners
    if takers != EMPTY:
        with_what = most_of(takers, values) + _levy_at_stake(view, lying, takers)
        worth += _FUTURE * stays * (loot + with_what)
    return worth


@kernel
def card_worth(view: Any, values: Any, action: int, unseen: np.uint64, others_see: float) -> float:
    """Return the sum of a legal action, in points."""
    table, hand = view.table, view.hands[view.viewer]
    bit = ONE << U64(action)
    if view.phase == PLAY:
        card, targets, kept = bit, table & PARTNERS[action], hand ^ bit
        cost = _reach(values, action, hand, unseen)
    else:
        card, targets, kept, cost = view.pending, bit, hand, 0.0
    # Only the cards of one rank on the table change: those that are taken or joined.
    changing = lowest(targets) if targets != EMPTY else action
    lying = table & alike(changing)
    cost += _outlook(view, values, lying, hand, unseen, others_see)
    best = -np.inf
    while True:
        taken = _one_capture(targets)
        left = lying ^ taken if taken != EMPTY else lying | card
        worth = _gain(view, values, card, taken)
        worth += _outlook(view, values, left, kept, unseen, others_see)
        best = max(best, worth - cost)
        targets ^= taken
        if targets == EMPTY:
            return best


@kernel
def best_card(view: Any, values: Any) -> int:
    """Return the legal card with the highest sum."""
    unseen, others_see = unseen_cards(view), cards_of_others(view)
    best, chosen = -np.inf, -1
    rest = view.legal
    while rest != EMPTY:
        action = lowest(rest)
        rest &= rest - ONE
        worth = card_worth(view, values, action, unseen, others_see)
        if worth > best:
            best, chosen = worth, action
    return chosen


@kernel
def _choose(views: Any, values: Any, cards: Any) -> None:
    """Write the choice for each view to `cards` [B]; `values` is scratch, as for `write_values`."""
    for index in range(len(views)):
        if index == 0 or not same_values(views[index], views[index - 1]):
            write_values(views[index], values)
        cards[index] = best_card(views[index], values)


def greedy(views: Games, rng: np.random.Generator) -> npt.NDArray[np.int64]:
    """Return the card that promises most for each view, int64 [B]; `rng` is not used."""
    cards = np.empty(len(views), dtype=np.int64)
    _choose(views, empty_values(), cards)
    return cards
