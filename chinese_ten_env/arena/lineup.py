"""Policies at one table: each deck in every seating, in parts that anybody can play anywhere."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from chinese_ten_env.arena.clock import Clock, TooLate
from chinese_ten_env.arena.trace import Trace
from chinese_ten_env.engine import GAME, OVER, Games, new_games, play_batch, take
from chinese_ten_env.observation import write_views_on_turn
from chinese_ten_env.policies import (
    GAMES_AT_A_TIME,
    Cards,
    Policy,
    PolicyError,
    checked_cards,
    make_policy,
    policy_name,
)
from chinese_ten_env.rules import Rules
from chinese_ten_env.text import format_game

MOST_DEALS = 1024
"""Deals in a part at most; a power of two, as the sizes of all parts are."""


Indices = npt.NDArray[np.int64]

Watch = Callable[[Games, Cards], None]


class Outcome(NamedTuple):
    """What came out of some deals, in every seating: D deals, S seatings, P seats, K policies."""

    scores: npt.NDArray[np.int32]
    """[D, S, P] each seat's points, levies included; in match play over all deals of the match."""
    deals: npt.NDArray[np.int32]
    """[D, S] how many deals these are: 1, or those of the match."""
    decisions: npt.NDArray[np.int64]
    """[K] how many decisions of each policy were timed: all but its first answer, for which code
    may have to be compiled."""
    seconds: npt.NDArray[np.float64]
    """[K] how long all of these took. Times differ from run to run, and only they."""


def seatings(num_policies: int, num_players: int) -> npt.NDArray[np.int64]:
    """Return every assignment of policies to seats that leaves no policy out, int64 [S, P]."""
    everyone = set(range(num_policies))
    rows = product(range(num_policies), repeat=num_players)
    return np.array([row for row in rows if set(row) == everyone], dtype=np.int64)


def parts_of(size: int, deals: int) -> Iterator[tuple[int, int]]:
    """Yield where each part of so many deals begins and ends; all but the last have the size."""
    for start in range(0, deals, size):
        yield start, min(start + size, deals)


class Lineup:
    """Policies that share a table, and the decks that they play.

    `seats` int64 [S, P] is which policy sits where in each seating. Deal i is that of
    ``Game(rules, seed=first_deck + i)``. The deals are played in parts, and what comes out of a
    part depends on nothing but the arguments here and where it begins and ends; so parts may be
    played in any order and place. `limit` is how many seconds a policy may take for an answer, to
    however many views it is asked for at once. What is asked is noted in the `trace`, if there is
    one. ValueError says what is wrong with the arguments.
    """

    def __init__(
        self,
        policies: Sequence[Any],
        rules: Rules,
        seed: int,
        names: Sequence[str] | None = None,
        limit: float | None = None,
        trace: Trace | None = None,
    ) -> None:
        self.names = policy_labels(policies, names, rules.num_players)
        self.policies: list[Policy] = [make_policy(policy) for policy in policies]
        self.rules, self.seed = rules, int(seed)
        self.seats = seatings(len(policies), rules.num_players)
        self.clock = Clock(limit)
        self.trace = trace
        self._has_answered = [False] * len(self.policies)
        self.first_deck = int(np.random.SeedSequence(self.seed).generate_state(1, np.uint64)[0])

    @property
    def part_size(self) -> int:
        """How many deals are a part: so many that memory and time are bounded, a power of two."""
        games = min(getattr(policy, "games_at_a_time", GAMES_AT_A_TIME) for policy in self.policies)
        fitting = min(max(1, games // len(self.seats)), MOST_DEALS)
        return 1 << fitting.bit_length() - 1  # so that a part of one lineup is some of another's

    def parts(self, deals: int) -> Iterator[tuple[int, int]]:
        """Yield where each part of so many deals begins and ends."""
        return parts_of(self.part_size, deals)

    def play(self, start: int, stop: int, watch: Watch | None = None) -> Outcome:
        """Play a part; PolicyError names the policy, deal and decision if one fails.

        `watch` is called with the games [B] before each round of cards, and these cards [B]; games
        are sorted by deal, then by seating.
        """
        decks = new_games(self.rules, stop - start, self.first_deck + start)
        count = len(self.seats)
        games = take(decks, np.repeat(np.arange(len(decks)), count))
        decisions, seconds = np.zeros(len(self.names), np.int64), np.zeros(len(self.names))
        policy_at = np.tile(self.seats, (len(decks), 1))
        self._play_to_end(games, policy_at, start, decisions, seconds, watch)
        scores = games["scores"][:, : self.rules.num_players]
        return Outcome(
            scores.reshape(len(decks), count, -1).astype(np.int32),
            games["deals"].reshape(len(decks), count).astype(np.int32),
            decisions,
            seconds,
        )

    def _play_to_end(
        self,
        games: Games,
        policy_at: npt.NDArray[np.int64],
        start: int,
        decisions: npt.NDArray[np.int64],
        seconds: npt.NDArray[np.float64],
        watch: Watch | None,
    ) -> None:
        """Play all games [B] in lockstep, one call of each policy a round; `policy_at` is [B, P].

        Add up each policy's `decisions` and `seconds` [K].

        Each policy has a generator of its own, so that none disturbs the randomness of another.
        """
        rngs = [
            np.random.default_rng(np.random.SeedSequence(self.seed, spawn_key=(start, index)))
            for index in range(len(self.policies))
        ]
        cards = np.zeros(len(games), dtype=np.int64)
        everywhere = np.arange(len(games))
        rounds = 0
        while True:
            unfinished = games["phase"] != OVER
            if not unfinished.any():
                return
            on_turn = np.where(unfinished, policy_at[everywhere, games["player"]], -1)
            for index, rng in enumerate(rngs):
                mine = np.flatnonzero(on_turn == index)
                if len(mine):
                    try:
                        cards[mine], spent = self._ask(index, games, mine, rounds, rng)
                    except PolicyError as error:
                        self._place(error, games, mine, start, rounds)
                        raise
                    if self._has_answered[index]:
                        decisions[index] += len(mine)
                        seconds[index] += spent
                    self._has_answered[index] = True
            if watch is not None:
                watch(games, cards)
            play_batch(games, cards)
            rounds += 1

    def _ask(
        self,
        index: int,
        games: Games,
        asked: Indices,
        decision: int,
        rng: np.random.Generator,
    ) -> tuple[Cards, float]:
        """Return a policy's answer for some of the games, checked, and the seconds it took.

        PolicyError if it fails in any way.
        """
        name = self.names[index]
        try:
            answer, seconds = self._call(index, decision, _views(games, asked), rng)
        except Exception as error:
            culprit = self._culprit(index, games, asked, decision)
            raise PolicyError(name, self._fault(error), culprit) from error
        return checked_cards(answer, games["legal"][asked], name), seconds

    def _call(
        self, index: int, decision: int, views: Games, rng: np.random.Generator
    ) -> tuple[Any, float]:
        with self.trace.asking(index, decision) if self.trace is not None else nullcontext():
            return self.clock.call(self.policies[index], views, rng)

    def _fault(self, error: Exception) -> str:
        if isinstance(error, TooLate):
            return too_late(self.clock.limit)
        return f"raised {type(error).__name__}: {error}"

    def _culprit(self, index: int, games: Games, asked: Indices, decision: int) -> int | None:
        """Return in which of the games a policy fails if it is asked about each alone.

        None if it fails in none: then it depends on more than what it was shown.
        """
        for place in range(len(asked)):
            view = _views(games, asked[place : place + 1])
            try:
                self._call(index, decision, view, np.random.default_rng(0))
            except Exception:  # a policy may raise anything; that it does is the answer sought,
                return place  # and the failure itself is the cause of what the caller raises
        return None

    def _place(
        self,
        error: PolicyError,
        games: Games,
        asked: Indices,
        start: int,
        decision: int,
    ) -> None:
        """Say in an error in which deal it happened; in one of some if nobody knows."""
        at = None if error.view is None else int(asked[error.view])
        first, last = (asked[0], asked[-1]) if at is None else (at, at)
        low, high = (start + int(index) // len(self.seats) for index in (first, last))
        error.decision = decision
        if at is None or low != high:
            error.where = f"decision {decision} of one of the deals {low} to {high}"
            return
        seats = ", ".join(self.names[policy] for policy in self.seats[at % len(self.seats)])
        error.deal = low
        error.where = (
            f"decision {decision} of deal {low}, Game(rules, seed={self.first_deck + low}), "
            f"seats: {seats}; position: {format_game(games[at : at + 1])}"
        )


def too_late(limit: float | None) -> str:
    """Return what is said of a policy that took longer than the limit."""
    return f"took longer than the limit of {limit:g} s for an answer"


def _views(games: Games, indices: Indices) -> Games:
    """Return what the players on turn see of some of the games."""
    seen = np.empty(len(indices), dtype=GAME)
    write_views_on_turn(games, indices, seen)
    return seen


def policy_labels(
    policies: Sequence[Any], names: Sequence[str] | None, num_players: int
) -> tuple[str, ...]:
    """Return a name for each policy, all different; ValueError if there are too few or too many."""
    labels = distinct_names(policies, names)
    if not 2 <= len(policies) <= num_players:
        counts = " or ".join(str(count) for count in range(2, num_players + 1))
        raise ValueError(f"{num_players} seats need {counts} policies, not {len(policies)}")
    return labels


def distinct_names(policies: Sequence[Any], names: Sequence[str] | None) -> tuple[str, ...]:
    """Return a name for each policy, all different; ValueError if those given are not."""
    if isinstance(policies, (str, Path)) or callable(policies):
        raise ValueError(f"policies must be a list, such as ['greedy', 'random'], not {policies!r}")
    if names is not None:
        if len(names) != len(policies) or len(set(names)) != len(names):
            raise ValueError(
                f"names must be {len(policies)} different texts, a name for each policy, "
                f"not {names!r}"
            )
        return tuple(str(name) for name in names)
    labels: list[str] = []
    for policy in policies:
        label = base = policy_name(policy)
        number = 1
        while label in labels:
            number += 1
            label = f"{base}#{number}"
        labels.append(label)
    return tuple(labels)
