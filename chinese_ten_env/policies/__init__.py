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

from chinese_ten_env.bits import EMPTY, ONE, U64
from chinese_ten_env.cards import NUM_CARDS
from chinese_ten_env.engine import Games, illegal_action
from chinese_ten_env.jit import kernel
from chinese_ten_env.policies.greedy import greedy
from chinese_ten_env.policies.onnx import OnnxPolicy
from chinese_ten_env.policies.random import random
from chinese_ten_env.rules import Rules

Cards = npt.NDArray[np.int64]


@runtime_checkable
class Policy(Protocol):
    """The one protocol of all that plays."""

    def __call__(self, views: Games, rng: np.random.Generator) -> Cards:
        """Return a legal card for each view, int64 [B]."""


GAMES_AT_A_TIME = 2048
"""Games in which a policy is asked at once, unless it has an attribute of this name in small."""

SEARCHED_AT_A_TIME = 64
"""The same of those that search: what is interrupted then loses seconds, not minutes."""


class PolicyError(ValueError):
    """A policy raised an exception, or answered with what is no legal card.

    `policy` is its name, `view` which of the views it was asked about, if one is to blame. The
    arena adds `where` in words, and as numbers the `deal` and the `decision`, counted from 0.
    """

    def __init__(self, policy: str, what: str, view: int | None = None) -> None:
        super().__init__(policy, what, view)
        self.policy, self.what, self.view = policy, what, view
        self.where = ""
        self.deal: int | None = None
        self.decision: int | None = None

    def __str__(self) -> str:
        place = f" ({self.where})" if self.where else ""
        return f"policy {self.policy!r} {self.what}{place}"


POLICIES: dict[str, Callable[[], Policy]] = {
    "random": lambda: random,
    "greedy": lambda: greedy,
}
"""Makers of the policies that have a name."""

SEARCHES = ("pimc", "ismcts")
"""Policies that think, and have how long they do in their names: ``pimc:64``, ``ismcts:50ms``."""


PRETRAINED = "pretrained"


def make_policy(policy: Any, rules: Rules | None = None) -> Policy:
    """Return a policy: by name, from a training run's folder or an ONNX file, or as it is.

    Searches take their budget in the name, and ``pimc`` who plays out: ``pimc:64``, ``pimc:50ms``,
    ``pimc:64:greedy``, ``ismcts:1000``. ``pretrained`` plays the policy that the library brings for
    the rules that it meets; given `rules`, it says at once if there is none. ValueError names the
    choices.
    """
    if callable(policy):
        return policy
    if policy == PRETRAINED:
        from chinese_ten_env.policies.pretrained import Pretrained

        return Pretrained(rules)
    if isinstance(policy, str) and policy in POLICIES:
        return POLICIES[policy]()
    if isinstance(policy, str) and policy.split(":")[0] in SEARCHES:
        return _make_search(*policy.split(":", 2))
    if isinstance(policy, (str, Path)) and Path(policy).is_dir():
        from chinese_ten_env.policies.run import load_run

        return load_run(Path(policy))
    if isinstance(policy, (str, Path)) and Path(policy).suffix == ".onnx":
        return OnnxPolicy(policy)
    close = difflib.get_close_matches(str(policy), [*POLICIES, PRETRAINED, *SEARCHES], n=1)
    hint = f" Did you mean {close[0]!r}?" if close else ""
    raise ValueError(
        f"unknown policy {policy!r}; choose one of {', '.join([*POLICIES, PRETRAINED])}, a search "
        "such as pimc:64 or ismcts:1000, the folder of a training run, an ONNX file (.onnx), or "
        f"any callable policy(views, rng).{hint}"
    )


def _make_search(name: str, budget: str = "", playout: str = "quick") -> Policy:
    # Searches need what is defined here, and most programs never need them.
    if name == "pimc":
        from chinese_ten_env.policies.pimc import Pimc

        return Pimc(budget, playout)
    from chinese_ten_env.policies.ismcts import Ismcts

    if playout != "quick":
        raise ValueError(f"ismcts is always played out by 'quick', not by {playout!r}")
    return Ismcts(budget)


def policy_name(policy: Any) -> str:
    """Return a name for a policy in messages and tables."""
    if isinstance(policy, (str, Path)):
        return str(policy)
    named = getattr(policy, "name", None) or getattr(policy, "__name__", None)
    return str(named or type(policy).__name__)


@kernel
def _first_illegal(cards: Any, legal: Any) -> int:
    for index in range(len(cards)):
        card = cards[index]
        if card < 0 or card >= NUM_CARDS or legal[index] & (ONE << U64(card)) == EMPTY:
            return index
    return -1


def checked_cards(answer: Any, legal: npt.NDArray[np.uint64], name: str) -> Cards:
    """Return a policy's answer as int64 [B]; PolicyError if it is no legal card for each view.

    `legal` [B] are the legal actions of the views, `name` is the policy's.
    """
    cards = np.asarray(answer)
    if cards.shape != legal.shape or cards.dtype.kind not in "iu":
        raise PolicyError(
            name,
            f"must answer with integers of shape {legal.shape}, a card for each view, not "
            f"{cards.dtype} of shape {cards.shape}",
        )
    cards = cards.astype(np.int64, copy=False)
    index = _first_illegal(cards, legal)
    if index >= 0:
        raise PolicyError(
            name,
            f"answered with a wrong card: {illegal_action(int(cards[index]), int(legal[index]))}",
            index,
        )
    return cards
