"""SuperSuit: which of its wrappers fit, and that whole games through them are legal and pay right.

Most of its wrappers of observations take a Box. The AEC observation is a dict with the mask, so
they refuse it when they are put on, until `observation_lambda_v0` makes a Box of it. The Gymnasium
environment has a Box, with the mask in the info, and takes them as it is.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gymnasium
import numpy as np
import pytest
import supersuit
from gymnasium import spaces

from chinese_ten_env import chinese_ten_v0
from chinese_ten_env.observation import OBSERVATION_SHAPE
from tests.spies import WatchedAEC, WatchedEnv

FEATURES, CARDS = OBSERVATION_SHAPE
TABLES = [("mainland", 2), ("g4a", 3), ("taiwan", 4)]


def floats(observation: Any, space: Any, agent: str) -> Any:
    """Return the dict with the rows as float32 in one line; the mask stays."""
    return {**observation, "observation": observation["observation"].astype(np.float32).ravel()}


def space_of_floats(space: Any) -> Any:
    """Return the space of `floats`."""
    rows = spaces.Box(0, 1, (FEATURES * CARDS,), np.float32)
    return spaces.Dict({"observation": rows, "action_mask": space["action_mask"]})


def with_mask_row(observation: Any, space: Any, agent: str) -> Any:
    """Return the rows and, as the last, the mask."""
    return np.concatenate([observation["observation"], observation["action_mask"][None]])


def one_box(env: Any) -> Any:
    """Make a Box of the dict: the mask is its last row."""
    box = spaces.Box(0, 1, (FEATURES + 1, CARDS), np.int8)
    return supersuit.observation_lambda_v0(env, with_mask_row, lambda space: box)


def mask_of(observation: Any) -> Any:
    """Return the mask of an observation in any of the forms that are made here."""
    if isinstance(observation, dict):
        return observation["action_mask"]
    newest = observation[..., -1] if observation.ndim == 3 else observation
    return newest.reshape(FEATURES + 1, CARDS)[-1]


Wrap = Callable[[Any], Any]

FITTING: dict[str, Wrap] = {
    "observation_lambda_v0": lambda env: supersuit.observation_lambda_v0(
        env, floats, space_of_floats
    ),
    "action_lambda_v1": lambda env: supersuit.action_lambda_v1(
        env, lambda action, space: action, lambda space: space
    ),
    "pad_action_space_v0": supersuit.pad_action_space_v0,
    "nan_noop_v0": lambda env: supersuit.nan_noop_v0(env, 0),
    "observation_lambda_v0, dtype_v0": lambda env: supersuit.dtype_v0(one_box(env), np.float32),
    "observation_lambda_v0, flatten_v0": lambda env: supersuit.flatten_v0(one_box(env)),
    "observation_lambda_v0, frame_stack_v1": lambda env: supersuit.frame_stack_v1(one_box(env), 3),
    "observation_lambda_v0, pad_observations_v0": lambda env: supersuit.pad_observations_v0(
        one_box(env)
    ),
}


def play(env: Any, seed: int) -> dict[str, float]:
    """Play a game at random by the masks of the observations; return what each agent is paid."""
    rng = np.random.default_rng(seed)
    env.reset(seed=seed)
    returns = dict.fromkeys(env.possible_agents, 0.0)
    for agent in env.agent_iter():
        observation, reward, termination, truncation, _ = env.last()
        assert env.observation_space(agent).contains(observation)
        returns[agent] += reward
        over = termination or truncation
        env.step(None if over else int(rng.choice(np.flatnonzero(mask_of(observation)))))
    return returns


@pytest.mark.parametrize(("variant", "num_players"), TABLES)
@pytest.mark.parametrize("name", FITTING)
def test_games_through_wrappers_are_legal_and_pay_the_net(
    name: str, variant: str, num_players: int
) -> None:
    spy = WatchedAEC(chinese_ten_v0.env(variant=variant, num_players=num_players))
    env = FITTING[name](spy)
    paid = [list(play(env, seed).values()) for seed in range(10)]
    assert spy.decisions >= 10 * 24
    assert spy.illegal == 0
    np.testing.assert_allclose(paid, spy.nets)


@pytest.mark.parametrize(
    ("wrap", "change"),
    [
        (supersuit.clip_reward_v0, np.sign),  # to -1, 0 or 1 here: nets are whole or halves
        (
            lambda env: supersuit.reward_lambda_v0(env, lambda reward: reward / 10),
            lambda net: net / 10,
        ),
    ],
    ids=["clip_reward_v0", "reward_lambda_v0"],
)
def test_wrappers_of_rewards_reach_every_agent(wrap: Wrap, change: Any) -> None:
    spy = WatchedAEC(chinese_ten_v0.env())
    env = wrap(spy)
    paid = [list(play(env, seed).values()) for seed in range(10)]
    assert spy.illegal == 0
    np.testing.assert_allclose(paid, change(np.array(spy.nets)))


def test_frames_are_stacked_for_each_agent_alone() -> None:
    env = supersuit.frame_stack_v1(one_box(chinese_ten_v0.env(num_players=3)), 2)
    env.reset(seed=4)
    shown: dict[str, Any] = {}
    for agent in env.agent_iter(60):
        observation, _, termination, _, _ = env.last()
        if termination:
            break
        before = shown.get(agent)
        if before is not None:
            np.testing.assert_array_equal(observation[..., 0], before)
        shown[agent] = observation[..., 1].copy()
        env.step(int(np.flatnonzero(mask_of(observation))[0]))
    assert len(shown) == 3


def test_vectorised_games_are_legal() -> None:
    rng = np.random.default_rng(2)
    vector = supersuit.vectorize_aec_env_v0(
        one_box(WatchedAEC(chinese_ten_v0.env(num_players=3))), 4
    )
    spies = [game.env for game in vector.envs]
    vector.reset(seed=5)
    for _ in vector.agent_iter(400):
        observations, *_ = vector.last()
        masks = np.stack([mask_of(observation) for observation in observations])
        # 0 stands for a game in which another agent is on turn, and is ignored there.
        vector.step((rng.random(masks.shape) * masks).argmax(axis=1))
    assert sum(len(spy.nets) for spy in spies) >= 8
    assert all(spy.decisions > 50 for spy in spies)
    assert sum(spy.illegal for spy in spies) == 0


BOX_ONLY: dict[str, tuple[Wrap, type[Exception]]] = {
    "dtype_v0": (lambda env: supersuit.dtype_v0(env, np.float32), AttributeError),
    "flatten_v0": (supersuit.flatten_v0, AttributeError),
    "reshape_v0": (lambda env: supersuit.reshape_v0(env, (FEATURES * CARDS,)), AssertionError),
    "frame_stack_v1": (lambda env: supersuit.frame_stack_v1(env, 3), AssertionError),
}
"""What takes a Box only, and how it refuses a dict."""

REFUSED: dict[str, tuple[Wrap, type[Exception]]] = {
    **BOX_ONLY,
    "normalize_obs_v0": (supersuit.normalize_obs_v0, AttributeError),
    "color_reduction_v0": (supersuit.color_reduction_v0, AttributeError),
    "agent_indicator_v0": (supersuit.agent_indicator_v0, AssertionError),
    "pad_observations_v0": (supersuit.pad_observations_v0, AssertionError),
    # Actions are cards, a Discrete, and not numbers that can be scaled.
    "scale_actions_v0": (lambda env: supersuit.scale_actions_v0(env, 2), AssertionError),
    # Agents act in turn and never at once, so there is no parallel environment.
    "black_death_v3": (supersuit.black_death_v3, AssertionError),
    "pettingzoo_env_to_vec_env_v1": (supersuit.pettingzoo_env_to_vec_env_v1, AssertionError),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_does_not_fit_says_so_when_it_is_put_on(name: str) -> None:
    wrap, error = REFUSED[name]
    with pytest.raises(error):
        wrap(chinese_ten_v0.env())


def test_actions_cannot_be_clipped_as_the_first_one_shows() -> None:
    env = supersuit.clip_actions_v0(chinese_ten_v0.env())
    with pytest.raises(AttributeError, match="'Discrete' object has no attribute 'low'"):
        play(env, 0)


REPEATING: dict[str, Wrap] = {
    "sticky_actions_v0": lambda env: supersuit.sticky_actions_v0(env, 0.9),
    "frame_skip_v0": lambda env: supersuit.frame_skip_v0(env, 2),
}
"""What acts in the player's stead: a card can be played once, so to repeat it is illegal."""


@pytest.mark.parametrize("name", REPEATING)
@pytest.mark.filterwarnings("ignore:.*Illegal move made:UserWarning")
def test_wrappers_that_repeat_actions_act_illegally_and_are_not_helped(name: str) -> None:
    spy = WatchedAEC(chinese_ten_v0.env())
    play(REPEATING[name](spy), 0)
    assert spy.illegal == 1  # which ended the game
    assert spy.decisions < 24


@pytest.mark.parametrize("name", BOX_ONLY)
def test_the_gymnasium_environment_takes_wrappers_of_boxes(name: str) -> None:
    spy = WatchedEnv(gymnasium.make("ChineseTen-v0", opponents="random"))
    env = BOX_ONLY[name][0](spy)
    rng = np.random.default_rng(1)
    for seed in range(10):
        observation, info = env.reset(seed=seed)
        terminated = False
        while not terminated:
            assert env.observation_space.contains(observation)
            action = int(rng.choice(np.flatnonzero(info["action_mask"])))
            observation, _, terminated, _, info = env.step(action)
    assert spy.games == 10
    assert spy.decisions >= 120
    assert spy.illegal == 0
