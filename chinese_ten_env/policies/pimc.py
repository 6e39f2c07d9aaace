"""Perfect-information Monte Carlo: play every card out in many deals that agree with the view.

``pimc:N`` draws N deals that agree with what the player sees, plays each legal card out to the end
of the deal in every one of them, and takes the card with the most points on average. All cards are
played out in the same deals, so that luck does not tell them apart; where no more than N deals
agree with the view, each is played out once and nothing is left to luck. Greedy's own estimate of a
card counts as much as 16 deals: without it, few deals would tell more of luck than of cards.

Long (1989) and Frank and Basin (1998) describe the method and its faults: a player who is played
out never hides or seeks information. Within a deal nobody peeks here, as those who play on see only
their own cards, but the sum still takes for granted that the future can react to each deal apart.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import numpy.typing as npt

from chinese_ten_env.bits import EMPTY, GAMMA, ONE, mix
from chinese_ten_env.cards import NUM_CARDS, card_list
from chinese_ten_env.engine import DEAL, GAME, OVER, Games, play_batch, play_card, take
from chinese_ten_env.jit import kernel
from chinese_ten_env.machine import lowest
from chinese_ten_env.observation import (
    count_deals,
    determine_view,
    determinize_view,
    unseen_cards,
    views,
)
from chinese_ten_env.policies import Policy, checked_cards, make_policy, policy_name
from chinese_ten_env.policies.budget import Budget, parse_budget
from chinese_ten_env.policies.greedy import card_worth, cards_of_others
from chinese_ten_env.policies.playout import PLAYOUTS, play_out
from chinese_ten_env.policies.values import empty_values, without_twins, write_values
from chinese_ten_env.rules import HAND_CARDS
from chinese_ten_env.solver import Scratch, new_scratch, solve_game

_PRIOR = 16.0
"""Deals that greedy's estimate counts as much as. Measured best of 0, 16, 64 and 256 at N = 64."""

_LEARNED_PRIOR = 128.0
"""The same of a policy that plays out and says what cards are worth."""

_SLICE = 16
"""Deals between two looks at the clock, or between two rounds of a policy that plays out."""

SOLVER = "solver"
SOLVE_FROM = 16
"""The turn from which ``pimc:N:solver`` solves: then a deal takes some 40 microseconds."""
_ENTRIES = 1 << 16

ENUMERATED = 1000
"""With time as budget: so many deals are played out each once, if there are no more."""


@kernel
def add_prior(view: Any, cards: np.uint64, values: Any, sums: Any) -> None:
    """Add greedy's estimate of each of the cards to `sums` [52]."""
    unseen, seen_by_others = unseen_cards(view), cards_of_others(view)
    while cards != EMPTY:
        card = lowest(cards)
        cards &= cards - ONE
        sums[card] += _PRIOR * card_worth(view, values, card, unseen, seen_by_others)


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
    rule: int,
    solve_from: int,
    solver: Any,
    values: Any,
    games: Any,
    sums: Any,
) -> None:
    """Play the cards out in the deals from `start` to `stop`; add what they bring to `sums` [52].

    From the turn `solve_from` on the rest is solved, in the memory of `solver`, instead. `games`
    [2] is scratch.
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
            if games[1].turn >= solve_from and games[1].phase != OVER:
                lead = solve_game(games[1], solver[0], solver[1], solver[2], solver[3])
                ahead = lead if view.viewer == 0 else -lead
                sums[card] += 0.5 * (view.total + ahead)
            else:
                play_out(games[1], rule, values)
                sums[card] += games[1].settled[view.viewer]


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
def prepare(view: Any, most: int, values: Any, sums: Any) -> tuple[np.uint64, int]:
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
            add_prior(view, cards, values, sums)
    return cards, deals


@kernel
def search(
    views: Any,
    states: Any,
    worlds: int,
    rule: int,
    solve_from: int,
    solver: Any,
    values: Any,
    games: Any,
    sums: Any,
    cards: Any,
) -> None:
    """Write the best card for each view to `cards` [B]."""
    for index in range(len(views)):
        compared, deals = prepare(views[index], worlds, values, sums)
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
            rule,
            solve_from,
            solver,
            values,
            games,
            sums,
        )
        cards[index] = best_of(compared, sums)


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
    games of many deals at once. If the policy has a method ``worth(views)``, as ``"pretrained"``,
    its net points of each card [B, 52] take the place of greedy's estimate.
    """

    def __init__(self, budget: Budget | int | str = 64, playout: Any = "quick") -> None:
        self.budget = parse_budget(budget, "pimc")
        self.solves = playout == SOLVER
        rule = "quick" if self.solves else playout
        self.playout = rule if rule in PLAYOUTS else make_policy(rule)
        self.name = f"pimc:{self.budget}"
        if playout != "quick":
            self.name += f":{policy_name(playout)}"

    def __call__(self, views: Games, rng: np.random.Generator) -> npt.NDArray[np.int64]:
        """Return a card for each view, int64 [B]; ``"solver"`` takes two players only."""
        if self.solves and (views["num_players"] != 2).any():
            raise ValueError(f"{self.name} solves deals of two players, and of no more")
        cards = np.empty(len(views), dtype=np.int64)
        states = rng.integers(0, 2**64, size=len(views), dtype=np.uint64)
        if isinstance(self.playout, str) and self.budget.seconds is None:
            rule = PLAYOUTS.index(self.playout)
            scratch = (empty_values(), np.empty(2, dtype=GAME), np.empty(NUM_CARDS))
            search(views, states, self.budget.count, rule, *self._solving(), *scratch, cards)
            return cards
        for index in range(len(views)):
            cards[index] = self._choose(views[index : index + 1], states[index], rng)
        return cards

    def _solving(self) -> tuple[int, Scratch]:
        """Return from which turn on the rest is solved, and memory for it."""
        if self.solves:
            return SOLVE_FROM, new_scratch(_ENTRIES)
        return HAND_CARDS, new_scratch(2)

    def _choose(self, view: Games, state: np.uint64, rng: np.random.Generator) -> int:
        """Return a card for one view [1], looking at the clock after each slice of deals."""
        end = time.perf_counter() + (self.budget.seconds or 0.0)
        timed = self.budget.seconds is not None
        values, sums = empty_values(), np.empty(NUM_CARDS)
        most = ENUMERATED if timed else self.budget.count
        compared, deals = prepare(view[0], most, values, sums)
        last = deals or (2**62 if timed else self.budget.count)
        if int(compared).bit_count() > 1:
            learned = getattr(self.playout, "worth", None)
            if learned is not None and not deals:
                sums[:] = _LEARNED_PRIOR * learned(view)[0]
            for start in range(0, last, _SLICE):
                stop = min(start + _SLICE, last)
                self._add(
                    view,
                    np.uint64(compared),
                    state,
                    start,
                    stop,
                    deals,
                    values,
                    sums,
                    rng,
                )
                if timed and time.perf_counter() >= end:
                    break
        return best_of(np.uint64(compared), sums)

    def _add(
        self,
        view: Games,
        compared: np.uint64,
        state: np.uint64,
        start: int,
        stop: int,
        deals: int,
        values: npt.NDArray[np.float64],
        sums: npt.NDArray[np.float64],
        rng: np.random.Generator,
    ) -> None:
        if isinstance(self.playout, str):
            rule, games = PLAYOUTS.index(self.playout), np.empty(2, dtype=GAME)
            add_worlds(
                view[0],
                compared,
                state,
                start,
                stop,
                deals,
                rule,
                *self._solving(),
                values,
                games,
                sums,
            )
            return
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
