"""What duplicate deals have shown: means, intervals and a table."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from chinese_ten_env.arena.statistics import half_width
from chinese_ten_env.rules import SWITCHES, VARIANTS, Rules


@dataclass(frozen=True)
class Standing:
    """How one policy did."""

    name: str
    net: float
    """Mean net points a deal; in match play, a match."""
    half_width: float
    """Half the width of the 95 % interval of `net`, over deals; NaN after a single deal."""
    win_rate: float
    """The share of games that it won in a seat of its own, ties shared: 1 / P for equal players."""


@dataclass(frozen=True)
class Result:
    """How policies did against each other in duplicate deals; print it for a table."""

    standings: tuple[Standing, ...]
    """One for each policy, in the order in which they were given."""
    rules: Rules
    seed: int
    deals: int
    """Different decks; in match play, matches."""
    games: int
    """Games altogether: each deck once for every seating, and every policy sat in all of them."""
    first_deck: int
    """Deal i is that of ``Game(rules, seed=first_deck + i)``."""
    per_deal: npt.NDArray[np.float64] = field(repr=False, compare=False)
    """[K, deals] each policy's net in each deal: the mean over its seatings and seats."""

    @classmethod
    def from_sums(
        cls,
        names: tuple[str, ...],
        rules: Rules,
        seed: int,
        first_deck: int,
        seatings: int,
        net: npt.NDArray[np.int64],
        net_unit: int,
        wins: npt.NDArray[np.int64],
        win_unit: int,
    ) -> Result:
        """Return the result of exact sums: `net` [K, deals] in 1 / net_unit, `wins` [K] likewise.

        Everything is added up in integers and divided last, so what cancels leaves exactly 0.
        """
        deals = net.shape[1]
        standings = tuple(
            Standing(
                name,
                net=int(row.sum()) / (net_unit * deals),
                half_width=_half_width(row) / net_unit,
                win_rate=int(won) / win_unit,
            )
            for name, row, won in zip(names, net, wins, strict=True)
        )
        return cls(standings, rules, seed, deals, deals * seatings, first_deck, net / net_unit)

    def __getitem__(self, name: str) -> Standing:
        """Return the standing of a policy by its name."""
        for standing in self.standings:
            if standing.name == name:
                return standing
        names = ", ".join(standing.name for standing in self.standings)
        raise KeyError(f"no policy {name!r} here: {names}")

    def to_dict(self) -> dict[str, Any]:
        """Return all but `per_deal` as plain values, ready for JSON; a NaN becomes None."""
        return {
            "variant": self.rules.variant,
            "num_players": self.rules.num_players,
            "switches": {name: getattr(self.rules, name) for name in SWITCHES},
            "seed": self.seed,
            "deals": self.deals,
            "games": self.games,
            "first_deck": self.first_deck,
            "policies": [
                {
                    "name": standing.name,
                    "net": standing.net,
                    "half_width": None if np.isnan(standing.half_width) else standing.half_width,
                    "win_rate": standing.win_rate,
                }
                for standing in self.standings
            ],
        }

    def __str__(self) -> str:
        unit = "deal" if self.rules.match == "deal" else "match"
        rows = [("policy", f"net points a {unit}", "95 % interval", "win rate")]
        for standing in self.standings:
            low, high = standing.net - standing.half_width, standing.net + standing.half_width
            rows.append(
                (
                    standing.name,
                    f"{standing.net:+.2f} ± {standing.half_width:.2f}",
                    f"{low:+.2f} to {high:+.2f}",
                    f"{100 * standing.win_rate:.1f} %",
                )
            )
        widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
        changed = changed_switches(self.rules)
        switches = "".join(f"{name}={value}, " for name, value in changed.items())
        lines = [
            f"{self.rules.variant}, {self.rules.num_players} players, {switches}"
            f"seed {self.seed}: {self.deals} {unit if self.deals == 1 else plural(unit)}, "
            f"{self.games} games"
        ]
        for name, *numbers in rows:
            cells = [name.ljust(widths[0])]
            cells += [text.rjust(width) for text, width in zip(numbers, widths[1:], strict=True)]
            lines.append("  ".join(cells))
        return "\n".join(lines)


def _half_width(values: npt.NDArray[np.int64]) -> float:
    if len(values) < 2:
        return float("nan")
    return float(half_width(values.var(ddof=1), len(values)))


def plural(unit: str) -> str:
    """Return the word for several deals or matches."""
    return "matches" if unit == "match" else f"{unit}s"


def changed_switches(rules: Rules) -> dict[str, Any]:
    """Return the switches that differ from the variant's own, by their names."""
    variant = VARIANTS.get(rules.variant)
    own = variant.tables.get(rules.num_players) if variant is not None else None
    return {
        name: getattr(rules, name)
        for name in SWITCHES
        if own is None or getattr(rules, name) != getattr(own, name)
    }
