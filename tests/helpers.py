"""What several test files share: tables, decks with rare layouts, and ways to choose actions."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Sequence

import numpy as np

import chinese_ten_env as ct
from chinese_ten_env.engine import Games
from tests.reference import CARDS, SAME_RANK, SUITS

TABLES = tuple(
    (variant, num_players) for variant, row in ct.VARIANTS.items() for num_players in row.tables
)
"""Every (variant, num_players)."""

LAYOUT = slice(24, 28)
"""Where the layout lies in a deck."""

_WORD = (1 << 64) - 1


def table_id(table: tuple[str, int]) -> str:
    """Name a table for pytest: ``mainland-2``."""
    return "-".join(str(part) for part in table)


def mixed(number: int) -> int:
    """Return a random-looking word of 64 bits, the same on every platform (SplitMix64)."""
    word = (number + 1) * 0x9E3779B97F4A7C15 & _WORD
    word = (word ^ word >> 30) * 0xBF58476D1CE4E5B9 & _WORD
    word = (word ^ word >> 27) * 0x94D049BB133111EB & _WORD
    return word ^ word >> 31


def with_layout(deck: Sequence[int], layout: str | Iterable[int]) -> list[int]:
    """Return the deck with these cards as the (first cards of the) layout, exchanged for others."""
    numbers = [ct.card(name) for name in layout.split()] if isinstance(layout, str) else layout
    changed = list(deck)
    for place, number in enumerate(numbers, start=LAYOUT.start):
        other = changed.index(number)
        changed[place], changed[other] = number, changed[place]
    return changed


def of_a_rank(rank: str, count: int, rng: random.Random) -> list[int]:
    """Return some cards of one rank, in random order."""
    return [ct.card(rank + suit) for suit in rng.sample(SUITS, count)]


def random_deck(rng: random.Random, same_rank: int = 0) -> list[int]:
    """Return a deck, top first; `same_rank` cards of one of 5, T, J, Q, K lie on the layout.

    3 makes a triple (never a quad), 4 a quad; the layout is shuffled. 0 forces nothing.
    """
    deck = list(range(52))
    rng.shuffle(deck)
    if same_rank:
        rank = rng.choice(SAME_RANK)
        forced = of_a_rank(rank, same_rank, rng)
        others = [number for number in deck if CARDS[number][0] != rank]
        layout = [*forced, *rng.sample(others, 4 - same_rank)]
        rng.shuffle(layout)
        deck = with_layout(deck, layout)
    return deck


def random_decks(rng: random.Random, count: int) -> list[list[int]]:
    """Return decks of which every sixth holds a forced triple and every sixth a forced quad."""
    return [random_deck(rng, {1: 3, 4: 4}.get(number % 6, 0)) for number in range(count)]


def random_switches(rng: random.Random) -> dict[str, object]:
    """Return a random setting of all switches of a single deal."""
    return {
        "capture": rng.choice(["card", "hand"]),
        "leader": rng.choice(["left", "dealer"]),
        "sweep_reverses": rng.choice([False, True]),
        "peek": rng.choice(["none", "dealer", "last"]),
        "red_five_levy": rng.choice([0, 5, 10, 20]),
        "red_five_trigger": rng.choice(["red_takes_red", "pile"]),
    }


def on_the_way(rules: ct.Rules, size: int, seed: int) -> Games:
    """Return games in progress, each 0 to 23 random actions on from its start."""
    games = ct.new_games(rules, size, seed=seed)
    generator, choose = np.random.default_rng(seed), ct.make_policy("random")
    # A deal has at least 24 decisions, so none of them is over.
    for done in range(23):
        moving = np.arange(size) % 24 > done
        part = games[moving]
        ct.play(part, choose(ct.views(part), generator))
        games[moving] = part
    return games


class Convention:
    """Chooses the hand card dealt earliest, and the target that has lain longest on the table.

    Call it with the legal actions of every decision of one deal, in order; who decides does not
    matter. The deck is as dealt, top first.
    """

    def __init__(self, deck: Sequence[int]) -> None:
        """Begin a deal."""
        self._deck = [int(number) for number in deck]
        self._in_hands = set(self._deck[: LAYOUT.start])
        # When each card came to the table, were it to lie there.
        self._since = {number: place for place, number in enumerate(self._deck[LAYOUT])}
        self._stock = iter(self._deck[LAYOUT.stop :])

    def __call__(self, legal: Iterable[int]) -> int:
        """Return the action."""
        choices = [int(number) for number in legal]
        if not self._in_hands.issuperset(choices):
            return min(choices, key=self._since.__getitem__)
        played = min(choices, key=self._deck.index)
        self._in_hands.remove(played)
        for number in (played, next(self._stock)):
            self._since[number] = len(self._since)
        return played


def play_out(game: ct.Game, choose: Callable[[list[int]], int]) -> ct.Game:
    """Play a game to its end with a function that chooses among the legal actions."""
    while not game.is_over:
        game.play(choose(game.legal))
    return game


def random_choice(rng: random.Random) -> Callable[[list[int]], int]:
    """Return a chooser for `play_out` that plays uniformly at random."""
    return rng.choice


def piles_worth(rules: ct.Rules, points: Sequence[int], cards: Iterable[int]) -> list[list[int]]:
    """Return the cards divided into piles, each of an even number, that are worth these points."""
    values = {number: rules.points[number] for number in cards}
    scoring = sorted((number for number in values if values[number]), key=values.__getitem__)
    piles: list[list[int]] = [[] for _ in points]
    left = list(points)

    def divide() -> bool:
        if not scoring:
            return not any(left)
        number = scoring.pop()
        for seat, pile in enumerate(piles):
            if left[seat] >= values[number]:
                left[seat] -= values[number]
                pile.append(number)
                if divide():
                    return True
                pile.pop()
                left[seat] += values[number]
        scoring.append(number)
        return False

    if not divide():
        raise ValueError(f"these cards do not make {points}")
    spare = [number for number in values if not values[number]]
    for pile in piles:
        if len(pile) % 2:
            pile.append(spare.pop())
    piles[0] += spare
    return piles
