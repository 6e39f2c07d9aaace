"""Deals of two players solved exactly: what is best if both know every card.

`solve` gives the value of a position, `evaluate_cards` that of each legal card, so that the regret
of a decision is the difference of two numbers. Policies that draw the hidden cards can call the
kernel `solve_game` in their own kernels.

The search is alpha-beta with a null window (MTD(f), Plaat et al. 1996) over the lead that is still
to be won: the points, levy included, by which seat 0 will win more than seat 1 from a position on.
Such a value does not depend on what was won before, so a table keeps what was found out for a
position however it came about. Only one of several equal cards is tried, and the values that the
remaining points allow at most cut off the rest. The rules are the engine's: a move is a copy of a
record and `play_card`.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from chinese_ten_env.bits import EMPTY, ONE, U64, capturing, mix
from chinese_ten_env.cards import DECK, NUM_CARDS, PARTNERS, RED_FIVES, card_list, card_names
from chinese_ten_env.engine import (
    DEAL,
    GAME,
    NOBODY,
    OVER,
    PLAY,
    POINT_BITS,
    TAKE_WITH_HAND,
    TAKE_WITH_STOCK,
    Games,
    check_games,
    copy_games,
    levy_taker,
    pile_points,
    play_batch,
    play_card,
)
from chinese_ten_env.game import Game
from chinese_ten_env.jit import kernel
from chinese_ten_env.machine import lowest, popcount
from chinese_ten_env.rules import HAND_CARDS, LAYOUT_CARDS

_STOCK = HAND_CARDS + LAYOUT_CARDS
_PLIES = 3 * HAND_CARDS + 1  # a turn has up to three decisions; the end is a position too
_ALL = 1 << 62  # more nodes than any search takes
_FAR = 1 << 30  # further than any lead
_SLICE = 20_000  # nodes between two looks at the clock: some 10 milliseconds
_ENTRIES = 1 << 21

# The suits are C D H S. Equal cards are the diamond and the heart, or the club and the spade, of a
# rank if they count the same: suits do not matter for capturing, and a levy takes both red fives.
_CLUBS = U64(sum(1 << card for card in range(0, NUM_CARDS, 4)))
_DIAMONDS = U64(int(_CLUBS) << 1)
_TO_HEART, _TO_SPADE = U64(1), U64(3)

ENTRY = np.dtype(
    [
        ("key", np.uint64),
        ("lower", np.int16),
        ("upper", np.int16),
        ("card", np.int8),  # the best as far as is known
        ("turns", np.int8),  # how many were left: what the entry cost
        ("zeros", np.uint8, 2),
    ],
    align=True,
)
"""What is known of a position: the lead still to be won is from `lower` to `upper`.

Keys are hashes of 64 bits of all that matters, the stock and the rules included, so a table need
never be cleared. Two entries are a bucket: the first keeps what cost more, the second what is new.
"""

FRAME = np.dtype(
    [
        ("key", np.uint64),
        ("untried", np.uint64),  # legal cards, one of equal ones
        ("bound", np.int32),  # the question: is the lead still to be won at least this?
        ("lower", np.int32),  # what was known before the question
        ("upper", np.int32),
        ("lead", np.int32),  # the points that seat 0 is ahead
        ("best", np.int32),  # the best lead found, for the player on turn; at last the answer
        ("best_card", np.int8),
        ("first_card", np.int8),  # to be tried first, or NO_CARD
        ("card", np.int8),  # being tried
        ("zeros", np.uint8, 5),
    ],
    align=True,
)
"""One position on the way from the root to where the search is."""

SEARCH = np.dtype(
    [
        ("lower", np.int64),  # the lead still to be won from the root is from here
        ("upper", np.int64),  # to here
        ("guess", np.int64),
        ("left", np.int64),  # nodes that may still be searched
        ("ply", np.int64),  # where the search stands, or -1: it may be interrupted anywhere
        ("salt", np.uint64),  # what is constant in a deal, for the keys
        ("equal_red", np.uint64),  # the diamonds that count as much as their heart
        ("equal_black", np.uint64),  # the clubs that count as much as their spade
        ("flips", np.uint64, (2, HAND_CARDS + 1)),  # what a seat will flip from a turn on
        ("points", np.int64, NUM_CARDS),
        ("cutoffs", np.int64, (HAND_CARDS, NUM_CARDS)),  # how often a card was enough in a turn
    ],
    align=True,
)
"""A search in progress."""


class Scratch(NamedTuple):
    """The memory of a search: ``solve_game(game, *scratch)``."""

    boards: Games
    frames: Any
    table: Any
    search: Any


def new_scratch(entries: int = _ENTRIES) -> Scratch:
    """Return memory for `solve_game`; `entries` of the table, 16 bytes each, are a power of two."""
    if entries < 2 or entries & (entries - 1):
        raise ValueError(f"entries must be a power of two, at least 2, not {entries!r}")
    search = np.zeros(1, dtype=SEARCH)
    search["ply"] = -1
    return Scratch(
        np.zeros(_PLIES, dtype=GAME),
        np.zeros(_PLIES, dtype=FRAME),
        np.zeros(entries, dtype=ENTRY),
        search[0],
    )


# --- positions ------------------------------------------------------------------------------


@kernel
def worth(game: Any, cards: np.uint64) -> int:
    """Return the points of a set of cards."""
    points = 0
    for bit in range(POINT_BITS):
        points += popcount(cards & game.point_bits[bit]) << bit
    return points


@kernel
def lead(game: Any) -> int:
    """Return how many points seat 0 is ahead of seat 1, the levy as things stand included."""
    points = pile_points(game, 0) - pile_points(game, 1)
    taker = levy_taker(game)
    if taker == NOBODY:
        return points
    return points + 2 * game.levy if taker == 0 else points - 2 * game.levy


@kernel
def distinct(cards: np.uint64, search: Any) -> np.uint64:
    """Return a set without those that are equal to another card of the set."""
    red, black = cards & search.equal_red, cards & search.equal_black
    return cards & ~(red << _TO_HEART | black << _TO_SPADE)


@kernel
def lowered(cards: np.uint64, equal: np.uint64, shift: np.uint64) -> np.uint64:
    """Return a set in which the lower of two equal cards stands for either that is alone."""
    low, high = cards & equal, cards >> shift & equal
    return cards & ~(equal | equal << shift) | low | high | (low & high) << shift


@kernel
def canonical(cards: np.uint64, search: Any) -> np.uint64:
    """Return the same for all sets that differ by equal cards only."""
    cards = lowered(cards, search.equal_red, _TO_HEART)
    return lowered(cards, search.equal_black, _TO_SPADE)


@kernel
def key_of(game: Any, search: Any) -> np.uint64:
    """Return a hash of all that the lead still to be won depends on."""
    state = U64(game.phase) << ONE | U64(game.player)
    if game.pending != EMPTY:
        state |= U64(lowest(canonical(game.pending, search))) << U64(3)
    if game.levy_on_pile and game.levy > 0:
        for seat in range(2):
            if game.captured[seat] & RED_FIVES != EMPTY:
                state |= ONE << U64(9 + seat)
    word = mix(search.salt ^ canonical(game.hands[0], search))
    word = mix(word ^ canonical(game.hands[1], search))
    return mix(word ^ (canonical(game.table, search) | state << U64(NUM_CARDS)))


@kernel
def winnable(game: Any, seat: int, left: np.uint64, search: Any) -> int:
    """Return the points of those of the cards `left` that a seat has something to capture with."""
    own = game.hands[seat] | search.flips[seat][game.turn + (game.phase == TAKE_WITH_STOCK)]
    if game.player == seat:
        own |= game.pending
    targets = capturing(own)
    # A card that captures is won as well as one that is captured.
    return worth(game, left & (targets | capturing(targets)))


@kernel
def limit(game: Any, frame: Any, search: Any) -> None:
    """Set the bounds of a frame to what the cards that are left allow at most."""
    left = DECK & ~(game.captured[0] | game.captured[1])
    points = worth(game, left)
    levy = 2 * game.levy if left & RED_FIVES != EMPTY else 0
    frame.lower = points - 2 * winnable(game, 1, left, search) - levy
    frame.upper = 2 * winnable(game, 0, left, search) - points + levy


# --- the search -----------------------------------------------------------------------------


@kernel
def prepare(game: Any, search: Any) -> None:
    """Begin to search a deal: note what is constant in it, and forget the cutoffs of another."""
    search.ply = -1
    search.guess = 0
    differing_red = differing_black = EMPTY
    salt = U64(game.levy) << U64(2) | U64(game.levy_on_pile) << ONE | U64(game.capture_hand)
    for bit in range(POINT_BITS):
        scoring = game.point_bits[bit]
        differing_red |= scoring ^ scoring >> _TO_HEART
        differing_black |= scoring ^ scoring >> _TO_SPADE
        salt = mix(salt ^ scoring)
    search.equal_red = _DIAMONDS & ~differing_red
    search.equal_black = _CLUBS & ~differing_black
    for card in range(NUM_CARDS):
        search.points[card] = worth(game, ONE << U64(card))
    search.flips[0][HAND_CARDS] = search.flips[1][HAND_CARDS] = EMPTY
    for turn in range(HAND_CARDS - 1, -1, -1):
        card = game.deck[_STOCK + turn]
        salt = mix(salt ^ U64(card))
        for seat in range(2):
            flips = search.flips[seat]
            flips[turn] = flips[turn + 1]
            # Two players take turns, whatever the direction. Past cards may be unknown.
            if turn >= game.turn and (game.player + turn - game.turn) % 2 == seat:
                flips[turn] |= ONE << U64(card)
        for number in range(NUM_CARDS):
            search.cutoffs[turn][number] = 0
    search.salt = salt


@kernel
def find(key: np.uint64, table: Any) -> np.uint64:
    """Return the place of a key in the table, or the place where it is to be written."""
    place = key & U64(len(table) - 2)
    return place if table[place].key == key else place | ONE


@kernel
def is_answered(game: Any, frame: Any, table: Any, search: Any) -> bool:
    """Ask whether the lead still to be won is at least the frame's bound. True if that is known."""
    if game.phase == OVER:
        frame.best = 0
        return True
    search.left -= 1
    limit(game, frame, search)
    frame.first_card = -1
    if frame.lower < frame.bound <= frame.upper:
        frame.key = key_of(game, search)
        entry = table[find(frame.key, table)]
        if entry.key == frame.key:
            frame.lower = max(frame.lower, entry.lower)
            frame.upper = min(frame.upper, entry.upper)
            frame.first_card = entry.card
    if frame.lower >= frame.bound:
        frame.best = frame.lower
        return True
    if frame.upper < frame.bound:
        frame.best = frame.upper
        return True
    frame.best = -_FAR if game.player == 0 else _FAR
    frame.untried = distinct(game.legal, search)
    return False


@kernel
def most(cards: np.uint64, search: Any) -> int:
    """Return the points of the card of a set that counts most."""
    points = 0
    while cards != EMPTY:
        points = max(points, search.points[lowest(cards)])
        cards &= cards - ONE
    return points


@kernel
def promise(game: Any, card: int, search: Any) -> int:
    """Return how likely an action is to be good: cutoffs so far, and points as a first hint."""
    cutoffs, points = search.cutoffs[game.turn][card], search.points[card]
    if game.phase != PLAY:
        return cutoffs + points
    targets = game.table & PARTNERS[card]
    if targets != EMPTY:
        return cutoffs + points + most(targets, search)
    flip = game.deck[_STOCK + game.turn]
    if PARTNERS[card] & ONE << U64(flip) != EMPTY:
        return cutoffs + points + search.points[flip]
    answers = game.hands[1 - game.player] & PARTNERS[card]
    if answers != EMPTY:
        return cutoffs - points - most(answers, search)
    return cutoffs


@kernel
def next_card(game: Any, frame: Any, search: Any) -> int:
    """Return the most promising card that is untried."""
    # The table may name the equal of a card; then it is none of the untried.
    if frame.first_card >= 0 and frame.untried & ONE << U64(frame.first_card) != EMPTY:
        return frame.first_card
    best, best_card, rest = -_FAR, -1, frame.untried
    while rest != EMPTY:
        card = lowest(rest)
        rest &= rest - ONE
        value = promise(game, card, search)
        if value > best:
            best, best_card = value, card
    return best_card


@kernel
def compare(player: int, frame: Any, value: int) -> None:
    """Take note of the lead that the card being tried leads to; one that is enough ends the trying.

    Seat 0 wants the lead to be high, and is content with the bound; seat 1 with less.
    """
    if frame.best < value if player == 0 else value < frame.best:
        frame.best, frame.best_card = value, frame.card
        if (value >= frame.bound) == (player == 0):
            frame.untried = EMPTY


@kernel
def finish(game: Any, frame: Any, table: Any, search: Any) -> None:
    """Write an answer to the table, and count the card if it was enough."""
    lower, upper = frame.lower, frame.upper
    if frame.best >= frame.bound:
        lower = max(lower, frame.best)
    else:
        upper = min(upper, frame.best)
    if (frame.best >= frame.bound) == (game.player == 0):
        search.cutoffs[game.turn][frame.best_card] += 1
    turns = HAND_CARDS - game.turn
    place = find(frame.key, table)
    first = table[place & ~ONE]
    entry = first if turns >= first.turns else table[place]
    entry.key, entry.lower, entry.upper = frame.key, lower, upper
    entry.card, entry.turns = frame.best_card, turns


@kernel
def search_on(boards: Any, frames: Any, table: Any, search: Any) -> None:
    """Go on until the question at the root is answered (ply -1) or no nodes are left."""
    ply = search.ply
    while ply >= 0 and search.left > 0:
        game, frame = boards[ply], frames[ply]
        if frame.untried == EMPTY:
            finish(game, frame, table, search)
            ply -= 1
            if ply >= 0:
                above = frames[ply]
                compare(boards[ply].player, above, frame.lead - above.lead + frame.best)
            continue
        frame.card = next_card(game, frame, search)
        frame.untried &= ~(ONE << U64(frame.card))
        boards[ply + 1] = game
        child, below = boards[ply + 1], frames[ply + 1]
        play_card(child, frame.card)
        below.lead = lead(child)
        gain = below.lead - frame.lead
        below.bound = frame.bound - gain
        if is_answered(child, below, table, search):
            compare(game.player, frame, gain + below.best)
        else:
            ply += 1
    search.ply = ply


@kernel
def narrow(boards: Any, frames: Any, table: Any, search: Any) -> None:
    """Narrow the bounds of ``boards[0]`` until they meet or no nodes are left; call again to go on.

    Each answer is a new bound, so asking right next to the last one closes in on the value.
    """
    root = frames[0]
    while search.lower < search.upper and search.left > 0:
        if search.ply < 0:
            root.bound = min(max(search.guess, search.lower + 1), search.upper)
            root.lead = lead(boards[0])
            if not is_answered(boards[0], root, table, search):
                search.ply = 0
        search_on(boards, frames, table, search)
        if search.ply < 0:
            if root.best >= root.bound:
                search.lower = root.best
            else:
                search.upper = root.best


@kernel
def solve_game(game: Any, boards: Any, frames: Any, table: Any, search: Any) -> int:
    """Return by how many points seat 0 is ahead of seat 1 when the deal ends, both playing best.

    That is twice the net of seat 0. Takes a game of two players with all cards known and the memory
    of `new_scratch`; trusts its input. In a match, the deal at hand is what counts.
    """
    boards[0] = game
    boards[0].match = DEAL
    prepare(game, search)
    search.lower, search.upper, search.left = -_FAR, _FAR, _ALL
    narrow(boards, frames, table, search)
    return lead(game) + search.lower


# --- doors ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Solution:
    """What is known of a deal that both players play best, knowing every card.

    Net points are points less par in the deal at hand.
    """

    value: float
    """The net of the player on turn; where not exact, the middle of the bounds."""
    lower: float
    """The player on turn gets no less than this."""
    upper: float
    """The player on turn gets no more than this."""
    exact: bool
    """Whether the bounds met; a limit may have come first."""
    player: int
    """The seat on turn; at the end, the one that moved last."""
    card: int | None
    """The best card; if the search was cut off, the best so far. None at the end, or if unknown."""
    line: tuple[int, ...]
    """Best play of both, to the end of the deal unless a limit came first."""
    nodes: int
    """Positions looked at."""
    seconds: float
    """Time taken."""

    @property
    def nets(self) -> list[float]:
        """[P] the net of each seat."""
        return [self.value, -self.value] if self.player == 0 else [-self.value, self.value]


def solve(game: Game | Games, nodes: int | None = None, seconds: float | None = None) -> Solution:
    """Return the value of a deal of two players who know every card, and how to play it.

    `game` is a `Game` or an array of one game record, at any point of a deal; in a match, only the
    deal at hand counts. `nodes` and `seconds` limit the search, which then gives bounds. ValueError
    says what cannot be solved: views, whose cards are hidden, and games of more players.
    """
    solver = _Solver(_checked(game), nodes, seconds)
    lower, upper = solver.bounds()
    card = solver.best_known()
    line = solver.line(lower) if lower == upper else []
    net_bounds = sorted(solver.net(solver.lead + bound) for bound in (lower, upper))
    return Solution(
        value=sum(net_bounds) / 2,
        lower=net_bounds[0],
        upper=net_bounds[1],
        exact=lower == upper,
        player=solver.player,
        card=line[0] if line else card,
        line=tuple(line),
        nodes=solver.nodes,
        seconds=solver.seconds,
    )


def evaluate_cards(game: Game | Games) -> dict[int, float]:
    """Return the net of the player on turn after each legal card, both playing best from there.

    Exact; the highest is the value of `solve`, and the regret of a card is how far it is below.
    """
    return _Solver(_checked(game), None, None).evaluate_cards()


class Regret(NamedTuple):
    """What a decision cost, if both had known every card and had played best from there on."""

    decision: int
    """Its number in the deal, from 0 on."""
    player: int
    card: int
    """What was played."""
    best: int
    """What was best: `card` itself if nothing is better."""
    regret: float
    """By how many net points `best` is better; 0 where there was no choice."""


def regrets(game: Game) -> list[Regret]:
    """Return what each decision of a deal so far cost, by `evaluate_cards`.

    In a match, of the last deal. A good player has regrets too, who cannot know the cards; it is
    the difference between players that counts. ValueError as for `solve`.
    """
    positions: list[Games] = []
    replay = game.replay()
    for card in game.history:
        position = copy_games(replay.games)
        if positions and position["deals"][0] != positions[0]["deals"][0]:
            positions = []
        position["match"] = DEAL
        positions.append(position)
        replay.play(card)
    return judge(positions, game.history[len(game.history) - len(positions) :])


def judge(positions: list[Games], cards: Sequence[int]) -> list[Regret]:
    """Return what each card of a deal cost.

    `positions` are its records from the first card on, of single deals.
    """
    if not positions:
        return []
    solver = _Solver(_checked(positions[0]), None, None)
    found = []
    # Backwards, so that the table knows already what comes after a position.
    for decision in reversed(range(len(positions))):
        card = cards[decision]
        solver.move_to(positions[decision])
        if positions[decision]["legal"][0] == U64(1 << card):
            found.append(Regret(decision, solver.player, card, card, 0.0))
            continue
        values = solver.evaluate_cards()
        best = max(values, key=lambda other: (values[other], other == card))
        found.append(Regret(decision, solver.player, card, best, values[best] - values[card]))
    return found[::-1]


def _checked(game: Game | Games) -> Games:
    """Return a copy of a game that can be solved, as a single deal."""
    games = game.games if isinstance(game, Game) else game
    check_games(games)
    if len(games) != 1:
        raise ValueError(f"one game is solved at a time, not {len(games)}")
    record = games[0]
    if record["num_players"] != 2:
        raise ValueError(f"games of 2 players can be solved, not of {record['num_players']}")
    if record["viewer"] != NOBODY:
        raise ValueError(
            "a view hides cards: solve the game itself, or what determinize makes of the view"
        )
    sizes, player = record["hand_sizes"].tolist(), int(record["player"])
    ahead = sizes[player] + (record["phase"] in (TAKE_WITH_HAND, TAKE_WITH_STOCK))
    if record["phase"] != OVER and ahead - sizes[1 - player] not in (0, 1):
        raise ValueError(f"the players do not take turns with hands of {sizes} cards")
    deal, ended = copy_games(games), copy_games(games)
    deal["match"] = ended["match"] = DEAL
    while ended["legal"][0]:
        play_batch(ended, np.array((lowest(ended["legal"][0]),)))
    left = DECK & ~np.bitwise_or.reduce(ended["captured"][0])
    if left:
        raise ValueError(f"not a whole deal: nobody can get {card_names(left)}")
    return deal


def _checked_limit(name: str, value: Any, kind: type) -> Any:
    numbers = (int, np.integer) if kind is int else (int, float, np.integer, np.floating)
    if isinstance(value, bool) or not isinstance(value, numbers) or not value >= 0:
        number = "an integer" if kind is int else "a number"
        raise ValueError(f"{name} must be {number} from 0 up, or None, not {value!r}")
    return kind(value)


class _Solver:
    """A search from one position, in slices, so that limits and Ctrl-C are heeded."""

    def __init__(self, game: Games, nodes: int | None, seconds: float | None) -> None:
        self._most_nodes = _ALL if nodes is None else _checked_limit("nodes", nodes, int)
        limit_s = math.inf if seconds is None else _checked_limit("seconds", seconds, float)
        self._began = time.perf_counter()
        self._ends = self._began + limit_s
        self._scratch = new_scratch()
        self.nodes = 0
        self.move_to(game)
        prepare(game[0], self._scratch.search)

    def move_to(self, game: Games) -> None:
        """Look at another position, further on in the same deal."""
        self._game = game
        self.player = int(game["player"][0])
        self.lead = int(lead(game[0]))

    @property
    def seconds(self) -> float:
        return time.perf_counter() - self._began

    def net(self, final_lead: float) -> float:
        """Return the net of the player on turn from the lead of seat 0 at the end."""
        return final_lead / 2 if self.player == 0 else -final_lead / 2

    def bounds(self) -> tuple[int, int]:
        """Return how high the lead still to be won is."""
        record, root = self._game[0], self._scratch.frames[0]
        if record["phase"] == OVER:
            return 0, 0
        limit(record, root, self._scratch.search)
        return self._narrow(self._game, int(root["lower"]), int(root["upper"]))

    def best_known(self) -> int | None:
        """Return the card that the table holds for the position, or None."""
        record, table = self._game[0], self._scratch.table
        key = U64(key_of(record, self._scratch.search))
        entry = table[find(key, table)]
        # The end of a deal has no entry, and none has its key but by a chance of 2 ** -64.
        return int(entry["card"]) if entry["key"] == key else None

    def line(self, value: int) -> list[int]:
        """Return best play from the position, whose lead still to be won is `value`."""
        game, cards = copy_games(self._game), []
        while game["phase"][0] != OVER:
            ahead = int(lead(game[0]))
            for card, child in self._children(game):
                still = value - int(lead(child[0])) + ahead
                if self._keeps(child, still, int(game["player"][0])):
                    game, value = child, still
                    cards.append(card)
                    break
            else:
                return cards  # the limit came first
        return cards

    def evaluate_cards(self) -> dict[int, float]:
        """Return the net of the player on turn after each legal card."""
        values: dict[int, float] = {}
        search = self._scratch.search
        for card, child in self._children(self._game):
            still, _ = self._narrow(child, -_FAR, _FAR)
            search["guess"] = still
            values[card] = self.net(int(lead(child[0])) + still)
        legal = int(self._game["legal"][0])
        for card in card_list(legal):
            if card not in values:
                equal = lowest(canonical(U64(1 << card), search))
                values[card] = values[equal]
        return {card: values[card] for card in card_list(legal)}

    def _children(self, game: Games) -> list[tuple[int, Games]]:
        """Return the positions after each legal card, equal cards once."""
        children = []
        for card in card_list(distinct(game["legal"][0], self._scratch.search)):
            child = copy_games(game)
            play_batch(child, np.array((card,)))
            children.append((card, child))
        return children

    def _keeps(self, child: Games, value: int, player: int) -> bool:
        """Tell whether the lead still to be won after a player's card is as good as `value`."""
        if child["phase"][0] == OVER:
            return value == 0
        # Two bounds next to each other make narrowing a single question.
        low, high = (value - 1, value) if player == 0 else (value, value + 1)
        lower, upper = self._narrow(child, low, high)
        return lower >= value if player == 0 else upper <= value

    def _narrow(self, game: Games, lower: int, upper: int) -> tuple[int, int]:
        """Return narrower bounds of the lead still to be won, equal unless a limit came first."""
        boards, _, _, search = self._scratch
        boards[0] = game[0]
        search["lower"], search["upper"], search["ply"] = lower, upper, -1
        while search["lower"] < search["upper"]:
            part = min(_SLICE, self._most_nodes - self.nodes)
            if part <= 0 or time.perf_counter() >= self._ends:
                break
            search["left"] = part
            narrow(*self._scratch)
            self.nodes += part - int(search["left"])
        return int(search["lower"]), int(search["upper"])
