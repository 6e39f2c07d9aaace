"""What must be right once for all that learns: run folders, masked choices, evaluation.

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
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

import chinese_ten_env as ct

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
    for package in ("numpy", "numba", "torch", "stable-baselines3", "sb3-contrib"):
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


def masked_choice(
    logits: npt.NDArray[np.float32],
    legal: npt.NDArray[np.bool_],
    rng: np.random.Generator | None = None,
) -> npt.NDArray[np.int64]:
    """Return an action for each row [B, A]: the best legal one, or one drawn from the softmax.

    Drawing adds Gumbel noise, so that a row takes A numbers from `rng` and no more.
    """
    scores = logits.astype(np.float64)
    if rng is not None:
        noise = rng.random(logits.shape)
        scores -= np.log(-np.log(np.clip(noise, 1e-300, 1 - 1e-16)))
    best = np.where(legal, scores, -np.inf).argmax(axis=1)
    return np.asarray(best, dtype=np.int64)


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
