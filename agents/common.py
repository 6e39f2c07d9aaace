"""What must be right once for all that learns: run folders, masked choices, advantages, evaluation.

A run folder holds ``config.json`` (what was asked for, and with which versions), ``status.json``
(how far it got), ``metrics.jsonl`` (a line for each rollout), the agent's checkpoint, TensorBoard's
files and, once complete, ``evaluation.json`` and ``curve.png``. Every file is replaced whole or not
at all, so a crash leaves the old or the new one.
"""

from __future__ import annotations

import json
import os
import platform
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import torch

import chinese_ten_env as ct
from chinese_ten_env import Feature

FORMAT = 1
"""The version of the run folder."""
STATES = ("running", "interrupted", "complete")

_SWITCHES = ("capture", "match", "target")


# --- files ----------------------------------------------------------------------------------


def write_whole(path: Path, write: Callable[[Path], object]) -> None:
    """Let `write` fill a new file, then put it in the place of `path` at once."""
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.stem}-", suffix=path.suffix)
    os.close(handle)
    try:
        write(Path(name))
        os.replace(name, path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def write_json(path: Path, data: Any) -> None:
    """Replace a JSON file."""
    text = json.dumps(data, indent=2) + "\n"
    write_whole(path, lambda new: new.write_text(text))


def read_json(path: Path) -> dict[str, Any]:
    """Return the object in a JSON file; ValueError names the file and what is wrong with it."""
    try:
        data = json.loads(path.read_text())
    except FileNotFoundError:
        raise ValueError(f"{path} is missing: this is no run folder, or a damaged one") from None
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise ValueError(f"{path} is damaged: {error}") from None
    if not isinstance(data, dict):
        raise ValueError(f"{path} is damaged: a JSON object is needed")
    return data


def versions() -> dict[str, str]:
    """Return the versions that a result depends on."""
    found = {"python": platform.python_version(), "chinese_ten_env": ct.__version__}
    for package in ("numpy", "numba", "torch", "stable-baselines3", "sb3-contrib", "ray"):
        try:
            found[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            continue
    return found


def commit() -> str | None:
    """Return this checkout's commit, with a ``+`` if it was changed since; None outside git."""
    here = Path(__file__).resolve().parent
    try:
        head = subprocess.run(
            ["git", "rev-parse", "HEAD"], cwd=here, capture_output=True, text=True, check=True
        ).stdout.strip()
        changes = subprocess.run(
            ["git", "status", "--porcelain", "--untracked-files=no"],
            cwd=here,
            capture_output=True,
            text=True,
            check=True,
        ).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return None
    return head + ("+" if changes else "")


# --- runs -----------------------------------------------------------------------------------


@dataclass
class Run:
    """A run folder."""

    folder: Path
    header: dict[str, Any]
    """What ``config.json`` holds."""

    @classmethod
    def create(
        cls, folder: Path, agent: str, rules: ct.Rules, seed: int, config: dict[str, Any]
    ) -> Run:
        """Make the folder of a new run; FileExistsError if there is something already."""
        if folder.exists() and any(folder.iterdir()):
            raise FileExistsError(
                f"{folder} is not empty: name another folder, or go on with "
                f"'python train.py resume {folder}'"
            )
        folder.mkdir(parents=True, exist_ok=True)
        header = {
            "format": FORMAT,
            "agent": agent,
            "variant": rules.variant,
            "num_players": rules.num_players,
            "switches": {name: getattr(rules, name) for name in _SWITCHES},
            "seed": seed,
            "observation_version": ct.OBSERVATION_VERSION,
            "config": config,
            "versions": versions(),
            "commit": commit(),
            "date": time.strftime("%Y-%m-%dT%H:%M:%S%z"),
        }
        write_json(folder / "config.json", header)
        run = cls(folder, header)
        run.set_status("running", steps=0, seconds=0.0)
        return run

    @classmethod
    def open(cls, folder: Path) -> Run:
        """Open the folder of a run; ValueError says what is wrong with it."""
        if not folder.is_dir():
            raise ValueError(f"{folder} is no folder: name one that 'train.py fit' has made")
        header = read_json(folder / "config.json")
        path = folder / "config.json"
        if header.get("format") != FORMAT:
            raise ValueError(
                f"{path}: format {header.get('format')!r} is unknown; this version reads {FORMAT}"
            )
        for name in ("agent", "variant", "num_players", "switches", "seed", "config"):
            if name not in header:
                raise ValueError(f"{path} is damaged: {name} is missing")
        if header.get("observation_version") != ct.OBSERVATION_VERSION:
            raise ValueError(
                f"{folder} learned from observations of version "
                f"{header.get('observation_version')!r}; this package gives version "
                f"{ct.OBSERVATION_VERSION}, so train anew"
            )
        return cls(folder, header)

    @property
    def agent(self) -> str:
        """The name of the file in ``agents/`` that made it."""
        return str(self.header["agent"])

    @property
    def rules(self) -> ct.Rules:
        """The rules that it learns."""
        return ct.make_rules(
            self.header["variant"], self.header["num_players"], **self.header["switches"]
        )

    @property
    def seed(self) -> int:
        """The seed of all that is random in it."""
        return int(self.header["seed"])

    @property
    def status(self) -> dict[str, Any]:
        """``state`` (one of `STATES`), ``steps`` and ``seconds`` of training."""
        status = read_json(self.folder / "status.json")
        if status.get("state") not in STATES:
            raise ValueError(
                f"{self.folder / 'status.json'} is damaged: state {status.get('state')!r}"
            )
        return status

    def set_status(self, state: str, steps: int, seconds: float) -> None:
        """Say how far the run is."""
        write_json(
            self.folder / "status.json",
            {"state": state, "steps": steps, "seconds": round(seconds, 3)},
        )

    def require_complete(self) -> None:
        """Raise ValueError if the run has not ended as it should: nobody may take it for done."""
        status = self.status
        if status["state"] != "complete":
            raise ValueError(
                f"{self.folder} is unfinished: {status['state']} at {status['steps']:,} decisions; "
                f"go on with 'python train.py resume {self.folder}'"
            )

    # --- metrics ----------------------------------------------------------------------------

    @property
    def metrics_path(self) -> Path:
        """The JSON lines, one a rollout."""
        return self.folder / "metrics.jsonl"

    def add_metrics(self, line: dict[str, Any]) -> None:
        """Append a line of numbers."""
        with self.metrics_path.open("a") as file:
            file.write(json.dumps(line) + "\n")

    def metrics(self) -> list[dict[str, Any]]:
        """Return the lines of numbers; a last one that a crash cut short is left out."""
        if not self.metrics_path.exists():
            return []
        lines = []
        for text in self.metrics_path.read_text().splitlines():
            try:
                lines.append(json.loads(text))
            except json.JSONDecodeError:
                break
        return lines

    def drop_metrics_after(self, seconds: float) -> None:
        """Forget the lines of what a checkpoint does not hold."""
        kept = [line for line in self.metrics() if line["seconds"] <= seconds]
        text = "".join(json.dumps(line) + "\n" for line in kept)
        write_whole(self.metrics_path, lambda new: new.write_text(text))


class Stopwatch:
    """Seconds of training, over interruptions."""

    def __init__(self, seconds: float = 0.0) -> None:
        self._start = time.perf_counter() - seconds

    @property
    def seconds(self) -> float:
        """Seconds since the run began, without those when it stood still."""
        return time.perf_counter() - self._start


class ProgressBar:
    """A line that tells how much of the budget is used up, how fast, and how well it goes."""

    def __init__(self, title: str) -> None:
        from tqdm import tqdm

        self._bar = tqdm(
            total=100.0,
            desc=title,
            bar_format="{desc} {percentage:3.0f}% |{bar}| {elapsed} {postfix}",
            dynamic_ncols=True,
        )

    def say(self, words: str) -> None:
        """Set the words behind the bar."""
        self._bar.set_postfix_str(words, refresh=False)

    def move(self, done: float) -> None:
        """Show the share of the budget that is used up, 0 to 1."""
        self._bar.update(100.0 * done - self._bar.n)

    def close(self) -> None:
        """Leave the line as it is."""
        self._bar.close()


# --- playing --------------------------------------------------------------------------------


masked_choice = ct.masked_choice
"""The library has it, because networks from files choose by it too."""


def masked_log_probs(logits: torch.Tensor, legal: torch.Tensor) -> torch.Tensor:
    """Return the log-probabilities [B, A] of the softmax over the legal actions, bool [B, A].

    Those of illegal actions are the lowest float rather than minus infinity: their probability is
    0 exactly, and gradients stay finite.
    """
    lowest = torch.finfo(logits.dtype).min
    return torch.log_softmax(logits.masked_fill(~legal, lowest), 1)


def masked_sample(
    log_probs: torch.Tensor, generator: torch.Generator | None = None
) -> torch.Tensor:
    """Return an action [B] for each row of `masked_log_probs`, drawn from its odds."""
    sums = log_probs.exp().double().cumsum(1)
    # A float32 below 1, so that the product stays below the whole sum; illegal actions add nothing.
    marks = torch.rand(len(sums), 1, generator=generator).double() * sums[:, -1:]
    return (sums > marks).int().argmax(1)


def masked_entropy(log_probs: torch.Tensor) -> torch.Tensor:
    """Return the entropy [B], in nats, of each row of `masked_log_probs`."""
    # Nothing times the lowest float is nothing, but its gradient could overflow on the way.
    return -(log_probs.exp() * log_probs.clamp_min(-1e4)).sum(1)


# --- networks -------------------------------------------------------------------------------

RANKS, SUITS = 13, 4
PARTNER_RANK = [8 - rank if rank < 9 else rank for rank in range(RANKS)]
"""The rank that each rank captures."""


def observed_rows(num_players: int) -> tuple[list[int], list[int], list[int]]:
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


class Network(Protocol):
    """What plays: it knows for how many players it is, and what it thinks of each card."""

    num_players: int

    def choose(self, observations: torch.Tensor) -> torch.Tensor:
        """Return logits [B, 52] of observations, int8 [B, F, 52]."""

    def parameters(self) -> Iterator[torch.nn.Parameter]:
        """Return what is learned."""


class _Player(torch.nn.Module):
    """What of a network plays, in the form in which modules are exported."""

    def __init__(self, network: Network) -> None:
        super().__init__()
        self.network = network

    def forward(self, observation: torch.Tensor, action_mask: torch.Tensor) -> torch.Tensor:
        """Return logits [B, 52] of all cards; the illegal ones are left to the exporter."""
        return self.network.choose(observation)


class NetworkPolicy:
    """A policy that plays what a network says: its best card, or a card drawn from its odds."""

    def __init__(self, network: Network, name: str, sample: bool = False) -> None:
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

    def module(self) -> torch.nn.Module:
        """Return what plays as a module ``forward(observation, action_mask) -> logits``."""
        return _Player(self.network)


# --- learning from all seats ----------------------------------------------------------------


def potentials(games: npt.NDArray[Any], rules: ct.Rules) -> npt.NDArray[np.float64]:
    """Return every player's potential [B, P], whose changes ``reward="captures"`` pays.

    In the deal at hand the points less the mean of all players, beside the net of finished deals.
    """
    points = ct.points(games, rules).astype(np.float64)
    points -= points.mean(axis=1, keepdims=True)
    points[ct.is_over(games)] = 0.0  # they are among the scores already
    scores = games["scores"][:, : rules.num_players] - games["deals"][:, None] * rules.par
    return np.asarray(scores + points)


def seat_advantages(
    rewards: npt.NDArray[np.floating[Any]],
    values: npt.NDArray[np.floating[Any]],
    over: npt.NDArray[np.bool_],
    players: npt.NDArray[np.integer[Any]],
    decay: float,
) -> npt.NDArray[np.float64]:
    """Return the generalised advantage estimates of every seat after every decision, [T, B, P].

    What a seat is paid between two decisions of its own is one reward, and its next own decision
    is its next state: the estimate decays there, and only there. `rewards` [T, B, P] are what each
    decision of anybody paid every seat, `values` [T + 1, B, P] what every seat expected before it,
    `over` [T, B] tells whether the game ended with it, `players` [T + 1, B] who decides. Behind
    the last decision stand the values of all seats, whoever is on turn. Nothing is discounted.
    """
    steps, _, seats = rewards.shape
    advantages = np.empty(rewards.shape)
    ahead = np.zeros(rewards.shape[1:])
    for step in reversed(range(steps)):
        goes_on = ~over[step][:, None]
        # Between own decisions the estimate does not decay, so that the values there cancel.
        own = players[step + 1][:, None] == np.arange(seats)
        ahead = np.where(own, decay, 1.0) * goes_on * ahead
        ahead += rewards[step] + goes_on * values[step + 1] - values[step]
        advantages[step] = ahead
    return advantages


# --- imitation -----------------------------------------------------------------------------


def played_decisions(
    rules: ct.Rules, policy: ct.Policy, deals: int, rng: np.random.Generator
) -> Iterator[tuple[npt.NDArray[np.int64], npt.NDArray[Any], npt.NDArray[np.int64]]]:
    """Yield the deals [n] that go on, their views and the policy's cards, round by round.

    One card in ten is played at random instead, so that the way out of trouble is learned too.
    """
    games = ct.new_games(rules, deals, seed=int(rng.integers(2**62)))
    while not ct.is_over(games).all():
        live = np.flatnonzero(~ct.is_over(games))
        views = ct.views(ct.take(games, live))
        best = policy(views, rng)
        yield live, views, best
        masks = ct.action_masks(views) != 0
        stray = masked_choice(np.zeros(masks.shape, np.float32), masks, rng)
        cards = np.zeros(deals, dtype=np.int64)
        cards[live] = np.where(rng.random(len(live)) < 0.1, stray, best)
        ct.play(games, cards)


def imitate(run: Run, network: Network, decisions: int, learning_rate: float) -> None:
    """Teach a network the cards of `greedy`, over so many decisions."""
    optimizer = torch.optim.Adam(network.parameters(), lr=learning_rate)
    rng, greedy = np.random.default_rng([run.seed, 1]), ct.make_policy("greedy")
    bar = ProgressBar(f"{run.folder.name}: imitating greedy")
    done = 0
    while done < decisions:
        rounds = [
            (ct.observe(views, packed=True), views["legal"], best)
            for _, views, best in played_decisions(run.rules, greedy, 2048, rng)
        ]
        rows, masks, cards = (np.concatenate(parts) for parts in zip(*rounds, strict=True))
        for batch in np.array_split(rng.permutation(len(cards)), len(cards) // 1024 + 1):
            observations = torch.from_numpy(ct.unpack(rows[batch]))
            legal = torch.from_numpy(ct.unpack(masks[batch]) != 0)
            answers = torch.from_numpy(cards[batch])
            log_probs = masked_log_probs(network.choose(observations), legal)
            loss = torch.nn.functional.nll_loss(log_probs, answers)
            optimizer.zero_grad()
            torch.autograd.backward(loss)
            optimizer.step()
        done += len(cards)
        alike = (log_probs.argmax(1) == answers).float().mean().item()
        bar.say(f"{100 * alike:.0f} % of its cards")
        bar.move(min(1.0, done / decisions))
    bar.close()


# --- measuring ------------------------------------------------------------------------------


def evaluate(
    policy: Any, name: str, against: Iterable[str], rules: ct.Rules, deals: int, seed: int
) -> list[dict[str, Any]]:
    """Return how a policy does against each of some others, in duplicate deals in all seatings.

    Each row: ``against``, ``net`` points a deal, ``half_width`` of its 95 % interval over deals,
    ``win_rate``, ``deals``, ``games``, ``seed``.
    """
    rows = []
    for opponent in against:
        result = ct.arena.play(
            [policy, opponent], rules=rules, deals=deals, seed=seed, names=[name, f"{opponent} (2)"]
        )
        standing = result[name]
        rows.append(
            {
                "against": opponent,
                "net": standing.net,
                "half_width": standing.half_width,
                "win_rate": standing.win_rate,
                "deals": result.deals,
                "games": result.games,
                "seed": seed,
            }
        )
    return rows


def measure(policy: Any, run: Run, opponents: Iterable[str], deals: int) -> dict[str, float]:
    """Return net points of a policy against each opponent, and half the width of the intervals."""
    numbers = {}
    for row in evaluate(policy, run.agent, opponents, run.rules, deals, run.seed):
        numbers[f"net_{row['against']}"] = row["net"]
        numbers[f"half_width_{row['against']}"] = row["half_width"]
    return numbers


class Budget(Protocol):
    """What of an agent's settings says how long it trains and how it is measured meanwhile."""

    @property
    def total_steps(self) -> int:
        """Decisions to train for."""

    @property
    def minutes(self) -> float:
        """Minutes of training, whichever comes first."""

    @property
    def evaluate_every(self) -> float:
        """Seconds between two measurements."""

    @property
    def evaluation_deals(self) -> int:
        """Deals of a measurement, each played in all seatings."""


class Progress:
    """How far a run is: measures and writes down, and tells when the budget is used up."""

    def __init__(self, run: Run, config: Budget, policy: Any, opponents: Sequence[str]) -> None:
        from torch.utils.tensorboard import SummaryWriter

        status = run.status
        self.run, self.budget, self.policy, self.opponents = run, config, policy, opponents
        self.steps = int(status["steps"])
        self.stopwatch = Stopwatch(status["seconds"])
        self.next_evaluation = 0.0
        self.standing = "not measured yet"
        self.bar = ProgressBar(run.folder.name)
        self.board = SummaryWriter(str(run.folder))

    @property
    def done(self) -> float:
        """The share of the budget that is used up, of decisions or of time, whichever is more."""
        by_time = self.stopwatch.seconds / (60.0 * self.budget.minutes)
        return min(1.0, max(self.steps / self.budget.total_steps, by_time))

    @property
    def is_due(self) -> bool:
        """Whether it is time for a measurement."""
        return self.stopwatch.seconds >= self.next_evaluation or self.done >= 1.0

    def record(self, line: dict[str, float], measured: bool) -> None:
        """Write down a line of numbers."""
        line = {"steps": self.steps, "seconds": round(self.stopwatch.seconds, 3)} | line
        if measured:
            line |= measure(self.policy, self.run, self.opponents, self.budget.evaluation_deals)
            opponent = self.opponents[0]
            net, half = line[f"net_{opponent}"], line[f"half_width_{opponent}"]
            self.standing = f"{net:+.1f} ± {half:.1f} against {opponent}"
            self.next_evaluation = self.stopwatch.seconds + self.budget.evaluate_every
        self.run.add_metrics({name: float(value) for name, value in line.items()})
        for name, value in line.items():
            self.board.add_scalar(f"run/{name}", value, self.steps)
        self.bar.say(f"{line.get('steps_per_s', 0):,.0f} decisions/s, {self.standing}")
        self.bar.move(self.done)

    def close(self) -> None:
        """Leave the bar as it is."""
        self.bar.close()
        self.board.close()


def draw_curve(run: Run, opponents: Sequence[str]) -> None:
    """Draw the net points against each opponent over the time of training, with intervals."""
    from matplotlib.figure import Figure

    lines = [line for line in run.metrics() if f"net_{opponents[0]}" in line]
    # Where it began is told in words: on the scale of that, what is learned later would not show.
    first, lines = lines[0], lines[1:] or lines
    minutes = np.array([line["seconds"] for line in lines]) / 60
    figure = Figure(figsize=(7, 2.6 * len(opponents)), layout="constrained")
    panels = figure.subplots(len(opponents), sharex=True, squeeze=False)[:, 0]
    # A panel for each: on one scale, what is won against the stronger would not show.
    for axes, opponent in zip(panels, opponents, strict=True):
        net = np.array([line[f"net_{opponent}"] for line in lines])
        half = np.array([line[f"half_width_{opponent}"] for line in lines])
        axes.plot(minutes, net, marker=".")
        axes.fill_between(minutes, net - half, net + half, alpha=0.2, lw=0)
        axes.axhline(0, color="0.4", lw=0.8)
        axes.set_ylabel(f"against {opponent}")
        began = f"before learning {first[f'net_{opponent}']:+.1f}"
        axes.text(0.99, 0.04, began, transform=axes.transAxes, ha="right", color="0.3")
        axes.grid(alpha=0.3)
    panels[-1].set_xlabel("minutes of training")
    rules = run.rules
    figure.suptitle(
        f"{run.agent}: {rules.variant}, {rules.num_players} players, seed {run.seed}\n"
        "net points a deal, 95 % interval",
        fontsize="medium",
    )
    write_whole(run.folder / "curve.png", lambda new: figure.savefig(new, dpi=150))
