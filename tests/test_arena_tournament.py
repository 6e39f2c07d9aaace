"""Cross-play: the numbers of `play`, kept, resumed, extended, and the same whoever plays."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import polars as pl
import pytest

import chinese_ten_env as ct
from chinese_ten_env.arena import tournament
from chinese_ten_env.arena.journal import Journal
from chinese_ten_env.arena.tournament import JOURNAL, all_lineups
from chinese_ten_env.engine import Games

CROSS = ct.arena.cross_play


def lowest(views: Games, _rng: np.random.Generator) -> npt.NDArray[np.int64]:
    """Choose the lowest legal card."""
    return np.asarray(ct.action_masks(views).argmax(axis=1))


def numbers(result: ct.arena.CrossPlay) -> dict[str, Any]:
    """Return all that must be equal in equal arenas: everything but times."""
    return {
        "deals": result.deals,
        "ranked": result.ranked,
        "net": result.net.mean.tolist(),
        "covariance": result.net.covariance.tolist(),
        "lineups": [
            (one.names, one.net.mean.tolist(), one.win_rate.tolist(), one.tie_rate.tolist())
            for one in result.lineups
        ],
        "seats": [one.by_seat.tolist() for one in result.lineups],
        "failures": result.failures,
    }


class Counting:
    """Plays the lowest legal card and counts the decisions."""

    def __init__(self, name: str) -> None:
        self.name, self.decisions = name, 0

    def __call__(self, views: Games, rng: np.random.Generator) -> npt.NDArray[np.int64]:
        self.decisions += len(views)
        return lowest(views, rng)


def test_lineups_are_pairs_and_full_tables() -> None:
    assert all_lineups(3, 2) == ((0, 1), (0, 2), (1, 2))
    assert all_lineups(2, 4) == ((0, 1),)
    assert all_lineups(3, 4) == ((0, 1), (0, 2), (1, 2), (0, 1, 2))
    assert len(all_lineups(5, 3)) == 10 + 10
    assert len(all_lineups(5, 4)) == 10 + 5


@pytest.mark.parametrize(("variant", "players"), [("mainland", 2), ("taiwan", 4)])
def test_every_lineup_has_the_numbers_of_play(variant: str, players: int) -> None:
    policies = ["random", "greedy", lowest]
    result = CROSS(policies, variant, players, deals=40, seed=3)
    assert result.names == result.ranked == ("greedy", "lowest", "random")
    rows: dict[str, list[npt.NDArray[np.float64]]] = {name: [] for name in result.names}
    for score in result.lineups:
        members = [lowest if name == "lowest" else name for name in score.names]
        alone = ct.arena.play(members, variant, players, deals=40, seed=3)
        for index, name in enumerate(score.names):
            standing = alone[name]
            assert score.net.mean[index] == pytest.approx(standing.net)
            assert score.net.half_widths[index] == pytest.approx(standing.half_width)
            assert score.win_rate[index] == pytest.approx(standing.win_rate)
            assert score.by_seat[index].mean() == pytest.approx(standing.net)
            rows[name].append(alone.per_deal[index])
        assert 0 <= score.tie_rate.max() < 0.2
        assert (score.seconds > 0).all()
    for index, name in enumerate(result.names):
        assert result.net.mean[index] == pytest.approx(np.mean(rows[name]))
        spread = np.mean(rows[name], axis=0).std(ddof=1)
        assert result.net.half_widths[index] == pytest.approx(1.96 * spread / 40**0.5, rel=1e-4)


def test_the_order_of_the_policies_makes_no_difference() -> None:
    one = CROSS(["random", "greedy", lowest], deals=20, seed=1)
    other = CROSS([lowest, "random", "greedy"], deals=20, seed=1)
    assert numbers(one) == numbers(other)


def test_policies_that_play_alike_get_exactly_zero() -> None:
    result = CROSS(["greedy", "greedy", "greedy"], "mainland", 3, deals=30)
    assert not result.net.mean.any()
    assert not result.net.covariance.any()


def test_what_was_interrupted_is_taken_up_and_nothing_is_played_twice(tmp_path: Path) -> None:
    whole = CROSS(["random", "pimc:1", Counting("c")], deals=100, seed=5)
    first = Counting("c")
    seen: list[tuple[int, int]] = []

    def stop(finished: int, total: int) -> None:
        seen.append((finished, total))
        if finished == 4:
            raise KeyboardInterrupt

    policies = ["random", "pimc:1", first]
    with pytest.raises(KeyboardInterrupt):
        CROSS(policies, deals=100, seed=5, folder=tmp_path, progress=stop)
    assert seen == [(1, 9), (2, 9), (3, 9), (4, 9)]  # 4 parts of two lineups, 1 of the third
    second = Counting("c")
    resumed = CROSS([*policies[:2], second], deals=100, seed=5, folder=tmp_path)
    assert numbers(resumed) == numbers(whole)
    once = Counting("c")
    CROSS([*policies[:2], once], deals=100, seed=5)
    assert first.decisions + second.decisions == once.decisions
    again = Counting("c")
    assert numbers(CROSS([*policies[:2], again], deals=100, seed=5, folder=tmp_path)) == numbers(
        whole
    )
    assert again.decisions == 0


def test_more_policies_and_more_deals_play_what_is_missing(tmp_path: Path) -> None:
    CROSS(["greedy", "pimc:1"], deals=64, folder=tmp_path)
    counting = Counting("new")
    larger = CROSS(["greedy", "pimc:1", counting], deals=64, folder=tmp_path)
    assert numbers(larger) == numbers(CROSS(["greedy", "pimc:1", Counting("new")], deals=64))
    longer = CROSS(["greedy", "pimc:1", counting], deals=80, folder=tmp_path)
    assert numbers(longer) == numbers(CROSS(["greedy", "pimc:1", Counting("new")], deals=80))
    shorter = CROSS(["greedy", "pimc:1", counting], deals=64, folder=tmp_path)
    assert numbers(shorter) == numbers(larger)


def test_processes_bring_out_the_same(tmp_path: Path) -> None:
    policies = ["random", "greedy", "pimc:1"]
    one = CROSS(policies, "taiwan_low_aces", 2, deals=100, seed=2)
    other = CROSS(policies, "taiwan_low_aces", 2, deals=100, seed=2, workers=2, folder=tmp_path)
    assert numbers(one) == numbers(other)


def test_the_folder_holds_every_game_and_a_summary(tmp_path: Path) -> None:
    policies = ["random", "greedy", lowest]
    result = CROSS(policies, "mainland", 3, deals=40, seed=3, folder=tmp_path / "one")
    games = pd.read_parquet(tmp_path / "one" / "games.parquet")
    assert pl.read_parquet(tmp_path / "one" / "games.parquet").shape == games.shape
    columns = [f"{name}_{seat}" for name in ("policy", "points", "net") for seat in range(3)]
    assert list(games.columns) == ["lineup", "deal", "deck", "seating", "deals", *columns]
    assert len(games) == 40 * (3 * 6 + 6)
    for score in result.lineups:
        own = games[games["lineup"] == " | ".join(score.names)]
        for index, name in enumerate(score.names):
            nets = [
                own.loc[own[f"policy_{seat}"] == name, f"net_{seat}"].mean() for seat in range(3)
            ]
            np.testing.assert_allclose(nets, score.by_seat[index])
    row = games.iloc[500]
    game = ct.Game(result.rules, seed=int(row["deck"]))
    makers = {"lowest": lowest} | {name: ct.make_policy(name) for name in ("random", "greedy")}
    assert {row[f"policy_{seat}"] for seat in range(3)} <= set(makers)
    again = games[(games["lineup"] == "greedy | lowest") & (games["deal"] == row["deal"])].iloc[0]
    while not game.is_over:
        policy = makers[again[f"policy_{game.player}"]]
        game.play(int(policy(game.view(game.player), np.random.default_rng())[0]))
    assert game.points == [again[f"points_{seat}"] for seat in range(3)]
    summary = json.loads((tmp_path / "one" / "summary.json").read_text())
    assert summary == result.to_dict()
    # The same arena in two processes: the same bytes.
    policies = ["random", "greedy", "pimc:1"]
    CROSS(policies, deals=70, seed=3, folder=tmp_path / "here")
    CROSS(policies, deals=70, seed=3, folder=tmp_path / "there", workers=2)
    for name in ("games.parquet", "summary.json"):
        one, other = (tmp_path / place / name for place in ("here", "there"))
        assert one.read_bytes() == other.read_bytes()


def test_ratings_order_policies_by_strength_and_are_the_same_again() -> None:
    policies = ["random", "greedy", lowest]
    one = CROSS(policies, "mainland", 3, deals=60, seed=2)
    ratings = {rating.name: rating for rating in ct.arena.rate(one)}
    assert ratings["greedy"].low > ratings["random"].mean
    assert ratings["greedy"].low > ratings["lowest"].mean
    assert all(0 < rating.deviation < 25 / 3 for rating in ratings.values())
    assert ct.arena.rate(CROSS(policies, "mainland", 3, deals=60, seed=2)) == ct.arena.rate(one)


def test_the_first_games_are_kept_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tournament, "SAMPLE", 40)
    result = CROSS(["greedy", lowest], "mainland", 3, deals=30, seed=2)
    (score,) = result.lineups
    assert score.first.shape == (7, 6, 2)
    # One or two of the three seats are a policy's own, and nets sum to zero in each game.
    own = (ct.arena.seatings(2, 3) == 0).sum(axis=1)
    np.testing.assert_allclose(score.first[..., 0] * own + score.first[..., 1] * (3 - own), 0)
    alone = ct.arena.play(["greedy", lowest], "mainland", 3, deals=7, seed=2)
    weighed = (score.first[..., 0] * own).sum(axis=1) / own.sum()
    np.testing.assert_allclose(weighed, alone.per_deal[0])


def test_it_ends_when_the_intervals_are_narrow_enough() -> None:
    result = CROSS(["greedy", lowest], deals=100_000, until=1.5)
    assert result.deals < 100_000
    assert result.deals % 1024 == 0
    assert (2 * result.net.half_widths <= 1.5).all()
    assert numbers(CROSS(["greedy", lowest], deals=result.deals)) == numbers(result)
    before = CROSS(["greedy", lowest], deals=1024)
    assert result.deals == 1024 or (2 * before.net.half_widths > 1.5).any()


def test_a_policy_that_fails_is_left_out_and_what_it_played_is_kept(tmp_path: Path) -> None:
    bad = True

    def fails(views: Games, rng: np.random.Generator) -> npt.NDArray[np.int64]:
        # The last part of each of its lineups has 26 deals.
        if bad and len(views) < 80 and (views["turn"] <= 1).all():
            raise RuntimeError("no small talk")
        return lowest(views, rng)

    policies = ["random", fails, "greedy"]
    deals = 1024 + 26
    result = CROSS(policies, deals=deals, folder=tmp_path)
    assert result.ranked == ("greedy", "random")
    (failure,) = result.failures
    assert failure["policy"] == "fails"
    assert "raised RuntimeError: no small talk" in failure["message"]
    assert failure["start"] == 1024
    assert [one.names for one in result.lineups] == [("greedy", "random")]
    good = CROSS(["random", "greedy"], deals=deals)
    assert result.net.mean.tolist() == good.net.mean.tolist()
    journal = Journal(tmp_path / JOURNAL)
    assert journal.parts(("fails", "greedy")) == {(0, 1024)}
    journal.close()
    bad = False  # mended: the same call plays the rest
    mended = CROSS(policies, deals=deals, folder=tmp_path)
    assert not mended.failures
    assert mended.ranked == ("fails", "greedy", "random")


def test_a_folder_holds_one_arena(tmp_path: Path) -> None:
    CROSS(["greedy", "random"], deals=4, folder=tmp_path)
    with pytest.raises(ValueError, match="was played with seed 0, not 1; choose another folder"):
        CROSS(["greedy", "random"], deals=4, seed=1, folder=tmp_path)
    with pytest.raises(ValueError, match="was played with variant 'mainland', not 'taiwan'"):
        CROSS(["greedy", "random"], "taiwan", deals=4, folder=tmp_path)
    with pytest.raises(ValueError, match="was played with another policy 'random'"):
        CROSS(["greedy", lowest], deals=4, names=["greedy", "random"], folder=tmp_path)
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / JOURNAL).write_bytes(b"this is no database, whatever its name is")
    with pytest.raises(ValueError, match="is no journal of an arena, or damaged"):
        CROSS(["greedy", "random"], deals=4, folder=tmp_path / "broken")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"policies": ["greedy"]}, "needs two policies or more, not 1"),
        ({"policies": ["greedy", "gredy"]}, "Did you mean 'greedy'"),
        ({"deals": 0}, "deals must be an integer from 1 up"),
        ({"workers": -1}, "workers must be an integer from 0 up"),
        ({"until": 0}, "until must be a positive number"),
        ({"limit": -1}, "limit must be a positive number"),
        ({"backend": "dask"}, "unknown backend .dask.; choose one of processes, ray"),
        ({"address": "auto"}, "an address is that of a Ray cluster"),
    ],
)
def test_wrong_arguments_are_named(options: dict[str, Any], message: str) -> None:
    arguments: dict[str, Any] = {"policies": ["greedy", "random"], "deals": 2} | options
    with pytest.raises(ValueError, match=message):
        CROSS(**arguments)


def test_the_solver_judges_the_decisions_of_the_first_deals(tmp_path: Path) -> None:
    policies = ["greedy", lowest]  # a game takes the solver seconds
    result = CROSS(policies, deals=40, seed=3, folder=tmp_path / "one", regret=3)
    rows = pd.read_parquet(tmp_path / "one" / "regrets.parquet")
    assert set(rows["lineup"]) == {" | ".join(score.names) for score in result.lineups}
    assert set(rows["deal"]) == {0, 1, 2}
    game = ct.Game(result.rules, seed=int(rows["deck"][0]))
    own = rows[(rows["lineup"] == "greedy | lowest") & (rows["deal"] == 0) & (rows["seating"] == 1)]
    for row in own.itertuples():
        assert game.player == row.seat
        assert row.policy == ("lowest", "greedy")[row.seat]
        assert game.games["turn"][0] == row.turn
        game.play(int(row.card))
    assert game.is_over
    judged = ct.solver.regrets(game)
    assert [one.regret for one in judged] == own["regret"].tolist()
    assert [one.best for one in judged] == own["best"].tolist()
    scores = {score.name: score for score in result.regrets}
    assert scores["greedy"].mean < scores["lowest"].mean
    for name, score in scores.items():
        mine = rows[rows["policy"] == name]
        assert score.mean == pytest.approx(mine["regret"].mean())
        assert score.mistakes == pytest.approx((mine["regret"] > 0).mean())
        assert (score.deals, score.decisions) == (3, len(mine))
        by_turn = mine.groupby("turn")["regret"].mean()
        np.testing.assert_allclose(score.by_turn[by_turn.index], by_turn)
    # More of them: only what is missing; and whoever judges, the same bytes.
    CROSS(policies, deals=40, seed=3, folder=tmp_path / "one", regret=5)
    CROSS(policies, deals=40, seed=3, folder=tmp_path / "other", regret=5, workers=2)
    for name in ("games.parquet", "regrets.parquet", "summary.json"):
        one, other = (tmp_path / place / name for place in ("one", "other"))
        assert one.read_bytes() == other.read_bytes()


def test_regrets_are_for_single_deals_of_two_players() -> None:
    with pytest.raises(ValueError, match="not of 3 players with match='deal'"):
        CROSS(["greedy", "random"], "mainland", 3, deals=2, regret=1)
    with pytest.raises(ValueError, match="not of 2 players with match='net'"):
        CROSS(["greedy", "random"], "mainland", 2, deals=2, match="net", regret=1)
