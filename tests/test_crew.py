"""Threads that share out a batch: they change nothing, and come and go as they should."""

from __future__ import annotations

import copy
import gc
import multiprocessing
import pickle
import subprocess
import sys
import threading
import time
from typing import Any

import gymnasium
import numpy as np
import numpy.typing as npt
import pytest

import chinese_ten_env as ct
from chinese_ten_env import learner, lockstep
from chinese_ten_env.crew import Crew
from chinese_ten_env.jit import kernel
from chinese_ten_env.machine import claim
from chinese_ten_env.vector_env import ChineseTenVectorEnv


@kernel
def _count(claimed: Any, scratch: Any, cursor: Any) -> None:
    first = claim(cursor, 1)
    while first < len(claimed):
        claimed[first] += 1
        first = claim(cursor, 1)
    scratch[0] += 1


def crew(size: int) -> Crew:
    """Return a crew whose scratch counts the calls of each of its threads."""
    return Crew(size, lambda: np.zeros(1, dtype=np.int64))


def calls(of: Crew) -> list[int]:
    """Return how often each thread was called."""
    return [int(scratch[0]) for scratch in of.scratch]


def helpers() -> list[threading.Thread]:
    """Return the threads of all crews."""
    return [thread for thread in threading.enumerate() if "chinese_ten_env" in thread.name]


def no_helpers_soon() -> bool:
    """Return whether the threads of all crews end within seconds."""
    until = time.monotonic() + 20
    while helpers() and time.monotonic() < until:
        gc.collect()
        time.sleep(0.01)
    return not helpers()


@pytest.fixture(autouse=True)
def _no_helpers_of_others() -> None:
    assert no_helpers_soon()


@pytest.mark.parametrize("size", [1, 2, 5])
def test_everything_is_done_once_by_all_together(size: int) -> None:
    team = crew(size)
    for number in range(1, 4):
        claimed = np.zeros(1000, dtype=np.int64)
        team.run(_count, 1000, claimed)
        assert (claimed == 1).all()
        assert calls(team) == [number] * size
    assert len(helpers()) == size - 1
    team.close()
    assert no_helpers_soon()


def test_no_more_threads_work_than_there_are_blocks() -> None:
    team = crew(4)
    for blocks, working in ((0, 1), (1, 1), (2, 2), (3, 3), (9, 4)):
        before = calls(team)
        team.run(_count, blocks, np.zeros(5, dtype=np.int64))
        after = calls(team)
        assert [b - a for a, b in zip(before, after, strict=True)] == [1] * working + [0] * (
            4 - working
        )
    team.close()


def test_an_error_in_a_thread_reaches_the_caller() -> None:
    team = crew(3)

    def fail_elsewhere(caller: int, scratch: Any, cursor: Any) -> None:
        if threading.get_ident() != caller:
            raise ZeroDivisionError("elsewhere")

    for _ in range(2):
        with pytest.raises(ZeroDivisionError, match="elsewhere"):
            team.run(fail_elsewhere, 3, threading.get_ident())
    claimed = np.zeros(50, dtype=np.int64)
    team.run(_count, 50, claimed)
    assert (claimed == 1).all()
    team.close()


def test_an_interrupted_caller_leaves_no_thread_at_work() -> None:
    team = crew(2)
    finished: list[bool] = []

    def interrupted(caller: int, scratch: Any, cursor: Any) -> None:
        if threading.get_ident() == caller:
            raise KeyboardInterrupt
        time.sleep(0.2)
        finished.append(True)

    with pytest.raises(KeyboardInterrupt):
        team.run(interrupted, 2, threading.get_ident())
    assert finished == [True]
    team.close()


def test_a_forgotten_crew_ends_its_threads() -> None:
    team = crew(3)
    team.run(_count, 9, np.zeros(9, dtype=np.int64))
    assert len(helpers()) == 2
    del team
    assert no_helpers_soon()


@pytest.mark.parametrize("again", [copy.deepcopy, lambda team: pickle.loads(pickle.dumps(team))])
def test_a_copy_has_threads_of_its_own(again: Any) -> None:
    team = crew(2)
    team.run(_count, 9, np.zeros(9, dtype=np.int64))
    other = again(team)
    team.close()
    claimed = np.zeros(30, dtype=np.int64)
    other.run(_count, 30, claimed)
    assert (claimed == 1).all()
    assert len(helpers()) == 1
    other.close()


def big_env(num_threads: int, **arguments: Any) -> ChineseTenVectorEnv:
    """Return an environment with several blocks of games, the last of odd size."""
    return ChineseTenVectorEnv(3 * lockstep.BLOCK + 11, num_threads=num_threads, **arguments)


def rollout(env: ChineseTenVectorEnv, steps: int) -> list[Any]:
    """Return copies of all that some steps with fixed choices show."""
    observation, infos = env.reset(seed=5)
    seen: list[Any] = [observation.copy(), infos["action_mask"].copy()]
    for step in range(steps):
        masks = infos["action_mask"]
        actions = lowest_or_highest(masks, step)
        observation, rewards, terminated, _, infos = env.step(actions)
        seen += [observation.copy(), infos["action_mask"].copy(), rewards, terminated]
        if "rewards" in infos:
            seen.append(infos["rewards"].copy())
    return seen


def lowest_or_highest(masks: npt.NDArray[np.int8], step: int) -> npt.NDArray[np.int64]:
    """Return the lowest legal card in even steps, and the highest in odd ones."""
    return np.asarray(masks.argmax(1) if step % 2 == 0 else 51 - masks[:, ::-1].argmax(1))


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("mode", list(gymnasium.vector.AutoresetMode)[:2])
@pytest.mark.parametrize("opponents", [None, "random"])
def test_blocks_and_threads_change_nothing(
    opponents: str | None, mode: gymnasium.vector.AutoresetMode, packed: bool
) -> None:
    arguments = {"opponents": opponents, "autoreset_mode": mode, "packed": packed}
    alone = big_env(1, **arguments)
    expected = rollout(alone, 40)
    for copying in (True, False):
        env = big_env(3, copy=copying, **arguments)
        for ours, theirs in zip(rollout(env, 40), expected, strict=True):
            np.testing.assert_array_equal(ours, theirs)
        env.close()


def test_what_goes_past_the_cache_is_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    expected = rollout(big_env(1, opponents=None), 30)
    monkeypatch.setattr(learner, "_STREAMED_BYTES", 0)
    for num_threads in (1, 2):
        env = big_env(num_threads, opponents=None)
        for ours, theirs in zip(rollout(env, 30), expected, strict=True):
            np.testing.assert_array_equal(ours, theirs)
        env.close()


def test_observations_of_many_games_are_those_of_each() -> None:
    # So many that they go past the cache by themselves.
    size = learner._STREAMED_BYTES // (30 * 52) + 13
    env = ChineseTenVectorEnv(size, opponents=None, num_threads=2)
    observation, infos = env.reset(seed=3)
    games = ct.new_games(env.rules, size, seed=3)
    np.testing.assert_array_equal(observation, ct.observe(games))
    np.testing.assert_array_equal(infos["action_mask"], ct.action_masks(games))
    actions = infos["action_mask"].argmax(1)
    observation, _, _, _, infos = env.step(actions)
    ct.play(games, actions)
    np.testing.assert_array_equal(observation, ct.observe(games))
    np.testing.assert_array_equal(infos["action_mask"], ct.action_masks(games))
    env.close()


def step_once(env: ChineseTenVectorEnv, actions: npt.NDArray[np.int64]) -> None:
    """Step an environment, in another process."""
    env.step(actions)


@pytest.mark.parametrize("method", multiprocessing.get_all_start_methods())
@pytest.mark.filterwarnings("ignore:.*multi-threaded, use of fork:DeprecationWarning")
def test_an_environment_goes_on_in_another_process(method: str) -> None:
    env = big_env(2, opponents=None)
    _, infos = env.reset(seed=1)
    _, _, _, _, infos = env.step(infos["action_mask"].argmax(1))  # the threads are running now
    actions = infos["action_mask"].argmax(1)
    child: Any = multiprocessing.get_context(method)
    process = child.Process(target=step_once, args=(env, actions))
    process.start()
    process.join(120)
    hangs = process.is_alive()
    if hangs:
        process.kill()
        process.join()
    assert not hangs
    assert process.exitcode == 0
    env.step(actions)
    env.close()


def test_an_open_environment_does_not_keep_the_interpreter_from_ending() -> None:
    code = (
        "from chinese_ten_env.vector_env import ChineseTenVectorEnv\n"
        "env = ChineseTenVectorEnv(1000, opponents=None, num_threads=3)\n"
        "_, infos = env.reset(seed=0)\n"
        "env.step(infos['action_mask'].argmax(1))\n"
    )
    ended = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=False
    )
    assert ended.returncode == 0, ended.stderr
    assert ended.stderr == ""
