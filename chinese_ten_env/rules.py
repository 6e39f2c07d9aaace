"""The variants of Chinese Ten, each a row of data.

Everybody fishes for points with the same capture relation; the variants differ in the cards that
score and in a few switches. Sources: the written rules of the mainland, Taiwanese and Thai games,
and of the tables of the `g4a` card programs; the README prints the rules of play, R1 to R12.

Scoring systems (points of a captured card):

- *red*: red 2 to 8 their pip value; red 9, T, J, Q, K ten each; red aces twenty each (ten in
  ``taiwan_low_aces``). Black cards nothing, but for the black aces that a variant names.
- *black* (Thai): black 2 to 9 their pip value; black T, J, Q, K ten each; AS fifty; AC and all
  red cards nothing.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from types import MappingProxyType
from typing import Any

from chinese_ten_env.cards import CARD_NAMES, SUITS, card, is_red

MAX_PLAYERS = 4
HAND_CARDS = 24
"""Cards dealt to all hands together, and as many again to the stock: also the turns of a deal."""
LAYOUT_CARDS = 4

RED_PIPS = (20, 2, 3, 4, 5, 6, 7, 8, 10, 10, 10, 10, 10)
BLACK_PIPS = (0, 2, 3, 4, 5, 6, 7, 8, 9, 10, 10, 10, 10)
"""[13] points by rank, A to K. A red nine is worth ten, a black nine of the Thai game nine."""

CHOICES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "scoring": ("red", "black"),
        "capture": ("card", "hand"),
        "leader": ("left", "dealer"),
        "peek": ("none", "dealer", "last"),
        "red_five_trigger": ("red_takes_red", "pile"),
        "match": ("deal", "net", "raw"),
    }
)
"""The switches that take one of a few words; the first is the default."""

DEFAULT_TARGETS = MappingProxyType({"deal": 0, "net": 100, "raw": 1000})
MAX_LEVY = 1000
MAX_TARGET = 1_000_000


def unknown_choice(kind: str, given: object, choices: Iterable[object]) -> ValueError:
    """Return the error for a word that is none of the choices, with the closest of them."""
    words = [str(choice) for choice in choices]
    close = difflib.get_close_matches(str(given), words, n=1)
    hint = f" Did you mean {close[0]!r}?" if close else ""
    return ValueError(f"unknown {kind} {given!r}; choose one of {', '.join(words)}.{hint}")


def _check_integer(name: str, value: object, low: int, high: int) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        raise ValueError(f"{name} must be an integer from {low} to {high}, not {value!r}")


@dataclass(frozen=True)
class Rules:
    """The rules of one table: a variant, a number of players, and the switches.

    What differs between variants is a field here, never a branch in the engine. Bad values raise
    ValueError.
    """

    variant: str
    num_players: int
    scoring: str = "red"
    special_points: tuple[tuple[str, int], ...] = ()
    """Cards whose points differ from the scoring system's, as (name, points)."""
    capture: str = "card"
    """``hand``: if any card of the hand can capture, a capturing card must be played."""
    leader: str = "left"
    """Who plays first: the seat after the dealer, or the dealer."""
    sweep_reverses: bool = False
    """A table that is empty after the flip turns the direction of play round."""
    peek: str = "none"
    """Who knows the bottom card of the stock: nobody, the dealer, or the seat before the leader."""
    red_five_levy: int = 0
    """Points that each other player pays for a levy; 0 for none."""
    red_five_trigger: str = "red_takes_red"
    """``pile``: both red fives in one pile, instead of one taking the other."""
    match: str = "deal"
    """One deal, deals to a target of net points, or deals to a target of points."""
    target: int | None = None
    """What ends a match; None for the default of the kind of match."""

    def __post_init__(self) -> None:
        _check_integer("num_players", self.num_players, 2, MAX_PLAYERS)
        for name, choices in CHOICES.items():
            if getattr(self, name) not in choices:
                raise unknown_choice(name, getattr(self, name), choices)
        if not isinstance(self.sweep_reverses, bool):
            raise ValueError(f"sweep_reverses must be True or False, not {self.sweep_reverses!r}")
        _check_integer("red_five_levy", self.red_five_levy, 0, MAX_LEVY)
        for name, points in self.special_points:
            card(name)
            _check_integer(f"points of {name}", points, 0, 63)
        if self.match == "deal":
            if self.target not in (None, 0):
                raise ValueError(
                    f"target={self.target!r} has no meaning with match='deal'; "
                    "use match='net' or match='raw'"
                )
            object.__setattr__(self, "target", 0)
        else:
            if self.target is None:
                object.__setattr__(self, "target", DEFAULT_TARGETS[self.match])
            _check_integer("target", self.target, 1, MAX_TARGET)

    @cached_property
    def points(self) -> tuple[int, ...]:
        """[52] the points of each card, in card order."""
        special = dict(self.special_points)
        return tuple(
            special.get(name, self._pips(number)) for number, name in enumerate(CARD_NAMES)
        )

    def _pips(self, number: int) -> int:
        if is_red(number) != (self.scoring == "red"):
            return 0
        return (RED_PIPS if self.scoring == "red" else BLACK_PIPS)[number // len(SUITS)]

    @property
    def total(self) -> int:
        """The points of all cards together."""
        return sum(self.points)

    @property
    def par(self) -> float:
        """An even share of the points. Nets are points - par, so they sum to zero."""
        return self.total / self.num_players

    @property
    def exact_par(self) -> Fraction:
        """`par` without rounding: 218 points are 72 2/3 for each of three players."""
        return Fraction(self.total, self.num_players)

    @property
    def hand_size(self) -> int:
        """Cards that each player is dealt."""
        return HAND_CARDS // self.num_players

    @property
    def max_net(self) -> float:
        """No deal pays a player more net points than this, nor less than its negative."""
        return self.total + self.red_five_levy * (self.num_players - 1)


@dataclass(frozen=True)
class Variant:
    """What is known of a variant: its player counts and the rules of each."""

    name: str
    description: str
    tables: Mapping[int, Rules]
    """The rules by number of players, smallest number first."""
    match: str
    """The kind of match that is usual for it."""

    @property
    def num_players(self) -> tuple[int, ...]:
        """The player counts it allows, in ascending order."""
        return tuple(self.tables)


def _variant(
    name: str,
    description: str,
    special_points: Mapping[int, tuple[tuple[str, int], ...]],
    match: str = "net",
    **switches: Any,
) -> Variant:
    tables = {
        players: Rules(name, players, special_points=special, **switches)
        for players, special in special_points.items()
    }
    return Variant(name, description, MappingProxyType(tables), match)


_SPADE_ACE = (("AS", 30),)
_BLACK_ACES = (("AS", 30), ("AC", 40))
_LOW_ACES = (("AD", 10), ("AH", 10), ("AS", 30))
_THAI_ACE = (("AS", 50),)
_TAIWAN: Mapping[str, Any] = MappingProxyType(
    {"leader": "dealer", "sweep_reverses": True, "peek": "dealer", "red_five_levy": 10}
)

VARIANTS: Mapping[str, Variant] = MappingProxyType(
    {
        variant.name: variant
        for variant in (
            _variant(
                "mainland",
                "the common game: red cards score, black aces too with three or four players",
                {2: (), 3: _SPADE_ACE, 4: _BLACK_ACES},
            ),
            _variant(
                "taiwan",
                "the dealer leads and peeks, a sweep turns the direction, red fives levy",
                {4: _SPADE_ACE},
                **_TAIWAN,
            ),
            _variant(
                "taiwan_low_aces",
                "as taiwan, with red aces worth ten",
                {2: _LOW_ACES, 4: _LOW_ACES},
                **_TAIWAN,
            ),
            _variant(
                "gob_dum_gob_dang",
                "the Thai game: black cards score, the ace of spades most",
                {2: _THAI_ACE, 3: _THAI_ACE, 4: _THAI_ACE},
                scoring="black",
            ),
            _variant(
                "g4a",
                "three players, red cards, usually a match to 1000 points",
                {3: _SPADE_ACE},
                match="raw",
            ),
            _variant(
                "g4a_gob_dum_gob_dang",
                "three players, black cards, usually a match to 1000 points",
                {3: _THAI_ACE},
                match="raw",
                scoring="black",
            ),
        )
    }
)
"""Every variant by name."""

SWITCHES = (
    "capture",
    "leader",
    "sweep_reverses",
    "peek",
    "red_five_levy",
    "red_five_trigger",
    "match",
    "target",
)
"""The fields of `Rules` that `make_rules` lets a caller set."""


def make_rules(variant: str = "mainland", num_players: int | None = None, **switches: Any) -> Rules:
    """Return the rules of a variant; `num_players=None` is the smallest count that it allows.

    Switches: ``capture``, ``leader``, ``sweep_reverses``, ``peek``, ``red_five_levy``,
    ``red_five_trigger``, ``match``, ``target``; each has the variant's own value unless given, and
    ``match`` is ``"deal"``, a single deal, unless given. ValueError names the choices.
    """
    row = VARIANTS.get(variant) if isinstance(variant, str) else None
    if row is None:
        raise unknown_choice("variant", variant, VARIANTS)
    if num_players is None:
        num_players = row.num_players[0]
    rules = row.tables.get(num_players) if isinstance(num_players, int) else None
    if rules is None:
        counts = " or ".join(str(count) for count in row.num_players)
        raise ValueError(f"{variant} is a game for {counts} players, not {num_players!r}")
    for name in switches:
        if name not in SWITCHES:
            raise unknown_choice("switch", name, SWITCHES)
    if "match" in switches:
        switches.setdefault("target", None)  # the row's own is that of its kind of match
    return replace(rules, **switches)
