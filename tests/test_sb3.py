"""The native VecEnv of Stable-Baselines3, alone and under sb3-contrib's MaskablePPO."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
import torch
from sb3_contrib import MaskablePPO
from sb3_contrib.common.maskable.callbacks import MaskableEvalCallback
from sb3_contrib.common.maskable.evaluation import evaluate_policy
from sb3_contrib.common.maskable.utils import get_action_masks, is_masking_supported
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.env_checker import check_env
from stable_baselines3.common.monitor import Monitor
from stable_baselines3.common.vec_env import SubprocVecEnv, VecMonitor
from torch.distributions import Distribution

import chinese_ten_env as ct
from chinese_ten_env import Feature
from chinese_ten_env.adapters.sb3 import ChineseTenVecEnv
from chinese_ten_env.cli import main
from tests.spies import WatchedEnv
from tests.test_gym_env import CHECKED, check_id, choose, net_from

TABLES = [("mainland", 2), ("taiwan", 4), ("g4a", 3)]

SCALE = 0.05
"""Of the rewards that are learned from."""


def first_legal(masks: Any) -> Any:
    return np.asarray(masks).argmax(axis=1)


@pytest.mark.parametrize(("variant", "num_players"), TABLES)
@pytest.mark.parametrize("opponents", ["random", "greedy"])
def test_each_game_is_that_of_a_single_environment(
    variant: str, num_players: int, opponents: str
) -> None:
    settings: dict[str, Any] = {
        "variant": variant,
        "num_players": num_players,
        "opponents": opponents,
        "reward": "captures",
        "reward_scale": 0.5,
    }
    size = 5
    vec = ChineseTenVecEnv(size, **settings)
    vec.seed(40)
    observations = vec.reset()
    singles = [gymnasium.make("ChineseTen-v0", **settings) for _ in range(size)]
    seen = [env.reset(seed=40 + index) for index, env in enumerate(singles)]
    ends = 0
    for _ in range(60):
        masks = get_action_masks(vec)
        for index, (observation, info) in enumerate(seen):
            np.testing.assert_array_equal(observations[index], observation)
            np.testing.assert_array_equal(masks[index], info["action_mask"].astype(bool))
        actions = first_legal(masks)
        result: Any = vec.step(actions)
        observations, rewards, dones, infos = result
        for index, env in enumerate(singles):
            observation, reward, terminated, truncated, info = env.step(int(actions[index]))
            assert rewards[index] == pytest.approx(reward, abs=1e-5)
            assert bool(dones[index]) is terminated
            assert not truncated
            seen[index] = (observation, info)
            if terminated:
                ends += 1
                assert infos[index]["TimeLimit.truncated"] is False
                np.testing.assert_array_equal(infos[index]["terminal_observation"], observation)
                seen[index] = env.reset()
            else:
                assert infos[index] == {}
    assert ends >= size
    vec.close()


def test_episode_infos_are_those_of_vec_monitor() -> None:
    own = ChineseTenVecEnv(8, opponents="random")
    monitored = VecMonitor(ChineseTenVecEnv(8, opponents="random"))
    episodes: list[list[tuple[float, int]]] = [[], []]
    for kept, vec in zip(episodes, (own, monitored), strict=True):
        vec.seed(3)
        vec.reset()
        for _ in range(40):
            _, _, _, infos = vec.step(first_legal(get_action_masks(vec)))
            kept += [(i["episode"]["r"], i["episode"]["l"]) for i in infos if "episode" in i]
    assert len(episodes[0]) > 8
    assert [length for _, length in episodes[0]] == [length for _, length in episodes[1]]
    returns = [[value for value, _ in kept] for kept in episodes]
    np.testing.assert_allclose(returns[0], returns[1], atol=1e-4)


def test_buffers_are_fresh() -> None:
    vec = ChineseTenVecEnv(4)
    first = vec.reset()
    kept = first.copy()
    second, *_ = vec.step(first_legal(get_action_masks(vec)))
    assert not np.shares_memory(first, second)
    np.testing.assert_array_equal(first, kept)


def test_the_calls_of_vec_env() -> None:
    vec = ChineseTenVecEnv(3, variant="g4a")
    vec.reset()
    assert is_masking_supported(vec)
    assert vec.has_attr("rules")
    assert vec.get_attr("rules", [0, 2]) == [vec.rules, vec.rules]
    assert len(vec.env_method("action_masks", indices=1)) == 1
    assert vec.env_is_wrapped(VecMonitor) == [False] * 3
    assert vec.observation_space.contains(vec.reset()[0])
    with pytest.raises(AttributeError, match="action_masks"):
        vec.env_method("step")
    with pytest.raises(AttributeError):
        vec.set_attr("no_such_thing", 1)
    vec.set_attr("reward_scale", 2.0)
    assert vec.reward_scale == 2.0


@pytest.mark.parametrize(
    ("settings", "error", "message"),
    [
        ({"num_envs": 0}, ValueError, "num_envs"),
        ({"num_envs": 2, "variant": "tawain"}, ValueError, "taiwan"),
        ({"num_envs": 2, "opponent": "greedy"}, TypeError, "opponents"),
        ({"num_envs": 2, "opponents": "greedyy"}, ValueError, "greedy"),
        ({"num_envs": 2, "reward": "points"}, ValueError, "captures"),
        ({"num_envs": 2, "reward_scale": 0}, ValueError, "reward_scale"),
    ],
)
def test_bad_settings_are_named(
    settings: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        ChineseTenVecEnv(**settings)


def test_bad_calls_are_named() -> None:
    vec = ChineseTenVecEnv(2)
    with pytest.raises(RuntimeError, match="reset"):
        vec.step(np.zeros(2, dtype=np.int64))
    vec.reset()
    with pytest.raises(ValueError, match=r"shape \(2,\)"):
        vec.step(np.zeros(3, dtype=np.int64))
    with pytest.raises(ValueError, match="integers"):
        vec.step(np.zeros(2))
    vec.close()
    with pytest.raises(RuntimeError, match="closed"):
        vec.reset()


def test_an_illegal_action_ends_its_game_alone() -> None:
    vec = ChineseTenVecEnv(3)
    vec.reset()
    masks = np.array(get_action_masks(vec))
    actions = first_legal(masks)
    actions[1] = (~masks[1]).argmax()
    _, rewards, dones, _ = vec.step(actions)
    assert dones.tolist() == [False, True, False]
    assert rewards[1] == -vec.rules.total


@pytest.mark.parametrize(("variant", "num_players"), TABLES)
def test_maskable_ppo_learns_without_an_illegal_action(variant: str, num_players: int) -> None:
    pool = ct.Pool(["random", "greedy"], [1, 3])
    vec = ChineseTenVecEnv(32, variant, num_players, opponents=pool, reward="captures")
    taken: list[bool] = []
    step_async = vec.step_async

    def watched(actions: Any) -> None:
        masks = np.array(get_action_masks(vec))
        taken.extend(masks[np.arange(len(actions)), actions].tolist())
        step_async(actions)

    vec.step_async = watched  # type: ignore[method-assign]  # a spy
    model = MaskablePPO("MlpPolicy", vec, n_steps=32, batch_size=256, n_epochs=1, seed=0)
    model.learn(4096)
    assert len(taken) == 4096
    assert all(taken)
    assert len(model.ep_info_buffer or ()) > 10


# --- training and measuring in every form ---------------------------------------------------


@pytest.fixture
def careful_torch() -> Iterator[None]:
    """Let Torch check every distribution, and use one thread: the tests share the cores."""
    threads, checked = torch.get_num_threads(), Distribution._validate_args
    torch.set_num_threads(1)
    Distribution.set_default_validate_args(True)
    yield
    Distribution.set_default_validate_args(checked)
    torch.set_num_threads(threads)


def make_single() -> Any:
    """Return an environment that counts; workers make one too, so it has no arguments."""
    return WatchedEnv(gymnasium.make("ChineseTen-v0", opponents="random", reward_scale=SCALE))


def make_monitored() -> Any:
    """Return the same inside Stable-Baselines3's `Monitor`."""
    return Monitor(make_single())


def train_and_measure(env: Any, measured: Any, folder: Path) -> MaskablePPO:
    """Let MaskablePPO learn with evaluations on the way and one at the end; return the model."""
    callback = MaskableEvalCallback(
        measured, n_eval_episodes=10, eval_freq=256, log_path=str(folder), verbose=0
    )
    model = MaskablePPO("MlpPolicy", env, n_steps=128, batch_size=64, n_epochs=2, seed=2)
    model.learn(1024, callback=callback)
    with np.load(folder / "evaluations.npz") as kept:
        assert kept["results"].shape == (len(kept["timesteps"]), 10)
        assert len(kept["results"]) >= 2
    played: Any = evaluate_policy(model, measured, 20, return_episode_rewards=True)
    returns, lengths = played
    assert len(returns) == 20
    assert min(lengths) >= 12  # as many as there are cards in a hand: no game broke off
    assert min(returns) > -SCALE * ct.make_rules("mainland").total  # the penalty
    return model


@pytest.mark.usefixtures("careful_torch")
def test_a_single_environment_learns_and_is_measured(tmp_path: Path) -> None:
    env, measured = make_single(), make_monitored()
    train_and_measure(env, measured, tmp_path)
    assert env.decisions >= 1024
    assert measured.env.games >= 40
    assert env.illegal == measured.env.illegal == 0


@pytest.mark.parametrize("arguments", CHECKED, ids=check_id)
def test_check_env_passes(arguments: dict[str, Any]) -> None:
    for seed in range(50):
        env = gymnasium.make("ChineseTen-v0", **arguments).unwrapped
        env.action_space.seed(seed)
        check_env(env)


def play_in_workers(workers: SubprocVecEnv) -> None:
    """Play some games at random, with the masks that two monitored workers give."""
    workers.seed(1)
    observations: Any = workers.reset()
    rng = random.Random(19)
    lengths, games = np.zeros(2), 0
    for _ in range(150):
        masks = np.stack(workers.env_method("action_masks"))
        # The mask is that of the observation in hand, also after an automatic reset.
        assert (masks <= observations[:, [Feature.HAND, Feature.TABLE]].any(axis=1)).all()
        assert masks.any(axis=1).all()
        actions = np.array([choose(mask, rng) for mask in masks])
        observations, rewards, dones, infos = workers.step(actions)
        lengths += 1
        for index in np.flatnonzero(dones):
            assert infos[index]["episode"]["l"] == lengths[index] >= 12
            assert not infos[index]["TimeLimit.truncated"]
            net = net_from(infos[index]["terminal_observation"], ct.make_rules())
            assert infos[index]["episode"]["r"] == pytest.approx(net * SCALE, abs=1e-5)
            assert rewards[index] == pytest.approx(net * SCALE, abs=1e-5)
            lengths[index] = 0
            games += 1
    assert games >= 10


@pytest.mark.parametrize("make", [make_single, make_monitored], ids=["plain", "monitor"])
@pytest.mark.usefixtures("careful_torch")
# It is measured in one process, which costs less than two more workers.
@pytest.mark.filterwarnings("ignore:Training and eval env are not of the same type:UserWarning")
def test_spawned_workers_learn_and_are_measured(make: Any, tmp_path: Path) -> None:
    workers = SubprocVecEnv([make, make], start_method="spawn")
    try:
        if make is make_monitored:
            play_in_workers(workers)
        measured = ChineseTenVecEnv(4, opponents="random", reward_scale=SCALE)
        train_and_measure(workers, VecMonitor(measured), tmp_path)
        assert sum(workers.get_attr("decisions")) >= 1024
        assert workers.get_attr("illegal") == [0, 0]
    finally:
        workers.close()


class Watch(BaseCallback):
    """Judges each action by the mask before it, and each mask by the game that it is for."""

    def __init__(self) -> None:
        super().__init__()
        self.decisions = 0
        self.illegal = 0
        self.resets = 0
        self._before: Any = None

    def _on_training_start(self) -> None:
        self._before = np.array(get_action_masks(self.training_env))

    def _on_step(self) -> bool:
        actions, masks = self.locals["actions"], self.locals["action_masks"]
        np.testing.assert_array_equal(masks, self._before)
        self.decisions += len(actions)
        self.illegal += int((~self._before[np.arange(len(actions)), actions]).sum())
        self._before = np.array(get_action_masks(self.training_env))
        seen = self.locals["new_obs"]
        assert self._before.any(axis=1).all()
        ended = np.flatnonzero(self.locals["dones"])
        self.resets += len(ended)
        # A new game asks for a card of a full hand: the mask is that hand, and not the old one's.
        np.testing.assert_array_equal(self._before[ended], seen[ended, Feature.HAND])
        assert (self._before[ended].sum(axis=1) == HAND_SIZE).all()
        return True


HAND_SIZE = 12


@pytest.mark.usefixtures("careful_torch")
def test_a_long_run_stays_legal_and_learns() -> None:
    vec = ChineseTenVecEnv(128, opponents="random", reward="captures", reward_scale=SCALE)
    model = MaskablePPO(
        "MlpPolicy",
        vec,
        learning_rate=1e-3,
        n_steps=48,
        batch_size=1024,
        n_epochs=3,
        gamma=1.0,
        ent_coef=0.003,
        policy_kwargs={"net_arch": [64]},
        seed=0,
    )
    start: Any = evaluate_policy(model, VecMonitor(vec), 500)
    watch = Watch()
    model.learn(200_000, callback=watch)
    assert watch.decisions >= 200_000
    assert watch.resets > 10_000
    assert watch.illegal == 0
    assert all(torch.isfinite(weight).all() for weight in model.policy.parameters())
    end: Any = evaluate_policy(model, VecMonitor(vec), 500)
    assert end[0] > start[0] + 0.2  # 4 points a deal


def test_the_bench_measures_it(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "--json", "--seconds", "0.05", "--repeats", "1", "--only", "sb3"]) == 0
    assert json.loads(capsys.readouterr().out)["sb3_vec_256_steps_per_s"] > 0
