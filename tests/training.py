"""Training in the smallest way that still does all that training does."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import chinese_ten_env as ct
import train
from agents.common import Run, write_json

ROOT = Path(train.__file__).parent

RLLIB = "rllib_ppo"
"""The agent that needs an environment of its own; ``make test-ray`` tests it."""

COMMON = ["--total-steps", "1024", "--evaluation-deals", "4", "--deals", "6"]
PPO = ["--num-envs", "16", "--num-steps", "32", "--minibatch", "256"]
PPO += ["--width", "8", "--context", "16", "--imitate", "2000"]
OWN = {
    "dmc": ["--round", "512", "--minibatch", "128", "--first-rounds", "1", "--own", "0.5"],
    "maskable_ppo": [
        *PPO,
        *("--snapshot-every", "512", "--improve", "0.001", "--lesson-deals", "4"),
    ],
    "ppo": PPO,
    # 20 deals have some 580 decisions.
    RLLIB: [
        *("--workers", "1", "--num-envs", "20", "--minibatch", "256"),
        *("--width", "8", "--context", "16", "--imitate", "2000"),
    ],
}
"""What an agent needs beside."""


def smallest(agent: str) -> list[str]:
    """Return the arguments of ``train.py`` that train an agent in the smallest way."""
    return ["fit", "--agent", agent, *COMMON, *OWN[agent]]


def fit(folder: Path, *more: str, agent: str = "maskable_ppo") -> int:
    """Train through the real entry point; return its exit status."""
    return train.main([*smallest(agent), "--folder", str(folder), *more])


def check_fit_and_play(
    agent: str, variant: str, num_players: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Fit an agent, and compare the policy with itself and with what is exported."""
    code = fit(tmp_path, "--variant", variant, "--name", "run", agent=agent)
    assert code == 0
    printed = capsys.readouterr().out
    for word in ("greedy", "random", "net points", "95 % interval"):
        assert word in printed
    lines = Run.open(tmp_path / "run").metrics()
    steps = [line["steps"] for line in lines if line["steps"]]
    assert len(steps) == 2
    assert steps[0] >= 512
    assert steps[1] >= 1024
    assert {"net_greedy", "net_random"} <= set(lines[0])  # before learning
    assert {"steps_per_s", "learning_rate", "value_loss"} <= set(lines[-1])
    assert {"net_greedy", "half_width_greedy", "net_random"} <= set(lines[-1])
    assert list((tmp_path / "run").glob("events.out.tfevents*"))
    policy, again = (ct.make_policy(str(tmp_path / "run")) for _ in range(2))
    assert train.main(["export", str(tmp_path / "run")]) == 0
    exported = ct.make_policy(str(tmp_path / "run" / "run.onnx"))
    alike = []
    games = ct.new_games(ct.make_rules(variant, num_players), 40, seed=1)
    rng = np.random.default_rng(0)
    while not ct.is_over(games).all():
        live = np.flatnonzero(~ct.is_over(games))
        cards = np.zeros(len(games), dtype=np.int64)
        views = ct.views(games[live])
        cards[live] = policy(views, rng)
        np.testing.assert_array_equal(again(views, rng), cards[live])
        alike.extend(cards[live] == exported(views, rng))
        ct.play(games, cards)  # raises if one is illegal
    assert np.mean(alike) > 0.99  # rounding may decide between equals


def start_long_run(folder: Path, agent: str) -> subprocess.Popen[str]:
    """Start a run that would take hours, and wait until it has a checkpoint after a rollout."""
    command = [sys.executable, str(ROOT / "train.py"), *smallest(agent), "--folder", str(folder)]
    command += ["--name", "run", "--total-steps", "100000000", "--minutes", "600"]
    process = subprocess.Popen(
        command,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        # A shell's background jobs, and all that they start, ignore Ctrl-C; this one must not.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    deadline = time.monotonic() + 240
    status = folder / "run" / "status.json"
    while time.monotonic() < deadline:
        if status.exists() and json.loads(status.read_text())["steps"] >= 1024:
            return process
        assert process.poll() is None, process.communicate()[1]
        time.sleep(0.2)
    process.kill()
    raise AssertionError("no checkpoint within four minutes")


STOPS = [(signal.SIGKILL, "running", -signal.SIGKILL), (signal.SIGINT, "interrupted", 130)]
"""How a run may be stopped, and the state and the exit status that it then has."""


def check_stop_and_resume(
    agent: str, tmp_path: Path, stop: signal.Signals, state: str, code: int
) -> None:
    """Stop a run, look at what it has left, and let it go on to its end."""
    process = start_long_run(tmp_path, agent)
    process.send_signal(stop)
    printed, _ = process.communicate(timeout=120)
    assert process.returncode == code
    folder = tmp_path / "run"
    run = Run.open(folder)
    assert run.status["state"] == state
    steps = run.status["steps"]
    assert steps >= 1024
    if stop == signal.SIGINT:
        assert f"train.py resume {folder}" in printed.replace("\n", "")
    with pytest.raises(ValueError, match="unfinished"):
        ct.make_policy(str(folder))

    # Let it end soon: the budget is part of the folder.
    header = json.loads((folder / "config.json").read_text())
    header["config"]["total_steps"] = steps + 1024
    write_json(folder / "config.json", header)
    assert train.main(["resume", str(folder), "--deals", "4"]) == 0
    run = Run.open(folder)
    assert run.status["state"] == "complete"
    counted = [line["steps"] for line in run.metrics() if line["steps"]]
    # No rollout is lost or counted twice; some play their deals to the end, so a few more.
    gaps = np.diff([0.0, *counted])
    assert gaps.min() >= 512
    assert gaps.max() < (720 if agent in ("dmc", RLLIB) else 513)
    assert steps in counted
    assert steps + 1024 <= counted[-1] == run.status["steps"] < steps + 1024 + gaps.max()
    assert callable(ct.make_policy(str(folder)))
