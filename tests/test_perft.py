"""The number of action sequences from pinned late positions, per variant.

A slip of the rules that no other test meets changes a count. Each number was found by the library
and by the slow reference, and both are counted again here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import chinese_ten_env as ct
from tests.reference import CARDS, ReferenceGame, copied

TENS = (
    "hands AC 4H QC KD / AD 2C 6H | table 8C 8H 9D 9S TC TD TS QH | stock 9H 8S AH TH 2D KH 2S"
    " | piles AS 2H 3D 4C 5D 5H 6C 7S 8D 9C JH JS QD QS"
    " / 3C 3H 3S 4D 4S 5C 5S 6D 6S 7C 7D 7H JC JD KC KS"
    " | player 0 | dealer 0 | laid 9S / 8H 9D | last JD / 5S | levier 0"
)
"""Two players, three tens on the table since the layout; the fourth comes from the stock."""

KINGS = (
    "hands 7H 7S / 7C 8S TC / 8D KS | table AC AS 3C 3D 3H 6C TS KC KD KH | stock 3S 9C 4S 7D 2S"
    " 2D 9H | piles AH 4C 5C 5D 5H 5S 6S 9D JC JD JH JS / 2C 4H 6H 8H TD TH QC QS"
    " / AD 2H 4D 6D 8C 9S QD QH | player 1 | dealer 1 | laid AC / 3C / - | last JC / 9D"
)
"""Three players, three kings on the table, the fourth in a hand; three threes to choose from."""

SWEEPS = (
    "hands 6S QC / 2C TS / 2H 9D QD / AD 8D TC | table AC 7H JD QH | stock QS 3H 9S JC 9H 6C AS 4D"
    " 8C 4S | piles AH 2S 5C 5H 8S 9C / 3D 3S 4H 5D 5S 6D 7C 7S TD TH / 2D 4C 6H 8H"
    " / 3C 7D JH JS KC KD KH KS"
    " | player 2 | dealer 0 | laid - / AC JD / - / - | last JD / TH"
)
"""Four players, with ways to empty the table in the middle of a round."""

REVERSED = (
    "hands 2H 8H 9C / 2S KS / 4D JS / 2C 4H 6H | table 3C 6D 8C JC | stock 7D AD KC 2D 8S 8D 5D TH"
    " TC 5C | piles 3H 7C QC QS KD KH / AH AS 9H 9S TD TS JD JH / 3D 3S 5H 5S 7H 7S"
    " / AC 4C 4S 6C 6S 9D QD QH"
    " | player 3 | dealer 1 | direction - | laid - / 8C / - / JC | last 7S / 6D"
)
"""Four players, the direction reversed already."""


@dataclass(frozen=True)
class Count:
    """The sequences of actions from a position, under some rules."""

    name: str
    position: str
    variant: str
    num_players: int
    switches: dict[str, Any]
    plies: str  # unfinished and just finished games after 0, 1, 2, ... actions
    complete: int  # sequences that end the deal
    points: str  # of each seat, summed over the complete sequences


COUNTS = (
    Count(
        "plain 2",
        TENS,
        "mainland",
        2,
        {},
        "1 4 11 30 86 198 414 924 2112 3252 4224 4224",
        4224,
        "435200 451840",
    ),
    Count(
        "capture=hand 2",
        TENS,
        "mainland",
        2,
        {"capture": "hand"},
        "1 2 4 9 13 20 30 50 100 200 200 200",
        200,
        "21560 20440",
    ),
    Count(
        "Thai 2",
        TENS,
        "gob_dum_gob_dang",
        2,
        {},
        "1 4 11 30 86 198 414 924 2112 3252 4224 4224",
        4224,
        "528576 392256",
    ),
    Count(
        "low aces 2",
        TENS,
        "taiwan_low_aces",
        2,
        {},
        "1 4 11 30 86 198 414 924 2112 3252 4224 4224",
        4224,
        "561920 367360",
    ),
    Count(
        "plain 3",
        KINGS,
        "mainland",
        3,
        {},
        "1 3 7 14 28 88 200 528 864 1056 1392 1776 1440",
        1776,
        "132816 130464 162960",
    ),
    Count(
        "capture=hand 3",
        KINGS,
        "mainland",
        3,
        {"capture": "hand"},
        "1 2 4 5 10 28 52 84 168 168 168 168",
        168,
        "11736 12624 15960",
    ),
    Count(
        "Thai 3",
        KINGS,
        "gob_dum_gob_dang",
        3,
        {},
        "1 3 7 14 28 88 200 528 864 1056 1392 1776 1440",
        1776,
        "112464 139296 135408",
    ),
    Count(
        "sweeps 4",
        SWEEPS,
        "taiwan",
        4,
        {},
        "1 3 9 18 36 70 140 216 256 308 488 560 628 328",
        684,
        "40800 36480 38236 48644",
    ),
    Count(
        "no sweeps 4",
        SWEEPS,
        "taiwan",
        4,
        {"sweep_reverses": False},
        "1 3 9 18 36 72 144 218 258 308 492 564 640 336",
        692,
        "41960 36912 37764 49444",
    ),
    Count(
        "sweeps, capture=hand 4",
        SWEEPS,
        "taiwan",
        4,
        {"capture": "hand"},
        "1 2 6 9 12 18 20 29 30 40 60 68 72 32",
        84,
        "5600 4496 4200 5864",
    ),
    Count(
        "Thai 4",
        SWEEPS,
        "gob_dum_gob_dang",
        4,
        {},
        "1 3 9 18 36 72 144 218 258 308 492 564 640 336",
        692,
        "54260 34208 25236 37152",
    ),
    Count(
        "reversed 4",
        REVERSED,
        "taiwan_low_aces",
        4,
        {},
        "1 3 6 12 34 71 126 150 202 296 423 496 424 264 96",
        589,
        "28986 48354 15639 36601",
    ),
    Count(
        "no sweeps from reversed 4",
        REVERSED,
        "taiwan",
        4,
        {"sweep_reverses": False},
        "1 3 6 12 34 72 125 148 200 296 422 496 428 264 96",
        590,
        "34892 54364 15684 36660",
    ),
)

EVERY_COUNT = pytest.mark.parametrize("count", COUNTS, ids=lambda count: str(count.name))


def start(count: Count) -> ct.Game:
    """Return the game at the position."""
    rules = ct.make_rules(count.variant, count.num_players, **count.switches)
    return ct.Game.from_text(count.position, rules)


def reference_at(count: Count) -> ReferenceGame:
    """Return the reference at the position, read without the library."""
    sections = dict(part.split(" ", 1) for part in count.position.split(" | "))
    cards = {
        name: [text.replace("-", "").split() for text in sections[name].split(" / ")]
        for name in ("hands", "table", "stock", "piles")
    }
    game = ReferenceGame(count.variant, count.num_players, CARDS, 0, **count.switches)
    game.hands, game.piles = cards["hands"], cards["piles"]
    (game.table,), (game.stock,) = cards["table"], cards["stock"]
    game.player, game.dealer = int(sections["player"]), int(sections["dealer"])
    game.direction = -1 if "direction" in sections else 1
    if "levier" in sections:
        game.captures.append((int(sections["levier"]), "5H", ["5D"]))
    return game


@EVERY_COUNT
def test_perft_of_the_batch(count: Count) -> None:
    game = start(count)
    games, plies, complete = game.games, [], 0
    points = np.zeros(count.num_players, dtype=np.int64)
    while len(games):
        plies.append(len(games))
        over = ct.is_over(games)
        complete += int(over.sum())
        points += ct.points(games[over], game.rules).sum(axis=0)
        indices, cards = np.nonzero(ct.action_masks(games))
        games = games[indices]
        ct.play(games, cards)
    assert " ".join(map(str, plies)) == count.plies
    assert complete == count.complete
    assert " ".join(map(str, points)) == count.points


@EVERY_COUNT
def test_perft_of_one_game_and_its_clones(count: Count) -> None:
    games, plies = [start(count)], []
    pinned = count.plies.split()[:7]
    for _ in pinned:
        plies.append(str(len(games)))
        following = []
        for game in games:
            for action in game.legal:
                following.append(game.clone())
                following[-1].play(action)
        games = following
    assert plies == pinned


@EVERY_COUNT
def test_perft_of_the_reference(count: Count) -> None:
    games, plies, complete = [reference_at(count)], [], 0
    points = [0] * count.num_players
    while games:
        plies.append(len(games))
        following = []
        for game in games:
            if game.is_over:
                complete += 1
                points = [x + y for x, y in zip(points, game.points(), strict=True)]
            for action in game.legal():
                following.append(copied(game))
                following[-1].play(action)
        games = following
    assert " ".join(map(str, plies)) == count.plies
    assert complete == count.complete
    assert " ".join(map(str, points)) == count.points


def test_positions_are_whole() -> None:
    for count in COUNTS:
        game = start(count)
        assert game.text == count.position
        words = count.position.partition("| player")[0].replace("|", "/").split()
        assert sorted(word for word in words if word in CARDS) == sorted(CARDS)
