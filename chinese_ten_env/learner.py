"""Games with a learner in one seat and policies in the others: what learning doors share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from chinese_ten_env.bits import U64
from chinese_ten_env.cards import NUM_CARDS
from chinese_ten_env.crew import Crew
from chinese_ten_env.engine import (
    GAME,
    NOBODY,
    OVER,
    Games,
    begin_batch_with_decks,
    blank_games,
    play_card,
)
from chinese_ten_env.jit import kernel
from chinese_ten_env.lockstep import (
    BLOCK,
    STREAMED_TOGETHER,
    begin_some,
    pay,
    play_or_begin,
    see_all,
    see_some,
    step_all,
)
from chinese_ten_env.machine import empty_lines
from chinese_ten_env.observation import NUM_FEATURES, OBSERVATION_SHAPE, write_view
from chinese_ten_env.policies import Policy, checked_cards, make_policy, policy_name
from chinese_ten_env.rewards import illegal_action_reward, reward_number
from chinese_ten_env.rules import Rules
from chinese_ten_env.streams import GameStreams

_STREAMED_BYTES = 1 << 24
"""Observations of more bytes than this would leave nothing else in the cache that cores share."""

Indices = npt.NDArray[np.int64]


class Pool:
    """Opponents of which each game draws one for each seat when it begins.

    `weights` are relative chances, equal unless given. `policies` and `weights` may be changed
    between games, by `add` for example, as when a learner meets its own past. A `Pool` is an
    opponent wherever a policy is.
    """

    def __init__(self, policies: Sequence[Any], weights: Sequence[float] | None = None) -> None:
        if not policies:
            raise ValueError("a pool needs at least one policy")
        self.policies: list[Policy] = [make_policy(policy) for policy in policies]
        self.weights = [1.0] * len(policies) if weights is None else [float(w) for w in weights]
        if len(self.weights) != len(self.policies):
            raise ValueError(f"{len(self.policies)} policies need as many weights, not {weights!r}")
        if min(self.weights) < 0 or sum(self.weights) <= 0:
            raise ValueError(f"weights must not be negative, nor all zero: {weights!r}")

    def add(self, policy: Any, weight: float = 1.0) -> None:
        """Add a policy, which games that begin from now on may draw."""
        self.policies.append(make_policy(policy))
        self.weights.append(float(weight))

    def draw(self, words: npt.NDArray[np.uint64]) -> list[Policy]:
        """Return a policy for each random word [n]."""
        shares = np.cumsum(self.weights) / np.sum(self.weights)
        chances = (words >> U64(11)) * 2.0**-53
        return [self.policies[k] for k in np.searchsorted(shares, chances, side="right")]


@kernel
def _waiting(games: Any, seats: Any, forfeited: Any, indices: Any) -> int:
    """Write the games in which an opponent is on turn to `indices`; return how many."""
    count = 0
    for index in range(len(games)):
        game = games[index]
        if game.phase != OVER and game.player != seats[index] and not forfeited[index]:
            indices[count] = index
            count += 1
    return count


@kernel
def _write_waiting_views(games: Any, indices: Any, views: Any) -> None:
    for row in range(len(indices)):
        write_view(games, indices[row], games[indices[row]].player, views, row)


@kernel
def _play_at(games: Any, indices: Any, cards: Any) -> None:
    for row in range(len(indices)):
        play_card(games[indices[row]], cards[row])


class LearnerGames:
    """A batch of games [B], each with a learner in one seat and policies in the others.

    `opponents`: a policy, a name, a `Pool`, or a sequence of one such for each other seat, in seat
    order from the one after the learner; None: there are none, and the learner plays every seat.
    `seat`: the learner's, or None to draw it whenever a game begins. Whatever is random in a game
    comes from its own seed, so that a game does not depend on those it is batched with.
    """

    def __init__(
        self,
        rules: Rules,
        size: int,
        opponents: Any = "greedy",
        seat: int | None = None,
        reward: str = "net",
        num_threads: int = 1,
    ) -> None:
        self.rules = rules
        self.size = size
        self.everybody = opponents is None
        self.reward = reward
        self._reward = reward_number(reward)
        self.penalty = illegal_action_reward(rules, reward)
        self._seat = _check_seat(seat, rules, self.everybody)
        self._opponents = _opponents(opponents, rules)
        self.games: Games = blank_games(rules, size)
        self.seats: Indices = np.zeros(size, dtype=np.int64)
        """The learner's seat in each game; with `everybody`, the seat on turn."""
        self._paid = np.zeros((size, rules.num_players))
        self.changes = np.zeros((size, rules.num_players))
        """With `everybody`, what the last step paid every player [B, P]."""
        self._forfeited = np.zeros(size, dtype=np.bool_)  # ended by an illegal action
        self._illegal = np.zeros(size, dtype=np.bool_)
        self._none = np.zeros(size, dtype=np.bool_)
        self.streams = GameStreams(size)
        self._drawn = np.full(size, NOBODY, dtype=np.int64)  # dealers that the games draw
        self._waiting = np.empty(size, dtype=np.int64)
        # Who plays: numbers of policies, in the order in which they were first drawn.
        self._policies: list[Policy] = []
        self._numbers: dict[int, int] = {}
        self._who = np.full((size, rules.num_players), NOBODY, dtype=np.int64)
        self._fixed = all(not isinstance(choice, Pool) for choice in self._opponents)
        self._crew = Crew(num_threads, _scratch)

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_numbers": {}}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._numbers = {id(policy): number for number, policy in enumerate(self._policies)}

    # --- beginning --------------------------------------------------------------------------

    def seed(self, indices: Indices, seeds: npt.NDArray[np.uint64]) -> None:
        """Set the generators of some games [n]; begin them next."""
        self.games["rng"][indices] = seeds
        self.streams.seed(indices, seeds)

    def begin(
        self,
        indices: Indices,
        decks: npt.NDArray[np.uint8] | None = None,
        dealers: npt.NDArray[np.int64] | None = None,
    ) -> None:
        """Begin some games [n], up to the learner's first decision; a deal as of `parse_deal`."""
        if dealers is None:
            dealers = self._drawn[: len(indices)]
        if decks is not None:
            begin_batch_with_decks(self.games, indices, dealers, decks)
        else:
            self._crew.run(begin_some, _blocks(len(indices)), self.games, indices, dealers)
        self._paid[indices] = 0.0
        self._forfeited[indices] = False
        self._take_seats(indices)
        self._let_opponents_play()

    def _take_seats(self, indices: Indices) -> None:
        """Seat the learner and its opponents in games that begin [n]."""
        if self.everybody:
            self.seats[indices] = self.games["player"][indices]
            return
        players = self.rules.num_players
        if self._seat is None:
            words = self.streams.words(indices)[:, 0]
            self.seats[indices] = ((words >> U64(32)) * U64(players) >> U64(32)).astype(np.int64)
        else:
            self.seats[indices] = self._seat
        for place, choice in enumerate(self._opponents):
            seats = (self.seats[indices] + 1 + place) % players
            self._who[indices, seats] = self._draw(choice, indices)
        self._who[indices, self.seats[indices]] = NOBODY

    def _draw(self, choice: Policy | Pool, indices: Indices) -> Any:
        if not isinstance(choice, Pool):
            return self._number(choice)
        return [self._number(policy) for policy in choice.draw(self.streams.words(indices)[:, 0])]

    def _number(self, policy: Policy) -> int:
        number = self._numbers.get(id(policy))
        if number is None:
            number = self._numbers[id(policy)] = len(self._policies)
            self._policies.append(policy)
        return number

    # --- playing ----------------------------------------------------------------------------

    def step(
        self,
        actions: npt.NDArray[np.int64],
        out: npt.NDArray[Any],
        masks: npt.NDArray[np.int8],
        beginning: npt.NDArray[np.bool_] | None = None,
    ) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.bool_]]:
        """Play the learner's cards [B] and all that follows until it is on turn again; `observe`.

        Returns its rewards, float64 [B], and which games are over, bool [B]. An illegal action ends
        its game and is paid the penalty. Finished games stay as they are and pay nothing, but those
        of `beginning`, bool [B], begin anew instead, whatever their card.
        """
        rewards = np.empty(self.size)
        over = np.empty(self.size, dtype=np.bool_)
        if beginning is None:
            beginning = self._none
        if self.everybody:
            self.changes = np.empty_like(self._paid)
        games, seats = self.games, self.seats
        forfeited, illegal = self._forfeited, self._illegal
        state = (beginning, forfeited, illegal)
        payment = (self.penalty, self._reward, self._paid, self.changes, rewards, over)
        if self.everybody:
            sight = (out, masks, _streams(out))
            blocks = _blocks(self.size)
            self._crew.run(step_all, blocks, games, seats, actions, *state, *payment, *sight)
            return rewards, over
        play_or_begin(games, actions, beginning, forfeited, illegal, self._paid, 0, self.size)
        begun = np.flatnonzero(beginning)
        if len(begun):
            self._take_seats(begun)
        self._let_opponents_play()
        pay(games, seats, False, beginning, forfeited, illegal, *payment, 0, self.size)
        self.observe(out, masks)
        return rewards, over

    def _let_opponents_play(self) -> None:
        if self.everybody:
            return
        while True:
            count = _waiting(self.games, self.seats, self._forfeited, self._waiting)
            if count == 0:
                return
            waiting = self._waiting[:count]
            who = self._who[waiting, self.games["player"][waiting]]
            for number in np.unique(who) if len(self._policies) > 1 else (0,):
                indices = waiting if len(self._policies) == 1 else waiting[who == number]
                self._let_policy_play(self._policies[number], indices)

    def _let_policy_play(self, policy: Policy, indices: Indices) -> None:
        views = np.empty(len(indices), dtype=self.games.dtype)
        _write_waiting_views(self.games, indices, views)
        self.streams.games = indices
        legal = views["legal"].copy()
        cards = checked_cards(policy(views, self.streams), legal, policy_name(policy))
        _play_at(self.games, indices, cards)

    # --- seeing -----------------------------------------------------------------------------

    def empty_observations(
        self, packed: bool = False
    ) -> tuple[npt.NDArray[Any], npt.NDArray[np.int8]]:
        """Return arrays to observe into: int8 [B, F, 52] or packed uint64 [B, F], and the masks."""
        masks = np.empty((self.size, NUM_CARDS), dtype=np.int8)
        if packed:
            return np.empty((self.size, NUM_FEATURES), dtype=np.uint64), masks
        return empty_lines((self.size, *OBSERVATION_SHAPE), np.int8), masks

    def observe(
        self,
        out: npt.NDArray[Any],
        masks: npt.NDArray[np.int8],
        indices: Indices | None = None,
    ) -> None:
        """Write the learner's observations and masks to arrays as `empty_observations` makes them.

        `indices` [n]: only those rows.
        """
        sight = (self.games, self.seats, self.everybody, self._forfeited)
        if indices is not None:
            see_some(*sight, indices, out, masks, self._crew.scratch[0])
        else:
            self._crew.run(see_all, _blocks(self.size), *sight, out, masks, _streams(out))

    def close(self) -> None:
        """Stop the threads."""
        self._crew.close()


def _scratch() -> tuple[Games, npt.NDArray[np.uint64], npt.NDArray[np.int8]]:
    """Return what a thread needs to see games: a view, the rows of one, and bytes of some."""
    return (
        empty_lines((1,), GAME),
        empty_lines((NUM_FEATURES,), np.uint64),
        empty_lines((STREAMED_TOGETHER, *OBSERVATION_SHAPE), np.int8),
    )


def _blocks(size: int) -> int:
    return -(-size // BLOCK)


def _streams(out: npt.NDArray[Any]) -> bool:
    return out.ndim == 3 and out.nbytes > _STREAMED_BYTES


def _opponents(opponents: Any, rules: Rules) -> list[Policy | Pool]:
    others = rules.num_players - 1
    if opponents is None:
        return []
    if isinstance(opponents, (list, tuple)):
        if len(opponents) != others:
            raise ValueError(
                f"opponents: one for all other seats, or {others} in seat order after the learner, "
                f"not {len(opponents)}"
            )
        choices = list(opponents)
    else:
        choices = [opponents] * others
    return [choice if isinstance(choice, Pool) else make_policy(choice) for choice in choices]


def _check_seat(seat: int | None, rules: Rules, everybody: bool) -> int | None:
    if seat is None:
        return None
    if everybody:
        raise ValueError(f"seat={seat!r} has no meaning with opponents=None: all seats are played")
    if (
        isinstance(seat, bool)
        or not isinstance(seat, (int, np.integer))
        or not 0 <= seat < rules.num_players
    ):
        seats = ", ".join(str(number) for number in range(rules.num_players))
        raise ValueError(f"seat must be one of {seats}, or None to draw it, not {seat!r}")
    return int(seat)
