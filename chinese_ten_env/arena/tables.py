"""What came out of cross-play as tables for a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from chinese_ten_env.arena import rows
from chinese_ten_env.arena.result import plural
from chinese_ten_env.arena.tournament import CrossPlay

if TYPE_CHECKING:
    from rich.table import Table


def ranking(result: CrossPlay) -> Table:
    """Return the policies, the best first, with the ranks that each may have."""
    from rich.table import Table

    table = Table(
        title=f"{result.rules.variant}, {result.rules.num_players} players, seed {result.seed}"
    )
    for head in rows.ranking_head(result):
        if head == "policy":
            table.add_column(head, overflow="fold")
        else:
            table.add_column(head, justify="right")
    for row in rows.ranking(result):
        table.add_row(*row.cells)
    return table


def matrix(result: CrossPlay) -> Table:
    """Return the net points of each policy, in the rows, at tables that it shares with each other.

    Pairs that nobody played, as those of a policy that failed, are empty.
    """
    from rich.table import Table

    table = Table(title="net points of the row's policy against the column's")
    names = [row.name for row in rows.ranking(result)]
    table.add_column("")
    for name in names:
        table.add_column(name, justify="right")
    nets = {pair: rows.points(*net) for pair, net in rows.against(result).items()}
    for name in names:
        table.add_row(name, *(nets.get((name, other), "") for other in names))
    return table


def regrets(result: CrossPlay) -> Table:
    """Return what the decisions of each policy cost it, those that cost least first."""
    from rich.table import Table

    deals = max(score.deals for score in result.regrets)
    table = Table(title=f"solver regret, {deals:,} deals")
    for head in rows.REGRET_HEAD:
        if head == "policy":
            table.add_column(head, overflow="fold")
        else:
            table.add_column(head, justify="right")
    for score in rows.regrets(result):
        table.add_row(*rows.regret_cells(score))
    return table


def doubts(result: CrossPlay) -> list[str]:
    """Return a sentence for each pair that is not told apart: how many deals would do."""
    deals, power = plural(rows.unit(result)), rows.whole_percent(rows.POWER)
    return [
        f"{pair.better} and {pair.worse} are not told apart: "
        f"{rows.points(pair.difference, pair.half_width)}; "
        f"{rows.count(pair.deals)} {deals} show such a difference {power} of the time"
        for pair in rows.pairs(result)
        if pair.deals is not None
    ]
