"""PPO with masked actions (sb3-contrib's MaskablePPO), against a pool of opponents.

The learner sits in every seat in turn, against `random`, `greedy`, itself and its own past. It
learns from ``reward="captures"``, which pays at every decision and sums to the net of the deal.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from sb3_contrib import MaskablePPO
from sb3_contrib.common.maskable.policies import MaskableActorCriticPolicy
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.logger import configure
from stable_baselines3.common.torch_layers import BaseFeaturesExtractor
from torch import nn

import chinese_ten_env as ct
from agents.common import (
    ProgressBar,
    Run,
    Stopwatch,
    evaluate,
    masked_choice,
    write_whole,
)
from chinese_ten_env import Feature
from chinese_ten_env.adapters.sb3 import ChineseTenVecEnv

# --- config ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class Config:
    """What can be set; the defaults are those of ``make train``."""

    total_steps: int = 12_000_000
    """Decisions of the learner to train for."""
    minutes: float = 10.0
    """Stop after so many minutes of training, whichever comes first."""
    num_envs: int = 512
    """Games played at once."""
    num_steps: int = 32
    """Decisions of each game in a rollout."""
    minibatch: int = 2048
    """Decisions in a gradient step."""
    epochs: int = 3
    """Passes over a rollout."""
    learning_rate: float = 1e-3
    """At the start; it falls linearly to a twentieth."""
    gae_lambda: float = 0.95
    """Of the generalised advantage estimate; rewards are not discounted."""
    clip: float = 0.2
    """Of PPO's ratio."""
    entropy: float = 0.01
    """Weight of the entropy bonus at the start; it falls like the learning rate."""
    reward_scale: float = 0.05
    """Net points are multiplied by this for the learner, and only for it."""
    width: int = 32
    """Numbers that the network keeps for each card."""
    context: int = 128
    """Numbers that it keeps for the whole table."""
    snapshots: int = 2
    """Past selves in the pool at a time."""
    snapshot_every: int = 1_000_000
    """Decisions between two snapshots."""
    weight_random: float = 0.05
    """Share of opponents that play at random."""
    weight_greedy: float = 0.35
    """Share of opponents that are greedy."""
    weight_self: float = 0.4
    """Share of opponents that are the learner itself; its past selves have the rest."""
    imitate: int = 500_000
    """Decisions of the greedy policy to imitate first; 0: learn from nothing."""
    imitation_rate: float = 3e-3
    """Learning rate of the imitation at the start; it falls linearly to a tenth."""
    evaluate_every: float = 30.0
    """Seconds between two measurements."""
    evaluation_deals: int = 300
    """Deals of a measurement, each played in all seatings."""

    def __post_init__(self) -> None:
        for name in (
            "total_steps",
            "num_envs",
            "num_steps",
            "minibatch",
            "epochs",
            "width",
            "context",
        ):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1, not {getattr(self, name)}")
        if not self.minutes > 0:
            raise ValueError(f"minutes must be positive, not {self.minutes}")
        weights = (self.weight_random, self.weight_greedy, self.weight_self)
        if min(weights) < 0 or not 0 < sum(weights) <= 1:
            raise ValueError(f"the weights of opponents must be shares of at most 1, not {weights}")
        if (self.num_envs * self.num_steps) % self.minibatch:
            raise ValueError(
                f"a rollout has num_envs * num_steps = {self.num_envs * self.num_steps} decisions, "
                f"which minibatch={self.minibatch} does not divide"
            )


# --- network --------------------------------------------------------------------------------

_RANKS, _SUITS = 13, 4
_PARTNER_RANK = [8 - rank if rank < 9 else rank for rank in range(_RANKS)]


def _rows(num_players: int) -> tuple[list[int], list[int], list[int]]:
    """Return the rows that hold cards, counts and seats, without those of absent players."""
    absent = {
        feature
        for feature in Feature
        if feature.name[-1].isdigit() and int(feature.name[-1]) >= num_players
    }
    counts = [*range(Feature.HAND_SIZE_0, Feature.PLAYER), *range(Feature.TOTAL_0, ct.NUM_FEATURES)]
    return (
        [row for row in range(Feature.HAND, Feature.HAND_SIZE_0) if Feature(row) not in absent],
        [row for row in counts if Feature(row) not in absent],
        [Feature.DEALER, Feature.LEVY, Feature.REVERSED],
    )


class RankNetwork(nn.Module):
    """Looks at each rank with the rank that it captures, and at the table as a whole.

    The same weights serve all thirteen ranks, so that what is learned of one helps with the others;
    a learned vector for each rank tells them apart.
    """

    def __init__(self, num_players: int, width: int, context: int) -> None:
        super().__init__()
        self.num_players = num_players
        self._cards, self._counts, self._seats = _rows(num_players)
        inputs = _SUITS * len(self._cards)
        numbers = len(self._counts) + 4 * len(self._seats)
        self.mine = nn.Linear(inputs, width)
        self.partner = nn.Linear(inputs, width, bias=False)
        self.rank = nn.Parameter(torch.randn(_RANKS, width) * 0.3)
        self.table = nn.Linear(_RANKS * width + numbers, context)
        self.around = nn.Linear(context, width, bias=False)
        self.again = nn.Linear(width, width)
        self.logits = nn.Linear(width, _SUITS)
        self.outlook = nn.Linear(context, context)
        self.value = nn.Linear(context, 1)
        self.register_buffer("partner_rank", torch.tensor(_PARTNER_RANK))
        nn.init.zeros_(self.logits.weight)
        nn.init.zeros_(self.value.weight)

    def look(self, observations: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Return logits [B, 52] and what is known of the table [B, context]."""
        size = len(observations)
        cards = observations[:, self._cards].view(size, len(self._cards), _RANKS, _SUITS)
        ranks = cards.transpose(1, 2).reshape(size, _RANKS, -1).float()
        counts = observations[:, self._counts, :24].float().mean(2)
        seats = observations[:, self._seats, :4].float().flatten(1)
        partners = self.partner(ranks)[:, self.partner_rank]
        pairs = torch.relu(self.mine(ranks) + partners + self.rank)
        table = torch.relu(self.table(torch.cat([pairs.flatten(1), counts, seats], 1)))
        again = torch.relu(self.again(pairs) + self.around(table).unsqueeze(1))
        logits: torch.Tensor = self.logits(again).view(size, -1)
        return logits, table

    def forward(self, observations: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Return logits [B, 52] and values [B, 1] of observations [B, F, 52]."""
        logits, table = self.look(observations)
        values: torch.Tensor = self.value(torch.relu(self.outlook(table)))
        return logits, values

    def choose(self, observations: torch.Tensor) -> torch.Tensor:
        """Return logits [B, 52] alone."""
        logits, _ = self.look(observations)
        return logits


class _Latent(nn.Module):
    """Stands where Stable-Baselines3 has its hidden layers: hands on what the network computes."""

    latent_dim_pi = _RANKS * _SUITS
    latent_dim_vf = 1

    def __init__(self, network: RankNetwork) -> None:
        super().__init__()
        self.network = network

    def forward(self, observations: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Return logits [B, 52] and values [B, 1]."""
        logits, values = self.network(observations)
        return logits, values

    def forward_actor(self, observations: torch.Tensor) -> torch.Tensor:
        """Return logits [B, 52]."""
        return self.network.choose(observations)

    def forward_critic(self, observations: torch.Tensor) -> torch.Tensor:
        """Return values [B, 1]."""
        return self.forward(observations)[1]


class _AsItIs(BaseFeaturesExtractor):
    """Stands where Stable-Baselines3 would unroll the observation to a vector of floats."""

    def __init__(self, observation_space: Any) -> None:
        super().__init__(observation_space, features_dim=1)

    def forward(self, observations: torch.Tensor) -> torch.Tensor:
        """Return the observations."""
        return observations


class RankPolicy(MaskableActorCriticPolicy):
    """Stable-Baselines3's policy around a `RankNetwork`."""

    def __init__(
        self, *args: Any, num_players: int, width: int, context: int, **kwargs: Any
    ) -> None:
        self._sizes = {"num_players": num_players, "width": width, "context": context}
        own: dict[str, Any] = {"features_extractor_class": _AsItIs, "ortho_init": False}
        super().__init__(*args, **(kwargs | own))

    def _build_mlp_extractor(self) -> None:
        self.mlp_extractor: Any = _Latent(RankNetwork(**self._sizes))

    def _build(self, lr_schedule: Any) -> None:
        super()._build(lr_schedule)
        # The network's outputs are logits and values already.
        self.action_net: Any = nn.Identity()
        self.value_net: Any = nn.Identity()
        make_optimizer: Any = self.optimizer_class
        self.optimizer = make_optimizer(
            self.parameters(), lr=lr_schedule(1), **self.optimizer_kwargs
        )

    def extract_features(self, obs: Any, features_extractor: Any = None) -> Any:
        """Return the observations, int8 [B, F, 52], as they are."""
        return obs

    def _get_constructor_parameters(self) -> dict[str, Any]:
        return super()._get_constructor_parameters() | self._sizes


# --- rollout --------------------------------------------------------------------------------


class NetworkPolicy:
    """A policy that plays what a network says: its best card, or a card drawn from its odds."""

    def __init__(self, network: RankNetwork, name: str, sample: bool = False) -> None:
        self.network = network
        self.name = name
        self.sample = sample

    def _check(self, views: npt.NDArray[Any]) -> None:
        players = int(views["num_players"][0])
        if players != self.network.num_players:
            raise ValueError(
                f"{self.name} learned to play with {self.network.num_players} players, "
                f"not {players}"
            )

    def __call__(self, views: npt.NDArray[Any], rng: np.random.Generator) -> npt.NDArray[np.int64]:
        """Return a card for each view, int64 [B]; ValueError for another number of players."""
        self._check(views)
        with torch.inference_mode():
            logits = self.network.choose(torch.from_numpy(ct.observe(views))).numpy()
        legal = ct.action_masks(views) != 0
        return masked_choice(logits, legal, rng if self.sample else None)


def make_pool(config: Config) -> ct.Pool:
    """Return the opponents to begin with; the learner and its past selves join later."""
    return ct.Pool(["random", "greedy"], [config.weight_random, config.weight_greedy])


def set_selves(
    pool: ct.Pool, config: Config, network: RankNetwork, past: list[RankNetwork]
) -> None:
    """Let the pool hold the learner and its past selves beside the fixed opponents."""
    del pool.policies[2:], pool.weights[2:]
    rest = max(0.0, 1.0 - config.weight_random - config.weight_greedy - config.weight_self)
    pool.add(
        NetworkPolicy(network, "self", sample=True), config.weight_self + (0 if past else rest)
    )
    for number, snapshot in enumerate(past):
        pool.add(NetworkPolicy(snapshot, f"past {number}", sample=True), rest / len(past))


# --- imitation ------------------------------------------------------------------------------


def imitation_data(
    rules: ct.Rules, deals: int, seed: int, scale: float
) -> Iterator[tuple[torch.Tensor, ...]]:
    """Yield observations, masks, greedy's cards and the returns to come, round by round of play.

    Everybody plays greedily but for one card in ten, so that greedy is seen out of trouble too.
    """
    greedy, rng = ct.make_policy("greedy"), np.random.default_rng(seed)
    games = ct.new_games(rules, deals, seed=seed)
    rounds = []
    while not ct.is_over(games).all():
        live = np.flatnonzero(~ct.is_over(games))
        views = ct.views(games[live])
        best = greedy(views, rng)
        masks = ct.action_masks(views)
        standing = ct.points(games[live], rules)
        own = standing[np.arange(len(live)), views["player"]] - standing.mean(axis=1)
        rounds.append((live, views["player"], ct.observe(views, packed=True), masks, best, own))
        stray = masked_choice(np.zeros(masks.shape, np.float32), masks != 0, rng)
        cards = np.zeros(deals, dtype=np.int64)
        cards[live] = np.where(rng.random(len(live)) < 0.1, stray, best)
        ct.play(games, cards)
    nets = ct.nets(games, rules)
    for live, players, rows, masks, best, own in rounds:
        returns = (nets[live, players] - own) * scale
        yield (
            torch.from_numpy(ct.unpack(rows)),
            torch.from_numpy(masks != 0),
            torch.from_numpy(best),
            torch.from_numpy(returns.astype(np.float32)),
        )


def imitate(model: MaskablePPO, run: Run, config: Config) -> None:
    """Let the network begin where `greedy` is: learn its cards, and what they are worth."""
    network = network_of(model)
    optimizer = torch.optim.Adam(network.parameters())
    bar = ProgressBar(f"{run.folder.name}: imitating greedy")
    done, number = 0, 0
    while done < config.imitate:
        data = imitation_data(run.rules, 2048, run.seed + number * 2048, config.reward_scale)
        columns = [torch.cat(column) for column in zip(*data, strict=True)]
        order = torch.randperm(len(columns[0]))
        rate = config.imitation_rate * (1.0 - 0.9 * min(1.0, done / config.imitate))
        optimizer.param_groups[0]["lr"] = rate
        for batch in torch.split(order, 1024):
            observations, legal, cards, returns = (column[batch] for column in columns)
            logits, values = network(observations)
            logits = logits.masked_fill(~legal, -1e8)
            loss = nn.functional.cross_entropy(logits, cards)
            loss = loss + 0.5 * nn.functional.mse_loss(values.flatten(), returns)
            optimizer.zero_grad()
            torch.autograd.backward(loss)
            optimizer.step()
        right = (logits.argmax(1) == cards).float().mean().item()
        done, number = done + len(order), number + 1
        bar.say(f"{100 * right:.0f} % of its cards")
        bar.move(min(1.0, done / config.imitate))
    bar.close()


# --- fit ------------------------------------------------------------------------------------


class BudgetedPPO(MaskablePPO):
    """MaskablePPO whose progress, and with it the learning rate, also follows the clock."""

    stopwatch: Stopwatch
    config: Config

    def _update_current_progress_remaining(self, num_timesteps: int, total_timesteps: int) -> None:
        super()._update_current_progress_remaining(num_timesteps, total_timesteps)
        left = 1.0 - self.stopwatch.seconds / (60.0 * self.config.minutes)
        self._current_progress_remaining = max(0.0, min(self._current_progress_remaining, left))
        self.ent_coef = self.config.entropy * self._current_progress_remaining

    def _excluded_save_params(self) -> list[str]:
        return [*super()._excluded_save_params(), "stopwatch", "config"]


@dataclass
class Decay:
    """A learning rate that falls linearly to a twentieth."""

    start: float

    def __call__(self, progress_remaining: float) -> float:
        """Return the rate for a share of the training that is left, 1 to 0."""
        return self.start * (0.05 + 0.95 * progress_remaining)


class Progress(BaseCallback):
    """Between rollouts: measures, saves, takes snapshots, and stops when the time is up."""

    model: BudgetedPPO

    def __init__(self, run: Run, config: Config, pool: ct.Pool) -> None:
        super().__init__()
        self.run, self.config, self.pool = run, config, pool
        self.past: list[RankNetwork] = []
        self.next_snapshot = config.snapshot_every
        self.next_evaluation = 0.0
        self.began: tuple[int, float] | None = None
        """Decisions and seconds when the rollout at hand began."""
        self.is_last = False
        self.standing = "not measured yet"

    @property
    def network(self) -> RankNetwork:
        """The network that is learning."""
        return network_of(self.model)

    def _on_training_start(self) -> None:
        set_selves(self.pool, self.config, self.network, self.past)
        self.bar = ProgressBar(self.run.folder.name)

    def _on_step(self) -> bool:
        if self.is_last:
            self.model.num_timesteps -= self.model.n_envs  # nothing is learned from this one
        return not self.is_last

    def _on_training_end(self) -> None:
        if not self.is_last:
            self._on_rollout_start()
        self.bar.close()

    @property
    def done(self) -> float:
        """The share of the budget that is used up, of decisions or of time, whichever is more."""
        by_time = self.model.stopwatch.seconds / (60.0 * self.config.minutes)
        return min(1.0, max(self.model.num_timesteps / self.config.total_steps, by_time))

    def _on_rollout_start(self) -> None:
        """See to all that is due; what came before this rollout is safe afterwards."""
        steps = self.model.num_timesteps
        if steps >= self.next_snapshot:
            self.next_snapshot = steps + self.config.snapshot_every
            self.past = [*self.past, copy.deepcopy(self.network)][-self.config.snapshots :]
            set_selves(self.pool, self.config, self.network, self.past)
        if self.began is not None:
            self.record(*self.began)
            save(self)
        self.is_last = self.began is not None and self.done >= 1.0
        self.began = (steps, self.model.stopwatch.seconds)

    def record(self, steps_before: int, seconds_before: float) -> None:
        """Write down what the last rollout and the learning from it gave."""
        model, seconds = self.model, self.model.stopwatch.seconds
        rate = (model.num_timesteps - steps_before) / max(1e-9, seconds - seconds_before)
        learned = model.logger.name_to_value
        line = {
            "steps": model.num_timesteps,
            "seconds": round(seconds, 3),
            "steps_per_s": round(rate),
            "learning_rate": model.policy.optimizer.param_groups[0]["lr"],
            "entropy": -learned["train/entropy_loss"],
            "value_loss": learned["train/value_loss"],
            "approx_kl": learned["train/approx_kl"],
            "clip_fraction": learned["train/clip_fraction"],
            "explained_variance": learned["train/explained_variance"],
        }
        if seconds >= self.next_evaluation or self.done >= 1.0:
            self.next_evaluation = seconds + self.config.evaluate_every
            line |= self.measure()
            self.standing = (
                f"{line['net_greedy']:+.1f} ± {line['half_width_greedy']:.1f} against greedy"
            )
        self.run.add_metrics({name: float(value) for name, value in line.items()})
        for name, value in line.items():
            if name.startswith(("net_", "half_width_", "steps_per_s")):
                model.logger.record(f"run/{name}", value)
        self.bar.say(f"{rate:,.0f} decisions/s, {self.standing}")
        self.bar.move(self.done)

    def measure(self) -> dict[str, float]:
        """Return net points against the fixed opponents, in a few duplicate deals."""
        policy = NetworkPolicy(self.network, self.run.agent)
        deals = self.config.evaluation_deals
        rows = evaluate(policy, self.run.agent, OPPONENTS, self.run.rules, deals, self.run.seed)
        numbers = {}
        for row in rows:
            numbers[f"net_{row['against']}"] = row["net"]
            numbers[f"half_width_{row['against']}"] = row["half_width"]
        return numbers


OPPONENTS = ("greedy", "random")
CHECKPOINT = "checkpoint.zip"
PAST = "past.pt"
MODEL = "model.zip"


def network_of(model: MaskablePPO) -> RankNetwork:
    """Return the network inside a model."""
    network = model.policy.mlp_extractor.network
    assert isinstance(network, RankNetwork)
    return network


def save(progress: Progress) -> None:
    """Put what has been learned so far on the disk: past selves, model, and last the status."""
    run, model = progress.run, progress.model
    past = {
        "past": [network.state_dict() for network in progress.past],
        "next_snapshot": progress.next_snapshot,
    }
    write_whole(run.folder / PAST, lambda new: torch.save(past, new))
    write_whole(run.folder / CHECKPOINT, lambda new: model.save(new))
    run.set_status("running", model.num_timesteps, model.stopwatch.seconds)


def restore(progress: Progress, config: Config) -> None:
    """Take up the past selves of an interrupted run."""
    past = torch.load(progress.run.folder / PAST, weights_only=True)
    sizes = (progress.run.rules.num_players, config.width, config.context)
    for weights in past["past"]:
        network = RankNetwork(*sizes)
        network.load_state_dict(weights)
        progress.past.append(network)
    progress.next_snapshot = past["next_snapshot"]


def warm_up(run: Run, env: ChineseTenVecEnv) -> None:
    """Compile all that is needed, so that the budget of minutes goes into learning."""
    env.reset()
    env.step(env.action_masks().argmax(axis=1))
    for _ in imitation_data(run.rules, 2, run.seed, 1.0):
        pass
    evaluate("random", "warm-up", OPPONENTS, run.rules, 2, run.seed)


def fit(run: Run, config: Config) -> None:
    """Train in a run folder, from the start or from where it was interrupted.

    After Ctrl-C, or a crash, all is kept but the rollout that was not finished.
    """
    rules = run.rules
    begun = (run.folder / CHECKPOINT).exists()
    status = run.status
    seed = run.seed + status["steps"]  # other deals after an interruption
    torch.manual_seed(seed)
    pool = make_pool(config)
    env = ChineseTenVecEnv(
        config.num_envs,
        rules.variant,
        rules.num_players,
        opponents=pool,
        reward="captures",
        reward_scale=config.reward_scale,
        **run.header["switches"],
    )
    progress = Progress(run, config, pool)
    if begun:
        model = BudgetedPPO.load(run.folder / CHECKPOINT, env=env, device="cpu")
        run.drop_metrics_after(status["steps"])
        restore(progress, config)
    else:
        model = BudgetedPPO(
            RankPolicy,
            env,
            learning_rate=Decay(config.learning_rate),
            n_steps=config.num_steps,
            batch_size=config.minibatch,
            n_epochs=config.epochs,
            gamma=1.0,  # a deal is short and ends
            gae_lambda=config.gae_lambda,
            clip_range=config.clip,
            ent_coef=config.entropy,
            policy_kwargs={
                "num_players": rules.num_players,
                "width": config.width,
                "context": config.context,
            },
            device="cpu",
        )
    warm_up(run, env)
    model.set_random_seed(seed)
    model.set_logger(configure(str(run.folder), ["tensorboard"]))
    model.stopwatch, model.config = Stopwatch(status["seconds"]), config
    try:
        if not begun and config.imitate > 0:
            imitate(model, run, config)
            progress.model = model
            save(progress)
        model.learn(
            max(0, config.total_steps - model.num_timesteps),
            callback=progress,
            reset_num_timesteps=False,
        )
        write_whole(run.folder / MODEL, lambda new: model.save(new))
    finally:
        env.close()


# --- load -----------------------------------------------------------------------------------


def load(run: Run) -> NetworkPolicy:
    """Return the policy of a complete run; ValueError says what is wrong with one that is not."""
    run.require_complete()
    return read(run)


def read(run: Run) -> NetworkPolicy:
    """Return the policy that training has left, before the run is called complete."""
    path = run.folder / MODEL
    try:
        network = network_of(MaskablePPO.load(path, device="cpu"))
    except Exception as error:  # a damaged file can fail anywhere in unpickling
        raise ValueError(f"{path} is missing or damaged: {error}") from error
    return NetworkPolicy(network, run.folder.name)
