"""The deal is uniform, and play without sense ends as it is known to end."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from scipy import stats

import chinese_ten_env as ct
from tests.helpers import LAYOUT

SMALLEST_P = 1e-4
"""Every seed is fixed, so a test either always passes or never; this bounds what may pass."""

LAYOUTS = 270_725  # four cards of 52


@cache
def decks(size: int = 20_000, seed: int = 0) -> npt.NDArray[Any]:
    """Return the decks [size, 52] of consecutive seeds."""
    return np.array(ct.new_games(ct.make_rules("mainland", 2), size, seed)["deck"])


def p_of_uniform(counts: npt.NDArray[np.int64]) -> float:
    """Return the probability of counts at least so uneven, if all cells are as likely."""
    return float(stats.chisquare(counts.reshape(-1)).pvalue)


# --- the shuffle ----------------------------------------------------------------------------


@pytest.mark.parametrize("seed", [0, 123_456_789, 2**63])
def test_r2_each_card_comes_to_each_place_as_often(seed: int) -> None:
    sample = decks(seed=seed).astype(np.int64)
    assert (np.sort(sample, axis=1) == np.arange(52)).all()
    cells = sample * 52 + np.arange(52)
    counts = np.bincount(cells.reshape(-1), minlength=52 * 52)
    expected = len(sample) / 52
    # Every deck fills each row and each column of the table once: 51 * 51 degrees of freedom.
    statistic = ((counts - expected) ** 2 / expected).sum() * 51 / 52
    assert SMALLEST_P < stats.chi2.sf(statistic, 51 * 51) < 1 - SMALLEST_P


def test_r2_neighbours_in_a_deck_are_any_two_cards() -> None:
    sample = decks().astype(np.int64)
    pairs = np.bincount((sample[:, :-1] * 52 + sample[:, 1:]).reshape(-1), minlength=52 * 52)
    distinct = ~np.eye(52, dtype=bool).reshape(-1)
    assert not pairs[~distinct].any()
    assert p_of_uniform(pairs[distinct]) > SMALLEST_P


@pytest.mark.parametrize("step", [1, 2, 64])
def test_r2_decks_of_adjacent_seeds_have_nothing_in_common(step: int) -> None:
    sample = decks().astype(np.int64)
    first, second = sample[:-step], sample[step:]
    # How many places hold the same card: 1 on average, with a variance of 1.
    matches = (first == second).sum(axis=1)
    assert abs(matches.mean() - 1) < 4 / np.sqrt(len(matches))
    # What lies at the top of the one tells nothing of the top, the layout, the bottom of the other.
    for place in (0, LAYOUT.start, 51):
        pairs = np.bincount(first[:, 0] * 52 + second[:, place], minlength=52 * 52)
        assert p_of_uniform(pairs) > SMALLEST_P
    # Places of the cards, correlated over the whole decks: variance 1 / 51 for each pair.
    ranks = sample - 25.5
    correlation = (ranks[:-step] * ranks[step:]).sum(axis=1) / (ranks[0] ** 2).sum()
    assert abs(correlation.mean()) < 4 / np.sqrt(51 * len(correlation))


@pytest.mark.parametrize("players", [2, 3, 4])
def test_r2_each_seat_deals_as_often(players: int) -> None:
    dealers = ct.new_games(ct.make_rules("mainland", players), 20_000, seed=0)["dealer"]
    assert p_of_uniform(np.bincount(dealers, minlength=players)) > SMALLEST_P
    pairs = dealers[:-1].astype(np.int64) * players + dealers[1:]
    assert p_of_uniform(np.bincount(pairs, minlength=players**2)) > SMALLEST_P


def test_r2_the_dealer_tells_nothing_of_the_deck() -> None:
    games = ct.new_games(ct.make_rules("mainland", 4), 50_000, seed=0)
    for place in (0, LAYOUT.start, 51):
        cells = games["dealer"].astype(np.int64) * 52 + games["deck"][:, place]
        assert p_of_uniform(np.bincount(cells, minlength=4 * 52)) > SMALLEST_P


def test_rare_layouts_are_as_frequent_as_counting_says() -> None:
    rules, size, chunks = ct.make_rules("mainland", 2), 100_000, 10
    found = {"triple": 0, "quad": 0, "other quad": 0, "red fives": 0}
    same_rank = np.array([rank in "5TJQK" for rank in "A23456789TJQK"])
    for chunk in range(chunks):
        games = ct.new_games(rules, size, seed=chunk * size)
        layout = (np.uint64(1) << games["deck"][:, LAYOUT].astype(np.uint64)).sum(axis=1)
        of_rank = ct.unpack(layout.astype(np.uint64)).reshape(size, 13, 4).sum(axis=2)
        found["triple"] += int((of_rank[:, same_rank] == 3).sum())
        found["quad"] += int((of_rank[:, same_rank] == 4).sum())
        found["other quad"] += int((of_rank[:, ~same_rank] == 4).sum())
        fives = ct.bitboard("5D 5H")
        found["red fives"] += int((layout.astype(np.uint64) & fives == fives).sum())
        # R4: such a quad is the dealer's at once, and nothing else is anybody's.
        quads = (of_rank[:, same_rank] == 4).any(axis=1)
        piles = games["captured"][np.arange(size), games["dealer"]]
        assert np.array_equal(piles, np.where(quads, layout, 0))
        assert np.array_equal(games["table"], np.where(quads, 0, layout))
    chances = {"triple": 960, "quad": 5, "other quad": 8, "red fives": 1225}
    for kind, ways in chances.items():
        exact = stats.binomtest(found[kind], size * chunks, ways / LAYOUTS)
        assert exact.pvalue > SMALLEST_P, (kind, found[kind])


# --- random play ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("players", "known"),
    [(2, [101.8, 108.2]), (3, [75.2, 79.8, 85.0]), (4, [63.7, 67.7, 71.8, 76.8])],
)
def test_acting_late_is_worth_what_it_is_known_to_be(players: int, known: list[float]) -> None:
    rules = ct.make_rules("mainland", players)
    games, rng = ct.new_games(rules, 20_000, seed=0), np.random.default_rng(0)
    policy = ct.make_policy("random")
    leaders = games["player"].astype(np.int64)
    while not ct.is_over(games).all():
        ct.play(games, policy(ct.views(games), rng))
    order = (leaders[:, None] + np.arange(players)) % players
    points = np.take_along_axis(ct.points(games, rules), order, axis=1)
    errors = points.std(axis=0, ddof=1) / np.sqrt(len(games))
    combined = np.sqrt(errors**2 + 0.2**2)  # the known means have a standard error of 0.2
    assert (np.abs(points.mean(axis=0) - known) < 5 * combined).all(), points.mean(axis=0)
    assert (np.diff(points.mean(axis=0)) > 0).all()
    assert points.sum(axis=1).tolist() == [rules.total] * len(games)


def test_the_random_policy_chooses_every_legal_card_as_often() -> None:
    views = np.repeat(ct.views(ct.new_games(ct.make_rules("mainland", 2), 1, seed=0)), 24_000)
    cards = ct.make_policy("random")(views, np.random.default_rng(0))
    counts = np.bincount(cards, minlength=52)
    legal = ct.card_list(views["legal"][0])
    assert counts.sum() == counts[legal].sum()
    assert p_of_uniform(counts[legal]) > SMALLEST_P
