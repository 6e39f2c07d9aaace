"""Wrappers that count what a library makes of an environment: decisions, illegal actions, nets.

They pass everything on unchanged. They judge an action by the mask that stood before it, and so
tell what an environment would only show by a game that ends early.
"""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
from gymnasium.vector import AutoresetMode, VectorWrapper
from pettingzoo.utils.wrappers import BaseWrapper

import chinese_ten_env as ct


class WatchedAEC(BaseWrapper[str, Any, Any]):
    """A PettingZoo environment that counts, and keeps the net of each finished game."""

    def __init__(self, env: Any) -> None:
        super().__init__(env)
        self.decisions = 0
        self.illegal = 0
        self.nets: list[Any] = []
        """By seat, of each game that came to its end."""

    def step(self, action: Any) -> None:
        """Count, and step."""
        inner: Any = self.env.unwrapped
        agent = inner.agent_selection
        alive = not inner.terminations[agent]
        if alive:
            self.decisions += 1
            self.illegal += not inner.observe(agent)["action_mask"][action]
        super().step(action)
        if alive and inner.terminations[agent]:
            self.nets.append(ct.nets(inner._games[:1], inner.rules)[0])


class WatchedEnv(gymnasium.Wrapper[Any, Any, Any, Any]):
    """A Gymnasium environment that counts."""

    def __init__(self, env: Any) -> None:
        super().__init__(env)
        self.decisions = 0
        self.illegal = 0
        self.games = 0

    def step(self, action: Any) -> Any:
        """Count, and step."""
        self.decisions += 1
        self.illegal += not self.env.get_wrapper_attr("action_masks")()[action]
        result = self.env.step(action)
        self.games += bool(result[2])
        return result


class WatchedVectorEnv(VectorWrapper):
    """A Gymnasium vector environment that counts what is played: not what autoreset ignores."""

    def __init__(self, env: Any) -> None:
        super().__init__(env)
        self.decisions = 0
        self.illegal = 0
        self.games = 0
        self._masks: Any = None
        self._ended = np.zeros(self.num_envs, dtype=np.bool_)

    def reset(self, *, seed: Any = None, options: Any = None) -> Any:
        """Reset, and keep the masks."""
        result = self.env.reset(seed=seed, options=options)
        self._masks = result[1]["action_mask"].copy()
        self._ended[:] = False
        return result

    def step(self, actions: Any) -> Any:
        """Count, and step."""
        taken = self._masks[np.arange(self.num_envs), actions]
        played = ~self._ended
        self.decisions += int(played.sum())
        self.illegal += int((taken[played] == 0).sum())
        result = self.env.step(actions)
        self._masks = result[4]["action_mask"].copy()
        over = result[2] | result[3]
        self.games += int(over.sum())
        if self.env.metadata["autoreset_mode"] == AutoresetMode.NEXT_STEP:
            self._ended = over.copy()
        return result
