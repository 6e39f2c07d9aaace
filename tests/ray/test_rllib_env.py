"""RLlib's environment and module: rewards, masks, order, seeds."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from ray.rllib.core.columns import Columns
from ray.rllib.utils.pre_checks.env import check_multiagent_environments

import chinese_ten_env as ct
from agents import rllib_ppo
from agents.rllib_ppo import Config, Critic, Player
from chinese_ten_env.adapters.rllib import ChineseTenMultiAgentEnv, MaskingModule

ROOT = Path(ct.__file__).resolve().parents[1]
TABLES = [("mainland", 2), ("g4a", 3), ("taiwan", 4)]
SMALL: dict[str, Any] = {"width": 8, "context": 16, "critic_width": 8, "critic_context": 16}


@contextmanager
def algorithm(
    rules: ct.Rules, workers: int = 0, num_envs: int = 4, seed: int = 0, **more: Any
) -> Iterator[Any]:
    """RLlib's PPO as the agent makes it."""
    config = Config(workers=workers, num_envs=num_envs, minibatch=64, **SMALL, **more)
    made = rllib_ppo.make_algorithm(rules, config, seed)
    try:
        yield made
    finally:
        made.stop()
        os.rmdir(made.logdir)


# --- rewards and masks ----------------------------------------------------------------------


@pytest.mark.parametrize("reward", ["captures", "net"])
@pytest.mark.parametrize(("variant", "num_players"), TABLES)
@pytest.mark.usefixtures("local_ray")
def test_what_rllib_records_sums_to_the_net_and_is_legal(
    variant: str, num_players: int, reward: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    rules = ct.make_rules(variant, num_players)
    nets: list[Any] = []
    step = ChineseTenMultiAgentEnv.step

    def noting(env: Any, action_dict: dict[str, Any]) -> Any:
        result = step(env, action_dict)
        if result[2]["__all__"]:
            nets.append(ct.nets(env.env._games[:1], rules)[0])
        return result

    with algorithm(rules, reward=reward, reward_scale=0.5) as made:
        monkeypatch.setattr(ChineseTenMultiAgentEnv, "step", noting)
        games = [game.unwrapped for game in made.env_runner.env.envs]
        illegal = [game.illegal_actions for game in games]  # of RLlib's check
        episodes = [e for _ in range(15) for e in made.env_runner.sample(num_episodes=4)]
        assert [game.illegal_actions for game in games] == illegal
    assert len(episodes) == 60
    seats = [f"player_{seat}" for seat in range(num_players)]
    leaders, decisions = set(), 0
    for episode, net in zip(episodes, nets, strict=False):
        assert episode.is_terminated
        assert sorted(episode.agent_episodes) == seats
        assert sum(net) == pytest.approx(0)
        for seat, agent in enumerate(seats):
            own = episode.agent_episodes[agent]
            assert own.module_id == rllib_ppo.MODULE
            assert sum(own.get_rewards()) == pytest.approx(0.5 * net[seat], abs=1e-4)
            masks = own.get_observations()["action_mask"]
            actions = np.asarray(own.get_actions())
            assert len(masks) == len(actions) + 1
            assert masks[np.arange(len(actions)), actions].all()
            assert masks[:-1].any(axis=1).all()
            assert not masks[-1].any()
            decisions += len(actions)
        leaders.add(next(iter(episode.agent_episodes)))
    assert decisions >= 60 * rllib_ppo.TURNS
    assert len({tuple(net) for net in nets}) > 30
    assert leaders == set(seats)  # so that some were paid before their first decision


def test_an_illegal_action_ends_the_game_with_the_penalty_of_the_pettingzoo_env() -> None:
    env = ChineseTenMultiAgentEnv(variant="taiwan", num_players=4, reward_scale=0.5)
    (agent,) = env.reset(seed=3)[0]
    twin = ct.chinese_ten_v0.env(variant="taiwan", num_players=4)
    twin.reset(seed=3)
    card = int(np.flatnonzero(env.env.observe(agent)["action_mask"] == 0)[0])
    seen, rewards, terminateds, truncateds, infos = env.step({agent: card})
    twin.step(card)
    assert list(seen) == list(rewards) == env.possible_agents
    assert rewards == {name: 0.5 * twin.rewards[name] for name in env.possible_agents}
    assert rewards[agent] < 0
    assert all(terminateds.values())
    assert not any(truncateds.values())
    assert infos == {}
    assert env.illegal_actions == 1
    env.close()


@pytest.mark.parametrize(("variant", "num_players"), TABLES)
def test_the_check_of_rllib_passes(variant: str, num_players: int) -> None:
    for reward in ("captures", "net", "win"):
        env = ChineseTenMultiAgentEnv(variant=variant, num_players=num_players, reward=reward)
        check_multiagent_environments(env)
        assert all(
            env.observation_spaces[name].contains(env.reset(seed=1)[0][name])
            for name in env.reset(seed=1)[0]
        )


def test_wrong_arguments_are_named() -> None:
    with pytest.raises(ValueError, match="reward_scale"):
        ChineseTenMultiAgentEnv(reward_scale=0)
    with pytest.raises(ValueError, match="taiwan"):
        ChineseTenMultiAgentEnv(variant="tawain")
    with pytest.raises(TypeError, match="num_players"):
        ChineseTenMultiAgentEnv(player_num=4)


# --- order and seeds ------------------------------------------------------------------------

ORDER = """
from chinese_ten_env.adapters.rllib import ChineseTenMultiAgentEnv
env = ChineseTenMultiAgentEnv(variant="taiwan", num_players=4)
print(env.possible_agents, env.agents, [*env.observation_spaces], [*env.action_spaces])
"""


def test_the_order_of_agents_does_not_depend_on_the_hash_seed() -> None:
    printed = set()
    for seed in ("0", "1"):
        environment = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": str(ROOT)}
        command = [sys.executable, "-c", ORDER]
        printed.add(subprocess.check_output(command, env=environment, text=True, timeout=120))
    (order,) = printed
    assert order.count("['player_0', 'player_1', 'player_2', 'player_3']") == 4


def first_hands(runner: Any) -> list[bytes]:
    """Return what the leaders see of the decks that a runner deals in two rollouts."""
    episodes = [e for _ in range(2) for e in runner.sample(num_episodes=4)]
    return [
        next(iter(e.agent_episodes.values())).get_observations(0)["observation"].tobytes()
        for e in episodes
    ]


@pytest.mark.usefixtures("local_ray")
def test_every_game_of_every_worker_and_rollout_has_a_deck_of_its_own() -> None:
    rules = ct.make_rules("mainland")
    with algorithm(rules, workers=2, num_envs=8, seed=7) as made:
        parts = made.env_runner_group.foreach_env_runner(first_hands, local_env_runner=False)
    hands = [hand for part in parts for hand in part]
    assert len(hands) == len(set(hands)) == 16


@pytest.mark.usefixtures("local_ray")
def test_a_seed_gives_the_same_decks_again() -> None:
    rules = ct.make_rules("mainland")
    dealt = []
    for seed in (1, 1, 2):
        with algorithm(rules, seed=seed) as made:
            dealt.append(first_hands(made.env_runner))
    assert dealt[0] == dealt[1]
    assert not set(dealt[0]) & set(dealt[2])


# --- module ---------------------------------------------------------------------------------


def make_module(rules: ct.Rules, inference_only: bool) -> MaskingModule:
    """The module with networks for these rules."""
    env = ChineseTenMultiAgentEnv()
    return MaskingModule(
        observation_space=env.observation_spaces["player_0"],
        action_space=env.action_spaces["player_0"],
        inference_only=inference_only,
        model_config={
            "actor": partial(Player, rules, 8, 16),
            "critic": partial(Critic, rules, 8, 16),
        },
    )


def test_illegal_actions_have_no_probability_and_gradients_are_finite() -> None:
    rules = ct.make_rules("mainland")
    module = make_module(rules, inference_only=False)
    views = ct.views(ct.new_games(rules, 50, seed=1))
    masks = torch.from_numpy(ct.action_masks(views))
    masks[0] = 0  # as behind the end of a game
    seen = {"observation": torch.from_numpy(ct.observe(views)), "action_mask": masks}
    batch = {Columns.OBS: seen}
    logits = module.forward_train(batch)[Columns.ACTION_DIST_INPUTS]
    probabilities = torch.softmax(logits, 1)
    assert (probabilities[1:][masks[1:] == 0] == 0).all()
    torch.testing.assert_close(probabilities.sum(1), torch.ones(50))
    drawn = module.get_exploration_action_dist_cls().from_logits(logits[1:].repeat(99, 1)).sample()
    assert masks[1:].repeat(99, 1).gather(1, drawn.unsqueeze(1)).all()
    odds = module.get_train_action_dist_cls().from_logits(logits)
    values = module.compute_values(batch)
    assert values.shape == (50,)
    loss = odds.logp(masks.argmax(1)).sum() + odds.entropy().sum() + values.sum()
    torch.autograd.backward(loss)
    for name, parameter in module.named_parameters():
        assert torch.isfinite(parameter.grad).all(), name


def test_what_only_plays_has_no_critic() -> None:
    rules = ct.make_rules("mainland")
    learner, player = (make_module(rules, inference_only) for inference_only in (False, True))
    state = learner.get_state(inference_only=True)
    assert state
    assert not [name for name in state if name.startswith("critic")]
    player.set_state(state)  # raises if it lacks weights
    assert not hasattr(player, "critic")
