"""What the decisions of an arena cost, judged by the solver, who knows every card."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from chinese_ten_env.arena.lineup import Lineup
from chinese_ten_env.arena.statistics import Moments
from chinese_ten_env.engine import OVER, Games, take
from chinese_ten_env.rules import HAND_CARDS, Rules
from chinese_ten_env.solver import judge

REGRET = np.dtype(
    [
        ("deal", np.int32),
        ("seating", np.int16),
        ("decision", np.int16),
        ("turn", np.int8),
        ("seat", np.int8),
        ("card", np.int8),
        ("best", np.int8),
        ("regret", np.float32),  # halves of points, so exact
    ],
    align=True,
)
"""A decision and what it cost."""

Regrets = npt.NDArray[Any]
"""REGRET records, one for each decision: by deal, seating and decision."""

DEALS_AT_ONCE = 4
"""Deals of a job: a game takes seconds."""


class Judging(NamedTuple):
    """The job to judge the decisions of deals `start` to `stop` of a part of a lineup.

    The part is played again, as nothing but the outcome of games is kept.
    """

    lineup: int
    start: int
    stop: int
    part: tuple[int, int]

    def do(self, lineup: Lineup) -> Regrets:
        """Return a record for each decision."""
        begin, end = self.part
        count = len(lineup.seats)
        own = np.arange((self.start - begin) * count, (self.stop - begin) * count)
        positions: list[list[Games]] = [[] for _ in own]
        cards: list[list[int]] = [[] for _ in own]

        def watch(games: Games, answers: npt.NDArray[np.int64]) -> None:
            for index in np.flatnonzero(games["phase"][own] != OVER):
                positions[index].append(take(games, own[index : index + 1]))
                cards[index].append(int(answers[own[index]]))

        lineup.play(begin, end, watch)
        return np.array(
            [
                (
                    self.start + index // count,
                    index % count,
                    one.decision,
                    positions[index][one.decision]["turn"][0],
                    one.player,
                    one.card,
                    one.best,
                    one.regret,
                )
                for index in range(len(own))
                for one in judge(positions[index], cards[index])
            ],
            dtype=REGRET,
        )


def check_judged(rules: Rules) -> None:
    """ValueError if regrets of games by these rules cannot be told."""
    if rules.num_players != 2 or rules.match != "deal":
        raise ValueError(
            "regrets are those of single deals of 2 players, which can be solved; not of "
            f"{rules.num_players} players with match={rules.match!r}"
        )


def judgings(lineup: int, parts: list[tuple[int, int]], deals: int) -> Iterator[Judging]:
    """Yield the jobs that judge the first so many deals of a lineup."""
    for begin, end in parts:
        for start in range(begin, min(end, deals), DEALS_AT_ONCE):
            yield Judging(lineup, start, min(start + DEALS_AT_ONCE, end, deals), (begin, end))


@dataclass(frozen=True)
class RegretScore:
    """What the decisions of a policy cost it, in net points; against perfect play of both from
    there on, by players who know every card."""

    name: str
    deals: int
    decisions: int
    mean: float
    """Of a decision."""
    half_width: float
    """Half the width of the 95 % interval of `mean`, over deals; NaN after a single deal."""
    mistakes: float
    """The share of decisions to which another card was better."""
    by_turn: npt.NDArray[np.float64]
    """[24] the mean of a decision in each turn of the deal; NaN where it had none."""

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, ready for JSON; NaN becomes None."""
        return {
            "policy": self.name,
            "deals": self.deals,
            "decisions": self.decisions,
            "mean": self.mean,
            "half_width": None if np.isnan(self.half_width) else self.half_width,
            "mistakes": self.mistakes,
            "by_turn": [None if np.isnan(cost) else cost for cost in self.by_turn.tolist()],
        }


def score_regrets(name: str, rows: Regrets) -> RegretScore:
    """Return what all these decisions of a policy say; each deal must have some."""
    deals, index = np.unique(rows["deal"], return_inverse=True)
    regret = rows["regret"].astype(np.float64)
    # A ratio of two means over deals: its error is that of what is left when it is taken away.
    costs, counts = np.bincount(index, regret), np.bincount(index)
    mean = float(regret.mean())
    left = Moments(1)
    left.add(((costs - mean * counts) / counts.mean())[:, None])
    in_turn = np.bincount(rows["turn"], minlength=HAND_CARDS)
    with np.errstate(invalid="ignore"):
        by_turn = np.bincount(rows["turn"], regret, minlength=HAND_CARDS) / in_turn
    return RegretScore(
        name,
        len(deals),
        len(rows),
        mean,
        float(left.half_widths[0]),
        float((regret > 0).mean()),
        by_turn,
    )
