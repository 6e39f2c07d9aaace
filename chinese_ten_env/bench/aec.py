"""Decisions a second of AEC environments, all in the same loop."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from pettingzoo import AECEnv

from chinese_ten_env import chinese_ten_v0
from chinese_ten_env.bench.measure import LeftOut, Sample, Settings, rate
from chinese_ten_env.cards import NUM_CARDS
from chinese_ten_env.observation import OBSERVATION_SHAPE

_FLOOR_STEPS = 30


def chunk_of(env: Any) -> Callable[[], int]:
    """Return what plays a game at random, with `last`, a choice from the mask and `step`."""
    numbers = random.Random(0)
    env.reset(seed=0)

    def chunk() -> int:
        env.reset()
        decisions = 0
        for _ in env.agent_iter():
            observation, _, terminated, truncated, _ = env.last()
            if terminated or truncated:
                env.step(None)
                continue
            legal = np.flatnonzero(observation["action_mask"])
            env.step(int(legal[int(numbers.random() * legal.size)]))
            decisions += 1
        return decisions

    return chunk


@contextmanager
def raw(_: Settings) -> Iterator[Sample]:
    """Yield a sample of `raw_env`."""
    yield rate(chunk_of(chinese_ten_v0.raw_env()))


@contextmanager
def wrapped(_: Settings) -> Iterator[Sample]:
    """Yield a sample of `env`."""
    yield rate(chunk_of(chinese_ten_v0.env()))


class Floor(AECEnv[str, dict[str, Any], Any]):
    """The least that an AEC environment can do: two agents in turn, nothing to see, a fixed end."""

    metadata = {"name": "floor"}

    def __init__(self) -> None:
        self.possible_agents = ["player_0", "player_1"]
        self._seen = {
            "observation": np.zeros(OBSERVATION_SHAPE, dtype=np.int8),
            # About a hand. Of the type of ours: NumPy searches bool faster.
            "action_mask": (np.arange(NUM_CARDS) % 5 == 0).astype(np.int8),
        }

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> None:
        """Begin an episode."""
        self.agents = self.possible_agents[:]
        self.rewards = dict.fromkeys(self.agents, 0.0)
        self._cumulative_rewards = dict.fromkeys(self.agents, 0.0)
        self.terminations = dict.fromkeys(self.agents, False)
        self.truncations = dict.fromkeys(self.agents, False)
        self.infos = {agent: {} for agent in self.agents}
        self.agent_selection = self.agents[0]
        self._steps = 0

    def observe(self, agent: str) -> dict[str, Any]:
        """Return the same observation and mask each time."""
        return self._seen

    def step(self, action: Any) -> None:
        """Pass the turn, or end the episode."""
        if self.terminations[self.agent_selection]:
            self._was_dead_step(action)
            return
        self._steps += 1
        self.agent_selection = self.possible_agents[self._steps % 2]
        if self._steps == _FLOOR_STEPS:
            self.terminations = dict.fromkeys(self.agents, True)


@contextmanager
def floor(_: Settings) -> Iterator[Sample]:
    """Yield a sample of the smallest possible environment."""
    yield rate(chunk_of(Floor()))


@contextmanager
def leduc(_: Settings) -> Iterator[Sample]:
    """Yield a sample of PettingZoo's smallest card game."""
    try:
        from pettingzoo.classic import leduc_holdem_v4
    except ImportError as error:
        hint = "pip install 'chinese_ten_env[bench]'"
        raise LeftOut(f"needs PettingZoo's card games: {hint} ({error})") from None
    yield rate(chunk_of(leduc_holdem_v4.raw_env()))
