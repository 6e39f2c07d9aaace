"""How long a search thinks about a decision."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Budget:
    """A number of deals or iterations, or if `seconds` is not None the time, for each decision."""

    count: int = 0
    seconds: float | None = None

    def __str__(self) -> str:
        return str(self.count) if self.seconds is None else f"{1000 * self.seconds:g}ms"


_TEXT = re.compile(r"(\d+)|(\d+(?:\.\d*)?)(ms|s)")


def parse_budget(budget: Any, search: str) -> Budget:
    """Return a budget from a number, or from text: ``"64"``, ``"50ms"``, ``"1.5s"``.

    ValueError says what the budget of a search may be.
    """
    if isinstance(budget, Budget):
        return budget
    if not isinstance(budget, bool) and (found := _TEXT.fullmatch(str(budget))):
        count, time, unit = found.groups()
        if count and int(count) > 0:
            return Budget(int(count))
        if time and float(time) > 0:
            return Budget(seconds=float(time) / (1000 if unit == "ms" else 1))
    raise ValueError(
        f"{search} needs a positive number, as in '{search}:64', or a time for each decision, as "
        f"in '{search}:50ms', not {budget!r}"
    )
