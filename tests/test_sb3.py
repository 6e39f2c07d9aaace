"""The native VecEnv of Stable-Baselines3, alone and under sb3-contrib's MaskablePPO."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
import pytest
from sb3_contrib import MaskablePPO
from sb3_contrib.common.maskable.utils import get_action_masks, is_masking_supported
from stable_baselines3.common.vec_env import VecMonitor

import chinese_ten_env as ct
from chinese_ten_env.adapters.sb3 import ChineseTenVecEnv

TABLES = [("mainland", 2), ("taiwan", 4), ("g4a", 3)]


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
