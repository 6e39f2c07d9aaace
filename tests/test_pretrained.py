"""The pretrained policies: one for every table, chosen by the rules, stronger than the rules."""

from __future__ import annotations

import json
import re
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import chinese_ten_env as ct
import train
from agents import dmc, zoo
from agents.common import Run
from chinese_ten_env.policies.pretrained import Pretrained, entry_of
from tests.helpers import TABLES, table_id

NINE = {
    *(("mainland", 2), ("mainland", 3), ("mainland", 4), ("taiwan", 4)),
    *(("taiwan_low_aces", 2), ("taiwan_low_aces", 4)),
    *(("gob_dum_gob_dang", 2), ("gob_dum_gob_dang", 3), ("gob_dum_gob_dang", 4)),
}


def rng() -> np.random.Generator:
    """Return a generator."""
    return np.random.default_rng(0)


def test_there_is_one_for_each_way_of_scoring_and_number_of_players() -> None:
    assert set(ct.pretrained.entries()) == NINE
    files = list((Path(ct.__file__).parent / "policies" / "zoo").glob("*.npz"))
    assert len(files) == 9
    assert sum(file.stat().st_size for file in files) < 12e6


@pytest.mark.parametrize("table", TABLES, ids=table_id)
def test_every_table_has_a_policy_that_plays_whole_games(table: tuple[str, int]) -> None:
    rules = ct.make_rules(*table)
    policy, again = ct.make_policy("pretrained", rules), ct.make_policy("pretrained")
    games = ct.new_games(rules, 30, seed=2)
    while not ct.is_over(games).all():
        live = np.flatnonzero(~ct.is_over(games))
        views = ct.views(ct.take(games, live))
        cards = np.zeros(len(games), dtype=np.int64)
        cards[live] = policy(views, rng())
        np.testing.assert_array_equal(again(views, rng()), cards[live])
        ct.play(games, cards)  # raises if one is illegal


def test_variants_with_the_same_deal_share_a_policy() -> None:
    for variant, other in (("g4a", "mainland"), ("g4a_gob_dum_gob_dang", "gob_dum_gob_dang")):
        entry = entry_of(ct.new_games(ct.make_rules(variant, 3), 1, seed=0))
        assert (entry.variant, entry.num_players) == (other, 3)


def test_rules_that_none_has_learned_are_refused() -> None:
    rules = ct.make_rules("mainland", 2, capture="hand")
    with pytest.raises(ValueError, match=r"no pretrained policy for these rules.*mainland with 2"):
        ct.make_policy("pretrained", rules)
    with pytest.raises(ValueError, match="no pretrained policy for these rules"):
        ct.make_policy("pretrained")(ct.views(ct.new_games(rules, 2, seed=0)), rng())
    # A match is played deal by deal, so its target is all the same.
    assert ct.make_policy("pretrained", ct.make_rules("mainland", 2, match="net", target=50))


@pytest.mark.parametrize("table", sorted(NINE), ids=table_id)
def test_each_beats_greedy(table: tuple[str, int]) -> None:
    result = ct.arena.play(["pretrained", "greedy"], *table, deals=6000, seed=21)
    standing = result["pretrained"]
    assert standing.net - standing.half_width > 0


def test_search_with_the_pretrained_policy_plays_legally_and_by_its_estimates() -> None:
    games = ct.new_games(ct.make_rules("mainland"), 3, seed=1)
    views = ct.views(games)
    search = ct.make_policy("pimc:2:pretrained")
    cards = search(views, rng())
    assert (ct.action_masks(views)[np.arange(3), cards] == 1).all()
    # Two deals tell little, so its own estimate decides.
    worth = Pretrained().worth(views)
    close = worth.max(axis=1) - worth[np.arange(3), cards]
    assert (close < 2.0).all()


def test_it_says_how_it_was_made() -> None:
    for variant, players in NINE:
        facts = ct.pretrained.load_entry(variant, players).facts
        assert facts["agent"] == "dmc"
        assert f"--variant {variant} --num-players {players}" in facts["command"]
        assert facts["decisions"] > 1e6
        assert facts["seconds"] > 60


# --- publishing and measuring ---------------------------------------------------------------


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """A complete run of dmc."""
    folder = tmp_path_factory.mktemp("runs")
    words = ["fit", "--agent", "dmc", "--total-steps", "512", "--round", "512", "--deals", "4"]
    words += ["--minibatch", "256", "--folder", str(folder), "--name", "run", "--own", "0.25"]
    assert train.main([*words, "--evaluation-deals", "4"]) == 0
    return Run.open(folder / "run")


def test_a_run_is_published_with_the_command_that_made_it(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("chinese_ten_env.policies.pretrained._files", lambda: tmp_path)
    caches = (ct.pretrained.entries, ct.pretrained.load_entry, ct.pretrained._by_deal)
    try:
        path = zoo.publish(run)
        assert path == tmp_path / "mainland-2.npz"
        assert ct.pretrained.entries() == (("mainland", 2),)
        facts = ct.pretrained.load_entry("mainland", 2).facts
        assert facts["command"] == (
            "python train.py fit --agent dmc --variant mainland --num-players 2 --seed 0 "
            "--total-steps 512 --round 512 --minibatch 256 --own 0.25"
        )
        views = ct.views(ct.new_games(run.rules, 50, seed=0))
        played = ct.make_policy("pretrained")(views, rng())
        learned = ct.make_policy(str(run.folder))(views, rng())
        assert (played == learned).mean() > 0.95  # half precision may decide between equals
    finally:
        for cache in caches:
            cache.cache_clear()


def test_what_is_published_stands_where_its_deals_are_looked_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (there,) = Path(ct.__file__).parent.glob("policies/zoo/mainland-3.npz")
    shutil.copy(there, tmp_path)
    monkeypatch.setattr("chinese_ten_env.policies.pretrained._files", lambda: tmp_path)
    caches = (ct.pretrained.entries, ct.pretrained.load_entry, ct.pretrained._by_deal)
    try:
        for cache in caches:
            cache.cache_clear()
        network = ct.ntuple.Network(ct.make_rules("g4a", 3))
        assert ct.pretrained.publish(network, {}) == tmp_path / "mainland-3.npz"
        other = ct.ntuple.Network(ct.make_rules("mainland", 3, capture="hand"))
        with pytest.raises(ValueError, match="mainland with the variant's own switches"):
            ct.pretrained.publish(other, {})
        assert ct.pretrained.entries() == (("mainland", 3),)
    finally:
        for cache in caches:
            cache.cache_clear()


def test_only_complete_runs_of_dmc_are_published(
    run: Run, finished: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert train.main(["publish", str(finished)]) == 2
    assert "only runs of dmc" in capsys.readouterr().out
    run.set_status("running", 1, 1.0)
    try:
        assert train.main(["publish", str(run.folder)]) == 2
        assert "unfinished" in capsys.readouterr().out
    finally:
        run.set_status("complete", 512, 1.0)


def test_results_are_kept_line_by_line_and_shown_as_a_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = tmp_path / "zoo.jsonl"
    monkeypatch.setattr(zoo, "LINES", lines)
    words = ["measure-pretrained", "--variants", "taiwan-4", "--games", "560"]
    words += ["--against", "random", "greedy"]
    for _ in range(2):  # the second time in the place of the first
        assert train.main(words) == 0
    assert "taiwan-4: pretrained against random +" in capsys.readouterr().out
    stored = [json.loads(line) for line in lines.read_text().splitlines()]
    assert [line["against"] for line in stored] == ["greedy", "random"]
    assert all(line["deals"] == 40 and line["microseconds"] > 0 for line in stored)
    shown = zoo.table(stored)
    assert len(shown) == len(NINE)
    (row,) = [row for row in shown if row[:2] == ("`taiwan`", "4")]
    assert len(row) == len(zoo.HEAD)
    assert row[4:7] == ("not measured", "not measured", "—")
    assert all(re.fullmatch(r"\+\d+\.\d\d ± \d+\.\d\d", cell) for cell in row[2:4])
    assert train.main(["measure-pretrained", "--variants", "taiwan-2"]) == 2
    assert "no pretrained policy 'taiwan-2'" in capsys.readouterr().out
    assert train.main(["measure-pretrained", "--against", "greedi"]) == 2
    assert "no opponent 'greedi'" in capsys.readouterr().out


# --- best responses -------------------------------------------------------------------------


@pytest.mark.parametrize("policy", ["greedy", "pretrained"])
def test_a_best_response_is_trained_and_its_gain_told(
    policy: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(zoo, "LINES", tmp_path / "zoo.jsonl")
    words = ["best-response", policy, "--minutes", "0.001", "--deals", "20"]
    words += ["--folder", str(tmp_path), "--name", "run"]
    kept = policy == "pretrained"
    assert train.main([*words, "--keep"] if kept else words) == 0
    printed = " ".join(capsys.readouterr().out.split())
    assert "this agent gains " in printed
    assert f"{policy} can be beaten" in printed or f"that beats {policy}" in printed
    made = Run.open(tmp_path / "run")
    assert made.header["config"]["opponent"] == policy
    assert made.status["state"] == "complete"
    assert [(line["policy"], line["against"]) for line in zoo.read_lines()] == (
        [("best response", "pretrained")] if kept else []
    )


def test_a_best_response_to_a_network_begins_with_what_it_knows() -> None:
    rules = ct.make_rules("mainland", 2)
    config = dmc.best_response(rules, "pretrained", 1.0)
    learner = dmc.Learner(rules, config, seed=0)
    known = ct.pretrained.load_entry("mainland", 2).network.weights
    np.testing.assert_array_equal(learner.network.weights, known)
    assert config.settings(0, 0.0).rule == "network"
    learner.close()
    with pytest.raises(ValueError, match="can start from pretrained or a run of its own"):
        dmc.Learner(rules, replace(config, start="greedy"), seed=0)


def test_only_results_of_pretrained_are_kept(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert train.main(["best-response", "greedy", "--keep", "--folder", str(tmp_path)]) == 2
    assert "only results of 'pretrained' are kept" in capsys.readouterr().out


def test_a_best_response_to_what_is_not_compiled_is_refused_before_training(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["best-response", "random", "--folder", str(tmp_path), "--minutes", "0.001"]
    assert train.main(words) == 2
    assert "maskable_ppo learns against any policy" in " ".join(capsys.readouterr().out.split())
    assert train.main(["best-response", "greedi", "--folder", str(tmp_path)]) == 2
    assert "Did you mean 'greedy'?" in " ".join(capsys.readouterr().out.split())
    three = ["best-response", "greedy", "--num-players", "3", "--folder", str(tmp_path)]
    assert train.main(three) == 2
    assert "two players" in capsys.readouterr().out
    assert not list(tmp_path.iterdir())
