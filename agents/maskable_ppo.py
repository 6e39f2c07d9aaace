"""PPO with masked actions (sb3-contrib's MaskablePPO), against a pool of opponents.

The learner sits in every seat in turn, against `random`, `greedy`, itself and its own past. It
learns from ``reward="captures"``, which pays at every decision and sums to the net of the deal.
"""

from __future__ import annotations

import copy
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, fields
from typing import Any, NamedTuple

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
    PARTNER_RANK,
    RANKS,
    SUITS,
    NetworkPolicy,
    ProgressBar,
    Run,
    Stopwatch,
    evaluate,
    imitate,
    measure,
    observed_rows,
    played_decisions,
    write_whole,
)
from chinese_ten_env.adapters.sb3 import ChineseTenVecEnv

# --- config ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class Config:
    """What can be set; the defaults are those of ``make train``."""

    total_steps: int = 12_000_000
    """Decisions of the learner to train for."""
    minutes: float = 10.5
    """Stop after so many minutes of training, whichever comes first."""
    num_envs: int = 512
    """Games played at once."""
    num_steps: int = 32
    """Decisions of each game in a rollout."""
    minibatch: int = 2048
    """Decisions in a gradient step."""
    epochs: int = 3
    """Passes over a rollout."""
    learning_rate: float = 1.5e-3
    """At the start; it falls linearly to a twentieth."""
    gae_lambda: float = 0.9
    """Of the generalised advantage estimate; rewards are not discounted."""
    clip: float = 0.2
    """Of PPO's ratio."""
    entropy: float = 0.005
    """Weight of the entropy bonus at the start; it falls like the learning rate."""
    reward_scale: float = 0.05
    """Net points are multiplied by this for the learner, and only for it."""
    width: int = 48
    """Numbers that the network keeps for each rank."""
    context: int = 96
    """Numbers that it keeps for the whole table."""
    snapshots: int = 2
    """Past selves in the pool at a time."""
    snapshot_every: int = 1_000_000
    """Decisions between two snapshots."""
    weight_random: float = 0.05
    """Share of opponents that play at random."""
    weight_greedy: float = 0.5
    """Share of opponents that are greedy."""
    weight_self: float = 0.3
    """Share of opponents that are the learner itself; its past selves have the rest."""
    imitate: int = 300_000
    """Decisions of the greedy policy to imitate first; 0 for none."""
    improve: float = 0.5
    """Share of the minutes in which to learn from playing out every card; 0 for none."""
    worlds: int = 8
    """Deals in which each card is played out."""
    lesson_deals: int = 256
    """Deals whose decisions make a lesson."""
    lesson_steps: int = 6
    """Gradient steps on each lesson, and as many on one of those kept."""
    lessons_kept: int = 40
    """Past lessons to learn from again."""
    lesson_rate: float = 2e-3
    """Learning rate of imitation and lessons at the start; that of lessons falls to a tenth."""
    opponent: str = ""
    """A policy to learn against, and nobody else; the pool unless given."""
    evaluate_every: float = 30.0
    """Seconds between two measurements."""
    evaluation_deals: int = 500
    """Deals of a measurement, each played in all seatings."""

    def __post_init__(self) -> None:
        for setting in fields(self):
            least = 0 if setting.name == "imitate" else 1
            value = getattr(self, setting.name)
            if isinstance(value, int) and value < least:
                raise ValueError(f"{setting.name} must be at least {least}, not {value}")
        if not self.minutes > 0:
            raise ValueError(f"minutes must be positive, not {self.minutes}")
        if not 0 <= self.improve < 1:
            raise ValueError(f"improve must be a share, 0 or more and below 1, not {self.improve}")
        weights = (self.weight_random, self.weight_greedy, self.weight_self)
        if min(weights) < 0 or not 0 < sum(weights) <= 1:
            raise ValueError(f"the weights of opponents must be shares of at most 1, not {weights}")
        if (self.num_envs * self.num_steps) % self.minibatch:
            raise ValueError(
                f"a rollout has num_envs * num_steps = {self.num_envs * self.num_steps} decisions, "
                f"which minibatch={self.minibatch} does not divide"
            )


# --- network --------------------------------------------------------------------------------


class RankNetwork(nn.Module):
    """Looks at each rank with the rank that it captures, and at the table as a whole.

    The same weights serve all thirteen ranks, so that what is learned of one helps with the others;
    a learned vector for each rank tells them apart.
    """

    partner_rank: torch.Tensor
    _cards: torch.Tensor
    _counts: torch.Tensor
    _seats: torch.Tensor

    def __init__(self, num_players: int, width: int, context: int) -> None:
        super().__init__()
        self.num_players = num_players
        cards, counts, seats = observed_rows(num_players)
        inputs = SUITS * len(cards)
        numbers = len(counts) + 4 * len(seats)
        self.mine = nn.Linear(inputs, width)
        self.partner = nn.Linear(inputs, width, bias=False)
        self.rank = nn.Parameter(torch.randn(RANKS, width) * 0.3)
        self.table = nn.Linear(RANKS * width + numbers, context)
        self.around = nn.Linear(context, width, bias=False)
        self.again = nn.Linear(width, width)
        self.logits = nn.Linear(width, SUITS)
        self.outlook = nn.Linear(context, context)
        self.value = nn.Linear(context, 1)
        self.register_buffer("partner_rank", torch.tensor(PARTNER_RANK))
        for name, rows in (("_cards", cards), ("_counts", counts), ("_seats", seats)):
            self.register_buffer(name, torch.tensor(rows), persistent=False)
        nn.init.zeros_(self.logits.weight)
        nn.init.zeros_(self.value.weight)

    def look(self, observations: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Return logits [B, 52] and what is known of the table [B, context]."""
        size = observations.shape[0]  # len() would be a constant in an exported graph
        cards = observations.index_select(1, self._cards).view(size, -1, RANKS, SUITS)
        ranks = cards.transpose(1, 2).reshape(size, RANKS, -1).float()
        counts = observations[..., :24].index_select(1, self._counts).float().mean(2)
        seats = observations[..., :4].index_select(1, self._seats).float().flatten(1)
        partners = self.partner(ranks).index_select(1, self.partner_rank)
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

    latent_dim_pi = RANKS * SUITS
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


def make_pool(config: Config) -> ct.Pool:
    """Return the opponents to begin with; the learner and its past selves join later."""
    if config.opponent:
        return ct.Pool([config.opponent])
    return ct.Pool(["random", "greedy"], [config.weight_random, config.weight_greedy])


def set_selves(
    pool: ct.Pool, config: Config, network: RankNetwork, past: list[RankNetwork]
) -> None:
    """Let the pool hold the learner and its past selves beside the fixed opponents."""
    if config.opponent:
        return
    del pool.policies[2:], pool.weights[2:]
    rest = max(0.0, 1.0 - config.weight_random - config.weight_greedy - config.weight_self)
    pool.add(
        NetworkPolicy(network, "self", sample=True), config.weight_self + (0 if past else rest)
    )
    for number, snapshot in enumerate(past):
        pool.add(NetworkPolicy(snapshot, f"past {number}", sample=True), rest / len(past))


# --- lessons --------------------------------------------------------------------------------
# PPO that begins with nothing needs hours to reach a good rule, so it begins with two lessons: the
# cards of `greedy`, and what every card would have led to if all went on greedily.


class Lesson(NamedTuple):
    """Decisions to learn from, [N] each."""

    rows: npt.NDArray[np.uint64]
    """[N, F] packed observations."""
    legal: npt.NDArray[np.bool_]
    """[N, 52] the legal cards."""
    worth: npt.NDArray[np.float32]
    """[N, 52] net points that each legal card leads to."""
    held: npt.NDArray[np.float32]
    """[N] points less the mean of all players at the time: what has been paid for already."""


def held_points(views: npt.NDArray[Any], rules: ct.Rules) -> npt.NDArray[np.float32]:
    """Return the points of the player on turn less the mean of all players, [N]."""
    points = ct.points(views, rules)
    own = points[np.arange(len(views)), views["player"]]
    return np.asarray(own - points.mean(axis=1), dtype=np.float32)


def worth_of_cards(
    views: npt.NDArray[Any], rules: ct.Rules, worlds: int, rng: np.random.Generator
) -> npt.NDArray[np.float32]:
    """Return the net points that each legal card leads to, [N, 52], if all go on greedily.

    The mean over deals that agree with the view, the same ones for all cards of a view.
    """
    greedy = ct.make_policy("greedy")
    numbers, cards = np.nonzero(ct.action_masks(views))
    deals = ct.determinize(ct.take(views, np.repeat(np.arange(len(views)), worlds)), rng)
    games = ct.take(deals, (numbers[:, None] * worlds + np.arange(worlds)).ravel())
    ct.play(games, np.repeat(cards, worlds))
    while not ct.is_over(games).all():
        live = np.flatnonzero(~ct.is_over(games))
        answers = np.zeros(len(games), dtype=np.int64)
        answers[live] = greedy(ct.views(ct.take(games, live)), rng)
        ct.play(games, answers)
    players = np.repeat(views["player"][numbers], worlds)
    nets = ct.nets(games, rules)[np.arange(len(games)), players]
    worth = np.zeros((len(views), RANKS * SUITS), dtype=np.float32)
    worth[numbers, cards] = nets.reshape(-1, worlds).mean(axis=1)
    return worth


def make_lesson(
    rules: ct.Rules, network: RankNetwork, deals: int, worlds: int, rng: np.random.Generator
) -> Lesson:
    """Return a third of the decisions that a network meets, and what each card was worth."""
    chosen = []
    for _, views, _ in played_decisions(rules, NetworkPolicy(network, "learner"), deals, rng):
        choices = (ct.action_masks(views) != 0).sum(axis=1)
        chosen.append(
            ct.take(views, np.flatnonzero((choices > 1) & (rng.random(len(views)) < 1 / 3)))
        )
    views = np.concatenate(chosen)
    with ThreadPoolExecutor() as workers:  # compiled code runs beside other compiled code
        parts = [
            (part, rules, worlds, child)
            for part, child in zip(
                (ct.take(views, half) for half in np.array_split(np.arange(len(views)), 2)),
                rng.spawn(2),
                strict=True,
            )
        ]
        worth = np.concatenate(list(workers.map(lambda part: worth_of_cards(*part), parts)))
    return Lesson(
        ct.observe(views, packed=True),
        ct.action_masks(views) != 0,
        worth,
        held_points(views, rules),
    )


def lesson_loss(network: RankNetwork, lesson: Lesson, rows: Any, scale: float) -> torch.Tensor:
    """Return the loss of some decisions of a lesson.

    The policy gains by moving its odds to the cards that are worth more than its mean; all cards
    count at once, where PPO knows only the one that was played. The value is that mean.
    """
    legal = torch.from_numpy(lesson.legal[rows])
    worth = torch.from_numpy(lesson.worth[rows]) * scale
    logits, values = network(torch.from_numpy(ct.unpack(lesson.rows[rows])))
    odds = torch.softmax(logits.masked_fill(~legal, -1e8), 1)
    mean = (odds.detach() * worth).sum(1, keepdim=True)
    gain = (odds * (worth - mean)).sum(1).mean()
    surprise = -(odds * torch.log(odds.clamp_min(1e-8))).sum(1).mean()
    to_come = mean.flatten() - torch.from_numpy(lesson.held[rows]) * scale
    error = nn.functional.mse_loss(values.flatten(), to_come)
    return 0.5 * error - 2.0 * gain - 0.01 * surprise


def improve(progress: Progress, stopwatch: Stopwatch) -> None:
    """Teach what cards are worth, for its share of the time; goes on where it was interrupted."""
    run, config, network = progress.run, progress.config, progress.network
    limit = 60.0 * config.minutes * config.improve
    optimizer = torch.optim.Adam(network.parameters())
    rng = np.random.default_rng([run.seed, 2, int(stopwatch.seconds)])
    bar = ProgressBar(f"{run.folder.name}: playing out")
    lessons: deque[Lesson] = deque(maxlen=config.lessons_kept)
    while not lessons or stopwatch.seconds < limit:
        done = min(1.0, stopwatch.seconds / limit)
        optimizer.param_groups[0]["lr"] = config.lesson_rate * (1.0 - 0.9 * done)
        lessons.append(make_lesson(run.rules, network, config.lesson_deals, config.worlds, rng))
        for _ in range(config.lesson_steps):
            for lesson in (lessons[-1], lessons[int(rng.integers(len(lessons)))]):
                rows = rng.choice(len(lesson.rows), min(1024, len(lesson.rows)), replace=False)
                loss = lesson_loss(network, lesson, rows, config.reward_scale)
                optimizer.zero_grad()
                torch.autograd.backward(loss)
                nn.utils.clip_grad_norm_(network.parameters(), 1.0)
                optimizer.step()
        progress.record_lesson(len(lessons[-1].rows), loss.item())
        bar.say(progress.standing)
        bar.move(min(1.0, stopwatch.seconds / limit))
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
        self.lesson_decisions = 0

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
            line |= self.measure()
        self.run.add_metrics({name: float(value) for name, value in line.items()})
        for name, value in line.items():
            if name.startswith(("net_", "half_width_", "steps_per_s")):
                model.logger.record(f"run/{name}", value)
        self.bar.say(f"{rate:,.0f} decisions/s, {self.standing}")
        self.bar.move(self.done)

    def record_start(self) -> None:
        """Write down how the network plays before it has learned anything."""
        line = {"steps": 0.0, "seconds": round(self.model.stopwatch.seconds, 3)} | self.measure()
        self.run.add_metrics({name: float(value) for name, value in line.items()})
        self.next_evaluation = 0.0

    def record_lesson(self, decisions: int, loss: float) -> None:
        """Write down what a lesson gave, and save it from time to time."""
        seconds = self.model.stopwatch.seconds
        self.lesson_decisions += decisions
        if seconds < self.next_evaluation:
            return
        line = {
            "steps": 0,
            "seconds": round(seconds, 3),
            "lesson_decisions": self.lesson_decisions,
            "lesson_loss": loss,
        }
        self.run.add_metrics(
            {name: float(value) for name, value in (line | self.measure()).items()}
        )
        save(self)

    def measure(self) -> dict[str, float]:
        """Return net points against the fixed opponents, in a few duplicate deals."""
        policy = NetworkPolicy(self.network, self.run.agent)
        deals = self.config.evaluation_deals
        against = opponents(self.config)
        numbers = measure(policy, self.run, against, deals)
        net, half = numbers[f"net_{against[0]}"], numbers[f"half_width_{against[0]}"]
        self.standing = f"{net:+.1f} ± {half:.1f} against {against[0]}"
        self.next_evaluation = self.model.stopwatch.seconds + self.config.evaluate_every
        return numbers


OPPONENTS = ("greedy", "random")


def opponents(config: Config) -> tuple[str, ...]:
    """Return whom training and evaluation are measured against."""
    return (config.opponent,) if config.opponent else OPPONENTS


def best_response(rules: ct.Rules, policy: str, minutes: float) -> Config:
    """Return with what settings to learn what beats a policy; ValueError if there is none such."""
    ct.make_policy(policy, rules)
    return Config(minutes=minutes, opponent=policy)


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
    rng = np.random.default_rng(0)
    make_lesson(run.rules, RankNetwork(run.rules.num_players, 4, 4), 2, 1, rng)
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
        run.drop_metrics_after(status["seconds"])
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
        progress.model = model
        if not begun:
            progress.record_start()
        if not begun and config.imitate > 0:
            imitate(run, progress.network, config.imitate, config.lesson_rate)
            save(progress)
        if model.num_timesteps == 0 and config.improve > 0:
            improve(progress, model.stopwatch)
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
