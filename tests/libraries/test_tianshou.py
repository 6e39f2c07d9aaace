"""Tianshou's `PettingZooEnv`: its collectors and masked policies, and DQN that trains."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from tianshou.algorithm import DQN
from tianshou.algorithm.modelfree.dqn import DiscreteQLearningPolicy
from tianshou.algorithm.multiagent.marl import MultiAgentOffPolicyAlgorithm
from tianshou.algorithm.optim import AdamOptimizerFactory
from tianshou.algorithm.random import MARLRandomDiscreteMaskedOffPolicyAlgorithm
from tianshou.data import Collector, VectorReplayBuffer
from tianshou.env import DummyVectorEnv, PettingZooEnv
from tianshou.trainer import OffPolicyTrainerParams
from tianshou.utils.net.common import Net

from chinese_ten_env import chinese_ten_v0
from tests.spies import WatchedAEC

TABLES = [("mainland", 2), ("g4a", 3), ("taiwan", 4)]


def make(num_envs: int, variant: str, num_players: int, **more: Any) -> tuple[Any, list[Any]]:
    """Return a vector of Tianshou's environments, and the spies inside them."""
    spies = [
        WatchedAEC(chinese_ten_v0.env(variant=variant, num_players=num_players, **more))
        for _ in range(num_envs)
    ]
    vector = DummyVectorEnv([lambda spy=spy: PettingZooEnv(spy) for spy in spies])
    for spy in spies:  # making a PettingZooEnv resets it
        spy.nets.clear()
    vector.seed(list(range(num_envs)))
    return vector, spies


def random_agents(env: Any, others: int) -> list[Any]:
    """Return Tianshou's random agents, which play by the mask."""
    return [MARLRandomDiscreteMaskedOffPolicyAlgorithm(env.action_space) for _ in range(others)]


def finished_returns(buffer: Any) -> Any:
    """Return what each finished episode of the buffer paid, by agent."""
    order = np.concatenate(
        [
            part.sample_indices(0) + start
            for part, start in zip(buffer.buffers, buffer._offset, strict=True)
        ]
    )
    rewards, done = buffer.rew[order], buffer.done[order]
    ends = np.flatnonzero(done) + 1
    return np.array([part.sum(axis=0) for part in np.split(rewards, ends)[:-1]])


@pytest.mark.parametrize("reward", ["net", "captures"])
@pytest.mark.parametrize(("variant", "num_players"), TABLES)
def test_a_hundred_episodes_pay_every_agent_its_net(
    variant: str, num_players: int, reward: str
) -> None:
    np.random.seed(0)  # noqa: NPY002  # from which Tianshou's random agents draw
    vector, spies = make(4, variant, num_players, reward=reward)
    one = PettingZooEnv(chinese_ten_v0.env(variant=variant, num_players=num_players))
    agents = MultiAgentOffPolicyAlgorithm(algorithms=random_agents(one, num_players), env=one)
    buffer = VectorReplayBuffer(100 * 60, 4)
    collector = Collector[Any](agents, vector, buffer)
    collector.reset()
    stats = collector.collect(n_episode=100)
    assert stats.n_collected_episodes == 100
    assert sum(spy.illegal for spy in spies) == 0
    assert sum(spy.decisions for spy in spies) == stats.n_collected_steps
    nets = np.array([net for spy in spies for net in spy.nets])
    assert nets.shape == (100, num_players)
    assert stats.returns.shape == (100, num_players)
    key = np.lexsort  # episodes are counted as they end, in an order of Tianshou's own
    for returns in (stats.returns, finished_returns(buffer)):
        np.testing.assert_allclose(
            returns[key(np.round(returns, 2).T)], nets[key(np.round(nets, 2).T)], atol=1e-3
        )
    assert len(np.unique(nets, axis=0)) > 50


def test_dqn_trains_against_a_random_agent_without_an_illegal_action() -> None:
    torch.manual_seed(0)
    np.random.seed(0)  # noqa: NPY002  # from which Tianshou draws
    vector, spies = make(8, "mainland", 2, reward="captures")
    one = PettingZooEnv(chinese_ten_v0.env())
    space = one.observation_space["observation"]
    network = Net(state_shape=space.shape, action_shape=52, hidden_sizes=[64])
    before = [parameter.detach().clone() for parameter in network.parameters()]
    dqn: Any = DQN(
        policy=DiscreteQLearningPolicy(
            model=network, action_space=one.action_space, eps_training=0.2
        ),
        optim=AdamOptimizerFactory(lr=1e-3),
        n_step_return_horizon=2,
        target_update_freq=100,
    )
    agents = MultiAgentOffPolicyAlgorithm(algorithms=[dqn, *random_agents(one, 1)], env=one)
    collector = Collector[Any](
        agents, vector, VectorReplayBuffer(20_000, 8), exploration_noise=True
    )
    testing, testers = make(4, "mainland", 2)
    result = agents.run_training(
        OffPolicyTrainerParams(
            training_collector=collector,
            test_collector=Collector[Any](agents, testing),
            max_epochs=2,
            epoch_num_steps=2000,
            collection_step_num_env_steps=200,
            test_step_num_episodes=20,
            batch_size=64,
            update_step_num_gradient_steps_per_sample=0.1,
            multi_agent_return_reduction=lambda returns: returns[:, 0],
            show_progress=False,
            verbose=False,
        )
    )
    assert sum(spy.decisions for spy in spies) >= 4000
    assert sum(spy.decisions for spy in testers) >= 40 * 24
    assert sum(spy.illegal for spy in [*spies, *testers]) == 0
    assert np.isfinite(result.best_reward)
    after = list(network.parameters())
    assert all(torch.isfinite(parameter).all() for parameter in after)
    assert any(not torch.equal(old, new) for old, new in zip(before, after, strict=True))
