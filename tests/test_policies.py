"""What policies answer: always a legal card, from what the player sees and nothing else."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import chinese_ten_env as ct
from chinese_ten_env.cards import PARTNERS
from chinese_ten_env.engine import PLAY, Games
from chinese_ten_env.policies import POLICIES, Policy
from tests.helpers import TABLES, on_the_way, table_id

GREEDY = ct.make_policy("greedy")
RANDOM = ct.make_policy("random")


def rng(seed: int = 0) -> np.random.Generator:
    """Return a generator."""
    return np.random.default_rng(seed)


def taking_most(views: Games, _rng: np.random.Generator) -> npt.NDArray[np.int64]:
    """Take what is worth most now, and else lay the card worth least: greedy without foresight."""
    weights = 1 << np.arange(views["point_bits"].shape[1])
    points = np.tensordot(ct.unpack(views["point_bits"]), weights, axes=([1], [0]))
    targets = ct.unpack(views["table"])[:, None, :] & ct.unpack(PARTNERS)[None, :, :]
    loot = (targets * points[:, None, :]).max(axis=2)
    is_capture = targets.any(axis=2) | (views["phase"] != PLAY)[:, None]
    value = np.where(is_capture, points + loot + 1, -points)
    return np.asarray(np.where(ct.action_masks(views) == 1, value, -1000).argmax(axis=1))


def answer(line: str, variant: str = "mainland", num_players: int = 2, **switches: Any) -> str:
    """Return the name of the card that greedy plays in a position, after its choice was applied."""
    game = ct.Game.from_text(line, ct.make_rules(variant, num_players, **switches))
    chosen = int(GREEDY(game.view(game.player), rng())[0])
    game.play(chosen)
    return ct.card_name(chosen)


# --- every policy


@pytest.mark.parametrize("name", POLICIES)
@pytest.mark.parametrize("capture", ["card", "hand"])
@pytest.mark.parametrize("table", TABLES, ids=table_id)
def test_answers_are_legal(table: tuple[str, int], capture: str, name: str) -> None:
    policy, generator = ct.make_policy(name), rng(3)
    games = ct.new_games(ct.make_rules(*table, capture=capture), 200, seed=17)
    while len(games):
        cards = policy(ct.views(games), generator)
        assert cards.shape == games.shape
        assert cards.dtype == np.int64
        ct.play(games, cards)  # raises where a card is illegal
        games = games[~ct.is_over(games)]


@pytest.mark.parametrize("name", POLICIES)
def test_the_generator_decides_and_views_stay(name: str) -> None:
    policy = ct.make_policy(name)
    views = ct.views(ct.new_games(ct.make_rules("taiwan"), 100, seed=1))
    before = views.copy()
    assert np.array_equal(policy(views, rng(5)), policy(views, rng(5)))
    assert np.array_equal(views, before)
    assert isinstance(policy, Policy)


def test_unknown_policy_names_the_choices() -> None:
    with pytest.raises(ValueError, match=r"'gredy'.*random, greedy.*Did you mean 'greedy'"):
        ct.make_policy("gredy")
    with pytest.raises(ValueError, match="unknown policy 3"):
        ct.make_policy(3)


def test_a_callable_is_a_policy() -> None:
    assert ct.make_policy(taking_most) is taking_most


def test_random_is_uniform() -> None:
    view = ct.views(ct.new_games(ct.make_rules("mainland", 4), 1, seed=2))
    cards = RANDOM(np.repeat(view, 60_000), rng(1))
    counts = np.bincount(cards, minlength=52)
    legal = ct.unpack(view["legal"])[0]
    assert legal.sum() == 6
    # Six cells of 10,000 with a standard deviation of 91 each.
    assert np.all(np.abs(counts[legal == 1] - 10_000) < 500)
    assert counts[legal == 0].sum() == 0


# --- greedy


@pytest.mark.parametrize("table", TABLES, ids=table_id)
def test_greedy_batch_equals_one_at_a_time(table: tuple[str, int]) -> None:
    views = ct.views(on_the_way(ct.make_rules(*table), 200, seed=4))
    together = GREEDY(views, rng(1))
    alone = [int(GREEDY(views[index : index + 1], rng(index))[0]) for index in range(len(views))]
    assert together.tolist() == alone
    assert GREEDY(views[:0], rng()).shape == (0,)


@pytest.mark.parametrize("table", TABLES, ids=table_id)
def test_greedy_does_not_see_what_is_hidden(table: tuple[str, int]) -> None:
    views = ct.views(on_the_way(ct.make_rules(*table), 400, seed=6))
    one, other = ct.determinize(views, rng(1)), ct.determinize(views, rng(2))
    assert np.mean(one["hands"] != other["hands"]) > 0.2
    expected = GREEDY(views, rng())
    assert np.array_equal(GREEDY(ct.views(one), rng()), expected)
    assert np.array_equal(GREEDY(ct.views(other), rng()), expected)


POSITIONS = {
    "captures rather than lays": (
        "hands 9C KS 2H / 6D 3C JC | table AH 7S | stock 4C 4H 8C 8D QC QD",
        "9C",
    ),
    "takes the red ace, not the black one": (
        "hands KS / 3C JC | table AC AH | stock 4C 4H 8C 8D | pending 9D from hand",
        "AH",
    ),
    "captures with the red nine, not the black one": (
        "hands 9C 9D KS / 6D 3C JC | table AH 7S | stock 4C 4H 8C 8D QC QD",
        "9D",
    ),
    "lays a card without points": (
        "hands QH 4C / TD 8S | table - | stock 2C 3H 7C 7D",
        "4C",
    ),
    "lays the card that nobody else can take": (
        "hands KC JC / TD 8S | table - | stock JD JH JS 7D | piles KD KH / KS QC",
        "KC",
    ),
    "takes first what the others could take": (
        "hands QC JC 2S / JS 4S 8S | table QH JH | stock 6S 7C 7D 5C TC 2D | piles QD QS / JD 5S",
        "JC",
    ),
}


@pytest.mark.parametrize("position", POSITIONS.values(), ids=POSITIONS)
def test_greedy_plays_the_obvious_card(position: tuple[str, str]) -> None:
    line, expected = position
    assert answer(line) == expected


def test_r7_greedy_takes_three_with_the_fourth_king() -> None:
    line = "hands KC 2C 7S / 6D 3C JC | table KH KD KS 8H | stock 4C 4H 8C 8D QC QD"
    assert answer(line) == "KC"


def test_r1_greedy_knows_the_points_of_the_variant() -> None:
    line = "hands KS {} / 3C JC {} | table AC AH AS | stock 4C 4H 8C 8D {} | pending 9D from hand"
    two = line.format("", "", "")
    assert answer(two) == "AH"
    assert answer(two, "gob_dum_gob_dang") == "AS"
    assert answer(two, "taiwan_low_aces") == "AS"
    four = line.format("/ 2D", "/ 3D", "QC QD")
    assert answer(four, "mainland", 4) == "AC"
    assert answer(four, "taiwan", 4) == "AS"


def test_r11_greedy_takes_the_levy() -> None:
    line = "hands 5H QD / 6D 3C / JC 4S / 7H 8S | table 5D QH | stock 4C 4H 8C 8D 2C 2D 3H 3S"
    assert answer(line, "taiwan", 4) == "5H"
    assert answer(line, "taiwan", 4, red_five_levy=0) == "QD"


def test_r11_greedy_takes_the_levy_by_pile() -> None:
    line = (
        "hands 5C QD / 6D 3C / JC 4S / 7H 8S | table 5D QH | stock 4C 4H 8C 8D 2C 2D 3H 3S"
        " | piles 5H 5S / - / - / -"
    )
    assert answer(line, "taiwan", 4, red_five_trigger="pile") == "5C"
    assert answer(line, "taiwan", 4) == "QD"


def test_equal_actions_go_to_the_lowest_card() -> None:
    # Nobody else can take any of these, and none of them has points.
    line = "hands KC QC JC / 2C 3C 4C | table - | stock 2D 3D 4D 2H 3H 4H | piles {} / {}"
    line = line.format("KD KH QD QH JD JH", "KS QS JS 9C")
    assert answer(line) == "JC"


# --- strength


@pytest.mark.parametrize("table", TABLES, ids=table_id)
def test_greedy_beats_random(table: tuple[str, int]) -> None:
    result = ct.arena.play(["greedy", "random"], *table, deals=60, seed=3)
    standing = result["greedy"]
    assert standing.net > 5 * standing.half_width / 1.96


def test_greedy_beats_random_by_more_than_twenty_points() -> None:
    standing = ct.arena.play(["greedy", "random"], "mainland", 2, deals=400, seed=4)["greedy"]
    assert standing.net - standing.half_width > 20


@pytest.mark.parametrize(("num_players", "deals"), [(2, 600), (3, 500), (4, 400)])
def test_foresight_is_worth_points(num_players: int, deals: int) -> None:
    result = ct.arena.play(["greedy", taking_most], "mainland", num_players, deals=deals, seed=5)
    standing = result["greedy"]
    assert standing.net > 5 * standing.half_width / 1.96
