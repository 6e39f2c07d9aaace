"""Deep Monte Carlo: learn what every card leads to, from playing it out, and play the best.

DouZero (Zha et al. 2021) learns the return of the card that was played. Here every legal card of a
decision is tried in the same deal, so that all of them meet the same luck and their differences
are learned many times sooner; a trial ends after a few own turns, where a network of values, which
learns beside, says what may still be won. The trials go on by a quick rule, and for the last part
of the training by what has been learned. The networks are the library's n-tuple networks.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
import numpy.typing as npt
from torch import nn

import chinese_ten_env as ct
from agents.common import Progress, Run, evaluate, write_whole
from chinese_ten_env.adapters.torch import NTupleModule

# --- config ---------------------------------------------------------------------------------

_LESSONS = ct.ntuple.Settings()


@dataclass(frozen=True)
class Config:
    """What can be set."""

    total_steps: int = 1_000_000_000
    """Decisions to learn from."""
    minutes: float = 10.0
    """Stop after so many minutes of training, whichever comes first."""
    round: int = 200_000
    """Decisions that are made at once and learned from."""
    minibatch: int = 4096
    """Decisions in a gradient step."""
    learning_rate: float = 1.5e-3
    """At the start; it falls linearly to a fiftieth."""
    values_rate: float = 1.5e-3
    """The same of the values."""
    width: int = 64
    """Numbers that the networks keep for the table, a multiple of 64."""
    part: float = _LESSONS.part
    """Share of the decisions of a deal at which all cards are tried."""
    stray: float = _LESSONS.stray
    """Share of cards that are played at random, so that the way out of trouble is learned too."""
    horizon: float = _LESSONS.horizon
    """The chance that a trial goes on from one own turn to the next; with 1 to the deal's end."""
    decay: float = _LESSONS.decay
    """Lambda of the returns from which values are learned."""
    values_part: float = 0.5
    """Share of the positions met that values are learned from."""
    first_rounds: int = 4
    """Rounds of trials to the deal's end, before the values know anything."""
    own: float = 0.0
    """Share of the training, at its end, in which trials go on by what has been learned."""
    threads: int = 2
    """Threads that share the work."""
    opponent: str = ""
    """A policy to learn against, and nobody else; self-play unless given.

    ``quick``, ``greedy``, ``pretrained`` or the folder of a run of this agent: what is compiled.
    """
    start: str = ""
    """``pretrained`` or a run of this agent to learn on from; from nothing unless given."""
    evaluate_every: float = 30.0
    """Seconds between two measurements."""
    evaluation_deals: int = 1000
    """Deals of a measurement, each played in all seatings."""

    def __post_init__(self) -> None:
        for setting in fields(self):
            value = getattr(self, setting.name)
            if isinstance(value, int) and value < 1:
                raise ValueError(f"{setting.name} must be at least 1, not {value}")
        if not self.minutes > 0:
            raise ValueError(f"minutes must be positive, not {self.minutes}")
        if not 0 < self.values_part <= 1:
            raise ValueError(f"values_part must be a share above 0, not {self.values_part}")
        if not 0 <= self.own <= 1:
            raise ValueError(f"own must be a share, 0 to 1, not {self.own}")
        self.settings(0, 0.0)  # says what is wrong with those of the lessons

    def settings(self, rounds: int, done: float) -> ct.ntuple.Settings:
        """Return how lessons are made after so many rounds and such a share of the training."""
        young = rounds < self.first_rounds
        return ct.ntuple.Settings(
            rule="network" if self.own and done >= 1.0 - self.own else "quick",
            part=self.part,
            stray=self.stray,
            horizon=1.0 if young else self.horizon,
            decay=1.0 if young else self.decay,
        )


# --- network --------------------------------------------------------------------------------


class NTuplePolicy:
    """A policy that plays the card that a network thinks is worth most."""

    def __init__(self, network: ct.ntuple.Network, name: str) -> None:
        self.network, self.name = network, name

    def __call__(self, views: npt.NDArray[Any], rng: np.random.Generator) -> npt.NDArray[np.int64]:
        """Return a card for each view, int64 [B]; ValueError for another number of players."""
        return self.network(views, rng)

    def network_for(self, views: npt.NDArray[Any]) -> ct.ntuple.Network:
        """Return the network, with which kernels play these views."""
        return self.network.network_for(views)

    def module(self) -> nn.Module:
        """Return what plays as a module ``forward(observation, action_mask) -> logits``."""
        return NTupleModule(self.network)


OPPONENTS = ("greedy", "random")


def opponents(config: Config) -> tuple[str, ...]:
    """Return whom training and evaluation are measured against."""
    return (config.opponent,) if config.opponent else OPPONENTS


def rival(rules: ct.Rules, name: str) -> str | ct.ntuple.Network | None:
    """Return what a compiled trial can play against; ValueError for what it cannot."""
    if not name or name in ("quick", "greedy"):
        return name or None
    network = network_of(rules, name)
    if network is None:
        raise ValueError(
            f"dmc learns against quick, greedy, pretrained or a run of its own, not {name!r}; "
            "maskable_ppo learns against any policy"
        )
    return network


def network_of(rules: ct.Rules, name: str) -> ct.ntuple.Network | None:
    """Return the network that a policy of a name plays by, or None if it has none."""
    network = getattr(ct.make_policy(name, rules), "network", None)
    return network if isinstance(network, ct.ntuple.Network) else None


def best_response(rules: ct.Rules, policy: str, minutes: float) -> Config:
    """Return with what settings to learn what beats a policy; ValueError where it cannot be done.

    Against one that never learns, what has been learned is the best to go on with. Against a
    network, learning begins with what that knows, which gains exactly 0, and in small steps: large
    ones forget more than is found in minutes.
    """
    other = rival(rules, policy)
    if not isinstance(other, ct.ntuple.Network):
        return Config(minutes=minutes, opponent=policy, own=0.5)
    known: dict[str, Any] = {"start": policy, "width": other.width, "own": 1.0}
    return Config(minutes=minutes, opponent=policy, learning_rate=1e-4, **known)


# --- lessons --------------------------------------------------------------------------------


class Learner:
    """The networks, what they learn by, who makes the lessons, and the threads that share it."""

    def __init__(self, rules: ct.Rules, config: Config, seed: int) -> None:
        self.config = config
        self.network = ct.ntuple.Network(rules, config.width)
        self.values = ct.ntuple.Network(rules, config.width, cards=False)
        words = np.random.SeedSequence(seed).generate_state(config.threads + 3, np.uint32).tolist()
        self.network.randomize(words.pop())
        self.values.randomize(words.pop())
        if config.start:
            self._start_from(config.start)
        self.rng = np.random.default_rng(words.pop())
        self.workers = ThreadPoolExecutor(config.threads)
        self.of_cards = ct.ntuple.Descent(self.network, config.threads, self.workers.map)
        self.of_values = ct.ntuple.Descent(self.values, config.threads, self.workers.map)
        other = rival(rules, config.opponent)
        self.teachers = [
            ct.ntuple.Teacher(self.network, self.values, word, other) for word in words
        ]
        self.rounds = 0

    def _start_from(self, name: str) -> None:
        """Take over what a policy knows of cards; what positions are worth is learned anew."""
        known = network_of(self.network.rules, name)
        if known is None or known.weights.shape != self.network.weights.shape:
            raise ValueError(
                f"dmc can start from pretrained or a run of its own of width {self.network.width}, "
                f"not from {name!r}"
            )
        self.network.weights[:] = known.weights

    def learn(self, done: float) -> dict[str, float]:
        """Make a round of lessons and learn from it, such a share of the training being done."""
        config = self.config
        settings = config.settings(self.rounds, done)
        size = config.round // config.threads
        # All weights stand still meanwhile, so that the same seed gives the same lessons.
        lessons = list(self.workers.map(lambda one: one.teach(size, settings), self.teachers))
        left = 1.0 - 0.98 * done
        rate, values_rate = config.learning_rate * left, config.values_rate * left
        losses: list[float] = []
        errors: list[float] = []
        for lesson in lessons:
            some = int(len(lesson.won) * config.values_part)
            for chosen in self._batches(len(lesson.won), some):
                errors.append(self.of_values.learn_values(lesson, chosen, values_rate))
        for lesson in lessons:
            for chosen in self._batches(len(lesson.features), len(lesson.features)):
                losses.append(self.of_cards.learn_cards(lesson, chosen, rate))
        self.rounds += 1
        return {
            "decisions": float(sum(len(lesson.features) for lesson in lessons)),
            "learning_rate": rate,
            "loss": float(np.mean(losses)),
            "value_loss": float(np.mean(errors)),
        }

    def _batches(self, size: int, some: int) -> list[npt.NDArray[np.int64]]:
        """Return some of so many numbers in random order, in minibatches."""
        order = self.rng.permutation(size)[:some]
        return np.array_split(order, max(1, some // self.config.minibatch))

    def state(self) -> dict[str, npt.NDArray[Any]]:
        """Return all that has been learned."""
        parts = {"cards": self.of_cards.state(), "values": self.of_values.state()}
        arrays = {
            f"{part}.{name}": array for part, more in parts.items() for name, array in more.items()
        }
        return arrays | {"rounds": np.array(self.rounds)}

    def restore(self, state: dict[str, npt.NDArray[Any]]) -> None:
        """Go on from what `state` returned."""
        for part, descent in (("cards", self.of_cards), ("values", self.of_values)):
            found = {
                name.removeprefix(f"{part}."): array
                for name, array in state.items()
                if name.startswith(f"{part}.")
            }
            descent.restore(found)
        self.rounds = int(state["rounds"])

    def close(self) -> None:
        """Stop the threads."""
        self.workers.shutdown()


# --- fit ------------------------------------------------------------------------------------

CHECKPOINT = "checkpoint.npz"
MODEL = "model.npz"


def warm_up(run: Run, config: Config) -> None:
    """Compile all that is needed, so that the budget of minutes goes into learning."""
    small = replace(config, round=2, minibatch=1)
    learner = Learner(run.rules, small, 0)
    learner.learn(0.0)
    evaluate(learner.network, "warm-up", opponents(config), run.rules, 2, run.seed)
    learner.close()


def save(run: Run, progress: Progress, learner: Learner) -> None:
    """Put what has been learned so far on the disk, and last the status."""
    arrays: dict[str, Any] = learner.state()
    write_whole(run.folder / CHECKPOINT, lambda new: np.savez(new, **arrays))
    run.set_status("running", progress.steps, progress.stopwatch.seconds)


def fit(run: Run, config: Config) -> None:
    """Train in a run folder, from the start or from where it was interrupted.

    After Ctrl-C, or a crash, all is kept but the round that was not finished.
    """
    begun = (run.folder / CHECKPOINT).exists()
    warm_up(run, config)
    # Other deals after an interruption.
    learner = Learner(run.rules, config, run.seed + run.status["steps"])
    policy = NTuplePolicy(learner.network, run.agent)
    progress = Progress(run, config, policy, opponents(config))
    try:
        run.drop_metrics_after(run.status["seconds"])
        if begun:
            with np.load(run.folder / CHECKPOINT) as state:
                learner.restore(dict(state))
        else:
            progress.record({}, measured=True)
            save(run, progress, learner)
        while progress.done < 1.0:
            before = progress.stopwatch.seconds
            line = learner.learn(progress.done)
            decisions = line.pop("decisions")
            progress.steps += int(decisions)
            seconds = progress.stopwatch.seconds - before
            line = {"steps_per_s": round(decisions / max(1e-9, seconds))} | line
            progress.record(line, progress.is_due)
            save(run, progress, learner)
        weights = learner.network.weights
        write_whole(run.folder / MODEL, lambda new: np.savez(new, weights=weights))
    finally:
        progress.close()
        learner.close()


# --- load -----------------------------------------------------------------------------------


def load(run: Run) -> NTuplePolicy:
    """Return the policy of a complete run; ValueError says what is wrong with one that is not."""
    run.require_complete()
    return read(run)


def read(run: Run) -> NTuplePolicy:
    """Return the policy that training has left, before the run is called complete."""
    path = run.folder / MODEL
    config = Config(**run.header["config"])
    try:
        with np.load(path) as arrays:
            weights = arrays["weights"]
        network = ct.ntuple.Network(run.rules, config.width, weights)
    except Exception as error:  # a damaged file can fail anywhere on the way
        raise ValueError(f"{path} is missing or damaged: {error}") from error
    return NTuplePolicy(network, run.folder.name)
