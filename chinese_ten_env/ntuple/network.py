"""A small network over n-tuple features: what each legal card is worth, in net points.

The rows of all features that are true are added up and rectified to what is known of the table
(`width` numbers); that gives a context of 64 numbers. To it each card adds a row for how its own
rank lies, one for how the rank lies that it captures and one for itself and the phase; rectified,
through one more layer of 64, they are what the card is worth beside the others. That last layer is
worth more than twice the width. A second network, without cards, tells what a player may still win.

N-tuple networks learn to play from lookup tables like these: Lucas (2008) for Othello, Szubert and
Jaśkowski (2014) for 2048. The sum of rows is what makes them quick: a decision takes one or two
microseconds, so that whole deals can be played out while one learns.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from chinese_ten_env.bits import EMPTY, ONE
from chinese_ten_env.cards import NUM_CARDS
from chinese_ten_env.engine import Games, blank_games
from chinese_ten_env.jit import inlined_kernel, kernel
from chinese_ten_env.machine import lowest
from chinese_ten_env.ntuple.features import (
    MORE,
    MOST,
    PARTNER_RANK,
    PHASES,
    rank_codes,
    write_features,
)
from chinese_ten_env.rules import Rules
from chinese_ten_env.vectors import ROW, add_products, add_rows, dot, rectified_sum, rectify

CARDS = PHASES * NUM_CARDS

# Where the parts begin in the weights: the places in a plan.
(
    FIRST,
    WIDTH,
    BIAS,
    MIXING,
    CONTEXT,
    OWN,
    PARTNER,
    CARD,
    JOINING,
    JOINT,
    OUTPUT,
    SIZE,
) = range(12)


def make_plan(codes: int, width: int, *, cards: bool) -> npt.NDArray[np.int64]:
    """Return where each part of the weights begins, int64 [12], for so many codes of ranks."""
    features = codes + MORE
    plan = np.zeros(SIZE + 1, dtype=np.int64)
    plan[FIRST], plan[WIDTH] = codes, width
    sizes = [features * width, width, width * ROW, ROW]
    of_cards = [codes * ROW, codes * ROW, CARDS * ROW, ROW * ROW, ROW]
    sizes += of_cards if cards else [0] * len(of_cards)
    plan[BIAS:OUTPUT] = np.cumsum(sizes)[: OUTPUT - BIAS]
    plan[OUTPUT] = sum(sizes)
    plan[SIZE] = sum(sizes) + ROW
    return plan


# --- kernels --------------------------------------------------------------------------------


class Tables(NamedTuple):
    """What a network is, for kernels."""

    weights: npt.NDArray[np.float32]
    plan: npt.NDArray[np.int64]
    codes: npt.NDArray[np.int32]


class Desk(NamedTuple):
    """What kernels work at; what they wrote there last is there still."""

    features: npt.NDArray[np.int64]
    """[MOST] of a view."""
    starts: npt.NDArray[np.int64]
    """[MOST + 1] where rows to add up begin."""
    known: npt.NDArray[np.float32]
    """[width] what is known of the table."""
    context: npt.NDArray[np.float32]
    """[64]"""
    rows: npt.NDArray[np.float32]
    """[128] the two layers of a card."""


def make_desk(width: int) -> Desk:
    """Return a desk for networks of a width."""
    return Desk(
        np.zeros(MOST, dtype=np.int64),
        np.zeros(MOST + 1, dtype=np.int64),
        np.zeros(width, dtype=np.float32),
        np.zeros(ROW, dtype=np.float32),
        np.zeros(2 * ROW, dtype=np.float32),
    )


@inlined_kernel
def write_context(tables: Any, desk: Any, count: int) -> None:
    """Write what so many features tell of the table, and the context."""
    weights, plan, starts = tables.weights, tables.plan, desk.starts
    width = plan[WIDTH]
    for place in range(count):
        starts[place] = desk.features[place] * width
    starts[count] = plan[BIAS]
    desk.known[:] = np.float32(0)
    for at in range(0, width, ROW):
        add_rows(weights, starts, count + 1, at, desk.known, at)
        rectify(desk.known, at)
    desk.context[:] = np.float32(0)
    starts[0] = plan[CONTEXT]
    add_rows(weights, starts, 1, 0, desk.context, 0)
    add_products(weights, plan[MIXING], ROW, desk.known, 0, width, desk.context, 0)


@inlined_kernel
def worth_of_card(
    tables: Any, desk: Any, own: int, partner: int, card: int, rows: Any, at: int
) -> float:
    """Return what a card is worth; its two rectified layers go to `rows` from `at` on, 128."""
    weights, plan = tables.weights, tables.plan
    rectified_sum(
        desk.context,
        0,
        weights,
        plan[OWN] + own * ROW,
        plan[PARTNER] + partner * ROW,
        plan[CARD] + card * ROW,
        rows,
        at,
    )
    second = at + ROW
    rows[second : second + ROW] = np.float32(0)
    desk.starts[0] = plan[JOINT]
    add_rows(weights, desk.starts, 1, 0, rows, second)
    add_products(weights, plan[JOINING], ROW, rows, at, ROW, rows, second)
    rectify(rows, second)
    worth: float = dot(rows, second, weights, plan[OUTPUT])
    return worth


@inlined_kernel
def look(view: Any, tables: Any, desk: Any) -> int:
    """Write the features of a view and the context; return how many features there are."""
    count = write_features(view, tables.codes, tables.plan[FIRST], desk.features)
    write_context(tables, desk, count)
    return count


@inlined_kernel
def worth_in_view(view: Any, card: int, tables: Any, desk: Any) -> float:
    """Return what a legal card is worth, after `look`."""
    rank = card >> 2
    own, partner = desk.features[rank], desk.features[PARTNER_RANK[rank]]
    return worth_of_card(tables, desk, own, partner, NUM_CARDS * view.phase + card, desk.rows, 0)


@inlined_kernel
def best_card(view: Any, tables: Any, desk: Any) -> int:
    """Return the legal card that is worth most, of equals the lowest."""
    cards = view.legal
    if cards & (cards - ONE) == EMPTY:
        return lowest(cards)
    look(view, tables, desk)
    best, chosen = -np.inf, -1
    while cards != EMPTY:
        card = lowest(cards)
        cards &= cards - ONE
        worth = worth_in_view(view, card, tables, desk)
        if worth > best:
            best, chosen = worth, card
    return chosen


@inlined_kernel
def still_to_win(view: Any, tables: Any, desk: Any) -> float:
    """Return what the owner of a view may still win, by a network without cards."""
    look(view, tables, desk)
    rectify(desk.context, 0)
    left: float = dot(desk.context, 0, tables.weights, tables.plan[OUTPUT])
    return left


@kernel
def _choose(views: Any, tables: Any, desk: Any, cards: Any) -> None:
    """Write the best card for each view to `cards` [B]."""
    for index in range(len(views)):
        cards[index] = best_card(views[index], tables, desk)


@kernel
def _weigh(views: Any, tables: Any, desk: Any, worth: Any) -> None:
    """Write what each legal card is worth to `worth` [B, 52]."""
    for index in range(len(views)):
        view = views[index]
        look(view, tables, desk)
        cards = view.legal
        while cards != EMPTY:
            card = lowest(cards)
            cards &= cards - ONE
            worth[index, card] = worth_in_view(view, card, tables, desk)


# --- doors ----------------------------------------------------------------------------------


class Network:
    """Weights and what they belong to; a policy that plays the card that is worth most.

    `weights` is float32 [plan[SIZE]]. `codes` int32 [13, 256] and `plan` int64 [12] follow from
    the rules and the width, a multiple of 64; with ``cards=False`` it tells values and plays none.
    ValueError for another width, or weights of another size.
    """

    def __init__(
        self,
        rules: Rules,
        width: int = ROW,
        weights: npt.NDArray[np.float32] | None = None,
        *,
        cards: bool = True,
        name: str = "ntuple",
    ) -> None:
        if width < ROW or width % ROW:
            raise ValueError(f"width must be a multiple of {ROW}, not {width}")
        self.rules, self.width, self.name = rules, width, name
        self._learned = blank_games(rules, 1)
        self.codes, count = rank_codes(rules)
        self.plan = make_plan(count, width, cards=cards)
        size = int(self.plan[SIZE])
        self.weights = np.zeros(size, dtype=np.float32) if weights is None else weights
        if self.weights.shape != (size,) or self.weights.dtype != np.float32:
            raise ValueError(
                f"the weights of this network are float32 [{size}], not {self.weights.dtype} "
                f"{list(self.weights.shape)}"
            )

    @property
    def tables(self) -> Tables:
        """What kernels need of it."""
        return Tables(self.weights, self.plan, self.codes)

    def __call__(self, views: Games, rng: np.random.Generator) -> npt.NDArray[np.int64]:
        """Return a card for each view, int64 [B]; `rng` is not used."""
        self._check(views)
        cards = np.empty(len(views), dtype=np.int64)
        _choose(views, self.tables, make_desk(self.width), cards)
        return cards

    def network_for(self, views: Games) -> Network:
        """Return the network that plays these views: itself; ValueError for another game's."""
        self._check(views)
        return self

    def worth(self, views: Games) -> npt.NDArray[np.float32]:
        """Return the net points that each legal card is worth beside the others, [B, 52].

        Only differences within a row mean anything; illegal cards have 0.
        """
        self._check(views)
        worth = np.zeros((len(views), NUM_CARDS), dtype=np.float32)
        _weigh(views, self.tables, make_desk(self.width), worth)
        return worth

    def _check(self, views: Games) -> None:
        for name in ("num_players", "point_bits", "levy"):
            if (views[name] != self._learned[name]).any():
                raise ValueError(
                    f"{self.name} learned the points of {self.rules.variant} with "
                    f"{self.rules.num_players} players, and can play no other game"
                )

    def randomize(self, seed: int) -> None:
        """Draw the weights with which learning begins."""
        rng = np.random.default_rng(seed)
        draw = rng.standard_normal(len(self.weights)).astype(np.float32)
        plan = self.plan
        spans = (
            (0, plan[BIAS], 0.15),
            (plan[BIAS], plan[MIXING], 0.0),
            (plan[MIXING], plan[CONTEXT], 1.0 / np.sqrt(self.width)),
            (plan[CONTEXT], plan[OWN], 0.0),
            (plan[OWN], plan[JOINING], 0.3),
            (plan[JOINING], plan[JOINT], 1.0 / np.sqrt(ROW)),
            (plan[JOINT], plan[OUTPUT], 0.0),
            (plan[OUTPUT], plan[SIZE], 0.3),
        )
        for start, stop, spread in spans:
            self.weights[start:stop] = draw[start:stop] * np.float32(spread)
