"""Perfect-information Monte Carlo: play every card out in many deals that agree with the view.

``pimc:N`` draws N deals that agree with what the player sees, plays each legal card out to the end
of the deal in every one of them, and takes the card with the most points on average. All cards are
played out in the same deals, so that luck does not tell them apart; where no more than N deals
agree with the view, each is played out once and nothing is left to luck. Greedy's own estimate of a
card counts as much as 16 deals: without it, few deals would tell more of luck than of cards. Where
a network plays the deals out, its own estimate stands in that place, and counts for more.

Long (1989) and Frank and Basin (1998) describe the method and its faults: a player who is played
out never hides or seeks information. Within a deal nobody peeks here, as those who play on see only
their own cards, but the sum still takes for granted that the future can react to each deal apart.
"""

from __future__ import annotations

import time
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from chinese_ten_env.bits import EMPTY, GAMMA, ONE, mix
from chinese_ten_env.cards import NUM_CARDS, card_list
from chinese_ten_env.engine import DEAL, GAME, OVER, Games, play_batch, play_card, take
from chinese_ten_env.jit import kernel
from chinese_ten_env.machine import lowest
from chinese_ten_env.ntuple.network import (
    SIZE,
    Desk,
    Network,
    Tables,
    best_card,
    look,
    make_desk,
    worth_in_view,
)
from chinese_ten_env.observation import (
    count_deals,
    determine_view,
    determinize_view,
    unseen_cards,
    views,
)
from chinese_ten_env.policies import (
    SEARCHED_AT_A_TIME,
    Policy,
    checked_cards,
    make_policy,
    policy_name,
)
from chinese_ten_env.policies.budget import Budget, parse_budget
from chinese_ten_env.policies.greedy import card_worth, cards_of_others
from chinese_ten_env.policies.playout import PLAYOUTS, play_out
from chinese_ten_env.policies.values import empty_values, without_twins, write_values
from chinese_ten_env.rules import HAND_CARDS
from chinese_ten_env.solver import Scratch, new_scratch, solve_game
from chinese_ten_env.vectors import ROW

_PRIOR = 16.0
"""Deals that greedy's estimate counts as much as. Measured best of 0, 16, 64 and 256 at N = 64."""

_LEARNED_PRIOR = 128.0
"""The same of a network's."""

_SLICE = 16
"""Deals between two looks at the clock, or between two rounds of a policy that plays out."""

SOLVER = "solver"
SOLVE_FROM = 16
"""The turn from which ``pimc:N:solver`` solves: then a deal takes some 40 microseconds."""
_ENTRIES = 1 << 16

ENUMERATED = 1000
"""With time as budget: so many deals are played out each once, if there are no more."""


_NETWORK = len(PLAYOUTS)
"""The number of the rule by which a network plays out, behind `PLAYOUTS`."""


class Continuation(NamedTuple):
    """How a deal goes on, for kernels."""

    rule: int
    """One of `PLAYOUTS`, or `_NETWORK`."""
    solve_from: int
    """The turn from which the rest is solved instead."""
    solver: Scratch
    """Memory for that."""
    tables: Tables
    """The network that plays out, if one does."""
    desk: Desk
    """Where it works."""


_NO_TABLES = Tables(
    np.zeros(1, dtype=np.float32),
    np.zeros(SIZE + 1, dtype=np.int64),
    np.zeros((13, 256), dtype=np.int32),
)


@kernel
def add_prior(view: Any, cards: np.uint64, how: Any, values: Any, sums: Any) -> None:
    """Add an estimate of each of the cards, the network's or greedy's, to `sums` [52]."""
    unseen, seen_by_others = unseen_cards(view), cards_of_others(view)
    if how.rule == _NETWORK:
        look(view, how.tables, how.desk)
    while cards != EMPTY:
        card = lowest(cards)
        cards &= cards - ONE
        if how.rule == _NETWORK:
            sums[card] += _LEARNED_PRIOR * worth_in_view(view, card, how.tables, how.desk)
        else:
            sums[card] += _PRIOR * card_worth(view, values, card, unseen, seen_by_others)


@kernel
def play_on(game: Any, how: Any, values: Any) -> int:
    """Play a game to the end of its deal, or solve it; return how far seat 0 is ahead if solved."""
    if game.turn >= how.solve_from and game.phase != OVER:
        solver = how.solver
        return solve_game(game, solver[0], solver[1], solver[2], solver[3])
    if how.rule == _NETWORK:
        game.match = DEAL
        while game.phase != OVER:
            game.viewer = game.player
            play_card(game, best_card(game, how.tables, how.desk))
    else:
        play_out(game, how.rule, values)
    return 0


@kernel
def deal_world(view: Any, state: np.uint64, world: int, deals: int, game: Any) -> None:
    """Fill `game` with the deal of a number: one of all, or if they are too many a drawn one."""
    game.match = DEAL  # what comes after this deal is not played out
    if deals > 0:
        determine_view(view, world, game)
    else:
        determinize_view(view, mix(state + np.uint64(world + 1) * GAMMA), game)


@kernel
def add_worlds(
    view: Any,
    cards: np.uint64,
    state: np.uint64,
    start: int,
    stop: int,
    deals: int,
    how: Any,
    values: Any,
    games: Any,
    sums: Any,
) -> None:
    """Play the cards out in the deals from `start` to `stop`; add what they bring to `sums` [52].

    `games` [2] is scratch.
    """
    for world in range(start, stop):
        games[0] = view
        deal_world(view, state, world, deals, games[0])
        rest = cards
        while rest != EMPTY:
            card = lowest(rest)
            rest &= rest - ONE
            games[1] = games[0]
            play_card(games[1], card)
            lead = play_on(games[1], how, values)
            if games[1].phase == OVER:
                sums[card] += games[1].settled[view.viewer]
            else:
                ahead = lead if view.viewer == 0 else -lead
                sums[card] += 0.5 * (view.total + ahead)


@kernel
def best_of(cards: np.uint64, sums: Any) -> int:
    """Return the card with the highest sum, of equals the lowest."""
    best, chosen = -np.inf, -1
    while cards != EMPTY:
        card = lowest(cards)
        cards &= cards - ONE
        if sums[card] > best:
            best, chosen = sums[card], card
    return chosen


@kernel
def prepare(view: Any, most: int, how: Any, values: Any, sums: Any) -> tuple[np.uint64, int]:
    """Write `values` and the first `sums`; return the cards to compare, and all deals or 0."""
    write_values(view, values)
    cards = without_twins(view.legal, values)
    deals = 0
    if cards & (cards - ONE) != EMPTY:
        deals = count_deals(view, most)
        if deals > most:
            deals = 0
        sums[:] = 0.0
        if deals == 0:
            add_prior(view, cards, how, values, sums)
    return cards, deals


@kernel
def search(
    views: Any,
    states: Any,
    worlds: int,
    how: Any,
    values: Any,
    games: Any,
    sums: Any,
    cards: Any,
) -> None:
    """Write the best card for each view to `cards` [B]."""
    for index in range(len(views)):
        compared, deals = prepare(views[index], worlds, how, values, sums)
        if compared & (compared - ONE) == EMPTY:
            cards[index] = lowest(compared)
            continue
        last = deals if deals > 0 else worlds
        add_worlds(
            views[index],
            compared,
            states[index],
            0,
            last,
            deals,
            how,
            values,
            games,
            sums,
        )
        cards[index] = best_of(compared, sums)


@kernel
def weigh(
    views: Any, states: Any, worlds: int, how: Any, values: Any, games: Any, sums: Any, worth: Any
) -> None:
    """Write the mean net points of each legal card of each view to `worth` [B, 52]."""
    for index in range(len(views)):
        view = views[index]
        write_values(view, values)
        deals = count_deals(view, worlds)
        if deals > worlds:
            deals = 0
        last = deals if deals > 0 else worlds
        sums[:] = 0.0
        add_worlds(view, view.legal, states[index], 0, last, deals, how, values, games, sums)
        cards = view.legal
        while cards != EMPTY:
            card = lowest(cards)
            cards &= cards - ONE
            worth[index, card] = sums[card] / last - view.total / view.num_players


@kernel
def write_worlds(
    view: Any,
    cards: Any,
    state: np.uint64,
    start: int,
    stop: int,
    deals: int,
    games: Any,
) -> None:
    """Write the deals from `start` to `stop`, each with each of `cards` [n] played, to `games`."""
    row = 0
    for world in range(start, stop):
        games[row] = view
        deal_world(view, state, world, deals, games[row])
        for place in range(1, len(cards)):
            games[row + place] = games[row]
        for card in cards:
            play_card(games[row], card)
            row += 1


class Pimc:
    """Perfect-information Monte Carlo as a policy.

    `budget`: a number of deals, or the time for each decision as text, such as ``"50ms"``. How far
    the search comes in a time depends on the machine, so then its cards cannot be repeated.
    `playout` plays the deals out: ``"quick"``, ``"greedy"``, ``"solver"``, which is quick up to
    turn 16 and then solves what is left exactly (two players), or a policy, which is asked for the
    games of many deals at once. A compiled network, as ``"pretrained"`` or a run of ``dmc``, plays
    them out in the kernel, and its estimate takes the place of greedy's.
    """

    games_at_a_time = SEARCHED_AT_A_TIME

    def __init__(self, budget: Budget | int | str = 64, playout: Any = "quick") -> None:
        self.budget = parse_budget(budget, "pimc")
        self.solves = playout == SOLVER
        rule = "quick" if self.solves else playout
        self.playout: Any = rule if rule in PLAYOUTS else make_policy(rule)
        self.name = f"pimc:{self.budget}"
        if playout != "quick":
            self.name += f":{policy_name(playout)}"

    def __call__(self, views: Games, rng: np.random.Generator) -> npt.NDArray[np.int64]:
        """Return a card for each view, int64 [B]; ``"solver"`` takes two players only."""
        if self.solves and (views["num_players"] != 2).any():
            raise ValueError(f"{self.name} solves deals of two players, and of no more")
        cards = np.empty(len(views), dtype=np.int64)
        states = rng.integers(0, 2**64, size=len(views), dtype=np.uint64)
        if not len(views):
            return cards
        how = self._continuation(views)
        if how is not None and self.budget.seconds is None:
            scratch = (empty_values(), np.empty(2, dtype=GAME), np.empty(NUM_CARDS))
            search(views, states, self.budget.count, how, *scratch, cards)
            return cards
        for index in range(len(views)):
            cards[index] = self._choose(views[index : index + 1], states[index], how, rng)
        return cards

    def worth(
        self, views: Games, rng: np.random.Generator | None = None
    ) -> npt.NDArray[np.float32]:
        """Return the mean net points of each legal card over the deals looked at, [B, 52].

        Illegal cards have 0. The deals are drawn with `rng`, the same each time unless given. The
        search itself also weighs in an estimate, so its card may be another. ValueError if the
        budget is a time, or if the deals are played out by a policy in Python.
        """
        how = self._continuation(views)
        if how is None or self.budget.seconds is not None:
            raise ValueError(f"{self.name}: only kernels and a number of deals tell worths")
        worth = np.zeros((len(views), NUM_CARDS), dtype=np.float32)
        draw = np.random.default_rng(0) if rng is None else rng
        states = draw.integers(0, 2**64, size=len(views), dtype=np.uint64)
        scratch = (empty_values(), np.empty(2, dtype=GAME), np.empty(NUM_CARDS))
        weigh(views, states, self.budget.count, how, *scratch, worth)
        return worth

    def _continuation(self, views: Games) -> Continuation | None:
        """Return how kernels play these games on; None if a policy in Python does."""
        solver = new_scratch(_ENTRIES if self.solves else 2)
        solve_from = SOLVE_FROM if self.solves else HAND_CARDS
        if isinstance(self.playout, str):
            rule = PLAYOUTS.index(self.playout)
            return Continuation(rule, solve_from, solver, _NO_TABLES, make_desk(ROW))
        find = getattr(self.playout, "network_for", None)
        if find is None:
            return None
        network: Network = find(views)
        desk = make_desk(network.width)
        return Continuation(_NETWORK, solve_from, solver, network.tables, desk)

    def _choose(
        self, view: Games, state: np.uint64, how: Continuation | None, rng: np.random.Generator
    ) -> int:
        """Return a card for one view [1], looking at the clock after each slice of deals."""
        end = time.perf_counter() + (self.budget.seconds or 0.0)
        timed = self.budget.seconds is not None
        scratch = (empty_values(), np.empty(2, dtype=GAME), np.empty(NUM_CARDS))
        values, _, sums = scratch
        most = ENUMERATED if timed else self.budget.count
        by_rule = Continuation(0, HAND_CARDS, new_scratch(2), _NO_TABLES, make_desk(ROW))
        found, deals = prepare(view[0], most, how or by_rule, values, sums)
        compared = np.uint64(found)
        last = deals or (2**62 if timed else self.budget.count)
        if int(compared).bit_count() > 1:
            for start in range(0, last, _SLICE):
                stop = min(start + _SLICE, last)
                span = (state, start, stop, deals)
                if how is not None:
                    add_worlds(view[0], compared, *span, how, *scratch)
                else:
                    self._add(view, compared, *span, sums, rng)
                if timed and time.perf_counter() >= end:
                    break
        return best_of(compared, sums)

    def _add(
        self,
        view: Games,
        compared: np.uint64,
        state: np.uint64,
        start: int,
        stop: int,
        deals: int,
        sums: npt.NDArray[np.float64],
        rng: np.random.Generator,
    ) -> None:
        """Let the policy play the cards out; add what they bring to `sums` [52]."""
        cards = np.array(card_list(compared), dtype=np.int64)
        games = np.empty((stop - start) * len(cards), dtype=GAME)
        write_worlds(view[0], cards, state, start, stop, deals, games)
        _play_out_by(self.playout, games, rng)
        settled = games["settled"][:, view["viewer"][0]]
        sums[cards] += settled.reshape(-1, len(cards)).sum(axis=0)


def _play_out_by(policy: Policy, games: Games, rng: np.random.Generator) -> None:
    """Let a policy play all games [B] to their ends."""
    cards = np.zeros(len(games), dtype=np.int64)
    while len(live := np.flatnonzero(games["phase"] != OVER)):
        seen = views(take(games, live))
        cards[live] = checked_cards(policy(seen, rng), seen["legal"], policy_name(policy))
        play_batch(games, cards)
