"""Duplicate deals: the measure is exact, fair and reproducible, and wrong answers are named."""

from __future__ import annotations

import json
import math
import pickle
from collections import Counter
from pathlib import Path
from threading import Event
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import chinese_ten_env as ct
from chinese_ten_env.arena import lineup, seatings
from chinese_ten_env.arena.lineup import Lineup
from chinese_ten_env.engine import HIDDEN, NOBODY, Games
from chinese_ten_env.text import parse_game
from tests.helpers import TABLES, table_id

PLAY = ct.arena.play


def lowest(views: Games, _rng: np.random.Generator) -> npt.NDArray[np.int64]:
    """Choose the lowest legal card."""
    return np.asarray(ct.action_masks(views).argmax(axis=1))


class Watcher:
    """Plays the lowest legal card and keeps what it was shown."""

    def __init__(self) -> None:
        self.seen: list[Games] = []

    def __call__(self, views: Games, rng: np.random.Generator) -> npt.NDArray[np.int64]:
        self.seen.append(views.copy())
        return lowest(views, rng)


def values(result: ct.arena.Result) -> list[tuple[float, float, float]]:
    """Return the numbers of a result."""
    return [(s.net, s.half_width, s.win_rate) for s in result.standings]


# --- exactness


@pytest.mark.parametrize("table", TABLES, ids=table_id)
@pytest.mark.parametrize("policy", ["greedy", lowest])
def test_equal_policies_score_exactly_zero(policy: Any, table: tuple[str, int]) -> None:
    for count in range(2, table[1] + 1):
        result = PLAY([policy] * count, *table, deals=20, seed=1)
        assert values(result) == [(0.0, 0.0, 1 / table[1])] * count
        assert not result.per_deal.any()


@pytest.mark.parametrize("table", TABLES, ids=table_id)
def test_nets_sum_to_zero(table: tuple[str, int]) -> None:
    policies = ["greedy", lowest, "random", "random"][: table[1]]
    for count in range(2, table[1] + 1):
        result = PLAY(policies[:count], *table, deals=30, seed=2)
        assert np.abs(result.per_deal.sum(axis=0)).max() < 1e-9
        assert sum(s.net for s in result.standings) == pytest.approx(0, abs=1e-9)
        # Every policy has the same number of seats, so the mean win rate is that of a seat.
        assert sum(s.win_rate for s in result.standings) / count == pytest.approx(1 / table[1])


@pytest.mark.parametrize("variant", ["mainland", "taiwan_low_aces", "gob_dum_gob_dang"])
def test_two_players_are_mirror_images(variant: str) -> None:
    one = PLAY(["greedy", lowest], variant, 2, deals=50, seed=3)
    other = PLAY([lowest, "greedy"], variant, 2, deals=50, seed=3)
    assert np.array_equal(one.per_deal[0], -one.per_deal[1])
    assert np.array_equal(one.per_deal, other.per_deal[::-1])
    assert one["greedy"] == other["greedy"]
    assert one["greedy"].net == -one["lowest"].net > 0


def test_a_deal_is_the_mean_over_its_seatings() -> None:
    rules = ct.make_rules("taiwan")
    policies = [lowest, ct.make_policy("greedy")]
    result = PLAY(policies, rules=rules, deals=3, seed=4, names=["low", "greedy"])
    for deal in range(3):
        nets: list[float] = []
        wins: list[float] = []
        for seats in range(1, 15):
            game = ct.Game(rules, seed=result.first_deck + deal)
            while not game.is_over:
                policy = policies[seats >> game.player & 1]
                game.play(int(policy(game.view(game.player), np.random.default_rng())[0]))
            best = max(game.points)
            for seat in range(4):
                if not seats >> seat & 1:
                    nets.append(game.net[seat])
                    wins.append((game.points[seat] == best) / game.points.count(best))
        assert len(nets) == 28
        assert result.per_deal[0, deal] == pytest.approx(np.mean(nets))
        alone = PLAY(policies, rules=rules, deals=deal + 1, seed=4, names=["low", "greedy"])
        assert np.array_equal(alone.per_deal, result.per_deal[:, : deal + 1])
        if deal == 0:
            assert alone["low"].win_rate == pytest.approx(np.mean(wins))


def test_the_interval_is_over_deals() -> None:
    result = PLAY(["greedy", "random"], "mainland", 3, deals=100, seed=5)
    for standing, row in zip(result.standings, result.per_deal, strict=True):
        assert standing.net == pytest.approx(row.mean())
        assert standing.half_width == pytest.approx(1.96 * row.std(ddof=1) / 10, rel=1e-4)
    assert math.isnan(PLAY(["greedy", "random"], deals=1).standings[0].half_width)


def test_intervals_hold_what_they_promise() -> None:
    # Equal policies are 0 apart, and 95 % of the intervals should say so: 95 +- 2.2 of 100.
    covered = 0
    for seed in range(100):
        standing = PLAY(["random", "random"], deals=40, seed=seed).standings[0]
        covered += abs(standing.net) <= standing.half_width
    assert 86 <= covered <= 100


# --- seats


@pytest.mark.parametrize(
    ("num_policies", "num_players", "count"),
    [(2, 2, 2), (2, 3, 6), (3, 3, 6), (2, 4, 14), (3, 4, 36), (4, 4, 24)],
)
def test_seatings_are_complete_and_fair(num_policies: int, num_players: int, count: int) -> None:
    rows = [tuple(row) for row in seatings(num_policies, num_players).tolist()]
    assert len(rows) == len(set(rows)) == count
    assert all(set(row) == set(range(num_policies)) for row in rows)
    for seat in range(num_players):
        times = Counter(row[seat] for row in rows)
        assert set(times.values()) == {count // num_policies}


def test_each_deck_is_played_in_each_seating() -> None:
    watcher = Watcher()
    result = PLAY([watcher, lowest], "mainland", 4, deals=5, seed=6)
    assert (result.deals, result.games) == (5, 70)
    assert result.rules == ct.make_rules("mainland", 4)
    first = watcher.seen[0]
    decks = ct.new_games(result.rules, 5, seed=result.first_deck)
    for deck in decks:
        # The leader's first view of a deal: he is of this policy in 7 of the 14 seatings.
        own = first["hands"][np.arange(len(first)), first["player"]]
        assert (
            np.sum((own == deck["hands"][deck["player"]]) & (first["table"] == deck["table"])) == 7
        )


def test_policies_are_shown_views_of_unfinished_games() -> None:
    watcher = Watcher()
    PLAY([watcher, "random"], "taiwan", deals=10, seed=7)
    for views in watcher.seen:
        assert not ct.is_over(views).any()
        assert np.array_equal(views["viewer"], views["player"])
        assert np.all(views["deck"][:, :-1] == HIDDEN)
        assert not views["rng"].any()
        others = np.arange(4) != views["player"][:, None]
        assert not views["hands"][others].any()


def test_a_policy_cannot_touch_the_games() -> None:
    def meddling(views: Games, rng: np.random.Generator) -> npt.NDArray[np.int64]:
        cards = lowest(views, rng)
        views["table"] = views["hands"] = views["phase"] = 0
        views["viewer"] = NOBODY
        return cards

    assert values(PLAY([meddling, lowest], deals=10)) == [(0.0, 0.0, 0.5)] * 2


# --- chance


def test_the_same_seed_gives_the_same_result() -> None:
    one = PLAY(["random", "greedy"], "mainland", 3, deals=40, seed=8)
    other = PLAY(["random", "greedy"], "mainland", 3, deals=40, seed=8)
    assert one == other
    assert np.array_equal(one.per_deal, other.per_deal)


def test_other_seeds_give_other_deals_and_other_play() -> None:
    results = [PLAY(["random", "greedy"], deals=40, seed=seed) for seed in (0, 1, 2**40)]
    assert len({result.first_deck for result in results}) == 3
    assert len({result.standings for result in results}) == 3
    # Neighbouring seeds share no decks, or their results would not be independent.
    decks = [set(range(result.first_deck, result.first_deck + 40)) for result in results]
    assert not decks[0] & decks[1]


def test_global_generators_are_left_alone() -> None:
    np.random.seed(9)  # noqa: NPY002  # the global generator is what this is about
    before = np.random.get_state(legacy=False)["state"]["key"].tolist()  # noqa: NPY002
    PLAY(["random", "greedy"], deals=5)
    assert np.random.get_state(legacy=False)["state"]["key"].tolist() == before  # noqa: NPY002


def test_long_runs_are_played_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    watcher, finished = Watcher(), list[int]()
    whole = PLAY(["greedy", lowest], deals=25, seed=9)
    monkeypatch.setattr(lineup, "GAMES_AT_A_TIME", 20)
    result = PLAY(["greedy", watcher], deals=25, seed=9, progress=finished.append)
    assert finished == [8, 16, 24, 25]
    assert max(len(views) for views in watcher.seen) <= 20
    assert np.array_equal(result.per_deal, whole.per_deal)


# --- matches


@pytest.mark.parametrize(("match", "target"), [("net", 60), ("raw", 400)])
def test_r12_matches_are_counted_whole(match: str, target: int) -> None:
    result = PLAY(["greedy", lowest], deals=8, seed=10, match=match, target=target)
    rules = ct.make_rules(match=match, target=target)
    assert result.rules == rules
    net = 0.0
    greedy = ct.make_policy("greedy")
    for seat in range(2):
        game = ct.Game(rules, seed=result.first_deck)
        while not game.is_over:
            policy = greedy if game.player == seat else lowest
            game.play(int(policy(game.view(game.player), np.random.default_rng())[0]))
        net += (game.scores[seat] - game.deals * rules.par) / 2
    assert result.per_deal[0, 0] == net
    assert "8 matches, 16 games" in str(result)


# --- what is returned


def test_the_table_is_aligned() -> None:
    result = PLAY(["greedy", "random"], "taiwan", deals=20, seed=11, red_five_levy=20)
    head, *rows = str(result).splitlines()
    assert head == "taiwan, 4 players, red_five_levy=20, seed 11: 20 deals, 280 games"
    assert [row.split()[0] for row in rows] == ["policy", "greedy", "random"]
    assert len({len(row) for row in rows}) == 1
    assert f"{result['greedy'].net:+.2f} ± {result['greedy'].half_width:.2f}" in rows[1]
    assert f"{100 * result['random'].win_rate:.1f} %" in rows[2]


def test_the_result_is_json() -> None:
    result = PLAY(["greedy", "random"], "mainland", 3, deals=20, seed=np.int64(12))
    data = json.loads(json.dumps(result.to_dict()))
    assert data["variant"] == "mainland"
    assert data["num_players"] == 3
    assert (data["seed"], data["deals"], data["games"]) == (12, 20, 120)
    assert data["switches"]["capture"] == "card"
    assert data["policies"][0] == {
        "name": "greedy",
        "net": result["greedy"].net,
        "half_width": result["greedy"].half_width,
        "win_rate": result["greedy"].win_rate,
    }
    single = PLAY(["greedy", "random"], deals=1).to_dict()
    assert single["policies"][0]["half_width"] is None


def test_names() -> None:
    def names(*policies: Any, **options: Any) -> list[str]:
        result = PLAY(policies, "mainland", 4, deals=1, **options)
        return [standing.name for standing in result.standings]

    assert names("greedy", "greedy", lowest, "greedy") == [
        "greedy",
        "greedy#2",
        "lowest",
        "greedy#3",
    ]
    assert names(Watcher(), Watcher()) == ["Watcher", "Watcher#2"]
    assert names("random", "greedy", names=["a", "b"]) == ["a", "b"]
    with pytest.raises(KeyError, match="no policy 'c' here: a, b"):
        PLAY(["random", "greedy"], deals=1, names=["a", "b"])["c"]


# --- what is wrong


def test_an_illegal_card_is_reported() -> None:
    def cheat(views: Games, rng: np.random.Generator) -> npt.NDArray[np.int64]:
        return np.full(len(views), ct.card("KS"))

    with pytest.raises(
        ValueError, match=r"policy 'cheat' answered .*: KS is not a legal action; legal now: "
    ):
        PLAY(["greedy", cheat], deals=10)

    def beyond(views: Games, rng: np.random.Generator) -> npt.NDArray[np.int64]:
        return np.full(len(views), 52)

    with pytest.raises(ct.PolicyError, match=r"'beyond' .*: 52 is not a legal action"):
        PLAY(["greedy", beyond], deals=10)


@pytest.mark.parametrize("what", ["raises", "cheats"])
def test_a_policy_that_fails_is_named_with_the_deal_and_the_decision(what: str) -> None:
    rules = ct.make_rules("mainland", 2)
    first = PLAY(["greedy", "greedy"], rules=rules, deals=1, seed=3).first_deck
    decks = ct.new_games(rules, 20, seed=first)
    hands = decks["hands"][7]  # who holds either of these hands breaks down with seven cards left

    def fragile(views: Games, rng: np.random.Generator) -> npt.NDArray[np.int64]:
        cards = lowest(views, rng)
        own = views["hands"][np.arange(len(views)), views["player"]]
        subset = np.array([int(hand) & ~int(hands[0]) == 0 for hand in own], dtype=bool)
        subset |= np.array([int(hand) & ~int(hands[1]) == 0 for hand in own], dtype=bool)
        broken = subset & (views["turn"] == 10)
        if broken.any():
            if what == "raises":
                raise RuntimeError("I am lost")
            cards[broken] = 52
        return cards

    with pytest.raises(ct.PolicyError) as raised:
        PLAY([fragile, "greedy"], rules=rules, deals=20, seed=3)
    error = raised.value
    assert (error.policy, error.deal) == ("fragile", 7)
    assert error.decision is not None
    assert error.decision >= 10
    assert f"decision {error.decision} of deal 7, Game(rules, seed={first + 7})" in str(error)
    assert "seats: fragile, greedy" in str(error) or "seats: greedy, fragile" in str(error)
    if what == "raises":
        assert "raised RuntimeError: I am lost" in str(error)
        assert isinstance(error.__cause__, RuntimeError)
    line = str(error).partition("position: ")[2].removesuffix(")")
    parsed = parse_game(line, rules)
    assert parsed["turn"][0] == 10
    assert str(pickle.loads(pickle.dumps(error))) == str(error)


def test_a_policy_that_fails_now_and_then_is_named_with_the_deals_asked() -> None:
    calls = 0

    def moody(views: Games, rng: np.random.Generator) -> npt.NDArray[np.int64]:
        nonlocal calls
        calls += 1
        if calls == 3:
            raise RuntimeError("not today")
        return lowest(views, rng)

    with pytest.raises(ct.PolicyError, match=r"one of the deals 0 to 9") as raised:
        PLAY([moody, "greedy"], deals=10)
    assert raised.value.deal is None


def test_a_policy_that_hangs_is_named_with_the_deal() -> None:
    rules = ct.make_rules("mainland", 2)
    decks = ct.new_games(rules, 8, seed=Lineup(["greedy", "greedy"], rules, seed=3).first_deck)
    forever = Event()  # set at the end, so that the threads that hang end too

    def sleepy(views: Games, rng: np.random.Generator) -> npt.NDArray[np.int64]:
        if (views["table"] == decks["table"][5]).any():
            forever.wait()
        return lowest(views, rng)

    lineup = Lineup([sleepy, "greedy"], rules, seed=3, limit=0.3)
    try:
        with pytest.raises(ct.PolicyError, match=r"took longer than the limit of 0\.3 s") as raised:
            lineup.play(0, 8)
        assert raised.value.deal == 5
        assert raised.value.decision == 0
        assert lineup.play(6, 8).scores.shape == (2, 2, 2)  # the others can still be played
    finally:
        forever.set()


def test_the_limit_changes_nothing_else() -> None:
    rules = ct.make_rules("mainland", 3)
    free = Lineup(["random", "greedy"], rules, seed=1).play(0, 20)
    limited = Lineup(["random", "greedy"], rules, seed=1, limit=60).play(0, 20)
    assert np.array_equal(free.scores, limited.scores)
    assert np.array_equal(free.decisions, limited.decisions)
    assert free.scores.shape == (20, 6, 3)
    assert (free.deals == 1).all()
    assert (limited.seconds > 0).all()
    # Each game has 24 turns, and as many more decisions as captures left a choice; the first answer
    # of each policy, to 60 views or so, is not timed.
    assert 23 * 120 <= free.decisions.sum() < 36 * 120
    with pytest.raises(ValueError, match="limit must be a positive number"):
        Lineup(["random", "greedy"], rules, seed=1, limit=0)


def test_parts_can_be_played_in_any_order() -> None:
    rules = ct.make_rules("taiwan_low_aces", 2)
    forwards, backwards = (Lineup(["random", "pimc:2"], rules, seed=4) for _ in range(2))
    parts = list(forwards.parts(100))
    assert parts[0] == (0, 32)
    assert parts[-1] == (96, 100)
    one = [forwards.play(*part).scores for part in parts]
    other = [backwards.play(*part).scores for part in reversed(parts)]
    assert all(np.array_equal(a, b) for a, b in zip(one, reversed(other), strict=True))


def test_searches_are_asked_in_smaller_batches() -> None:
    watcher = Watcher()
    PLAY(["pimc:1", watcher], "mainland", 2, deals=50, seed=1)
    assert max(len(views) for views in watcher.seen) <= 64


@pytest.mark.parametrize(
    "answer", [lambda n: np.zeros(n), lambda n: np.zeros((n, 1), dtype=int), lambda n: 0]
)
def test_a_malformed_answer_is_reported(answer: Any) -> None:
    with pytest.raises(
        ValueError, match=r"policy 'odd' must answer with integers of shape \(10,\)"
    ):
        PLAY(["greedy", lambda views, rng: answer(len(views))], deals=10, names=["fine", "odd"])


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        ((["greedy"],), {}, "2 seats need 2 policies, not 1"),
        ((["greedy"] * 3,), {}, "2 seats need 2 policies, not 3"),
        ((["greedy"], "taiwan"), {}, "4 seats need 2 or 3 or 4 policies, not 1"),
        (([], "g4a"), {}, "3 seats need 2 or 3 policies, not 0"),
        (("greedy",), {}, "policies must be a list"),
        ((Path("greedy"),), {}, "policies must be a list"),
        ((lowest,), {}, "policies must be a list"),
        ((["greedy", "gredy"],), {}, "Did you mean 'greedy'"),
        ((["greedy", "random"], "tawain"), {}, "Did you mean 'taiwan'"),
        ((["greedy", "random"], "mainland", 5), {}, "2 or 3 or 4 players"),
        ((["greedy", "random"],), {"captures": "hand"}, "unknown switch 'captures'"),
        ((["greedy", "random"],), {"deals": 0}, "deals must be an integer from 1 up, not 0"),
        ((["greedy", "random"],), {"deals": 2.5}, "deals must be an integer"),
        ((["greedy", "random"],), {"seed": -1}, "seed must be an integer from 0 up"),
        ((["greedy", "random"],), {"seed": None}, "seed must be an integer"),
        ((["greedy", "random"],), {"names": ["a"]}, "names must be 2 different texts"),
        ((["greedy", "random"],), {"names": ["a", "a"]}, "names must be 2 different texts"),
        ((["greedy", "random"],), {"rules": "mainland"}, "rules must be made by make_rules"),
        (
            (["greedy", "random"], "taiwan"),
            {"rules": ct.make_rules()},
            "give rules, or a variant .*, not both",
        ),
        (
            (["greedy", "random"],),
            {"rules": ct.make_rules(), "capture": "hand"},
            "give rules, or a variant .*, not both",
        ),
    ],
)
def test_wrong_arguments_are_named(
    arguments: tuple[Any, ...], options: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        PLAY(*arguments, **options)
