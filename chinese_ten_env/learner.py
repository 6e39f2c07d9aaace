"""Games with a learner in one seat and policies in the others: what learning doors share."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from chinese_ten_env.bits import EMPTY, ONE, U64, write_row
from chinese_ten_env.cards import NUM_CARDS
from chinese_ten_env.engine import (
    NOBODY,
    OVER,
    Games,
    begin_batch,
    begin_batch_with_decks,
    blank_games,
    play_card,
    take,
)
from chinese_ten_env.jit import kernel
from chinese_ten_env.observation import NUM_FEATURES, observe, observe_view, write_rows, write_view
from chinese_ten_env.policies import Policy, checked_cards, make_policy, policy_name
from chinese_ten_env.rewards import illegal_action_reward, potential, reward_number
from chinese_ten_env.rules import Rules
from chinese_ten_env.streams import GameStreams

_BLOCK = 256
"""Games that fit into a core's cache together."""

_ENOUGH_TO_SHARE = 128
"""Games that are worth dividing among threads when they begin."""

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
def _play_legal(
    games: Any, actions: Any, forfeited: Any, illegal: Any, start: int, stop: int
) -> None:
    for index in range(start, stop):
        game, card = games[index], actions[index]
        if game.phase == OVER or forfeited[index]:
            illegal[index] = False
            continue
        illegal[index] = card < 0 or card >= NUM_CARDS or game.legal & (ONE << U64(card)) == EMPTY
        if not illegal[index]:
            play_card(game, card)


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


@kernel
def _collect(
    games: Any,
    seats: Any,
    everybody: bool,
    reward: int,
    paid: Any,
    changes: Any,
    rewards: Any,
    over: Any,
    start: int,
    stop: int,
) -> None:
    """Write the learners' rewards [B]: the change of their potential since it was last collected.

    `paid` [B, P] holds the potentials; `changes` [B, P] those of the learner, or of everybody.
    """
    for index in range(start, stop):
        game, seat = games[index], seats[index]
        first, last = (0, paid.shape[1]) if everybody else (seat, seat + 1)
        for player in range(first, last):
            value = potential(game, player, reward)
            changes[index, player] = value - paid[index, player]
            paid[index, player] = value
        rewards[index] = changes[index, seat]
        over[index] = game.phase == OVER


@kernel
def _play_and_collect(
    games: Any,
    seats: Any,
    actions: Any,
    forfeited: Any,
    illegal: Any,
    reward: int,
    paid: Any,
    changes: Any,
    rewards: Any,
    over: Any,
    start: int,
    stop: int,
) -> None:
    """Play and collect where nobody else plays in between, in blocks that stay in the cache."""
    for first in range(start, stop, _BLOCK):
        last = min(first + _BLOCK, stop)
        _play_legal(games, actions, forfeited, illegal, first, last)
        _collect(games, seats, True, reward, paid, changes, rewards, over, first, last)


@kernel
def _observe(
    games: Any,
    seats: Any,
    everybody: bool,
    views: Any,
    rows: Any,
    out: Any,
    masks: Any,
    start: int,
    stop: int,
) -> None:
    """Write observations [B, F, 52] and masks [B, 52]; `views` [1] and `rows` [F] are scratch.

    With `everybody`, `seats` become the seats on turn.
    """
    for index in range(start, stop):
        if everybody:
            seats[index] = games[index].player
        write_view(games, index, seats[index], views, 0)
        observe_view(views[0], rows)
        write_rows(rows, out, index * NUM_FEATURES * NUM_CARDS)
        write_row(masks, index * NUM_CARDS, views[0].legal, True)


@kernel
def _observe_packed(
    games: Any,
    seats: Any,
    everybody: bool,
    views: Any,
    out: Any,
    masks: Any,
    start: int,
    stop: int,
) -> None:
    """Write observations as bitboards [B, F] and masks [B, 52]; else as `_observe`."""
    for index in range(start, stop):
        if everybody:
            seats[index] = games[index].player
        write_view(games, index, seats[index], views, 0)
        observe_view(views[0], out[index])
        write_row(masks, index * NUM_CARDS, views[0].legal, True)


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
        self.streams = GameStreams(size)
        self._drawn = np.full(size, NOBODY, dtype=np.int64)  # dealers that the games draw
        self._waiting = np.empty(size, dtype=np.int64)
        # Who plays: numbers of policies, in the order in which they were first drawn.
        self._policies: list[Policy] = []
        self._numbers: dict[int, int] = {}
        self._who = np.full((size, rules.num_players), NOBODY, dtype=np.int64)
        self._fixed = all(not isinstance(choice, Pool) for choice in self._opponents)
        self._threads = _check_threads(num_threads)
        self._executor: ThreadPoolExecutor | None = None
        self._views = [blank_games(rules, 1) for _ in range(self._threads)]
        self._rows = [np.empty(NUM_FEATURES, dtype=np.uint64) for _ in range(self._threads)]

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_executor": None, "_numbers": {}}

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
        elif self._threads == 1 or len(indices) < _ENOUGH_TO_SHARE:
            begin_batch(self.games, indices, dealers)
        else:
            parts = np.array_split(indices, self._threads)
            shares = np.array_split(dealers, self._threads)
            others = [
                self._workers.submit(begin_batch, self.games, part, share)
                for part, share in zip(parts[1:], shares[1:], strict=True)
            ]
            begin_batch(self.games, parts[0], shares[0])
            for other in others:
                other.result()
        self._paid[indices] = 0.0
        self._forfeited[indices] = False
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
        self._let_opponents_play()

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

    def play(
        self, actions: npt.NDArray[np.int64]
    ) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
        """Play the learner's cards [B] and all that follows until it is on turn again.

        Returns its rewards, float64 [B], which games are over, and in which the action was illegal,
        bool [B]. An illegal action ends its game and is paid the penalty. Finished games stay as
        they are and pay nothing.
        """
        rewards = np.empty(self.size)
        over = np.empty(self.size, dtype=np.bool_)
        illegal = np.empty(self.size, dtype=np.bool_)
        payment = (self._reward, self._paid, self.changes, rewards, over)
        games, seats, forfeited = self.games, self.seats, self._forfeited
        if self.everybody:
            self._in_parallel(
                _play_and_collect, games, seats, actions, forfeited, illegal, *payment
            )
            forfeited |= illegal
        else:
            self._in_parallel(_play_legal, games, actions, forfeited, illegal)
            forfeited |= illegal
            self._let_opponents_play()
            self._in_parallel(_collect, games, seats, False, *payment)
        if illegal.any():
            rewards[illegal] = self.penalty
            self.changes[illegal, self.seats[illegal]] = self.penalty
        over |= forfeited
        return rewards, over, illegal

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

    def observe(self, out: npt.NDArray[np.int8], masks: npt.NDArray[np.int8]) -> None:
        """Write the learner's observations to `out`, int8 [B, F, 52], and masks, int8 [B, 52]."""
        scratch = (self._views, self._rows)
        self._in_parallel(_observe, self.games, self.seats, self.everybody, *scratch, out, masks)
        if self._forfeited.any():
            masks[self._forfeited] = 0

    def observe_packed(self, out: npt.NDArray[np.uint64], masks: npt.NDArray[np.int8]) -> None:
        """Write the learner's observations as bitboards, uint64 [B, F], and masks [B, 52]."""
        self._in_parallel(
            _observe_packed, self.games, self.seats, self.everybody, self._views, out, masks
        )
        if self._forfeited.any():
            masks[self._forfeited] = 0

    def observe_some(self, indices: Indices, packed: bool = False) -> npt.NDArray[Any]:
        """Return the learner's observations of some games [n], int8 [n, F, 52] or uint64 [n, F]."""
        return observe(take(self.games, indices), self.seats[indices], packed=packed)

    # --- threads ----------------------------------------------------------------------------

    @property
    def _workers(self) -> ThreadPoolExecutor:
        if self._executor is None:
            self._executor = ThreadPoolExecutor(self._threads - 1)
        return self._executor

    def _in_parallel(self, run: Any, *arguments: Any) -> None:
        """Run a kernel over all games, a piece for each thread; lists hold an item for each."""
        if self._threads == 1:
            run(*[a[0] if a.__class__ is list else a for a in arguments], 0, self.size)
            return
        edges = np.linspace(0, self.size, self._threads + 1).astype(np.int64)
        pieces = [
            partial(
                run,
                *(a[thread] if isinstance(a, list) else a for a in arguments),
                int(edges[thread]),
                int(edges[thread + 1]),
            )
            for thread in range(self._threads)
        ]
        others = [self._workers.submit(piece) for piece in pieces[1:]]
        pieces[0]()  # this thread would only wait
        for other in others:
            other.result()

    def close(self) -> None:
        """Stop the threads."""
        if self._executor is not None:
            self._executor.shutdown()
            self._executor = None


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


def _check_threads(num_threads: int) -> int:
    if isinstance(num_threads, bool) or not isinstance(num_threads, int) or num_threads < 1:
        raise ValueError(f"num_threads must be a positive integer, not {num_threads!r}")
    return num_threads
