"""AgileRL's trainers on the native vector environment, with the masks of ``info``."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
import pytest
import torch
from agilerl.algorithms import DQN, PPO
from agilerl.components.replay_buffer import ReplayBuffer
from agilerl.training.train_off_policy import train_off_policy
from agilerl.training.train_on_policy import train_on_policy
from gymnasium.wrappers.vector import FlattenObservation

import chinese_ten_env as ct
from tests.spies import WatchedVectorEnv

NUM_ENVS = 16
STEPS = 4096
NETWORK = {"encoder_config": {"hidden_size": [64]}}


def make(variant: str, num_players: int) -> WatchedVectorEnv:
    """Return the vector environment; AgileRL's plain network takes rows of numbers only."""
    envs = gymnasium.make_vec(
        "ChineseTen-v0",
        num_envs=NUM_ENVS,
        variant=variant,
        num_players=num_players,
        opponents="random",
        reward="captures",
        reward_scale=0.05,
    )
    return WatchedVectorEnv(FlattenObservation(envs))


def weights(agent: Any) -> list[torch.Tensor]:
    """Return a copy of the actor's weights."""
    return [parameter.detach().clone() for parameter in agent.actor.parameters()]


def check(env: WatchedVectorEnv, agent: Any, before: list[torch.Tensor], fitnesses: Any) -> None:
    """Compare an agent with itself before, and look at all that it played."""
    after = weights(agent)
    assert all(torch.isfinite(weight).all() for weight in after)
    assert any(not torch.equal(old, new) for old, new in zip(before, after, strict=True))
    assert np.isfinite(fitnesses).all()
    assert env.decisions > 0.9 * STEPS  # a few steps begin the next game
    assert env.games > 100
    assert env.illegal == 0


@pytest.mark.parametrize(("variant", "num_players"), [("mainland", 2), ("taiwan", 4)])
def test_ppo_trains_and_is_measured_without_an_illegal_action(
    variant: str, num_players: int
) -> None:
    torch.manual_seed(0)
    env = make(variant, num_players)
    agent = PPO(
        env.single_observation_space,
        env.single_action_space,
        num_envs=NUM_ENVS,
        learn_step=STEPS // 2,
        batch_size=256,
        lr=1e-3,
        net_config=NETWORK,
    )
    before = weights(agent)
    (trained,), fitnesses = train_on_policy(
        env, "ChineseTen-v0", "PPO", [agent], max_steps=STEPS, evo_steps=STEPS, verbose=False
    )
    check(env, trained, before, fitnesses)


def test_dqn_trains_and_is_measured_without_an_illegal_action() -> None:
    torch.manual_seed(0)
    env = make("mainland", 2)
    agent = DQN(
        env.single_observation_space,
        env.single_action_space,
        batch_size=64,
        lr=1e-3,
        learn_step=NUM_ENVS,
        net_config=NETWORK,
    )
    before = weights(agent)
    (trained,), fitnesses = train_off_policy(
        env,
        "ChineseTen-v0",
        "DQN",
        [agent],
        ReplayBuffer(10_000),
        max_steps=STEPS,
        evo_steps=STEPS,
        eps_decay=0.98,
        verbose=False,
    )
    check(env, trained, before, fitnesses)


def test_what_a_trained_agent_is_paid_is_what_the_games_were_worth() -> None:
    env = make("mainland", 2)
    agent = PPO(env.single_observation_space, env.single_action_space, num_envs=NUM_ENVS)
    agent.set_training_mode(False)
    _, info = env.reset(seed=3)
    twin = gymnasium.make_vec(
        "ChineseTen-v0", num_envs=NUM_ENVS, opponents="random", reward="net", reward_scale=0.05
    )
    seen, _ = twin.reset(seed=3)
    paid, net = np.zeros(NUM_ENVS), np.zeros(NUM_ENVS)
    over = np.zeros(NUM_ENVS, dtype=np.bool_)
    while not over.all():
        action, *_ = agent.get_action(seen.reshape(NUM_ENVS, -1), action_mask=info["action_mask"])
        _, rewards, ended, _, info = env.step(action)
        seen, nets, *_ = twin.step(action)
        paid, net = paid + rewards * ~over, net + nets * ~over
        over |= ended
    np.testing.assert_allclose(paid, net, atol=1e-4)
    assert (net != 0).any()
    assert env.illegal == 0
    assert isinstance(env.unwrapped, ct.vector_env.ChineseTenVectorEnv)
