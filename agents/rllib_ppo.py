"""PPO of RLlib, on one machine or on a Ray cluster, from self-play on the PettingZoo environment.

One network plays every seat and learns from all of them. Worker processes play whole deals of
``reward="captures"``, which pays at every decision and sums to the net of the deal. Training needs
Ray; the trained policy does not.
"""

from __future__ import annotations

import logging
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

import chinese_ten_env as ct
from agents.common import NetworkPolicy, Progress, Run, evaluate, imitate, write_whole
from agents.ppo import Actor, View

# --- config ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class Config:
    """What can be set."""

    total_steps: int = 100_000_000
    """Decisions, of all seats, to train for."""
    minutes: float = 10.0
    """Stop after so many minutes of training, whichever comes first."""
    address: str = ""
    """A Ray cluster to play on, ``host:port`` or ``auto``; this machine alone unless given."""
    workers: int = 2
    """Processes that play; with 0 the learner plays."""
    num_envs: int = 256
    """Games played at once, shared out among the workers. A rollout is a deal of each."""
    minibatch: int = 1024
    """Decisions in a gradient step."""
    epochs: int = 4
    """Passes over a rollout."""
    learning_rate: float = 2.5e-3
    """At the start; it falls linearly to a twentieth."""
    gae_lambda: float = 0.8
    """Of the generalised advantage estimate; rewards are not discounted."""
    clip: float = 0.2
    """Of PPO's ratio."""
    entropy: float = 0.01
    """Weight of the entropy bonus."""
    reward: str = "captures"
    """What the environment pays, ``captures`` or ``net``."""
    reward_scale: float = 0.05
    """Net points are multiplied by this for the learner, and only for it."""
    width: int = 24
    """Numbers that the actor keeps for each rank."""
    context: int = 96
    """Numbers that the actor keeps for the whole table."""
    critic_width: int = 24
    """Numbers that the critic keeps for each rank."""
    critic_context: int = 96
    """Numbers that the critic keeps for the whole table."""
    threads: int = 1
    """Threads of the learner. More are slower than one where other work needs the cores."""
    imitate: int = 300_000
    """Decisions of the greedy policy to imitate first; 0 for none."""
    imitation_rate: float = 2e-3
    """Learning rate of the imitation."""
    soften: float = 0.5
    """What the imitated logits are multiplied by, so that play begins with some variety."""
    evaluate_every: float = 30.0
    """Seconds between two measurements."""
    evaluation_deals: int = 500
    """Deals of a measurement, each played in all seatings."""

    def __post_init__(self) -> None:
        for setting in fields(self):
            least = 0 if setting.name in ("imitate", "workers") else 1
            value = getattr(self, setting.name)
            if isinstance(value, int) and value < least:
                raise ValueError(f"{setting.name} must be at least {least}, not {value}")
        if not self.minutes > 0:
            raise ValueError(f"minutes must be positive, not {self.minutes}")
        if self.reward not in ("captures", "net"):
            raise ValueError(f"reward must be 'captures' or 'net', not {self.reward!r}")
        if self.num_envs % max(1, self.workers):
            raise ValueError(f"workers={self.workers} must divide num_envs={self.num_envs}")
        # Each turn of a deal asks for a decision at least.
        if self.minibatch > self.num_envs * TURNS:
            raise ValueError(
                f"a rollout may have as few as num_envs * {TURNS} = {self.num_envs * TURNS} "
                f"decisions, so minibatch={self.minibatch} is too large"
            )


TURNS = 24
"""Of a deal."""

# --- network --------------------------------------------------------------------------------


class Player(nn.Module):
    """The actor, as RLlib calls it."""

    def __init__(self, rules: ct.Rules, width: int, context: int) -> None:
        super().__init__()
        self.network = Actor(rules, width, context)

    def forward(self, observations: torch.Tensor) -> torch.Tensor:
        """Return logits [B, 52], from observations, int8 [B, F, 52]."""
        return self.network.choose(observations)


class Critic(View):
    """What a player may still win, from what the player sees."""

    def __init__(self, rules: ct.Rules, width: int, context: int) -> None:
        super().__init__(rules, width, context)
        self.outlook = nn.Linear(context, context)
        self.value = nn.Linear(context, 1)
        nn.init.zeros_(self.value.weight)
        nn.init.zeros_(self.value.bias)

    def forward(self, observations: torch.Tensor) -> torch.Tensor:
        """Return values [B], from observations, int8 [B, F, 52]."""
        _, table = self.ranks.look(*self.see(observations))
        values: torch.Tensor = self.value(torch.relu(self.outlook(table)))
        return values.squeeze(1)


# --- rollout --------------------------------------------------------------------------------

MODULE = "shared"
"""The only module: it has every seat."""


@contextmanager
def connected(address: str, workers: int) -> Iterator[None]:
    """Be connected to Ray: as this process is already, or to a cluster, or to a Ray of its own.

    What is begun here ends here. ValueError if no cluster answers at the address, or if one is
    given to a process that is connected already.
    """
    import ray

    from chinese_ten_env.adapters.rllib import check_address

    if ray.is_initialized():
        if address:
            raise ValueError(
                f"this process is connected to Ray, so address={address!r} is too late"
            )
        yield
        return
    common: dict[str, Any] = {"logging_level": logging.ERROR}
    if address:
        # The agents are in no wheel, so the cluster gets the code from here.
        root = Path(__file__).resolve().parents[1]
        code = [str(root / name) for name in ("agents", "chinese_ten_env")]
        runtime = {"py_modules": code, "excludes": ["**/__pycache__"]}
        try:
            check_address(address)
            ray.init(address=address, runtime_env=runtime, **common)
        except ConnectionError as error:
            raise ValueError(str(error)) from error
    else:
        cores = max(workers + 1, os.cpu_count() or 1)  # never to wait for more than there are
        # What goes wrong in a worker is raised here, so its own words would only break the bar.
        ray.init(
            address="local",
            num_cpus=cores,
            include_dashboard=False,
            log_to_driver=False,
            **common,
        )
    try:
        yield
    finally:
        ray.shutdown()


def count_decisions(*, metrics_logger: Any, samples: list[Any], **_: Any) -> None:
    """Count the decisions of whole deals; RLlib counts those too that it breaks off."""
    decisions = sum(episode.env_steps() for episode in samples)
    metrics_logger.log_value("decisions", decisions, reduce="sum")


def make_algorithm(rules: ct.Rules, config: Config, seed: int) -> Any:
    """Return RLlib's PPO, ready to train, with its workers; Ray must be connected."""
    from ray.rllib.algorithms.ppo import PPOConfig
    from ray.rllib.core.rl_module import RLModuleSpec
    from ray.tune.registry import register_env

    from chinese_ten_env.adapters.rllib import MaskingModule, deal_from, make_env

    logging.getLogger("ray.rllib").setLevel(logging.ERROR)  # it has a level of its own
    networks = {
        "actor": partial(Player, rules, config.width, config.context),
        "critic": partial(Critic, rules, config.critic_width, config.critic_context),
    }
    module = RLModuleSpec(module_class=MaskingModule, model_config=networks)
    register_env("chinese_ten", make_env)
    options: Any = PPOConfig()
    options.environment(
        env="chinese_ten",
        env_config={
            "variant": rules.variant,
            "num_players": rules.num_players,
            **{name: getattr(rules, name) for name in ("capture", "match", "target")},
            "reward": config.reward,
            "reward_scale": config.reward_scale,
        },
    )
    options.env_runners(
        num_env_runners=config.workers,
        num_envs_per_env_runner=config.num_envs // max(1, config.workers),
        # Where a deal is cut, RLlib loses what those who wait are paid.
        batch_mode="complete_episodes",
    )
    options.training(
        lr=config.learning_rate,
        gamma=1.0,
        lambda_=config.gae_lambda,
        clip_param=config.clip,
        entropy_coeff=config.entropy,
        grad_clip=0.5,
        vf_clip_param=float("inf"),
        use_kl_loss=True,
        kl_coeff=0.0,  # measured only
        num_epochs=config.epochs,
        minibatch_size=config.minibatch,
        train_batch_size_per_learner=TURNS * config.num_envs,  # one deal of each game has as many
    )
    # A worker that is begun anew would deal its first decks again, so that a lost one ends the run.
    options.fault_tolerance(restart_failed_env_runners=False, ignore_env_runner_failures=False)
    options.multi_agent(policies={MODULE}, policy_mapping_fn=lambda *_, **__: MODULE)
    options.rl_module(rl_module_spec=module)  # of each policy; in workers without the critic
    options.callbacks(on_environment_created=deal_from(seed), on_sample_end=count_decisions)
    options.debugging(log_level="ERROR")
    return options.build_algo()


# --- fit ------------------------------------------------------------------------------------

OPPONENTS = ("greedy", "random")


def opponents(config: Config) -> tuple[str, ...]:
    """Return whom training and evaluation are measured against."""
    return OPPONENTS


CHECKPOINT = "checkpoint.pt"
MODEL = "model.pt"


class Learner:
    """RLlib's algorithm, and a copy of its actor to measure."""

    def __init__(self, rules: ct.Rules, config: Config, seed: int) -> None:
        self.config = config
        self.actor = Player(rules, config.width, config.context)
        self.algorithm = make_algorithm(rules, config, seed)

    def state(self) -> dict[str, Any]:
        """Return all that is learned, as tensors."""
        kept = self.algorithm.learner_group.get_state(["learner/rl_module", "learner/optimizer"])
        parts: dict[str, Any] = as_tensors(kept["learner"])
        return {name: parts[name] for name in ("rl_module", "optimizer")}

    def set_state(self, state: dict[str, Any]) -> None:
        """Take over what has been learned before, all or the modules alone."""
        group = self.algorithm.learner_group
        group.set_state({"learner": state})
        # Waits, as RLlib's `sync_weights` does not: it may drop weights that come too early.
        kept = group.get_state(["learner/rl_module"], inference_only=True)["learner"]
        weights = {"rl_module": kept["rl_module"]}
        self.algorithm.env_runner_group.foreach_env_runner(lambda runner: runner.set_state(weights))
        self.look()

    def look(self) -> None:
        """Bring the copy of the actor up to date."""
        weights = self.algorithm.learner_group.get_weights([MODULE])[MODULE]
        own = {name.removeprefix("actor."): value for name, value in weights.items()}
        names = self.actor.state_dict().keys()
        self.actor.load_state_dict({name: torch.tensor(own[name]) for name in names})

    def begin_with(self, actor: nn.Module) -> None:
        """Let the actor begin with the weights of another."""
        weights = self.algorithm.learner_group.get_weights([MODULE])
        weights[MODULE] |= {
            f"actor.{name}": value.numpy() for name, value in actor.state_dict().items()
        }
        self.set_state({"rl_module": weights})

    def train(self, left: float) -> tuple[int, dict[str, float]]:
        """Play a rollout and learn from it, with a share of the training left.

        Return how many decisions it had, and numbers about it. RuntimeError if no worker has
        finished a deal.
        """
        rate = self.config.learning_rate * (0.05 + 0.95 * left)
        self.algorithm.learner_group.foreach_learner(partial(set_rate, rate=rate))
        result = self.algorithm.train()
        decisions = int(result["env_runners"].get("decisions", 0))
        if not decisions:
            raise RuntimeError("no worker has finished a deal: Ray's logs say why")
        learned = result["learners"][MODULE]
        names = {
            "entropy": "entropy",
            "value_loss": "vf_loss_unclipped",
            "approx_kl": "mean_kl_loss",
            "explained_variance": "vf_explained_var",
        }
        # RLlib keeps these of the last gradient step.
        numbers = {name: float(learned[theirs]) for name, theirs in names.items()}
        self.look()
        return decisions, {"learning_rate": rate, **numbers}

    def close(self) -> None:
        """Stop the workers."""
        self.algorithm.stop()
        # An empty folder in the user's home that RLlib makes for Tune, which is not used here.
        shutil.rmtree(self.algorithm.logdir, ignore_errors=True)


def set_rate(learner: Any, rate: float) -> None:
    """Set the learning rate for the next update of RLlib's learner, which then sets its own."""
    for _, optimizer in learner.get_optimizers_for_module(MODULE):
        for group in optimizer.param_groups:
            group["lr"] = rate


def as_tensors(data: Any) -> Any:
    """Return nested data with tensors for arrays, which are read back without running any code."""
    if isinstance(data, dict):
        return {name: as_tensors(value) for name, value in data.items()}
    if isinstance(data, list | tuple):
        return [as_tensors(value) for value in data]
    if isinstance(data, np.ndarray):
        return torch.tensor(data)
    return data.item() if isinstance(data, np.generic) else data


class Keeper(Progress):
    """Keeps what is learned on the disk."""

    def __init__(self, run: Run, config: Config, learner: Learner) -> None:
        policy = NetworkPolicy(learner.actor.network, run.agent)
        super().__init__(run, config, policy, opponents(config))
        self.learner = learner

    def save(self) -> None:
        """Put what has been learned so far on the disk, and last the status."""
        state = self.learner.state()
        write_whole(self.run.folder / CHECKPOINT, lambda new: torch.save(state, new))
        self.run.set_status("running", self.steps, self.stopwatch.seconds)

    def restore(self) -> None:
        """Take up an interrupted run."""
        self.learner.set_state(torch.load(self.run.folder / CHECKPOINT, weights_only=True))


def fit(run: Run, config: Config) -> None:
    """Train in a run folder, from the start or from where it was interrupted.

    After Ctrl-C, or a crash, all is kept but the rollout that was not finished. ValueError if Ray
    is not installed, or no cluster answers.
    """
    try:
        from chinese_ten_env.adapters.rllib import make_env  # noqa: F401  # says what is missing
    except ModuleNotFoundError as error:
        raise ValueError(str(error)) from error
    threads = torch.get_num_threads()
    torch.set_num_threads(config.threads)
    try:
        with connected(config.address, config.workers):
            learn(run, config)
    finally:
        torch.set_num_threads(threads)


def learn(run: Run, config: Config) -> None:
    """Train, with Ray connected."""
    begun = (run.folder / CHECKPOINT).exists()
    evaluate("random", "warm-up", OPPONENTS, run.rules, 2, run.seed)  # compiles what is needed
    seed = run.seed + run.status["steps"]  # other deals after an interruption
    torch.manual_seed(seed)
    learner = Learner(run.rules, config, seed)
    try:
        progress = Keeper(run, config, learner)
        try:
            run.drop_metrics_after(run.status["seconds"])
            if begun:
                progress.restore()
            else:
                learner.look()
                progress.record({}, measured=True)
                if config.imitate > 0:
                    teach(run, config, learner)
                progress.save()
            while progress.done < 1.0:
                before = progress.stopwatch.seconds
                decisions, line = learner.train(1.0 - progress.done)
                progress.steps += decisions
                seconds = progress.stopwatch.seconds
                line = {"steps_per_s": round(decisions / max(1e-9, seconds - before))} | line
                progress.record(line, progress.is_due)
                progress.save()
        finally:
            progress.close()
        model = learner.actor.network.state_dict()
        write_whole(run.folder / MODEL, lambda new: torch.save(model, new))
    finally:
        learner.close()


def teach(run: Run, config: Config, learner: Learner) -> None:
    """Let the actor begin with the cards of `greedy`."""
    pupil = Player(run.rules, config.width, config.context)
    imitate(run, pupil.network, config.imitate, config.imitation_rate)
    pupil.network.soften(config.soften)
    learner.begin_with(pupil)


# --- load -----------------------------------------------------------------------------------


def load(run: Run) -> NetworkPolicy:
    """Return the policy of a complete run; ValueError says what is wrong with one that is not."""
    run.require_complete()
    return read(run)


def read(run: Run) -> NetworkPolicy:
    """Return the policy that training has left, before the run is called complete."""
    path = run.folder / MODEL
    config = Config(**run.header["config"])
    actor = Actor(run.rules, config.width, config.context)
    try:
        actor.load_state_dict(torch.load(path, weights_only=True))
    except Exception as error:  # a damaged file can fail anywhere on the way
        raise ValueError(f"{path} is missing or damaged: {error}") from error
    return NetworkPolicy(actor, run.folder.name)
