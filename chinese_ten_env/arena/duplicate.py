"""Duplicate deals: each deck is played in every seating, so neither cards nor seats decide."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from chinese_ten_env.arena.lineup import Lineup, Outcome
from chinese_ten_env.arena.result import Result
from chinese_ten_env.rules import MAX_PLAYERS, Rules, make_rules

WIN = math.lcm(*range(1, MAX_PLAYERS + 1))
"""A win in integers, so that its shares are integers too."""


def play(
    policies: Sequence[Any],
    variant: str = "mainland",
    num_players: int | None = None,
    deals: int = 1000,
    seed: int | np.integer[Any] = 0,
    *,
    names: Sequence[str] | None = None,
    rules: Rules | None = None,
    progress: Callable[[int], None] | None = None,
    **switches: Any,
) -> Result:
    """Play duplicate deals between two or more policies and return how each of them did.

    Each deck, with its dealer, is played in every seating in which each policy sits at least once;
    so each policy sits in each seat equally often, holds the same cards as the others, and
    deterministic policies that play alike get exactly 0. Policies are names, run folders, ONNX
    files or callables; `names` are theirs in the result. `rules` stand in place of `variant`,
    `num_players` and the `switches` of `make_rules`; with ``match="net"`` or ``"raw"`` a "deal" is
    a whole match. `progress` is called with the number of deals finished. The same arguments give
    the same result. ValueError says what is wrong, and names the policy and the card of an illegal
    answer.
    """
    rules = choose_rules(rules, variant, num_players, switches)
    check_count("deals", deals, 1)
    check_count("seed", seed, 0)
    lineup = Lineup(policies, rules, int(seed), names)
    seats, count = lineup.seats, len(lineup.names)
    net = np.zeros((count, int(deals)), dtype=np.int64)
    wins = np.zeros(count, dtype=np.int64)
    for start, stop in lineup.parts(int(deals)):
        outcome = lineup.play(start, stop)
        nets, shares = scaled_nets(outcome, rules), win_shares(outcome)
        for index in range(count):
            mine = seats == index
            net[index, start:stop] = np.where(mine, nets, 0).sum(axis=(1, 2))
            wins[index] += np.where(mine, shares, 0).sum()
        if progress is not None:
            progress(stop)
    return Result.from_sums(
        names=lineup.names,
        rules=rules,
        seed=lineup.seed,
        first_deck=lineup.first_deck,
        seatings=len(seats),
        net=net,
        net_unit=rules.num_players * int((seats == 0).sum()),
        wins=wins,
        win_unit=WIN * int((seats == 0).sum()) * int(deals),
    )


def scaled_nets(outcome: Outcome, rules: Rules) -> npt.NDArray[np.int64]:
    """Return each seat's net points over all its deals, times the players, [D, S, P]."""
    totals = outcome.deals.astype(np.int64) * rules.total
    return outcome.scores.astype(np.int64) * rules.num_players - totals[..., None]


def win_shares(outcome: Outcome) -> npt.NDArray[np.int64]:
    """Return each seat's share of the win, in units of 1 / WIN, [D, S, P]."""
    scores = outcome.scores
    best = scores == scores.max(axis=-1, keepdims=True)
    return best * (WIN // best.sum(axis=-1, keepdims=True))


def choose_rules(
    rules: Rules | None, variant: str, num_players: int | None, switches: dict[str, Any]
) -> Rules:
    if rules is None:
        return make_rules(variant, num_players, **switches)
    if not isinstance(rules, Rules):
        raise ValueError(f"rules must be made by make_rules, not {rules!r}")
    if switches or num_players is not None or variant not in ("mainland", rules.variant):
        raise ValueError("give rules, or a variant with its num_players and switches, not both")
    return rules


def check_count(name: str, value: object, low: int) -> None:
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < low:
        raise ValueError(f"{name} must be an integer from {low} up, not {value!r}")
