"""The agent that learns with RLlib, through the real entry point."""

from __future__ import annotations

import json
import signal
from pathlib import Path

import pytest
import ray
import torch

from agents.common import Run
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
