"""What came out of cross-play in rows, for tables in a terminal and for reports.

Each number is computed and written as text here once, whoever shows it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt

from chinese_ten_env.arena.ratings import Rating, rate
from chinese_ten_env.arena.regret import RegretScore
from chinese_ten_env.arena.statistics import LEVEL, NORMAL_95, compare, deals_needed, rank_ranges
from chinese_ten_env.arena.tournament import CrossPlay, LineupScore

POWER = 0.8
"""The probability with which the deals that are said to be needed tell two policies apart."""

# --- rows -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Ranked:
    """How a policy of the ranking did; means are over its lineups that count there."""

    name: str
    best: int
    """The best rank that it may have, from 1 on."""
    worst: int
    net: float
    """Mean net points a deal; in match play, a match."""
    half_width: float
    """Half the width of the 95 % interval of `net`; NaN after a single deal."""
    win_rate: float
    tie_rate: float
    by_seat: npt.NDArray[np.float64]
    """[P] mean net points in each seat."""
    rating: Rating
    seconds: float
    """The mean time of a decision."""

    @property
    def cells(self) -> tuple[str, ...]:
        """The numbers as text, in the order of `ranking_head`."""
        return (
            str(self.best) if self.best == self.worst else f"{self.best} to {self.worst}",
            self.name,
            points(self.net, self.half_width),
            percent(self.win_rate),
            percent(self.tie_rate),
            f"{self.rating.mean:.1f} ± {self.rating_half_width:.1f}",
            duration(self.seconds),
        )

    @property
    def rating_half_width(self) -> float:
        """Half the width of the interval in which the rating lies with 95 %."""
        return NORMAL_95 * self.rating.deviation


@dataclass(frozen=True)
class Pair:
    """Two policies of the ranking, compared in the same deals."""

    better: str
    """The one with the higher mean, the other is `worse`; the order of names if they are equal."""
    worse: str
    difference: float
    half_width: float
    """Half the width of the 95 % interval of the difference; NaN after a single deal."""
    adjusted: float
    """Its p-value by Holm's method, over all pairs."""
    deals: int | None
    """How many deals would tell them apart with probability `POWER`. None if they are told apart,
    if they do not differ, and after a single deal, which does not say how much deals vary."""

    @property
    def told_apart(self) -> bool:
        """Whether they differ beyond doubt."""
        return self.adjusted < LEVEL


_RANKINGS: WeakKeyDictionary[CrossPlay, tuple[Ranked, ...]] = WeakKeyDictionary()
"""The rankings of results that are still in use: ratings take about a second."""


def ranking(result: CrossPlay) -> tuple[Ranked, ...]:
    """Return the policies, the best first. ImportError names the extra that ratings need."""
    if result not in _RANKINGS:
        _RANKINGS[result] = tuple(_rank(result))
    return _RANKINGS[result]


def _rank(result: CrossPlay) -> list[Ranked]:
    ranges = rank_ranges(compare(result.net))
    halves = result.net.half_widths
    ratings = {rating.name: rating for rating in rate(result)}
    rows = []
    for index in np.argsort(-result.net.mean, kind="stable").tolist():
        name = result.ranked[index]
        own = [(score, score.names.index(name)) for score in counted(result) if name in score.names]
        best, worst = ranges[index].tolist()
        rows.append(
            Ranked(
                name,
                best,
                worst,
                float(result.net.mean[index]),
                float(halves[index]),
                win_rate=float(np.mean([score.win_rate[place] for score, place in own])),
                tie_rate=float(np.mean([score.tie_rate[place] for score, place in own])),
                by_seat=np.mean([score.by_seat[place] for score, place in own], axis=0),
                rating=ratings[name],
                seconds=float(np.mean([score.seconds[place] for score, place in own])),
            )
        )
    return rows


def counted(result: CrossPlay) -> list[LineupScore]:
    """Return the lineups that count in the ranking: those without a policy that failed."""
    return [score for score in result.lineups if set(score.names) <= set(result.ranked)]


def ranking_head(result: CrossPlay) -> tuple[str, ...]:
    """Return the heads of the columns of `Ranked.cells`."""
    head = ("rank", "policy", f"net points a {unit(result)}", "win rate", "tie rate", "rating")
    return (*head, "time a decision")


def pairs(result: CrossPlay) -> list[Pair]:
    """Return every two policies of the ranking, in its order."""
    comparison = compare(result.net)
    deviations = comparison.half_width / NORMAL_95 * math.sqrt(result.deals)
    order = np.argsort(-result.net.mean, kind="stable").tolist()
    found = []
    for place, one in enumerate(order):
        for other in order[place + 1 :]:
            difference = float(comparison.difference[one, other])
            deviation = float(deviations[one, other])
            adjusted = float(comparison.adjusted[one, other])
            open_ = adjusted >= LEVEL and difference != 0 and not math.isnan(deviation)
            found.append(
                Pair(
                    result.ranked[one],
                    result.ranked[other],
                    difference,
                    float(comparison.half_width[one, other]),
                    adjusted,
                    deals_needed(difference, deviation, POWER) if open_ else None,
                )
            )
    return found


def against(result: CrossPlay) -> dict[tuple[str, str], tuple[float, float]]:
    """Return the net points of one policy at the tables that it shares with another alone.

    By their names, the mean and half the width of its 95 % interval. Pairs of which not all deals
    were played are missing.
    """
    found = {}
    for score in result.lineups:
        if len(score.names) == 2:
            halves = score.net.half_widths
            for index in range(2):
                names = (score.names[index], score.names[1 - index])
                found[names] = (float(score.net.mean[index]), float(halves[index]))
    return found


def regrets(result: CrossPlay) -> list[RegretScore]:
    """Return what the decisions of each policy cost it, those that cost least first."""
    return sorted(result.regrets, key=lambda score: score.mean)


REGRET_HEAD = ("policy", "net points a decision", "of them mistakes", "decisions")
"""The heads of the columns of `regret_cells`."""


def regret_cells(score: RegretScore) -> tuple[str, ...]:
    """Return what a policy's decisions cost it as text."""
    return (
        score.name,
        cost(score.mean, score.half_width),
        percent(score.mistakes),
        f"{score.decisions:,}",
    )


# --- as text --------------------------------------------------------------------------------


def unit(result: CrossPlay) -> str:
    """Return over what net points are counted: a deal, or in match play a match."""
    return "deal" if result.rules.match == "deal" else "match"


def points(net: float, half_width: float = math.nan) -> str:
    """Return net points with half the width of their interval, if there is one."""
    text = f"{round(net, 2) + 0.0:+.2f}"  # 0.0 is added because -0.0 would keep its sign
    return text if math.isnan(half_width) else f"{text} ± {half_width:.2f}"


def cost(mean: float, half_width: float = math.nan) -> str:
    """Return the net points that a decision costs, with half the width of their interval."""
    return f"{mean:.3f}" if math.isnan(half_width) else f"{mean:.3f} ± {half_width:.3f}"


def percent(share: float) -> str:
    """Return a share in per cent."""
    return f"{100 * share:.1f} %"


def whole_percent(share: float) -> str:
    """Return a share in whole per cent, as in a sentence."""
    return f"{100 * share:.0f} %"


def count(number: int) -> str:
    """Return a number with two digits that count."""
    digits = max(0, len(str(number)) - 2)
    return f"{round(number, -digits):,}" if number < 10_000_000 else "more than ten million"


def duration(seconds: float) -> str:
    """Return a time with three digits and a unit."""
    for name, size in (("s", 1.0), ("ms", 1e-3)):
        if seconds >= size:
            return f"{seconds / size:.3g} {name}"
    return f"{seconds / 1e-6:.3g} µs"


def probability(p_value: float) -> str:
    """Return a p-value."""
    return f"{p_value:.4f}" if p_value >= 0.0001 else "< 0.0001"
