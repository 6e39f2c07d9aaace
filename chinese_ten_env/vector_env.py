"""The native Gymnasium vector environment: a batch of games stepped by compiled code."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from gymnasium import spaces
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from chinese_ten_env.cards import NUM_CARDS
from chinese_ten_env.chinese_ten_v0 import (
    check_names,
    deal_options,
    observation_dict_space,
)
from chinese_ten_env.engine import parse_deal, seed_array
from chinese_ten_env.gym_env import (
    GYM_ARGUMENTS,
    check_scale,
    observation_space,
    packed_observation_space,
)
from chinese_ten_env.learner import Indices, LearnerGames
from chinese_ten_env.render.board import board
from chinese_ten_env.render.modes import FPS, PICTURE_MODES, Screen
from chinese_ten_env.rules import SWITCHES, make_rules

VECTOR_ARGUMENTS = (
    *GYM_ARGUMENTS,
    "num_envs",
    "autoreset_mode",
    "copy",
    "packed",
    "num_threads",
)
"""The named arguments of the vector environment; the other switches are taken too."""


class ChineseTenVectorEnv(VectorEnv[Any, Any, Any]):
    """Many games of `ChineseTenEnv` at once.

    **Description.** Environment i with seed s gives what a single environment with seed s + i
    gives.

    **Action space.** ``MultiDiscrete([52] * B)``, as integers [B].

    **Observation space.** ``Box`` int8 [B, F, 52]; with ``packed=True`` the same as bitboards,
    uint64 [B, F]; with ``dict_observation=True`` a dict with the masks. ``info["action_mask"]`` is
    int8 [B, 52], ``info["seat"]`` int64 [B]; with ``opponents=None`` ``info["rewards"]``, float64
    [B, P], tells what the step paid every player.

    **Rewards, end.** As `ChineseTenEnv`; rewards are float64 [B].

    **Arguments.** Those of `ChineseTenEnv`, and `autoreset_mode`: ``AutoresetMode.NEXT_STEP`` (the
    step after the end begins the next game, ignores the action and pays 0), ``SAME_STEP`` (the last
    observation is in ``info["final_obs"]``) or ``DISABLED`` (reset with ``options={"reset_mask":
    bool [B]}``). ``copy=False`` returns the same arrays at each step, overwritten by the next one;
    `num_threads` divides the batch among threads. ``reset`` takes one seed, or a seed or None for
    each environment, and in the options a deck or dealer for all, or one for each game that begins.

    **Render modes.** Those of `ChineseTenEnv` but for ``"human"``; one picture for each game.

    **Versions.** v0: the first.
    """

    def __init__(
        self,
        num_envs: int = 1,
        variant: str = "mainland",
        num_players: int | None = None,
        opponents: Any = "greedy",
        seat: int | None = None,
        reward: str = "net",
        reward_scale: float = 1.0,
        match: str = "deal",
        target: int | None = None,
        capture: str = "card",
        dict_observation: bool = False,
        render_mode: str | None = None,
        autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
        copy: bool = True,
        packed: bool = False,
        num_threads: int = 1,
        **switches: Any,
    ) -> None:
        check_names("argument", switches, SWITCHES, VECTOR_ARGUMENTS)
        self.rules = make_rules(
            variant, num_players, match=match, target=target, capture=capture, **switches
        )
        if isinstance(num_envs, bool) or not isinstance(num_envs, int) or num_envs < 1:
            raise ValueError(f"num_envs must be a positive integer, not {num_envs!r}")
        self.num_envs = num_envs
        self.render_mode = render_mode
        self._screen = Screen(render_mode, PICTURE_MODES)
        self.reward_scale = check_scale(reward_scale)
        self.autoreset_mode = AutoresetMode(autoreset_mode)
        self.metadata = {
            "autoreset_mode": self.autoreset_mode,
            "render_modes": list(PICTURE_MODES),
            "render_fps": FPS,
        }
        self.copy, self.packed = bool(copy), bool(packed)
        self.dict_observation = bool(dict_observation)
        if self.dict_observation and self.packed:
            raise ValueError("dict_observation and packed exclude one another")
        self.single_action_space = spaces.Discrete(NUM_CARDS)
        self.action_space = batch_space(self.single_action_space, num_envs)
        if self.dict_observation:
            self.single_observation_space: spaces.Space[Any] = observation_dict_space()
        else:
            self.single_observation_space = (
                packed_observation_space() if self.packed else observation_space()
            )
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self._learner = LearnerGames(self.rules, num_envs, opponents, seat, reward, num_threads)
        self._seeded = np.zeros(num_envs, dtype=np.bool_)
        self._over = np.ones(num_envs, dtype=np.bool_)  # no game is running before the first reset
        self._started = False
        self._present: npt.NDArray[np.bool_] | None = None
        self._buffers: tuple[npt.NDArray[Any], npt.NDArray[np.int8]] | None = None

    # --- Gymnasium's calls ------------------------------------------------------------------

    def reset(
        self, *, seed: Any = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Begin all games, or those of ``options["reset_mask"]``; ValueError names a bad option."""
        self._check_open()
        indices = self._reset_indices(options)
        deal = parse_deal(self._learner.games, indices, *deal_options(options))
        super().reset(seed=int(seed) if isinstance(seed, (int, np.integer)) else None)
        self._seed(indices, seed)
        self._learner.begin(indices, *deal)
        self._over[indices] = False
        self._started = True
        observations, masks = self._arrays()
        self._learner.observe(observations, masks)
        return self._seen(observations, masks), self._infos(masks)

    def step(
        self, actions: Any
    ) -> tuple[
        Any,
        npt.NDArray[np.float64],
        npt.NDArray[np.bool_],
        npt.NDArray[np.bool_],
        dict[str, Any],
    ]:
        """Play one decision in each game, as the autoreset mode says."""
        self._check_open()
        cards = np.asarray(actions)
        if cards.shape != (self.num_envs,) or cards.dtype.kind not in "iu":
            raise ValueError(
                f"actions must be integers of shape ({self.num_envs},), "
                f"not {cards.dtype} of shape {cards.shape}"
            )
        if not self._started:
            raise RuntimeError("no game is running: call reset() first")
        ended = self._over
        if self.autoreset_mode == AutoresetMode.DISABLED and ended.any():
            raise RuntimeError(
                f"games {np.flatnonzero(ended)[:10].tolist()} are over: reset them with "
                'options={"reset_mask": ...} first'
            )
        self._started = False  # unless all goes well
        beginning = ended if self.autoreset_mode == AutoresetMode.NEXT_STEP else None
        observations, masks = self._arrays()
        rewards, over = self._learner.step(
            cards.astype(np.int64, copy=False), observations, masks, beginning
        )
        # `over` is the caller's, who may keep or change it.
        self._over = over.copy()
        changes = self._learner.changes if self._learner.everybody else None
        if self.reward_scale != 1.0:
            rewards *= self.reward_scale
            if changes is not None:
                changes *= self.reward_scale
        infos: dict[str, Any] = {}
        if self.autoreset_mode == AutoresetMode.SAME_STEP:
            infos = self._begin_at_once(np.flatnonzero(over), observations, masks)
        self._started = True
        infos.update(self._infos(masks, changes))
        truncated = np.zeros(self.num_envs, dtype=np.bool_)
        return self._seen(observations, masks), rewards, over, truncated, infos

    def action_masks(self) -> npt.NDArray[np.bool_]:
        """Return the legal actions, bool [B, 52]."""
        bitboards, masks = self._learner.empty_observations(packed=True)
        self._learner.observe(bitboards, masks)
        return masks.astype(np.bool_)

    def render(self) -> tuple[Any, ...] | None:
        """Return the board of each game [B] as its learner sees it, in the render mode.

        Each is uint8 [600, 800, 3] with ``"rgb_array"``, a string with ``"svg"`` and ``"ansi"``.
        """
        if self.render_mode is None:
            return None
        games, seats = self._learner.games, self._learner.seats
        return tuple(
            self._screen.show(board(games[index : index + 1], self.rules, seats[index]))
            for index in range(self.num_envs)
        )

    def close_extras(self, **kwargs: Any) -> None:
        """Stop the threads."""
        # Older versions of Gymnasium also close an environment whose settings were refused.
        if hasattr(self, "_learner"):
            self._learner.close()

    def _check_open(self) -> None:
        if self.closed:
            raise RuntimeError("the environment is closed; make a new one")

    # --- beginning --------------------------------------------------------------------------

    def _reset_indices(self, options: dict[str, Any] | None) -> Indices:
        mask = (options or {}).get("reset_mask")
        if mask is None:
            return np.arange(self.num_envs)
        array = np.asarray(mask)
        if array.shape != (self.num_envs,) or array.dtype != np.bool_ or not array.any():
            raise ValueError(
                f"reset_mask must be bool of shape ({self.num_envs},) with at least one True"
            )
        if not self._started and not array.all():
            raise ValueError("reset all games once before resetting some")
        return np.flatnonzero(array)

    def _seed(self, indices: Indices, seed: Any) -> None:
        """Seed games that are to begin; those never seeded from this environment's generator."""
        if seed is None or isinstance(seed, (int, np.integer)):
            if seed is not None:
                seeds = seed_array(seed, self.num_envs)[indices]
                self._learner.seed(indices, seeds)
                self._seeded[indices] = True
        else:
            given = list(seed)
            if len(given) != self.num_envs:
                raise ValueError(f"{self.num_envs} seeds are needed, not {len(given)}")
            chosen = [index for index in indices.tolist() if given[index] is not None]
            if chosen:
                seeds = np.concatenate([seed_array(given[index], 1) for index in chosen])
                self._learner.seed(np.array(chosen, dtype=np.int64), seeds)
                self._seeded[chosen] = True
        fresh = indices[~self._seeded[indices]]
        if len(fresh):
            words = self.np_random.integers(2**63, size=len(fresh))
            self._learner.seed(fresh, words.astype(np.uint64))
            self._seeded[fresh] = True

    # --- observing --------------------------------------------------------------------------

    def _arrays(self) -> tuple[npt.NDArray[Any], npt.NDArray[np.int8]]:
        """Return the arrays to observe into, new ones unless ``copy=False``."""
        if self.copy or self._buffers is None:
            self._buffers = self._learner.empty_observations(self.packed)
        return self._buffers

    def _seen(self, observations: npt.NDArray[Any], masks: npt.NDArray[np.int8]) -> Any:
        if not self.dict_observation:
            return observations
        own = masks.copy() if self.copy else masks
        return {"observation": observations, "action_mask": own}

    def _infos(
        self, masks: npt.NDArray[np.int8], changes: npt.NDArray[np.float64] | None = None
    ) -> dict[str, Any]:
        infos: dict[str, Any] = {"action_mask": masks, "seat": self._learner.seats.copy()}
        if changes is not None:
            infos["rewards"] = changes
        if self.copy or self._present is None:
            self._present = np.ones(self.num_envs, dtype=np.bool_)
        return infos | {f"_{name}": self._present for name in infos}

    def _begin_at_once(
        self, ended: Indices, observations: npt.NDArray[Any], masks: npt.NDArray[np.int8]
    ) -> dict[str, Any]:
        """Begin the games [n] that have just ended, and return the infos of their ends."""
        if not len(ended):
            return {}
        final_masks = np.zeros((self.num_envs, NUM_CARDS), dtype=np.int8)  # nothing is legal
        final_obs = np.full(self.num_envs, None, dtype=object)
        last = observations[ended]
        for row, index in enumerate(ended):
            final_obs[index] = (
                {"observation": last[row], "action_mask": final_masks[index]}
                if self.dict_observation
                else last[row]
            )
        present = np.zeros(self.num_envs, dtype=np.bool_)
        present[ended] = True
        final_info: dict[str, Any] = {
            "action_mask": final_masks,
            "_action_mask": present,
            "seat": self._learner.seats.copy(),
            "_seat": present.copy(),
        }
        self._learner.begin(ended)
        self._learner.observe(observations, masks, ended)
        self._over[ended] = False
        return {
            "final_obs": final_obs,
            "_final_obs": present.copy(),
            "final_info": final_info,
            "_final_info": present.copy(),
        }
