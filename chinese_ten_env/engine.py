"""The state of a game and the kernels that deal, play and settle it.

A game is a record of `GAME`, a batch an array of records; copying, saving and comparing games is
copying and comparing bytes. The engine knows cards and turns and nothing of who plays. Its kernels
trust their input: the doors (`Game`, the environments, `play`) check it.
"""

from __future__ import annotations

from functools import lru_cache
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
    mix,
    pick,
    shuffle,
)
from chinese_ten_env.cards import (
    CARD_NAMES,
    FAMILY_OF_FOUR,
    NUM_CARDS,
    PARTNERS,
    RED_FIVES,
    bitboard,
    card_list,
    card_names,
    parse_card,
)
from chinese_ten_env.jit import inlined_kernel, kernel
from chinese_ten_env.machine import popcount
from chinese_ten_env.rules import CHOICES, HAND_CARDS, LAYOUT_CARDS, MAX_PLAYERS, Rules

POINT_BITS = 6
"""Points of a card are below 2 ** 6; they are stored as one bitboard for each binary digit."""

PLAY, TAKE_WITH_HAND, TAKE_WITH_STOCK, OVER = range(4)
"""`phase`: play a hand card; choose what the hand card takes; what the flipped card takes; over."""
PHASES = ("play", "take with hand", "take with stock", "over")

NOBODY = -1
NO_CARD = -1
HIDDEN = 255
"""In `deck`: a card that the owner of a view does not know."""

DEAL, NET, RAW = range(3)
"""`match`: the numbers of the words in `rules.CHOICES["match"]`."""

GAME = np.dtype(
    [
        # Where the cards are. Bitboards; players are seats.
        ("hands", np.uint64, MAX_PLAYERS),
        ("captured", np.uint64, MAX_PLAYERS),  # the piles
        ("played", np.uint64, MAX_PLAYERS),  # all that a player has played from the hand
        ("table", np.uint64),
        ("pending", np.uint64),  # the card whose target is being chosen, else empty
        ("legal", np.uint64),  # the legal actions of the player on turn
        ("deck", np.uint8, NUM_CARDS),  # as dealt, top first; stock card k is deck[28 + k]
        # The turn.
        ("phase", np.int8),
        ("turn", np.int8),  # finished turns of this deal; the next stock card is deck[28 + turn]
        ("player", np.int8),  # on turn; at the end, the last to move
        ("direction", np.int8),  # +1 or -1
        ("dealer", np.int8),
        ("hand_sizes", np.int8, MAX_PLAYERS),
        ("last_played", np.int8),  # a card, or NO_CARD at the start of a deal
        ("last_flipped", np.int8),
        ("levier", np.int8),  # who took a red five with the other, or NOBODY
        ("peeker", np.int8),  # who knows the bottom card, or NOBODY
        ("viewer", np.int8),  # whose view this is, or NOBODY: everything is visible
        ("zeros", np.uint8, 2),  # no gaps, which NumPy would not copy: equal games are equal bytes
        # The match.
        ("deals", np.int32),  # finished deals
        ("scores", np.int32, MAX_PLAYERS),  # points of the finished deals, levies included
        ("settled", np.int32, MAX_PLAYERS),  # points of the last finished deal alone
        ("rng", np.uint64),  # SplitMix64 state from which the next deal is drawn; zero in a view
        # The rules, constant during a game.
        ("point_bits", np.uint64, POINT_BITS),  # bit k of the points of every card
        ("total", np.int32),  # points of all cards together
        ("target", np.int32),
        ("levy", np.int32),
        ("num_players", np.int8),
        ("capture_hand", np.bool_),
        ("dealer_leads", np.bool_),
        ("sweep_reverses", np.bool_),
        ("levy_on_pile", np.bool_),
        ("peek", np.int8),  # numbers of the words in rules.CHOICES
        ("match", np.int8),
        ("more_zeros", np.uint8, 5),
    ],
    align=True,
)
"""One game. Everything is zero where it has no meaning, such as the hand of an absent player."""

_BYTES = np.dtype((np.void, GAME.itemsize))

Games = npt.NDArray[Any]
"""An array of GAME records [B]."""

_LAYOUT = HAND_CARDS
_STOCK = HAND_CARDS + LAYOUT_CARDS
_PEEK_DEALER = CHOICES["peek"].index("dealer")
_PEEK_LAST = CHOICES["peek"].index("last")

# Three matches of such a rank come only from a layout of three, so the number alone tells a triple.
# Zero for the ranks that make ten, where a set of targets that is not empty never equals it.
_TRIPLES = np.array(
    [PARTNERS[card] if int(FAMILY_OF_FOUR) >> card & 1 else 0 for card in range(NUM_CARDS)],
    dtype=np.uint64,
)


def take(games: Games, indices: npt.NDArray[np.integer[Any]]) -> Games:
    """Return ``games[indices]`` [n], a copy, which NumPy itself would make field by field."""
    return games.view(_BYTES)[indices].view(GAME)


def copy_games(games: Games) -> Games:
    """Return ``games.copy()``, in one piece."""
    return games.view(_BYTES).copy().view(GAME)


def blank_games(rules: Rules, size: int) -> Games:
    """Return games [size] that hold the rules and nothing else; deal them next."""
    return np.repeat(_template(rules).view(_BYTES), size).view(GAME)


@lru_cache(maxsize=256)
def _template(rules: Rules) -> Games:
    games = np.zeros(1, dtype=GAME)
    for bit in range(POINT_BITS):
        scoring = sum(1 << card for card, points in enumerate(rules.points) if points >> bit & 1)
        games["point_bits"][:, bit] = scoring
    games["total"] = rules.total
    games["target"] = rules.target
    games["levy"] = rules.red_five_levy
    games["num_players"] = rules.num_players
    games["capture_hand"] = rules.capture == "hand"
    games["dealer_leads"] = rules.leader == "dealer"
    games["sweep_reverses"] = rules.sweep_reverses
    games["levy_on_pile"] = rules.red_five_trigger == "pile"
    games["peek"] = CHOICES["peek"].index(rules.peek)
    games["match"] = CHOICES["match"].index(rules.match)
    games["direction"] = 1
    games["viewer"] = NOBODY
    return games


# --- dealing --------------------------------------------------------------------------------


@kernel
def seat_after(seat: int, players: int) -> int:
    """Return the next seat in seat order."""
    return seat + 1 if seat + 1 < players else 0  # a division would cost as much as a whole turn


@kernel
def seat_before(seat: int, players: int) -> int:
    """Return the seat before in seat order."""
    return seat - 1 if seat > 0 else players - 1


@inlined_kernel
def deal_out(game: Any, hand_cards: int, layout_cards: int) -> None:
    """Deal the last cards of `deck`; `dealer` is set, the rest starts afresh.

    `hand_cards` to all hands together, round from the leader, and as many are the stock.
    """
    players, deck = game.num_players, game.deck
    leader = game.dealer if game.dealer_leads else seat_after(game.dealer, players)
    for seat in range(MAX_PLAYERS):
        game.hands[seat] = game.captured[seat] = game.played[seat] = EMPTY
        game.hand_sizes[seat] = 0
    stock = NUM_CARDS - hand_cards
    table = stock - layout_cards
    size, seat = hand_cards // players, leader
    for place in range(table - hand_cards, table - hand_cards + players):
        hand = EMPTY
        for position in range(place, table, players):
            hand |= ONE << U64(deck[position])
        game.hands[seat] = hand
        game.hand_sizes[seat] = size
        seat = seat_after(seat, players)
    layout = EMPTY
    for position in range(table, stock):
        layout |= ONE << U64(deck[position])
    if layout_cards == LAYOUT_CARDS:
        first = deck[table]
        if layout == _TRIPLES[first] | (ONE << U64(first)):
            game.captured[game.dealer] = layout
            layout = EMPTY
    game.table = layout
    game.pending = EMPTY
    game.direction = 1
    game.turn = HAND_CARDS - hand_cards
    game.last_played = game.last_flipped = NO_CARD
    game.levier = game.peeker = NOBODY
    if game.peek == _PEEK_DEALER:
        game.peeker = game.dealer
    elif game.peek == _PEEK_LAST:
        game.peeker = seat_before(leader, players)
    ask_for_play(game, leader)


@kernel
def deal(game: Any) -> None:
    """Deal the cards of `deck` round from the leader; `dealer` is set, the rest starts afresh."""
    deal_out(game, HAND_CARDS, LAYOUT_CARDS)


@kernel
def deal_late(games: Any, hand_cards: int, layout_cards: int, aside: np.uint64) -> None:
    """Deal ``games[0]`` from a smaller deck, the last cards of `deck`: it begins in a late turn.

    The cards `aside` take no part. They lie on the pile of a seat that is absent, so that nobody
    takes them for unseen ones; with four players there is none, and nothing may be aside. The stock
    need not be known yet (see `play_before_flip`).
    """
    deal_out(games[0], hand_cards, layout_cards)
    games[0].captured[MAX_PLAYERS - 1] |= aside


@kernel
def deal_random(game: Any) -> None:
    """Shuffle the deck from the game's generator and deal it."""
    game.rng = shuffle(game.deck, game.rng)
    deal(game)


@kernel
def begin(game: Any, dealer: int) -> None:
    """Begin a game from where its generator stands: a dealer, drawn if NOBODY, then the deck."""
    begin_match(game, dealer)
    deal_random(game)


@kernel
def begin_with_deck(game: Any, dealer: int, deck: Any) -> None:
    """Begin a game with a deck (uint8 [52]); the dealer is drawn if NOBODY."""
    begin_match(game, dealer)
    for position in range(NUM_CARDS):
        game.deck[position] = deck[position]
    deal(game)


@kernel
def begin_match(game: Any, dealer: int) -> None:
    """Forget all finished deals and set the dealer; the draw is made even where it is not used."""
    game.deals = 0
    for seat in range(MAX_PLAYERS):
        game.scores[seat] = game.settled[seat] = 0
    game.rng, drawn = draw(game.rng, game.num_players)
    game.dealer = drawn if dealer == NOBODY else dealer


# --- playing --------------------------------------------------------------------------------


@inlined_kernel
def ask_for_play(game: Any, player: int) -> None:
    """Give the turn to a player who holds cards."""
    game.player = player
    game.phase = PLAY
    hand = game.hands[player]
    game.legal = hand
    if game.capture_hand:
        able = hand & capturing(game.table)
        if able != EMPTY:
            game.legal = able


@inlined_kernel
def place(game: Any, card: int, phase: int) -> bool:
    """Capture with `card` or lay it down. False if its player must first choose a target."""
    bit, targets = ONE << U64(card), game.table & PARTNERS[card]
    if targets & (targets - ONE) != EMPTY and targets != _TRIPLES[card]:
        game.pending, game.legal, game.phase = bit, targets, phase
        return False
    resolve(game, bit, targets)
    return True


@inlined_kernel
def resolve(game: Any, bit: np.uint64, targets: np.uint64) -> None:
    """Let a card take its targets, or lay it down where there are none."""
    # Whether a card captures is a coin toss: a selected value, not a branch that the processor
    # would mispredict.
    taken = bit | targets if targets != EMPTY else EMPTY
    game.captured[game.player] |= taken
    game.table = (game.table | bit) & ~taken
    if bit & RED_FIVES != EMPTY and targets & RED_FIVES != EMPTY:
        game.levier = game.player


@inlined_kernel
def play_card(game: Any, card: int) -> None:
    """Apply an action: a card of the hand, or a target on the table. Trusts that it is legal.

    A turn is a hand card, a stock card and its end; it goes on from where a choice interrupted it.
    """
    phase = game.phase
    if not settle_action(game, card):
        return
    if phase != TAKE_WITH_STOCK and not flip(game, game.deck[_STOCK + game.turn]):
        return
    end_turn(game)


@inlined_kernel
def settle_action(game: Any, card: int) -> bool:
    """Apply an action and nothing that follows. False if its player must first choose a target."""
    bit = ONE << U64(card)
    if game.phase == PLAY:
        player = game.player
        game.hands[player] ^= bit
        game.hand_sizes[player] -= 1
        game.played[player] |= bit
        game.last_played = card
        return place(game, card, TAKE_WITH_HAND)
    pending = game.pending
    game.pending = EMPTY
    resolve(game, pending, bit)
    return True


@inlined_kernel
def flip(game: Any, card: int) -> bool:
    """Turn up the next stock card. False if the player must first choose a target."""
    game.last_flipped = card
    return place(game, card, TAKE_WITH_STOCK)


@inlined_kernel
def end_turn(game: Any) -> None:
    """Pass the turn on, or end the deal."""
    if game.sweep_reverses and game.table == EMPTY:
        game.direction = -game.direction
    game.turn += 1
    if game.turn == HAND_CARDS:
        end_deal(game)
        return
    players, player = game.num_players, game.player
    while True:
        forward = game.direction > 0
        player = seat_after(player, players) if forward else seat_before(player, players)
        if game.hand_sizes[player] > 0:
            break
    ask_for_play(game, player)


# --- playing with a stock that is not known yet ---------------------------------------------
# For those who draw a stock card only when it is flipped: an action and its flip are two calls.


@kernel
def play_before_flip(games: Any, card: int) -> bool:
    """Apply an action to ``games[0]`` as `play_card` does, up to the flip; tell whether it is due.

    If so, nobody has a legal action until `flip_next` tells the card.
    """
    game = games[0]
    phase = game.phase
    if not settle_action(game, card):
        return False
    if phase == TAKE_WITH_STOCK:
        end_turn(game)
        return False
    game.legal = EMPTY
    return True


@kernel
def flip_next(games: Any, card: int) -> None:
    """Flip a card that is due in ``games[0]``: it becomes the next of the stock."""
    game = games[0]
    game.deck[_STOCK + game.turn] = card
    if flip(game, card):
        end_turn(game)


# --- settling -------------------------------------------------------------------------------


@kernel
def pile_points(game: Any, player: int) -> int:
    """Return the points of a player's pile, without levies."""
    pile = game.captured[player]
    points = 0
    for bit in range(POINT_BITS):
        points += popcount(pile & game.point_bits[bit]) << bit
    return points


@kernel
def levy_taker(game: Any) -> int:
    """Return who is owed the red-five levy as things stand, or NOBODY."""
    if game.levy == 0:
        return NOBODY
    if game.levy_on_pile:
        for player in range(game.num_players):
            if game.captured[player] & RED_FIVES == RED_FIVES:
                return player
        return NOBODY
    return game.levier


@kernel
def player_points(game: Any, player: int) -> int:
    """Return a player's points in the deal so far; the levy counts once the deal is over."""
    points = pile_points(game, player)
    if game.phase == OVER:
        taker = levy_taker(game)
        if taker == player:
            points += game.levy * (game.num_players - 1)
        elif taker != NOBODY:
            points -= game.levy
    return points


@kernel
def scaled_net_score(game: Any, player: int) -> int:
    """Return a player's net points over the finished deals, times the number of players."""
    return game.scores[player] * game.num_players - game.deals * game.total


@kernel
def match_is_over(game: Any) -> bool:
    """Tell whether somebody has reached the target and nobody has as much as the best."""
    if game.match == DEAL:
        return True
    players = game.num_players
    best = leaders = 0
    for player in range(players):
        score = game.scores[player]
        if player == 0 or score > best:
            best, leaders = score, 1
        elif score == best:
            leaders += 1
    if leaders > 1:
        return False
    if game.match == NET:
        return best * players - game.deals * game.total >= game.target * players
    return best >= game.target


@kernel
def end_deal(game: Any) -> None:
    """Settle the deal; end the game, or pass the deal to the next seat and deal again."""
    game.phase = OVER
    game.legal = EMPTY
    game.deals += 1
    for player in range(game.num_players):
        points = player_points(game, player)
        game.settled[player] = points
        game.scores[player] += points
    if not match_is_over(game):
        game.dealer = seat_after(game.dealer, game.num_players)
        deal_random(game)


# --- batches --------------------------------------------------------------------------------


@kernel
def begin_batch(games: Any, indices: Any, dealers: Any) -> None:
    """Begin the games of `indices` [n] anew; `dealers` [n] are seats or NOBODY."""
    for row in range(len(indices)):
        begin(games[indices[row]], dealers[row])


@kernel
def begin_batch_with_decks(games: Any, indices: Any, dealers: Any, decks: Any) -> None:
    """Begin the games of `indices` [n] anew, each with its own deck (uint8 [n, 52])."""
    for row in range(len(indices)):
        begin_with_deck(games[indices[row]], dealers[row], decks[row])


@kernel
def first_illegal(games: Any, cards: Any) -> int:
    """Return the index of the first unfinished game whose card is illegal, or -1."""
    for index in range(len(games)):
        game, card = games[index], cards[index]
        if game.phase != OVER and (
            card < 0 or card >= NUM_CARDS or game.legal & (ONE << U64(card)) == EMPTY
        ):
            return index
    return -1


@kernel
def play_batch(games: Any, cards: Any) -> None:
    """Play one card in each unfinished game; trusts that they are legal."""
    for index in range(len(games)):
        if games[index].phase != OVER:
            play_card(games[index], cards[index])


@kernel
def points_batch(games: Any, out: Any) -> None:
    """Write every player's points so far to `out` [B, P]."""
    for index in range(len(games)):
        for player in range(out.shape[1]):
            out[index, player] = player_points(games[index], player)


@kernel
def play_randomly(games: Any, deals: int, words: np.uint64) -> int:
    """Play at least `deals` whole games after one another in games[0], uniformly at random.

    Returns the number of actions. This is the loop that `chinese-ten bench` times.
    """
    game, actions = games[0], 0
    for _ in range(deals):
        begin(game, NOBODY)
        while game.phase != OVER:
            words += GAMMA
            play_card(game, pick(game.legal, mix(words)))
            actions += 1
    return actions


class IllegalActionError(ValueError):
    """An action that the rules do not allow now; the game is as it was."""


def seed_array(seed: int | np.integer[Any], size: int) -> npt.NDArray[np.uint64]:
    """Return the seeds seed, seed + 1, ... [size] of a batch (modulo 2 ** 64)."""
    if isinstance(seed, bool) or not isinstance(seed, (int, np.integer)) or seed < 0:
        raise ValueError(f"seed must be an integer from 0 up, not {seed!r}")
    return np.arange(size, dtype=np.uint64) + np.uint64(int(seed) % 2**64)


def new_games(
    rules: Rules, size: int, seed: int | None = None, decks: Any = None, dealers: Any = None
) -> Games:
    """Return games [size] dealt from a seed; game i is that of the seed ``seed + i`` alone.

    `seed=None` takes one from the operating system; `decks` and `dealers` as for `begin_games`.
    """
    if isinstance(size, bool) or not isinstance(size, (int, np.integer)) or size < 1:
        raise ValueError(f"the number of games must be a positive integer, not {size!r}")
    if seed is None:
        seed = int(np.random.SeedSequence().generate_state(1, np.uint64)[0])
    games = blank_games(rules, int(size))
    games["rng"] = seed_array(seed, len(games))
    begin_games(games, decks, dealers)
    return games


def begin_games(
    games: Games,
    decks: Any = None,
    dealers: Any = None,
    indices: npt.NDArray[np.int64] | None = None,
) -> None:
    """Begin games anew, in place, from where the generator of each stands.

    `decks`: 52 cards by name or number, top first, for all games, or such a list for each of them;
    `dealers`: a seat, or a seat for each; drawn where not given. `indices` [n]: only these games.
    ValueError names what is wrong, and then no game has changed.
    """
    check_games(games)
    which = np.arange(len(games)) if indices is None else indices
    array, seats = parse_deal(games, which, decks, dealers)
    if array is None:
        begin_batch(games, which, seats)
    else:
        begin_batch_with_decks(games, which, seats, array)


def parse_deal(
    games: Games, indices: npt.NDArray[np.int64], decks: Any, dealers: Any
) -> tuple[npt.NDArray[np.uint8] | None, npt.NDArray[np.int64]]:
    """Return the decks, uint8 [n, 52] or None, and dealers, int64 [n], that `begin_games` takes."""
    seats = _check_dealers(games, indices, dealers)
    if decks is None:
        return None, seats
    array = parse_decks(decks)
    if array.ndim == 2 and len(array) != len(indices):
        raise ValueError(f"{len(array)} decks are given for {len(indices)} games")
    return np.broadcast_to(array, (len(indices), NUM_CARDS)).copy(), seats


def _check_dealers(
    games: Games, indices: npt.NDArray[np.int64], dealers: Any
) -> npt.NDArray[np.int64]:
    if dealers is None:
        return np.full(len(indices), NOBODY, dtype=np.int64)
    seats = np.asarray(dealers)
    if seats.dtype.kind not in "iu" or seats.shape not in ((), indices.shape):
        raise ValueError(f"dealer must be a seat, or a seat for each game, not {dealers!r}")
    if np.any((seats < 0) | (seats >= games["num_players"][indices])):
        seats_text = ", ".join(str(seat) for seat in range(int(games["num_players"].min())))
        raise ValueError(f"dealer must be one of the seats {seats_text}, not {dealers!r}")
    return np.broadcast_to(seats, indices.shape).astype(np.int64)


def parse_decks(decks: Any) -> npt.NDArray[np.uint8]:
    """Return a deck, uint8 [52], or decks, uint8 [N, 52], given by names or numbers.

    A text of 52 names is a deck too. ValueError says which cards are missing, doubled or unknown.
    """
    if isinstance(decks, str):
        decks = decks.split()
    try:
        entries = list(decks)
    except TypeError:
        raise ValueError(f"deck: a list of {NUM_CARDS} cards is needed, not {decks!r}") from None
    if entries and isinstance(entries[0], str) and len(entries[0].split()) > 1:
        entries = [deck.split() if isinstance(deck, str) else deck for deck in entries]
    if entries and isinstance(entries[0], (list, tuple, np.ndarray)):
        return np.stack([_parse_deck(deck) for deck in entries])
    return _parse_deck(entries)


def _parse_deck(entries: Any) -> npt.NDArray[np.uint8]:
    try:
        numbers = [parse_card(entry) for entry in entries]
        present = int(bitboard(numbers))
    except ValueError as error:
        raise ValueError(f"deck: {error}") from None
    if len(numbers) != NUM_CARDS:
        missing = card_names(~present & (1 << NUM_CARDS) - 1)
        raise ValueError(
            f"deck: {NUM_CARDS} cards are needed, not {len(numbers)}; missing: {missing}"
        )
    return np.array(numbers, dtype=np.uint8)


def check_games(games: Games) -> None:
    if not isinstance(games, np.ndarray) or games.dtype != GAME or games.ndim != 1:
        raise ValueError(
            "games must be a one-dimensional array of GAME records, as new_games makes"
        )


def play(games: Games, cards: npt.ArrayLike) -> None:
    """Play one card [B] in each unfinished game, in place; the entries of finished games are
    ignored.

    Checked, all or nothing: IllegalActionError names the first game whose card is illegal, and no
    game has changed. ValueError if the shapes do not fit.
    """
    check_games(games)
    array = np.asarray(cards)
    if array.shape != games.shape or array.dtype.kind not in "iu":
        raise ValueError(
            f"cards must be integers of shape {games.shape}, one for each game, "
            f"not {array.dtype} of shape {array.shape}"
        )
    actions = array.astype(np.int64)
    index = first_illegal(games, actions)
    if index >= 0:
        raise IllegalActionError(
            f"game {index}: {illegal_action(int(actions[index]), int(games[index]['legal']))}"
        )
    play_batch(games, actions)


def illegal_action(card: object, legal: int) -> str:
    """Return the words of the error for an illegal action."""
    known = isinstance(card, (int, np.integer)) and 0 <= card < NUM_CARDS
    name = CARD_NAMES[int(card)] if known else str(card)  # type: ignore[call-overload]  # known
    return f"{name} is not a legal action; {legal_actions(legal)}"


def legal_actions(legal: int) -> str:
    """Return the legal actions in words, for an error that says what is possible."""
    choices = ", ".join(f"{CARD_NAMES[number]} ({number})" for number in card_list(legal))
    return f"legal now: {choices or 'nothing, the game is over'}"


def is_over(games: Games) -> npt.NDArray[np.bool_]:
    """Return which games are over, bool [B]."""
    check_games(games)
    return np.asarray(games["phase"] == OVER)


def _check_rules(games: Games, rules: Rules) -> None:
    check_games(games)
    if np.any(games["num_players"] != rules.num_players):
        raise ValueError(
            f"rules are for {rules.num_players} players, and some of the games are not"
        )


def points(games: Games, rules: Rules) -> npt.NDArray[np.int64]:
    """Return every player's points of the deal so far, int64 [B, P].

    Levies count once a game is over. In a match, finished deals are in ``games["scores"]``.
    """
    _check_rules(games, rules)
    out = np.zeros((len(games), rules.num_players), dtype=np.int64)
    points_batch(games, out)
    return out


def nets(games: Games, rules: Rules) -> npt.NDArray[np.float64]:
    """Return every player's points so far less par, float64 [B, P]; sums to zero at the end."""
    return np.asarray(points(games, rules) - rules.par, dtype=np.float64)
