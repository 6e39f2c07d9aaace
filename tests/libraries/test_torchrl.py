"""TorchRL's `PettingZooWrapper`: specs, masks, every agent's rewards, and PPO that trains."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from tensordict.nn import TensorDictModule
from torch import nn
from torchrl.collectors import Collector
from torchrl.envs.libs.pettingzoo import PettingZooWrapper
from torchrl.envs.utils import MarlGroupMapType, check_env_specs
from torchrl.modules import MaskedCategorical, ProbabilisticActor, ValueOperator
from torchrl.objectives import ClipPPOLoss
from torchrl.objectives.value.functional import reward2go

from chinese_ten_env import chinese_ten_v0
from chinese_ten_env.observation import OBSERVATION_SHAPE
from tests.spies import WatchedAEC

TABLES = [("mainland", 2), ("g4a", 3), ("taiwan", 4)]
GROUPS = [MarlGroupMapType.ALL_IN_ONE_GROUP, MarlGroupMapType.ONE_GROUP_PER_AGENT]
FEATURES, CARDS = OBSERVATION_SHAPE


def make(variant: str, num_players: int, **more: Any) -> tuple[Any, WatchedAEC]:
    """Return TorchRL's environment and the spy inside it."""
    grouping = more.pop("group_map", MarlGroupMapType.ALL_IN_ONE_GROUP)
    spy = WatchedAEC(chinese_ten_v0.env(variant=variant, num_players=num_players, **more))
    return PettingZooWrapper(spy, use_mask=True, group_map=grouping, seed=3), spy


def by_seat(env: Any, data: Any, key: str) -> Any:
    """Return an entry of all agents, [steps, players, ...], whatever the groups."""
    places = {
        agent: (group, index)
        for group, agents in env.group_map.items()
        for index, agent in enumerate(agents)
    }
    seats = [places[f"player_{seat}"] for seat in range(len(places))]
    return torch.stack([data[group, key][:, index] for group, index in seats], dim=1)


@pytest.mark.parametrize("group_map", GROUPS, ids=lambda kind: kind.name)
@pytest.mark.parametrize(("variant", "num_players"), TABLES)
def test_the_check_of_specs_passes(variant: str, num_players: int, group_map: Any) -> None:
    env, spy = make(variant, num_players, group_map=group_map)
    check_env_specs(env)
    assert spy.decisions > 0
    assert spy.illegal == 0


@pytest.mark.parametrize("reward", ["net", "captures"])
@pytest.mark.parametrize("group_map", GROUPS, ids=lambda kind: kind.name)
def test_a_masked_random_rollout_of_three_players_pays_everyone(
    group_map: Any, reward: str
) -> None:
    env, spy = make("g4a", 3, group_map=group_map, reward=reward)
    torch.manual_seed(0)
    data = env.rollout(200, break_when_any_done=False)
    assert data.batch_size == (200,)
    assert spy.decisions == 200
    assert spy.illegal == 0
    assert len(spy.nets) >= 4
    # What TorchRL keeps says so too: one agent acts at a time, and by its own mask.
    acting = by_seat(env, data, "mask")
    actions, masks = by_seat(env, data, "action"), by_seat(env, data, "action_mask")
    assert (acting.sum(1) == 1).all()
    assert masks.gather(2, actions.unsqueeze(2)).squeeze(2)[acting].all()
    assert (masks[acting].sum(1) < CARDS).all()
    rewards = by_seat(env, data["next"], "reward").squeeze(2)
    ends = torch.nonzero(data["next", "done"].squeeze(1)).squeeze(1) + 1
    assert len(ends) == len(spy.nets)
    paid = [part.sum(0) for part in rewards.tensor_split(ends)[:-1]]
    np.testing.assert_allclose(torch.stack(paid), np.array(spy.nets), atol=1e-3)
    assert (torch.stack(paid) != 0).any(0).all()
    assert by_seat(env, data["next"], "done")[ends - 1].all()


def actor(player: nn.Module, *place: str) -> Any:
    """Return TorchRL's actor over entries that lie at a place of the data."""
    logits = TensorDictModule(
        player, in_keys=[(*place, "observation", "observation")], out_keys=[(*place, "logits")]
    )
    return ProbabilisticActor(
        logits,
        in_keys={"logits": (*place, "logits"), "mask": (*place, "action_mask")},
        out_keys=[(*place, "action")],
        distribution_class=MaskedCategorical,
        return_log_prob=True,
        log_prob_key=(*place, "sample_log_prob"),
    )


class Network(nn.Module):
    """A network over observations as TorchRL gives them, int8 [..., F, 52]."""

    def __init__(self, outputs: int) -> None:
        super().__init__()
        self.layers = nn.Sequential(
            nn.Linear(FEATURES * CARDS, 64), nn.Tanh(), nn.Linear(64, outputs)
        )

    def forward(self, observation: torch.Tensor) -> Any:
        """Return [..., outputs]."""
        return self.layers(observation.float().flatten(-2))


def test_ppo_trains_all_seats_of_three_players_without_an_illegal_action() -> None:
    torch.manual_seed(1)
    env, spy = make("g4a", 3, reward="captures")
    player, critic = Network(CARDS), Network(1)
    before = [parameter.detach().clone() for parameter in player.parameters()]
    loss_of = ClipPPOLoss(
        actor(player),
        ValueOperator(critic, in_keys=[("observation", "observation")]),
        entropy_coeff=0.01,
    )
    loss_of.set_keys(sample_log_prob="sample_log_prob")
    optimizer = torch.optim.Adam([*player.parameters(), *critic.parameters()], lr=1e-3)
    collector = Collector(
        env,
        actor(player, "agents"),
        frames_per_batch=400,
        total_frames=1600,
        auto_register_policy_transforms=True,
    )
    errors = []
    for data in collector:
        agents = data["agents"]
        # To the end of the game: an agent is paid at the decisions of the others too.
        done = data["next", "agents", "done"]
        returns = reward2go(
            data["next", "agents", "reward"].float() / 20, done, gamma=1.0, time_dim=0
        )
        batch = agents.exclude("done", "terminated", "truncated")[agents["mask"]]
        assert len(batch) == 400
        batch["value_target"] = returns[agents["mask"]]
        with torch.no_grad():
            value = critic(batch["observation", "observation"])
        batch["advantage"] = batch["value_target"] - value
        for _ in range(8):
            parts = loss_of(batch)
            loss = parts["loss_objective"] + parts["loss_critic"] + parts["loss_entropy"]
            assert torch.isfinite(loss)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            errors.append(float(parts["loss_critic"].detach()))
    collector.shutdown()
    assert spy.decisions >= 1600
    assert spy.illegal == 0
    assert len(spy.nets) > 40
    after = list(player.parameters())
    assert any(not torch.equal(old, new) for old, new in zip(before, after, strict=True))
    # The critic comes closer to the returns of each batch while it learns from them.
    first, last = np.array(errors).reshape(4, 8)[:, [0, -1]].T
    assert (last < first).all()
