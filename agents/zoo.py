"""The pretrained policies of the library: put there, measured, and shown as a table.

``zoo.jsonl`` beside this file holds a line for each policy and opponent that was measured. The
README's table is made from these lines alone.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import fields
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

import chinese_ten_env as ct
from agents.common import Run, commit, evaluate, write_whole

LINES = Path(__file__).with_name("zoo.jsonl")
GAMES = {"random": 80_000, "greedy": 80_000, "pimc:64": 24_000, "pimc:256": 12_000}
"""Opponents of each pretrained policy, and about how many games are played against them."""
SEARCH = "pimc:64:pretrained"
"""Played against ``pretrained``, for two players: what search adds to it."""
SEARCH_GAMES = 2_000
RESPONSE = "best response"
"""The name of what ``train.py best-response`` has trained against ``pretrained``."""


# --- publishing -----------------------------------------------------------------------------


def publish(run: Run) -> Path:
    """Put what a complete dmc run has learned into the library; return the file."""
    agent = import_module(f"agents.{run.agent}")
    policy = agent.load(run)
    network = getattr(policy, "network", None)
    if not isinstance(network, ct.ntuple.Network):
        raise ValueError(f"only runs of dmc can be published, and {run.folder} is of {run.agent}")
    status = run.status
    facts = {
        "agent": run.agent,
        "command": command_of(run),
        "seed": run.seed,
        "decisions": status["steps"],
        "seconds": status["seconds"],
        "commit": run.header.get("commit"),
        "date": run.header.get("date"),
    }
    return ct.pretrained.publish(network, facts)


def command_of(run: Run) -> str:
    """Return the command that trains such a run again."""
    defaults = import_module(f"agents.{run.agent}").Config()
    words = ["python train.py fit", f"--agent {run.agent}", f"--variant {run.rules.variant}"]
    words += [f"--num-players {run.rules.num_players}", f"--seed {run.seed}"]
    for setting in fields(defaults):
        value = run.header["config"].get(setting.name, getattr(defaults, setting.name))
        # How often it was measured on the way changes nothing.
        changed = value != getattr(defaults, setting.name)
        if changed and not setting.name.startswith("evaluat"):
            words.append(f"--{setting.name.replace('_', '-')} {value}")
    return " ".join(words)


# --- measuring ------------------------------------------------------------------------------


def read_lines() -> list[dict[str, Any]]:
    """Return the stored results."""
    if not LINES.exists():
        return []
    return [json.loads(text) for text in LINES.read_text().splitlines()]


def _key(line: dict[str, Any]) -> tuple[str, int, str, str]:
    return line["variant"], line["num_players"], line["policy"], line["against"]


def keep(new: dict[str, Any]) -> None:
    """Store a result in the place of an older one of the same policies."""
    lines = {_key(line): line for line in read_lines()} | {_key(new): new}
    text = "".join(json.dumps(line) + "\n" for _, line in sorted(lines.items()))
    write_whole(LINES, lambda file: file.write_text(text))


def microseconds(policy: ct.Policy, rules: ct.Rules, seed: int) -> float:
    """Return the time of a decision in batches of 1,024 views, over a deal, in microseconds."""
    games = ct.new_games(rules, 1024, seed=seed)
    rng = np.random.default_rng(seed)
    policy(ct.views(games), rng)
    seconds, decisions = 0.0, 0
    while not ct.is_over(games).all():
        live = np.flatnonzero(~ct.is_over(games))
        views = ct.views(ct.take(games, live))
        start = time.perf_counter()
        answer = policy(views, rng)
        seconds += time.perf_counter() - start
        decisions += len(live)
        cards = np.zeros(len(games), dtype=np.int64)
        cards[live] = answer
        ct.play(games, cards)
    return 1e6 * seconds / decisions


def _matches(num_players: int) -> Iterator[tuple[str, str, int]]:
    """Yield who is measured, against whom, and in how many games."""
    for opponent, games in GAMES.items():
        yield "pretrained", opponent, games
    if num_players == 2:
        yield SEARCH, "pretrained", SEARCH_GAMES


def measure_zoo(
    names: Sequence[str], against: Sequence[str], games: int | None, seed: int, console: Any
) -> None:
    """Measure pretrained policies and store a line for each opponent as it is done.

    A deal takes as many games as there are seatings; whole deals are played, at least one.
    """
    known = [f"{variant}-{players}" for variant, players in ct.pretrained.entries()]
    for what, given, choices in (
        ("pretrained policy", names, known),
        ("opponent", against, [*GAMES, SEARCH]),
    ):
        if unknown := sorted(set(given) - set(choices)):
            raise ValueError(f"no {what} {unknown[0]!r}; there are {', '.join(choices)}")
    for name in names or known:
        variant, players = name.rsplit("-", 1)
        rules = ct.make_rules(variant, int(players))
        cost = round(microseconds(ct.make_policy("pretrained", rules), rules, seed), 2)
        for measured, opponent, usual in _matches(rules.num_players):
            if against and not {measured, opponent} & set(against):
                continue
            deals = max(1, round((games or usual) / len(ct.arena.seatings(2, rules.num_players))))
            policy = ct.make_policy(measured, rules)
            row = evaluate(policy, measured, [opponent], rules, deals, seed)[0]
            keep(_line(rules, measured, row) | {"microseconds": cost})
            console.print(f"{name}: {measured} against {opponent} {interval(row)}", markup=False)


def keep_response(run: Run, row: dict[str, Any]) -> None:
    """Store what a best response has gained against ``pretrained``."""
    keep(_line(run.rules, RESPONSE, row) | {"agent": run.agent, "seconds": run.status["seconds"]})


def _line(rules: ct.Rules, policy: str, row: dict[str, Any]) -> dict[str, Any]:
    table = {"variant": rules.variant, "num_players": rules.num_players, "policy": policy}
    return table | row | {"commit": commit()}


# --- showing --------------------------------------------------------------------------------

HEAD = (
    *("variant", "players"),
    *(f"against `{name}`" for name in GAMES),
    *("a learner gains against it", "a decision", "decisions learned from", "minutes"),
)


def table(lines: Iterable[dict[str, Any]]) -> list[tuple[str, ...]]:
    """Return the results as rows of text under `HEAD`, one for each pretrained policy."""
    by_key = {_key(line): line for line in lines}
    rows = []
    for variant, players in ct.pretrained.entries():
        facts = ct.pretrained.load_entry(variant, players).facts
        found = [by_key.get((variant, players, "pretrained", name)) for name in GAMES]
        cost = next((f"{line['microseconds']:.1f} µs" for line in found if line), "—")
        if players == 2:
            found.append(by_key.get((variant, players, RESPONSE, "pretrained")))
        cells = [interval(line) if line else "not measured" for line in found]
        rows.append(
            (
                *(f"`{variant}`", str(players)),
                *(cells if players == 2 else [*cells, "—"]),
                *(cost, f"{facts['decisions'] / 1e6:.0f} M", f"{facts['seconds'] / 60:.1f}"),
            )
        )
    return rows


def commands() -> list[tuple[str, ...]]:
    """Return rows of text: variant, players, and the command that trained that policy."""
    rows: list[tuple[str, ...]] = []
    for variant, players in ct.pretrained.entries():
        command = ct.pretrained.load_entry(variant, players).facts["command"]
        rows.append((f"`{variant}`", str(players), f"`{command}`"))
    return rows


def interval(line: dict[str, Any]) -> str:
    """Return a result with its 95 % interval as text."""
    return f"{line['net']:+.2f} ± {line['half_width']:.2f}"
