"""Stable-Baselines3: a native `VecEnv`, with masks for sb3-contrib's MaskablePPO."""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

try:
    from stable_baselines3.common.vec_env import VecEnv
except ModuleNotFoundError as error:
    raise ModuleNotFoundError(
        "chinese_ten_env.adapters.sb3 needs Stable-Baselines3: pip install 'chinese_ten_env[train]'"
    ) from error
from gymnasium import spaces

from chinese_ten_env.cards import NUM_CARDS
from chinese_ten_env.chinese_ten_v0 import check_names, random_seed
from chinese_ten_env.engine import seed_array
from chinese_ten_env.gym_env import GYM_ARGUMENTS, check_scale, observation_space
from chinese_ten_env.learner import LearnerGames
from chinese_ten_env.rules import SWITCHES, make_rules

VEC_ENV_ARGUMENTS = (
    *(name for name in GYM_ARGUMENTS if name not in ("dict_observation", "render_mode")),
    "num_envs",
    "num_threads",
)


class ChineseTenVecEnv(VecEnv):
    """Many games of `ChineseTenEnv` at once, as Stable-Baselines3 wants them.

    Observations are int8 [B, F, 52], fresh at each step. ``env_method("action_masks")`` gives the
    masks, bool [52] each; algorithms of sb3-contrib find them there. A finished game begins anew in
    the same step: its last observation is in ``infos[i]["terminal_observation"]``, and
    ``infos[i]["episode"]`` tells its return, length and end as `VecMonitor` would. Arguments as
    `ChineseTenEnv`, and `num_threads`. Game i with seed s is that of a single environment with seed
    s + i.
    """

    def __init__(
        self,
        num_envs: int,
        variant: str = "mainland",
        num_players: int | None = None,
        opponents: Any = "greedy",
        seat: int | None = None,
        reward: str = "net",
        reward_scale: float = 1.0,
        match: str = "deal",
        target: int | None = None,
        capture: str = "card",
        num_threads: int = 1,
        **switches: Any,
    ) -> None:
        check_names("argument", switches, SWITCHES, VEC_ENV_ARGUMENTS)
        self.rules = make_rules(
            variant, num_players, match=match, target=target, capture=capture, **switches
        )
        if isinstance(num_envs, bool) or not isinstance(num_envs, int) or num_envs < 1:
            raise ValueError(f"num_envs must be a positive integer, not {num_envs!r}")
        self.render_mode = None
        self.reward_scale = check_scale(reward_scale)
        self.games = LearnerGames(self.rules, num_envs, opponents, seat, reward, num_threads)
        self._masks = np.zeros((num_envs, NUM_CARDS), dtype=np.int8)
        self._actions = np.zeros(num_envs, dtype=np.int64)
        self._returns = np.zeros(num_envs)
        self._lengths = np.zeros(num_envs, dtype=np.int64)
        self._everywhere = np.arange(num_envs)
        self._seeded = False
        self._closed = False
        self._start = time.perf_counter()
        super().__init__(num_envs, observation_space(), spaces.Discrete(NUM_CARDS))

    # --- the calls of VecEnv ----------------------------------------------------------------

    def reset(self) -> npt.NDArray[np.int8]:
        """Begin all games, from the seeds of `seed` if it was called, and return observations."""
        self._check_open()
        if self._seeds[0] is not None or not self._seeded:
            base = random_seed()
            seeds = [
                seed_array(base + index if seed is None else seed, 1)
                for index, seed in enumerate(self._seeds)
            ]
            self.games.seed(self._everywhere, np.concatenate(seeds))
            self._seeded = True
        self._reset_seeds()
        self._reset_options()
        self.games.begin(self._everywhere)
        self._returns[:] = 0.0
        self._lengths[:] = 0
        observations, self._masks = self.games.empty_observations()
        self.games.observe(observations, self._masks)
        return observations

    def step_async(self, actions: npt.NDArray[Any]) -> None:
        """Take the actions [B] of the next `step_wait`; ValueError if they are not such."""
        cards = np.asarray(actions)
        if cards.shape != (self.num_envs,) or cards.dtype.kind not in "iu":
            raise ValueError(
                f"actions must be integers of shape ({self.num_envs},), "
                f"not {cards.dtype} of shape {cards.shape}"
            )
        self._actions = cards.astype(np.int64)

    def step_wait(self) -> Any:
        """Play a decision in each game; return observations, rewards, dones [B] and infos."""
        self._check_open()
        if not self._seeded:
            raise RuntimeError("no game is running: call reset() first")
        observations, self._masks = self.games.empty_observations()
        rewards, over = self.games.step(self._actions, observations, self._masks)
        rewards *= self.reward_scale
        self._returns += rewards
        self._lengths += 1
        infos: list[dict[str, Any]] = [{} for _ in range(self.num_envs)]
        ended = np.flatnonzero(over)
        if len(ended):
            last = observations[ended]
            now = round(time.perf_counter() - self._start, 6)
            for row, index in enumerate(ended.tolist()):
                infos[index] = {
                    "terminal_observation": last[row],
                    "TimeLimit.truncated": False,
                    "episode": {
                        "r": float(self._returns[index]),
                        "l": int(self._lengths[index]),
                        "t": now,
                    },
                }
            self._returns[ended] = 0.0
            self._lengths[ended] = 0
            self.games.begin(ended)
            self.games.observe(observations, self._masks, ended)
        return observations, rewards.astype(np.float32), over, infos

    def close(self) -> None:
        """Stop the threads; the environment can be neither reset nor stepped any more."""
        self._closed = True
        self.games.close()

    def get_attr(self, attr_name: str, indices: Any = None) -> list[Any]:
        """Return an attribute once for each of the games asked for."""
        value = getattr(self, attr_name)
        return [value for _ in self._get_indices(indices)]

    def set_attr(self, attr_name: str, value: Any, indices: Any = None) -> None:
        """Set an attribute that exists, for all games together."""
        if len(list(self._get_indices(indices))) != self.num_envs:
            raise ValueError("the games share their attributes: set one for all of them")
        getattr(self, attr_name)
        setattr(self, attr_name, value)

    def env_method(
        self, method_name: str, *method_args: Any, indices: Any = None, **method_kwargs: Any
    ) -> list[Any]:
        """Call a method of the games asked for; there is one, ``action_masks``, bool [52] each."""
        if method_name != "action_masks":
            raise AttributeError(f"games have no method {method_name!r}, only 'action_masks'")
        masks = self.action_masks()
        return [masks[index] for index in self._get_indices(indices)]

    def env_is_wrapped(self, wrapper_class: Any, indices: Any = None) -> list[bool]:
        """Return False for each game: there is nothing to wrap."""
        return [False for _ in self._get_indices(indices)]

    def get_images(self) -> list[None]:
        """Return no pictures."""
        return [None] * self.num_envs

    # --- masks ------------------------------------------------------------------------------

    def action_masks(self) -> npt.NDArray[np.bool_]:
        """Return the legal actions, bool [B, 52]."""
        return self._masks.astype(np.bool_)

    def _get_indices(self, indices: Any) -> Iterable[int]:
        if indices is None:
            return range(self.num_envs)
        return [indices] if isinstance(indices, int) else indices

    def _check_open(self) -> None:
        if self._closed:
            raise RuntimeError("the environment is closed; make a new one")
