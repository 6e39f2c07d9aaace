"""The solver against plain minimax on the slow reference, and what must always hold of it."""

from __future__ import annotations

import dataclasses
import random
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import chinese_ten_env as ct
from chinese_ten_env import solver
from tests.helpers import TABLES, random_deck, random_switches, table_id
from tests.reference import CARDS, ReferenceGame, copied

TWO_PLAYERS = [table for table in TABLES if table[1] == 2]
EVERY_TABLE = pytest.mark.parametrize("table", TWO_PLAYERS, ids=table_id)


def two_players(seed: int, turn: int, variant: str = "mainland", **switches: Any) -> ct.Game:
    """Return a game played at random to the first decision of a turn."""
    rng = random.Random(seed)
    game = ct.Game(ct.make_rules(variant, 2, **switches), seed=seed)
    while game.games["turn"][0] < turn:
        game.play(rng.choice(game.legal))
    return game


def minimax_of_cards(game: ReferenceGame) -> dict[str, Fraction]:
    """Return the net of seat 0 after each legal card, both playing best: all play is tried."""
    values = {}
    for card in game.legal():
        child = copied(game)
        child.play(card)
        values[card] = minimax(child)
    return values


def minimax(game: ReferenceGame) -> Fraction:
    """Return the net of seat 0, both playing best."""
    if game.is_over:
        return game.net()[0]
    values = minimax_of_cards(game).values()
    return max(values) if game.player == 0 else min(values)


def late_pair(
    rng: random.Random, table: tuple[str, int], cards: int
) -> tuple[ct.Game, ReferenceGame]:
    """Return one late position twice, at a random decision when so many hand cards are left.

    Every second deck has the red fives at the bottom of the stock, and the rare layouts are
    frequent.
    """
    deck = random_deck(rng, rng.choice([0, 0, 3, 4]))
    if rng.random() < 0.5:
        for name in ("5D", "5H"):
            place, number = rng.randrange(52 - cards, 52), ct.card(name)
            other = deck.index(number)
            if other >= 28:  # exchanging stock cards only leaves the layout as it is
                deck[place], deck[other] = deck[other], deck[place]
    switches: dict[str, Any] = random_switches(rng)
    dealer = rng.randrange(2)
    game = ct.Game(ct.make_rules(*table, **switches), deck=deck, dealer=dealer)
    names = [ct.card_name(number) for number in deck]
    reference = ReferenceGame(*table, names, dealer, **switches)
    stop = rng.random()
    while True:
        left = int(game.games["hand_sizes"].sum())
        if left < cards or (left == cards and (game.phase != "play" or rng.random() < stop)):
            return game, reference
        card = rng.choice(game.legal)
        game.play(card)
        reference.play(ct.card_name(card))


@EVERY_TABLE
@pytest.mark.parametrize(("cards", "positions"), [(2, 40), (3, 60), (5, 60), (6, 40), (8, 3)])
def test_late_positions_have_the_values_of_plain_minimax(
    table: tuple[str, int], cards: int, positions: int
) -> None:
    rng = random.Random(cards)
    for _ in range(positions):
        game, reference = late_pair(rng, table, cards)
        sign = 1 if game.player == 0 else -1
        nets = {ct.card(name): sign * net for name, net in minimax_of_cards(reference).items()}
        solution = solver.solve(game)
        assert solver.evaluate_cards(game) == nets, game.text
        assert solution.exact
        assert solution.lower == solution.value == solution.upper == max(nets.values()), game.text
        assert nets[solution.card] == solution.value  # type: ignore[index]  # the game is not over


@pytest.mark.parametrize("trigger", ["red_takes_red", "pile"])
def test_a_levy_still_to_come_is_in_the_value(trigger: str) -> None:
    rng, differing = random.Random(5), 0
    for _ in range(60):
        game, _ = late_pair(rng, ("mainland", 2), 5)
        nets = [
            solver.solve(ct.Game.from_text(game.text, rules)).nets[0]
            for rules in (
                ct.make_rules("mainland", 2, red_five_levy=levy, red_five_trigger=trigger)
                for levy in (0, 20)
            )
        ]
        differing += nets[0] != nets[1]
    assert differing >= 5


@EVERY_TABLE
@pytest.mark.parametrize("turn", [8, 14, 18])
def test_best_play_leads_to_the_value(table: tuple[str, int], turn: int) -> None:
    for seed in range(4):
        game = two_players(seed, turn, table[0])
        before = game.text
        solution = solver.solve(game)
        nets = solver.evaluate_cards(game)
        assert list(nets) == game.legal
        assert max(nets.values()) == nets[solution.line[0]] == solution.value
        assert solution.card == solution.line[0]
        assert solution.player == game.player
        assert solution.nets[solution.player] == solution.value
        assert sum(solution.nets) == 0
        assert game.text == before
        for card in solution.line:
            game.play(card)
            assert solver.solve(game).nets == solution.nets
        assert game.is_over
        assert game.net == solution.nets


def test_who_plays_best_gets_the_value_against_anybody() -> None:
    for seed in range(4):
        game, rng = two_players(seed, 12), random.Random(seed)
        seat, value = game.player, solver.solve(game).value
        while not game.is_over:
            before = solver.solve(game)
            if game.player == seat:
                assert before.card is not None
                game.play(before.card)
            else:
                game.play(rng.choice(game.legal))
            after = solver.solve(game)
            assert after.nets[before.player] <= before.value
            assert after.nets[seat] >= before.nets[seat]
        assert game.net[seat] >= value


def test_equal_cards_have_equal_values() -> None:
    found = 0
    for seed in range(60):
        game = two_players(seed, 15, "taiwan_low_aces")
        nets, points = solver.evaluate_cards(game), game.rules.points
        for card in nets:
            for other in nets:
                if card // 4 == other // 4 and points[card] == points[other]:
                    found += card != other
                    assert nets[card] == nets[other]
    assert found >= 10


def test_black_aces_that_count_differently_are_not_equal() -> None:
    used = ["AC", "AS", "9C", "9D", "KC", "KD", "2C", "8D", "QC", "QD"]
    line = (
        "hands AC AS / 9C KC | table KD 2C | stock 9D 8D QC QD"
        f" | piles {' '.join(card for card in CARDS if card not in used)} / -"
    )
    # Seat 0 takes the ace that it lays first with the flip; the other goes to the nine of seat 1.
    nets = solver.evaluate_cards(ct.Game.from_text(line, ct.make_rules("gob_dum_gob_dang", 2)))
    assert nets[ct.card("AS")] - nets[ct.card("AC")] == 50
    nets = solver.evaluate_cards(ct.Game.from_text(line, ct.make_rules("mainland", 2)))
    assert nets[ct.card("AS")] == nets[ct.card("AC")]


def test_a_whole_deal() -> None:
    rules = ct.make_rules("mainland", 2)
    values = [solver.solve(ct.Game(rules, seed=seed)).nets for seed in (1, 3)]
    assert values == [[0, 0], [3, -3]]


# --- limits ---------------------------------------------------------------------------------


def test_bounds_narrow_as_more_nodes_are_allowed() -> None:
    for seed in range(3):
        game = two_players(seed, 6)
        value = solver.solve(game).value
        lower, upper, exact = -np.inf, np.inf, False
        for nodes in (0, 1, 10, 100, 1_000, 10_000, 100_000, 10_000_000):
            solution = solver.solve(game, nodes=nodes)
            assert solution.nodes <= nodes
            assert lower <= solution.lower <= value <= solution.upper <= upper
            assert solution.lower <= solution.value <= solution.upper
            assert solution.exact == (solution.lower == solution.upper)
            assert solution.exact or not exact
            assert solution.card in (None, *game.legal)
            lower, upper, exact = solution.lower, solution.upper, solution.exact
        assert exact


def test_time_limits_hold() -> None:
    game = ct.Game(ct.make_rules("mainland", 2), seed=5)
    solver.solve(game, nodes=10)  # compiles
    solution = solver.solve(game, seconds=0.05)
    assert not solution.exact
    assert solution.lower < solution.upper
    assert solution.seconds < 0.5  # on a machine that does other things
    assert solver.solve(game, seconds=0).nodes == 0


def test_a_search_in_slices_is_the_same_search(monkeypatch: pytest.MonkeyPatch) -> None:
    game = two_players(3, 12)
    whole = solver.solve(game)
    monkeypatch.setattr(solver, "_SLICE", 7)
    sliced = solver.solve(game)
    assert dataclasses.replace(sliced, seconds=whole.seconds) == whole


@pytest.mark.parametrize(
    ("limits", "message"),
    [
        ({"nodes": -1}, "nodes must be an integer from 0 up, or None, not -1"),
        ({"nodes": 1.5}, "nodes must be an integer"),
        ({"nodes": True}, "nodes must be an integer"),
        ({"seconds": -0.1}, "seconds must be a number from 0 up, or None, not -0.1"),
        ({"seconds": "1"}, "seconds must be a number"),
        ({"seconds": float("nan")}, "seconds must be a number"),
    ],
)
def test_limits_are_checked(limits: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        solver.solve(two_players(0, 20), **limits)


# --- what can be solved ---------------------------------------------------------------------


def test_a_finished_game_has_its_net() -> None:
    game = two_players(2, 23)
    while not game.is_over:
        game.play(game.legal[0])
    solution = solver.solve(game)
    assert solution.nets == game.net
    assert (solution.exact, solution.card, solution.line) == (True, None, ())
    assert solver.evaluate_cards(game) == {}


def test_records_are_solved_as_games_are() -> None:
    game = two_players(1, 16)
    assert solver.solve(game.games).line == solver.solve(game).line
    assert solver.evaluate_cards(game.games) == solver.evaluate_cards(game)


def test_in_a_match_the_deal_at_hand_counts() -> None:
    rng = random.Random(1)
    game = ct.Game(ct.make_rules("mainland", 2, match="net", target=1000), seed=1)
    while game.deals < 1 or game.games["turn"][0] < 16:
        game.play(rng.choice(game.legal))
    text = game.text.partition(" | deals")[0]
    deal = ct.Game.from_text(text, ct.make_rules("mainland", 2))
    solution = solver.solve(game)
    assert solution.nets == solver.solve(deal).nets
    before = game.scores
    for card in solution.line:
        game.play(card)
    assert [after - 105 - old for after, old in zip(game.scores, before, strict=True)] == (
        solution.nets
    )


def test_what_cannot_be_solved_is_named() -> None:
    game = two_players(1, 16)
    three = ct.Game(ct.make_rules("mainland", 3), seed=1)
    for solve in (solver.solve, solver.evaluate_cards):
        with pytest.raises(ValueError, match="games of 2 players can be solved, not of 3"):
            solve(three)
        with pytest.raises(ValueError, match="a view hides cards: solve the game itself"):
            solve(game.view(game.player))
        with pytest.raises(ValueError, match="one game is solved at a time, not 2"):
            solve(ct.new_games(game.rules, 2, seed=1))
        with pytest.raises(ValueError, match="GAME records"):
            solve("a game")  # type: ignore[arg-type]  # on purpose
    part = ct.Game.from_text("hands 3H / 2C | table 7S 8D | stock AS 9D", game.rules)
    with pytest.raises(ValueError, match="not a whole deal: nobody can get AC"):
        solver.solve(part)
    uneven = ct.Game.from_text("hands 3H 2C 4C / 2D | table - | stock AS 9D KC KD", game.rules)
    with pytest.raises(ValueError, match=r"do not take turns with hands of \[3, 1, 0, 0\]"):
        solver.solve(uneven)


def test_what_determinize_makes_of_a_view_can_be_solved() -> None:
    game, rng = two_players(4, 16), np.random.default_rng(0)
    drawn = ct.determinize(game.view(game.player), rng)
    assert solver.solve(drawn).exact


# --- the kernel -----------------------------------------------------------------------------


@pytest.mark.parametrize("entries", [2, 64, 1 << 14])
def test_the_kernel_gives_the_same_with_any_table_and_any_deals_before(entries: int) -> None:
    scratch = solver.new_scratch(entries)
    for seed in range(12):
        table = TWO_PLAYERS[seed % len(TWO_PLAYERS)]
        game = two_players(seed, 16 + seed % 5, table[0], capture=("card", "hand")[seed % 2])
        for _ in range(2):
            final_lead = solver.solve_game(game.games[0], *scratch)
            assert final_lead == 2 * solver.solve(game).nets[0]


@pytest.mark.parametrize("entries", [0, 1, 3, 1000])
def test_tables_have_a_power_of_two_of_entries(entries: int) -> None:
    with pytest.raises(ValueError, match="a power of two, at least 2"):
        solver.new_scratch(entries)


# --- regrets --------------------------------------------------------------------------------


@EVERY_TABLE
def test_regrets_are_the_differences_of_what_cards_are_worth(table: tuple[str, int]) -> None:
    game = two_players(3, 16, table[0])
    rng = random.Random(5)
    late = []
    while not game.is_over:
        values = solver.evaluate_cards(game)
        card = rng.choice(game.legal)
        late.append((game.player, card, max(values.values()) - values[card]))
        game.play(card)
    found = solver.regrets(game)
    assert [one.decision for one in found] == list(range(len(game.history)))
    assert [one.card for one in found] == game.history
    assert [(one.player, one.card, one.regret) for one in found[-len(late) :]] == late
    assert any(one.regret > 0 for one in found)
    assert all((one.best == one.card) == (one.regret == 0) for one in found)


def test_perfect_play_has_no_regrets_and_a_mistake_costs_what_the_value_loses() -> None:
    game = two_players(11, 12)
    early = len(game.history)
    value, player = solver.solve(game).value, game.player
    for card in solver.solve(game).line:
        game.play(card)
    assert game.net[player] == value
    assert [one.regret for one in solver.regrets(game)[early:]] == [0.0] * (
        len(game.history) - early
    )


def test_regrets_sum_to_what_was_lost_of_the_value() -> None:
    game = ct.Game(ct.make_rules("mainland", 2), seed=3)
    value, player = solver.solve(game).value, game.player
    greedy, rng = ct.make_policy("greedy"), np.random.default_rng(0)
    while not game.is_over:
        game.play(int(greedy(game.view(game.player), rng)[0]))
    found = solver.regrets(game)
    own, other = (
        sum(one.regret for one in found if (one.player == player) == mine) for mine in (True, False)
    )
    assert game.net[player] == value - own + other
    assert own + other > 0


def test_regrets_of_a_match_are_those_of_its_last_deal() -> None:
    game = ct.Game(ct.make_rules("mainland", 2, match="net", target=1000), seed=4)
    rng = random.Random(1)
    while game.deals < 1 or game.games["turn"][0] < 18:
        game.play(rng.choice(game.legal))
    found = solver.regrets(game)
    assert 18 <= len(found) < len(game.history) / 1.5
    alone = dict(solver.evaluate_cards(game))
    game.play(game.legal[0])
    last = solver.regrets(game)[-1]
    assert last.regret == max(alone.values()) - alone[last.card]


def test_regrets_of_nothing_and_of_more_players() -> None:
    assert solver.regrets(ct.Game(ct.make_rules("mainland", 2), seed=1)) == []
    game = ct.Game(ct.make_rules("mainland", 3), seed=1)
    game.play(game.legal[0])
    with pytest.raises(ValueError, match="games of 2 players can be solved, not of 3"):
        solver.regrets(game)
