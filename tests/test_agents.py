"""Learning: every agent through the real entry point, run folders, interruption and resumption."""

from __future__ import annotations

import json
import os
import shutil
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

import chinese_ten_env as ct
import train
from agents.common import Run, masked_choice, write_json, write_whole
from tests.test_imports import AGENT_FILES, loaded
from tests.training import RLLIB, STOPS, check_fit_and_play, check_stop_and_resume, fit

AGENTS = [agent for agent in train.AGENTS if agent != RLLIB]
"""Those that learn in this environment; tests/ray has the other."""


@pytest.fixture
def copied(finished: Path, tmp_path: Path) -> Path:
    """A copy of it, to damage."""
    shutil.copytree(finished, tmp_path / "run")
    return tmp_path / "run"


# --- run folders ----------------------------------------------------------------------------


@pytest.mark.parametrize("agent", AGENTS)
@pytest.mark.parametrize(("variant", "num_players"), [("taiwan", 4), ("g4a", 3)])
def test_every_agent_fits_and_plays(
    agent: str, variant: str, num_players: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    check_fit_and_play(agent, variant, num_players, tmp_path, capsys)


def test_a_run_folder_says_what_was_done(finished: Path) -> None:
    run = Run.open(finished)
    assert run.seed == 5
    assert (run.rules.variant, run.rules.num_players) == ("mainland", 2)
    assert run.status["state"] == "complete"
    assert run.status["steps"] == 1024
    assert {"numpy", "numba", "torch", "sb3-contrib"} <= set(run.header["versions"])
    assert run.header["config"]["width"] == 8
    lines = run.metrics()
    assert [line["steps"] for line in lines if line["steps"]] == [512, 1024]
    assert {"net_greedy", "net_random"} <= set(lines[0])  # before learning
    assert {"lesson_decisions", "lesson_loss", "net_greedy"} <= set(lines[1])
    assert {"entropy", "explained_variance", "steps_per_s", "approx_kl"} <= set(lines[-1])
    assert {"net_greedy", "half_width_greedy", "net_random"} <= set(lines[-1])
    rows = json.loads((finished / "evaluation.json").read_text())
    assert [row["against"] for row in rows] == ["greedy", "random"]
    assert all(row["deals"] == 6 and row["games"] == 12 for row in rows)
    assert (finished / "curve.png").read_bytes().startswith(b"\x89PNG")
    assert list(finished.glob("events.out.tfevents*"))
    assert not list(finished.glob(".*"))  # no half-written files


def test_a_loaded_policy_plays_as_the_model_that_was_saved(finished: Path) -> None:
    views = ct.views(ct.new_games(ct.make_rules("mainland"), 200, seed=9))
    rng = np.random.default_rng(0)
    first, second = (ct.make_policy(str(finished))(views, rng) for _ in range(2))
    np.testing.assert_array_equal(first, second)
    assert len(set(first.tolist())) > 5


def test_a_run_is_evaluated_against_others(
    finished: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert train.main(["evaluate", str(finished), "--against", "random", "--deals", "5"]) == 0
    printed = capsys.readouterr().out
    assert "random" in printed
    assert "greedy" not in printed


def test_a_policy_refuses_another_number_of_players(finished: Path) -> None:
    policy = ct.make_policy(str(finished))
    views = ct.views(ct.new_games(ct.make_rules("taiwan"), 3, seed=0))
    with pytest.raises(ValueError, match="2 players, not 4"):
        policy(views, np.random.default_rng(0))


def change(file: str, name: str, value: Any) -> Callable[[Path], None]:
    def apply(folder: Path) -> None:
        data = json.loads((folder / file).read_text())
        if value is None:
            del data[name]
        else:
            data[name] = value
        write_json(folder / file, data)

    return apply


def cut(file: str) -> Callable[[Path], object]:
    return lambda folder: (folder / file).write_bytes((folder / file).read_bytes()[:50])


def remove(file: str) -> Callable[[Path], None]:
    return lambda folder: (folder / file).unlink()


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (change("status.json", "state", "running"), "unfinished.*running at 1,024"),
        (change("status.json", "state", "interrupted"), "unfinished.*resume"),
        (change("status.json", "state", "finished"), "status.json is damaged"),
        (change("config.json", "observation_version", 99), "observations of version 99"),
        (change("config.json", "format", 9), "format 9 is unknown"),
        (change("config.json", "seed", None), "seed is missing"),
        (change("config.json", "agent", "nobody"), "made by 'nobody'"),
        (cut("config.json"), "config.json is damaged"),
        (cut("status.json"), "status.json is damaged"),
        (cut("model.zip"), "model.zip is missing or damaged"),
        (remove("model.zip"), "model.zip is missing or damaged"),
        (remove("status.json"), "status.json is missing"),
        (remove("config.json"), "config.json is missing"),
    ],
)
def test_a_damaged_run_is_named(
    copied: Path, damage: Callable[[Path], object], message: str
) -> None:
    damage(copied)
    with pytest.raises(ValueError, match=message):
        ct.make_policy(str(copied))
    assert train.main(["evaluate", str(copied), "--deals", "2"]) == 2


def test_a_complete_run_is_not_resumed_nor_overwritten(
    finished: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert train.main(["resume", str(finished)]) == 2
    assert "complete" in capsys.readouterr().out
    assert fit(finished.parent, "--name", finished.name) == 2
    assert "not empty" in capsys.readouterr().out
    assert Run.open(finished).status["state"] == "complete"


@pytest.mark.parametrize(
    "wrong",
    [
        ["--variant", "taiwan", "--num-players", "3"],
        ["--minibatch", "100"],
        ["--improve", "1"],
        ["--variant", "all", "--name", "x"],
        ["--weight-greedy", "0.9", "--weight-self", "0.9"],
    ],
)
def test_bad_settings_leave_nothing_behind(tmp_path: Path, wrong: list[str]) -> None:
    try:
        code = fit(tmp_path / "runs", *wrong)
    except SystemExit as error:  # the parser's own way out
        code = int(error.code or 0)
    assert code == 2
    assert not (tmp_path / "runs").exists()


def test_without_ray_the_extra_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)  # importing it raises, as if it were missing
    monkeypatch.delitem(sys.modules, "chinese_ten_env.adapters.rllib", raising=False)
    assert fit(tmp_path, "--name", "run", agent=RLLIB) == 2
    assert "pip install 'chinese_ten_env[train,rllib]'" in capsys.readouterr().out
    assert Run.open(tmp_path / "run").status["state"] == "interrupted"  # resume takes it up


# --- interruption ---------------------------------------------------------------------------


@pytest.mark.parametrize(("stop", "state", "code"), STOPS)
@pytest.mark.parametrize("agent", AGENTS)
def test_a_stopped_run_goes_on_where_it_was(
    agent: str, tmp_path: Path, stop: signal.Signals, state: str, code: int
) -> None:
    check_stop_and_resume(agent, tmp_path, stop, state, code)


def test_a_failed_write_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "file.json"
    write_json(path, {"old": 1})

    def fail(new: Path) -> None:
        new.write_text('{"half')
        raise OSError("the disk is full")

    with pytest.raises(OSError, match="disk is full"):
        write_whole(path, fail)
    assert json.loads(path.read_text()) == {"old": 1}
    assert os.listdir(tmp_path) == ["file.json"]


# --- masked choices -------------------------------------------------------------------------


def test_masked_choices_are_legal_and_follow_the_odds() -> None:
    rng = np.random.default_rng(1)
    logits = np.array([2.0, 0.0, 9.0, -1.0, 1.0])
    legal = np.array([True, True, False, True, True])
    size = 40_000
    rows, masks = np.tile(logits, (size, 1)), np.tile(legal, (size, 1))
    drawn = masked_choice(rows, masks, rng)
    assert drawn.dtype == np.int64
    counts = np.bincount(drawn, minlength=5)
    assert counts[2] == 0
    odds = np.where(legal, np.exp(logits), 0)
    expected = size * odds / odds.sum()
    assert stats.chisquare(counts[legal], expected[legal]).pvalue > 1e-4
    assert set(masked_choice(rows, masks).tolist()) == {0}


def test_agents_and_their_settings_do_without_ray() -> None:
    assert "ray" not in loaded("train", *(f"agents.{path.stem}" for path in AGENT_FILES))
