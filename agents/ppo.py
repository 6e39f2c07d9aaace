"""PPO from self-play: one network plays every seat of a batch of games and learns from all of them.

The actor sees what a player sees. The critic, which only training needs, sees the hands of all and
the order of the stock, so that most of the luck of a deal is no surprise to it and what is left is
owed to the cards chosen.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, fields
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
import torch
from torch import nn

import chinese_ten_env as ct
from agents.common import (
    PARTNER_RANK,
    RANKS,
    SUITS,
    NetworkPolicy,
    Progress,
    Run,
    evaluate,
    imitate,
    masked_entropy,
    masked_log_probs,
    masked_sample,
    observed_rows,
    potentials,
    seat_advantages,
    write_whole,
)
from chinese_ten_env import Feature

# --- config ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class Config:
    """What can be set."""

    total_steps: int = 100_000_000
    """Decisions, of all seats, to train for."""
    minutes: float = 10.0
    """Stop after so many minutes of training, whichever comes first."""
    num_envs: int = 1024
    """Games played at once."""
    num_steps: int = 16
    """Decisions of each game in a rollout."""
    minibatch: int = 2048
    """Decisions in a gradient step."""
    epochs: int = 1
    """Passes over a rollout."""
    learning_rate: float = 2.5e-3
    """At the start; it falls linearly to a twentieth."""
    gae_lambda: float = 0.8
    """Of the generalised advantage estimate; rewards are not discounted."""
    clip: float = 0.2
    """Of PPO's ratio."""
    entropy: float = 0.02
    """Weight of the entropy bonus at the start; it falls like the learning rate."""
    reward_scale: float = 0.05
    """Net points are multiplied by this for the learner, and only for it."""
    width: int = 24
    """Numbers that the actor keeps for each rank."""
    context: int = 96
    """Numbers that the actor keeps for the whole table."""
    critic_width: int = 20
    """Numbers that the critic keeps for each rank."""
    critic_context: int = 64
    """Numbers that the critic keeps for the whole table."""
    critic_share: float = 0.5
    """Share of a rollout that the critic learns from; a position looks much like the one before."""
    threads: int = 2
    """Threads that share rollouts and gradient steps."""
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
            least = 0 if setting.name == "imitate" else 1
            value = getattr(self, setting.name)
            if isinstance(value, int) and value < least:
                raise ValueError(f"{setting.name} must be at least {least}, not {value}")
        if not self.minutes > 0:
            raise ValueError(f"minutes must be positive, not {self.minutes}")
        if not 0 < self.critic_share <= 1:
            raise ValueError(f"critic_share must be a share above 0, not {self.critic_share}")
        if (self.num_envs * self.num_steps) % self.minibatch:
            raise ValueError(
                f"a rollout has num_envs * num_steps = {self.num_envs * self.num_steps} decisions, "
                f"which minibatch={self.minibatch} does not divide"
            )
        if self.num_envs % self.threads or self.minibatch % self.threads:
            raise ValueError(
                f"threads={self.threads} must divide num_envs={self.num_envs} "
                f"and minibatch={self.minibatch}"
            )


# --- network --------------------------------------------------------------------------------

_STOCK = 24


def card_classes(rules: ct.Rules) -> list[list[int]]:
    """Return the class of each suit of each rank: cards of a rank that score alike are alike.

    Suits never matter for capturing, so such cards may be swapped without any change to the game.
    Class 0 is the most valuable.
    """
    classes = []
    for rank in range(RANKS):
        points = [rules.points[SUITS * rank + suit] for suit in range(SUITS)]
        order = sorted(set(points), reverse=True)
        classes.append([order.index(value) for value in points])
    return classes


class Ranks(nn.Module):
    """Looks at each rank with the rank that it captures, and at the table as a whole.

    It counts the cards of each class, see `card_classes`. The same weights serve all thirteen
    ranks, so that what is learned of one helps with the others; a learned vector for each rank
    tells them apart.
    """

    counts: torch.Tensor
    shifts: torch.Tensor
    starts: torch.Tensor
    belongs: torch.Tensor
    slots: torch.Tensor
    members: torch.Tensor
    partners: torch.Tensor
    spread: torch.Tensor

    def __init__(
        self, rules: ct.Rules, rows: int, flips: int, numbers: int, width: int, context: int
    ) -> None:
        super().__init__()
        classes = torch.tensor(card_classes(rules))
        self.classes = int(classes.max()) + 1
        belongs = nn.functional.one_hot(classes, self.classes).float()  # [13, 4, K]
        quads = torch.arange(16).unsqueeze(1) >> torch.arange(SUITS) & 1
        table = torch.einsum("qs,rsk->rqk", quads.float(), belongs)
        self.register_buffer("counts", table.reshape(RANKS * 16, -1), persistent=False)
        self.register_buffer("shifts", SUITS * torch.arange(RANKS), persistent=False)
        self.register_buffer("starts", 16 * torch.arange(RANKS), persistent=False)
        self.register_buffer("belongs", belongs, persistent=False)
        slots = torch.arange(RANKS).unsqueeze(1) * self.classes + classes
        self.register_buffer("slots", slots.flatten(), persistent=False)
        bits = torch.ones(len(slots.flatten()), dtype=torch.int64) << torch.arange(RANKS * SUITS)
        members = bits.new_zeros(RANKS * self.classes).index_add_(0, slots.flatten(), bits)
        self.register_buffer("members", members, persistent=False)
        spread = nn.functional.one_hot(slots.flatten(), RANKS * self.classes).float().T
        self.register_buffer("spread", spread.contiguous(), persistent=False)
        inputs = (rows + flips) * self.classes
        self.width = width
        self.pairs = nn.Linear(2 * inputs, width, bias=False)  # of itself, and of its partner
        self.register_buffer("partners", torch.tensor(PARTNER_RANK), persistent=False)
        self.rank = nn.Parameter(torch.randn(RANKS, width) * 0.3)
        self.table = nn.Linear(RANKS * width + numbers, context)

    def count(self, rows: torch.Tensor) -> torch.Tensor:
        """Return how many cards of each class are in bitboards [B, R]: [B, 13, R * K]."""
        quads = rows.unsqueeze(1) >> self.shifts.unsqueeze(1) & 15
        counts = nn.functional.embedding(quads + self.starts.unsqueeze(1), self.counts)
        return counts.flatten(2)

    def look(self, ranks: torch.Tensor, numbers: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Return what is known of each rank [B, 13, width] and of the table [B, context]."""
        # Both sides are joined before anything is learned, so that no gradient goes that way.
        both = torch.cat([ranks, ranks.index_select(1, self.partners)], 2)
        pairs = self.pairs(both).add_(self.rank).relu_()
        table = torch.relu(self.table(torch.cat([pairs.flatten(1), numbers], 1)))
        return pairs, table


def _thermometers(rows: torch.Tensor) -> torch.Tensor:
    """Return the numbers that thermometers write [B, R], as shares of 24."""
    return torch.log2((rows + 1).double()).float() / 24


class View(nn.Module):
    """Reads what a player sees."""

    _cards: torch.Tensor
    _counts: torch.Tensor
    _seats: torch.Tensor

    def __init__(self, rules: ct.Rules, width: int, context: int) -> None:
        super().__init__()
        cards, counts, seats = observed_rows(rules.num_players)
        for name, rows in (("_cards", cards), ("_counts", counts), ("_seats", seats)):
            self.register_buffer(name, torch.tensor(rows), persistent=False)
        numbers = len(counts) + 4 * len(seats)
        self.ranks = Ranks(rules, len(cards), 0, numbers, width, context)

    def see(self, observations: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Return what `Ranks.look` takes, from observations, int8 [B, F, 52]."""
        cards = observations.index_select(1, self._cards).float()
        cards = cards.view(-1, len(self._cards), RANKS, SUITS)
        ranks = torch.einsum("nfrs,rsk->nrfk", cards, self.ranks.belongs).flatten(2)
        marks = observations[..., :4].index_select(1, self._seats).float().flatten(1)
        counts = observations.index_select(1, self._counts).float().sum(2) / 24
        return ranks, torch.cat([counts, marks], 1)


class Actor(View):
    """What to play, from what a player sees."""

    def __init__(self, rules: ct.Rules, width: int, context: int) -> None:
        super().__init__(rules, width, context)
        self.num_players = rules.num_players
        self.again = nn.Linear(width, width)
        self.around = nn.Linear(context, width, bias=False)
        self.logits = nn.Linear(width, self.ranks.classes)
        nn.init.zeros_(self.logits.weight)

    def forward(self, rows: torch.Tensor) -> torch.Tensor:
        """Return logits [B, 13 * K] of the classes, from packed observations, int64 [B, F]."""
        ranks = self.ranks.count(rows[:, self._cards])
        marks = rows[:, self._seats].unsqueeze(2) >> torch.arange(4) & 1
        numbers = [_thermometers(rows[:, self._counts]), marks.flatten(1)]
        return self._decide(ranks, torch.cat(numbers, 1))

    def choose(self, observations: torch.Tensor) -> torch.Tensor:
        """Return logits [B, 52] of the cards, from observations, int8 [B, F, 52]."""
        # A product, since indices are slow to learn through.
        return self._decide(*self.see(observations)) @ self.ranks.spread

    def soften(self, factor: float) -> None:
        """Multiply all logits."""
        with torch.no_grad():
            self.logits.weight.mul_(factor)
            self.logits.bias.mul_(factor)

    def _decide(self, ranks: torch.Tensor, numbers: torch.Tensor) -> torch.Tensor:
        pairs, table = self.ranks.look(ranks, numbers)
        again = self.again(pairs).add_(self.around(table).unsqueeze(1)).relu_()
        logits: torch.Tensor = self.logits(again)
        return logits.flatten(1)

    def legal(self, mask: torch.Tensor) -> torch.Tensor:
        """Return which classes have a legal card, bool [B, 13 * K], from bitboards [B]."""
        return self.ranks.count(mask.unsqueeze(1)).flatten(1) > 0

    def cards(self, actions: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        """Return the lowest legal card [B] of the classes `actions` [B]."""
        cards = self.ranks.members[actions] & mask
        return torch.log2((cards & -cards).double()).long()


class Critic(nn.Module):
    """What every player may still win, from everything: all hands and the order of the stock."""

    columns: torch.Tensor

    def __init__(self, rules: ct.Rules, width: int, context: int) -> None:
        super().__init__()
        _, self._counts, self._seats = observed_rows(rules.num_players)
        self._cards = [
            Feature.HAND,
            Feature.TABLE,
            Feature.PENDING_FROM_HAND,
            Feature.PENDING_FROM_STOCK,
        ]
        rows = len(self._cards) + rules.num_players - 1
        numbers = len(self._counts) + 4 * len(self._seats)
        self.ranks = Ranks(rules, rows, _STOCK, numbers, width, context)
        classes = self.ranks.classes
        slots = self.ranks.slots
        first = slots // classes * (rows + _STOCK) * classes + rows * classes
        columns = first + slots % classes * _STOCK
        self.register_buffer("columns", columns, persistent=False)
        self.outlook = nn.Linear(context, context)
        self.values = nn.Linear(context, rules.num_players)
        nn.init.zeros_(self.values.weight)
        nn.init.zeros_(self.values.bias)

    def forward(
        self, rows: torch.Tensor, hidden: torch.Tensor, stock: torch.Tensor, turn: torch.Tensor
    ) -> torch.Tensor:
        """Return values [B, P], from the player on turn on; they sum to zero.

        `rows` [B, F] is the observation of the player on turn, `hidden` [B, P - 1] the other hands
        from the next seat on, `stock` [B, 24] the stock as dealt, `turn` [B] how much is flipped.
        """
        counts = self.ranks.count(torch.cat([rows[:, self._cards], hidden], 1))
        width = counts.shape[2] + self.ranks.classes * _STOCK
        ranks = counts.new_zeros(len(rows), RANKS, width)
        ranks[:, :, : counts.shape[2]] = counts
        # Behind the counts a column for each turn to come; what has been flipped adds nothing.
        turns = torch.arange(_STOCK) - turn.unsqueeze(1)
        columns = self.columns[stock] + turns.clamp_min(0)
        ranks.flatten(1).scatter_add_(1, columns, (turns >= 0).float())
        marks = rows[:, self._seats].unsqueeze(2) >> torch.arange(4) & 1
        numbers = torch.cat([_thermometers(rows[:, self._counts]), marks.flatten(1)], 1)
        _, table = self.ranks.look(ranks, numbers)
        values: torch.Tensor = self.values(torch.relu(self.outlook(table)))
        return values - values.mean(1, keepdim=True)


# --- rollout --------------------------------------------------------------------------------

T = TypeVar("T")


class Rollout:
    """What happened in some steps [T] of a batch of games [B], and how it looked before each.

    Arrays of T + 1 rows hold how it looks behind the last step too.
    """

    def __init__(self, rules: ct.Rules, steps: int, size: int) -> None:
        players = rules.num_players
        self.rules, self.steps = rules, steps
        self.obs = np.empty((steps + 1, size, ct.NUM_FEATURES), dtype=np.uint64)
        self.mask = np.empty((steps + 1, size), dtype=np.uint64)
        self.hidden = np.empty((steps + 1, size, players - 1), dtype=np.uint64)
        self.stock = np.empty((steps + 1, size, _STOCK), dtype=np.int64)
        self.turn = np.empty((steps + 1, size), dtype=np.int64)
        self.players = np.empty((steps + 1, size), dtype=np.int64)
        self.actions = np.empty((steps, size), dtype=np.int64)  # classes, not cards
        self.logprobs = np.empty((steps, size), dtype=np.float32)
        self.rewards = np.empty((steps, size, players), dtype=np.float32)
        self.over = np.empty((steps, size), dtype=np.bool_)
        self.values = np.empty((steps + 1, size, players), dtype=np.float32)
        """Of every seat, in seat order."""

    def see(self, step: int, part: slice, games: npt.NDArray[Any]) -> None:
        """Write down how the games of a part look."""
        players = self.rules.num_players
        on_turn = games["player"].astype(np.int64)
        others = (on_turn[:, None] + np.arange(1, players)) % players
        self.obs[step, part] = ct.observe(games, packed=True)
        self.mask[step, part] = games["legal"]
        self.hidden[step, part] = np.take_along_axis(games["hands"], others, axis=1)
        self.stock[step, part] = games["deck"][:, -_STOCK:]
        self.turn[step, part] = games["turn"]
        self.players[step, part] = on_turn

    def collect(
        self,
        part: slice,
        games: npt.NDArray[Any],
        actor: Actor,
        critic: Critic,
        scale: float,
        generator: torch.Generator,
    ) -> None:
        """Play a part of the games on, and let the critic say what it expected."""
        with torch.inference_mode():
            for step in range(self.steps):
                self.see(step, part, games)
                mask = tensor(self.mask[step, part])
                logits = actor(tensor(self.obs[step, part]))
                log_probs = masked_log_probs(logits, actor.legal(mask))
                actions = masked_sample(log_probs, generator)
                self.actions[step, part] = actions.numpy()
                chosen = log_probs.gather(1, actions.unsqueeze(1)).squeeze(1)
                self.logprobs[step, part] = chosen.numpy()
                before = potentials(games, self.rules)
                ct.play(games, actor.cards(actions, mask).numpy())
                self.rewards[step, part] = (potentials(games, self.rules) - before) * scale
                over = ct.is_over(games)
                self.over[step, part] = over
                if over.any():
                    ct.begin_games(games, indices=np.flatnonzero(over))
            self.see(self.steps, part, games)
            places = np.arange(self.rules.num_players)
            for step in range(self.steps + 1):
                values = critic(*(tensor(array[step, part]) for array in self.critic_inputs))
                # From the order of play as the player on turn sees it to the order of seats.
                seats = (places - self.players[step, part][:, None]) % len(places)
                self.values[step, part] = np.take_along_axis(values.numpy(), seats, axis=1)

    @property
    def critic_inputs(self) -> tuple[npt.NDArray[Any], ...]:
        """What the critic takes."""
        return self.obs, self.hidden, self.stock, self.turn


def tensor(array: npt.NDArray[Any]) -> torch.Tensor:
    """Return an array as a tensor; torch knows bitboards best as int64."""
    if array.dtype == np.uint64:
        array = array.view(np.int64)
    return torch.from_numpy(array)


# --- loss -----------------------------------------------------------------------------------


class Batch:
    """The decisions of a rollout [N], ready to learn from."""

    def __init__(self, rollout: Rollout, decay: float) -> None:
        steps = rollout.steps
        gains = seat_advantages(
            rollout.rewards, rollout.values, rollout.over, rollout.players, decay
        )
        players = rollout.players[:-1]
        own = np.take_along_axis(gains, players[:, :, None], axis=2)[:, :, 0]
        count = gains.shape[2]
        returns = gains + rollout.values[:-1]
        seats = (players[:, :, None] + np.arange(count)) % count
        self.returns = flat(np.take_along_axis(returns, seats, axis=2)).float()
        self.advantages = flat((own - own.mean()) / (own.std() + 1e-8)).float()
        self.obs, self.hidden, self.stock, self.turn = (
            flat(array[:steps]) for array in rollout.critic_inputs
        )
        self.mask = flat(rollout.mask[:steps])
        self.actions, self.logprobs = flat(rollout.actions), flat(rollout.logprobs)
        expected = np.take_along_axis(rollout.values[:-1], players[:, :, None], axis=2)[:, :, 0]
        target = own + expected
        self.explained_variance = float(1 - own.var() / (target.var() + 1e-8))


def flat(array: npt.NDArray[Any]) -> torch.Tensor:
    """Return an array [T, B, ...] as a tensor [T * B, ...]."""
    return tensor(array.reshape(-1, *array.shape[2:]))


def loss_of(
    actor: Actor, critic: Critic, batch: Batch, rows: torch.Tensor, config: Config, entropy: float
) -> tuple[torch.Tensor, dict[str, float]]:
    """Return the loss of some decisions [n], and numbers about it."""
    log_probs = masked_log_probs(actor(batch.obs[rows]), actor.legal(batch.mask[rows]))
    chosen = log_probs.gather(1, batch.actions[rows].unsqueeze(1)).squeeze(1)
    change = chosen - batch.logprobs[rows]
    ratio = change.exp()
    gain = batch.advantages[rows]
    clipped = ratio.clamp(1 - config.clip, 1 + config.clip)
    policy_loss = -torch.minimum(gain * ratio, gain * clipped).mean()
    surprise = masked_entropy(log_probs).mean()
    some = rows[: max(1, int(config.critic_share * len(rows)))]  # they are in random order
    values = critic(batch.obs[some], batch.hidden[some], batch.stock[some], batch.turn[some])
    value_loss = nn.functional.mse_loss(values, batch.returns[some])
    with torch.no_grad():
        numbers = {
            "entropy": surprise.item(),
            "value_loss": value_loss.item(),
            "approx_kl": (ratio - 1 - change).mean().item(),
            "clip_fraction": ((ratio - 1).abs() > config.clip).float().mean().item(),
        }
    return policy_loss + 0.5 * value_loss - entropy * surprise, numbers


# --- fit ------------------------------------------------------------------------------------

OPPONENTS = ("greedy", "random")


def opponents(config: Config) -> tuple[str, ...]:
    """Return whom training and evaluation are measured against."""
    return OPPONENTS


CHECKPOINT = "checkpoint.pt"
MODEL = "model.pt"


class Learner:
    """Networks, their optimizer, the games, and the threads that share them out."""

    def __init__(self, rules: ct.Rules, config: Config, seed: int) -> None:
        self.rules, self.config = rules, config
        self.actor = Actor(rules, config.width, config.context)
        self.critic = Critic(rules, config.critic_width, config.critic_context)
        self.optimizer = torch.optim.Adam(self.parameters(), lr=config.learning_rate, eps=1e-5)
        # Each thread works with networks that share the weights and have gradients of their own.
        self.copies = [(self.actor, self.critic)]
        for _ in range(config.threads - 1):
            self.copies.append((shadow(self.actor), shadow(self.critic)))
        self.rollout = Rollout(rules, config.num_steps, config.num_envs)
        size = config.num_envs // config.threads
        self.parts = [slice(size * k, size * (k + 1)) for k in range(config.threads)]
        children = np.random.SeedSequence(seed).generate_state(2 * config.threads, np.uint32)
        words = children.reshape(2, -1).tolist()
        self.games = [ct.new_games(rules, size, seed=word << 31) for word in words[0]]
        self.generators = [torch.Generator().manual_seed(word) for word in words[1]]
        self.workers = ThreadPoolExecutor(config.threads)

    def parameters(self) -> list[nn.Parameter]:
        """Return all that is learned."""
        return [*self.actor.parameters(), *self.critic.parameters()]

    def share_out(self, work: Callable[[int], T]) -> list[T]:
        """Let every thread do its part; compiled code runs beside other compiled code."""
        return list(self.workers.map(work, range(self.config.threads)))

    def collect(self) -> None:
        """Play a rollout."""

        def play(part: int) -> None:
            self.rollout.collect(
                self.parts[part],
                self.games[part],
                *self.copies[part],
                self.config.reward_scale,
                self.generators[part],
            )

        self.share_out(play)

    def learn(self, left: float) -> dict[str, float]:
        """Learn from the rollout, with a share of the training left; return numbers about it."""
        config = self.config
        rate = config.learning_rate * (0.05 + 0.95 * left)
        self.optimizer.param_groups[0]["lr"] = rate
        batch = Batch(self.rollout, config.gae_lambda)
        sums: dict[str, float] = {}
        count = 0
        for _ in range(config.epochs):
            order = torch.randperm(len(batch.actions))
            for rows in torch.split(order, config.minibatch):
                for name, value in self.step(batch, rows, config.entropy * left).items():
                    sums[name] = sums.get(name, 0.0) + value
                count += 1
        means = {name: value / count for name, value in sums.items()}
        return {
            "learning_rate": rate,
            **means,
            "explained_variance": batch.explained_variance,
        }

    def step(self, batch: Batch, rows: torch.Tensor, entropy: float) -> dict[str, float]:
        """Take a gradient step; return numbers about it."""
        parts = rows.chunk(self.config.threads)

        def descend(part: int) -> dict[str, float]:
            actor, critic = self.copies[part]
            loss, numbers = loss_of(actor, critic, batch, parts[part], self.config, entropy)
            actor.zero_grad()
            critic.zero_grad()
            torch.autograd.backward(loss / len(parts))
            return numbers

        numbers = self.share_out(descend)
        for actor, critic in self.copies[1:]:
            theirs = [*actor.parameters(), *critic.parameters()]
            for own, other in zip(self.parameters(), theirs, strict=True):
                assert own.grad is not None
                assert other.grad is not None
                own.grad += other.grad
        nn.utils.clip_grad_norm_(self.actor.parameters(), 0.5)
        nn.utils.clip_grad_norm_(self.critic.parameters(), 0.5)
        self.optimizer.step()
        return {name: sum(n[name] for n in numbers) / len(numbers) for name in numbers[0]}

    def close(self) -> None:
        """Stop the threads."""
        self.workers.shutdown()


N = TypeVar("N", bound=nn.Module)


def shadow(network: N) -> N:
    """Return a network with the very weights of another."""
    other = copy.deepcopy(network)
    for own, theirs in zip(other.parameters(), network.parameters(), strict=True):
        own.data = theirs.data
    return other


class Keeper(Progress):
    """Keeps what is learned on the disk."""

    def __init__(self, run: Run, config: Config, learner: Learner) -> None:
        super().__init__(run, config, NetworkPolicy(learner.actor, run.agent), opponents(config))
        self.learner = learner

    def save(self) -> None:
        """Put what has been learned so far on the disk, and last the status."""
        learner = self.learner
        state = {
            "actor": learner.actor.state_dict(),
            "critic": learner.critic.state_dict(),
            "optimizer": learner.optimizer.state_dict(),
        }
        write_whole(self.run.folder / CHECKPOINT, lambda new: torch.save(state, new))
        self.run.set_status("running", self.steps, self.stopwatch.seconds)

    def restore(self) -> None:
        """Take up an interrupted run."""
        state = torch.load(self.run.folder / CHECKPOINT, weights_only=True)
        self.learner.actor.load_state_dict(state["actor"])
        self.learner.critic.load_state_dict(state["critic"])
        self.learner.optimizer.load_state_dict(state["optimizer"])


def warm_up(run: Run, config: Config) -> None:
    """Compile all that is needed, so that the budget of minutes goes into learning."""
    learner = Learner(run.rules, config, 0)
    learner.collect()
    learner.close()
    evaluate("random", "warm-up", OPPONENTS, run.rules, 2, run.seed)


def fit(run: Run, config: Config) -> None:
    """Train in a run folder, from the start or from where it was interrupted.

    After Ctrl-C, or a crash, all is kept but the rollout that was not finished.
    """
    begun = (run.folder / CHECKPOINT).exists()
    warm_up(run, config)
    seed = run.seed + run.status["steps"]  # other deals after an interruption
    torch.manual_seed(seed)
    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # the learner's own threads share the work
    learner = Learner(run.rules, config, seed)
    progress = Keeper(run, config, learner)
    try:
        run.drop_metrics_after(run.status["seconds"])
        if begun:
            progress.restore()
        else:
            progress.record({}, measured=True)
            if config.imitate > 0:
                imitate(run, learner.actor, config.imitate, config.imitation_rate)
                learner.actor.soften(config.soften)
            progress.save()
        while progress.done < 1.0:
            before = progress.stopwatch.seconds
            learner.collect()
            line = learner.learn(1.0 - progress.done)
            decisions = config.num_envs * config.num_steps
            progress.steps += decisions
            seconds = progress.stopwatch.seconds
            line = {"steps_per_s": round(decisions / max(1e-9, seconds - before))} | line
            progress.record(line, progress.is_due)
            progress.save()
        model = learner.actor.state_dict()
        write_whole(run.folder / MODEL, lambda new: torch.save(model, new))
    finally:
        progress.close()
        learner.close()
        torch.set_num_threads(threads)


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
