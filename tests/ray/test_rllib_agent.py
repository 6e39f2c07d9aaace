"""The agent that learns with RLlib, through the real entry point."""

from __future__ import annotations

import json
import signal
from pathlib import Path
from typing import Any

import pytest
import ray
import torch

import chinese_ten_env as ct
from agents.common import Run
from agents.rllib_ppo import MODULE, TURNS, Config, Learner, Player
from tests.training import RLLIB, STOPS, check_fit_and_play, check_stop_and_resume, fit


@pytest.mark.parametrize(("variant", "num_players"), [("taiwan", 4), ("g4a", 3)])
@pytest.mark.usefixtures("local_ray")
def test_it_fits_and_plays(
    variant: str, num_players: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    check_fit_and_play(RLLIB, variant, num_players, tmp_path, capsys)
    assert ray.is_initialized()  # it was not begun there
    folder = tmp_path / "run"
    run = Run.open(folder)
    assert run.status["state"] == "complete"
    last = run.metrics()[-1]
    assert {"entropy", "explained_variance", "approx_kl", "learning_rate"} <= set(last)
    assert 0 < last["entropy"] < 3
    assert {"ray", "torch"} <= set(run.header["versions"])
    rows = json.loads((folder / "evaluation.json").read_text())
    assert [row["against"] for row in rows] == ["greedy", "random"]
    assert (folder / "curve.png").read_bytes().startswith(b"\x89PNG")
    assert not list(folder.glob(".*"))  # no half-written files
    for name in ("checkpoint.pt", "model.pt"):
        torch.load(folder / name, weights_only=True)  # raises if it holds code


@pytest.mark.usefixtures("local_ray")
def test_it_learns_from_the_start_what_random_does_not_know(tmp_path: Path) -> None:
    more = ["--imitate", "0", "--total-steps", "12000", "--num-envs", "64", "--workers", "0"]
    more += ["--learning-rate", "0.005", "--deals", "150", "--width", "16", "--context", "32"]
    assert fit(tmp_path, "--name", "run", *more, agent=RLLIB) == 0
    row = json.loads((tmp_path / "run" / "evaluation.json").read_text())[1]
    assert row["against"] == "random"
    assert row["net"] - row["half_width"] > 5


@pytest.mark.usefixtures("local_ray")
def test_workers_play_with_what_is_learned_and_with_what_was_kept(tmp_path: Path) -> None:
    rules = ct.make_rules("mainland")
    sizes: dict[str, Any] = {"width": 8, "context": 16, "critic_width": 8, "critic_context": 16}
    config = Config(workers=1, num_envs=20, minibatch=64, **sizes)
    pupil = Player(rules, 8, 16)
    learner = Learner(rules, config, seed=0)
    try:
        learner.begin_with(pupil)
        same(pupil, learner.actor, *actors_of(learner))
        decisions, numbers = learner.train(1.0)
        assert decisions >= 20 * TURNS
        assert numbers["learning_rate"] == config.learning_rate
        same(learner.actor, *actors_of(learner))
        with pytest.raises(AssertionError):
            same(pupil, learner.actor)
        learned, state = learner.actor, learner.state()
        torch.save(state, tmp_path / "kept.pt")
    finally:
        learner.close()
    again = Learner(rules, Config(workers=0, num_envs=20, minibatch=64, **sizes), seed=1)
    try:
        again.set_state(torch.load(tmp_path / "kept.pt", weights_only=True))
        same(learned, again.actor, *actors_of(again))
        (kept,), (taken,) = (s["optimizer"].values() for s in (state, again.state()))
        torch.testing.assert_close(taken["state"]["state"], kept["state"]["state"], rtol=0, atol=0)
        assert all(moment["exp_avg_sq"].any() for moment in kept["state"]["state"].values())
        (critics, taken_critics) = (s["rl_module"][MODULE] for s in (state, again.state()))
        torch.testing.assert_close(taken_critics, critics, rtol=0, atol=0)
    finally:
        again.close()


def actors_of(learner: Learner) -> list[Player]:
    """Return the actors with which is played."""
    states = learner.algorithm.env_runner_group.foreach_env_runner(
        lambda runner: runner.module[MODULE].get_state(),
        local_env_runner=learner.config.workers == 0,
    )
    actors = []
    for state in states:
        actor = Player(ct.make_rules("mainland"), 8, 16)
        weights = {name.removeprefix("actor."): torch.tensor(state[name]) for name in state}
        actor.load_state_dict(weights)  # raises if there is more, such as a critic
        actors.append(actor)
    assert len(actors) == max(1, learner.config.workers)
    return actors


def same(first: Player, *others: Player) -> None:
    """Check that the weights of all are equal."""
    for other in others:
        torch.testing.assert_close(other.state_dict(), first.state_dict(), rtol=0, atol=0)


@pytest.mark.parametrize(("stop", "state", "code"), STOPS)
@pytest.mark.usefixtures("local_ray")
def test_a_stopped_run_goes_on_where_it_was(
    tmp_path: Path, stop: signal.Signals, state: str, code: int
) -> None:
    check_stop_and_resume(RLLIB, tmp_path, stop, state, code)


@pytest.mark.usefixtures("local_ray")
def test_an_address_is_refused_where_ray_runs_already(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert fit(tmp_path, "--name", "run", "--address", "auto", agent=RLLIB) == 2
    assert "address='auto' is too late" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (["--workers", "3"], "workers=3 must divide num_envs=20"),
        (["--workers", "-1"], "workers must be at least 0"),
        (["--minibatch", "481"], "minibatch=481 is too large"),
        (["--reward", "win"], "reward must be 'captures' or 'net'"),
        (["--minutes", "0"], "minutes must be positive"),
    ],
)
def test_bad_settings_leave_nothing_behind(
    tmp_path: Path, wrong: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as end:
        fit(tmp_path / "runs", *wrong, agent=RLLIB)
    assert end.value.code == 2
    assert message in " ".join(capsys.readouterr().err.replace("│", " ").split())
    assert not (tmp_path / "runs").exists()
