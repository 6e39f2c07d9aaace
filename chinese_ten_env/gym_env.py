"""The Gymnasium environment: one learner against policies."""

from __future__ import annotations

import operator
from typing import Any

import gymnasium
import numpy as np
import numpy.typing as npt
from gymnasium import spaces

from chinese_ten_env.cards import NUM_CARDS
from chinese_ten_env.chinese_ten_v0 import (
    ONLY,
    check_names,
    deal_options,
    observation_dict_space,
)
from chinese_ten_env.engine import parse_deal, seed_array
from chinese_ten_env.learner import LearnerGames
from chinese_ten_env.observation import NUM_FEATURES, OBSERVATION_SHAPE
from chinese_ten_env.render.board import board
from chinese_ten_env.render.modes import FPS, MODES, Screen, warn_of_no_mode
from chinese_ten_env.rules import SWITCHES, make_rules

GYM_ARGUMENTS = (
    "variant",
    "num_players",
    "opponents",
    "seat",
    "reward",
    "reward_scale",
    "match",
    "target",
    "capture",
    "dict_observation",
    "render_mode",
)
"""The named arguments of the Gymnasium environments; the other switches are taken too."""


class ChineseTenEnv(gymnasium.Env[Any, Any]):
    """Chinese Ten for one learner, with policies in the other seats.

    **Description.** A step plays the learner's decision and all that follows until it is on turn
    again or the game is over.

    **Action space.** ``Discrete(52)``: always a card, as in the AEC environment.

    **Observation space.** ``Box`` int8 [F, 52], rows as in `Feature`; with
    ``dict_observation=True`` the AEC environment's dict with the mask. The mask of legal actions is
    in ``info["action_mask"]`` (int8 [52]) and in `action_masks()` (bool [52]). ``info["seat"]`` is
    the learner's seat.

    **Rewards.** As in the AEC environment, times `reward_scale`, and for all that happened since
    the learner's last decision.

    **End.** ``terminated`` when the deal, or the match, is over; the final view is returned. An
    illegal action ends the game too, with ``terminated=True`` and the penalty of the AEC
    environment.

    **Arguments.** `opponents`: a policy, by name or as an object, a `Pool`, or one such for each
    other seat in seat order; None lets the learner play every seat, each decision paid to the one
    who makes it. ``seat=None`` draws the learner's seat from the seed at every reset.
    ``reset(options={"deck": ..., "dealer": ...})`` as in the AEC environment.

    **Render modes.** As in the AEC environment, showing what the learner sees.

    **Versions.** v0: the first.
    """

    metadata = {"render_modes": list(MODES), "render_fps": FPS}

    def __init__(
        self,
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
        **switches: Any,
    ) -> None:
        check_names("argument", switches, SWITCHES, GYM_ARGUMENTS)
        self.rules = make_rules(
            variant, num_players, match=match, target=target, capture=capture, **switches
        )
        self.render_mode = render_mode
        self._screen = Screen(render_mode)
        self.reward_scale = check_scale(reward_scale)
        self.dict_observation = bool(dict_observation)
        self.observation_space = (
            observation_dict_space() if dict_observation else observation_space()
        )
        self.action_space = spaces.Discrete(NUM_CARDS)
        self._learner = LearnerGames(self.rules, 1, opponents, seat, reward)
        self._seeded = False
        self._running = False
        self._closed = False
        self._mask = np.zeros(NUM_CARDS, dtype=np.int8)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Begin a game, up to the learner's first decision; ValueError names a bad option."""
        self._check_open()
        deal = parse_deal(self._learner.games, ONLY, *deal_options(options))
        super().reset(seed=seed)
        if seed is None and not self._seeded:
            seed = int(self.np_random.integers(2**63))
        if seed is not None:
            self._learner.seed(ONLY, seed_array(seed, 1))
            self._seeded = True
        self._learner.begin(ONLY, *deal)
        self._running = True
        arrays = self._learner.empty_observations()
        self._learner.observe(*arrays)
        if self.render_mode == "human":
            self.render()
        return self._seen(*arrays)

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Play the learner's card and all that follows until it is on turn again."""
        self._check_open()
        if not self._running:
            raise RuntimeError("no game is running: call reset() first, and after each end")
        try:
            card = operator.index(action)
        except TypeError:
            raise ValueError(
                f"an action is an integer from 0 to {NUM_CARDS - 1}, not {action!r}"
            ) from None
        if not 0 <= card < NUM_CARDS:
            card = -1  # as illegal as any other, but of 64 bits
        self._running = False  # unless all goes well
        arrays = self._learner.empty_observations()
        rewards, over = self._learner.step(np.array((card,), dtype=np.int64), *arrays)
        terminated = bool(over[0])
        self._running = not terminated
        observation, info = self._seen(*arrays)
        if self.render_mode == "human":
            self.render()
        return observation, float(rewards[0]) * self.reward_scale, terminated, False, info

    def _seen(
        self, observation: npt.NDArray[np.int8], masks: npt.NDArray[np.int8]
    ) -> tuple[Any, dict[str, Any]]:
        self._mask = masks[0]
        info = {"action_mask": masks[0].copy(), "seat": int(self._learner.seats[0])}
        if self.dict_observation:
            return {"observation": observation[0], "action_mask": masks[0].copy()}, info
        return observation[0], info

    def action_masks(self) -> npt.NDArray[np.bool_]:
        """Return the legal actions, bool [52]: what sb3-contrib's MaskablePPO asks for."""
        return self._mask.astype(np.bool_)

    def render(self) -> Any:
        """Show the board as the learner sees it, in the render mode.

        Returns uint8 [600, 800, 3] with ``"rgb_array"``, a string with ``"svg"`` and ``"ansi"``,
        and None with ``"human"``, where every reset and step shows the board by itself.
        """
        if self.render_mode is None:
            warn_of_no_mode("make()")
            return None
        return self._screen.show(board(self._learner.games, self.rules, self._learner.seats[0]))

    def close(self) -> None:
        """Close the environment: it can be neither reset nor stepped any more."""
        self._closed = True
        self._screen.close()
        self._learner.close()

    def _check_open(self) -> None:
        if self._closed:
            raise RuntimeError("the environment is closed; make a new one")


def observation_space() -> spaces.Box:
    """Return the space of an observation, int8 [F, 52]."""
    return spaces.Box(0, 1, OBSERVATION_SHAPE, np.int8)


def packed_observation_space() -> spaces.Box:
    """Return the space of an observation as bitboards, uint64 [F]."""
    return spaces.Box(0, 2**NUM_CARDS - 1, (NUM_FEATURES,), np.uint64)


def check_scale(reward_scale: float) -> float:
    """Return the reward scale; ValueError unless it is a positive number."""
    if not 0 < float(reward_scale) < float("inf"):
        raise ValueError(f"reward_scale must be a positive number, not {reward_scale!r}")
    return float(reward_scale)
