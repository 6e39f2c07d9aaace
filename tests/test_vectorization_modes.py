"""The same games in every form that Gymnasium gives a vector of environments."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium import VectorizeMode
from gymnasium.vector import AsyncVectorEnv, SyncVectorEnv

from chinese_ten_env.vector_env import ChineseTenVectorEnv
from tests.helpers import mixed
from tests.spies import WatchedVectorEnv

MODES: dict[str, tuple[dict[str, Any], type[Any]]] = {
    "native": ({}, ChineseTenVectorEnv),
    "sync": ({}, SyncVectorEnv),
    "async": ({"vector_kwargs": {"context": "spawn"}}, AsyncVectorEnv),
}
STEPS = 60


def record(mode: str, table: tuple[str, int], opponents: str) -> list[Any]:
    """Play some steps by rules that know the masks only; return all that is shown."""
    more, kind = MODES[mode]
    vectorization_mode = VectorizeMode.VECTOR_ENTRY_POINT if mode == "native" else mode
    envs = gymnasium.make_vec(
        "ChineseTen-v0",
        num_envs=3,
        vectorization_mode=vectorization_mode,
        variant=table[0],
        num_players=table[1],
        opponents=opponents,
        **more,
    )
    spy = WatchedVectorEnv(envs)
    try:
        assert isinstance(envs.unwrapped, kind)
        observations, infos = spy.reset(seed=11)
        shown = [observations.copy(), infos["action_mask"].copy(), infos["seat"].copy()]
        for number in range(STEPS):
            actions = []
            for index, mask in enumerate(infos["action_mask"]):
                choices = np.flatnonzero(mask)
                word = mixed(3 * number + index)
                actions.append(choices[word % len(choices)] if len(choices) else 0)
            observations, rewards, terminated, truncated, infos = spy.step(np.array(actions))
            assert not truncated.any()
            shown += [observations.copy(), rewards.astype(np.float64), terminated.copy()]
            shown += [infos["action_mask"].copy(), infos["seat"].copy()]
        assert spy.games >= 6
        assert spy.decisions == 3 * STEPS - spy.games + int(terminated.sum())
        assert spy.illegal == 0
    finally:
        spy.close()
    return shown


@pytest.mark.parametrize(
    ("table", "opponents"), [(("mainland", 2), "random"), (("taiwan", 4), "greedy")]
)
def test_a_seed_is_the_same_episodes_in_every_form(table: tuple[str, int], opponents: str) -> None:
    native, *others = (record(mode, table, opponents) for mode in MODES)
    for other in others:
        assert len(other) == len(native)
        for one, two in zip(native, other, strict=True):
            np.testing.assert_array_equal(one, two)
