"""Stepping a batch of games together: play, pay and see, in blocks that threads share out.

Each thread claims one block after the other until none is left, so one that the machine holds up
leaves more to the rest. Within a block all is done while its games are in the cache.
"""

from __future__ import annotations

from typing import Any

from chinese_ten_env.bits import EMPTY, ONE, U64
from chinese_ten_env.cards import NUM_CARDS
from chinese_ten_env.engine import NOBODY, OVER, begin, play_card
from chinese_ten_env.jit import kernel
from chinese_ten_env.machine import claim, finish_streaming, stream, write_row
from chinese_ten_env.observation import NUM_FEATURES, observe_view, write_rows, write_view
from chinese_ten_env.rewards import potential

BLOCK = 128
"""Games whose records fit into a core's own cache, and are worth a thread's while."""

STREAMED_TOGETHER = 8
"""Games whose observations fill whole lines of the cache; a block is a multiple of it."""

_SIZE = NUM_FEATURES * NUM_CARDS


# --- what happens to the games from `start` to `stop` ---------------------------------------


@kernel
def play_or_begin(
    games: Any,
    actions: Any,
    beginning: Any,
    forfeited: Any,
    illegal: Any,
    paid: Any,
    start: int,
    stop: int,
) -> None:
    """Play a card in each game, or begin it anew; tell where the card was illegal."""
    for index in range(start, stop):
        game, card = games[index], actions[index]
        illegal[index] = False
        if beginning[index]:
            begin(game, NOBODY)
            forfeited[index] = False
            paid[index] = 0.0
        elif game.phase != OVER and not forfeited[index]:
            if card < 0 or card >= NUM_CARDS or game.legal & (ONE << U64(card)) == EMPTY:
                illegal[index] = forfeited[index] = True
            else:
                play_card(game, card)


@kernel
def pay(
    games: Any,
    seats: Any,
    everybody: bool,
    beginning: Any,
    forfeited: Any,
    illegal: Any,
    penalty: float,
    reward: int,
    paid: Any,
    changes: Any,
    rewards: Any,
    over: Any,
    start: int,
    stop: int,
) -> None:
    """Write the learners' rewards [B]: the change of their potential since they were last paid.

    `paid` [B, P] holds the potentials; `changes` [B, P] those of the learner, or of everybody.
    """
    for index in range(start, stop):
        game, seat = games[index], seats[index]
        first, last = (0, paid.shape[1]) if everybody else (seat, seat + 1)
        for player in range(first, last):
            # What others win before the learner's first decision is paid with that decision.
            value = 0.0 if beginning[index] else potential(game, player, reward)
            changes[index, player] = value - paid[index, player]
            paid[index, player] = value
        if illegal[index]:
            changes[index, seat] = penalty
        rewards[index] = changes[index, seat]
        over[index] = game.phase == OVER or forfeited[index]


@kernel
def see(
    games: Any,
    seats: Any,
    everybody: bool,
    forfeited: Any,
    out: Any,
    masks: Any,
    streaming: bool,
    scratch: Any,
    start: int,
    stop: int,
) -> None:
    """Write observations, [B, F, 52] or as bitboards [B, F], and masks [B, 52].

    With `everybody`, `seats` become the seats on turn. With `streaming`, bytes go past the cache.
    """
    views, rows, block = scratch
    for first in range(start, stop, STREAMED_TOGETHER):
        last = min(first + STREAMED_TOGETHER, stop)
        for index in range(first, last):
            if everybody:
                seats[index] = games[index].player
            write_view(games, index, seats[index], views, 0)
            if out.ndim == 2:  # known when this is compiled
                observe_view(views[0], out[index])
            else:
                observe_view(views[0], rows)
                if streaming:
                    write_rows(rows, block, (index - first) * _SIZE)
                else:
                    write_rows(rows, out, index * _SIZE)
            write_row(masks, index * NUM_CARDS, EMPTY if forfeited[index] else views[0].legal, True)
        if streaming:
            stream(block, out, first * _SIZE, (last - first) * _SIZE)


@kernel
def see_some(
    games: Any,
    seats: Any,
    everybody: bool,
    forfeited: Any,
    indices: Any,
    out: Any,
    masks: Any,
    scratch: Any,
) -> None:
    """Do `see` for the games `indices` [n]; the rows of the others stay as they are."""
    for index in indices:
        see(games, seats, everybody, forfeited, out, masks, False, scratch, index, index + 1)


# --- what threads share out -----------------------------------------------------------------
# The last two arguments are a thread's own scratch, see `Crew`, and the cursor that all share.


@kernel
def begin_some(games: Any, indices: Any, dealers: Any, scratch: Any, cursor: Any) -> None:
    """Begin the games `indices` [n]."""
    first = claim(cursor, BLOCK)
    while first < len(indices):
        for row in range(first, min(first + BLOCK, len(indices))):
            begin(games[indices[row]], dealers[row])
        first = claim(cursor, BLOCK)


@kernel
def see_all(
    games: Any,
    seats: Any,
    everybody: bool,
    forfeited: Any,
    out: Any,
    masks: Any,
    streaming: bool,
    scratch: Any,
    cursor: Any,
) -> None:
    """Do `see` for all games."""
    first = claim(cursor, BLOCK)
    while first < len(games):
        last = min(first + BLOCK, len(games))
        see(games, seats, everybody, forfeited, out, masks, streaming, scratch, first, last)
        first = claim(cursor, BLOCK)
    if streaming:
        finish_streaming()


@kernel
def step_all(
    games: Any,
    seats: Any,
    actions: Any,
    beginning: Any,
    forfeited: Any,
    illegal: Any,
    penalty: float,
    reward: int,
    paid: Any,
    changes: Any,
    rewards: Any,
    over: Any,
    out: Any,
    masks: Any,
    streaming: bool,
    scratch: Any,
    cursor: Any,
) -> None:
    """Do `play_or_begin`, `pay` and `see` for all games, where the learner has every seat.

    Nobody else plays in between, so a block is done with at once.
    """
    first = claim(cursor, BLOCK)
    while first < len(games):
        last = min(first + BLOCK, len(games))
        play_or_begin(games, actions, beginning, forfeited, illegal, paid, first, last)
        pay(
            games,
            seats,
            True,
            beginning,
            forfeited,
            illegal,
            penalty,
            reward,
            paid,
            changes,
            rewards,
            over,
            first,
            last,
        )
        see(games, seats, True, forfeited, out, masks, streaming, scratch, first, last)
        first = claim(cursor, BLOCK)
    if streaming:
        finish_streaming()
