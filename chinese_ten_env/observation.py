"""What a player sees: views, and the observations made from them.

A view is a game with everything hidden taken out. Observations, policies and text for a player are
made from views only, so that nothing can leak.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Any

import numpy as np
import numpy.typing as npt

from chinese_ten_env.bits import (
    EMPTY,
    GAMMA,
    ONE,
    U64,
    capturing,
    draw,
    first,
)
from chinese_ten_env.cards import DECK, NUM_CARDS, PARTNERS
from chinese_ten_env.engine import (
    DEAL,
    HIDDEN,
    NET,
    NO_CARD,
    NOBODY,
    OVER,
    PLAY,
    Games,
    ask_for_play,
    check_games,
    levy_taker,
    scaled_net_score,
)
from chinese_ten_env.jit import kernel
from chinese_ten_env.machine import lowest, nth, popcount, write_row
from chinese_ten_env.rules import HAND_CARDS, LAYOUT_CARDS, MAX_PLAYERS


class Feature(IntEnum):
    """The rows of an observation: sets of cards, or numbers written as sets.

    Players are relative to the observer: ``_0`` is the observer, ``_1`` the next seat in seat
    order, and so on; rows of absent players are empty. A number n is a thermometer, the bits 0 to n
    - 1.
    """

    HAND = 0
    """The observer's hand."""
    TABLE = 1
    """The cards face up on the table."""
    CAPTURING = 2
    """The cards of the hand that can take a card of the table."""
    PENDING_FROM_HAND = 3
    """The hand card whose target is being chosen."""
    PENDING_FROM_STOCK = 4
    """The flipped card whose target is being chosen."""
    CAPTURED_0 = 5
    """The piles."""
    CAPTURED_1 = 6
    CAPTURED_2 = 7
    CAPTURED_3 = 8
    LAID_0 = 9
    """The cards that each player laid from the hand and that still lie on the table."""
    LAID_1 = 10
    LAID_2 = 11
    LAID_3 = 12
    UNSEEN = 13
    """The cards in the other hands and the stock, less a bottom card that the observer knows."""
    BOTTOM = 14
    """The bottom card of the stock, if the observer knows it and it lies there still."""
    LAST_PLAYED = 15
    """The last hand card that anybody played in this deal."""
    LAST_FLIPPED = 16
    """The last stock card flipped in this deal."""
    HAND_SIZE_0 = 17
    """The number of cards in each hand."""
    HAND_SIZE_1 = 18
    HAND_SIZE_2 = 19
    HAND_SIZE_3 = 20
    STOCK_SIZE = 21
    """The number of cards in the stock."""
    PLAYER = 22
    """Bit k: the player k seats on is on turn; empty at the end."""
    DEALER = 23
    """Bit k: the player k seats on deals."""
    REVERSED = 24
    """All bits while play goes against the seat order."""
    LEVY = 25
    """Bit k: the player k seats on is owed the red-five levy."""
    TOTAL_0 = 26
    """In match play, how far each player is on the way to the target over the finished deals.

    52 steps: from 0 to the target with ``match="raw"``, from -target to the target with ``"net"``.
    """
    TOTAL_1 = 27
    TOTAL_2 = 28
    TOTAL_3 = 29


NUM_FEATURES = len(Feature)
OBSERVATION_SHAPE = (NUM_FEATURES, NUM_CARDS)
OBSERVATION_VERSION = 0
"""Changes when a row changes its meaning or place: a model reads only the version it learned."""

Observation = npt.NDArray[np.int8]
Mask = npt.NDArray[np.int8]

_BOTTOM_PLACE = NUM_CARDS - 1
_STOCK = HAND_CARDS + LAYOUT_CARDS

# Numba freezes globals, and it knows plain integers best.
_HAND = int(Feature.HAND)
_TABLE = int(Feature.TABLE)
_CAPTURING = int(Feature.CAPTURING)
_PENDING_FROM_HAND = int(Feature.PENDING_FROM_HAND)
_PENDING_FROM_STOCK = int(Feature.PENDING_FROM_STOCK)
_CAPTURED = int(Feature.CAPTURED_0)
_LAID = int(Feature.LAID_0)
_UNSEEN = int(Feature.UNSEEN)
_BOTTOM = int(Feature.BOTTOM)
_LAST_PLAYED = int(Feature.LAST_PLAYED)
_LAST_FLIPPED = int(Feature.LAST_FLIPPED)
_HAND_SIZE = int(Feature.HAND_SIZE_0)
_STOCK_SIZE = int(Feature.STOCK_SIZE)
_PLAYER = int(Feature.PLAYER)
_DEALER = int(Feature.DEALER)
_REVERSED = int(Feature.REVERSED)
_LEVY = int(Feature.LEVY)
_TOTAL = int(Feature.TOTAL_0)


# --- views ----------------------------------------------------------------------------------


@kernel
def hide(view: Any, player: int) -> None:
    """Take out of a copy of a game all that a player does not see."""
    for seat in range(MAX_PLAYERS):
        if seat != player:
            view.hands[seat] = EMPTY
    # The whole order of the deck goes, and with it the way in which known cards were dealt.
    bottom = view.deck[_BOTTOM_PLACE]
    for position in range(NUM_CARDS):
        view.deck[position] = HIDDEN
    if player == view.peeker:
        view.deck[_BOTTOM_PLACE] = bottom
    view.rng = U64(0)
    view.viewer = player
    if player != view.player:
        view.legal = EMPTY


@kernel
def write_view(games: Any, index: int, player: int, views: Any, slot: int) -> None:
    """Write what a player sees of ``games[index]`` to ``views[slot]``."""
    views[slot] = games[index]
    hide(views[slot], player)


@kernel
def write_views(games: Any, players: Any, views: Any) -> None:
    """Write what ``players[i]`` sees of each game to `views` [B]."""
    for index in range(len(games)):
        write_view(games, index, players[index], views, index)


@kernel
def write_views_on_turn(games: Any, indices: Any, views: Any) -> None:
    """Write what the player on turn sees of each game of `indices` [n] to `views` [n]."""
    for slot in range(len(indices)):
        index = indices[slot]
        write_view(games, index, games[index].player, views, slot)


@kernel
def known_bottom(view: Any) -> np.uint64:
    """Return the bottom card of the stock, if the view's owner knows it and it is there."""
    card = view.deck[_BOTTOM_PLACE]
    if view.viewer != view.peeker or view.turn == HAND_CARDS or view.last_flipped == card:
        return EMPTY
    return ONE << U64(card)


@kernel
def unseen_cards(view: Any) -> np.uint64:
    """Return the cards whose place the view's owner does not know."""
    seen = view.hands[view.viewer] | view.table | view.pending | known_bottom(view)
    for seat in range(MAX_PLAYERS):
        seen |= view.captured[seat]
    return DECK & ~seen


# --- observations ---------------------------------------------------------------------------


@kernel
def progress(game: Any, player: int) -> int:
    """Return how far a player is on the way to the target of a match, in 52 steps."""
    if game.match == NET:
        target = game.target * game.num_players
        done, way = scaled_net_score(game, player) + target, 2 * target
    else:
        done, way = game.scores[player], game.target
    return max(0, min(NUM_CARDS, done * NUM_CARDS // way))


@kernel
def observe_view(view: Any, rows: Any) -> None:
    """Write the observation of a view to `rows` (uint64 [F])."""
    observer, players = view.viewer, view.num_players
    hand, table = view.hands[observer], view.table
    rows[_HAND] = hand
    rows[_TABLE] = table
    rows[_CAPTURING] = hand & capturing(table)
    from_hand = view.phase < 2  # in PLAY nothing is pending
    rows[_PENDING_FROM_HAND] = view.pending if from_hand else EMPTY
    rows[_PENDING_FROM_STOCK] = EMPTY if from_hand else view.pending
    rows[_UNSEEN] = unseen_cards(view)
    rows[_BOTTOM] = known_bottom(view)
    rows[_LAST_PLAYED] = ONE << U64(view.last_played) if view.last_played != NO_CARD else EMPTY
    rows[_LAST_FLIPPED] = ONE << U64(view.last_flipped) if view.last_flipped != NO_CARD else EMPTY
    rows[_STOCK_SIZE] = first(stock_size(view))
    rows[_REVERSED] = DECK if view.direction < 0 else EMPTY
    rows[_PLAYER] = rows[_DEALER] = rows[_LEVY] = EMPTY
    taker = levy_taker(view)
    seat = observer
    for place in range(MAX_PLAYERS):
        if place >= players:
            rows[_CAPTURED + place] = rows[_LAID + place] = EMPTY
            rows[_HAND_SIZE + place] = rows[_TOTAL + place] = EMPTY
            continue
        rows[_CAPTURED + place] = view.captured[seat]
        rows[_LAID + place] = view.played[seat] & table
        rows[_HAND_SIZE + place] = first(view.hand_sizes[seat])
        rows[_TOTAL + place] = first(progress(view, seat)) if view.match != DEAL else EMPTY
        mark = ONE << U64(place)
        if seat == view.player and view.phase != OVER:
            rows[_PLAYER] = mark
        if seat == view.dealer:
            rows[_DEALER] = mark
        if seat == taker:
            rows[_LEVY] = mark
        seat += 1
        if seat == players:
            seat = 0


@kernel
def stock_size(game: Any) -> int:
    """Return the number of cards in the stock."""
    left = HAND_CARDS - game.turn
    # The flipped card has left the stock before its turn is finished.
    return left - 1 if game.phase == 2 else left


@kernel
def write_rows(rows: Any, out: Any, start: int) -> None:
    """Write rows as bytes of 0 and 1 to `out`, contiguous, from its byte `start` on."""
    last = len(rows) - 1
    for row in range(last):
        write_row(out, start + row * NUM_CARDS, rows[row], False)
    write_row(out, start + last * NUM_CARDS, rows[last], True)


@kernel
def observe_views(views: Any, rows: Any, out: Any) -> None:
    """Write the observations of views [B] as bytes to `out` [B, F, 52]; `rows` [F] is scratch."""
    for index in range(len(views)):
        observe_view(views[index], rows)
        write_rows(rows, out, index * NUM_FEATURES * NUM_CARDS)


@kernel
def observe_views_packed(views: Any, out: Any) -> None:
    """Write the observations of views [B] as bitboards to `out` [B, F]."""
    for index in range(len(views)):
        observe_view(views[index], out[index])


@kernel
def observe_game(games: Any, player: int, rows: Any, out: Any) -> None:
    """Write what a player of ``games[0]`` observes, and below it the mask, to `out` [F + 1, 52].

    ``games[1]`` and `rows` [F + 1] are scratch. So few arguments because each costs a caller from
    Python a quarter of a microsecond, as much as all that happens here.
    """
    write_view(games, 0, player, games, 1)
    observe_view(games[1], rows)
    rows[NUM_FEATURES] = games[1].legal
    write_rows(rows, out, 0)


@kernel
def unpack_rows(rows: Any, out: Any) -> None:
    """Write bitboards [N] as bytes of 0 and 1 to `out` [N, 52]."""
    write_rows(rows, out, 0)


# --- determinization ------------------------------------------------------------------------


@kernel
def determinize_view(view: Any, state: np.uint64, game: Any) -> None:
    """Fill `game`, a copy of `view`, with a uniformly drawn deal that agrees with the view."""
    cards = unseen_cards(view)
    # Reservoir of the unseen cards in random order, built in the deck before the seen ones.
    count = 0
    for card in range(NUM_CARDS):
        if cards & (ONE << U64(card)) != EMPTY:
            state, place = draw(state, count + 1)
            game.deck[count] = game.deck[place]
            game.deck[place] = card
            count += 1
    _deal_unseen(view, count, game)
    game.rng = state + GAMMA


@kernel
def count_deals(view: Any, most: int) -> int:
    """Return how many deals agree with a view, hands as sets; `most` + 1 if they are more."""
    count, hidden = popcount(unseen_cards(view)), _first_hidden_hand(view)
    deals = 1
    for size in range(hidden + 1, count + 1):
        deals *= size
        if deals > most:
            return most + 1
    return deals


@kernel
def determine_view(view: Any, number: int, game: Any) -> None:
    """Fill `game`, a copy of `view`, with the deal of a number below `count_deals`.

    With more than two players, deals that differ in the order of the other hands have each a number
    of their own, so that all numbers together are the deals in equal shares.
    """
    rest = unseen_cards(view)
    count = popcount(rest)
    # The cards that are left over after all others have been picked are the first hidden hand.
    for place in range(count - 1, -1, -1):
        size = place + 1
        picked = 0
        if place >= _first_hidden_hand(view):
            picked = number % size
            number //= size
        card = nth(rest, picked)
        rest ^= ONE << U64(card)
        game.deck[place] = card
    _deal_unseen(view, count, game)
    game.rng = U64(number)


@kernel
def _first_hidden_hand(view: Any) -> int:
    """Return the size of the hand that is dealt first from the unseen cards."""
    return view.hand_sizes[1 if view.viewer == 0 else 0]


@kernel
def _deal_unseen(view: Any, count: int, game: Any) -> None:
    """Deal the first `count` cards of the deck to the hidden hands and the stock."""
    bottom = known_bottom(view)
    taken = 0
    for seat in range(view.num_players):
        if seat != view.viewer:
            hand = EMPTY
            for _ in range(view.hand_sizes[seat]):
                hand |= ONE << U64(game.deck[taken])
                taken += 1
            game.hands[seat] = hand
    hidden_stock = count - taken
    position = _BOTTOM_PLACE if bottom != EMPTY else NUM_CARDS
    for offset in range(hidden_stock):
        game.deck[position - 1 - offset] = game.deck[count - 1 - offset]
    if bottom != EMPTY:
        game.deck[_BOTTOM_PLACE] = view.deck[_BOTTOM_PLACE]
    # What has been dealt and flipped lies open or in hands; its order is over.
    for used in range(NUM_CARDS - stock_size(view)):
        game.deck[used] = HIDDEN
    game.viewer = NOBODY
    if game.phase == PLAY:
        ask_for_play(game, game.player)
    elif game.phase != OVER:
        game.legal = game.table & PARTNERS[lowest(game.pending)]


@kernel
def determinize_batch(views: Any, states: Any, games: Any) -> None:
    """Fill `games` [B] with random deals that agree with `views` [B]."""
    for index in range(len(views)):
        games[index] = views[index]
        determinize_view(views[index], states[index], games[index])


# --- doors ----------------------------------------------------------------------------------


def view(games: Games, players: npt.ArrayLike) -> Games:
    """Return what a player sees of each game, views [B]; `players` is one seat or a seat [B]."""
    check_games(games)
    seats = np.asarray(players)
    if seats.dtype.kind not in "iu" or seats.shape not in ((), games.shape):
        raise ValueError(f"players must be a seat, or a seat for each game, not {players!r}")
    if np.any((seats < 0) | (seats >= games["num_players"])):
        raise ValueError(f"players must be seats from 0 to num_players - 1, not {players!r}")
    seats = np.broadcast_to(seats, games.shape).astype(np.int64)
    if np.any((games["viewer"] != NOBODY) & (games["viewer"] != seats)):
        raise ValueError("these are views already, and each shows only what its own player sees")
    views = np.empty_like(games)
    write_views(games, seats, views)
    return views


def views(games: Games) -> Games:
    """Return each game as the player on turn sees it, views [B]."""
    check_games(games)
    return view(games, games["player"])


def observe(
    games: Games, players: npt.ArrayLike | None = None, *, packed: bool = False
) -> npt.NDArray[Any]:
    """Return what the player on turn, or `players`, observes: int8 [B, F, 52] of 0 and 1.

    ``packed=True``: the same as bitboards, uint64 [B, F], a thirteenth of the bytes. Views may be
    given too, each for its own player.
    """
    check_games(games)
    if players is None:
        seen = games["viewer"] != NOBODY
        players = np.where(seen, games["viewer"], games["player"])
    seen_games = view(games, players)
    if packed:
        rows = np.empty((len(games), NUM_FEATURES), dtype=np.uint64)
        observe_views_packed(seen_games, rows)
        return rows
    out = np.empty((len(games), *OBSERVATION_SHAPE), dtype=np.int8)
    observe_views(seen_games, np.empty(NUM_FEATURES, dtype=np.uint64), out)
    return out


def unpack(bitboards: npt.ArrayLike) -> npt.NDArray[np.int8]:
    """Return bitboards of any shape [...] as 0 and 1, int8 [..., 52]."""
    array = np.asarray(bitboards)
    if array.dtype != np.uint64:
        raise ValueError(f"bitboards are uint64, not {array.dtype}")
    out = np.empty((*array.shape, NUM_CARDS), dtype=np.int8)
    if array.size:
        unpack_rows(np.ascontiguousarray(array).reshape(-1), out)
    return out


def pack(flags: npt.ArrayLike) -> npt.NDArray[np.uint64]:
    """Return arrays of 0 and 1 [..., 52] as bitboards, uint64 [...]: the reverse of `unpack`."""
    array = np.asarray(flags)
    if array.ndim == 0 or array.shape[-1] != NUM_CARDS:
        raise ValueError(f"the last axis must have {NUM_CARDS} entries, not shape {array.shape}")
    weights = ONE << np.arange(NUM_CARDS, dtype=np.uint64)
    return np.asarray((array != 0).astype(np.uint64) @ weights)


def action_masks(games: Games) -> npt.NDArray[np.int8]:
    """Return the legal actions of the player on turn, int8 [B, 52] of 0 and 1; none at the end."""
    check_games(games)
    return unpack(games["legal"])


def determinize(views: Games, rng: np.random.Generator) -> Games:
    """Return games [B], each drawn uniformly from the deals that agree with a view's cards.

    Hidden hands keep their sizes, a known bottom card its place. What play lets one infer is left
    to the caller. Give a view once for every game wanted, as with ``np.repeat(view, 100)``.
    """
    check_games(views)
    if np.any(views["viewer"] == NOBODY):
        raise ValueError("determinize takes views: make them with ct.views or ct.view")
    states = rng.integers(0, 2**64, size=len(views), dtype=np.uint64)
    games = np.empty_like(views)
    determinize_batch(views, states, games)
    return games
