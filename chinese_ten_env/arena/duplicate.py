"""Duplicate deals: each deck is played in every seating, so neither cards nor seats decide."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from chinese_ten_env.arena.result import Result
from chinese_ten_env.engine import OVER, Games, new_games, play_batch, take
from chinese_ten_env.observation import views
from chinese_ten_env.policies import Cards, Policy, checked_cards, make_policy, policy_name
from chinese_ten_env.rules import MAX_PLAYERS, Rules, make_rules

_GAMES_AT_A_TIME = 2048
"""Bounds the memory. Each batch has generators of its own, so the results depend on it."""

_WIN = math.lcm(*range(1, MAX_PLAYERS + 1))
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
    rules = _choose_rules(rules, variant, num_players, switches)
    labels = _names(policies, names, rules.num_players)
    players = [make_policy(policy) for policy in policies]
    _check_count("deals", deals, 1)
    _check_count("seed", seed, 0)
    seats = seatings(len(players), rules.num_players)
    first_deck = int(np.random.SeedSequence(int(seed)).generate_state(1, np.uint64)[0])
    net = np.zeros((len(players), int(deals)), dtype=np.int64)
    wins = np.zeros(len(players), dtype=np.int64)
    for chunk, (start, stop) in enumerate(_chunks(int(deals), len(seats))):
        decks = new_games(rules, stop - start, first_deck + start)
        games = take(decks, np.repeat(np.arange(len(decks)), len(seats)))
        policy_at = np.tile(seats, (len(decks), 1))
        _play_to_end(games, policy_at, players, labels, _generators(seed, chunk, len(players)))
        nets = _scaled_nets(games, rules)
        shares = _win_shares(games, rules)
        for index in range(len(players)):
            of_policy = np.where(policy_at == index, nets, 0).sum(axis=1)
            net[index, start:stop] = of_policy.reshape(len(decks), len(seats)).sum(axis=1)
            wins[index] += shares[policy_at == index].sum()
        if progress is not None:
            progress(stop)
    return Result.from_sums(
        names=labels,
        rules=rules,
        seed=int(seed),
        first_deck=first_deck,
        seatings=len(seats),
        net=net,
        net_unit=rules.num_players * int((seats == 0).sum()),
        wins=wins,
        win_unit=_WIN * int((seats == 0).sum()) * int(deals),
    )


def seatings(num_policies: int, num_players: int) -> npt.NDArray[np.int64]:
    """Return every assignment of policies to seats that leaves no policy out, int64 [S, P]."""
    everyone = set(range(num_policies))
    rows = product(range(num_policies), repeat=num_players)
    return np.array([row for row in rows if set(row) == everyone], dtype=np.int64)


def _chunks(deals: int, num_seatings: int) -> Iterator[tuple[int, int]]:
    size = _GAMES_AT_A_TIME // num_seatings
    for start in range(0, deals, size):
        yield start, min(start + size, deals)


def _generators(seed: int | np.integer[Any], chunk: int, count: int) -> list[np.random.Generator]:
    """Return a generator for each policy, so that none disturbs the randomness of another."""
    return [
        np.random.default_rng(np.random.SeedSequence(int(seed), spawn_key=(chunk, index)))
        for index in range(count)
    ]


def _play_to_end(
    games: Games,
    policy_at: npt.NDArray[np.int64],
    policies: list[Policy],
    names: tuple[str, ...],
    rngs: list[np.random.Generator],
) -> None:
    """Play all games [B] in lockstep, one call of each policy a round; `policy_at` is [B, P]."""
    cards = np.zeros(len(games), dtype=np.int64)
    everywhere = np.arange(len(games))
    while True:
        unfinished = games["phase"] != OVER
        if not unfinished.any():
            return
        on_turn = np.where(unfinished, policy_at[everywhere, games["player"]], -1)
        for index, policy in enumerate(policies):
            mine = np.flatnonzero(on_turn == index)
            if len(mine):
                cards[mine] = _ask(policy, names[index], take(games, mine), rngs[index])
        play_batch(games, cards)


def _ask(policy: Policy, name: str, games: Games, rng: np.random.Generator) -> Cards:
    """Return a policy's answer, checked."""
    return checked_cards(policy(views(games), rng), games["legal"], repr(name))


def _scaled_nets(games: Games, rules: Rules) -> npt.NDArray[np.int64]:
    """Return each seat's net points over all deals of the games, times the players, [B, P]."""
    scores = games["scores"][:, : rules.num_players].astype(np.int64)
    totals = games["deals"].astype(np.int64) * rules.total
    return scores * rules.num_players - totals[:, None]


def _win_shares(games: Games, rules: Rules) -> npt.NDArray[np.int64]:
    """Return each seat's share of the win, in units of 1 / _WIN, [B, P]."""
    scores = games["scores"][:, : rules.num_players]
    best = scores == scores.max(axis=1, keepdims=True)
    return best * (_WIN // best.sum(axis=1, keepdims=True))


def _choose_rules(
    rules: Rules | None, variant: str, num_players: int | None, switches: dict[str, Any]
) -> Rules:
    if rules is None:
        return make_rules(variant, num_players, **switches)
    if not isinstance(rules, Rules):
        raise ValueError(f"rules must be made by make_rules, not {rules!r}")
    if switches or num_players is not None or variant not in ("mainland", rules.variant):
        raise ValueError("give rules, or a variant with its num_players and switches, not both")
    return rules


def _check_count(name: str, value: object, low: int) -> None:
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < low:
        raise ValueError(f"{name} must be an integer from {low} up, not {value!r}")


def _names(
    policies: Sequence[Any], names: Sequence[str] | None, num_players: int
) -> tuple[str, ...]:
    """Return a name for each policy, all different; ValueError if there are too few or too many."""
    if isinstance(policies, (str, Path)) or callable(policies):
        raise ValueError(f"policies must be a list, such as ['greedy', 'random'], not {policies!r}")
    if not 2 <= len(policies) <= num_players:
        counts = " or ".join(str(count) for count in range(2, num_players + 1))
        raise ValueError(f"{num_players} seats need {counts} policies, not {len(policies)}")
    if names is not None:
        if len(names) != len(policies) or len(set(names)) != len(names):
            raise ValueError(
                f"names must be {len(policies)} different texts, a name for each policy, "
                f"not {names!r}"
            )
        return tuple(str(name) for name in names)
    labels: list[str] = []
    for policy in policies:
        label = base = policy_name(policy)
        number = 1
        while label in labels:
            number += 1
            label = f"{base}#{number}"
        labels.append(label)
    return tuple(labels)
