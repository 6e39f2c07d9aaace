"""Search: every consistent deal once, legal cards from views alone, and better than what it plays.

Strength is measured with fixed seeds, so these tests do not flicker.
"""

from __future__ import annotations

import pickle
import time
from collections import Counter
from math import factorial
from typing import Any

import numpy as np
import pytest

import chinese_ten_env as ct
from chinese_ten_env.engine import Games
from chinese_ten_env.jit import kernel
from chinese_ten_env.observation import count_deals, determine_view
from chinese_ten_env.policies.budget import Budget, parse_budget
from chinese_ten_env.policies.pimc import Pimc, add_worlds, prepare
from chinese_ten_env.policies.playout import quick_card
from chinese_ten_env.policies.values import (
    empty_values,
    loot_of,
    most_of,
    sum_of,
    without_twins,
    write_values,
)
from tests.helpers import TABLES, on_the_way, table_id

SOLVING = 18
SEARCHES = ("pimc:5", "pimc:3:greedy", "ismcts:40")


def rng(seed: int = 0) -> np.random.Generator:
    """Return a generator."""
    return np.random.default_rng(seed)


def late_views(table: tuple[str, int], least: int, size: int = 40, **switches: Any) -> Games:
    """Return views of players on turn after at least `least` actions of games that go on."""
    games = ct.new_games(ct.make_rules(*table, **switches), size, seed=8)
    generator, choose = rng(4), ct.make_policy("random")
    for _ in range(least):
        ct.play(games, choose(ct.views(games), generator))
        games = games[~ct.is_over(games)]
    return ct.views(games)


# --- what cards are worth


@pytest.mark.parametrize("table", TABLES, ids=table_id)
def test_values_of_sets_are_sums_and_maxima(table: tuple[str, int]) -> None:
    rules = ct.make_rules(*table)
    values = empty_values()
    write_values(ct.new_games(rules, 1, seed=0)[0], values)
    for rank in range(13):
        for suits in range(16):
            numbers = [4 * rank + suit for suit in range(4) if suits >> suit & 1]
            points = [rules.points[number] for number in numbers]
            cards = np.uint64(sum(1 << number for number in numbers))
            assert sum_of(cards, values) == sum(points)
            assert most_of(cards, values) == max(points, default=0)
            three = len(numbers) == 3 and rank in (4, 9, 10, 11, 12)
            assert loot_of(cards, values) == (sum(points) if three else max(points, default=0))


def test_twins_are_cards_that_nothing_tells_apart() -> None:
    def kept(cards: str, *table: Any) -> str:
        values = empty_values()
        write_values(ct.new_games(ct.make_rules(*table), 1, seed=0)[0], values)
        return ct.card_names(without_twins(np.uint64(ct.bitboard(cards)), values))

    assert kept("7C 7S 7D 7H", "mainland", 2) == "7C 7D"
    assert kept("5C 5D 5S 8H", "mainland", 2) == "5C 5D 8H"
    assert kept("AC AS AD AH", "mainland", 2) == "AC AD"
    assert kept("AC AS AD AH", "mainland", 3) == "AC AD AS"
    assert kept("AC AS AD AH", "mainland", 4) == "AC AD AS"
    assert kept("AC AS AD AH", "gob_dum_gob_dang", 2) == "AC AD AS"
    assert kept("KS 9H", "taiwan", 4) == "9H KS"


# --- all deals that agree with a view


@kernel
def _determine(view: Any, number: int, games: Any) -> None:
    games[0] = view
    determine_view(view, number, games[0])


@kernel
def _count(views: Any, index: int, most: int) -> int:
    return count_deals(views[index], most)


def hidden_place(game: Games) -> tuple[Any, ...]:
    """Return what a view hides: the hands, and the order of the stock."""
    stock = 52 - (24 - int(game["turn"][0])) + (int(game["phase"][0]) == 2)
    return (*game["hands"][0].tolist(), *game["deck"][0][stock:].tolist())


@pytest.mark.parametrize("peek", ["none", "dealer"])
@pytest.mark.parametrize(("table", "least"), [(("mainland", 2), 23), (("mainland", 3), 24)])
def test_the_numbered_deals_are_all_that_agree_in_equal_shares(
    table: tuple[str, int], least: int, peek: str
) -> None:
    checked = 0
    for view in late_views(table, least, peek=peek):
        views = view.reshape(1)
        deals = _count(views, 0, 400)
        if deals > 400:
            continue
        found: Counter[tuple[Any, ...]] = Counter()
        for number in range(deals):
            game = np.empty_like(views)
            _determine(views[0], number, game)
            seen = ct.view(game, int(view["viewer"]))
            seen["rng"] = views["rng"]
            for name in view.dtype.names:
                np.testing.assert_array_equal(seen[name], views[name], err_msg=name)
            found[hidden_place(game)] += 1
        assert len(set(found.values())) == 1
        sizes = [int(n) for seat, n in enumerate(view["hand_sizes"]) if seat != view["viewer"]]
        known = peek == "dealer" and view["peeker"] == view["viewer"] and view["turn"] < 24
        stock = 24 - int(view["turn"]) - int(view["phase"] == 2)
        unseen = sum(sizes) + stock - int(known and stock > 0)
        expected = factorial(unseen)
        for size in sizes:
            expected //= factorial(size)
        assert len(found) == expected
        checked += deals > 1
    assert checked > 5


def test_deals_are_counted_no_further_than_asked() -> None:
    views = ct.views(ct.new_games(ct.make_rules("mainland", 2), 1, seed=0))
    assert _count(views, 0, 1000) == 1001
    assert _count(views, 0, 0) == 1


# --- the searches


@pytest.mark.parametrize("name", SEARCHES)
@pytest.mark.parametrize("table", TABLES, ids=table_id)
def test_searches_play_legal_cards(table: tuple[str, int], name: str) -> None:
    policy, generator = ct.make_policy(name), rng(3)
    choices: list[dict[str, Any]] = [{"capture": "hand"}, {"match": "net"}]
    for switches in choices:
        rules = ct.make_rules(*table, **switches)
        games = on_the_way(rules, 48, 5)
        before = games.copy()
        views = ct.views(games)
        cards = policy(views, generator)
        assert cards.dtype == np.int64
        np.testing.assert_array_equal(views, ct.views(before))
        ct.play(games, cards)  # raises where a card is illegal


@pytest.mark.parametrize("name", SEARCHES)
def test_searches_see_views_only(name: str) -> None:
    views = ct.views(on_the_way(ct.make_rules("taiwan", 4), 48, 6))
    others = ct.determinize(views, rng(1))
    assert not np.array_equal(others["hands"], ct.determinize(views, rng(2))["hands"])
    policy = ct.make_policy(name)
    expected = policy(views, rng(7))
    np.testing.assert_array_equal(policy(ct.views(others), rng(7)), expected)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(policy))(views, rng(7)), expected)


@pytest.mark.parametrize("name", SEARCHES)
def test_a_batch_is_as_good_as_one_by_one(name: str) -> None:
    views = ct.views(on_the_way(ct.make_rules("mainland", 3), 24, 9))
    policy, generator = ct.make_policy(name), rng(11)
    together = policy(views, rng(11))
    alone = [int(policy(views[index : index + 1], generator)[0]) for index in range(len(views))]
    assert together.tolist() == alone


@pytest.mark.parametrize("table", [("mainland", 2), ("taiwan", 4)], ids=table_id)
def test_a_policy_plays_out_as_the_rule_of_its_name(table: tuple[str, int]) -> None:
    views = ct.views(on_the_way(ct.make_rules(*table), 24, 12))
    by_rule = Pimc(6, "greedy")(views, rng(1))
    by_policy = Pimc(6, ct.make_policy("greedy"))(views, rng(1))
    np.testing.assert_array_equal(by_rule, by_policy)


def test_few_deals_leave_nothing_to_luck() -> None:
    views = late_views(("mainland", 2), 23)
    deals = np.array([_count(views, index, 400) for index in range(len(views))])
    few = views[deals <= 400]
    assert len(few) > 5
    first, second = (ct.make_policy("pimc:400")(few, rng(seed)) for seed in (1, 2))
    np.testing.assert_array_equal(first, second)


def test_the_last_choice_is_the_best_over_all_deals() -> None:
    compared = 0
    values = empty_values()
    for view in late_views(("mainland", 2), 23):
        views = view.reshape(1)
        deals = _count(views, 0, 400)
        legal = ct.card_list(view["legal"])
        if deals > 400 or len(legal) < 2:
            continue
        write_values(view, values)
        sums = np.zeros(52)
        for number in range(deals):
            for card in legal:
                game = np.empty_like(views)
                _determine(views[0], number, game)
                ct.play(game, [card])
                while not ct.is_over(game)[0]:
                    seen = ct.views(game)
                    ct.play(game, [quick_card(seen[0], values)])
                sums[card] += game["settled"][0][view["viewer"]]
        worth = Pimc(400).worth(views)[0] + ct.make_rules("mainland", 2).par
        np.testing.assert_allclose(worth[legal], sums[legal] / deals, atol=1e-3)
        chosen = int(Pimc(400)(views, rng())[0])
        assert sums[chosen] == sums[legal].max()
        compared += 1
    assert compared > 3


@pytest.mark.parametrize("table", TABLES, ids=table_id)
def test_worths_are_of_legal_cards_and_tell_much_of_the_choice(table: tuple[str, int]) -> None:
    views = ct.views(on_the_way(ct.make_rules(*table), 48, 6))
    policy = Pimc(64)
    worth, cards = policy.worth(views), policy(views, rng(0))
    assert worth.shape == (48, 52)
    assert worth.dtype == np.float32
    legal = ct.action_masks(views) != 0
    assert (worth[~legal] == 0).all()
    np.testing.assert_array_equal(worth, policy.worth(views, rng(0)))
    # The search weighs in an estimate, so it need not play what was worth most.
    behind = np.where(legal, worth, -np.inf).max(axis=1) - worth[np.arange(48), cards]
    assert np.median(behind) < 0.5
    assert (worth != policy.worth(views, rng(1))).any()


@pytest.mark.parametrize("name", ["pimc:40ms", "pimc:8:ismcts:2"])
def test_worths_need_a_number_of_deals_and_kernels(name: str) -> None:
    policy: Any = ct.make_policy(name)
    with pytest.raises(ValueError, match="only kernels and a number of deals"):
        policy.worth(ct.views(ct.new_games(ct.make_rules("mainland"), 1, seed=0)))


@pytest.mark.parametrize("name", ["pimc", "ismcts"])
def test_time_is_kept(name: str) -> None:
    views = ct.views(ct.new_games(ct.make_rules("mainland", 2), 3, seed=0))
    policy = ct.make_policy(f"{name}:40ms")
    policy(views[:1], rng())  # compiles
    start = time.perf_counter()
    ct.play(ct.new_games(ct.make_rules("mainland", 2), 3, seed=0), policy(views, rng()))
    assert 3 * 0.04 <= time.perf_counter() - start < 3 * 0.04 + 2


@pytest.mark.parametrize(
    ("name", "deals", "least"), [("pimc:64", 150, 0.3), ("ismcts:300", 40, -2.0)]
)
def test_searches_against_greedy(name: str, deals: int, least: float) -> None:
    net = ct.arena.play([name, "greedy"], deals=deals, seed=3)[name].net
    assert net > least


def test_the_quick_rule_is_not_far_from_greedy() -> None:
    values = empty_values()

    def quick(views: Games, _rng: np.random.Generator) -> Any:
        write_values(views[0], values)
        return np.array([quick_card(view, values) for view in views], dtype=np.int64)

    result = ct.arena.play([quick, "greedy"], deals=400, seed=1)
    assert result["quick"].net > -1.5


# --- names and budgets


def test_names_tell_the_budget_and_who_plays_out() -> None:
    for name in ("pimc:64", "pimc:50ms", "pimc:8:greedy", "ismcts:1000", "ismcts:5ms"):
        assert ct.make_policy(name).name == name  # type: ignore[attr-defined]  # searches have one
    assert ct.make_policy("pimc:1.5s").name == "pimc:1500ms"  # type: ignore[attr-defined]  # as above
    assert Pimc(4, lambda views, _: views["legal"]).name == "pimc:4:<lambda>"


def test_budgets_are_numbers_or_times() -> None:
    assert parse_budget(64, "pimc") == parse_budget("64", "pimc") == Budget(64)
    assert parse_budget("50ms", "pimc") == Budget(seconds=0.05)
    assert parse_budget("2s", "pimc") == Budget(seconds=2.0)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("pimc", r"pimc needs a positive number, as in 'pimc:64', or a time"),
        ("pimc:0", r"positive number.*'0'"),
        ("pimc:-3", r"positive number"),
        ("pimc:0ms", r"positive number"),
        ("pimc:fast", r"'pimc:50ms', not 'fast'"),
        ("ismcts:", r"ismcts needs a positive number"),
        ("pimc:4:nobody", r"unknown policy 'nobody'"),
        ("ismcts:4:greedy", r"always played out by 'quick'"),
        ("pmc:64", r"unknown policy 'pmc:64'"),
    ],
)
def test_bad_names_are_told_what_is_possible(name: str, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        ct.make_policy(name)


def test_every_view_is_searched_with_deals_of_its_own() -> None:
    views = ct.views(ct.new_games(ct.make_rules("mainland", 2), 6, seed=0))
    cards = Pimc(24)(np.repeat(views, 12), rng()).reshape(6, 12)
    assert any(len(set(row)) > 1 for row in cards.tolist())


# --- solving the rest


@pytest.mark.parametrize("table", [table for table in TABLES if table[1] == 2], ids=table_id)
def test_the_rest_of_each_deal_is_solved_exactly(table: tuple[str, int]) -> None:
    par = ct.make_rules(*table).par
    views = late_views(table, 20, 150)
    views = views[views["turn"] >= SOLVING]
    assert len(views) > 10
    values, games, sums = empty_values(), np.empty(2, dtype=ct.GAME), np.empty(52)
    for view in views:
        how = Pimc(1, "solver")._continuation(views)
        assert how is not None
        how = how._replace(solve_from=SOLVING)
        cards, _ = prepare(view, 1, how, values, sums)
        sums[:] = 0.0
        add_worlds(view, cards, np.uint64(7), 0, 1, 0, how, values, games, sums)
        # The deal that was drawn is left in the scratch.
        nets = ct.solver.evaluate_cards(games[:1])
        for card in ct.card_list(int(cards)):
            assert sums[card] - par == pytest.approx(nets[card])


def test_only_deals_of_two_players_are_solved() -> None:
    policy = ct.make_policy("pimc:4:solver")
    views = ct.views(ct.new_games(ct.make_rules("mainland", 2), 5, seed=0))
    assert (ct.action_masks(views)[np.arange(5), policy(views, rng())] == 1).all()
    more = ct.views(ct.new_games(ct.make_rules("mainland", 3), 2, seed=0))
    with pytest.raises(ValueError, match="pimc:4:solver solves deals of two players"):
        policy(more, rng())
