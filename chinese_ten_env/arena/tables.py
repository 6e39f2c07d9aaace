"""What came out of cross-play as tables for a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from chinese_ten_env.arena.ratings import rate
from chinese_ten_env.arena.statistics import LEVEL, NORMAL_95, compare, deals_needed, rank_ranges
from chinese_ten_env.arena.tournament import CrossPlay

if TYPE_CHECKING:
    from rich.table import Table


def ranking(result: CrossPlay) -> Table:
    """Return the policies, the best first, with the ranks that each may have."""
    from rich.table import Table

    unit = "deal" if result.rules.match == "deal" else "match"
    table = Table(
        title=f"{result.rules.variant}, {result.rules.num_players} players, seed {result.seed}"
    )
    table.add_column("rank", justify="right")
    table.add_column("policy", overflow="fold")
    for head in (f"net points a {unit}", "win rate", "tie rate", "rating", "a decision"):
        table.add_column(head, justify="right")
    ranges = rank_ranges(compare(result.net))
    halves = result.net.half_widths
    ratings = {rating.name: rating for rating in rate(result)}
    for index in np.argsort(-result.net.mean, kind="stable").tolist():
        name = result.ranked[index]
        best, worst = ranges[index].tolist()
        net, half = result.net.mean[index], halves[index]
        own = [(score, score.names.index(name)) for score in result.lineups if name in score.names]
        won = np.mean([score.win_rate[place] for score, place in own])
        tied = np.mean([score.tie_rate[place] for score, place in own])
        table.add_row(
            str(best) if best == worst else f"{best} to {worst}",
            name,
            f"{net:+.2f} ± {half:.2f}",
            f"{100 * won:.1f} %",
            f"{100 * tied:.1f} %",
            f"{ratings[name].mean:.1f} ± {NORMAL_95 * ratings[name].deviation:.1f}",
            _time(float(np.mean([score.seconds[place] for score, place in own]))),
        )
    return table


def matrix(result: CrossPlay) -> Table:
    """Return the net points of each policy, in the rows, at tables that it shares with each other.

    Pairs that nobody played, as those of a policy that failed, are empty.
    """
    from rich.table import Table

    table = Table(title="net points of the row's policy against the column's")
    table.add_column("")
    for name in result.ranked:
        table.add_column(name, justify="right")
    cells: dict[tuple[str, str], str] = {}
    for score in result.lineups:
        if len(score.names) == 2:
            for index in range(2):
                pair = (score.names[index], score.names[1 - index])
                net, half = score.net.mean[index], score.net.half_widths[index]
                cells[pair] = f"{net:+.2f} ± {half:.2f}"
    for name in result.ranked:
        table.add_row(name, *(cells.get((name, other), "") for other in result.ranked))
    return table


def regrets(result: CrossPlay) -> Table:
    """Return what the decisions of each policy cost it, those that cost least first."""
    from rich.table import Table

    deals = max(score.deals for score in result.regrets)
    table = Table(title=f"solver regret, {deals:,} deals")
    table.add_column("policy", overflow="fold")
    for head in ("net points a decision", "of them mistakes", "decisions"):
        table.add_column(head, justify="right")
    for score in sorted(result.regrets, key=lambda score: score.mean):
        table.add_row(
            score.name,
            f"{score.mean:.3f} ± {score.half_width:.3f}",
            f"{100 * score.mistakes:.1f} %",
            f"{score.decisions:,}",
        )
    return table


def doubts(result: CrossPlay, power: float = 0.8) -> list[str]:
    """Return a sentence for each pair that is not told apart: how many deals would do."""
    comparison = compare(result.net)
    deviations = comparison.half_width / NORMAL_95 * np.sqrt(result.deals)
    sentences = []
    for one in range(len(result.ranked)):
        for other in range(one + 1, len(result.ranked)):
            difference = float(comparison.difference[one, other])
            if comparison.adjusted[one, other] < LEVEL or difference == 0:
                continue
            deals = deals_needed(difference, float(deviations[one, other]), power)
            sentences.append(
                f"{result.ranked[one]} and {result.ranked[other]} are not told apart: "
                f"{difference:+.2f} ± {comparison.half_width[one, other]:.2f}; "
                f"{_count(deals)} deals show such a difference {power:.0%} of the time"
            )
    return sentences


def _count(number: int) -> str:
    """Return a number with two digits that count."""
    digits = max(0, len(str(number)) - 2)
    return f"{round(number, -digits):,}" if number < 10_000_000 else "more than ten million"


def _time(seconds: float) -> str:
    """Return a time with three digits and a unit."""
    for unit, size in (("s", 1.0), ("ms", 1e-3)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds / 1e-6:.3g} µs"
