"""An arena on a Ray cluster: the same bytes, whoever dies."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
import ray

import chinese_ten_env as ct
from chinese_ten_env.arena.cluster import Cluster
from chinese_ten_env.arena.workers import Field, Part
from chinese_ten_env.engine import Games

CROSS = ct.arena.cross_play
POLICIES = ["greedy", "pimc:1", "random"]


class DiesOnce:
    """Plays the lowest card, but the process in which it is first asked is killed."""

    def __init__(self, marker: Path) -> None:
        self.marker, self.name = marker, "dies once"

    def __call__(self, views: Games, rng: np.random.Generator) -> npt.NDArray[np.int64]:
        try:
            self.marker.touch(exist_ok=False)
        except FileExistsError:
            return np.asarray(ct.action_masks(views).argmax(axis=1))
        os.kill(os.getpid(), signal.SIGKILL)
        raise AssertionError("killed")


def test_the_bytes_are_those_of_this_process_though_a_worker_is_killed(
    local_ray: None, tmp_path: Path
) -> None:
    marker = tmp_path / "died"
    marker.touch()
    who = [*POLICIES, DiesOnce(marker)]
    CROSS(who, deals=70, seed=3, folder=tmp_path / "here", regret=1)
    marker.unlink()
    there = CROSS(who, deals=70, seed=3, folder=tmp_path / "there", backend="ray", regret=1)
    assert marker.exists()
    assert not there.failures
    for name in ("games.parquet", "regrets.parquet", "summary.json"):
        one, other = (tmp_path / place / name for place in ("here", "there"))
        assert one.read_bytes() == other.read_bytes()
    assert ray.is_initialized()  # the cluster is not ours to close


def test_what_was_begun_here_goes_on_there(local_ray: None, tmp_path: Path) -> None:
    CROSS(POLICIES[:2], deals=40, folder=tmp_path / "grown")
    grown = CROSS(POLICIES, deals=70, folder=tmp_path / "grown", backend="ray", workers=1)
    whole = CROSS(POLICIES, deals=70)
    assert grown.to_dict() == whole.to_dict()


def test_who_ends_processes_or_raises_is_named_and_the_rest_goes_on(local_ray: None) -> None:
    def deadly(views: Games, rng: np.random.Generator) -> npt.NDArray[np.int64]:
        if (views["turn"] == 5).any():
            os._exit(3)
        return np.asarray(ct.action_masks(views).argmax(axis=1))

    def fails(views: Games, rng: np.random.Generator) -> npt.NDArray[np.int64]:
        raise RuntimeError("no small talk")

    result = CROSS(["greedy", "random", deadly, fails], deals=8, backend="ray")
    assert result.ranked == ("greedy", "random")
    messages = {failure["policy"]: failure["message"] for failure in result.failures}
    assert set(messages) == {"deadly", "fails"}
    assert "ended the process that asked it" in messages["deadly"]
    assert "exit status 3" in messages["deadly"]
    assert "decision 5 of one of the deals 0 to 7" in messages["deadly"]
    assert "raised RuntimeError: no small talk (decision" in messages["fails"]


def test_a_policy_that_differs_there_is_refused(local_ray: None) -> None:
    rules = ct.make_rules("mainland", 2)
    field = Field(rules, 0, ("greedy", "random"), ("greedy", "random"), ((0, 1),))
    crew = Cluster(field, 1)
    crew._packed = ray.put((ray.get(crew._packed)[0], {"greedy": "of 0.0.9"}))
    job = Part(0, 0, 4)
    given = crew.give(job, 0)
    crew.wait([given])
    with pytest.raises(ValueError, match="policy 'greedy' is not what it is where the arena was"):
        crew.take(given, job)
    crew.close()


def test_without_a_cluster_one_is_started_and_stopped(tmp_path: Path) -> None:
    # In a process of its own, as this one has joined a cluster.
    command = [sys.executable, "-m", "chinese_ten_env.cli", "arena", "--policies", "greedy"]
    command += ["random", "--deals", "20", "--backend", "ray", "--workers", "2"]
    ended = subprocess.run(
        [*command, "--out", str(tmp_path)], capture_output=True, text=True, timeout=300, check=False
    )
    assert ended.returncode == 0, ended.stderr
    assert "greedy" in ended.stdout
    CROSS(["greedy", "random"], deals=20, folder=tmp_path / "here")
    bytes_here = (tmp_path / "here" / "games.parquet").read_bytes()
    assert (tmp_path / "games.parquet").read_bytes() == bytes_here


def test_a_cluster_that_is_not_there_is_named(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "chinese_ten_env.cli", "arena", "--policies", "greedy"]
    command += ["random", "--deals", "20", "--backend", "ray", "--address", "127.0.0.1:1"]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert ended.returncode == 2
    assert "error:" in ended.stderr
    assert "127.0.0.1:1" in ended.stderr
