"""Information-set Monte Carlo tree search: one tree of what the player can see, over many deals.

``ismcts:N`` walks N times from the position down a tree. Each walk happens in a deal that agrees
with the view, and takes the legal card with the highest upper bound (UCB, over the times that a
card was there to be taken) until it comes to a card that is new. That card joins the tree, the deal
is played out by the quick rule, and every card on the way learns what its player gained. In the end
the card with the best mean is played.

This is the single-observer search of Cowling, Powley and Whitehouse (2012). Cards are played openly
in this game, so the tree serves all players; a flipped card is chance, and what follows it has a
branch for each card that may be flipped. Three things make it worth its time, for with twelve cards
and twenty-four flips a turn a plain tree of some hundred walks is all leaves: what is gained is
counted from playing out the same deal by the rule at once, which takes most of the luck away; a new
card begins with greedy's estimate of it; and cards that greedy likes less join a branch only as it
is walked more often (all of them do at the position itself).
"""

from __future__ import annotations

import math
import time
from typing import Any

import numpy as np
import numpy.typing as npt

from chinese_ten_env.bits import EMPTY, GAMMA, ONE, U64, mix
from chinese_ten_env.engine import GAME, NO_CARD, OVER, Games, play_card
from chinese_ten_env.jit import kernel
from chinese_ten_env.machine import lowest
from chinese_ten_env.observation import count_deals, unseen_cards
from chinese_ten_env.policies import SEARCHED_AT_A_TIME
from chinese_ten_env.policies.budget import Budget, parse_budget
from chinese_ten_env.policies.greedy import card_worth, cards_of_others
from chinese_ten_env.policies.pimc import ENUMERATED, deal_world
from chinese_ten_env.policies.playout import QUICK, play_out
from chinese_ten_env.policies.values import empty_values, without_twins, write_values

# Measured in duplicate deals against greedy, mainland, two players, 500 walks.
_EXPLORATION = 4.0  # points that a card may be better than its mean; 12 lost a point a deal to 4
_PRIOR = 16  # visits that greedy's estimate counts as much as; 8 and 32 are as good
_WIDENING = 0.5  # new cards of a branch, over the root of its visits
_WALKS_IN_A_DEAL = 8

_SLICE = 64
"""Walks between two looks at the clock."""

_TIMED_NODES = 1 << 16
"""Cards in the tree if time is the budget; later walks find it full and only learn."""

NODE = np.dtype(
    [
        ("parent", np.int32),  # the card before, 0 at the position
        ("seen", np.int8),  # the card flipped since then, NO_CARD if none
        ("card", np.int8),
        ("player", np.int8),
        ("next", np.int32),  # in the same drawer
        ("visits", np.int32),  # with those that stand for greedy's estimate
        ("offers", np.int32),  # walks in which it was legal
        ("won", np.float64),  # points that its player gained on the quick rule, over its visits
    ],
    align=True,
)
"""A card in the tree. Node 0 is the position itself."""


@kernel
def _drawer(parent: int, seen: int, card: int, drawers: Any) -> int:
    """Return where the list of nodes with such a key begins."""
    key = U64((parent * 64 + seen + 1) * 64 + card)
    return int(mix(key * GAMMA) & U64(len(drawers) - 1))


@kernel
def _find(nodes: Any, drawers: Any, parent: int, seen: int, card: int) -> int:
    """Return the node of a card after another, or 0."""
    node = drawers[_drawer(parent, seen, card, drawers)]
    while node > 0:
        found = nodes[node]
        if found.parent == parent and found.seen == seen and found.card == card:
            return node
        node = found.next
    return 0


@kernel
def _add(game: Any, node: int, parent: int, seen: int, fresh: np.uint64, *tree: Any) -> int:
    """Add the one of the `fresh` cards that greedy likes best to the tree; return it."""
    nodes, drawers, values = tree
    game.viewer = game.player
    unseen, of_others = unseen_cards(game), cards_of_others(game)
    most, worth, chosen = -np.inf, -np.inf, -1
    rest = game.legal
    while rest != EMPTY:
        card = lowest(rest)
        rest &= rest - ONE
        estimate = card_worth(game, values, card, unseen, of_others)
        most = max(most, estimate)
        if estimate > worth and fresh & ONE << U64(card) != EMPTY:
            worth, chosen = estimate, card
    drawer = _drawer(parent, seen, chosen, drawers)
    new = nodes[node]
    new.parent, new.seen, new.card, new.player = parent, seen, chosen, game.player
    new.visits, new.offers, new.won = _PRIOR, 1, _PRIOR * (worth - most)
    new.next = drawers[drawer]
    drawers[drawer] = node
    return chosen


@kernel
def _descend(game: Any, nodes: Any, drawers: Any, size: int, values: Any) -> tuple[int, int]:
    """Walk down the tree in a deal; return the last node and the new size of the tree."""
    node, flipped = 0, game.last_flipped
    while game.phase != OVER:
        seen = game.last_flipped if game.last_flipped != flipped else NO_CARD
        flipped = game.last_flipped
        highest, chosen, fresh = -np.inf, 0, EMPTY
        children = visits = 0
        rest = without_twins(game.legal, values)
        while rest != EMPTY:
            card = lowest(rest)
            rest &= rest - ONE
            child = _find(nodes, drawers, node, seen, card)
            if child == 0:
                fresh |= ONE << U64(card)
                continue
            tried = nodes[child]
            tried.offers += 1
            children += 1
            visits += tried.visits
            bound = tried.won / tried.visits
            bound += _EXPLORATION * math.sqrt(math.log(tried.offers) / tried.visits)
            if bound > highest:
                highest, chosen = bound, child
        if fresh != EMPTY and (node == 0 or children < 1.0 + _WIDENING * math.sqrt(visits)):
            if size == len(nodes):
                return node, size
            card = _add(game, size, node, seen, fresh, nodes, drawers, values)
            play_card(game, card)
            return size, size + 1
        node = chosen
        play_card(game, nodes[node].card)
    return node, size


@kernel
def walk(
    view: Any,
    state: np.uint64,
    start: int,
    stop: int,
    deals: int,
    size: int,
    values: Any,
    games: Any,
    nodes: Any,
    drawers: Any,
) -> int:
    """Do the walks from `start` to `stop`; return how many nodes the tree then has.

    `deals`: of how many deals each has its turn, or 0 to draw them. `games` [3] is scratch; a tree
    of one node begins anew. `start` is a multiple of the walks in a deal.
    """
    if size == 1:
        nodes[0].parent = nodes[0].visits = 0
        drawers[:] = 0
    game, dealt, outright = games[0], games[1], games[2]
    for number in range(start, stop):
        if number % _WALKS_IN_A_DEAL == 0:
            world = number // _WALKS_IN_A_DEAL
            games[1] = view
            deal_world(view, state, world % deals if deals > 0 else world, deals, dealt)
            games[2] = games[1]
            play_out(outright, QUICK, values)
        games[0] = games[1]
        node, size = _descend(game, nodes, drawers, size, values)
        play_out(game, QUICK, values)
        while node > 0:
            visited = nodes[node]
            visited.visits += 1
            visited.won += game.settled[visited.player] - outright.settled[visited.player]
            node = visited.parent
    return size


@kernel
def best_at_root(view: Any, nodes: Any, drawers: Any, values: Any) -> int:
    """Return the card of the position with the best mean, of equals the lowest."""
    best, chosen = -np.inf, -1
    rest = without_twins(view.legal, values)
    while rest != EMPTY:
        card = lowest(rest)
        rest &= rest - ONE
        node = _find(nodes, drawers, 0, NO_CARD, card)
        if node > 0 and nodes[node].won / nodes[node].visits > best:
            best, chosen = nodes[node].won / nodes[node].visits, card
    return chosen


class Ismcts:
    """Information-set Monte Carlo tree search as a policy.

    `budget`: a number of walks, or the time for each decision as text, such as ``"50ms"``. How far
    the search comes in a time depends on the machine, so then its cards cannot be repeated.
    """

    games_at_a_time = SEARCHED_AT_A_TIME

    def __init__(self, budget: Budget | int | str = 1000) -> None:
        self.budget = parse_budget(budget, "ismcts")
        self.name = f"ismcts:{self.budget}"
        count = self.budget.count if self.budget.seconds is None else _TIMED_NODES
        self._nodes = count + 1

    def __call__(self, views: Games, rng: np.random.Generator) -> npt.NDArray[np.int64]:
        """Return a card for each view, int64 [B]."""
        cards = np.empty(len(views), dtype=np.int64)
        states = rng.integers(0, 2**64, size=len(views), dtype=np.uint64)
        values, games = empty_values(), np.empty(3, dtype=GAME)
        nodes = np.empty(self._nodes, dtype=NODE)
        drawers = np.empty(1 << (2 * self._nodes).bit_length(), dtype=np.int32)
        for index in range(len(views)):
            view = views[index]
            write_values(view, values)
            if int(view["legal"]).bit_count() == 1:
                cards[index] = lowest(view["legal"])
                continue
            self._search(view, states[index], values, games, nodes, drawers)
            cards[index] = best_at_root(view, nodes, drawers, values)
        return cards

    def _search(self, view: Any, state: np.uint64, *scratch: Any) -> None:
        seconds = self.budget.seconds
        total = self.budget.count if seconds is None else 2**31 - 1
        most = total // _WALKS_IN_A_DEAL if seconds is None else ENUMERATED
        deals = count_deals(view, most)
        if deals > most:
            deals = 0
        end, size, start = time.perf_counter() + (seconds or 0.0), 1, 0
        while start < total:
            stop = min(start + _SLICE, total)
            size = walk(view, state, start, stop, deals, size, *scratch)
            start = stop
            if seconds is not None and time.perf_counter() >= end:
                break
