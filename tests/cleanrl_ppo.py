"""PPO in one file in the manner of CleanRL, with masks, on Gymnasium's vector environments.

It knows nothing of this package but the name of the environment and ``info["action_mask"]``:
    python -m tests.cleanrl_ppo --total-steps 200000
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import gymnasium as gym
import numpy as np
import torch
import tyro
from torch import nn
from torch.distributions import Categorical

import chinese_ten_env  # noqa: F401  # registers the environment


@dataclass
class Args:
    """What a run is made with."""

    env_id: str = "ChineseTen-v0"
    total_steps: int = 80_000
    num_envs: int = 64
    num_steps: int = 24
    learning_rate: float = 2e-3
    gamma: float = 1.0
    gae_lambda: float = 0.95
    update_epochs: int = 4
    minibatches: int = 4
    clip: float = 0.2
    entropy: float = 0.01
    seed: int = 1
    opponents: str = "random"
    vectorization_mode: str | None = None


@dataclass
class Result:
    """What came of a run."""

    returns: list[float] = field(default_factory=list)
    """Of each episode, as they ended."""
    losses: list[float] = field(default_factory=list)
    decisions: int = 0
    illegal: int = 0


class Agent(nn.Module):
    """An actor and a critic."""

    def __init__(self, inputs: int, actions: int) -> None:
        super().__init__()
        self.actor = nn.Sequential(nn.Linear(inputs, 64), nn.Tanh(), nn.Linear(64, actions))
        self.critic = nn.Sequential(nn.Linear(inputs, 64), nn.Tanh(), nn.Linear(64, 1))

    def forward(self, seen: torch.Tensor, masks: torch.Tensor) -> tuple[Categorical, torch.Tensor]:
        """Return the distribution over legal actions and the value."""
        logits = self.actor(seen).masked_fill(masks == 0, -1e8)
        return Categorical(logits=logits, validate_args=True), self.critic(seen).squeeze(-1)


def train(args: Args) -> Result:
    """Train; the environment has Gymnasium's usual autoreset, in the step after the end."""
    torch.manual_seed(args.seed)
    envs = gym.make_vec(
        args.env_id,
        num_envs=args.num_envs,
        vectorization_mode=args.vectorization_mode,
        opponents=args.opponents,
        reward="captures",
        reward_scale=0.05,
    )
    space: Any = envs.single_action_space
    size = int(np.prod(envs.single_observation_space.shape or ()))
    agent = Agent(size, int(space.n))
    optimizer = torch.optim.Adam(agent.parameters(), lr=args.learning_rate, eps=1e-5)
    result = Result()
    shape = (args.num_steps, args.num_envs)

    def tensors(observation: Any, info: dict[str, Any]) -> tuple[torch.Tensor, torch.Tensor]:
        seen = torch.as_tensor(observation, dtype=torch.float32).flatten(1)
        return seen, torch.as_tensor(info["action_mask"])

    seen, mask = tensors(*envs.reset(seed=args.seed))
    ended = torch.zeros(args.num_envs, dtype=torch.bool)
    sums = np.zeros(args.num_envs)
    for _ in range(args.total_steps // (args.num_envs * args.num_steps)):
        observations = torch.zeros((*shape, size))
        masks = torch.zeros((*shape, int(space.n)), dtype=torch.int8)
        actions = torch.zeros(shape, dtype=torch.int64)
        logprobs, rewards, values = torch.zeros(shape), torch.zeros(shape), torch.zeros(shape)
        played, dones = torch.zeros(shape, dtype=torch.bool), torch.zeros(shape)
        for step in range(args.num_steps):
            observations[step], masks[step], played[step] = seen, mask, ~ended
            with torch.no_grad():
                odds, values[step] = agent(seen, mask)
                actions[step] = odds.sample()
                logprobs[step] = odds.log_prob(actions[step])
            legal = mask.gather(1, actions[step].unsqueeze(1)).squeeze(1).bool()
            result.decisions += int((~ended).sum())
            result.illegal += int((~legal & ~ended).sum())
            observation, reward, terminated, truncated, info = envs.step(actions[step].numpy())
            sums += reward
            over = terminated | truncated
            result.returns += sums[over].tolist()
            sums[over] = 0.0
            ended = torch.as_tensor(over)
            rewards[step] = torch.as_tensor(reward, dtype=torch.float32)
            dones[step] = ended.float()
            seen, mask = tensors(observation, info)

        # Generalised advantages; nothing flows back over the end of a game.
        advantages, last = torch.zeros(shape), torch.zeros(args.num_envs)
        with torch.no_grad():
            following = agent(seen, mask)[1]
        for step in reversed(range(args.num_steps)):
            going = 1.0 - dones[step]
            delta = rewards[step] + args.gamma * following * going - values[step]
            last = delta + args.gamma * args.gae_lambda * going * last
            advantages[step], following = last, values[step]
        targets = advantages + values

        # What autoreset has ignored is no decision, and teaches nothing.
        batch = torch.nonzero(played.flatten()).squeeze(1)
        flat = [part.flatten(0, 1) for part in (observations, masks)]
        for _ in range(args.update_epochs):
            for part in batch[torch.randperm(len(batch))].chunk(args.minibatches):
                odds, value = agent(flat[0][part], flat[1][part])
                ratio = (odds.log_prob(actions.flatten()[part]) - logprobs.flatten()[part]).exp()
                gain = advantages.flatten()[part]
                gain = (gain - gain.mean()) / (gain.std() + 1e-8)
                clipped = ratio.clamp(1 - args.clip, 1 + args.clip)
                policy_loss = -torch.min(gain * ratio, gain * clipped).mean()
                value_loss = (value - targets.flatten()[part]).square().mean()
                loss = policy_loss + 0.5 * value_loss - args.entropy * odds.entropy().mean()
                optimizer.zero_grad()
                loss.backward()
                nn.utils.clip_grad_norm_(agent.parameters(), 0.5)
                optimizer.step()
                result.losses.append(float(loss.detach()))
    envs.close()
    return result


if __name__ == "__main__":
    done = train(tyro.cli(Args))
    games = len(done.returns)
    print(f"{done.decisions:,} decisions, {done.illegal} illegal; {games:,} games, mean return")
    for number, quarter in enumerate(np.array_split(done.returns, 4), start=1):
        print(f"  quarter {number}: {quarter.mean():+.3f}")
