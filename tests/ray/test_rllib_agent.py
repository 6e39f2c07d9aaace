"""The agent that learns with RLlib: through the real entry point, and on a cluster."""

from __future__ import annotations

import json
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import ray
import torch
from ray.cluster_utils import Cluster

import chinese_ten_env as ct
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


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    """A Ray cluster of two machines, this process in none of them."""
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1})
    cluster.add_node(num_cpus=1)
    yield cluster
    cluster.shutdown()


def test_it_plays_on_a_cluster_and_leaves_it_running(cluster: Cluster, tmp_path: Path) -> None:
    more = ["--address", cluster.address, "--workers", "2"]
    assert fit(tmp_path, "--name", "run", *more, agent=RLLIB) == 0
    assert not ray.is_initialized()
    assert callable(ct.make_policy(str(tmp_path / "run")))
    ray.init(address=cluster.address)
    try:
        assert len(ray.nodes()) == 2
        deadline = time.monotonic() + 30  # workers end a little later
        while ray.available_resources().get("CPU") != 2:
            assert time.monotonic() < deadline
            time.sleep(0.1)
    finally:
        ray.shutdown()


def test_an_address_without_a_cluster_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert fit(tmp_path, "--name", "run", "--address", "127.0.0.1:1", agent=RLLIB) == 2
    assert "no Ray cluster answers at '127.0.0.1:1'" in capsys.readouterr().out
    assert Run.open(tmp_path / "run").status["state"] == "interrupted"
