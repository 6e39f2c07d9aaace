"""How policies from training runs learned, as far as their run folders tell."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

METRICS = "metrics.jsonl"
"""The file of a run folder that holds a line of numbers for each rollout."""

_NET = "net_"


@dataclass(frozen=True)
class Curve:
    """What a policy won against an opponent while it learned, at n times."""

    name: str
    opponent: str
    minutes: npt.NDArray[np.float64]
    """[n] of training."""
    net: npt.NDArray[np.float64]
    """[n] net points a deal against the opponent."""
    half_width: npt.NDArray[np.float64]
    """[n] half the width of their 95 % intervals."""

    @property
    def learned(self) -> Curve:
        """The same without where it began, on the scale of which what is learned would not show.

        It stays if there is nothing else.
        """
        start = min(1, len(self.minutes) - 1)
        parts = (array[start:] for array in (self.minutes, self.net, self.half_width))
        return Curve(self.name, self.opponent, *parts)


def is_run(policy: Any) -> bool:
    """Return whether a policy is the folder of a training run, by its path."""
    return isinstance(policy, (str, Path)) and (Path(policy) / METRICS).is_file()


def read_curves(name: str, folder: str | Path) -> list[Curve]:
    """Return the curves of a run, one for each opponent it was measured against, by their names.

    Lines from one that is damaged on are left out: a crash may have cut the last one short.
    """
    found: dict[str, list[tuple[float, float, float]]] = {}
    for text in (Path(folder) / METRICS).read_text(encoding="utf-8").splitlines():
        try:
            line = json.loads(text)
        except json.JSONDecodeError:
            break
        if not isinstance(line, dict) or "seconds" not in line:
            break
        for opponent in (key.removeprefix(_NET) for key in line if key.startswith(_NET)):
            half_width = line.get(f"half_width_{opponent}", math.nan)
            row = (line["seconds"] / 60, line[_NET + opponent], half_width)
            found.setdefault(opponent, []).append(row)
    return [
        Curve(name, opponent, *np.array(rows, dtype=np.float64).T)
        for opponent, rows in sorted(found.items())
    ]
