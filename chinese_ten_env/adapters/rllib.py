"""RLlib's new API stack: a multi-agent environment, and an RLModule that masks illegal actions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

try:
    import torch
    from ray.rllib.core.columns import Columns
    from ray.rllib.core.rl_module.apis import InferenceOnlyAPI, ValueFunctionAPI
    from ray.rllib.core.rl_module.torch import TorchRLModule
    from ray.rllib.env.multi_agent_env import MultiAgentEnv
except ModuleNotFoundError as error:
    raise ModuleNotFoundError(
        "chinese_ten_env.adapters.rllib needs RLlib and PyTorch: "
        "pip install 'chinese_ten_env[train,rllib]', in an environment of its own, "
        "since RLlib takes one version of Gymnasium only"
    ) from error

from chinese_ten_env.arena.cluster import check_address as check_address  # for agents
from chinese_ten_env.chinese_ten_v0 import raw_env
from chinese_ten_env.engine import IllegalActionError
from chinese_ten_env.gym_env import check_scale
from chinese_ten_env.rewards import illegal_action_reward


class ChineseTenMultiAgentEnv(MultiAgentEnv):
    """The PettingZoo environment as RLlib's new API stack wants it, one agent on turn at a time.

    Observations are the dicts of `ChineseTenAEC`: ``{"observation": int8 [F, 52], "action_mask":
    int8 [52]}``. `step` takes the action of the agent on turn, ``{agent: card}``, and returns what
    the next one sees; once the game is over, what all see. The rewards that RLlib records of an
    agent sum to all that the environment pays it, times `reward_scale`. An illegal action ends the
    game with the penalty of `env`, and counts in `illegal_actions`: RLlib's own check of an
    environment samples without the mask. Other arguments as `ChineseTenAEC`; those with wrong
    values raise ValueError, unknown ones TypeError.

    It stands instead of RLlib's `PettingZooEnv`, which keeps the agents in a set, whose order
    differs from process to process, and with which RLlib drops what an agent is paid before its
    first own decision.
    """

    def __init__(self, *, reward_scale: float = 1.0, **arguments: Any) -> None:
        super().__init__()
        self.env = raw_env(**arguments)
        self.reward_scale = check_scale(reward_scale)
        self.illegal_actions = 0
        """How many there were so far, in all games."""
        self.possible_agents = list(self.env.possible_agents)
        self.agents = list(self.env.possible_agents)
        self.observation_spaces = dict(self.env.observation_spaces)
        self.action_spaces = dict(self.env.action_spaces)
        self._owed = dict.fromkeys(self.possible_agents, 0.0)
        self._seated: set[str] = set()  # who has been on turn

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """Begin a game; return what the agent on turn sees, and no infos."""
        self.env.reset(seed=seed, options=options)
        self._owed = dict.fromkeys(self.possible_agents, 0.0)
        agent = self.env.agent_selection
        self._seated = {agent}
        return {agent: self.env.observe(agent)}, {}

    def step(
        self, action_dict: dict[str, Any]
    ) -> tuple[dict[str, Any], dict[str, float], dict[str, bool], dict[str, bool], dict[str, Any]]:
        """Play the card of the agent on turn.

        Return observations, rewards, terminations, truncations and infos of the agent who is on
        turn now, or of all once the game is over. KeyError if the agent on turn has no action.
        """
        env = self.env
        agent = env.agent_selection
        try:
            env.step(action_dict[agent])
        except IllegalActionError:
            self.illegal_actions += 1
            self._owed[agent] += illegal_action_reward(env.rules, env.reward)
            return self._end()
        for name, reward in env.rewards.items():
            self._owed[name] += reward
        if any(env.terminations.values()):
            return self._end()
        agent = env.agent_selection
        # RLlib pays a reward for the action before it. What comes before the first one it would
        # keep to itself, so that is paid with the second observation.
        reward = self._pay(agent) if agent in self._seated else 0.0
        self._seated.add(agent)
        flags = {agent: False, "__all__": False}
        return {agent: env.observe(agent)}, {agent: reward}, flags, dict(flags), {}

    def _pay(self, agent: str) -> float:
        owed, self._owed[agent] = self._owed[agent], 0.0
        return owed * self.reward_scale

    def _end(
        self,
    ) -> tuple[dict[str, Any], dict[str, float], dict[str, bool], dict[str, bool], dict[str, Any]]:
        agents = self.possible_agents
        return (
            {agent: self.env.observe(agent) for agent in agents},
            {agent: self._pay(agent) for agent in agents},
            dict.fromkeys([*agents, "__all__"], True),
            dict.fromkeys([*agents, "__all__"], False),
            {},
        )

    def render(self) -> Any:
        """Show the board with all hands, in the render mode."""
        return self.env.render()

    def close(self) -> None:
        """Close the environment."""
        self.env.close()


def make_env(config: Any) -> ChineseTenMultiAgentEnv:
    """Return an environment from RLlib's ``env_config``, the arguments of the environment."""
    return ChineseTenMultiAgentEnv(**config)


def deal_from(seed: int) -> Callable[..., None]:
    """Return a callback ``on_environment_created`` that gives every game a seed of its own.

    Leave RLlib's own seed unset beside it. RLlib gives game i of runner w the seed + w + i, so most
    decks are dealt in several runners; it deals the same decks again in every rollout of complete
    episodes; and without a seed, every game begins at the seed of RLlib's check. The actions drawn
    in a runner follow the seed too.
    """

    def seed_games(*, env_runner: Any, env: Any, **_: Any) -> None:
        words = np.random.SeedSequence([seed, env_runner.worker_index])
        own, *rest = words.generate_state(1 + len(env.envs), np.uint64).tolist()
        torch.manual_seed(own)
        for game, word in zip(env.envs, rest, strict=True):
            game.unwrapped.reset(seed=word)  # RLlib's own resets go on from there

    return seed_games


class MaskingModule(TorchRLModule, InferenceOnlyAPI, ValueFunctionAPI):
    """An RLModule for PPO whose illegal actions have the probability 0 exactly.

    ``model_config`` holds two functions without arguments, which make the networks: ``actor``, a
    module from observations, int8 [B, F, 52], to logits [B, 52], and ``critic``, a module from
    observations to values [B], which only the learner has.
    """

    def setup(self) -> None:
        """Make the networks."""
        self.actor = self.model_config["actor"]()
        if not self.inference_only:
            self.critic = self.model_config["critic"]()

    def get_non_inference_attributes(self) -> list[str]:
        """Return what is not needed to play."""
        return ["critic"]

    def _forward(self, batch: dict[str, Any], **kwargs: Any) -> dict[str, Any]:
        seen = batch[Columns.OBS]
        logits = self.actor(seen["observation"])
        # The lowest float rather than minus infinity, so that gradients stay finite. Where all are
        # masked, behind the end of a game, RLlib draws nothing and learns nothing.
        illegal = seen["action_mask"] == 0
        lowest = torch.finfo(logits.dtype).min
        return {Columns.ACTION_DIST_INPUTS: logits.masked_fill(illegal, lowest)}

    def compute_values(self, batch: dict[str, Any], embeddings: Any = None) -> torch.Tensor:
        """Return what the agent on turn still expects to be paid, [B]."""
        values: torch.Tensor = self.critic(batch[Columns.OBS]["observation"])
        return values
