"""Policies: anything that plays.

A policy is a callable ``policy(views, rng) -> cards``: views are GAME records [B] as the players on
turn see them, `rng` is a NumPy generator, and the answer is a legal card for each view, int64 [B].
It sees nothing but views, so it cannot peek.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from chinese_ten_env.engine import Games
from chinese_ten_env.policies.greedy import greedy
from chinese_ten_env.policies.random import random

Cards = npt.NDArray[np.int64]


@runtime_checkable
class Policy(Protocol):
    """The one protocol of all that plays."""

    def __call__(self, views: Games, rng: np.random.Generator) -> Cards:
        """Return a legal card for each view, int64 [B]."""


POLICIES: dict[str, Callable[[], Policy]] = {
    "random": lambda: random,
    "greedy": lambda: greedy,
}
"""Makers of the policies that have a name."""


def make_policy(policy: Any) -> Policy:
    """Return a policy: by name, from the folder of a training run, or a policy as it is.

    ValueError names the choices.
    """
    if callable(policy):
        return policy  # type: ignore[no-any-return]  # a callable is taken at its word
    if isinstance(policy, str) and policy in POLICIES:
        return POLICIES[policy]()
    if isinstance(policy, (str, Path)) and Path(policy).is_dir():
        from chinese_ten_env.policies.run import load_run

        return load_run(Path(policy))
    close = difflib.get_close_matches(str(policy), POLICIES, n=1)
    hint = f" Did you mean {close[0]!r}?" if close else ""
    raise ValueError(
        f"unknown policy {policy!r}; choose one of {', '.join(POLICIES)}, the folder of a training "
        f"run, or any callable policy(views, rng).{hint}"
    )
