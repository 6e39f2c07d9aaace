"""The agent that learns with RLlib, on a Ray cluster that runs already."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import ray
from ray.cluster_utils import Cluster

import chinese_ten_env as ct
from agents.common import Run
from tests.training import RLLIB, fit


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
